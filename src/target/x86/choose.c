/* choose.c - kernel, blocks, parts and threads of a plan that was not tuned. */
#include "target/x86/choose.h"

#include <string.h>

#include "target/x86/cpu.h"
#include "target/x86/variant.h"
#include "target/x86/weights.h"

int x86_kernel_group(const x86_kernel *k) { return x86_group(k->arithmetic); }
bool x86_sums_are_integers(const x86_kernel *k) {
  return k->arithmetic == X86_S16 || k->arithmetic == X86_U8S8 || k->arithmetic == X86_S8S8;
}

/* ---- kernel ---- */

static bool is_real(tw_type t) { return t == TW_F32 || t == TW_BF16 || t == TW_F16; }

bool x86_has_scales(const tw_gemm_spec *s) {
  const tw_format *f = tw_format_of_type(s->b);
  return is_real(s->a) && f && f->scale != TW_SCALE_NONE;
}

static bool has_codes_of(const x86_kernel *k, const tw_gemm_spec *s) {
  const x86_form form = x86_form_of(s->b, x86_forms_of_kernel(k));
  return x86_has_scales(s) && form < X86_FORMS;
}

/* Can the kernel compute the types? With conversions, if need be: bf16 and f16 are exact in f32, 8 bits in 16. */
static bool fits(const x86_kernel *k, const tw_gemm_spec *s) {
  if (x86_quantizes(s)) return x86_sums_are_integers(k) && k->coded_rows && has_codes_of(k, s);
  bool integers = (s->a == TW_U8 || s->a == TW_I8) && s->b == TW_I8;
  switch (k->arithmetic) {
  case X86_F32: return is_real(s->a) && (is_real(s->b) || has_codes_of(k, s));
  case X86_BF16: return s->a == TW_BF16 && (s->b == TW_BF16 || has_codes_of(k, s));
  case X86_S16: return integers;
  case X86_U8S8: return integers && s->a == TW_U8;
  case X86_S8S8: return integers && s->a == TW_I8;
  default: return false;
  }
}

static bool runs_here(const x86_kernel *k) { return x86_this_cpu()->has[k->isa]; }
bool x86_computes(const x86_kernel *k, const tw_gemm_spec *s) { return runs_here(k) && fits(k, s); }

/* From this number of rows on AMX is faster than vectors, measured on an Intel server of the fourth or fifth
 * generation. With 8 bits both read weights at memory speed at m = 4 (0.98); at m = 16 vectors are bound by their
 * multiply-adds (1.3). With bf16 they are bound already at m = 4 (1.06). Codes, which AMX expands first, are multiplied
 * ten times as fast. */
static bool amx_pays(const tw_gemm_spec *s) {
  enum { BYTES = 9, BF16 = 4, CODES = 3 };
  return s->m >= (x86_has_scales(s) ? CODES : s->a == TW_BF16 ? BF16 : BYTES);
}

/* Multiply-add rates of kernels, relative to one another: wider units are faster, 8 bits before s16 and bf16 before
 * f32, then wider vectors. vpmaddwd also needs an addition; u8s8 of AVX2 needs three times as many as s16, except for
 * codes. Intel's vdpbf16ps has half the rate of vfmadd231ps (88 of 180 GFLOP/s). The choice of kernel may depend on m
 * only among kernels with equal packed weights: AMX and vectors with the same arithmetic. */
static double rate(const x86_kernel *k, const tw_gemm_spec *s) {
  const double all = k->operations_per_round / k->rows;
  if (k->isa == X86_AMX && !amx_pays(s)) return 0;
  if (k->arithmetic == X86_S16) return all / 2;
  if (k->arithmetic == X86_U8S8 && k->isa == X86_AVX2 && !x86_quantizes(s)) return all / 8; /* fast on codes alone */
  if (k->isa == X86_AVX512BF16 && x86_this_cpu()->slow_bf16 && x86_has_scales(s)) return all / 4;
  return all;
}

tw_status x86_choose_kernel(const tw_gemm_spec *s, const x86_kernel **out, tw_error *error) {
  const x86_kernel *best = NULL, *k;
  for (int i = 0; (k = x86_kernel_at(i)); i++) {
    if (s->kernel && strcmp(s->kernel, k->name) != 0) continue;
    if (s->kernel && !runs_here(k))
      return tw_fail(error, TW_UNSUPPORTED, "tw_gemm_plan_create: kernel=%s needs %s, which this CPU lacks", s->kernel,
                     x86_isa_name(k->isa));
    if (s->kernel && !fits(k, s))
      return tw_fail(error, TW_UNSUPPORTED, "tw_gemm_plan_create: kernel=%s does not support a=%s b=%s", s->kernel,
                     tw_type_name(s->a), tw_type_name(s->b));
    if (x86_computes(k, s) && (!best || rate(k, s) >= rate(best, s))) best = k;
  }
  *out = best;
  if (best) return TW_OK;
  if (s->kernel) return tw_fail(error, TW_USAGE, "tw_gemm_plan_create: unknown kernel=%s", s->kernel);
  return tw_fail(
      error, TW_UNSUPPORTED,
      "tw_gemm_plan_create: unsupported types a=%s b=%s; expected a=f32, bf16 or f16 with b=f32, bf16, f16 or "
      "a packed type, or a=u8 or i8 with b=i8",
      tw_type_name(s->a), tw_type_name(s->b));
}

const char *tw_gemm_kernel_at(size_t index) {
  const x86_kernel *k;
  for (int i = 0; (k = x86_kernel_at(i)); i++)
    if (runs_here(k) && index-- == 0) return k->name;
  return NULL;
}

/* ---- blocks ---- */

int64_t x86_block_step(const tw_gemm_plan *p, int64_t units) {
  enum { STEP = 16, UNROLLED = 4 };
  if (p->has_codes && p->codes.form == X86_T3) return UNROLLED * p->codes.step;
  int64_t step = p->has_codes && p->codes.group_units < units ? p->codes.group_units : STEP;
  while (step % STEP) step *= 2;
  return step;
}

/* Strips of A and panels of B both stream from L2, a strip for 14 rows at some 4 bytes a cycle, a panel at 9: neither
 * is a limit, so blocks need not fit L1. Longer blocks access C less often. The rows of C are far apart, at the worst
 * by a power of two. Measured on a Zen 5 at 512 x 4096 x 4096, blocks of 1024 against 512: i8 2 to 3 % faster, bf16 0
 * to 2 %, f32 equal; 512 against 192, which keep a panel of B in L1: 3 to 5 %. Blocks are of equal length, to a
 * multiple of the unrolling. AMX uses the blocks of the vectors' kernels, so that both use the same packed weights.
 * Where rows become tables, 43 bytes a unit, a single row's must stay in L1 beside the codes that stream through it and
 * C, which a fifth of it does: at 1 x 4096 x 4096 1 % faster than a third, and as fast as a quarter or a sixth. */
enum { SHORT_BLOCK = 256 };

/* The rows of a tile of vectors. For AMX: of the vector kernel that reads the same weights. */
static int rows_of_vectors(const x86_kernel *k) {
  if (k->isa != X86_AMX) return k->rows;
  const x86_kernel *other;
  int rows = 1;
  for (int i = 0; (other = x86_kernel_at(i)); i++)
    if (other->isa != X86_AMX && other->arithmetic == k->arithmetic && runs_here(other) && other->rows > rows)
      rows = other->rows;
  return rows;
}

int64_t x86_choose_block(const tw_gemm_plan *p) {
  const x86_kernel *k = p->kernel;
  const int64_t units = x86_ceil_div(p->spec.k, x86_kernel_group(k)), step = x86_block_step(p, units);
  int64_t most = x86_this_cpu()->l1 * 5 / 4 / X86_UNIT / rows_of_vectors(k) / step * step;
  if (p->short_blocks) most = x86_min(most, SHORT_BLOCK);
  if (p->has_codes && p->codes.form == X86_T3)
    most = x86_min(most, x86_this_cpu()->l1 / 5 / x86_tables_bytes(step) * step);
  if (most < step) most = step;
  const int64_t blocks = x86_ceil_div(units, most);
  return x86_ceil_div(x86_ceil_div(units, blocks), step) * step;
}

bool x86_converts_a(const tw_gemm_plan *p) {
  const tw_gemm_spec *s = &p->spec;
  const tw_type taken[X86_ARITHMETICS] = {
      [X86_F32] = TW_F32, [X86_BF16] = TW_BF16, [X86_U8S8] = TW_U8, [X86_S8S8] = TW_I8};
  return s->a_transposed || x86_quantizes(s) || s->a != taken[p->kernel->arithmetic];
}

/* Packing touches every unit of A once, about a cycle each; the kernel needs columns / 32 cycles for it (16 lanes, two
 * multiply-adds a cycle). Below this number of columns reading rows in place is faster. At 512 packing gains 2 to 7 %
 * (AMX, 4096^3 in 8 x 8 parts on 16 cores). Wide tiles always read in place: their rows fit one set of L1 (8 lines or
 * more) if they are a power of two apart. AMX waits for its tiles of A in any case, and reads rows in place as fast as
 * packed ones unless many of the 32 share a set: on 16 cores 1.05 to 1.16 times as fast with rows of 8256 bytes, 0.8 to
 * 1 times with 8192. Rows that begin within lines need twice the lines: packing them is 1.17 times as fast at 300 x 301
 * x 302 and 1.2 times at 1000^3 of bf16, but not at 144^3. */
enum { COLUMNS_WORTH_PACKING = 512, COLUMNS_OF_SPLIT_LINES = 256 };

/* Does AMX read the rows of A in place? The part has `columns`. */
static bool amx_reads_in_place(const tw_gemm_plan *p, int64_t columns) {
  if (p->a_stride % X86_LINE) return columns < COLUMNS_OF_SPLIT_LINES;
  return columns < COLUMNS_WORTH_PACKING || x86_rows_spread(p->a_stride);
}

/* The number of parts for each thread. With more than one, a fast core computes parts that a slow core has not begun.
 * Measured on 16 virtual cores of an Intel server, some of which run at half speed at any time
 * (bench/bench_x86_cores.c): four parts instead of one are 1.3 times as fast at 256^3 of f32 and at 1 x 4096 x 4096 of
 * bf16. Smaller parts lose time, since parts that pack B pack it for few rows. Parts of AMX are four times as short:
 * 784 x 512 x 256 of u8 takes 27 us in 63 parts, 21 us in 16 parts of rows, 25 us in 4 x 4. With one thread one part is
 * enough. Large parts of kernels with vectors may be divided further. */
static int parts_for_each_thread(const tw_gemm_plan *p, int threads, double worth) {
  enum { MOST = 4, MOST_LARGE = 8, LARGE = 400, WORTH_A_PART = 4, WORTH_A_PART_OF_AMX = 16, WORTH_PACKING = 50 };
  const bool amx = p->kernel->isa == X86_AMX;
  const double each = worth / threads;
  if (threads == 1) return 1;
  if (!amx && each >= LARGE * MOST_LARGE) return MOST_LARGE;
  const double parts = each / (p->packs_b ? WORTH_PACKING : amx ? WORTH_A_PART_OF_AMX : WORTH_A_PART);
  return parts < 2 ? 1 : parts > MOST ? MOST : (int)parts;
}

/* The cost of a part in addition to its tiles, in rows of a panel and in panels of a row. */
typedef struct fetches {
  double rows_of_panel;  /* a panel is fetched while this number of rows is computed with it */
  double panels_of_rows; /* rows of A are fetched, or packed, while they are computed with this number of panels */
  double split_of_n;     /* loss of each part when it overlaps with another */
  double least_rows;     /* fewer rows wait for the panel */
} fetches;

/* Vectors take so long for their multiply-adds that little else counts, but for rows of an A larger than L2, which each
 * part reads again: a unit of 4 bytes takes 0.2 ns (20 GB/s for each of 16 cores, bench_x86_cores), the multiply-adds
 * with 32 columns 0.5 ns (126 GFLOP/s). So fewer than 13 rows wait for a panel of a B larger than L2: on 16 cores
 * 64 x 4096 x 1024 is 1.45 times as fast in 4 x 16 parts as in 8 x 8. A is packed once where m is split. AMX needs 98
 * cycles for 16 units of k of 32 rows and a panel, and waits for each line of 64 bytes from the last cache for 8: a
 * panel, or 32 rows of A, cost as much as 87 rows. Measured on 16 cores, 1024^3: 8 x 8 parts instead of 16 x 4 1.12
 * times as fast with bf16 (1.14 by this estimate), and instead of 8 x 4 1.2 times with u8. */
static fetches fetches_of(const tw_gemm_plan *p) {
  if (p->kernel->isa == X86_AMX) return (fetches){87, 2.7, 0, 0};
  const int64_t room = x86_this_cpu()->l2 / X86_UNIT / p->units; /* rows of A, or columns of B, that fit */
  return (fetches){p->packs_b ? 20 : 4, p->spec.m <= room ? 0 : 0.4, 0.05,
                   p->packs_b || p->has_codes || p->spec.n <= room ? 0 : 13};
}

/* Instructions for which the team starts one more thread, 0.8 us of vectors at two instructions a cycle. Measured on 16
 * cores of an Intel server (bench_x86_blocks, docs/lab/2026-11-x86-all-cores-6.md): a call of two threads costs 0.5 us
 * beside its work, one of 16 threads 0.9 us. Four threads instead of two are 1.48 times as fast at 80^3 of f32, 16
 * instead of seven 1.6 times at 112^3. */
static const double INSTRUCTIONS_WORTH_A_THREAD = 4000;

/* The instructions of a product. A tile of AMX is whole: products smaller than it take as long. */
static double instructions(const tw_gemm_plan *p) {
  const x86_kernel *k = p->kernel;
  const tw_gemm_spec *s = &p->spec;
  const bool whole = k->step > 1;
  const int64_t m = whole ? x86_ceil_div(s->m, p->strip_rows) * p->strip_rows : s->m;
  const int64_t n = whole ? x86_panels(p) * k->columns : s->n, units = x86_ceil_div(p->units, k->step) * k->step;
  return (double)m * (double)n * (double)units / x86_isa_lanes(k->isa);
}

/* Threads that a product is worth; `worth` is its instructions over INSTRUCTIONS_WORTH_A_THREAD. In small products AMX
 * computes twice as fast as vectors per instruction: 112^3 takes 18.3 us with f32 and 6.2 us with bf16 on one thread.
 * Where parts pack B, each thread also waits for lines that other cores wrote. */
static int threads_worth(const tw_gemm_plan *p, double worth) {
  worth /= p->kernel->isa == X86_AMX || p->packs_b ? 2 : 1;
  return worth >= p->spec.threads ? p->spec.threads : worth < 1 ? 1 : (int)worth;
}

/* Real sums on codes are split at tile boundaries: the distribution of rows to tiles must not depend on threads. */
static bool may_split_rows(const tw_gemm_plan *p) { return !p->on_codes || x86_sums_are_integers(p->kernel); }

static void choose_parts(tw_gemm_plan *p) {
  const tw_gemm_spec *s = &p->spec;
  const double worth = instructions(p) / INSTRUCTIONS_WORTH_A_THREAD;
  const int threads = threads_worth(p, worth);
  const int most = threads * parts_for_each_thread(p, threads, worth);
  const int64_t tiles = x86_ceil_div(s->m, p->strip_rows), panels = x86_panels(p);
  const fetches f = fetches_of(p);
  const int most_m = may_split_rows(p) ? most : 1;
  double least = 1e300;
  for (int m = 1; m <= most_m && m <= tiles; m++) {
    const int n = (int)x86_min(most / m, panels);
    const int64_t most_tiles = x86_ceil_div(tiles, m), most_panels = x86_ceil_div(panels, n);
    /* the rows of the largest part decide; if equal, m is split, because A is then packed once */
    const bool whole = p->kernel->step > 1; /* parts are whole tiles */
    const double rows = (double)(whole ? most_tiles * p->strip_rows : x86_ceil_div(s->m, m));
    const double columns = (double)most_panels;
    const double of_panel = (rows > f.least_rows ? rows : f.least_rows) + f.rows_of_panel;
    const double cost =
        (of_panel * columns + rows * f.panels_of_rows) * (1 + f.split_of_n * n) + 1e-6 * (double)most_tiles;
    if (cost >= least) continue;
    least = cost;
    p->parts_m = m;
    p->parts_n = n;
  }
  p->threads = (int)x86_min(threads, p->parts_m * p->parts_n);
}

/* Up to this number of rows codes are converted in registers, again for each strip. Above it, a panel is converted
 * once for all strips. */
enum { ROWS_ON_CODES = 16, AHEAD = 8192, AHEAD_OF_TABLES = 12288 /* 2 % faster than 8192 or 16384 */ };

bool x86_runs_on_codes(const tw_gemm_spec *s, int coded_rows) {
  return x86_has_scales(s) && (x86_quantizes(s) || (s->m <= ROWS_ON_CODES && coded_rows));
}

/* Codes that are looked up (mxfp4) get in the way of multiply-adds, in each strip of rows: bytes are 1.02 (1024 x 1024
 * x 1024) to 1.05 times as fast (256 x 256 x 256), where enough strips share what expanding a panel takes. Measured:
 * 0.98 times at 11 strips. Masked and shifted codes (i4, ternary) gain nothing. */
enum { STRIPS_WORTH_EXPANSION = 20 };

/* Do not do this if panels are read from memory: high tiles read them in fewer passes. */
static bool takes_two_panels(const tw_gemm_plan *p) {
  return !p->on_codes && p->spec.m > ROWS_ON_CODES && p->kernel->wide_rows && x86_panels(p) > 1;
}

/* Packing B takes as long as the multiply-adds with a third of a row (AVX-512), and tiles read a B in L2 as fast in
 * place. On an AMD server 1.66 times as fast as with packing at 16^3, 1.06 at 64^3, 1.02 at 256^3. Columns of a
 * transposed A are read in place, too. */
static void choose_what_stays(tw_gemm_plan *p) {
  const tw_gemm_spec *s = &p->spec;
  const int64_t room = x86_this_cpu()->l2 / 2 / X86_UNIT;
  const bool may = p->packs_b && p->kernel->stored && p->plain && p->blocks == 1;
  p->turns_a = may && s->a_transposed && s->a == TW_F32 && s->k * s->lda <= room / 2;
  p->reads_b =
      may && (p->turns_a || p->a_mode == X86_A_IN_PLACE) && s->b == TW_F32 && !s->b_transposed && s->k * s->ldb <= room;
}

bool x86_goes_by_strips(const tw_gemm_plan *p) {
  return p->kernel->isa == X86_AMX && !p->has_codes && x86_ceil_div(p->mc, p->rho) <= p->strip_rows &&
         x86_ceil_div(p->spec.m, p->parts_m) > p->strip_rows;
}

/* AMX reads 32 lines of A and 32 of B for 64 cycles of multiplications. A strip of A stays in L1 while it is multiplied
 * by panels of B, which fill half of L2. Meanwhile the next strip is prefetched into L2, so each strip is read from L3
 * once, in whole rows. Sums that wait in the workspace are of one strip. Small products, which stay in half of L2, are
 * 1.05 times as fast panel by panel. */
static void choose_strips(tw_gemm_plan *p, int64_t rows, int64_t columns) {
  enum { STRIPS_LEAST = 8 };
  if (p->kernel->isa != X86_AMX || p->has_codes) return;
  if ((rows + columns) * p->units + rows * columns <= x86_this_cpu()->l2 / 2 / X86_UNIT) return;
  const int64_t width = p->kernel->columns, tiles = x86_ceil_div(rows, p->strip_rows);
  const bool one_strip = p->blocks > 1 && !p->sums_in_c && !p->packs_b;
  const int64_t units = one_strip ? p->units : x86_min(p->units, p->layout.block);
  const int64_t room = x86_this_cpu()->l2 / 2 / X86_UNIT / units / width * width, least = 2 * width;
  if (tiles < 2 || (columns > room && tiles < STRIPS_LEAST)) return;
  p->nc = x86_min(p->nc, room < least ? least : room);
  p->mc = (one_strip ? 1 : tiles) * p->strip_rows;
  p->rho = one_strip ? 1 : (int)tiles;
}

void x86_choose_blocks(tw_gemm_plan *p, int parts_m, int parts_n) {
  const tw_gemm_spec *s = &p->spec;
  const x86_cpu *cpu = x86_this_cpu();
  p->on_codes = x86_runs_on_codes(s, p->kernel->coded_rows);
  p->looks_up = p->on_codes && p->codes.form == X86_T3;
  p->ahead = p->looks_up ? AHEAD_OF_TABLES : AHEAD;
  p->wide = takes_two_panels(p);
  p->strip_rows = p->looks_up   ? (int)x86_min(p->kernel->coded_rows, X86_TABLES_ROWS)
                  : p->on_codes ? p->kernel->coded_rows
                  : p->wide     ? p->kernel->wide_rows
                                : p->kernel->rows;
  if (parts_m > 0 && parts_n > 0 && (parts_m == 1 || may_split_rows(p))) {
    p->parts_m = parts_m, p->parts_n = parts_n;
    p->threads = (int)x86_min(s->threads, (int64_t)parts_m * parts_n);
  } else {
    choose_parts(p);
  }
  const int64_t kernel_rows = p->strip_rows;
  int64_t rows = x86_ceil_div(s->m, p->parts_m);
  if (p->kernel->step > 1) rows = x86_min(x86_ceil_div(rows, kernel_rows) * kernel_rows, s->m);
  const int64_t columns = x86_ceil_div(x86_panels(p), p->parts_n) * p->kernel->columns;
  bool in_place = !p->on_codes && !x86_converts_a(p) && s->k % x86_kernel_group(p->kernel) == 0 &&
                  (rows <= kernel_rows || (p->kernel->isa == X86_AMX ? amx_reads_in_place(p, columns)
                                                                     : p->wide || columns < COLUMNS_WORTH_PACKING));
  p->a_mode = in_place ? X86_A_IN_PLACE : X86_A_PACKED;
  choose_what_stays(p);
  const x86_kernel *k = p->kernel;
  p->expands = p->on_codes && x86_quantizes(s) && k->expand[p->codes.form] && k->coded[X86_S8] &&
               rows >= STRIPS_WORTH_EXPANSION * kernel_rows;
  p->rho = 1;
  /* The packed block of A may be as large as L2: its strips are read sequentially, which suits caches. In place, wide
   * tiles read it at 2 bytes per cycle, which L3 also provides: then the weights are read, and codes expanded, less
   * often. Measured on a Zen 5: 2.5 times L2 against once, 0.5 to 1.2 % at 512 x 4096 x 4096 and 2048^3, with mxfp4 and
   * i4 2 to 3 %; 5 times lose. AMX reads 32 bytes of A a cycle and must have them in L2, beside C and two panels of B:
   * on an Intel server 1024^3 of bf16 runs at 0.80 TFLOP/s with all of L2, 1.11 with half and 1.20 with a quarter.
   * Codes are expanded less often with half. */
  int64_t room_of_a = p->wide && in_place ? cpu->l2 * 5 / 2 : cpu->l2;
  if (p->kernel->isa == X86_AMX) room_of_a = cpu->l2 / (p->has_codes ? 2 : 4);
  int64_t most = room_of_a / X86_UNIT / p->layout.block / kernel_rows * kernel_rows;
  if (most < kernel_rows) most = kernel_rows;
  const int64_t tiles = x86_ceil_div(rows, kernel_rows), blocks = x86_ceil_div(rows, most);
  p->mc = x86_ceil_div(tiles, blocks) * kernel_rows;
  if (p->packs_b) p->mc = tiles * kernel_rows;
  /* Sums that wait in the workspace stay in this core's part of the last cache. */
  p->nc = columns;
  if (p->blocks > 1 && !p->sums_in_c) {
    int64_t room = cpu->l3_share / 2 / X86_UNIT / p->mc / p->kernel->columns * p->kernel->columns;
    if (room < p->kernel->columns) room = p->kernel->columns;
    if (p->nc > room) p->nc = room;
  }
  if (p->packs_b) {
    const int64_t pair = 2 * p->kernel->columns, room = cpu->l2 / 2 / X86_UNIT / p->layout.block / pair * pair;
    p->nc = x86_min(p->nc, room < pair ? pair : room);
  }
  choose_strips(p, rows, columns);
}
