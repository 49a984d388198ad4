/* test_x86_gemm.c - the library's gemm: every kernel that this CPU runs, every combination of types, random shapes with
 * every tail, against sums in double (or exact integers) within a stated bound (x86_example.h). */
#define _GNU_SOURCE
#include "x86_example.h"

#include <limits.h>

#include "amx.h"
#include "op/gemm_problem.h"
#include "target/x86/plan.h"
#include "target/x86/tune/apply.h"
#include "target/x86/tune/known.h"

/* The kernels that this run is about: where AMX is emulated those of AMX, the others run without; else all. */
static const char *kernel_at(size_t i) {
  const char *what = getenv("TILEWRIGHT_TEST_EMULATE"), *name;
  for (size_t at = 0; (name = tw_gemm_kernel_at(at)); at++)
    if ((!what || strstr(name, what)) && i-- == 0) return name;
  return NULL;
}

/* On a CPU that QEMU emulates all takes ten times as long, and each instruction of an emulated AMX is a signal: fewer examples,
 * and not the largest. */
static bool is_emulated(void) {
  return getenv("TW_TEST_EMULATED") || (getenv("TILEWRIGHT_TEST_EMULATE") && !is_thorough());
}

static void every_kernel_computes_every_combination(void **state) {
  const uint64_t examples = is_emulated() ? 8 : 24;
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    assert_non_null(k);
    int computed = 0;
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      if (combinations[c].arithmetic != k->arithmetic) continue;
      for (uint64_t seed = 0; seed < examples; seed++) {
        tw_random r;
        tw_random_seed_stream(&r, 100 * c + i, seed);
        example e = random_example(&r, k, c);
        run_example(&e, seed);
        computed++;
      }
    }
    assert_true(computed > 0);
  }
}

/* Each number of rows and columns of the largest kernel of each arithmetic, once with k of one block and once with
 * two. */
static void every_tail_is_computed(void **state) {
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    size_t c = 0;
    while (combinations[c].arithmetic != k->arithmetic) c++;
    for (int64_t m = 1; m <= k->rows + 1; m++)
      for (int64_t n = 1 + m % 3; n <= k->columns + 1; n += 3) {
        example e = {.spec = {.m = m, .n = n, .k = 1 + (5 * m + n) % 23, .kernel = name}, .at_end = 1};
        e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
        e.spec.lda = e.spec.k, e.spec.ldb = e.spec.ldc = n;
        run_example(&e, (uint64_t)(100 * m + n));
      }
  }
}

/* Tiles on two panels at once: rows that are dealt to strips of several heights, each remainder of two and three
 * panels, and loops over k shorter and longer than the part before which C is fetched. */
static void every_width_of_two_panels_is_computed(void **state) {
  static const int64_t ks[] = {7, 64, 65, 66, 131, 300};
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    size_t c = 0;
    while (combinations[c].arithmetic != k->arithmetic) c++;
    if (k->wide_rows == 0) continue;
    for (int64_t n = k->columns + 1; n <= 3 * k->columns; n += 3) {
      example e = {.spec = {.m = 17 + n % 13, .n = n, .kernel = name}, .at_end = 1};
      e.spec.k = ks[n % 6] * (4 / (int64_t)element(combinations[c].a));
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      e.spec.lda = e.spec.k, e.spec.ldb = e.spec.ldc = n;
      run_example(&e, (uint64_t)n);
    }
  }
}

/* Tiles on codes: each number of rows that a decode product can have, with groups of one step, of two, of a step and a
 * half of the larger bodies of loops, of a whole row, and with every remainder of k. */
static void every_number_of_rows_on_codes(void **state) {
  static const int groups[] = {8, 16, 24, 0};
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      if (combinations[c].arithmetic != k->arithmetic || combinations[c].c != TW_F32) continue;
      example e = {.at_end = 1, .spec = {.a = combinations[c].a, .b = combinations[c].b, .c = TW_F32, .kernel = name}};
      if (!has_scales(&e.spec)) continue;
      const bool grouped = e.spec.b == TW_I8 || e.spec.b == TW_I4;
      e.rounds_weights = k->arithmetic == X86_BF16 && (grouped || e.spec.b == TW_TERNARY);
      for (int64_t m = 1; m <= 16; m++)
        for (size_t g = 0; g < (grouped ? 4 : 1); g++) {
          e.spec.m = m, e.spec.k = 1 + (37 * m + 5 * (int64_t)g) % 150, e.spec.n = 1 + (7 * m) % (k->columns + 3);
          e.spec.lda = e.spec.k, e.spec.ldb = e.spec.ldc = e.spec.n;
          e.spec.group = grouped ? groups[g] : 0;
          run_example(&e, (uint64_t)(100 * m) + g);
        }
    }
  }
}

/* Codes are kept in no more bits than they have: mxfp6 in 6 where AVX-512 computes in real arithmetic, in 8 elsewhere;
 * 18 ternary ones in 32 where it computes in f32, in 36 elsewhere. */
static void packed_codes_take_their_bits(void **state) {
  enum { N = 256, K = 4096 };
  static const struct {
    tw_type b;
    int bits, scale_bits, bits_elsewhere; /* of an element; of its part of a scale */
  } expected[] = {{TW_MXFP4, 4, 8, 4}, {TW_MXFP6, 6, 8, 8}, {TW_MXFP8, 8, 8, 8}, {TW_TERNARY, 2, 0, 2}};
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *kernel = kernel_named(name);
    if (kernel->arithmetic != X86_F32 && kernel->arithmetic != X86_BF16) continue;
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) {
      const tw_gemm_spec spec = {
          .size = sizeof spec, .m = 1, .n = N, .k = K, .a = TW_BF16, .b = expected[e].b, .kernel = name};
      tw_gemm_plan *plan;
      assert_int_equal(tw_gemm_plan_create(&spec, &plan, NULL), TW_OK);
      const bool triples = expected[e].b == TW_TERNARY && kernel->isa >= X86_AVX512 && kernel->arithmetic == X86_F32;
      const size_t bits = (size_t)(kernel->isa >= X86_AVX512 ? expected[e].bits : expected[e].bits_elsewhere);
      const size_t codes = triples ? (size_t)N * K * 32 / 18 / 8 : (size_t)N * K * bits / 8;
      const size_t least = codes + (size_t)N * K / 32 * (size_t)expected[e].scale_bits / 8;
      assert_in_range(tw_gemm_packed_bytes(plan), least, least + least / 50 + 4096);
      tw_gemm_plan_destroy(plan);
    }
  }
}

/* k of several blocks, the last of them shorter: sums that are added to are C, or wait where C is of another type. */
static void blocks_of_k_add_up(void **state) {
  enum { M = 19, N = 37, K = 10001 };
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    int left = is_emulated() ? 2 : INT_MAX; /* with k this long */
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations && left > 0; c++) {
      if (combinations[c].arithmetic != k->arithmetic) continue;
      left--;
      example e = {.spec = {.n = N, .k = K, .lda = K, .ldb = N, .ldc = N, .kernel = name}, .at_end = 1};
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      const tw_type b = e.spec.b;
      e.rounds_weights = k->arithmetic == X86_BF16 && (b == TW_I8 || b == TW_I4 || b == TW_TERNARY);
      e.spec.m = c % 2 ? 3 : M; /* tiles on codes, and on panels */
      run_example(&e, c);
    }
  }
}

/* A strip of A is multiplied by all panels (`by_strips`), which the library chooses for products larger than L2: with each
 * remainder of rows and columns, A in place and packed, sums in C and in the workspace, k of several blocks, gaps
 * between rows, rows of C that are more than a page apart, and parts of several threads. */
static void strips_pass_panels(void **state) {
  static const int64_t ks[] = {64, 100, 200, 5000};
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    if (k->isa != X86_AMX) continue;
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      if (combinations[c].arithmetic != k->arithmetic) continue;
      for (int64_t m = 33; m <= 97; m += is_emulated() ? 24 : 8) {
        const int64_t depth = ks[(m / 8) % 4], n = 1 + (7 * m) % 130;
        example e = {.at_end = 1, .spec = {.size = sizeof e.spec, .m = m, .n = n, .k = depth, .threads = 1 + (m > 80)}};
        tw_gemm_spec *const s = &e.spec;
        s->a = combinations[c].a, s->b = combinations[c].b, s->c = combinations[c].c;
        s->lda = depth + m % 5, s->ldb = n + m % 3, s->ldc = m % 3 ? n + m % 7 : n + 1024, s->alpha = 1;
        if (has_scales(s)) continue;
        const x86_tuned tuned = {.kernel = k,
                                 .blocks = {.mc = m % 16 < 8 ? 32 : m,
                                            .nc = 64,
                                            .rho = m % 16 < 8 ? 1 : (int)((m + 31) / 32),
                                            .a = m % 3 ? X86_CHOOSE_A : X86_PACK_A}};
        assert_int_equal(x86_know(s, &tuned, NULL), TW_OK);
        tw_gemm_plan *plan;
        assert_int_equal(tw_gemm_plan_create(s, &plan, NULL), TW_OK);
        assert_true(plan->by_strips);
        tw_gemm_plan_destroy(plan);
        run_example(&e, (uint64_t)m);
      }
    }
  }
}

/* A block of rows that a schedule sets is still divided into whole strips. */
static void a_lower_block_keeps_whole_strips(void **state) {
  enum { ROWS = 256 };
  const tw_gemm_spec s = {
      .size = sizeof s, .m = 1 << 16, .n = 512, .k = 512, .a = TW_BF16, .b = TW_BF16, .c = TW_F32, .threads = 1};
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_tuned tuned = {.kernel = kernel_named(name), .blocks = {.mc = ROWS}};
    tw_gemm_plan p;
    if (tuned.kernel->isa != X86_AMX || tuned.kernel->arithmetic != X86_BF16) continue;
    assert_int_equal(x86_describe(&s, &tuned, X86_B_PACKED, &p, NULL), TW_OK);
    assert_true(p.by_strips);
    assert_int_equal(p.mc, ROWS);
    assert_int_equal(p.rho * p.strip_rows, ROWS);
  }
}

/* A row goes over all panels in one call of its tile, if its sums find room in C or the workspace: the last panel is
 * cut off. */
static void one_row_goes_over_panels(void **state) {
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      const int64_t n = 3 * k->columns + 5, depth = c % 2 ? 700 : 10001; /* one block of k, or several */
      example e = {.at_end = 1, .spec = {.m = 1, .n = n, .k = depth, .lda = depth, .ldb = n, .ldc = n, .kernel = name}};
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      if (combinations[c].arithmetic != k->arithmetic || !has_scales(&e.spec)) continue;
      const tw_type b = e.spec.b;
      e.rounds_weights = k->arithmetic == X86_BF16 && (b == TW_I8 || b == TW_I4 || b == TW_TERNARY);
      run_example(&e, c);
    }
  }
}

/* Weights that are packed for one m go with any other, as long as the caller leaves the choice of the kernel to the
 * library. */
static void packed_weights_serve_every_m(void **state) {
  static const int64_t ms[] = {1, 3, 16, 17, 40}, ks[] = {1, 70, 3001};
  static const tw_type types[][3] = {
      {TW_F32, TW_F32, TW_F32},    {TW_BF16, TW_BF16, TW_F32}, {TW_U8, TW_I8, TW_I32},  {TW_I8, TW_I8, TW_I32},
      {TW_BF16, TW_MXFP4, TW_F32}, {TW_BF16, TW_I4, TW_F32},   {TW_F32, TW_I8, TW_F32}, {TW_BF16, TW_TERNARY, TW_F32},
      {TW_BF16, TW_MXFP6, TW_F32}, {TW_BF16, TW_BFP16, TW_F32}};
  enum { N = 45, M_MOST = 40, K_MOST = 3001 };
  static float a[M_MOST * K_MOST], b[K_MOST * N], c[M_MOST * N];
  memset(a, 0, sizeof a); /* whatever the type: what is asked is whether it is refused */
  memset(b, 0, sizeof b);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
      tw_gemm_spec s = {.size = sizeof s,
                        .m = 5,
                        .n = N,
                        .k = ks[i],
                        .a = types[t][0],
                        .b = types[t][1],
                        .c = types[t][2],
                        .threads = 1};
      tw_gemm_plan *first;
      assert_int_equal(tw_gemm_plan_create(&s, &first, NULL), TW_OK);
      void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, (tw_gemm_packed_bytes(first) + 63) / 64 * 64);
      assert_int_equal(tw_gemm_pack(first, b, packed, NULL), TW_OK);
      for (size_t m = 0; m < sizeof ms / sizeof *ms; m++) {
        s.m = ms[m];
        tw_gemm_plan *plan;
        tw_error error = {0};
        assert_int_equal(tw_gemm_plan_create(&s, &plan, NULL), TW_OK);
        memset(c, 0xff, sizeof c);
        if (tw_gemm_plan_execute(
                plan, &(tw_gemm_operands){.size = sizeof(tw_gemm_operands), .a = a, .packed_b = packed, .c = c},
                &error) != TW_OK)
          fail_msg("%s for m=%d, packed for %s: %s", tw_gemm_plan_kernel(plan), (int)ms[m], tw_gemm_plan_kernel(first),
                   error.text);
        for (int64_t e = 0; e < s.m * N; e++) assert_true(c[e] == 0);
        tw_gemm_plan_destroy(plan);
      }
      free(packed);
      tw_gemm_plan_destroy(first);
    }
}

static void large_shapes_are_computed(void **state) {
  static const int64_t shapes[][3] = {{700, 64, 300}, {33, 1100, 513}, {150, 700, 900}};
  const size_t n_shapes = is_emulated() ? 2 : 3;
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    if (k->isa == X86_PORTABLE) continue;
    size_t c = 0;
    while (combinations[c].arithmetic != k->arithmetic) c++;
    for (size_t shape = 0; shape < n_shapes; shape++) {
      const int64_t *mnk = shapes[shape];
      example e = {.spec = {.m = mnk[0], .n = mnk[1], .k = mnk[2], .lda = mnk[2], .ldb = mnk[1], .ldc = mnk[1]}};
      e.spec.kernel = name;
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      run_example(&e, shape);
    }
  }
}

/* Tiles go on from strip to strip, but where sums are finished tile by tile, as row scales ask for, even of 1: the same
 * bits. */
static void strips_in_a_row_are_strips_one_by_one(void **state) {
  enum { M = 61, N = 70, K = 1300 };
  static const struct {
    tw_type a, b;
    tw_a_rounding rounding;
  } products[] = {{TW_F32, TW_F32, TW_A_EXACT},       {TW_BF16, TW_BF16, TW_A_EXACT},
                  {TW_F32, TW_MXFP4, TW_A_EXACT},     {TW_BF16, TW_MXFP4, TW_A_INT8_GROUPS},
                  {TW_BF16, TW_I4, TW_A_INT8_GROUPS}, {TW_F32, TW_TERNARY, TW_A_INT8_ROWS}};
  static float a[M * K], b[K * N], c[2][M * N], ones[M];
  for (int i = 0; i < M; i++) ones[i] = 1;
  const char *name;
  int computed = 0;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    for (size_t t = 0; t < sizeof products / sizeof *products; t++) {
      const tw_type b_type = tw_gemm_scaled(products[t].b) ? TW_F32 : products[t].b;
      tw_gemm_spec s = {.size = sizeof s,
                        .m = M,
                        .n = N,
                        .k = K,
                        .a = products[t].a,
                        .b = products[t].b,
                        .threads = 1,
                        .kernel = name};
      s.a_rounding = products[t].rounding;
      if (products[t].b == TW_I4) s.group = 32;
      tw_gemm_plan *plan;
      if (tw_gemm_plan_create(&s, &plan, NULL) != TW_OK) continue; /* a kernel of other types */
      tw_random r;
      tw_random_seed_stream(&r, i, t);
      for (int q = 0; q < M * K; q++) put_random(&r, s.a, a, q);
      for (int q = 0; q < K * N; q++) put_random(&r, b_type, b, q);
      void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, (tw_gemm_packed_bytes(plan) + TW_GEMM_ALIGNMENT - 1) /
                                                          TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT);
      assert_int_equal(tw_gemm_pack(plan, b, packed, NULL), TW_OK);
      for (int scaled = 0; scaled < 2; scaled++) {
        memset(c[scaled], 0xff, sizeof c[scaled]);
        const tw_gemm_operands o = {
            .size = sizeof o, .a = a, .packed_b = packed, .c = c[scaled], .row_scale = scaled ? ones : NULL};
        assert_int_equal(tw_gemm_plan_execute(plan, &o, NULL), TW_OK);
      }
      assert_memory_equal(c[0], c[1], sizeof c[0]);
      computed++;
      free(packed);
      tw_gemm_plan_destroy(plan);
    }
  }
  assert_true(computed > 0);
}

/* One product of bf16, with a row for each kind of sum: infinite, NaN, subnormal, too large. */
static void compute_bf16(const char *kernel, tw_type c_type, int m, int n, int k, void *c) {
  enum { MOST = 1101 * 130 };
  static uint16_t a[MOST], b[MOST];
  const tw_gemm_spec s = {.size = sizeof s,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = TW_BF16,
                          .b = TW_BF16,
                          .c = c_type,
                          .threads = 1,
                          .kernel = kernel};
  tw_gemm_plan *plan;
  tw_random r;
  assert_true(m * k <= MOST && k * n <= MOST);
  assert_int_equal(tw_gemm_plan_create(&s, &plan, NULL), TW_OK);
  tw_random_seed_stream(&r, (uint64_t)n, (uint64_t)k);
  for (int i = 0; i < m * k; i++) a[i] = tw_f32_to_bf16((float)tw_random_between(&r, -999, 999) / 512);
  for (int i = 0; i < k * n; i++) b[i] = tw_f32_to_bf16((float)tw_random_between(&r, -999, 999) / 512);
  a[0] = 0x7f80, a[k] = 0xffa1;
  for (int i = 0; i < k; i++) a[2 * k + i] = tw_f32_to_bf16(ldexpf(tw_bf16_to_f32(a[2 * k + i]), -124));
  for (int i = 0; i < k; i++) a[3 * k + i] = tw_f32_to_bf16(ldexpf(tw_bf16_to_f32(a[3 * k + i]), 126));
  void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, (tw_gemm_packed_bytes(plan) + TW_GEMM_ALIGNMENT - 1) /
                                                      TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT);
  assert_int_equal(tw_gemm_pack(plan, b, packed, NULL), TW_OK);
  const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = packed, .c = c};
  assert_int_equal(tw_gemm_plan_execute(plan, &o, NULL), TW_OK);
  free(packed);
  tw_gemm_plan_destroy(plan);
}

static void expect_rounded_sums(const char *kernel, int m, int n, int k) {
  float *const sums = malloc((size_t)(m * n) * sizeof *sums);
  uint16_t *const c = malloc((size_t)(m * n + 1) * sizeof *c);
  c[m * n] = 0x1234;
  compute_bf16(kernel, TW_F32, m, n, k, sums);
  compute_bf16(kernel, TW_BF16, m, n, k, c);
  for (int at = 0; at < m * n; at++) assert_int_equal(c[at], tw_f32_to_bf16(sums[at]));
  assert_int_equal(c[m * n], 0x1234);
  free(sums);
  free(c);
}

/* The largest product exceeds half of L2: AMX computes it strip by strip, and its rows of A have no gap. */
static void bf16_results_are_rounded_sums(void **state) {
  enum { M = 37, N = 75, K = 130, M_LARGE = 1101, N_LARGE = 201, K_LARGE = 128 };
  const char *name;
  for (size_t i = 0; (name = kernel_at(i)); i++) {
    if (kernel_named(name)->arithmetic != X86_BF16) continue;
    for (int n = 1; n <= N; n += 1 + n % 3) expect_rounded_sums(name, M, n, K);
    expect_rounded_sums(name, M_LARGE, N_LARGE, K_LARGE);
  }
}

/* ---- wrong arguments ---- */

static void expect_refusal(tw_gemm_spec s, const char *part) {
  tw_gemm_plan *plan;
  tw_error error = {0};
  assert_int_not_equal(tw_gemm_plan_create(&s, &plan, &error), TW_OK);
  assert_null(plan);
  if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
}

static void wrong_descriptions_are_refused(void **state) {
  const tw_gemm_spec good = {.size = sizeof good, .m = 4, .n = 5, .k = 6};
  tw_gemm_spec s;
  tw_error error;
  tw_gemm_plan *plan;
  assert_int_equal(tw_gemm_plan_create(NULL, &plan, &error), TW_USAGE);
  assert_int_equal(tw_gemm_plan_create(&good, NULL, &error), TW_USAGE);
  s = good, s.m = 0, expect_refusal(s, "m=0");
  s = good, s.n = -3, expect_refusal(s, "n=-3");
  s = good, s.k = INT64_MAX, expect_refusal(s, "k=");
  s = good, s.lda = 5, expect_refusal(s, "lda=5");
  s = good, s.ldb = 4, expect_refusal(s, "ldb=4");
  s = good, s.ldc = 1, expect_refusal(s, "ldc=1");
  s = good, s.b_transposed = true, s.ldb = 5, expect_refusal(s, "ldb=5");
  s = good, s.threads = -1, expect_refusal(s, "threads=-1");
  s = good, s.activation = (tw_activation)9, expect_refusal(s, "activation=9");
  s = good, s.kernel = "f32-gemm-1x1-none", expect_refusal(s, "f32-gemm-1x1-none");
  s = good, s.group = 32, expect_refusal(s, "group=32");
  s = good, s.b = TW_I4, s.group = 7, expect_refusal(s, "group=7");
  s = good, s.b = TW_MXFP4, s.group = 16, expect_refusal(s, "group=16");
  s = good, s.a = TW_I8, expect_refusal(s, "a=i8 b=f32");
  s = good, s.c = TW_I32, expect_refusal(s, "c=i32");
  s = good, s.a = s.b = TW_I8, s.c = TW_I32, s.alpha = 2, expect_refusal(s, "alpha");
  s = good, s.a = s.b = TW_I8, s.c = TW_I32, s.k = 1 << 20, expect_refusal(s, "k=");
}

static void expect_bad_operands(const tw_gemm_plan *plan, tw_gemm_operands o, const char *part) {
  tw_error error = {0};
  assert_int_equal(tw_gemm_plan_execute(plan, &o, &error), TW_USAGE);
  if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
}

static void wrong_operands_are_refused(void **state) {
  static float a[4 * 6], b[6 * 5], c[4 * 5];
  const tw_gemm_spec spec = {.size = sizeof spec, .m = 4, .n = 5, .k = 6},
                     other = {.size = sizeof other, .m = 4, .n = 5, .k = 7};
  tw_gemm_plan *plan, *second;
  tw_error error;
  assert_int_equal(tw_gemm_plan_create(&spec, &plan, NULL), TW_OK);
  assert_int_equal(tw_gemm_plan_create(&other, &second, NULL), TW_OK);
  char *packed = aligned_alloc(TW_GEMM_ALIGNMENT, 1 << 16);
  assert_int_equal(tw_gemm_pack(plan, b, packed + 4, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "packed is not aligned"));
  assert_int_equal(tw_gemm_pack(plan, NULL, packed, &error), TW_USAGE);
  assert_int_equal(tw_gemm_pack(plan, b, NULL, &error), TW_USAGE);
  assert_int_equal(tw_gemm_pack(plan, packed + 64, packed, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "overlaps"));
  assert_int_equal(tw_gemm_pack(plan, b, packed, NULL), TW_OK);
  const tw_gemm_operands good = {.size = sizeof good, .a = a, .packed_b = packed, .c = c};
  tw_gemm_operands o;
  assert_int_equal(tw_gemm_plan_execute(plan, &good, NULL), TW_OK);
  assert_int_equal(tw_gemm_plan_execute(plan, NULL, NULL), TW_USAGE);
  assert_int_equal(tw_gemm_plan_execute(NULL, &good, NULL), TW_USAGE);
  o = good, o.a = NULL, expect_bad_operands(plan, o, "a is NULL");
  o = good, o.packed_b = NULL, expect_bad_operands(plan, o, "packed_b is NULL");
  o = good, o.c = NULL, expect_bad_operands(plan, o, "c is NULL");
  o = good, o.c = a + 3, expect_bad_operands(plan, o, "c overlaps a");
  o = good, o.c = packed, expect_bad_operands(plan, o, "c overlaps packed_b");
  o = good, o.bias = c + 1, expect_bad_operands(plan, o, "c overlaps bias");
  o = good, o.packed_b = packed + 4, expect_bad_operands(plan, o, "aligned");
  expect_bad_operands(second, good, "packed_b was not packed by a plan");
  free(packed);
  tw_gemm_plan_destroy(plan);
  tw_gemm_plan_destroy(second);
  tw_gemm_plan_destroy(NULL);
}

int main(void) {
  emulate_what_is_asked();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kernel_computes_every_combination),
      cmocka_unit_test(every_tail_is_computed),
      cmocka_unit_test(every_width_of_two_panels_is_computed),
      cmocka_unit_test(every_number_of_rows_on_codes),
      cmocka_unit_test(packed_codes_take_their_bits),
      cmocka_unit_test(blocks_of_k_add_up),
      cmocka_unit_test(strips_pass_panels),
      cmocka_unit_test(a_lower_block_keeps_whole_strips),
      cmocka_unit_test(one_row_goes_over_panels),
      cmocka_unit_test(packed_weights_serve_every_m),
      cmocka_unit_test(large_shapes_are_computed),
      cmocka_unit_test(strips_in_a_row_are_strips_one_by_one),
      cmocka_unit_test(bf16_results_are_rounded_sums),
      cmocka_unit_test(wrong_descriptions_are_refused),
      cmocka_unit_test(wrong_operands_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
