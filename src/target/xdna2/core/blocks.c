/* blocks.c - loads blocks of A and B from memory into the vectors that a multiply-accumulate reads. */

#include "target/xdna2/core/builder.h"

enum { RAW_PAIR, TURNED_PAIR }; /* bf16: as loaded, and transposed */
enum { MASKED, NARROWED };      /* 2-bit codes: one block of them, and as int8 */
enum { UNSHUFFLED };            /* int8 before its transposition */

const xc_mac xc_macs[XD_CORE_MACS] = {
    [XD_CORE_I8] = {"vmac", {8, 8, 8}, .issues = 1, .b_width = 1, .depth_unit = 1, .sum_bytes = 4},
    [XD_CORE_I8_I4] = {"vmac", {4, 16, 16}, .issues = 2, .b_width = 2, .depth_unit = 1, .sum_bytes = 4},
    [XD_CORE_I8_I2] = {"vmac",
                       {8, 8, 8},
                       .issues = 1,
                       .b_width = 1,
                       .depth_unit = XC_UNPACK_BLOCKS,
                       .sum_bytes = 4,
                       .temporaries = 1,
                       .constants = 5 /* four masks; ones */,
                       .singles = 2},
    [XD_CORE_I16] = {"vmac", {4, 4, 8}, .issues = 1, .b_width = 1, .depth_unit = 1, .sum_bytes = 8},
    [XD_CORE_BFP16] = {"vmac.f", {8, 8, 8}, .issues = 1, .b_width = 1, .depth_unit = 1, .sum_bytes = 4, .fifos = true},
    [XD_CORE_BF16] = {"vmac.f",
                      {8, 8, 8},
                      .issues = 1,
                      .b_width = 1,
                      .depth_unit = 1,
                      .sum_bytes = 4,
                      .temporaries = 1,
                      .constants = 2 /* a pair of ones */,
                      .pairs = 2},
    [XD_CORE_BF16_LANES] =
        {"vmac.f", {4, 8, 8}, .issues = 8, .b_width = 2, .depth_unit = 1, .sum_bytes = 4, .lanes = 8},
};

/* ---- registers of inputs ---- */

/* Pairs of temporary vectors: also a block of B of two vectors before its shuffle. */
static int pairs_of(const xc_builder *b) { return b->mac->pairs + (b->kernel->shuffle_b && b->mac->b_width > 1); }
/* Numbers of temporary vectors. With lanes: two for each row of the cluster, and two for all rows. */
static int singles_of(const xc_builder *b) { return b->mac->lanes ? 2 * b->kernel->cluster[0] + 2 : b->mac->singles; }

bool xc_lay_out_sets(xc_builder *b) {
  const int a = b->kernel->cluster[0] * b->sets, bb = b->kernel->cluster[1] * b->sets * b->mac->b_width;
  const int packed = b->kernel->mac == XD_CORE_I8_I2 ? b->kernel->cluster[1] : 0;
  const int raw = (b->kernel->shuffle_b && b->mac->b_width == 1 && !b->mac->pairs) ||
                  b->kernel->c == XD_CORE_C_BFP16; /* as loaded */
  b->pin_pairs = 0;
  b->pin_b = 2 * pairs_of(b);
  b->pin_a = b->pin_b + bb;
  b->pin_singles = b->pin_a + a;
  return b->pin_singles + singles_of(b) + raw + packed <= b->g->machine->vectors - b->g->constants[XC_VECTOR];
}

static int new_vector(xc_builder *b, int width, int pin) {
  return xc_add_value(b->g, XC_VECTOR, width, b->sets ? pin : -1);
}
static int set_of(const xc_builder *b) { return b->sets ? b->turn % b->sets : 0; }
static int new_a(xc_builder *b, int row) {
  return new_vector(b, 1, b->pin_a + set_of(b) * b->kernel->cluster[0] + row);
}
static int new_b(xc_builder *b, int column) {
  return new_vector(b, b->mac->b_width, b->pin_b + (set_of(b) * b->kernel->cluster[1] + column) * b->mac->b_width);
}
static int passing(xc_builder *b, int kind) { return new_vector(b, 1, b->pin_singles + kind); }
static int passing_pair(xc_builder *b, int kind) { return new_vector(b, 2, b->pin_pairs + 2 * kind); }

/* An accumulator after the chains. */
static int temporary(xc_builder *b) {
  return xc_add_value(b->g, XC_ACCUMULATOR, 1, b->kernel->cluster[0] * b->kernel->cluster[1]);
}

/* ---- instructions ---- */

void xc_load(xc_builder *b, const char *instruction, char role, int bank, int value, unsigned parts, int row,
             int column, int step) {
  xc_node *n = xc_add_node(b->g, instruction, role, b->cluster, row, column, step);
  n->bank = bank;
  xc_writes(n, value, parts);
}

void xc_move(xc_builder *b, const char *instruction, char role, int to, int from, int row, int column, int step) {
  xc_node *n = xc_add_node(b->g, instruction, role, b->cluster, row, column, step);
  xc_reads(n, from, XC_ALL_PARTS);
  xc_writes(n, to, xc_all_parts(b->g, to));
}

void xc_store(xc_builder *b, const char *instruction, char role, int bank, int value, unsigned parts, int row,
              int column) {
  xc_node *n = xc_add_node(b->g, instruction, role, b->cluster, row, column, -1);
  n->bank = bank;
  xc_reads(n, value, parts);
}

void xc_seek(xc_builder *b, char role, int fifo) {
  xc_add_node(b->g, "seek", role, b->cluster, -1, -1, -1)->fifo = fifo;
  if (fifo <= XC_FIFO_B) b->popped[fifo] = 0;
}

void xc_pop(xc_builder *b, char role, int fifo, int bank, int value, int row, int column, int step) {
  if (b->popped[fifo] == 0) {
    xc_node *fill = xc_add_node(b->g, "vld.fill", role, b->cluster, row, column, step);
    fill->fifo = fifo;
    fill->bank = bank;
  }
  b->popped[fifo] = (b->popped[fifo] + 1) % b->g->machine->pops_per_fill;
  xc_load(b, "vld.pop", role, bank, value, 1, row, column, step);
  if (b->g->n_nodes) b->g->node[b->g->n_nodes - 1].fifo = fifo;
}

void xc_flush(xc_builder *b) {
  if (!b->pushed) return;
  xc_node *n = xc_add_node(b->g, "vst.flush", 'C', b->cluster, -1, -1, -1);
  n->fifo = b->store_fifo;
  n->bank = b->bank_c;
  b->pushed = 0;
}

void xc_push(xc_builder *b, char role, int value, int bank, int row, int column) {
  xc_store(b, "vst.push", role, bank, value, XC_ALL_PARTS, row, column);
  if (b->g->n_nodes) b->g->node[b->g->n_nodes - 1].fifo = b->store_fifo;
  if (++b->pushed == b->g->machine->pushes_per_flush) xc_flush(b);
}

/* ---- blocks ---- */

/* Loads bf16, widened by the load, half an accumulator at a time, and converts to bfp16. */
static void widened_block(xc_builder *b, char role, int to, int row, int column, int step) {
  const int wide = temporary(b), bank = role == 'A' ? b->bank_a : b->bank_b;
  xc_load(b, "vld.conv", role, bank, wide, 0x3, row, column, step);
  xc_load(b, "vld.conv", role, bank, wide, 0xc, row, column, step);
  xc_move(b, "vconv.bfp16", role, to, wide, row, column, step);
}

/* A block of B of two vectors, transposed by two shuffles of both. */
static void turned_pair(xc_builder *b, int to, int column, int step) {
  const int raw = passing_pair(b, RAW_PAIR);
  for (int half = 0; half < 2; half++) xc_load(b, "vld", 'B', b->bank_b, raw, 1u << half, -1, column, step);
  for (int half = 0; half < 2; half++) {
    xc_node *n = xc_add_node(b->g, "vshuffle", 'B', b->cluster, -1, column, step);
    xc_reads(n, raw, XC_ALL_PARTS);
    xc_writes(n, to, 1u << half);
  }
}

/* A block of B in bf16 has to be transposed and widened, by a multiplication by one. */
static void transposed_block(xc_builder *b, int to, int column, int step) {
  const int turned = passing_pair(b, TURNED_PAIR), wide = temporary(b);
  turned_pair(b, turned, column, step);
  xc_move(b, "vmul.f", 'B', wide, turned, -1, column, step);
  xc_move(b, "vconv.bfp16", 'B', to, wide, -1, column, step);
}

/* Codes of four blocks are in the pairs of bits of 64 bytes: mask, move down through an accumulator (widen; narrow with
 * a shift), subtract one. `packed` is loaded with the first of the four. */
static void unpack(xc_builder *b, int *packed, int to, int column, int step) {
  const int masked = passing(b, MASKED), narrowed = passing(b, NARROWED), wide = temporary(b);
  if (step % XC_UNPACK_BLOCKS == 0) {
    *packed = new_vector(b, 1, b->pin_singles + b->mac->singles + (b->kernel->c == XD_CORE_C_BFP16) + column);
    xc_load(b, "vld", 'B', b->bank_b, *packed, 1, -1, column, step);
  }
  xc_move(b, "vband", 'B', masked, *packed, -1, column, step);
  xc_move(b, "vups4", 'B', wide, masked, -1, column, step);
  xc_move(b, "vsrs4", 'B', narrowed, wide, -1, column, step);
  xc_move(b, "vsub", 'B', to, narrowed, -1, column, step);
}

int xc_unpacked_block(xc_builder *b, int *packed, int column, int step) {
  const int to = new_b(b, column);
  unpack(b, packed, to, column, step);
  return to;
}

int xc_a_block(xc_builder *b, int row, int step) {
  const int to = new_a(b, row);
  if (b->mac->fifos)
    xc_pop(b, 'A', XC_FIFO_A, b->bank_a, to, row, -1, step);
  else if (b->kernel->mac == XD_CORE_BF16)
    widened_block(b, 'A', to, row, -1, step);
  else
    xc_load(b, "vld", 'A', b->bank_a, to, 1, row, -1, step);
  return to;
}

int xc_b_block(xc_builder *b, int packed[], int column, int step) {
  const int to = new_b(b, column);
  if (b->mac->fifos) {
    xc_pop(b, 'B', XC_FIFO_B, b->bank_b, to, -1, column, step);
  } else if (b->kernel->mac == XD_CORE_BF16 && b->kernel->shuffle_b) {
    widened_block(b, 'B', to, -1, column, step); /* the multiplier takes B by columns */
  } else if (b->kernel->mac == XD_CORE_BF16) {
    transposed_block(b, to, column, step);
  } else if (b->kernel->mac == XD_CORE_I8_I2) {
    unpack(b, &packed[column], to, column, step);
  } else if (b->kernel->shuffle_b && b->mac->b_width > 1) {
    turned_pair(b, to, column, step);
  } else if (b->kernel->shuffle_b) {
    const int raw = passing(b, UNSHUFFLED);
    xc_load(b, "vld", 'B', b->bank_b, raw, 1, -1, column, step);
    xc_move(b, "vshuffle", 'B', to, raw, -1, column, step);
  } else {
    for (int i = 0; i < b->mac->b_width; i++) xc_load(b, "vld", 'B', b->bank_b, to, 1u << i, -1, column, step);
  }
  return to;
}

enum { SPREAD, ROW_OF_B, TURNED }; /* lanes: a column of A before its shuffle; B's; then two for each row */

int xc_turned_a(xc_builder *b, int block, int row, int step) {
  const int to = passing(b, TURNED + row);
  xc_move(b, "vshuffle", 'A', to, block, row, -1, step);
  return to;
}

int xc_column_of_a(xc_builder *b, int turned, int row, int step) {
  const int spread = passing(b, SPREAD), to = passing(b, TURNED + b->kernel->cluster[0] + row);
  xc_move(b, "vextbcst", 'A', spread, turned, row, -1, step);
  xc_move(b, "vshuffle", 'A', to, spread, row, -1, step);
  return to;
}

int xc_row_of_b(xc_builder *b, int block, int element, int column, int step) {
  const int to = passing(b, ROW_OF_B);
  xc_node *n = xc_add_node(b->g, "vextbcst", 'B', b->cluster, -1, column, step);
  xc_reads(n, block, 1u << element / (b->mac->lanes / b->mac->b_width));
  xc_writes(n, to, 1);
  return to;
}

/* Operands that name all parts of a value get the list of its parts, which is known now. */
tw_status xc_finish(xc_graph *g, tw_error *error) {
  for (int i = 0; i < g->n_nodes && !g->failed; i++)
    for (int r = 0; r < g->node[i].n_reads; r++) g->node[i].read[r].parts &= xc_all_parts(g, g->node[i].read[r].value);
  tw_status status = xc_link(g, error);
  if (status != TW_OK) xc_graph_free(g);
  return status;
}
