/* config.c - reads a Gemmini configuration from its text and checks that such a machine can exist.
 *
 * One table has the field and the legal values of every key; the checks that involve two keys follow
 * the generator's own requirements (GemminiConfigs.scala, LocalAddr.scala of ucb-bar/gemmini). */
#include "target/gemmini/config.h"

#include <stddef.h>

const char *gm_c_type(tw_type type) {
  switch (type) {
  case TW_I8: return "int8_t";
  case TW_I32: return "int32_t";
  case TW_F32: return "float";
  case TW_BF16:
  case TW_F16: return "uint16_t";
  default: return NULL;
  }
}

#define KEY(field, kind, low, high)                                                                                    \
  { #field, TW_CONFIG_##kind, offsetof(gm_config, field), low, high, 1, NULL, NULL }
/* Limits of queues, banks and delays are the simulator's (machine/internal.h). */
static const tw_config_key keys[] = {
    KEY(name, TEXT, 0, sizeof((gm_config *)0)->name),
    KEY(summary, TEXT, 0, sizeof((gm_config *)0)->summary),
    KEY(error, REAL, 0, 1),
    KEY(error_of, TEXT, 0, sizeof((gm_config *)0)->error_of),
    KEY(dim, POWER, 2, 64),
    KEY(input_type, TYPE, 0, 0),
    KEY(acc_type, TYPE, 0, 0),
    KEY(spad_bytes, POWER, 1024, 1 << 26),
    KEY(spad_banks, POWER, 1, 32),
    KEY(acc_bytes, POWER, 1024, 1 << 26),
    KEY(acc_banks, POWER, 1, 32),
    KEY(mesh_output_bits, INT, 8, 32),
    KEY(tile_rows, POWER, 1, 64),
    {"dataflow", TW_CONFIG_CHOICE, offsetof(gm_config, dataflow), 0, 0, 1, NULL, "both ws os"}, /* gm_dataflow */
    KEY(has_mvin_scale, BOOL, 0, 1),
    KEY(mvin_scales_acc, BOOL, 0, 1),
    KEY(has_relu, BOOL, 0, 1),
    KEY(has_max_pool, BOOL, 0, 1),
    KEY(has_pixel_repeats, BOOL, 0, 1),
    KEY(has_loop_matmul, BOOL, 0, 1),
    KEY(has_loop_conv, BOOL, 0, 1),
    KEY(has_training_convs, BOOL, 0, 1),
    KEY(has_dw_convs, BOOL, 0, 1),
    KEY(ex_read_from_acc, BOOL, 0, 1),
    KEY(ex_write_to_spad, BOOL, 0, 1),
    KEY(ex_adds_d, BOOL, 0, 1),
    KEY(acc_read_full_width, BOOL, 0, 1),
    KEY(acc_read_small_width, BOOL, 0, 1),
    KEY(rs_load, INT, 1, 64),
    KEY(rs_execute, INT, 1, 64),
    KEY(rs_store, INT, 1, 64),
    KEY(queue_load, INT, 1, 16),
    KEY(queue_execute, INT, 3, 16), /* ExecuteController looks at three heads */
    KEY(queue_store, INT, 1, 8),
    KEY(dma_bus_bits, POWER, 64, 512),
    KEY(dma_max_bytes, POWER, 16, 256),
    KEY(max_in_flight_reads, INT, 1, 64),
    KEY(max_in_flight_writes, INT, 1, 256),
    KEY(tlb_entries, INT, 1, 1024),
    KEY(spad_read_delay, INT, 0, 7),
    KEY(mesh_output_delay, INT, 0, 16),
    KEY(tile_latency, INT, 0, 5),
    KEY(acc_latency, INT, 2, 64), /* AccumulatorMem requires at least 2 */
    KEY(mvin_scale_latency, INT, 0, 64),
    KEY(acc_scale_latency, INT, 1, 64),
    KEY(l2_bytes, POWER, 4096, 1 << 30),
    KEY(l2_ways, POWER, 1, 64),
    KEY(l2_banks, POWER, 1, 64),
    KEY(l2_latency, INT, 1, 1000),
    KEY(l2_misses, INT, 1, 16),
    KEY(l2_fill_latency, INT, 1, 10000),
    KEY(port_bytes, POWER, 4, 16), /* a line in at most 16 beats: sim/l2/ */
    KEY(l2_write_interval, INT, 1, 1000),
    KEY(llc_bytes, POWER, 4096, 1 << 30),
    KEY(llc_hit, INT, 1, 10000),
    KEY(llc_miss, INT, 1, 10000),
    KEY(icache_bytes, POWER, 1024, 1 << 24),
    KEY(icache_ways, POWER, 1, 64),
    KEY(dcache_bytes, POWER, 1024, 1 << 24),
    KEY(dcache_ways, POWER, 1, 64),
};
#undef KEY

/* Checks that involve several keys, and derived values. */
static void check(void *whole, tw_config_file *f) {
  gm_config *c = whole;
  bool integer = c->input_type == TW_I8 && c->acc_type == TW_I32;
  bool real = (c->input_type == TW_F32 || c->input_type == TW_BF16 || c->input_type == TW_F16) && c->acc_type == TW_F32;
  if (!integer && !real) {
    tw_config_wrong(f, "input_type acc_type",
                    "input_type and acc_type must be i8 and i32, or f32, bf16 or f16 and f32");
    return; /* the checks below need sizes of rows, which follow from the types */
  }
  /* PE.scala assigns the sum of an f32 register to a 16-bit result without conversion, so the low half of the sum
   * remains. BF16DefaultConfig and FP16DefaultConfig compute in this way (ucb-bar/gemmini, issue 401). */
  if (real && c->mesh_output_bits != 32)
    tw_config_wrong(
        f, "mesh_output_bits input_type",
        "mesh_output_bits must be 32 with floating point: the generator's arrays with narrower partial sums "
        "lose them (ucb-bar/gemmini issue 401)");
  if (gm_spad_rows(c) / c->spad_banks < c->dim)
    tw_config_wrong(f, "spad_bytes spad_banks dim", "a scratchpad bank holds fewer rows (%d) than dim = %d",
                    gm_spad_bank_rows(c), c->dim);
  if (gm_acc_rows(c) / c->acc_banks < c->dim)
    tw_config_wrong(f, "acc_bytes acc_banks dim", "an accumulator bank holds fewer rows (%d) than dim = %d",
                    gm_acc_bank_rows(c), c->dim);
  if (gm_spad_rows(c) / c->dim - 2 < gm_acc_rows(c) / c->dim)
    tw_config_wrong(f, "spad_bytes acc_bytes dim input_type",
                    "the accumulator holds %d tiles of %d rows; the generator requires at most %d, two fewer than the "
                    "scratchpad holds",
                    gm_acc_rows(c) / c->dim, c->dim, gm_spad_rows(c) / c->dim - 2);
  /* A weight-stationary compute feeds at least 4 rows. The row counter of an array of size 2 cannot hold that
   * number, so last_fire never comes (ExecuteController.scala:298, MeshWithDelays.scala:13, 112). */
  if (c->dim < 4 && c->dataflow != GM_OUTPUT_STATIONARY_ONLY)
    tw_config_wrong(
        f, "dim dataflow",
        "dim = %d requires dataflow = os: weight-stationary computes of the generator's 2 x 2 array never end", c->dim);
  if (c->tile_rows > c->dim)
    tw_config_wrong(f, "tile_rows dim", "a tile of %d rows is larger than the array of dim = %d", c->tile_rows, c->dim);
  if (!c->acc_read_full_width && !c->acc_read_small_width)
    tw_config_wrong(f, "acc_read_full_width acc_read_small_width",
                    "mvout needs acc_read_full_width or acc_read_small_width");
  if (c->rs_load + c->rs_execute + c->rs_store >= 64)
    tw_config_wrong(f, "rs_load rs_execute rs_store", "the simulator holds 63 reservation-station entries (found %d)",
                    c->rs_load + c->rs_execute + c->rs_store);
  /* A local address has 6 bits of kind and one of garbage above the row (LocalAddr.scala:26-30). */
  if (gm_spad_rows(c) > 1 << 25 || gm_acc_rows(c) > 1 << 25)
    tw_config_wrong(f, "spad_bytes acc_bytes dim", "more rows than the 25 bits of a local address can name");
  const struct {
    const char *keys;
    int bytes, ways;
  } caches[] = {{"l2_bytes l2_ways l2_banks", c->l2_bytes, c->l2_ways * c->l2_banks},
                {"icache_bytes icache_ways", c->icache_bytes, c->icache_ways},
                {"dcache_bytes dcache_ways", c->dcache_bytes, c->dcache_ways}};
  for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
    if (caches[i].bytes / 64 < caches[i].ways)
      tw_config_wrong(f, caches[i].keys, "a cache has fewer 64-byte lines than ways");
  int wide = c->dma_max_bytes / gm_input_bytes(c);
  c->max_block_cols = wide > c->dim ? wide : c->dim;
}

static const tw_config_section sections[] = {{TW_CONFIG_KEYS(keys)}};
const tw_config_schema gm_config_schema = {.what = "machine",
                                           .section = sections,
                                           .n = 1,
                                           .bytes = sizeof(gm_config),
                                           .words = "name summary error error_of",
                                           .parts = "has_relu has_max_pool has_training_convs has_dw_convs "
                                                    "acc_read_full_width acc_read_small_width",
                                           .check = check};

tw_status gm_config_parse(const char *text, const char *origin, gm_config *out, tw_error *error) {
  return tw_config_read(&gm_config_schema, text, origin, NULL, out, NULL, error);
}
