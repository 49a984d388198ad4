/* configurations.h - machines of the generator's parameter space, as lines of machine files. */
#ifndef TW_TESTS_GEMMINI_CONFIGURATIONS_H
#define TW_TESTS_GEMMINI_CONFIGURATIONS_H

#include "base/embedded.h"
#include "target/gemmini/config.h"

typedef struct configuration {
  const char *name;
  bool real;
  const char *lines;
} configuration;

#define CHIP "dataflow = ws\nex_read_from_acc = 0\nex_write_to_spad = 0\nex_adds_d = 0\n"
static const configuration configurations[] = {
    {"default", false, ""},
    {"2x2", false, "dim = 2\ndataflow = os\n"},
    {"4x4", false, "dim = 4\n"},
    {"8x8", false, "dim = 8\n"},
    {"32x32", false, "dim = 32\n"},
    {"64x64", false, "dim = 64\nmesh_output_bits = 24\n"},
    {"64x64-20-bits", false, "dim = 64\n"},
    {"8x8-of-2x2-tiles", false, "dim = 8\ntile_rows = 2\n"},
    {"16x16-one-tile", false, "tile_rows = 16\n"},
    {"32x32-of-4x4-tiles-ws", false, "dim = 32\ntile_rows = 4\ndataflow = ws\n"},
    {"lean", false, CHIP "acc_read_full_width = 0\nmax_in_flight_reads = 64\nmax_in_flight_writes = 64\n"},
    {"chip", false, CHIP "spad_bytes = 65536\nacc_bytes = 32768\nmesh_output_delay = 2\nacc_scale_latency = 4\n"},
    {"large-chip", false, CHIP "dim = 32\nspad_bytes = 131072\nmesh_output_delay = 2\nacc_scale_latency = 4\n"},
    {"os-only", false, "dataflow = os\n"},
    {"no-loops", false, "has_loop_matmul = 0\nhas_loop_conv = 0\n"},
    {"no-relu-no-pooling", false, "has_relu = 0\nhas_max_pool = 0\n"},
    {"no-mvin-scale", false, "has_mvin_scale = 0\nhas_pixel_repeats = 0\n"},
    {"one-bank-each", false, "spad_banks = 1\nacc_banks = 1\n"},
    {"many-banks", false, "dim = 8\nspad_banks = 16\nacc_banks = 8\n"},
    {"large-memories", false, "spad_bytes = 1048576\nacc_bytes = 524288\nspad_banks = 8\n"},
    {"bus-64", false, "dma_bus_bits = 64\nl2_bytes = 262144\nl2_banks = 2\n"},
    {"bus-512", false, "dma_bus_bits = 512\nport_bytes = 16\nl2_bytes = 2097152\nl2_ways = 16\nl2_banks = 4\n"},
    {"packets-of-128", false, "dma_max_bytes = 128\n"},
    {"narrow-sums", false, "mesh_output_bits = 18\n"},
    {"fp32", true, ""},
    {"fp32-training", true, "has_training_convs = 1\n"},
    {"fp32-2x2", true, "dim = 2\ndataflow = os\n"},
    {"fp32-8x8", true, "dim = 8\nacc_banks = 2\n"},
    {"fp32-16x16", true, "dim = 16\n"},
    {"fp32-chip", true,
     CHIP "spad_bytes = 32768\nacc_bytes = 8192\nacc_banks = 2\nmvin_scales_acc = 0\nacc_read_full_width = 0\n"},
    {"bf16", true, "input_type = bf16\n"},
    {"bf16-8x8", true, "input_type = bf16\ndim = 8\nacc_banks = 2\ndma_bus_bits = 64\n"},
    {"bf16-no-scales", true, "input_type = bf16\nhas_mvin_scale = 0\nmvin_scales_acc = 0\ndim = 16\n"},
    {"f16-16x16-ws", true, "input_type = f16\ndim = 16\ndataflow = ws\nspad_bytes = 131072\n"},
    {"f16-2x2", true, "input_type = f16\ndim = 2\ndataflow = os\n"},
    {"fp32-no-scales", true, "has_mvin_scale = 0\nmvin_scales_acc = 0\nhas_relu = 0\ndim = 8\n"},
};
#undef CHIP
enum { CONFIGURATIONS = sizeof configurations / sizeof *configurations };

static inline const char *base_of(const configuration *c) {
  return c->real ? "gemmini-4x4-fp32" : "gemmini-16x16-int8";
}

/* Ends the test where the lines are wrong. */
static inline gm_config config_of(const configuration *c) {
  char path[80];
  gm_config base, out;
  tw_error error = {0};
  snprintf(path, sizeof path, "gemmini/configs/%s.txt", base_of(c));
  if (gm_config_parse((const char *)tw_embedded_find(path)->data, path, &base, &error) != TW_OK ||
      tw_config_read(&gm_config_schema, c->lines, c->name, &base, &out, NULL, &error) != TW_OK)
    fail_msg("%s", error.text);
  return out;
}

#endif
