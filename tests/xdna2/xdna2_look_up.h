/* xdna2_look_up.h - a way that no kernel takes: products of int8 and ternary weights by table look-up (LUT-mpGeMM), as three loops over a tile.
 *
 * `group` weights along k are one index, of 3^group. Of each group of A's columns there is a table: the sums for every
 * index, 8 rows of A each, in 16 bits. C is then the sum of entries.
 *
 *   addresses  The indices of a tile of B, a byte each, become addresses; once for all rows of A.
 *   tables     A multiplication of constants (-1, 0, 1) and a block of A makes 8 entries for 8 rows of A.
 *   look-up    A column's index selects 16 bytes of a table, in two halves of 4 rows.
 *
 * The core reads four entries of 8 bytes in an instruction, if each of the four reads finds a copy of the table in a
 * bank of its own: tables are stored four times (AMD UG1603, aie::lut). Sums in 16 bits do not overflow up to a depth of
 * 255 (128 * 255 < 2^15). Neither conflicts of banks nor the use of load unit A by such reads are counted. */
#ifndef TW_XDNA2_LOOK_UP_H
#define TW_XDNA2_LOOK_UP_H

#include "target/xdna2/core/builder.h"
#include "target/xdna2/core/plan.h"

enum {
  ROWS = 8,
  COLUMNS = 16,    /* addresses of 32 bits in a vector */
  ADDRESSES = 64,  /* indices of 8 bits in a vector */
  COPIES = 4,      /* of each table, for four reads at a time */
  ENTRIES = 8,     /* rows of a block of constants */
  ENTRY_BYTES = 16 /* of ROWS sums in 16 bits */
};

static xc_builder builder(const xc_machine *m, int bank, xc_graph *out) {
  static const xd_core_kernel none = {.mac = XD_CORE_I8};
  *out = (xc_graph){.machine = m};
  return (xc_builder){
      .g = out, .kernel = &none, .mac = &xc_macs[XD_CORE_I8], .bank_a = bank, .bank_b = bank, .bank_c = bank};
}

static int vector(xc_builder *b) { return xc_add_value(b->g, XC_VECTOR, 1, -1); }
static int accumulator(xc_builder *b) { return xc_add_value(b->g, XC_ACCUMULATOR, 1, -1); }

/* Widening multiplies by the bytes of an entry; the begin of the group's table is added. */
static tw_status addresses_graph(const xc_machine *m, xc_graph *out, tw_error *error) {
  xc_builder b = builder(m, -1, out);
  const int indices = vector(&b), wide = accumulator(&b), addresses = accumulator(&b);
  out->constants[XC_ACCUMULATOR] = 1;
  xc_load(&b, "vld", 'B', -1, indices, 1, -1, -1, -1);
  xc_move(&b, "vups4", 'B', wide, indices, -1, -1, -1);
  xc_move(&b, "vadd.acc", 'B', addresses, wide, -1, -1, -1);
  for (int i = 0; i < m->accumulator_parts; i++) xc_store(&b, "vst.acc", 'B', -1, addresses, 1u << i, -1, -1);
  return xc_finish(out, error);
}

/* Entries are repeated every 128 bits: the constants have each row twice. Two tables of these. */
static tw_status tables_graph(const xc_machine *m, xc_graph *out, tw_error *error) {
  xc_builder b = builder(m, -1, out);
  out->constants[XC_VECTOR] = 1; /* the block of A */
  for (int half = 0; half < 2; half++) {
    const int constants = vector(&b), sums = accumulator(&b);
    xc_load(&b, "vld", 'A', -1, constants, 1, -1, -1, half);
    xc_move(&b, "vmul", 'A', sums, constants, -1, -1, half);
    for (int i = 0; i < COPIES; i++) xc_store(&b, "vst.srs2", 'A', -1, sums, i % 2 ? 0xc : 0x3, -1, -1);
  }
  return xc_finish(out, error);
}

/* Registers of the look-up. Without fixed ones, the scheduler reads entries long before they are added. */
enum {
  HALVES = 2,
  SUMS = HALVES * HALVES, /* halves of the rows, of the columns */
  FOUND = 6,              /* entries in flight, from SUMS on */
  POINTERS = 1            /* vectors of addresses */
};

static int register_of(xc_builder *b, int first, int number, int count) {
  return xc_add_value(b->g, XC_VECTOR, 1, first + number % count);
}

static int added(xc_builder *b, int at, int sums, int more, int step) {
  const int to = register_of(b, 0, at, SUMS);
  xc_node *n = xc_add_node(b->g, "vadd", 'M', 0, -1, -1, step);
  xc_reads(n, sums, XC_ALL_PARTS);
  xc_reads(n, more, XC_ALL_PARTS);
  xc_writes(n, to, xc_all_parts(b->g, to));
  return to;
}

/* Eight columns of four rows: two reads fill the halves of a vector, which is one part here. */
static void read_entries(xc_builder *b, int addresses, int to, int step) {
  for (int half = 0; half < HALVES; half++) {
    xc_node *n = xc_add_node(b->g, "vld.4x", 'B', 0, -1, half, step);
    xc_reads(n, addresses, XC_ALL_PARTS);
    xc_writes(n, to, 1);
  }
}

/* Adds two vectors of sums to 64 elements of C. */
static void add_to_c(xc_builder *b, const int sums[2]) {
  const int wide = accumulator(b), c = accumulator(b), to = accumulator(b);
  for (int half = 0; half < 2; half++) {
    xc_node *n = xc_add_node(b->g, "vups2", 'C', 0, -1, -1, -1);
    xc_reads(n, sums[half], XC_ALL_PARTS);
    xc_writes(n, wide, half ? 0xc : 0x3);
  }
  for (int i = 0; i < b->g->machine->accumulator_parts; i++) xc_load(b, "vld.acc", 'C', -1, c, 1u << i, -1, -1, -1);
  xc_node *n = xc_add_node(b->g, "vadd.acc", 'C', 0, -1, -1, -1);
  xc_reads(n, wide, XC_ALL_PARTS);
  xc_reads(n, c, XC_ALL_PARTS);
  xc_writes(n, to, xc_all_parts(b->g, to));
  for (int i = 0; i < b->g->machine->accumulator_parts; i++) xc_store(b, "vst.acc", 'C', -1, to, 1u << i, -1, -1);
}

/* 16 columns and 8 rows of C, over all groups of the depth. */
static tw_status look_up_graph(const xc_machine *m, int groups, xc_graph *out, tw_error *error) {
  xc_builder b = builder(m, -1, out);
  int sums[SUMS] = {0}, found = 0, pointers = 0;
  out->constants[XC_VECTOR] = 1; /* the distance of the other four rows in an entry */
  for (int step = 0; step < groups; step++) {
    int addresses = register_of(&b, SUMS + FOUND, pointers++, POINTERS);
    xc_load(&b, "vld", 'B', -1, addresses, 1, -1, -1, step);
    for (int at = 0; at < SUMS; at++) {
      if (at == HALVES) { /* the other rows */
        const int others = register_of(&b, SUMS + FOUND, pointers++, POINTERS);
        xc_move(&b, "vadd", 'B', others, addresses, -1, -1, step);
        addresses = others;
      }
      const int entries = step ? register_of(&b, SUMS, found++, FOUND) : register_of(&b, 0, at, SUMS);
      read_entries(&b, addresses, entries, step);
      sums[at] = step ? added(&b, at, sums[at], entries, step) : entries;
    }
  }
  for (int rows = 0; rows < HALVES; rows++) add_to_c(&b, &sums[rows * HALVES]);
  return xc_finish(out, error);
}

typedef tw_status graph_maker(const xc_machine *, int groups, xc_graph *, tw_error *);
static tw_status make_addresses(const xc_machine *m, int groups, xc_graph *out, tw_error *error) {
  (void)groups;
  return addresses_graph(m, out, error);
}
static tw_status make_tables(const xc_machine *m, int groups, xc_graph *out, tw_error *error) {
  (void)groups;
  return tables_graph(m, out, error);
}

static tw_status cycles_of(graph_maker *make, int groups, int64_t iterations, double *cycles, tw_error *error) {
  const xc_machine *m = xc_machine_aie2p();
  xc_graph g;
  xc_loop loop;
  tw_status status = make(m, groups, &g, error);
  if (status == TW_OK) status = xc_plan_graph(&g, &loop, error);
  if (status != TW_OK) return status;
  *cycles = xc_loop_cycles(&loop, (int)iterations);
  xc_loop_free(&loop);
  return TW_OK;
}

/* Cycles of a call of m x k x n, and of its parts; bytes in L1 of the tables for 8 rows. */
typedef struct look_up_cycles {
  double cycles, addresses, tables, look_up;
  int64_t table_bytes;
} look_up_cycles;

/* TW_USAGE: sizes that do not divide, or overflow sums of 16 bits. */
static tw_status look_up_cycles_of(int group, int m, int k, int n, look_up_cycles *out, tw_error *error) {
  enum { GROUP_MAX = 5 /* 3^5 fits a byte */, DEPTH_MAX = 255, SIDE_MAX = 1 << 12 };
  *out = (look_up_cycles){0};
  if (group < 1 || group > GROUP_MAX || k < 1 || k > DEPTH_MAX)
    return tw_fail(error, TW_USAGE,
                   "tables of %d weights at depth %d: at most %d weights are an index, and sums of 16 "
                   "bits allow a depth of %d",
                   group, k, GROUP_MAX, DEPTH_MAX);
  if (m < 1 || n < 1 || m > SIDE_MAX || n > SIDE_MAX || m % ROWS || n % COLUMNS)
    return tw_fail(error, TW_USAGE, "a look-up for %dx%d of C: rows must be a multiple of %d, columns of %d", m, n,
                   ROWS, COLUMNS);
  const int groups = (k + group - 1) / group;
  int entries = 1;
  for (int i = 0; i < group; i++) entries *= 3;
  const int64_t blocks = (entries + ENTRIES - 1) / ENTRIES, bands = m / ROWS;
  tw_status status =
      cycles_of(make_addresses, groups, ((int64_t)groups * n + ADDRESSES - 1) / ADDRESSES, &out->addresses, error);
  if (status == TW_OK) status = cycles_of(make_tables, groups, bands * groups * blocks, &out->tables, error);
  if (status == TW_OK) status = cycles_of(look_up_graph, groups, bands * (n / COLUMNS), &out->look_up, error);
  out->cycles = out->addresses + out->tables + out->look_up;
  out->table_bytes = (int64_t)groups * blocks * ENTRIES * ENTRY_BYTES * COPIES;
  return status;
}

#endif
