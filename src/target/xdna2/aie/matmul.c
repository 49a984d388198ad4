/* matmul.c - C += A B on a tile: a cluster of accumulators in straight-line code over the whole depth, and the loops
 * over clusters. */
#include <stdio.h>
#include <string.h>

#include "target/xdna2/aie/writer.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/symbol.h"

enum { PACKED = 72, CODED_BLOCKS = 4 };

/* How blocks come and go. */
typedef enum path {
  VECTORS, /* of a row-major order of blocks: loads and stores */
  CONVERT, /* the same in bf16, made bfp16 on the way */
  STREAM,  /* bfp16 in the order of the clusters: a stream */
  STAGED,  /* sums in bf16 in the order of the clusters */
  CODES    /* of 2 bits, four blocks of the depth in a vector, made int8 on the way */
} path;

typedef struct matmul {
  const xd_call *call;
  tw_text *t;
  int rows, columns, unroll; /* the cover */
  int high, wide;            /* blocks: of a cluster's column of A, of a row of B or C */
  int deep;                  /* of the depth */
  int a_block, b_block;      /* of A and B: elements of the pointers below */
  path a, b, c;
  const char *a_type, *b_type, *c_type; /* of pointers */
  bool scratch, turned;                 /* A is converted first; blocks of B lie column by column */
  bool narrow;                          /* C is its own sums, of 8 or 16 bits */
} matmul;

static matmul matmul_of(const xd_call *c, tw_text *t) {
  const char *name = c->function->name;
  const int *vmac = c->micro->vmac;
  matmul m = {.call = c,
              .t = t,
              .rows = c->cover.rows,
              .columns = c->cover.columns,
              .unroll = c->cover.unroll,
              .high = c->m / vmac[0],
              .deep = c->k / vmac[1],
              .wide = c->n / vmac[2],
              .a_block = vmac[0] * vmac[1],
              .b_block = vmac[1] * vmac[2],
              .a_type = "const int8",
              .b_type = "const int8",
              .c_type = "int32"};
  m.turned = strstr(name, "_turned") != NULL;
  m.narrow = !strncmp(name, "matmul_i8_i8", strlen("matmul_i8_i8")) ||
             !strncmp(name, "matmul_i8_i16", strlen("matmul_i8_i16"));
  if (m.narrow) m.c_type = strstr(name, "i16") ? "int16" : "int8";
  if (m.turned || m.narrow || !strcmp(name, "matmul_i8")) return m;
  if (!strcmp(name, "matmul_i8_i4")) {
    m.b_block /= 2; /* bytes */
    return m;
  }
  if (!strcmp(name, "matmul_i8_codes")) {
    m.b = CODES;
    m.b_type = "const uint8";
    return m;
  }
  m.b_type = m.a_type = "const uint8_t";
  m.a = m.b = STREAM;
  m.b_block = m.a_block = PACKED;
  if (!strcmp(name, "matmul_bfp16")) {
    m.c = STREAM;
    m.c_type = "uint8_t";
    return m;
  }
  m.c_type = "bfloat16";
  if (!strcmp(name, "matmul_bfp16_staged")) {
    m.c = STAGED;
    return m;
  }
  m.scratch = !strcmp(name, "matmul_bf16_bfp16");
  if (m.scratch) return m;
  m.a = CONVERT;
  m.a_type = "const bfloat16";
  m.a_block = vmac[0] * vmac[1];
  return m;
}

static bool is_int4(const matmul *m) { return !strcmp(m->call->function->name, "matmul_i8_i4"); }
static bool is_bfp16(const matmul *m) { return m->b == STREAM; }

/* ---- the cluster ---- */

/* Where accumulator (i, j) lies from the cluster's first on, in elements of C's pointer. */
static int c_offset(const matmul *m, int i, int j) {
  return 64 * (m->c == STAGED ? i * m->columns + j : i * m->wide + j);
}

static void write_loads_of_c(const matmul *m) {
  if (m->c == STREAM) tw_text_add_string(m->t, "  In c_in(blocks_at(c));\n");
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->columns; j++) {
      tw_text_add(m->t, "  MMUL c%d%d(", i, j);
      if (m->c == STREAM)
        tw_text_add_string(m->t, "Sums(c_in.pop()));\n");
      else if (m->narrow)
        tw_text_add(m->t, "aie::load_v<64>(c + %d), %d);\n", c_offset(m, i, j), m->call->shift);
      else
        tw_text_add(m->t, is_bfp16(m) ? "widened(c + %d));\n" : "aie::load_v<64>(c + %d));\n", c_offset(m, i, j));
    }
}

static void write_stores_of_c(const matmul *m) {
  if (m->c == STREAM) tw_text_add_string(m->t, "  Out c_out(blocks_at(c));\n");
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->columns; j++) {
      if (m->c == STREAM)
        tw_text_add(m->t, "  c_out << c%d%d.to_accum().to_vector<bfp16ebs8>();\n", i, j);
      else if (m->narrow)
        tw_text_add(m->t, "  aie::store_v(c + %d, c%d%d.to_vector<%s>(%d));\n", c_offset(m, i, j), i, j, m->c_type,
                    m->call->shift);
      else
        tw_text_add(m->t, "  aie::store_v(c + %d, c%d%d.to_vector<%s>());\n", c_offset(m, i, j), i, j, m->c_type);
    }
}

/* Block row `i`; `step` of those between two moves of the pointer. */
static void write_load_of_a(const matmul *m, int i, int step) {
  const int at = i * m->deep * m->a_block + step * m->a_block;
  switch (m->a) {
  case STREAM: tw_text_add(m->t, "    const Blocks a%d = a_in.pop();\n", i); break;
  case CONVERT: tw_text_add(m->t, "    const Blocks a%d = widened(a + %d).to_vector<bfp16ebs8>();\n", i, at); break;
  default: tw_text_add(m->t, "    const aie::vector<int8, 64> a%d = aie::load_v<64>(a + %d);\n", i, at);
  }
}

static void write_load_of_b(const matmul *m, int j, int step) {
  const int at = j * m->b_block;
  if (m->b == STREAM)
    tw_text_add(m->t, "    const Blocks b%d = b_in.pop();\n", j);
  else if (m->b == CODES)
    tw_text_add(m->t, "    const aie::vector<int8, 64> b%d = field<%d, %d, 1>(codes%d);\n", j, 3 << 2 * step, 2 * step,
                j);
  else if (is_int4(m))
    tw_text_add(m->t, "    const aie::vector<int4, 256> b%d = aie::load_v<128>(b + %d).cast_to<int4>();\n", j, at);
  else
    tw_text_add(m->t,
                m->turned ? "    const aie::vector<int8, 64> b%d = aie::transpose(aie::load_v<64>(b + %d), 8, 8);\n"
                          : "    const aie::vector<int8, 64> b%d = aie::load_v<64>(b + %d);\n",
                j, at);
}

static void write_products(const matmul *m, int step) {
  for (int i = 0; i < m->rows; i++) write_load_of_a(m, i, step);
  for (int j = 0; j < m->columns; j++) write_load_of_b(m, j, step);
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->columns; j++) tw_text_add(m->t, "    c%d%d.mac(a%d, b%d);\n", i, j, i, j);
}

static void write_steps(const matmul *m) {
  const int steps = m->b == CODES ? CODED_BLOCKS : 1; /* between two moves of the pointers */
  tw_text_add(m->t, "  AIE_LOOP_UNROLL_FULL\n  for (unsigned p = 0; p < %d; p++) {\n", m->deep / steps);
  for (int j = 0; j < m->columns && m->b == CODES; j++)
    tw_text_add(m->t, "    const aie::vector<uint8, 64> codes%d = aie::load_v<64>(b + %d);\n", j, j * m->b_block);
  for (int step = 0; step < steps; step++) {
    if (steps > 1) tw_text_add_string(m->t, "    {\n");
    write_products(m, step);
    if (steps > 1) tw_text_add_string(m->t, "    }\n");
  }
  if (m->a != STREAM) tw_text_add(m->t, "    a += %d;\n", steps * m->a_block);
  if (m->b != STREAM) tw_text_add(m->t, "    b += %d;\n", m->wide * m->b_block);
  tw_text_add_string(m->t, "  }\n");
}

static const char *multiplier(const matmul *m) {
  return is_int4(m) ? "4, 16, 16, int8, int4" : is_bfp16(m) ? "8, 8, 8, bfp16ebs8, bfp16ebs8" : "8, 8, 8, int8, int8";
}

static void write_cluster(const matmul *m) {
  tw_text_add(m->t,
              "\n/* %d x %d accumulators over the depth of the tile, %d blocks. */\nusing MMUL = aie::mmul<%s>;\n",
              m->rows, m->columns, m->deep, multiplier(m));
  tw_text_add(m->t, "ALWAYS_INLINE void cluster(%s *__restrict a, ", m->a_type);
  if (m->b == STREAM)
    tw_text_add_string(m->t, "In &b_in");
  else
    tw_text_add(m->t, "%s *__restrict b", m->b_type);
  tw_text_add(m->t, ", %s *__restrict c) {\n", m->c_type);
  write_loads_of_c(m);
  if (m->a == STREAM) tw_text_add_string(m->t, "  In a_in(blocks_at(a));\n");
  write_steps(m);
  write_stores_of_c(m);
  tw_text_add_string(m->t, "}\n");
}

/* ---- A in bf16, converted before the clusters ---- */

static void write_conversion(const matmul *m) {
  const int row = m->deep * 64, groups = m->high / m->rows;
  tw_text_add(
      m->t,
      "\n/* The sub-tile of A to bfp16, in the order in which clusters read it: %d rows of blocks side by side. */\n",
      m->rows);
  tw_text_add_string(m->t, "ALWAYS_INLINE void convert(const bfloat16 *__restrict a, uint8_t *__restrict out) {\n"
                           "  Out to(blocks_at(out));\n");
  tw_text_add(m->t, "  for (unsigned i = 0; i < %d; i++, a += %d) {\n", groups, m->rows * row);
  tw_text_add(m->t, "    AIE_PREPARE_FOR_PIPELINING AIE_LOOP_MIN_ITERATION_COUNT(%d)\n", m->deep);
  tw_text_add(m->t, "    for (unsigned p = 0; p < %d; p++) {\n", m->deep);
  for (int i = 0; i < m->rows; i++)
    tw_text_add(m->t, "      to << widened(a + p * 64 + %d).to_vector<bfp16ebs8>();\n", i * row);
  tw_text_add_string(m->t, "    }\n  }\n}\n");
}

/* ---- the loops ---- */

static void write_signature(const matmul *m) {
  const bool bf16_a = m->scratch || m->a == CONVERT;
  tw_text_add(m->t, "\nextern \"C\" void %s(%s *__restrict a_tile, %s *__restrict b_tile, %s *__restrict c_tile",
              xd_symbol_of(m->call).text, bf16_a ? "const bfloat16" : m->a_type, m->b_type,
              m->c == STAGED ? "uint8_t" : m->c_type);
  if (m->scratch) tw_text_add_string(m->t, ", uint8_t *__restrict scratch");
  if (m->c == STAGED) tw_text_add_string(m->t, ", uint8_t *__restrict staging");
  tw_text_add_string(m->t, ", int32_t row) {\n");
}

/* The first elements of the band of C. Blocks of 64 elements, in rows of whole clusters: `row` rows have row * n. */
static void write_start(const matmul *m) {
  const int n = m->call->n;
  if (is_bfp16(m) || m->narrow) xd_write_rounding(m->call, m->t);
  if (m->narrow) tw_text_add_string(m->t, "  aie::set_saturation(aie::saturation_mode::saturate);\n");
  if (m->scratch) tw_text_add_string(m->t, "  convert(a_tile, scratch);\n");
  tw_text_add(m->t, "  %s *a = %s;\n", m->a_type, m->scratch ? "scratch" : "a_tile");
  if (m->c == STAGED)
    tw_text_add(m->t, "  unsigned block = row * %d / 64;\n", n);
  else
    tw_text_add(m->t, m->c == STREAM ? "  %s *c = c_tile + row * %d / 8;\n" : "  %s *c = c_tile + row * %d;\n",
                m->c_type, m->c == STREAM ? n * 9 : n);
}

/* The call for cluster `u` of those of one trip; `j` is "j" or the number of the first one. */
static void write_call(const matmul *m, const char *indent, const char *j, int u) {
  const int b = m->columns * m->b_block, each = m->rows * m->columns;
  tw_text_add(m->t, "%scluster(a, ", indent);
  if (m->b == STREAM)
    tw_text_add_string(m->t, "b_in, ");
  else
    tw_text_add(m->t, "b_tile + (%s + %d) * %d, ", j, u, b);
  if (m->c == STAGED)
    tw_text_add(m->t, "sums_at(c_tile, staging, block + (%s + %d) * %d));\n", j, u, each);
  else
    tw_text_add(m->t, "c + (%s + %d) * %d);\n", j, u, m->c == STREAM ? each * PACKED : m->columns * 64);
}

/* So many clusters in straight-line code, the first of them number `j`; B's stream goes on through them. */
static void write_trip(const matmul *m, const char *indent, const char *j, int clusters) {
  if (m->b == STREAM)
    tw_text_add(m->t, "%sIn b_in(blocks_at(b_tile + %s * %d));\n", indent, j, m->columns * m->deep * PACKED);
  for (int u = 0; u < clusters; u++) write_call(m, indent, j, u);
}

static void write_row(const matmul *m) {
  const int across = m->wide / m->columns, trips = across / m->unroll, rest = across % m->unroll;
  char first[16];
  snprintf(first, sizeof first, "%d", trips * m->unroll);
  if (trips) {
    tw_text_add(m->t, "    AIE_PREPARE_FOR_PIPELINING AIE_LOOP_MIN_ITERATION_COUNT(%d)\n", trips);
    tw_text_add(m->t, "    for (unsigned j = 0; j < %d; j += %d) {\n", trips * m->unroll, m->unroll);
    write_trip(m, "      ", "j", m->unroll);
    tw_text_add_string(m->t, "    }\n");
  }
  if (rest) write_trip(m, "    ", first, rest);
}

/* Where the sums of a cluster lie: half of the tile's in staging, half at the end of C. */
static void write_staging(const matmul *m) {
  const int elements = m->call->rows * m->call->n, half = elements / 128;
  tw_text_add(m->t,
              "\n/* Block `block` of the sums of C in bf16: half of them in staging, half behind byte %d of C. */\n",
              elements / 8);
  tw_text_add(
      m->t,
      "ALWAYS_INLINE bfloat16 *sums_at(uint8_t *c, uint8_t *staging, unsigned block) {\n"
      "  return reinterpret_cast<bfloat16 *>(block < %d ? staging + block * 128 : c + %d + (block - %d) * 128);\n}\n",
      half, elements / 8, half);
}

void xd_write_matmul(const xd_call *c, tw_text *t) {
  const matmul m = matmul_of(c, t);
  write_cluster(&m);
  if (m.scratch) write_conversion(&m);
  if (m.c == STAGED) write_staging(&m);
  write_signature(&m);
  write_start(&m);
  tw_text_add(t, "  for (unsigned i = 0; i < %d; i++) {\n", m.high / m.rows);
  write_row(&m);
  tw_text_add(t, "    a += %d;\n", m.rows * m.deep * m.a_block);
  if (m.c == STAGED)
    tw_text_add(t, "    block += %d;\n", m.rows * m.wide);
  else
    tw_text_add(t, "    c += %d;\n", m.rows * m.wide * (m.c == STREAM ? PACKED : 64));
  tw_text_add_string(t, "  }\n}\n");
}
