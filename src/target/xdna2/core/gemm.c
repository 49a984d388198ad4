/* gemm.c - one cluster: load the accumulators, accumulate over the depth, store them.
 *
 * bfp16 arrives through the load FIFOs: A through the first, B through the second. The FIFO of A restarts at the row of
 * blocks of each cluster. The FIFO of B starts once for all clusters of the graph. One more vector is filled before
 * every eighth pop. C in bfp16 passes through A's FIFO before A. */
#include <stdint.h>

#include "target/xdna2/core/builder.h"

/* How an accumulator moves between registers and memory. */
static const struct form {
  const char *load, *store;
  int pieces;
} forms[XD_CORE_FORMS] = {
    [XD_CORE_C_32] = {"vld.acc", "vst.acc", 4},     [XD_CORE_C_I16] = {"vld.ups2", "vst.srs2", 2},
    [XD_CORE_C_I8] = {"vld.ups4", "vst.srs4", 1},   [XD_CORE_C_BF16] = {"vld.conv", "vst.conv", 2},
    [XD_CORE_C_BFP16] = {"vld.pop", "vst.push", 1},
};

const int *xd_core_shape(xd_core_mac mac) { return xc_macs[mac].shape; }

/* Integers of 32 and 16 bits are widened to sums of 64 bits when they are loaded. */
static const struct form *form_of(const xc_builder *b) {
  static const struct form wide[XD_CORE_FORMS] = {
      [XD_CORE_C_32] = {"vld.ups2", "vst.srs2", 2}, [XD_CORE_C_I16] = {"vld.ups4", "vst.srs4", 1}};
  const struct form *form = &wide[b->kernel->c];
  return b->mac->sum_bytes == 8 && form->load ? form : &forms[b->kernel->c];
}

static int new_chain(xc_builder *b, int row, int column) {
  return xc_add_value(b->g, XC_ACCUMULATOR, 1, b->pinned ? row * b->kernel->cluster[1] + column : -1);
}

/* A mask of the parts in piece i of an accumulator. */
static unsigned piece(const xc_builder *b, int i) {
  const int parts = b->g->machine->accumulator_parts / form_of(b)->pieces;
  return ((1u << parts) - 1) << (i * parts);
}

/* Loads or stores of a chain: a block of C may take less than an accumulator. */
static int pieces_of(const xc_builder *b) {
  enum { WHOLE = 256 }; /* bytes of an accumulator */
  return form_of(b)->pieces * b->mac->shape[0] * b->mac->shape[2] * b->mac->sum_bytes / WHOLE;
}

/* The parts of an accumulator that a chain uses. */
static unsigned chain_parts(const xc_builder *b) {
  if (!b->mac->lanes) return XC_ALL_PARTS;
  return (1u << b->g->machine->accumulator_parts * pieces_of(b) / form_of(b)->pieces) - 1;
}

static int load_chain(xc_builder *b, int row, int column) {
  const struct form *form = form_of(b);
  const int chain = new_chain(b, row, column);
  if (b->kernel->c == XD_CORE_C_BFP16) { /* a product with one widens it */
    const int block = xc_add_value(b->g, XC_VECTOR, 1, b->sets ? b->pin_singles + b->mac->singles : -1);
    xc_pop(b, 'C', XC_FIFO_A, b->bank_c, block, row, column, -1);
    xc_move(b, "vmul.f", 'C', chain, block, row, column, -1);
    return chain;
  }
  for (int i = 0; i < pieces_of(b); i++) xc_load(b, form->load, 'C', b->bank_c, chain, piece(b, i), row, column, -1);
  return chain;
}

static void store_chain(xc_builder *b, int chain, int row, int column) {
  const struct form *form = form_of(b);
  if (b->kernel->c == XD_CORE_C_BFP16) {
    xc_push(b, 'C', chain, b->bank_c, row, column);
    return;
  }
  for (int i = 0; i < pieces_of(b); i++) xc_store(b, form->store, 'C', b->bank_c, chain, piece(b, i), row, column);
}

/* One instruction. */
static int accumulate(xc_builder *b, int chain, int a, int bb, int row, int column, int step) {
  const int sum = new_chain(b, row, column);
  xc_node *n = xc_add_node(b->g, b->mac->instruction, 'M', b->cluster, row, column, step);
  xc_reads(n, a, XC_ALL_PARTS);
  xc_reads(n, bb, XC_ALL_PARTS);
  xc_accumulates(n, chain, chain_parts(b));
  xc_writes(n, sum, xc_all_parts(b->g, sum) & chain_parts(b));
  return sum;
}

enum { CHAINS_MAX = 32 };

/* Products of whole blocks. */
static void multiply_blocks(xc_builder *b, int chain[], const int a[], const int bb[], int step) {
  const int rows = b->kernel->cluster[0], columns = b->kernel->cluster[1];
  for (int i = 0; i < rows * columns; i++)
    for (int issue = 0; issue < b->mac->issues; issue++)
      chain[i] = accumulate(b, chain[i], a[i / columns], bb[i % columns], i / columns, i % columns, step);
}

/* Products of elements: for each element of depth a column of A and a row of B, both spread over all lanes. */
static void multiply_lanes(xc_builder *b, int chain[], const int a[], const int bb[], int step) {
  const int rows = b->kernel->cluster[0], columns = b->kernel->cluster[1];
  int turned[CHAINS_MAX], column_of_a[CHAINS_MAX];
  for (int i = 0; i < rows; i++) turned[i] = xc_turned_a(b, a[i], i, step);
  for (int element = 0; element < b->mac->lanes; element++) {
    for (int i = 0; i < rows; i++) column_of_a[i] = xc_column_of_a(b, turned[i], i, step);
    for (int j = 0; j < columns; j++) {
      const int row_of_b = xc_row_of_b(b, bb[j], element, j, step);
      for (int i = 0; i < rows; i++)
        chain[i * columns + j] = accumulate(b, chain[i * columns + j], column_of_a[i], row_of_b, i, j, step);
    }
  }
}

/* Of the next tile of B, in a bank that no product reads; its registers are any free ones. */
static void add_hidden_unpacking(xc_builder *b) {
  xc_builder other = *b;
  other.sets = 0;
  if (b->bank_b >= 0) other.bank_b = other.bank_c = b->g->machine->banks - 1;
  xc_add_unpacking(&other);
}

static void add_cluster(xc_builder *b) {
  const int rows = b->kernel->cluster[0], columns = b->kernel->cluster[1], steps = b->kernel->k / b->mac->shape[1];
  int chain[CHAINS_MAX] = {0}, a[CHAINS_MAX] = {0}, bb[CHAINS_MAX] = {0}, packed[CHAINS_MAX] = {0};
  if (b->kernel->c == XD_CORE_C_BFP16) {
    xc_seek(b, 'C', XC_FIFO_A);
    xc_seek(b, 'C', b->store_fifo);
  }
  for (int i = 0; i < rows * columns; i++) chain[i] = load_chain(b, i / columns, i % columns);
  if (b->mac->fifos) xc_seek(b, 'A', XC_FIFO_A);
  if (b->mac->fifos && b->cluster == 0) xc_seek(b, 'B', XC_FIFO_B);
  for (int step = 0; step < steps; step++, b->turn++) {
    for (int i = 0; i < rows; i++) a[i] = xc_a_block(b, i, step);
    for (int j = 0; j < columns; j++) bb[j] = xc_b_block(b, packed, j, step);
    (b->mac->lanes ? multiply_lanes : multiply_blocks)(b, chain, a, bb, step);
  }
  for (int i = 0; i < rows * columns; i++) store_chain(b, chain[i], i / columns, i % columns);
  xc_flush(b);
  if (b->kernel->unpack) add_hidden_unpacking(b);
  b->cluster++;
}

tw_status xc_cluster_graph(const xc_machine *m, const xd_core_kernel *k, int clusters, xc_binding binding,
                           xc_graph *out, tw_error *error) {
  const xc_mac *mac = &xc_macs[k->mac];
  const int unpacking = k->unpack ? xc_unpacking_constants(k->mac) : 0;
  *out = (xc_graph){.machine = m, .constants = {mac->constants + (k->c == XD_CORE_C_BFP16) + unpacking, 0}};
  xc_builder b = {.g = out,
                  .kernel = k,
                  .mac = mac,
                  .bank_a = k->convert_a ? -1 : k->bank[0],
                  .bank_b = k->bank[1],
                  .bank_c = k->bank[2],
                  .store_fifo = m->load_fifos,
                  .pinned = binding.pinned || mac->temporaries || k->unpack,
                  .sets = binding.sets};
  if (binding.sets && !xc_lay_out_sets(&b))
    return tw_fail(error, TW_USAGE, "%d sets of registers for blocks of A and B do not fit %d vectors", binding.sets,
                   m->vectors);
  for (int i = 0; i < clusters; i++) add_cluster(&b);
  return xc_finish(out, error);
}

/* The least bundles for a cluster and a step of depth: multiply-accumulates, and with lanes also moves. */
static int step_bundles(const xc_mac *mac, const xd_core_kernel *k) {
  const int products = k->cluster[0] * k->cluster[1] * mac->issues;
  const int moves = mac->lanes ? k->cluster[0] * (1 + 2 * mac->lanes) + k->cluster[1] * mac->lanes : 0;
  return products > moves ? products : moves;
}

tw_status xc_check_kernel(const xc_machine *m, const xd_core_kernel *k, tw_error *error) {
  enum { LONGEST = 1 << 14, STEPS_MAX = 512 };
  const xc_mac *mac = &xc_macs[k->mac];
  const int *shape = mac->shape, chains = k->cluster[0] * k->cluster[1];
  if (k->cluster[0] < 1 || k->cluster[1] < 1 || k->cluster[0] > CHAINS_MAX || k->cluster[1] > CHAINS_MAX ||
      chains + mac->temporaries + k->unpack > m->accumulators)
    return tw_fail(error, TW_USAGE, "a cluster of %dx%d needs %d accumulators, but the core has %d", k->cluster[0],
                   k->cluster[1], chains + mac->temporaries + k->unpack, m->accumulators);
  const struct {
    const char *what;
    int size, unit;
  } side[] = {{"rows", k->m, shape[0] * k->cluster[0]},
              {"depth", k->k, shape[1] * mac->depth_unit},
              {"columns", k->n, shape[2] * k->cluster[1]}};
  for (int i = 0; i < 3; i++)
    if (side[i].size < 1 || side[i].size > LONGEST || side[i].size % side[i].unit)
      return tw_fail(error, TW_USAGE, "a kernel of %dx%dx%d: its %s must be a multiple of %d, at most %d", k->m, k->k,
                     k->n, side[i].what, side[i].unit, LONGEST);
  if (k->k / shape[1] > STEPS_MAX)
    return tw_fail(error, TW_USAGE, "a kernel of depth %d: at most %d blocks of %d are scheduled", k->k, STEPS_MAX,
                   shape[1]);
  if (k->convert_a && k->mac != XD_CORE_BFP16) return tw_fail(error, TW_USAGE, "only bfp16 kernels convert A first");
  if (k->unpack && k->mac != XD_CORE_I8 && k->mac != XD_CORE_I8_I4)
    return tw_fail(error, TW_USAGE, "only kernels of int8 by int8 or int4 unpack the next tile of B");
  if (k->shuffle_b && k->mac != XD_CORE_I8 && k->mac != XD_CORE_I16 && k->mac != XD_CORE_BF16 &&
      k->mac != XD_CORE_BF16_LANES)
    return tw_fail(error, TW_USAGE, "only kernels of int8, int16 and bf16 read blocks of B by columns");
  if (k->way == XD_CORE_UNROLLED && k->unroll < 1) return tw_fail(error, TW_USAGE, "unroll must be at least 1");
  const int clusters = k->m / side[0].unit * (k->n / side[2].unit), asked = k->way == XD_CORE_UNROLLED ? k->unroll : 1;
  const int64_t unroll = asked < clusters ? asked : clusters,
                least = unroll * step_bundles(mac, k) * (k->k / shape[1]) * m->bundle_bytes;
  if (least > m->program_bytes)
    return tw_fail(error, TW_USAGE,
                   "the kernel needs at least %lld bytes of code, but the program memory has %d; unroll less, or use a "
                   "smaller depth",
                   (long long)least, m->program_bytes);
  for (int i = 0; i < 3; i++)
    if (k->bank[i] < -1 || k->bank[i] >= m->banks)
      return tw_fail(error, TW_USAGE, "bank %d does not exist; the core has banks 0 to %d", k->bank[i], m->banks - 1);
  return TW_OK;
}
