/* matmul.c - fills kernels/matmul.cc.in: C += A B on a tile. This file generates the code that is unrolled over the
 * accumulators of a cluster, and over the clusters of an iteration. */
#include <stdio.h>
#include <string.h>

#include "target/xdna2/aie/writer.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/kernel_weights.h"
#include "target/xdna2/array/symbol.h"

enum { PACKED = 72, CODED_BLOCKS = 4 };

/* How the function reads or writes the blocks of an operand. */
typedef enum path {
  VECTORS, /* row-major order of blocks: loads and stores */
  CONVERT, /* as VECTORS, but bf16, converted to bfp16 after the load */
  STREAM,  /* bfp16 in the order of the clusters: a stream */
  STAGED,  /* sums in bf16 in the order of the clusters */
  CODES    /* 2-bit codes: four blocks of the depth in a vector, converted to int8 after the load */
} path;

typedef struct matmul {
  const xd_call *call;
  tw_text *t;
  int rows, columns, unroll; /* the cover */
  int high, wide;            /* blocks: of a cluster's column of A, of a row of B or C */
  int deep;                  /* of the depth */
  int a_block, b_block;      /* size of a block of A or B, in elements of its pointer */
  int c_block;               /* elements of a block of C */
  path a, b, c;
  const char *a_type, *b_type, *c_type; /* of pointers */
  const char *a_element, *b_element;    /* element types of blocks that are vectors */
  bool scratch, turned;                 /* A is converted first; blocks of B are column by column */
  bool narrow;                          /* C holds its own sums, of 8 or 16 bits */
  int beside;                           /* vectors of codes of the next tile of B to unpack */
} matmul;

/* True if both operands are bf16 in memory. */
static bool is_bf16(const xd_call *c) { return c->micro->b == TW_BF16; }

static bool is_int4(const xd_call *c) { return xd_multiplied_b(c->micro) == TW_I4; }

static matmul matmul_of(const xd_call *c) {
  const char *name = c->function->name;
  const int *vmac = c->micro->vmac;
  matmul m = {.call = c,
              .rows = c->cover.rows,
              .columns = c->cover.columns,
              .unroll = c->cover.unroll,
              .high = c->m / vmac[0],
              .deep = c->k / vmac[1],
              .wide = c->n / vmac[2],
              .a_block = vmac[0] * vmac[1],
              .b_block = vmac[1] * vmac[2],
              .c_block = vmac[0] * vmac[2],
              .a_type = "const int8",
              .b_type = "const int8",
              .c_type = "int32",
              .a_element = "int8",
              .b_element = "int8"};
  m.turned = strstr(name, "_turned") != NULL;
  m.narrow = c->micro->acc == TW_I8 || c->micro->acc == TW_I16;
  if (m.narrow) m.c_type = c->micro->acc == TW_I16 ? "int16" : "int8";
  if (c->micro->a == TW_I16) {
    m.a_type = m.b_type = "const int16";
    m.a_element = m.b_element = "int16";
    return m;
  }
  if (c->micro->a == TW_F32) {
    m.a_type = m.b_type = "const float";
    m.a_element = m.b_element = m.c_type = "float";
    return m;
  }
  if (is_bf16(c)) {
    m.a_type = m.b_type = "const bfloat16";
    m.a_element = m.b_element = "bfloat16";
    m.c_type = strstr(name, "_f32") ? "float" : "bfloat16";
    if (m.turned && c->micro->vmac_issues == 1) m.a = m.b = CONVERT; /* the multiplier takes B by columns */
    return m;
  }
  m.beside = xd_vectors_beside(c);
  if (is_int4(c)) {
    m.b_block /= 2; /* bytes */
    return m;
  }
  if (m.turned || m.narrow || m.beside || !strcmp(name, "matmul_i8")) return m;
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

static bool is_bfp16(const matmul *m) { return m->b == STREAM || m->b == CONVERT; }

/* ---- the cluster ---- */

/* The offset of accumulator (i, j) from the first accumulator of the cluster, in elements of C's pointer. */
static int c_offset(const matmul *m, int i, int j) {
  return m->c_block * (m->c == STAGED ? i * m->columns + j : i * m->wide + j);
}

static void write_loads_of_c(const matmul *m) {
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->columns; j++) {
      tw_text_add(m->t, "  MMUL c%d%d(", i, j);
      if (m->c == STREAM)
        tw_text_add_string(m->t, "Sums(c_in.pop()));\n");
      else if (m->narrow)
        tw_text_add(m->t, "aie::load_v<%d>(c + %d), %d);\n", m->c_block, c_offset(m, i, j), m->call->shift);
      else
        tw_text_add(m->t, is_bfp16(m) ? "widened(c + %d));\n" : "aie::load_v<%d>(c + %d));\n",
                    is_bfp16(m) ? c_offset(m, i, j) : m->c_block, c_offset(m, i, j));
    }
}

static void write_stores_of_c(const matmul *m) {
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

/* Loads block row `i`; the pointer moves once per `step` rows. */
static void write_load_of_a(const matmul *m, int i, int step) {
  const int at = i * m->deep * m->a_block + step * m->a_block;
  switch (m->a) {
  case STREAM: tw_text_add(m->t, "    const Blocks a%d = a_in.pop();\n", i); break;
  case CONVERT: tw_text_add(m->t, "    const Blocks a%d = widened(a + %d).to_vector<bfp16ebs8>();\n", i, at); break;
  default:
    tw_text_add(m->t, "    const aie::vector<%s, %d> a%d = aie::load_v<%d>(a + %d);\n", m->a_element, m->a_block, i,
                m->a_block, at);
  }
}

static void write_load_of_b(const matmul *m, int j, int step) {
  const int at = j * m->b_block;
  if (m->b == STREAM)
    tw_text_add(m->t, "    const Blocks b%d = b_in.pop();\n", j);
  else if (m->b == CONVERT)
    tw_text_add(m->t, "    const Blocks b%d = widened(b + %d).to_vector<bfp16ebs8>();\n", j, at);
  else if (m->b == CODES)
    tw_text_add(m->t, "    const aie::vector<int8, 64> b%d = field<%d, %d, 1>(codes%d);\n", j, 3 << 2 * step, 2 * step,
                j);
  else if (is_int4(m->call))
    tw_text_add(m->t, "    const aie::vector<int4, 256> b%d = aie::load_v<128>(b + %d).cast_to<int4>();\n", j, at);
  else if (m->turned)
    tw_text_add(m->t, "    const aie::vector<%s, %d> b%d = aie::transpose(aie::load_v<%d>(b + %d), %d, %d);\n",
                m->b_element, m->b_block, j, m->b_block, at, m->call->micro->vmac[2], m->call->micro->vmac[1]);
  else
    tw_text_add(m->t, "    const aie::vector<%s, %d> b%d = aie::load_v<%d>(b + %d);\n", m->b_element, m->b_block, j,
                m->b_block, at);
}

static void write_products(const matmul *m, int step) {
  for (int i = 0; i < m->rows; i++) write_load_of_a(m, i, step);
  for (int j = 0; j < m->columns; j++) write_load_of_b(m, j, step);
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->columns; j++) tw_text_add(m->t, "    c%d%d.mac(a%d, b%d);\n", i, j, i, j);
}

/* Steps of the depth between two moves of the pointers. */
static int steps_of(const matmul *m) { return m->b == CODES ? CODED_BLOCKS : 1; }

static void write_depth(const matmul *m) {
  const int steps = steps_of(m);
  for (int j = 0; j < m->columns && m->b == CODES; j++)
    tw_text_add(m->t, "    const aie::vector<uint8, 64> codes%d = aie::load_v<64>(b + %d);\n", j, j * m->b_block);
  for (int step = 0; step < steps; step++) {
    if (steps > 1) tw_text_add_string(m->t, "    {\n");
    write_products(m, step);
    if (steps > 1) tw_text_add_string(m->t, "    }\n");
  }
}

/* The arguments of aie::mmul. */
static void set_multiplier(tw_slots *s, const matmul *m) {
  const int *vmac = m->call->micro->vmac;
  tw_text t = {0};
  tw_text_add(&t, "%d, %d, %d, %s, %s", vmac[0], vmac[1], vmac[2], is_bfp16(m) ? "bfp16ebs8" : m->a_element,
              is_bfp16(m)        ? "bfp16ebs8"
              : is_int4(m->call) ? "int4"
                                 : m->b_element);
  tw_slots_take(s, "multiplier", &t);
}

/* ---- A in bf16, converted before the clusters ---- */

static void write_conversions(const matmul *m) {
  for (int i = 0; i < m->rows; i++)
    tw_text_add(m->t, "      to << widened(a + p * 64 + %d).to_vector<bfp16ebs8>();\n", i * m->deep * 64);
}

/* ---- the loops ---- */

/* Writes the call for cluster `u` of one iteration; `j` is "j" or the number of the first cluster. */
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
    tw_text_add(m->t, "c + (%s + %d) * %d);\n", j, u, m->c == STREAM ? each * PACKED : m->columns * m->c_block);
}

/* This number of unrolled clusters, the first with number `j`; B's stream continues through them. */
static void write_trip(const matmul *m, const char *indent, const char *j, int clusters) {
  if (m->b == STREAM)
    tw_text_add(m->t, "%sIn b_in(blocks_at(b_tile + %s * %d));\n", indent, j, m->columns * m->deep * PACKED);
  for (int u = 0; u < clusters; u++) {
    write_call(m, indent, j, u);
    if (m->beside) tw_text_add(m->t, "%sif constexpr (beside) unpack_next(codes, next, v + %s + %d);\n", indent, j, u);
  }
}

/* ---- the slots ---- */

/* Sets the slot to the text that the given function writes. */
static void set_text(tw_slots *s, const char *slot, matmul *m, void (*write)(const matmul *)) {
  tw_text t = {0};
  m->t = &t;
  write(m);
  m->t = NULL;
  tw_slots_take(s, slot, &t);
}

static void set_row(tw_slots *s, matmul *m) {
  const int across = m->wide / m->columns, trips = across / m->unroll, rest = across % m->unroll;
  tw_text t = {0};
  char first[16];
  snprintf(first, sizeof first, "%d", trips * m->unroll);
  m->t = &t;
  write_trip(m, "      ", "j", m->unroll);
  tw_slots_take(s, "trip", &t);
  if (rest) write_trip(m, "    ", first, rest);
  m->t = NULL;
  tw_slots_take(s, "rest", &t);
  tw_slots_number_or_empty(s, "trips", trips);
  tw_slots_text(s, "clusters_of_trips", first);
  tw_slots_number(s, "unroll", m->unroll);
}

static void set_types(tw_slots *s, const matmul *m) {
  const bool bf16_a = m->scratch || m->a == CONVERT;
  set_multiplier(s, m);
  tw_slots_text(s, "a_type", m->a_type);
  tw_slots_text(s, "b_type", m->b_type);
  tw_slots_text(s, "c_type", m->c_type);
  tw_slots_text(s, "a_tile_type", bf16_a ? "const bfloat16" : m->a_type);
  tw_slots_text(s, "c_tile_type", m->c == STAGED ? "uint8_t" : m->c_type);
  tw_slots_flag(s, "stream_a", m->a == STREAM);
  tw_slots_flag(s, "stream_b", m->b == STREAM);
  tw_slots_flag(s, "stream_c", m->c == STREAM);
  tw_slots_flag(s, "staged", m->c == STAGED);
  tw_slots_flag(s, "scratch", m->scratch);
  tw_slots_flag(s, "narrow", m->narrow);
  tw_slots_flag(s, "traced", m->call->traced);
  tw_slots_flag(s, "rounds", is_bfp16(m) || m->narrow || !strcmp(m->c_type, "bfloat16") || m->call->micro->a == TW_F32);
}

static void set_sizes(tw_slots *s, const matmul *m) {
  const int n = m->call->n, elements = m->call->rows * n;
  tw_slots_number(s, "rows", m->rows);
  tw_slots_number(s, "columns", m->columns);
  tw_slots_number(s, "deep", m->deep);
  tw_slots_number(s, "n", n);
  tw_slots_number(s, "nine_n", n * 9);
  tw_slots_number(s, "bands", m->high / m->rows);
  tw_slots_number(s, "trips_of_depth", m->deep / steps_of(m));
  tw_slots_number(s, "a_step", steps_of(m) * m->a_block);
  tw_slots_number(s, "b_step", m->wide * m->b_block);
  tw_slots_number(s, "band_of_a", m->rows * m->deep * 64);
  tw_slots_number(s, "a_of_band", m->rows * m->deep * m->a_block);
  tw_slots_number(s, "blocks_of_band", m->rows * m->wide);
  tw_slots_number(s, "c_of_band", m->rows * m->wide * (m->c == STREAM ? PACKED : m->c_block));
  tw_slots_number(s, "bytes_of_c", elements / 8);
  tw_slots_number(s, "half_of_c", elements / 128);
}

/* A vector of codes with each cluster of the first bands; what remains after the products. */
static void set_unpacking(tw_slots *s, const matmul *m) {
  enum { BLOCK = 8, AREA = 64 };
  const xd_call *c = m->call;
  xd_cover cover = c->cover;
  int64_t left;
  cover.beside = m->beside;
  const int bands = (int)xd_bands_beside(c->micro, cover, c->m, c->n, &left), row = c->n / BLOCK * AREA;
  tw_slots_flag(s, "unpacks", m->beside > 0);
  tw_slots_flag(s, "to_i4", is_int4(c));
  tw_slots_number(s, "rows_of_call", c->m);
  tw_slots_number(s, "vectors_of_call", m->beside);
  tw_slots_number(s, "bands_beside", bands);
  tw_slots_number(s, "vectors_of_band", m->wide / m->columns);
  tw_slots_number_or_empty(s, "left", (int)left);
  tw_slots_number(s, "blocks", c->n / BLOCK);
  tw_slots_number(s, "row", row);
  tw_slots_number(s, "two_rows", 2 * row);
  tw_slots_number(s, "three_rows", 3 * row);
  tw_slots_number(s, "four_rows", 4 * row);
}

tw_status xd_write_matmul(const xd_call *c, tw_text *t, tw_error *error) {
  matmul m = matmul_of(c);
  tw_slots s = {0};
  tw_slots_text(&s, "name", xd_symbol_of(c).text);
  tw_slots_text(&s, "rounding", xd_rounding_name(c));
  set_types(&s, &m);
  set_sizes(&s, &m);
  set_unpacking(&s, &m);
  set_text(&s, "loads_of_c", &m, write_loads_of_c);
  set_text(&s, "products", &m, write_depth);
  set_text(&s, "stores_of_c", &m, write_stores_of_c);
  set_text(&s, "conversions", &m, write_conversions);
  set_row(&s, &m);
  const tw_status status = tw_template_add(t, "xdna2/kernels/matmul.cc.in", &s, error);
  tw_slots_free(&s);
  return status;
}
