/* gemm.c - matrix multiplication with its epilogue: keys, operands, cost. Its types and error bounds are in
 * gemm_numerics.c, inputs in gemm_inputs.c, the reference result in gemm_reference.c, the comparison in gemm_compare.c.
 *
 *   c=i8    C = relu(sat8(round(scale * (op(A) op(B) + D))))   acc=i32; the scaling in binary32, ties to even
 *   c=i16   likewise with sat16. With a=i16 sums may have more than the 24 bits of binary32: the scaling is then in
 *           binary64, exact for powers of two, as shifts of integers are
 *           acc=i8, acc=i16 (of c's type): sums may be rounded and saturated to it on the way, up to once for every 8
 *           of k
 *   c=i32   C = relu(op(A) op(B) + D)                          acc=i32; inputs are such that nothing overflows
 *   c=f32   C = relu(scale * (op(A) op(B) + D))                acc=f32 (f16 and bf16 too) or i32; within the bound of
 *                                                              gemm_numerics.c
 *
 * With a=i8 B may be i4 or ternary: an array of i8 whose values that type holds (-8..7, -1..1). A scale for all of B
 * is applied by the caller, or given as `scale`.
 *
 * B of a type with shared scales (b=mxfp4, i4, ternary, ...; a of f32, f16 or bf16) is an array of f32 whose values
 * that type can hold, with scales along k for each column: each target stores it in its own layout. So is A with
 * a=bfp16, along rows, and C with c=bfp16.
 *
 * With b=bfp16, acc may be bf16 or bfp16, too: sums may then be rounded to that type on the way, up to once for every 8
 * of k, and A of bf16 to bfp16 (XDNA2's kernels do). The comparison allows for that, and for no more. acc=bf16 with
 * a=bf16 c=bf16 and b of bf16 or i4 allows the same, and that B is rounded as A is.
 *
 * With packed=1 it has the layout of a model's weights: the planes of format.h for n rows of k, B the codes (bytes), SB
 * the scales (bytes of e8m0, or f32). An A of mxfp4, mxfp6 or mxfp8 is then codes and scales (SA), too. gemm_packed.h
 * has their orders.
 *
 * glu makes C = act(G) * U of the sums G and U: B has 2 n columns, n of G and then n of U, as the gate and up
 * projections of a gated MLP stacked. With glu_pass=sums, C has 3 n columns: G, U and act(G) * U, for a backward pass.
 * With glu_pass=backward, the sums S are gradients of act(G) * U, and C has the 2 n gradients S U act'(G) and S act(G);
 * D is G and U, of C's type.
 *
 * rotary rotates pairs of the sums of a head, as op rotary (rotary.c) does with elements: the first `heads` heads of
 * `head` columns, as queries and keys before values in the projection of attention. COS and SIN have C's type.
 *
 * gelu applies to C as relu does. a and b of e4m3, e5m2 and e4m3fnuz are arrays of bytes; with scales, factors of f32
 * for them are the operands SA and SB: one each; [m] and [n]; or [m][k/128] and [n/128][k/128] (rounded up),
 * transposed if A or B has k first.
 *
 * a and b of e2m3 and e3m2 are rows of codes along k, four in three bytes: A and B are arrays of bytes.
 *
 * a of mxfp4, mxfp6 or mxfp8, with b of one of them: f32 that the type can hold, in blocks of 32 along rows. quantize:
 * A of f32, f16 or bf16 becomes such a type in the kernel, to the bit as format.h says.
 *
 * The C parameters of a kernel are A, B, [SA,] [SB,] [D,] [COS, SIN,] C, row-major. A is declared m x k (k x m if a_transposed), B
 * k x n (n x k if b_transposed), D 1 x n (bias=row) or m x n (bias=full), C m x n, or as glu and glu_pass say. */
#include "base/integers.h"
#include "op/gemm_numerics.h"

#include <inttypes.h>
#include <math.h>

#include "op/exact.h"
#include "op/gemm_packed.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { SIZE_LIMIT = 1 << 20, PITCH_LIMIT = 1 << 21, CODES6 = 4, BYTES6 = 3 /* four codes of 6 bits in three bytes */ };

static const tw_key keys[] = {
    TW_SIZE_KEY("m", SIZE_LIMIT, 0, "rows of C"),
    TW_SIZE_KEY("n", SIZE_LIMIT, 0, "columns of C"),
    TW_SIZE_KEY("k", SIZE_LIMIT, 0, "inner dimension"),
    TW_FLAG_KEY("a_transposed", "A is stored k x m"),
    TW_FLAG_KEY("b_transposed", "B is stored n x k"),
    TW_CHOICE_KEY("bias", "none", "none|row|full", "D: 1 x n or m x n"),
    TW_FLAG_KEY("relu", "replace negative results by 0"),
    TW_CHOICE_KEY("gelu", "none", "none|erf|tanh", "apply GELU to the results: exact (erf) or approximated (tanh)"),
    TW_CHOICE_KEY("glu", "none", "none|silu|gelu_erf|gelu_tanh",
                  "gated linear unit: B has 2 n columns; C = act(A B[first n]) * (A B[last n]); no bias"),
    TW_CHOICE_KEY(
        "glu_pass", "forward", "forward|sums|backward",
        "sums: C has 3 n columns, also the sums; backward: the product is the gradient of gated values, D has "
        "the 2 n sums, and C their gradients"),
    TW_CHOICE_KEY("rotary", "none", "none|halves|interleaved",
                  "rotate pairs of elements of each head of C: of its halves, or neighbours; COS and SIN are operands"),
    TW_INT_KEY("head", "0", 0, SIZE_LIMIT, "elements of a head of rotary; even"),
    TW_INT_KEY("heads", "0", 0, SIZE_LIMIT, "heads that rotary rotates: the first head * heads columns of C"),
    TW_INT_KEY("positions", "0", 0, SIZE_LIMIT, "rows of COS and SIN; row i of C has position i % positions"),
    TW_REAL_KEY("scale", "1", "factor on the accumulator"),
    TW_INT_KEY("lda", "0", 0, PITCH_LIMIT, "elements between rows of A (leading dimension); 0 = dense"),
    TW_INT_KEY("ldb", "0", 0, PITCH_LIMIT, "elements between rows of B; 0 = dense"),
    TW_INT_KEY("ldc", "0", 0, PITCH_LIMIT, "elements between rows of C; 0 = dense"),
    TW_INT_KEY("ldd", "0", 0, PITCH_LIMIT, "elements between rows of D; 0 = dense"),
    TW_INT_KEY("group", "0", 0, SIZE_LIMIT,
               "elements along k that share a scale of B; 0 = the number that the type defines"),
    TW_FLAG_KEY(
        "packed",
        "B of a type with shared scales is stored as codes and scales; docs/reference/formats.md has the layout"),
    TW_CHOICE_KEY("shuffle", "none", "none|aiter|mma",
                  "order of packed weights: rows; AITER's order of mxfp4 for gfx950 (codes of B, and all scales); or B "
                  "and its scales in the order of registers of NVIDIA's mma"),
    TW_CHOICE_KEY("a_rounding", "exact", "exact|rows|groups",
                  "round A to int8 in the kernel, with a scale for each row or for each group of B"),
    TW_CHOICE_KEY(
        "scales", "none", "none|tensor|row|block",
        "scale operands of A and B (e4m3, e5m2, e4m3fnuz): one for the tensor, one for each row of A and column "
        "of B, or one for each block (1 x 128 of A, 128 x 128 of B)"),
    TW_CHOICE_KEY(
        "quantize", "none", "none|mxfp4|mxfp6|mxfp8",
        "quantize A (f32, f16 or bf16) to this type in the kernel, in blocks of 32 along k; b must be an mx type"),
    TW_CHOICE_KEY("scale_rule", "floor", "floor|even|up|ceil",
                  "how quantize computes scales; docs/reference/formats.md defines the rules"),
    TW_CHOICE_KEY(
        "arithmetic", "full", "full|tf32|fast_accum|bf16",
        "full: products and sums in binary32; tf32, bf16: f32 a and b may be rounded to this type; fast_accum: "
        "sums of "
        "e4m3 and e5m2 may be rounded to 14 bits"),
    TW_TYPE_KEY("a", "", "element type of A"),
    TW_TYPE_KEY("b", "", "element type of B"),
    TW_TYPE_KEY("c", "", "element type of C"),
    TW_TYPE_KEY("acc", "", "type of the accumulator"),
    TW_CHOICE_KEY("d", "acc", "acc|c", "element type of D: the type of acc or of C"),
};

static int64_t d_columns(const tw_gemm *g) { return tw_gemm_gates_back(g) ? 2 * g->n : g->n; }

tw_gemm tw_gemm_of(const tw_problem *p) {
  tw_gemm g = {
      .m = tw_problem_int(p, "m"),
      .n = tw_problem_int(p, "n"),
      .k = tw_problem_int(p, "k"),
      .a_transposed = tw_problem_int(p, "a_transposed"),
      .b_transposed = tw_problem_int(p, "b_transposed"),
      .bias = (tw_gemm_bias)tw_problem_int(p, "bias"),
      .relu = tw_problem_int(p, "relu"),
      .scale = (float)tw_problem_real(p, "scale"),
      .lda = tw_problem_int(p, "lda"),
      .ldb = tw_problem_int(p, "ldb"),
      .ldc = tw_problem_int(p, "ldc"),
      .ldd = tw_problem_int(p, "ldd"),
      .a = tw_problem_type(p, "a"),
      .b = tw_problem_type(p, "b"),
      .c = tw_problem_type(p, "c"),
      .acc = tw_problem_type(p, "acc"),
      .group = tw_problem_int(p, "group"),
      .a_rounding = (tw_gemm_a_rounding)tw_problem_int(p, "a_rounding"),
      .gelu = (tw_gelu)tw_problem_int(p, "gelu"),
      .glu = (tw_glu)tw_problem_int(p, "glu"),
      .glu_pass = (tw_glu_pass)tw_problem_int(p, "glu_pass"),
      .rotary = (tw_gemm_rotary)tw_problem_int(p, "rotary"),
      .head = tw_problem_int(p, "head"),
      .heads = tw_problem_int(p, "heads"),
      .positions = tw_problem_int(p, "positions"),
      .arithmetic = (tw_arithmetic)tw_problem_int(p, "arithmetic"),
      .scales = (tw_gemm_scales)tw_problem_int(p, "scales"),
      .quantize = (tw_gemm_quantize)tw_problem_int(p, "quantize"),
      .rule = (tw_scale_rule)(TW_RULE_FLOOR + tw_problem_int(p, "scale_rule")),
  };
  g.packed = tw_problem_int(p, "packed");
  g.shuffle = (tw_gemm_shuffle)tw_problem_int(p, "shuffle");
  g.b_transposed |= g.packed; /* n rows of k */
  g.d = tw_problem_int(p, "d") || tw_gemm_gates_back(&g) ? g.c : g.acc;
  if (!g.lda) g.lda = g.a_transposed ? g.m : g.k;
  if (!g.ldb) g.ldb = g.b_transposed ? g.k : tw_gemm_columns(&g);
  if (!g.ldc) g.ldc = tw_gemm_c_columns(&g);
  if (!g.ldd) g.ldd = d_columns(&g);
  return g;
}

static tw_operand matrix(const char *name, tw_type type, int64_t rows, int64_t columns, int64_t pitch) {
  return tw_operand_pitched(name, type, 2, (int64_t[]){rows, columns}, pitch);
}

/* A or B as rows of codes of 6 bits: an array of bytes. */
static tw_operand codes6(const char *name, int64_t rows, int64_t k, int64_t pitch) {
  return matrix(name, TW_U8, rows, k / CODES6 * BYTES6, pitch / CODES6 * BYTES6);
}

/* For `lines` lines along k, of which `shared` have one scale; block scales of A and B have the layout of A and B. */
static tw_operand scales(const char *name, const tw_gemm *g, int64_t lines, int64_t shared, bool k_first) {
  const int64_t all = g->scales == TW_GEMM_SCALES_TENSOR ? 1 : tw_ceil_div(lines, shared);
  if (g->scales != TW_GEMM_SCALES_BLOCK) return tw_operand_dense(name, TW_F32, 1, (int64_t[]){all});
  const int64_t blocks = tw_ceil_div(g->k, TW_GEMM_SCALE_BLOCK);
  return tw_operand_dense(name, TW_F32, 2, k_first ? (int64_t[]){blocks, all} : (int64_t[]){all, blocks});
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  tw_gemm g = tw_gemm_of(p);
  const tw_gemm_numerics types = tw_gemm_numerics_of(&g);
  const tw_type a = types.a, b = types.b;
  size_t n = 0;
  tw_gemm_packed planes_a = {0}, planes_b = {0};
  const bool packs_a = tw_gemm_packs_a(&g) && tw_gemm_packed_of(&g, 'a', &planes_a, NULL) == TW_OK;
  out[n++] = packs_a             ? tw_gemm_code_operand(&planes_a, "A")
             : tw_is_float6(g.a) ? codes6("A", g.m, g.k, g.lda)
             : g.a_transposed    ? matrix("A", a, g.k, g.m, g.lda)
                                 : matrix("A", a, g.m, g.k, g.lda);
  if (g.packed && tw_format_of_type(g.b) && tw_gemm_packed_of(&g, 'b', &planes_b, NULL) == TW_OK) {
    out[n++] = tw_gemm_code_operand(&planes_b, "B");
    if (packs_a) out[n++] = tw_gemm_scale_operand(&planes_a, "SA");
    out[n++] = tw_gemm_scale_operand(&planes_b, "SB");
  } else
    out[n++] = tw_is_float6(g.b) ? codes6("B", g.n, g.k, g.ldb)
               : g.b_transposed  ? matrix("B", b, tw_gemm_columns(&g), g.k, g.ldb)
                                 : matrix("B", b, g.k, tw_gemm_columns(&g), g.ldb);
  if (g.scales) {
    out[n++] = scales("SA", &g, g.m, 1, g.a_transposed);
    out[n++] = scales("SB", &g, g.n, g.scales == TW_GEMM_SCALES_BLOCK ? TW_GEMM_SCALE_BLOCK : 1, !g.b_transposed);
  }
  if (tw_gemm_has_d(&g)) out[n++] = matrix("D", types.d, g.bias == TW_GEMM_BIAS_ROW ? 1 : g.m, d_columns(&g), g.ldd);
  for (int i = 0; g.rotary && i < 2; i++)
    out[n++] = matrix(i ? "SIN" : "COS", g.c, g.positions, g.head / 2, g.head / 2);
  out[n] = matrix("C", types.c, g.m, tw_gemm_c_columns(&g), g.ldc);
  out[n++].is_output = true;
  return n;
}

tw_status tw_gemm_packing(const tw_gemm *g, tw_packing *out, tw_error *error) {
  *out = (tw_packing){.format = tw_format_of_type(g->b), .group = g->group};
  if (out->format->scale != TW_SCALE_F32 && g->group) {
    if (g->group != (int64_t)out->format->block)
      return tw_fail(error, TW_USAGE,
                     "group=%" PRId64 " is unsupported with b=%s, which has a scale for every %zu elements", g->group,
                     tw_type_name(g->b), out->format->block);
    out->group = 0;
  }
  return tw_packing_check(out, error);
}

static tw_status check_rotary(const tw_gemm *g, tw_error *error) {
  if (!g->rotary && (g->head || g->heads || g->positions))
    return tw_fail(error, TW_USAGE, "head, heads and positions require rotary=halves or rotary=interleaved");
  if (!g->rotary) return TW_OK;
  if (g->head < 2 || g->head % 2 || g->heads < 1 || g->heads > g->n / g->head || g->positions < 1)
    return tw_fail(error, TW_USAGE,
                   "rotary requires head, even, heads with head * heads of at most n=%" PRId64
                   ", and positions (found head=%" PRId64 " heads=%" PRId64 " positions=%" PRId64 ")",
                   g->n, g->head, g->heads, g->positions);
  return TW_OK;
}

static tw_status check_arithmetic(const tw_gemm *g, tw_error *error) {
  const char *pairs = tw_gemm_pair_key(g);
  if (g->gelu && g->relu) return tw_fail(error, TW_USAGE, "relu=1 and gelu exclude each other; give one of them");
  if (g->gelu && tw_gemm_numerics_of(g).exact)
    return tw_fail(error, TW_USAGE, "gelu needs c of f32, f16 or bf16, not c=%s", tw_type_name(g->c));
  if (pairs && (!tw_is_real(g->a) || !tw_is_real(g->b) || !tw_is_real(g->c) || g->gelu || g->relu ||
                g->bias != TW_GEMM_BIAS_NONE || (g->glu && (g->rotary || g->scale != 1.0f))))
    return tw_fail(error, TW_USAGE, "%s needs a, b and c of f32, f16 or bf16, and no gelu, relu, bias%s", pairs,
                   g->glu ? ", scale or rotary" : "");
  if (g->glu_pass && !g->glu) return tw_fail(error, TW_USAGE, "glu_pass requires glu=silu, gelu_erf or gelu_tanh");
  if (g->d != g->acc && !tw_gemm_gates_back(g) &&
      (g->bias == TW_GEMM_BIAS_NONE || !tw_is_real(g->c) || g->acc != TW_F32))
    return tw_fail(error, TW_USAGE, "d=c needs a bias, and c of f32, f16 or bf16 (found c=%s)", tw_type_name(g->c));
  if (g->scales && !tw_is_float8(g->a) && g->a != TW_E4M3FNUZ)
    return tw_fail(error, TW_USAGE, "scales needs a and b of e4m3, e5m2 or e4m3fnuz, not a=%s b=%s", tw_type_name(g->a),
                   tw_type_name(g->b));
  const bool mx = tw_is_mx(g->b);
  if (g->quantize && (!tw_is_real(g->a) || !mx || g->a_rounding))
    return tw_fail(error, TW_USAGE,
                   "quantize requires a=f32, f16 or bf16, b=mxfp4, mxfp6 or mxfp8, and a_rounding=exact; "
                   "found a=%s b=%s%s",
                   tw_type_name(g->a), tw_type_name(g->b), g->a_rounding ? " and another a_rounding" : "");
  if (!g->quantize && g->rule != TW_RULE_FLOOR)
    return tw_fail(error, TW_USAGE,
                   "scale_rule requires quantize=mxfp4, mxfp6 or mxfp8; it chooses how quantize makes scales");
  if (g->a_rounding && tw_gemm_scaled(g->a) && mx)
    return tw_fail(error, TW_USAGE, "a_rounding needs a of f32, f16 or bf16, not a=%s", tw_type_name(g->a));
  if ((g->arithmetic == TW_ARITHMETIC_TF32 || g->arithmetic == TW_ARITHMETIC_BF16) &&
      (g->a != TW_F32 || g->b != TW_F32))
    return tw_fail(error, TW_USAGE, "arithmetic=%s needs a=f32 b=f32, not a=%s b=%s",
                   g->arithmetic == TW_ARITHMETIC_TF32 ? "tf32" : "bf16", tw_type_name(g->a), tw_type_name(g->b));
  if (g->arithmetic == TW_ARITHMETIC_FAST8 && !tw_is_float8(g->a))
    return tw_fail(error, TW_USAGE, "arithmetic=fast_accum needs a and b of e4m3 or e5m2, not a=%s b=%s",
                   tw_type_name(g->a), tw_type_name(g->b));
  return TW_OK;
}

static tw_status check_float6(const tw_gemm *g, tw_error *error) {
  if (g->b_transposed && !g->a_transposed && g->k % CODES6 == 0 && g->lda % CODES6 == 0 && g->ldb % CODES6 == 0)
    return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "a=%s b=%s requires rows along k, whose codes fill whole bytes: b_transposed=1, a_transposed=0, and k, "
      "lda and ldb multiples of %d (found k=%" PRId64 " lda=%" PRId64 " ldb=%" PRId64 ")",
      tw_type_name(g->a), tw_type_name(g->b), CODES6, g->k, g->lda, g->ldb);
}

static tw_status check_packed(const tw_problem *p, const tw_gemm *g, tw_error *error) {
  if (!tw_gemm_weights_only(g) || tw_format_of_type(g->b)->scale == TW_SCALE_INSIDE)
    return tw_fail(error, TW_USAGE,
                   "packed=1 needs a of floating point and b of i8, i4, ternary, mxfp4, mxfp6 or mxfp8, not a=%s b=%s",
                   tw_type_name(g->a), tw_type_name(g->b));
  if (tw_problem_int(p, "ldb"))
    return tw_fail(error, TW_USAGE, "ldb=%" PRId64 " is unsupported with packed=1; rows of codes have no gaps", g->ldb);
  if (tw_gemm_packs_a(g) && (g->a_transposed || tw_problem_int(p, "lda")))
    return tw_fail(error, TW_USAGE,
                   "a_transposed and lda are unsupported with packed=1 and a=%s, whose codes are rows without gaps",
                   tw_type_name(g->a));
  return TW_OK;
}

static tw_status check_shuffle(const tw_gemm *g, tw_error *error) {
  const bool aiter = g->shuffle == TW_GEMM_SHUFFLE_AITER;
  const int unit = aiter || g->b == TW_I4 ? 64 : 128;
  const bool type = aiter ? g->b == TW_MXFP4 && (!tw_gemm_packs_a(g) || g->a == TW_MXFP4)
                          : (g->b == TW_MXFP4 || g->b == TW_I4 || g->b == TW_TERNARY) && !tw_gemm_packs_a(g);
  if (g->packed && type && g->n % 16 == 0 && g->k % unit == 0) return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "shuffle=%s requires packed=1, %s, n a multiple of 16 and k a multiple of %d; found a=%s b=%s n=%" PRId64
      " k=%" PRId64 " packed=%d",
      aiter ? "aiter" : "mma",
      aiter ? "b=mxfp4 (and a of mxfp4 or real numbers)" : "b=i4, ternary or mxfp4, a of real numbers", unit,
      tw_type_name(g->a), tw_type_name(g->b), g->n, g->k, g->packed);
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  static const char *const pitch_key[] = {"lda", "ldb", "ldc", "ldd"};
  tw_gemm g = tw_gemm_of(p);
  tw_status status = tw_gemm_check_types(&g, error);
  if (status != TW_OK) return status;
  const int64_t pitch[] = {g.lda, g.ldb, g.ldc, g.ldd};
  const int64_t least[] = {g.a_transposed ? g.m : g.k, g.b_transposed ? g.k : tw_gemm_columns(&g),
                           tw_gemm_c_columns(&g), d_columns(&g)};
  for (int i = 0; i < 4; i++) {
    if (pitch[i] < least[i])
      return tw_fail(error, TW_USAGE, "%s=%" PRId64 " is less than the %" PRId64 " elements of a row; 0 means dense",
                     pitch_key[i], pitch[i], least[i]);
  }
  if (!tw_gemm_has_d(&g) && tw_problem_int(p, "ldd"))
    return tw_fail(error, TW_USAGE, "ldd=%" PRId64 " requires a bias; give bias=row or bias=full", g.ldd);
  tw_packing packing;
  if (tw_is_float6(g.a) && (status = check_float6(&g, error)) != TW_OK) return status;
  if (g.packed && (status = check_packed(p, &g, error)) != TW_OK) return status;
  if (g.shuffle && (status = check_shuffle(&g, error)) != TW_OK) return status;
  if (tw_gemm_weights_only(&g) && (status = tw_gemm_packing(&g, &packing, error)) != TW_OK) return status;
  if (!tw_gemm_weights_only(&g) && g.group)
    return tw_fail(error, TW_USAGE, "group=%" PRId64 " requires weights with scales (found b=%s)", g.group,
                   tw_type_name(g.b));
  if (g.a_rounding != TW_GEMM_A_EXACT && (!tw_gemm_weights_only(&g) || g.b == TW_MXFP8))
    return tw_fail(
        error, TW_USAGE,
        "a_rounding needs a of f32, f16 or bf16 and b of i8, i4, mxfp4, mxfp6, bfp16 or ternary, not a=%s b=%s",
        tw_type_name(g.a), tw_type_name(g.b));
  if ((status = check_rotary(&g, error)) != TW_OK || (status = check_arithmetic(&g, error)) != TW_OK) return status;
  if (!isfinite(g.scale)) return tw_fail(error, TW_USAGE, "scale does not fit a 32-bit float");
  if (g.c == TW_I32 && g.scale != 1.0f)
    return tw_fail(error, TW_USAGE, "scale must be 1 with c=i32, which stores the accumulator unchanged");
  return TW_OK;
}

/* ---- cost ---- */

static double operations(const tw_problem *p) {
  tw_gemm g = tw_gemm_of(p);
  return (double)g.m * (double)tw_gemm_columns(&g) * (double)g.k;
}

static double bytes(const tw_problem *p) {
  tw_gemm g = tw_gemm_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  size_t n = operands(p, o);
  double all = tw_operand_bytes(o, n);
  /* weights with scales: their codes; scales are a few percent of them */
  if (!g.packed && tw_is_mx(g.a)) all += (double)g.m * (double)g.k * (tw_type_bits(g.a) - tw_type_bits(TW_F32)) / 8.0;
  if (!g.packed) all += (double)g.n * (double)g.k * (tw_type_bits(g.b) - tw_type_bits(tw_gemm_numerics_of(&g).b)) / 8.0;
  return all;
}

static void reference(const tw_problem *p, void *const buffers[], int threads) {
  const tw_gemm g = tw_gemm_of(p);
  if (tw_gemm_by_element(&g))
    tw_exact_reference(p, buffers, threads);
  else
    tw_gemm_reference(&g, buffers, threads);
}

const tw_op tw_op_gemm = {
    .name = "gemm",
    .summary = "matrix multiplication C = act(scale * (A B + D))",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .validate = validate,
    .operands = operands,
    .inputs = tw_gemm_inputs,
    .reference = reference,
    .compare = tw_gemm_compare,
    .operations = operations,
    .bytes = bytes,
    .exact = tw_gemm_exact,
    .exact_cost = tw_gemm_exact_cost,
    .survey = tw_gemm_survey,
};
