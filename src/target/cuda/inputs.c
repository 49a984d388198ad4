/* inputs.c - see inputs.h. */
#define _GNU_SOURCE
#include "target/cuda/inputs.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/random.h"
#include "op/ops.h"

enum { KEPT = 2, ALIGNMENT = 4096 };
static const uint64_t SEED_STEP =
    UINT64_C(0x9e3779b97f4a7c15); /* the golden ratio: far from the seeds that people choose */

static cuda_inputs *kept[KEPT]; /* the latest first */
static uint64_t last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_problem(const tw_problem *a, const tw_problem *b) {
  char one[600], other[600];
  tw_problem_print(a, one, sizeof one);
  tw_problem_print(b, other, sizeof other);
  return a->op == b->op && strcmp(one, other) == 0;
}

static void free_inputs(cuda_inputs *x) {
  for (int s = 0; s < x->n_sets; s++) {
    tw_case_free(&x->set[s]);
    if (x->file[s] >= 0) close(x->file[s]);
  }
  free(x);
}

static bool write_at(int file, const char *from, size_t bytes, uint64_t at) {
  for (ssize_t n; bytes; bytes -= (size_t)n, from += n, at += (uint64_t)n)
    if ((n = pwrite(file, from, bytes, (off_t)at)) <= 0) return false;
  return true;
}

/* Writes the inputs to a file that is then read-only. Through a mapping, each page would be a page fault. */
static tw_status write_file(cuda_inputs *x, int s, uint64_t bytes, tw_error *error) {
  char path[64];
  const int file = memfd_create("tilewright inputs", MFD_CLOEXEC);
  bool written = file >= 0 && ftruncate(file, (off_t)bytes) == 0;
  for (size_t i = 0; written && i < x->n_operands; i++) {
    const tw_operand *o = &x->operand[i];
    const size_t given_at = o->is_output ? o->given_at : 0, given = o->is_output ? o->given_bytes : o->bytes;
    written = write_at(file, (const char *)x->set[s].buffer[i] + given_at, given, x->at[i] + given_at);
  }
  if (written) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int only = open(path, O_RDONLY | O_CLOEXEC);
    x->file[s] = only < 0 ? -1 : fcntl(only, F_DUPFD_CLOEXEC, CUDA_FILES_HIGH);
    if (only >= 0) close(only);
  }
  if (file >= 0) close(file);
  return x->file[s] >= 0 ? TW_OK : tw_no_memory(error, "the inputs");
}

typedef struct drawing {
  cuda_inputs *inputs;
  const tw_case *first;
  uint64_t bytes; /* of a file */
  tw_status status[CUDA_INPUT_SETS];
  tw_error error[CUDA_INPUT_SETS];
} drawing;

static void draw_set(void *context, size_t set) {
  drawing *d = context;
  cuda_inputs *x = d->inputs;
  const tw_problem *p = &x->problem;
  tw_error *error = &d->error[set];
  /* kinds of inputs: the sets of a problem are all of one kind */
  const uint64_t of_kind = x->seed & TW_SEED_WHOLE ? TW_SEED_KIND : TW_SEED_WHOLE,
                 seed = ((x->seed + set * SEED_STEP) & ~of_kind) | (x->seed & of_kind);
  const bool known = set == 0 && (p->op->exact || d->first->has_expected);
  tw_status status = known          ? tw_case_copy(d->first, p, &x->set[set], error)
                     : p->op->exact ? tw_case_make_inputs(p, seed, &x->set[set], error)
                                    : tw_case_make(p, seed, tw_cores(), &x->set[set], error);
  if (status == TW_OK) status = write_file(x, (int)set, d->bytes, error);
  d->status[set] = status;
}

static tw_status make(const tw_case *data, int n_sets, cuda_inputs **out, tw_error *error) {
  cuda_inputs *x = calloc(1, sizeof *x);
  drawing d = {.inputs = x, .first = data};
  if (!x) return tw_no_memory(error, NULL);
  x->id = ++last_id;
  x->problem = *data->problem;
  x->seed = data->seed;
  x->n_sets = n_sets;
  x->n_operands = x->problem.op->operands(&x->problem, x->operand);
  for (size_t i = 0; i < x->n_operands; i++) {
    x->at[i] = d.bytes;
    d.bytes += (x->operand[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  for (int s = 0; s < n_sets; s++) x->file[s] = -1;
  tw_parallel_for(n_sets, (size_t)n_sets, draw_set, &d);
  tw_status status = TW_OK;
  for (int s = 0; status == TW_OK && s < n_sets; s++)
    if ((status = d.status[s]) != TW_OK && error) *error = d.error[s];
  if (status == TW_OK)
    *out = x;
  else
    free_inputs(x);
  return status;
}

static bool serves(const cuda_inputs *x, const tw_case *data, int n_sets) {
  return x && x->n_sets >= n_sets && x->seed == data->seed && same_problem(&x->problem, data->problem);
}

tw_status cuda_inputs_take(const tw_case *data, int n_sets, cuda_inputs **out, tw_error *error) {
  tw_status status = TW_OK;
  pthread_mutex_lock(&lock); /* held while the results are computed: other threads that need them wait */
  size_t i = 0;
  while (i < KEPT && !serves(kept[i], data, n_sets)) i++;
  if (i == KEPT) {
    cuda_inputs *made = NULL, *last = kept[KEPT - 1];
    status = make(data, n_sets, &made, error);
    if (status == TW_OK) {
      memmove(kept + 1, kept, (KEPT - 1) * sizeof *kept);
      kept[0] = made;
      i = 0;
      made->users = 1; /* the list */
      if (last && --last->users == 0) free_inputs(last);
    }
  }
  if (status == TW_OK) {
    *out = kept[i];
    kept[i]->users++;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void cuda_inputs_give_back(cuda_inputs *x) {
  if (!x) return;
  pthread_mutex_lock(&lock);
  if (--x->users == 0) free_inputs(x);
  pthread_mutex_unlock(&lock);
}

tw_status cuda_inputs_check(const cuda_inputs *x, uint32_t set, void *const buffer[], void *const actual[],
                            const tw_effort *effort, tw_coverage *coverage, tw_error *error) {
  tw_case c = x->set[set];
  void *seen[TW_OPERANDS_MAX];
  for (size_t i = 0; i < x->n_operands; i++) {
    c.buffer[i] = buffer[i];
    seen[i] = actual[i] ? actual[i] : buffer[i];
  }
  if (x->problem.op->exact) return tw_case_check(&c, seen, effort, coverage, error);
  *coverage = (tw_coverage){.text = "every element"};
  return x->problem.op->compare(&x->problem, c.buffer, seen, error);
}
