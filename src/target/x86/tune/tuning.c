/* tuning.c - steps of a schedule as a struct, and the rules for legal schedules. */
#include "target/x86/tune/tuning.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/x86/bench.h"
#include "target/x86/choose.h"
#include "target/x86/cpu.h"
#include "target/x86/emit.h"
#include "target/x86/tune/apply.h"
#include "target/x86/tune/build.h"
#include "target/x86/weights.h"

enum {
  UNROLL_MAX = 16,
  CHAINS_MAX = 16,
  PREFETCH_MAX = 1 << 16,
  BLOCK_MAX = 1 << 24,
  RHO_MAX = 64,
  THREADS_MAX = 1024
};

x86_arithmetic x86_arithmetic_of(const tw_gemm_spec *s, x86_isa isa) {
  const bool vnni = isa == X86_AVX512VNNI || isa == X86_AVXVNNI || isa == X86_AMX;
  if (s->a_rounding != TW_A_EXACT) return vnni ? X86_U8S8 : X86_S16;
  if (s->a == TW_I8 || s->a == TW_U8) return !vnni ? X86_S16 : s->a == TW_U8 ? X86_U8S8 : X86_S8S8;
  return s->a == TW_BF16 && (s->b == TW_BF16 || x86_has_scales(s)) && isa >= X86_AVX512BF16 ? X86_BF16 : X86_F32;
}

void x86_settle_tile(const tw_gemm_spec *s, x86_tuning *t) {
  enum { ROWS = 4, VECTORS_MAX = 4 };
  if (t->tiled) return;
  if (t->kernel.isa == X86_AMX) {
    t->kernel.rows = X86_AMX_ROWS, t->kernel.vectors = 2;
    return;
  }
  t->kernel.rows = ROWS;
  for (t->kernel.vectors = 1; t->kernel.vectors < VECTORS_MAX; t->kernel.vectors *= 2)
    if (!x86_has_scales(s) || (x86_forms_of_schedule(&t->kernel) & x86_forms_of_type(s->b))) return;
}

/* ---- steps ---- */

static bool read_isa(const void *spec, const tw_argument *argument, const char *text, void *isa) {
  (void)spec, (void)argument;
  return x86_isa_parse(text, isa);
}

static tw_status then_settle(const void *spec, void *tuning, unsigned given, tw_error *error) {
  x86_tuning *t = tuning;
  (void)given, (void)error;
  t->kernel.arithmetic = x86_arithmetic_of(spec, t->kernel.isa);
  x86_settle_tile(spec, t);
  return TW_OK;
}

static void tiled(const void *spec, void *tuning) {
  (void)spec;
  ((x86_tuning *)tuning)->tiled = true;
}

#define NUMBER(name_, field_, least_, most_) TW_NUMBER(name_, x86_tuning, field_, least_, most_)
static const tw_verb verbs[] = {
    {TW_VERB("isa", "isa avx512",
             "Choose the instruction set of the kernel; `tilewright targets x86` lists the sets of this CPU.", 1,
             TW_READ("", x86_tuning, kernel.isa, read_isa)),
     .then = then_settle},
    {TW_VERB("tile", "tile rows=14 vectors=2", "Set the register tile: rows and vectors.", 2,
             NUMBER("rows", kernel.rows, 1, X86_COLUMNS_MAX), NUMBER("vectors", kernel.vectors, 1, X86_COLUMNS_MAX)),
     .first = tiled},
    {TW_VERB("unroll", "unroll k=4", "Unroll the innermost loop over k.", 1,
             NUMBER("k", kernel.unroll, 1, UNROLL_MAX))},
    {TW_VERB("prefetch", "prefetch bytes=512", "Prefetch packed A into L1 this many bytes early.", 1,
             NUMBER("bytes", kernel.prefetch, 0, PREFETCH_MAX))},
    {TW_VERB("chains", "chains n=4", "Split each sum into this many independent chains of additions.", 1,
             NUMBER("n", kernel.chains, 1, CHAINS_MAX))},
    {TW_VERB("prefetch_b|ahead", "prefetch_b bytes=8192",
             "Prefetch packed B this many bytes early, if A has only one strip of rows.", 1,
             NUMBER("bytes", blocks.ahead, 1, PREFETCH_MAX))},
    {TW_VERB("block", "block m=252 n=2048 k=512", "Set the cache blocks of C and k.", 1,
             NUMBER("m", blocks.mc, 1, BLOCK_MAX), NUMBER("n", blocks.nc, 1, BLOCK_MAX),
             NUMBER("k", blocks.kc, 1, BLOCK_MAX))},
    {TW_VERB("atb", "atb rho=2", "Divide the height of the A buffer (asymmetric tile buffering).", 1,
             NUMBER("rho", blocks.rho, 1, RHO_MAX))},
    {TW_VERB("a", "a packed, a in_place", "Pack rows of A or read them in place.", 1,
             TW_CHOICE("", x86_tuning, blocks.a, X86_READ_A_IN_PLACE, "in_place|packed"))},
    {TW_VERB("panels", "panels n=2", "Let a register tile use two panels of B.", 1, NUMBER("n", blocks.panels, 1, 2))},
    {TW_VERB("threads", "threads m=2 n=1", "Distribute C over threads, by rows and by columns.", 2,
             NUMBER("m", blocks.threads_m, 1, THREADS_MAX), NUMBER("n", blocks.threads_n, 1, THREADS_MAX))},
};
_Static_assert(X86_PACK_A == X86_READ_A_IN_PLACE + 1, "the words of `a` in order");
const tw_language x86_language = {TW_LANGUAGE("gemm on x86", verbs)};

/* ---- rules ---- */

/* Registers in addition to the sums: for B, one for A, and one for the product of vpmaddwd or for the offset of A. */
static int registers_needed(const x86_variant *k) {
  return k->rows * k->vectors + k->vectors + 1 + (k->arithmetic == X86_S16 || k->arithmetic == X86_S8S8);
}

static bool reads_in_place(const tw_gemm_spec *s, const x86_variant *k) {
  const x86_arithmetic arithmetic = k->arithmetic;
  if (x86_runs_on_codes(s, x86_coded_rows(k))) return false;
  static const tw_type taken[X86_ARITHMETICS] = {
      [X86_F32] = TW_F32, [X86_BF16] = TW_BF16, [X86_U8S8] = TW_U8, [X86_S8S8] = TW_I8};
  return !s->a_transposed && s->a == taken[arithmetic] && s->k % x86_group(arithmetic) == 0;
}

/* AMX has one tile, and its kernels have no choices. */
static tw_status check_amx(const tw_gemm_spec *s, const x86_variant *k, tw_error *error) {
  if (k->arithmetic == X86_F32 || s->a_rounding != TW_A_EXACT)
    return tw_fail(error, TW_USAGE, "isa amx requires a=bf16 or 8-bit integers, and an A that is not rounded");
  if (k->rows != X86_AMX_ROWS || k->vectors != 2 || k->unroll != 1 || k->prefetch)
    return tw_fail(error, TW_USAGE, "isa amx requires rows=%d vectors=2 without unroll and prefetch", X86_AMX_ROWS);
  return TW_OK;
}

static tw_status check_registers(const x86_variant *k, int columns, tw_error *error) {
  if (k->rows > X86_TILE_ROWS_MAX || columns > X86_COLUMNS_MAX)
    return tw_fail(error, TW_USAGE, "a tile has at most %d rows and %d columns (found %d x %d)", X86_TILE_ROWS_MAX,
                   X86_COLUMNS_MAX, k->rows, columns);
  if (registers_needed(k) > x86_isa_registers(k->isa))
    return tw_fail(error, TW_USAGE, "a tile of %d x %d vectors needs %d registers, but %s has %d", k->rows, k->vectors,
                   registers_needed(k), x86_isa_name(k->isa), x86_isa_registers(k->isa));
  return TW_OK;
}

enum { PARTS_FOR_A_THREAD = 16 };

tw_status x86_tuning_check(const tw_gemm_spec *s, const x86_tuning *t, tw_error *error) {
  const x86_variant *k = &t->kernel;
  const int columns = k->vectors * x86_isa_lanes(k->isa);
  const int threads = s->threads ? s->threads : x86_this_cpu()->cores;
  if (!x86_this_cpu()->has[k->isa]) return tw_fail(error, TW_UNSUPPORTED, "this CPU has no %s", x86_isa_name(k->isa));
  const tw_status status = k->isa == X86_AMX ? check_amx(s, k, error) : check_registers(k, columns, error);
  if (status != TW_OK) return status;
  if (x86_has_scales(s) && !(x86_forms_of_schedule(k) & x86_forms_of_type(s->b)))
    return tw_fail(error, TW_USAGE, "rows of codes of b=%s do not fit a tile of %d columns", tw_type_name(s->b),
                   columns);
  const bool on_codes = x86_runs_on_codes(s, x86_coded_rows(k));
  if (k->chains && (!on_codes || (k->chains & (k->chains - 1))))
    return tw_fail(error, TW_USAGE,
                   "chains n=%d must be a power of two and requires tiles on codes: m <= 16 or a rounded A", k->chains);
  if (on_codes && s->a_rounding == TW_A_EXACT && t->blocks.threads_m > 1)
    return tw_fail(error, TW_USAGE,
                   "threads m=%d is unsupported: real tiles on codes divide only columns among threads",
                   t->blocks.threads_m);
  if (t->blocks.panels == 2 && (on_codes || !x86_wide_rows(k)))
    return tw_fail(error, TW_USAGE, "panels n=2 is unsupported on codes and with tiles of %d vectors", k->vectors);
  if (t->blocks.a == X86_READ_A_IN_PLACE && !reads_in_place(s, k))
    return tw_fail(error, TW_USAGE, "A cannot be read in place: %s kernels require another layout",
                   x86_arithmetic_name(k->arithmetic));
  if (t->blocks.threads_m * t->blocks.threads_n > PARTS_FOR_A_THREAD * threads)
    return tw_fail(error, TW_USAGE, "threads m=%d n=%d: %d parts exceed %d for each of %d threads", t->blocks.threads_m,
                   t->blocks.threads_n, t->blocks.threads_m * t->blocks.threads_n, PARTS_FOR_A_THREAD, threads);
  return TW_OK;
}

tw_status x86_tuning_of(const tw_problem *p, const tw_schedule *schedule, x86_tuning *out, tw_error *error) {
  const tw_gemm_spec s = x86_spec_of(p);
  x86_tuning t = {.kernel = {.isa = X86_PORTABLE, .arithmetic = x86_arithmetic_of(&s, X86_PORTABLE), .unroll = 1},
                  .blocks.panels = 1};
  tw_error why = {0};
  x86_settle_tile(&s, &t);
  const tw_status status = tw_steps_apply(&x86_language, &s, schedule, &t, NULL, error);
  if (status != TW_OK) return status;
  if (x86_tuning_check(&s, &t, &why) != TW_OK)
    return tw_fail(error, TW_USAGE, "the schedule%s%s is not legal: %s", schedule->n ? " up to " : "",
                   schedule->n ? schedule->step[schedule->n - 1] : "", why.text);
  *out = t;
  return TW_OK;
}

/* ---- the library's own kernel ---- */

static void add_step(tw_schedule *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_step(tw_schedule *s, const char *format, ...) {
  char step[TW_STEP_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(step, sizeof step, format, arguments);
  va_end(arguments);
  tw_schedule_add(s, step, NULL);
}

/* The plan of tw_gemm_plan_create without wisdom, as steps. The library's kernels and tuned kernels get blocks and
 * parts in the same way, so no step names them. */
tw_status x86_baseline(const tw_target *target, const tw_problem *p, tw_schedule *out, tw_error *error) {
  const tw_gemm_spec s = x86_spec_of(p);
  tw_gemm_plan *plan;
  x86_variant k;
  (void)target;
  *out = (tw_schedule){0};
  const tw_status status = x86_plan(&s, NULL, &plan, error);
  if (status != TW_OK) return status;
  const bool is_known = x86_variant_of(plan->kernel, &k), wide = plan->wide;
  tw_gemm_plan_destroy(plan);
  if (!is_known) return tw_fail(error, TW_FAILED, "the library's kernel for this problem has no schedule");
  add_step(out, "isa %s", x86_isa_name(k.isa));
  if (k.isa == X86_AMX) return TW_OK; /* AMX has only one form of tile */
  add_step(out, "tile rows=%d vectors=%d", k.rows, k.vectors);
  if (k.unroll > 1) add_step(out, "unroll k=%d", k.unroll);
  if (k.prefetch) add_step(out, "prefetch bytes=%d", k.prefetch);
  if (wide) add_step(out, "panels n=2");
  return TW_OK;
}

/* ---- source ---- */

/* Placeholders for functions and tables of a kernel that is not emitted yet. */
static void expand_nothing(const x86_coded *codes, void *panel) { (void)codes, (void)panel; }
static x86_coded_tile *const no_tiles[X86_ROWS_MAX];

/* The weights' form in the kernel; X86_FORMS: the weights have no codes. */
static x86_form form_of(const tw_gemm_spec *s, const x86_variant *k) {
  return x86_has_scales(s) ? x86_form_of(s->b, x86_forms_of_schedule(k)) : X86_FORMS;
}

tw_status x86_tuning_plan(const tw_gemm_spec *s, const x86_tuning *t, x86_kernel *kernel, tw_gemm_plan *out,
                          tw_error *error) {
  const x86_variant *k = &t->kernel;
  const x86_form form = form_of(s, k);
  *kernel = (x86_kernel){.name = "",
                         .isa = k->isa,
                         .arithmetic = k->arithmetic,
                         .rows = k->rows,
                         .wide_rows = x86_wide_rows(k),
                         .columns = k->vectors * x86_isa_lanes(k->isa),
                         .step = x86_k_step(k->isa),
                         .coded_rows = x86_coded_rows(k)};
  if (form < X86_FORMS && kernel->coded_rows) kernel->coded[form] = no_tiles;
  if (form < X86_FORMS) kernel->expand[form] = expand_nothing;
  return x86_describe(s, &(x86_tuned){.kernel = kernel, .blocks = t->blocks}, X86_B_PACKED, out, error);
}

/* Functions that the problem has no use for: codes of other types, rows that its strips never have. A tenth of the
 * source and a quarter of the compiler's time are left. */
static tw_status leave_out(const tw_gemm_spec *s, x86_tuning *t, tw_error *error) {
  x86_variant *k = &t->kernel;
  const x86_form form = form_of(s, k);
  x86_kernel kernel;
  tw_gemm_plan plan;
  const tw_status status = x86_tuning_plan(s, t, &kernel, &plan, error);
  if (status != TW_OK) return status;
  const x86_heights used = x86_heights_of(&plan);
  k->forms_left_out = ~(form < X86_FORMS ? 1u << form : 0u);
  k->packed_left_out = ~used.packed, k->direct_left_out = ~used.direct, k->coded_left_out = ~used.coded;
  k->wide_packed_left_out = ~used.wide_packed, k->wide_direct_left_out = ~used.wide_direct;
  const int64_t last = s->n % kernel.columns; /* columns of the last panel; 0: all */
  k->stored_left_out = true;
  k->narrow_left_out = last == 0 || last > x86_narrow_vectors(k) * x86_isa_lanes(k->isa);
  return TW_OK;
}

static const char *const a_in_c[] = {"X86_CHOOSE_A", "X86_READ_A_IN_PLACE", "X86_PACK_A"};

tw_status x86_emit(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, char **source,
                   tw_error *error) {
  x86_tuning t;
  char symbol[X86_NAME];
  tw_text text = {0};
  (void)target;
  const tw_gemm_spec spec = x86_spec_of(p);
  tw_status status = x86_tuning_of(p, schedule, &t, error);
  if (status == TW_OK) status = leave_out(&spec, &t, error);
  if (status != TW_OK) return status;
  const x86_blocks *b = &t.blocks;
  tw_text_add(&text, "/* %s%s */\n", X86_ISA_COMMENT, x86_isa_name(t.kernel.isa));
  for (size_t i = 0; i < schedule->n; i++) tw_text_add(&text, "// %s\n", schedule->step[i]);
  x86_emit_kernel(&t.kernel, &text);
  tw_text_add(&text,
              "\n" X86_BLOCKS_COMMENT "\n#include \"target/x86/runtime/tuned.h\"\n"
              "extern const x86_kernel %s;\n"
              "__attribute__((visibility(\"default\"))) const x86_kernel *const tilewright_kernel = &%s;\n"
              "__attribute__((visibility(\"default\"))) const x86_blocks tilewright_blocks = {\n"
              "    .mc = %" PRId64 ", .nc = %" PRId64 ", .kc = %" PRId64 ", .rho = %d, .a = %s, .panels = %d, "
              ".threads_m = %d, .threads_n = %d, .ahead = %d};\n",
              x86_kernel_symbol(&t.kernel, symbol), symbol, b->mc, b->nc, b->kc, b->rho, a_in_c[b->a], b->panels,
              b->threads_m, b->threads_n, b->ahead);
  *source = tw_text_take(&text);
  return *source ? TW_OK : tw_no_memory(error, NULL);
}
