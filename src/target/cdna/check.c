/* check.c - checks the results of a case with all workgroups of its launch, or with some: see artefact.h and
 * sample.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status.h"
#include "op/operand.h"
#include "target/cdna/artefact.h"
#include "target/cdna/sample.h"

static tw_status run_all(tw_artefact *a, const tw_case *k, tw_error *error) {
  void *actual[TW_OPERANDS_MAX] = {0};
  tw_status status = TW_OK;
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++) {
    actual[i] = aligned_alloc(64, (k->operand[i].bytes + 127) & ~(size_t)63);
    if (!actual[i])
      status = tw_no_memory(error, NULL);
    else if (k->operand[i].is_output)
      tw_blank_output(&k->operand[i], k->seed, k->buffer[i], actual[i]);
    else
      memcpy(actual[i], k->buffer[i], k->operand[i].bytes);
  }
  if (status == TW_OK) status = cdna_case_run(a, k, actual, &(cdna_manner){.group = CDNA_ALL_GROUPS}, error);
  if (tw_status_group(status) == TW_USAGE) status = TW_FAILED;
  if (status == TW_OK && k->problem->op->operations(k->problem) > CDNA_SAMPLE_ABOVE) {
    tw_coverage seen;
    status = tw_case_check(k, actual, &(tw_effort){.threads = 1}, &seen, error);
    snprintf(a->coverage, sizeof a->coverage, "%.*s", (int)sizeof a->coverage - 1, seen.text);
  } else if (status == TW_OK) {
    status = k->problem->op->compare(k->problem, k->buffer, actual, error);
    snprintf(a->coverage, sizeof a->coverage, "every element");
  }
  for (size_t i = 0; i < k->n_operands; i++) free(actual[i]);
  return status;
}

/* ---- some workgroups ---- */

typedef struct sampled {
  tw_artefact *artefact;
  const tw_case *data;
  size_t first; /* the sampled kernel; earlier kernels have run */
  void *workspace;
} sampled;

/* Runs workgroups of one kernel. What they leave becomes the last element of the list `out`. */
static tw_status run_groups(const sampled *s, void *const buffer[], cdna_manner how, cdna_left **out, tw_error *error) {
  while (*out) out = &(*out)->next;
  cdna_left *left = *out = tw_new(1, sizeof *left);
  if (!left) return tw_no_memory(error, NULL);
  how.end = how.first + 1;
  how.workspace = s->workspace;
  how.left = left;
  tw_status status = s->artefact->checker ? cdna_checker_new(s->artefact->inspection, &left->checker, error) : TW_OK;
  if (status == TW_OK) status = cdna_case_run(s->artefact, s->data, buffer, &how, error);
  if (left->checker) cdna_checker_start(left->checker); /* frees the state of its run */
  return status;
}

static tw_status run_one(void *context, void *const buffer[], size_t kernel, uint64_t group, void **out,
                         tw_error *error) {
  const sampled *s = context;
  cdna_left *left = NULL;
  const tw_status status =
      run_groups(s, buffer, (cdna_manner){.group = (int64_t)group, .first = s->first + kernel}, &left, error);
  *out = left;
  return status;
}

static void take_all(void *context, void *out, bool is_needed) {
  const sampled *s = context;
  for (cdna_left *left = out, *next; left; left = next) {
    next = left->next;
    if (is_needed && left->counts.workgroups) cdna_case_take(s->artefact, left);
    cdna_checker_free(left->checker);
    tw_text_free(&left->printed);
    free(left);
  }
}

/* Workgroup number `n` of a grid in which each chiplet has a range of tiles, and workgroups go to the chiplets in
 * turn. */
static uint64_t in_ranges(const tw_artefact *a, uint64_t groups, uint64_t n) {
  const uint64_t chips = (uint64_t)a->machine->caches.xcds, each = groups / chips, more = groups % chips;
  const uint64_t chip = n < more * (each + 1) ? n / (each + 1) : more + (n - more * (each + 1)) / each;
  const uint64_t first = chip * each + (chip < more ? chip : more);
  return (n - first) * chips + chip;
}

/* Runs a part of the launch: its share of each kernel from the main one on. Workgroups of one chiplet run together. */
static tw_status run_part(void *context, void *const buffer[], size_t unused, uint64_t part, void **out,
                          tw_error *error) {
  const sampled *s = context;
  const tw_launch *l = &s->artefact->launch;
  const uint64_t chips = (uint64_t)s->artefact->machine->caches.xcds;
  cdna_left *left = NULL;
  tw_status status = TW_OK;
  (void)unused;
  for (size_t k = s->first; k < l->n_kernels && status == TW_OK; k++) {
    const uint64_t groups = cdna_groups_of(&l->kernel[k]), each = groups / (uint64_t)l->parts;
    for (uint64_t i = 0, n; i < each && status == TW_OK; i += n) {
      const uint64_t first = in_ranges(s->artefact, groups, part * each + i);
      for (n = 1; i + n < each; n++)
        if (in_ranges(s->artefact, groups, part * each + i + n) != first + n * chips) break;
      const cdna_manner how = {.group = (int64_t)first, .count = n, .first = k, .adds = true};
      status = run_groups(s, buffer, how, &left, error);
    }
  }
  *out = left;
  return status;
}

/* True if the launch has parts, of equal size in each kernel. */
static bool has_parts(const tw_launch *l) {
  bool even = l->parts > 1;
  for (size_t k = l->main; k < l->n_kernels; k++)
    even = even && cdna_groups_of(&l->kernel[k]) % (uint64_t)l->parts == 0;
  return even;
}

/* Runs the kernels before the main one completely. Of the operands, only inputs are kept. */
static tw_status prepare_workspace(const sampled *s, tw_error *error) {
  void *buffer[TW_OPERANDS_MAX] = {0};
  const tw_case *k = s->data;
  tw_status status = cdna_new_outputs(k, buffer) ? TW_OK : tw_no_memory(error, NULL);
  const cdna_manner how = {.group = CDNA_ALL_GROUPS, .end = s->first, .workspace = s->workspace};
  if (status == TW_OK) status = cdna_case_run(s->artefact, k, buffer, &how, error);
  if (s->artefact->checker) cdna_checker_start(s->artefact->checker); /* frees the state of its run */
  cdna_free_outputs(k, buffer);
  return status;
}

static tw_status sample_kernels(tw_artefact *a, const tw_case *k, tw_error *error) {
  const tw_launch *l = &a->launch;
  sampled s = {a, k, (size_t)(tw_launch_main(l) - l->kernel), NULL};
  uint64_t groups[TW_LAUNCH_KERNELS], all = 0;
  cdna_sampler sampler = {.kernels = l->n_kernels - s.first,
                          .groups = groups,
                          .run = run_one,
                          .take = take_all,
                          .context = &s,
                          .trust = a->trust};
  for (size_t i = 0; i < sampler.kernels; i++) {
    all += groups[i] = cdna_groups_of(&l->kernel[s.first + i]);
    cdna_watch *w = &a->watch[s.first + i];
    free(w->work);
    *w = (cdna_watch){.whole = false};
  }
  if (has_parts(l)) {
    sampler.kernels = 1;
    sampler.of_parts = true;
    sampler.run = run_part;
    groups[0] = (uint64_t)l->parts;
  }
  if (l->workspace && !(s.workspace = tw_new(1, (size_t)l->workspace))) return tw_no_memory(error, NULL);
  tw_status status = s.first ? prepare_workspace(&s, error) : TW_OK;
  if (status == TW_OK) cdna_keep_workspace(a, s.first, s.workspace);
  a->counts = (cdna_result_counts){0}; /* data about the whole launch */
  if (status == TW_OK) status = cdna_sample_check(&sampler, k, a->coverage, sizeof a->coverage, error);
  if (a->counts.workgroups) a->whole = (double)all / (double)a->counts.workgroups;
  free(s.workspace);
  return tw_status_group(status) == TW_USAGE ? TW_FAILED : status;
}

/* The last case of an untrusted kernel is executed in full, if this takes minutes at most and the time limit allows
 * it, because a sample misses one odd workgroup of thousands. */
static bool is_final_and_affordable(const tw_artefact *a, const tw_case *k) {
  /* maximum number of operations; operations of the emulator per second */
  static const double MOST = 1e11, A_SECOND = 5e8;
  if (a->trust || !tw_seed_is(k->seed, TW_SEED_WHOLE)) return false;
  const double work = cdna_sample_work(k), deadline = tw_stop_of_thread()->deadline;
  return work <= MOST && !(deadline > 0 && tw_now() + work / A_SECOND > deadline);
}

tw_status cdna_artefact_check(tw_artefact *a, const tw_case *k, tw_error *error) {
  const tw_launch *l = &a->launch;
  const tw_problem *p = k->problem;
  a->counts = (cdna_result_counts){0};
  a->whole = 1;
  if (!cdna_sample_is_large(k) || is_final_and_affordable(a, k) || !cdna_sample_possible(p) ||
      (l->workspace && l->zeroed))
    return run_all(a, k, error);
  const bool alone = l->n_kernels == 1 && !l->workspace;
  const bool begins = tw_launch_main(l) == l->kernel;
  if (!alone && l->workspace && begins) return run_all(a, k, error);
  tw_error dropped = {0};
  /* its parts may not be boxes, as in a loop over the grid; then everything is executed if this takes only minutes */
  const bool final = alone && p->op->operations(p) > CDNA_SAMPLE_ABOVE;
  const tw_status status = sample_kernels(a, k, final ? error : &dropped);
  if (final || status == TW_OK) return status;
  a->counts = (cdna_result_counts){0};
  a->whole = 1;
  return run_all(a, k, error);
}
