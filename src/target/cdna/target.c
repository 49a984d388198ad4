/* target.c - see target.h. The header of a kernel's source describes its launch (launch/launch.h). */
#include "target/cdna/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/strings.h"
#include "op/attention.h"
#include "op/gemm_numerics.h"
#include "op/gemm_problem.h"
#include "op/operand.h"
#include "target/cdna/artefact.h"
#include "target/cdna/export.h"
#include "target/cdna/sample.h"
#include "target/cdna/tiles.h"
#include "target/cdna/toolchain.h"
#include "target/cdna/views/views.h"

static tw_status available(const tw_target *t, tw_error *error) {
  (void)t;
  return cdna_toolchain_find(error);
}

static const char *compiler(void) { return "clang-22"; }

static char *describe(const tw_target *t) {
  const cdna_machine *m = cdna_machine_of(t);
  tw_text s = {0};
  tw_text_add(&s, "machine      %s: %s\n", cdna_processor(m->arch), m->products);
  tw_text_add(&s, "             %d XCDs, %d compute units of 4 SIMDs at %d MHz, waves of %d lanes\n", m->caches.xcds,
              m->caches.xcds * m->caches.cus, m->clock_mhz, CDNA_LANES);
  tw_text_add(&s, "memory       %d KiB LDS a compute unit, %d MiB L2 an XCD, %d MiB LLC, %.1f TB/s\n",
              m->lds_bytes >> 10, (int)(m->caches.l2_bytes >> 20), (int)(m->caches.llc_bytes >> 20), m->memory_tbs);
  tw_text_add(
      &s,
      "runs         code objects, wave by wave, to the bit; cost is modelled time (docs/reference/accuracy-cdna.md)\n");
  return tw_text_take(&s);
}

/* The op's first type suggests the types of its other operands: bf16 is summed in f32, integers in i32; 8-bit and
 * smaller floats give bf16. */
static tw_type usual_type(const char *key, tw_type first) {
  const bool integer = first == TW_I8 || first == TW_U8;
  if (!strcmp(key, "acc")) return integer ? TW_I32 : TW_F32;
  const bool narrow = tw_type_bits(first) <= 8;
  if (!strcmp(key, "c")) return integer ? TW_I32 : narrow ? TW_BF16 : first;
  return first == TW_U8 ? TW_I8 : first;
}

static tw_status settle_problem(const tw_target *t, tw_problem *p, tw_error *error) {
  tw_status status = TW_OK;
  tw_type first = TW_TYPE_NONE;
  for (size_t i = 0; status == TW_OK && i < p->op->n_keys; i++) {
    const tw_key *k = &p->op->keys[i];
    if (k->kind != TW_KEY_TYPE) continue;
    if (p->value[i].i == TW_TYPE_NONE)
      status =
          tw_problem_set(p, k->name, tw_type_name(first == TW_TYPE_NONE ? TW_BF16 : usual_type(k->name, first)), error);
    if (first == TW_TYPE_NONE) first = (tw_type)p->value[i].i;
    if (status == TW_OK && !strcmp(k->name, "acc")) status = tw_gemm_wide_sums(t->name, (tw_type)p->value[i].i, error);
  }
  return status;
}

/* Bytes of the lines before a code object that describe its launch. */
static size_t header_length(const char *source, size_t length) {
  size_t at = 0;
  while (length - at > 3 && !memcmp(source + at, "//:", 3)) {
    const char *end = memchr(source + at, '\n', length - at);
    if (!end) return at;
    at = (size_t)(end - source) + 1;
  }
  return at;
}

tw_status cdna_launch_of(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_launch *out,
                         tw_error *error) {
  const cdna_machine *m = cdna_machine_of(t);
  tw_scope *scope = tw_new(1, sizeof *scope);
  if (!scope) return tw_no_memory(error, NULL);
  tw_launch_scope(p, scope);
  tw_scope_set(scope, "gfx", cdna_arch_of(t) == CDNA3 ? 942 : 950);
  tw_scope_set(scope, "cus", m->caches.xcds * m->caches.cus);
  const tw_status status = tw_launch_read(source, length, p, scope, out, error);
  free(scope);
  return status;
}

static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                       tw_artefact **out, tw_error *error) {
  tw_artefact *a = tw_new(1, sizeof *a);
  size_t size = 0;
  bool clustered = false;
  tw_status status = a ? TW_OK : tw_no_memory(error, NULL);
  if (a) a->machine = cdna_machine_of(t);
  if (a) a->trust = e->trust;
  const size_t header = header_length(source, length);
  const bool is_object = cdna_object_is(source + header, length - header);
  if (status == TW_OK && is_object && !header)
    status = tw_fail(error, TW_USAGE,
                     "a code object does not describe its launch; give --kernel, --grid, --block and --arg, as in "
                     "--arg A,B,C,m,n,k");
  if (status == TW_OK) {
    char *lines = is_object ? strndup(source, header) : NULL;
    status = cdna_launch_of(t, p, lines ? lines : source, lines ? header : length, &a->launch, error);
    free(lines);
  }
  for (size_t i = 0; a && i < a->launch.n_kernels; i++)
    clustered |= a->launch.kernel[i].clustered | a->launch.kernel[i].overlaps;
  if (status == TW_OK && (a->launch.n_maps || clustered))
    status = tw_fail(error, TW_FAILED,
                     "%s has neither tensor maps, clusters nor overlap; remove these lines from the header", t->name);
  if (status == TW_OK && is_object) status = cdna_reject_macros(&e->headers, "a code object", error);
  if (status == TW_OK && is_object) {
    size = length - header;
    a->bytes = tw_new(size, 1);
    status = a->bytes ? TW_OK : tw_no_memory(error, NULL);
    if (a->bytes) memcpy(a->bytes, source + header, size);
  } else if (status == TW_OK) {
    status = cdna_compile(cdna_arch_of(t), source, length, e, &a->launch, &a->bytes, &size, error);
  }
  if (status == TW_OK)
    status = cdna_object_read(a->bytes, size, is_object ? "the code object" : "the compiled kernel", &a->object, error);
  if (status == TW_OK && a->object.arch != cdna_arch_of(t))
    status = tw_fail(error, TW_USAGE, "the code object is for %s; run it with -t %s", cdna_processor(a->object.arch),
                     cdna_machine_of_arch(a->object.arch)->name);
  if (status == TW_OK) {
    *out = a;
    return TW_OK;
  }
  if (a) {
    cdna_object_free(&a->object);
    free(a->bytes);
  }
  free(a);
  return tw_status_group(status) == TW_USAGE ? TW_FAILED : status;
}

static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_error *error) {
  const cdna_kernel *kernel = NULL;
  a->inspection = e->inspection;
  tw_status status = a->inspection ? cdna_checker_new(a->inspection, &a->checker, error) : TW_OK;
  a->watched = k;
  cdna_artefact_forget(a);
  if (status == TW_OK) status = cdna_artefact_check(a, k, error);
  if (a->checker && cdna_object_kernel(&a->object, tw_launch_main(&a->launch)->name, &kernel, NULL) == TW_OK)
    cdna_checker_report(a->checker, &a->object, kernel, cdna_machine_of(t), a->inspection);
  cdna_checker_free(a->checker);
  a->checker = NULL;
  snprintf(e->coverage, sizeof e->coverage, "%s", a->coverage);
  return status;
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_measurement *out,
                         tw_error *error) {
  void *buffer[TW_OPERANDS_MAX] = {0};
  cdna_times times = {0};
  cdna_spans spans = {0};
  tw_status status = cdna_new_outputs(k, buffer) ? TW_OK : tw_no_memory(error, NULL);
  for (size_t i = 0; i < k->n_operands && status == TW_OK; i++)
    if (k->operand[i].is_output) tw_blank_output(&k->operand[i], 0, k->buffer[i], buffer[i]); /* as a run finds it */
  const cdna_manner how = {.group = CDNA_ALL_GROUPS, .times = &times, .spans = e->trace ? &spans : NULL, .data = k};
  if (status == TW_OK) status = cdna_case_run(a, k, buffer, &how, error);
  if (status == TW_OK && e->trace) status = cdna_write_trace(&spans, times.mhz, e->trace, error);
  /* the executed workgroups are assumed to represent all */
  if (status == TW_OK) cdna_report(cdna_machine_of(t), &a->counts, a->whole, &times, k->problem, out);
  cdna_free_outputs(k, buffer);
  free(spans.at);
  return tw_status_group(status) == TW_USAGE ? TW_FAILED : status;
}

static void release(tw_artefact *a) {
  cdna_artefact_forget(a);
  cdna_object_free(&a->object);
  free(a->bytes);
  free(a);
}

static const tw_launcher launcher = {.run = cdna_launch_by_hand};

/* ---- tile kernels ---- */

static tw_status steps(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                       tw_error *error) {
  return cdna_tiles_steps(cdna_machine_of(t), p, schedule, out, error);
}
static tw_status emit(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, char **source,
                      tw_error *error) {
  return cdna_tiles_emit(cdna_machine_of(t), p, schedule, source, error);
}
static tw_status predict(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, double *cost,
                         tw_error *error) {
  return cdna_tiles_predict(cdna_machine_of(t), p, schedule, cost, error);
}

static const tw_language *family_language(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  return (void)t, (void)s, cdna_tiles_language_of(p);
}

/* The kinds whose published times the model reproduces in docs/reference/accuracy-cdna.md. */
static bool is_reproduced(const tw_problem *p) {
  if (!strcmp(p->op->name, "gemm")) {
    const tw_gemm g = tw_gemm_of(p);
    return g.a == g.b && (g.a == TW_BF16 || g.a == TW_E4M3) && !g.scales && !g.quantize && !g.packed &&
           !tw_gemm_pair_key(&g);
  }
  if (strcmp(p->op->name, "attention") != 0) return false;
  const tw_attention a = tw_attention_of(p);
  return a.type == TW_BF16 && (a.d == 128 || (a.d == 64 && !a.backward)) && !(a.backward && a.causal);
}

static bool splits_k(const tw_schedule *s) {
  for (size_t i = 0; s && i < s->n; i++)
    if (!strncmp(s->step[i], "split", strlen("split"))) return true; /* split_k, split_k_waves, and their old names */
  return false;
}

static const char *unjudged(const tw_target *t, const tw_problem *p, const tw_schedule *s) {
  if (cdna_machine_of(t)->error <= 0 || (p && is_reproduced(p) && !splits_k(s))) return NULL;
  if (!p) return "a launch without an op may be of any kind (docs/reference/accuracy-cdna.md)";
  return "no published time of this kind was reproduced (docs/reference/accuracy-cdna.md)";
}

static const tw_family families[] = {{.op = "*",
                                      .keys = "*",
                                      .settle = settle_problem,
                                      .steps = steps,
                                      .emit = emit,
                                      .predict = predict,
                                      .bound = cdna_bound,
                                      .language = family_language,
                                      .unjudged = unjudged}};

static void fill_target(const void *values, tw_target *out) {
  const cdna_machine *m = values;
  *out = (tw_target){
      .unit = "seconds",
      .traits = {.simulated = true,
                 .deterministic = true,
                 .measures_first = true, /* timing needs no result */
                 /* only for a kernel that is known to be correct, if the timed run does the same work */
                 .measures_checked = 1,
                 .own_reference = true,
                 .reference_up_to = CDNA_SAMPLE_ABOVE,
                 .error = m->error,
                 .error_of = m->error_of,
                 .simulation_rate = 8e-4, /* chosen so that a search at 8192 has some hundred candidates of 2 s each */
                 .language = "C",
                 .source_name = "kernel.c",
                 .prompts = "cdna",
                 .inspects = true,
                 .user_headers = true,
                 .compiler = compiler},
      .config = m,
      .n_families = sizeof families / sizeof *families,
      .family = families,
      .available = available,
      .describe = describe,
      .build = build,
      .check = check,
      .measure = measure,
      .release = release,
      .exporter = &cdna_exporter,
      .launcher = &launcher,
      .machine_views = cdna_views,
      .language = cdna_tiles_language,
  };
}

tw_machine_list cdna_machine_list = {
    .kind = {.folder = "cdna/configs/", .prefix = "", .schema = &cdna_machine_schema, .fill = fill_target},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const tw_target *cdna_target_at(size_t index) { return tw_machines_at(&cdna_machine_list, index); }

const cdna_machine *cdna_machine_of_arch(cdna_arch arch) {
  const tw_target *t;
  size_t i = 0;
  while ((t = cdna_target_at(i)) && strcmp(t->name, arch == CDNA3 ? "cdna3" : "cdna4") != 0) i++;
  return cdna_machine_of(t); /* both files are in the program */
}
