/* plan.c - from a description to a plan: checks, kernel, blocks, threads, memory. */
#include "target/x86/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/strings.h"
#include "target/x86/choose.h"
#include "target/x86/cpu.h"
#include "target/x86/tune/apply.h"
#include "target/x86/tune/known.h"
#include "target/x86/weights.h"

enum { MAGIC = 0x74773836 /* "tw86" */, SIZE_LIMIT = 1 << 30, WORKSPACES_MAX = 64 };
static const int64_t ELEMENTS_MOST = INT64_C(1) << 56; /* largest matrix: its size in bytes fits the type */

/* ---- the caller's request ---- */

bool x86_quantizes(const tw_gemm_spec *s) { return s->a_rounding != TW_A_EXACT; }

static tw_status check_choices(const tw_gemm_spec *s, tw_error *error) {
  if (s->threads < 0 || s->threads > X86_THREADS_MOST)
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: threads=%d is out of range; expected 0 to %d", s->threads,
                   X86_THREADS_MOST);
  if (s->group < 0 || (s->group && !x86_has_scales(s)))
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: group=%d requires weights with scales (found b=%s)", s->group,
                   tw_type_name(s->b));
  if (s->activation < TW_ACTIVATION_LINEAR || s->activation > TW_ACTIVATION_SILU)
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: unknown activation=%d; expected a tw_activation",
                   (int)s->activation);
  if (s->a_rounding < TW_A_EXACT || s->a_rounding > TW_A_INT8_GROUPS)
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: unknown a_rounding=%d; expected a tw_a_rounding",
                   (int)s->a_rounding);
  if (x86_quantizes(s) && (!x86_has_scales(s) || s->b == TW_MXFP8))
    return tw_fail(
        error, TW_UNSUPPORTED,
        "tw_gemm_plan_create: a_rounding is unsupported with a=%s b=%s; a must be f32, bf16 or f16, and b one of "
        "i8, i4, mxfp4, mxfp6, bfp16 and ternary",
        tw_type_name(s->a), tw_type_name(s->b));
  return TW_OK;
}

static tw_status check_sizes(const tw_gemm_spec *s, tw_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } sizes[] = {{"m", s->m}, {"n", s->n}, {"k", s->k}};
  for (size_t i = 0; i < 3; i++)
    if (sizes[i].value < 1 || sizes[i].value > SIZE_LIMIT)
      return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: %s=%" PRId64 " is out of range; expected 1 to %d",
                     sizes[i].name, sizes[i].value, SIZE_LIMIT);
  const struct {
    const char *name;
    int64_t value, least, rows;
  } pitches[] = {{"lda", s->lda, s->a_transposed ? s->m : s->k, s->a_transposed ? s->k : s->m},
                 {"ldb", s->ldb, s->b_transposed ? s->k : s->n, s->b_transposed ? s->n : s->k},
                 {"ldc", s->ldc, s->n, s->m}};
  for (size_t i = 0; i < 3; i++) {
    if (pitches[i].value < pitches[i].least)
      return tw_fail(error, TW_USAGE,
                     "tw_gemm_plan_create: %s=%" PRId64 " is less than the %" PRId64 " elements of a row",
                     pitches[i].name, pitches[i].value, pitches[i].least);
    if (pitches[i].value > ELEMENTS_MOST / pitches[i].rows)
      return tw_fail(error, TW_USAGE,
                     "tw_gemm_plan_create: %s=%" PRId64 ": %" PRId64 " rows of this pitch exceed the address space",
                     pitches[i].name, pitches[i].value, pitches[i].rows);
  }
  return TW_OK;
}

static void fill_defaults(tw_gemm_spec *s) {
  if (s->a == TW_TYPE_NONE) s->a = TW_F32;
  if (s->b == TW_TYPE_NONE) s->b = TW_F32;
  if (s->c == TW_TYPE_NONE) s->c = TW_F32;
  if (!s->lda) s->lda = s->a_transposed ? s->m : s->k;
  if (!s->ldb) s->ldb = s->b_transposed ? s->k : s->n;
  if (!s->ldc) s->ldc = s->n;
  if (s->alpha == 0) s->alpha = 1;
  if (!s->threads) s->threads = (int)x86_min(x86_this_cpu()->cores, X86_THREADS_MOST);
}

static x86_output output_of(tw_type c) {
  return c == TW_BF16 ? X86_OUT_BF16 : c == TW_F16 ? X86_OUT_F16 : c == TW_I8 ? X86_OUT_I8 : X86_OUT_F32;
}

static tw_status check_output(const tw_gemm_spec *s, tw_error *error) {
  bool integers = s->a == TW_I8 || s->a == TW_U8;
  if (s->c != TW_F32 && s->c != TW_BF16 && s->c != TW_F16 && s->c != TW_I8 && !(s->c == TW_I32 && integers))
    return tw_fail(error, TW_UNSUPPORTED,
                   "tw_gemm_plan_create: c=%s is unsupported with a=%s b=%s; use f32, bf16, f16%s", tw_type_name(s->c),
                   tw_type_name(s->a), tw_type_name(s->b), integers ? ", i8 or i32" : " or i8");
  if (s->c == TW_I32 && (s->alpha != 1 || s->beta != 0 || s->activation != TW_ACTIVATION_LINEAR))
    return tw_fail(error, TW_UNSUPPORTED,
                   "tw_gemm_plan_create: c=i32 stores the sums unchanged; alpha, beta and activation require c=f32");
  if (integers && s->k > 1 << 16)
    return tw_fail(error, TW_UNSUPPORTED,
                   "tw_gemm_plan_create: k=%" PRId64 " is too large; sums of 8-bit products fit i32 up to k=%d", s->k,
                   1 << 16);
  return TW_OK;
}

/* ---- layout of packed B ---- */

int64_t x86_block_units(const tw_gemm_plan *p, int64_t block) {
  return x86_min(p->layout.block, p->units - block * p->layout.block);
}

size_t x86_panel_bytes(const tw_gemm_plan *p, int64_t units) {
  if (p->has_codes) return x86_codes_bytes(p, units);
  return (size_t)(X86_UNIT * (units + (p->kernel->arithmetic == X86_S8S8)) * p->kernel->columns);
}

/* The beginning of a block; all blocks but the last are equal. */
static size_t block_at(const tw_gemm_plan *p, int64_t block) {
  const size_t panels = (size_t)x86_panels(p);
  const int64_t whole = p->layout.block;
  const size_t scales = p->has_codes && !x86_scales_are_shared(p) ? x86_scales_bytes(p, whole) : 0;
  return X86_HEADER + (size_t)block * panels * (x86_panel_bytes(p, whole) + scales);
}

size_t x86_panel_at(const tw_gemm_plan *p, int64_t block, int64_t panel) {
  return block_at(p, block) + (size_t)panel * x86_panel_bytes(p, x86_block_units(p, block));
}

size_t x86_scales_at(const tw_gemm_plan *p, int64_t block, int64_t panel) {
  if (x86_scales_are_shared(p)) block = p->blocks - 1;
  return x86_panel_at(p, block, x86_panels(p)) + (size_t)panel * x86_scales_bytes(p, x86_block_units(p, block));
}

size_t tw_gemm_packed_bytes(const tw_gemm_plan *p) {
  if (!p) return 0;
  return p->has_codes ? x86_scales_at(p, p->blocks - 1, x86_panels(p)) : x86_panel_at(p, p->blocks - 1, x86_panels(p));
}

/* ---- memory of execution ---- */

size_t x86_row_bytes(const tw_gemm_plan *p, int64_t units) {
  return (size_t)(p->looks_up ? x86_tables_bytes(units) : units * X86_UNIT);
}

static size_t reserve_bytes(size_t *at, size_t bytes) {
  size_t start = *at;
  *at = (start + bytes + TW_GEMM_ALIGNMENT - 1) / TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT;
  return start;
}

static void lay_out_workspace(tw_gemm_plan *p) {
  const int64_t block = x86_filled(p, p->layout.block), columns = p->kernel->columns;
  const size_t buffer = (size_t)x86_ceil_div(p->mc, p->rho), real = sizeof(float);
  size_t at = 0;
  if (p->a_mode == X86_A_PACKED) {
    p->strip_at = reserve_bytes(&at, buffer * x86_row_bytes(p, block));
    if (!x86_quantizes(&p->spec)) p->rows_at = reserve_bytes(&at, (size_t)(p->strip_rows * block) * X86_UNIT);
  }
  if (x86_quantizes(&p->spec)) {
    const size_t scales = buffer * (size_t)x86_groups(p, block) * real;
    /* rows of a transposed A are gathered from its columns */
    const int64_t rows = p->spec.a_transposed ? p->strip_rows : 0;
    p->row_at = reserve_bytes(&at, (size_t)(rows * block * x86_kernel_group(p->kernel)) * real);
    p->row_scale_at = reserve_bytes(&at, (size_t)p->mc * real);
    p->start_at = reserve_bytes(&at, scales);
    p->a_scale_at = reserve_bytes(&at, scales);
  }
  const int64_t tile_columns = p->wide || p->looks_up ? 2 * columns : columns;
  p->tile_at = reserve_bytes(&at, (size_t)((p->wide ? p->kernel->rows : p->strip_rows) * tile_columns) * X86_UNIT);
  if (p->has_codes && (!p->on_codes || p->expands))
    p->panel_at = reserve_bytes(&at, (size_t)(block * tile_columns) * X86_UNIT);
  if (p->blocks > 1 && !p->sums_in_c)
    p->sums_at = reserve_bytes(&at, (size_t)(p->mc * x86_ceil_div(p->nc, columns) * columns) * X86_UNIT);
  if (p->packs_b)
    p->b_at = reserve_bytes(&at, (size_t)x86_ceil_div(p->nc, columns) *
                                     x86_panel_bytes(p, x86_min(p->layout.block, p->units)));
  p->bytes_per_thread = at;
}

static tw_status reserve(tw_gemm_plan *p, tw_error *error) {
  x86_workspaces *w = calloc(1, sizeof *w);
  if (!w) return tw_fail(error, TW_NO_MEMORY, "tw_gemm_plan_create: out of memory");
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->returned, NULL);
  p->workspaces = w;
  w->n = (int)x86_min(x86_this_cpu()->cores, WORKSPACES_MAX);
  size_t bytes = (size_t)w->n * (size_t)p->spec.threads * p->bytes_per_thread;
  w->memory = aligned_alloc(TW_GEMM_ALIGNMENT, bytes);
  return w->memory ? TW_OK
                   : tw_fail(error, TW_NO_MEMORY, "tw_gemm_plan_create: no memory for workspaces of %zu bytes", bytes);
}

/* ---- the plan ---- */

static tw_status settle_layout(tw_gemm_plan *p, const x86_tuned *tuned, tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  p->has_codes = x86_has_scales(s);
  if (p->has_codes) {
    tw_status status = x86_settle_weights(p, error);
    if (status != TW_OK) return status;
  }
  p->layout = (x86_layout){.magic = MAGIC,
                           .arithmetic = (uint16_t)p->kernel->arithmetic,
                           .b_type = (uint16_t)s->b,
                           .form = (uint32_t)p->codes.form,
                           .vector = (uint32_t)p->codes.vector,
                           .columns = p->kernel->columns,
                           .n = s->n,
                           .k = s->k,
                           .group = s->group};
  p->layout.block = x86_tuned_block(tuned, p, x86_choose_block(p));
  p->a_stride = s->lda * tw_type_bits(s->a) / 8;
  p->units = x86_ceil_div(s->k, x86_kernel_group(p->kernel));
  p->blocks = x86_ceil_div(p->units, p->layout.block);
  return TW_OK;
}

static void settle_finish(tw_gemm_plan *p) {
  const tw_gemm_spec *s = &p->spec;
  bool sums_are_c = s->c == (x86_sums_are_integers(p->kernel) && !p->has_codes ? TW_I32 : TW_F32);
  const bool unchanged = s->alpha == 1 && s->activation == TW_ACTIVATION_LINEAR;
  p->output = output_of(s->c);
  p->adds = sums_are_c && s->beta == 1;
  p->rounds = p->kernel->rounds && s->c == TW_BF16 && unchanged && s->beta == 0 && p->blocks == 1 && !p->has_codes;
  p->plain = p->rounds || (sums_are_c && unchanged && (s->beta == 0 || p->adds));
  p->sums_in_c = (s->c == TW_F32 || s->c == TW_I32) && s->beta == 0;
}

/* Ignores a tuned kernel that does not fit: blocks follow from the caches, which may have another size than when it
 * was tuned. */
tw_status tw_gemm_plan_create(const tw_gemm_spec *given, tw_gemm_plan **out, tw_error *error) {
  tw_gemm_spec spec;
  if (!given) return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: the description is NULL");
  if (!out) return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: `out` is NULL");
  *out = NULL;
  const tw_status status = tw_sized_take("tw_gemm_spec", given, &spec, sizeof spec, error);
  if (status != TW_OK) return status;
  if (!spec.kernel) {
    tw_gemm_spec s = spec;
    fill_defaults(&s);
    const x86_tuned *tuned = x86_known(&s);
    if (tuned && x86_plan(&spec, tuned, out, NULL) == TW_OK) return TW_OK;
  }
  return x86_plan(&spec, NULL, out, error);
}

tw_status x86_describe(const tw_gemm_spec *spec, const x86_tuned *tuned, x86_b_mode b_mode, tw_gemm_plan *p,
                       tw_error *error) {
  tw_gemm_spec s = *spec;
  const x86_kernel *kernel;
  fill_defaults(&s);
  tw_status status = check_sizes(&s, error);
  if (status == TW_OK) status = check_choices(&s, error);
  if (status == TW_OK && tuned) kernel = tuned->kernel;
  if (status == TW_OK && !tuned) status = x86_choose_kernel(&s, &kernel, error);
  if (status == TW_OK) status = check_output(&s, error);
  if (status != TW_OK) return status;
  *p = (tw_gemm_plan){
      .kernel = kernel, .spec = s, .short_blocks = b_mode != X86_B_PACKED, .packs_b = b_mode == X86_B_STORED};
  p->spec.kernel = NULL;
  status = settle_layout(p, tuned, error);
  if (status != TW_OK) return status;
  settle_finish(p);
  x86_choose_blocks(p, tuned ? tuned->blocks.threads_m : 0, tuned ? tuned->blocks.threads_n : 0);
  if (tuned) x86_tune_blocks(p, &tuned->blocks);
  p->by_strips = x86_goes_by_strips(p);
  p->near = p->layout.block * (p->mc + p->nc) * X86_UNIT <= x86_this_cpu()->l2 / 2;
  if (tuned && !x86_has_heights(p))
    return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: the kernel has no functions for these numbers of rows");
  lay_out_workspace(p);
  return TW_OK;
}

tw_status x86_plan(const tw_gemm_spec *spec, const x86_tuned *tuned, tw_gemm_plan **out, tw_error *error) {
  *out = NULL;
  tw_gemm_plan *p = calloc(1, sizeof *p);
  if (!p) return tw_fail(error, TW_NO_MEMORY, "tw_gemm_plan_create: out of memory");
  tw_status status = x86_describe(spec, tuned, X86_B_PACKED, p, error);
  if (status == TW_OK) status = reserve(p, error);
  if (status != TW_OK) {
    tw_gemm_plan_destroy(p);
    return status;
  }
  *out = p;
  return TW_OK;
}

void tw_gemm_plan_destroy(tw_gemm_plan *p) {
  if (!p) return;
  if (p->workspaces) {
    pthread_cond_destroy(&p->workspaces->returned);
    pthread_mutex_destroy(&p->workspaces->lock);
    free(p->workspaces->memory);
    free(p->workspaces);
  }
  free(p);
}

const char *tw_gemm_plan_kernel(const tw_gemm_plan *p) { return p ? p->kernel->name : ""; }

size_t tw_gemm_plan_print(const tw_gemm_plan *p, char *buffer, size_t size) {
  if (!p) return (size_t)snprintf(buffer, size, "no plan");
  const tw_gemm_spec *s = &p->spec;
  return (size_t)snprintf(buffer, size,
                          "%s m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " a=%s b=%s c=%s mc=%" PRId64 " nc=%" PRId64
                          " kc=%" PRId64 " rho=%d A %s%s%s%s, parts %d x %d, threads %d",
                          p->kernel->name, s->m, s->n, s->k, tw_type_name(s->a), tw_type_name(s->b), tw_type_name(s->c),
                          p->mc, p->nc, p->layout.block * x86_kernel_group(p->kernel), p->rho,
                          p->a_mode == X86_A_PACKED ? "packed" : "in place", p->wide ? ", two panels at once" : "",
                          s->a_rounding == TW_A_INT8_ROWS     ? " as int8 by rows"
                          : s->a_rounding == TW_A_INT8_GROUPS ? " as int8 by groups"
                                                              : "",
                          p->on_codes ? ", tiles on codes" : "", p->parts_m, p->parts_n, p->threads);
}
