/* convert.c - loops that pass over a whole tile before or after the multiplication: bf16 to bfp16 and back, 2-bit codes
 * to int8 and int4, clearing, narrowing. */
#include "target/xdna2/core/builder.h"

static xc_builder plain_builder(const xc_machine *m, const int bank[2], const xc_mac *mac, xc_graph *out) {
  static const xd_core_kernel no_chains = {.mac = XD_CORE_I8_I2};
  *out = (xc_graph){.machine = m};
  return (xc_builder){.g = out,
                      .kernel = &no_chains,
                      .mac = mac,
                      .bank_a = bank[0],
                      .bank_b = bank[0],
                      .bank_c = bank[1],
                      .store_fifo = m->load_fifos};
}

tw_status xc_to_bfp16_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  xc_builder b = plain_builder(m, bank, &xc_macs[XD_CORE_BFP16], out);
  for (int i = 0; i < XC_CONVERT_BLOCKS; i++) {
    const int wide = xc_add_value(out, XC_ACCUMULATOR, 1, -1);
    xc_load(&b, "vld.conv", 'A', b.bank_a, wide, 0x3, i, -1, -1);
    xc_load(&b, "vld.conv", 'A', b.bank_a, wide, 0xc, i, -1, -1);
    xc_push(&b, 'A', wide, b.bank_c, i, -1);
  }
  xc_flush(&b);
  return xc_finish(out, error);
}

static void add_unpacking_i8(xc_builder *b) {
  int packed = 0;
  for (int i = 0; i < XC_UNPACK_BLOCKS; i++) {
    const int block = xc_unpacked_block(b, &packed, -1, i);
    xc_store(b, "vst", 'B', b->bank_c, block, 1, -1, -1);
  }
}

/* Bytes of four codes: two alternate ones are nibbles already; the other two are moved down through an accumulator. */
static void add_unpacking_i4(xc_builder *b) {
  const int packed = xc_add_value(b->g, XC_VECTOR, 1, -1);
  xc_load(b, "vld", 'B', b->bank_b, packed, 1, -1, -1, -1);
  for (int i = 0; i < 2; i++) {
    int nibbles = xc_add_value(b->g, XC_VECTOR, 1, -1);
    xc_move(b, "vband", 'B', nibbles, packed, -1, -1, -1);
    if (i) {
      const int wide = xc_add_value(b->g, XC_ACCUMULATOR, 1, -1), low = xc_add_value(b->g, XC_VECTOR, 1, -1);
      xc_move(b, "vups4", 'B', wide, nibbles, -1, -1, -1);
      xc_move(b, "vsrs4", 'B', low, wide, -1, -1, -1);
      nibbles = low;
    }
    const int weights = xc_add_value(b->g, XC_VECTOR, 1, -1);
    xc_move(b, "vsub", 'B', weights, nibbles, -1, -1, -1);
    xc_store(b, "vst", 'B', b->bank_c, weights, 1, -1, -1);
  }
}

int xc_unpacking_constants(xd_core_mac mac) {
  return mac == XD_CORE_I8_I4 ? 3 /* two masks; 0x11 */ : xc_macs[XD_CORE_I8_I2].constants;
}

void xc_add_unpacking(xc_builder *b) {
  if (b->kernel->mac == XD_CORE_I8_I4)
    add_unpacking_i4(b);
  else
    add_unpacking_i8(b);
}

static tw_status unpack_graph(const xc_machine *m, const int bank[2], xd_core_mac mac, xc_graph *out, tw_error *error) {
  xc_builder b = plain_builder(m, bank, &xc_macs[XD_CORE_I8_I2], out);
  const xd_core_kernel none = {.mac = mac};
  b.kernel = &none;
  out->constants[XC_VECTOR] = xc_unpacking_constants(mac);
  xc_add_unpacking(&b);
  return xc_finish(out, error);
}

tw_status xc_unpack_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  return unpack_graph(m, bank, XD_CORE_I8, out, error);
}

tw_status xc_unpack_i4_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  return unpack_graph(m, bank, XD_CORE_I8_I4, out, error);
}

/* Products of 32 elements: half an accumulator. */
static void scale_half(xc_builder *b, int half, int codes, int scale, int wide) {
  xc_node *n = xc_add_node(b->g, "vmul.f", 'B', 0, -1, -1, half);
  xc_reads(n, codes, XC_ALL_PARTS);
  xc_reads(n, scale, XC_ALL_PARTS);
  xc_writes(n, wide, half ? 0xc : 0x3);
}

/* Codes of 8 bits become real numbers as sums: the bits of a large number are added, the number is subtracted. Eight
 * scales are repeated along the rows of a block: four times by a broadcast, then by the two halves of a transposition. */
tw_status xc_unpack_bfp16_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  xc_builder b = plain_builder(m, bank, &xc_macs[XD_CORE_BFP16], out);
  const int few = xc_add_value(out, XC_VECTOR, 1, -1), row = xc_add_value(out, XC_VECTOR, 1, -1);
  int scale[2];
  out->constants[XC_ACCUMULATOR] = 1;
  xc_load(&b, "vld", 'B', b.bank_b, few, 1, -1, -1, -1);
  xc_move(&b, "vextbcst", 'B', row, few, -1, -1, -1);
  for (int half = 0; half < 2; half++)
    xc_move(&b, "vshuffle", 'B', scale[half] = xc_add_value(out, XC_VECTOR, 1, -1), row, -1, -1, half);
  for (int i = 0; i < XC_SCALED_BLOCKS; i++) {
    const int bytes = xc_add_value(out, XC_VECTOR, 1, -1), sums = xc_add_value(out, XC_ACCUMULATOR, 1, -1),
              moved = xc_add_value(out, XC_ACCUMULATOR, 1, -1), reals = xc_add_value(out, XC_ACCUMULATOR, 1, -1),
              wide = xc_add_value(out, XC_ACCUMULATOR, 1, -1);
    xc_load(&b, "vld.unpack", 'B', b.bank_b, bytes, 1, -1, -1, i);
    xc_move(&b, "vups4", 'B', sums, bytes, -1, -1, i);
    xc_move(&b, "vadd.acc", 'B', moved, sums, -1, -1, i);
    xc_move(&b, "vsub.f", 'B', reals, moved, -1, -1, i);
    for (int half = 0; half < 2; half++) {
      const int codes = xc_add_value(out, XC_VECTOR, 1, -1);
      xc_node *n = xc_add_node(out, "vconv.bf16", 'B', 0, -1, -1, i);
      xc_reads(n, reals, half ? 0xc : 0x3);
      xc_writes(n, codes, 1);
      scale_half(&b, half, codes, scale[half], wide);
    }
    xc_seek(&b, 'B', b.store_fifo);
    xc_push(&b, 'B', wide, b.bank_c, -1, -1);
    xc_flush(&b);
  }
  return xc_finish(out, error);
}

tw_status xc_clear_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  xc_builder b = plain_builder(m, bank, &xc_macs[XD_CORE_I8], out);
  out->constants[XC_VECTOR] = 1; /* zeros */
  xc_add_node(out, "vst", 'C', 0, -1, -1, -1)->bank = b.bank_c;
  return xc_finish(out, error);
}

static tw_status narrow_graph(const xc_machine *m, const int bank[2], const char *store, int pieces, xc_graph *out,
                              tw_error *error) {
  xc_builder b = plain_builder(m, bank, &xc_macs[XD_CORE_I8], out);
  const int sums = xc_add_value(out, XC_ACCUMULATOR, 1, -1), parts = m->accumulator_parts, each = parts / pieces;
  for (int i = 0; i < parts; i++) xc_load(&b, "vld.acc", 'C', b.bank_a, sums, 1u << i, -1, -1, -1);
  for (int i = 0; i < pieces; i++) xc_store(&b, store, 'C', b.bank_c, sums, ((1u << each) - 1) << i * each, -1, -1);
  return xc_finish(out, error);
}

tw_status xc_narrow_i16_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  return narrow_graph(m, bank, "vst.srs2", 2, out, error);
}

tw_status xc_narrow_bf16_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  return narrow_graph(m, bank, "vst.conv", 2, out, error);
}

tw_status xc_narrow_i8_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  return narrow_graph(m, bank, "vst.srs4", 1, out, error);
}

/* In place, beginning with the last block: a stream goes forwards, so each block has a separate stream. */
tw_status xc_round_bfp16_graph(const xc_machine *m, const int bank[2], xc_graph *out, tw_error *error) {
  xc_builder b = plain_builder(m, bank, &xc_macs[XD_CORE_BFP16], out);
  const int wide = xc_add_value(out, XC_ACCUMULATOR, 1, -1);
  xc_load(&b, "vld.conv", 'C', b.bank_a, wide, 0x3, -1, -1, -1);
  xc_load(&b, "vld.conv", 'C', b.bank_a, wide, 0xc, -1, -1, -1);
  xc_seek(&b, 'C', b.store_fifo);
  xc_push(&b, 'C', wide, b.bank_c, -1, -1);
  xc_flush(&b);
  return xc_finish(out, error);
}
