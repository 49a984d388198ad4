/* config.c - reads the machine from its text. Tables of the keys of each section give the destination and range of each
 * value. */
#include "target/xdna2/config.h"

#include <stddef.h>

#define MACHINE(field, kind, low, high)                                                                                \
  { #field, TW_CONFIG_##kind, offsetof(xd_config, field), low, high, 1, NULL, NULL }
static const tw_config_key machine_keys[] = {
    MACHINE(name, TEXT, 0, sizeof((xd_config *)0)->name),
    MACHINE(summary, TEXT, 0, sizeof((xd_config *)0)->summary),
    MACHINE(error, REAL, 0, 1),
    MACHINE(error_of, TEXT, 0, sizeof((xd_config *)0)->error_of),
    MACHINE(rows, INT, 1, 64),
    MACHINE(columns, INT, 1, 64),
    MACHINE(clock_mhz, INT, 1, 10000),
    MACHINE(l1_bytes, INT, 1024, 1 << 24),
    MACHINE(stack_bytes, INT, 0, 1 << 24),
    MACHINE(l2_bytes, INT, 1024, 1 << 28),
    MACHINE(stream_bytes, INT, 1, 1024),
    MACHINE(ddr_mbs, INT, 1, 10000000),
    MACHINE(bfp16_paper_bytes, REAL, 1, 2),
    MACHINE(load_slots, INT, 1, 8),
    MACHINE(vmac_to_store, INT, 0, 100),
    MACHINE(store_latency, INT, 0, 100),
    MACHINE(paper_switch_cycles, INT, 0, 100000),
    MACHINE(switch_cycles, REAL, 0, 100000),
    MACHINE(step_cycles, REAL, 0, 100000),
    MACHINE(read_mbs, INT, 1, 10000000),
    MACHINE(launch_us, REAL, 0, 1e6),
};
#undef MACHINE

#define ARRAY(field, kind, low, high, count)                                                                           \
  { #field, TW_CONFIG_##kind, offsetof(xd_array, field), low, high, count, NULL, NULL }
static const tw_config_key array_keys[] = {
    ARRAY(dma_in, LIST, 0, 16, XD_TILE_KINDS),
    ARRAY(dma_out, LIST, 0, 16, XD_TILE_KINDS),
    ARRAY(descriptors, LIST, 1, 256, XD_TILE_KINDS),
    ARRAY(locks, LIST, 1, 256, XD_TILE_KINDS),
    ARRAY(dims, LIST, 1, 4, XD_TILE_KINDS),
    ARRAY(wrap_bits, LIST, 1, 30, XD_TILE_KINDS),
    ARRAY(step_bits, LIST, 1, 30, XD_TILE_KINDS),
    ARRAY(pad_bits, LIST, 1, 16, XD_PADS),
    ARRAY(word_bytes, INT, 1, 64, 1),
    ARRAY(lock_max, INT, 1, 1 << 20, 1),
    ARRAY(iterations, INT, 1, 1 << 20, 1),
    ARRAY(queue, INT, 1, 1024, 1),
    ARRAY(repeats, INT, 1, 1 << 20, 1),
    ARRAY(north, INT, 1, 64, 1),
    ARRAY(south, INT, 1, 64, 1),
    ARRAY(side, INT, 1, 64, 1),
    ARRAY(hop_cycles, INT, 0, 1000, 1),
    ARRAY(lock_cycles, INT, 0, 1000, 1),
    ARRAY(start_cycles, INT, 0, 1000, 1),
    ARRAY(descriptor_cycles, INT, 0, 1000, 1),
    ARRAY(chain_cycles, INT, 0, 1000, 1),
    ARRAY(memory_cycles, INT, 0, 1000, 1),
    ARRAY(shim_task_cycles, LIST, 0, 1000000, 2),
    ARRAY(shim_cold_cycles, LIST, 0, 1000000, 2),
    ARRAY(ddr_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_read_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_write_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_stream_mbs, INT, 1, 10000000, 1),
    ARRAY(ddr_contention, REAL, 1, 100, 1),
    ARRAY(ddr_block_bytes, INT, 4, 65536, 1),
    ARRAY(ddr_block_ns, REAL, 0, 1e6, 1),
    ARRAY(ddr_burst_bytes, INT, 4, 65536, 1),
    ARRAY(ddr_page_bytes, INT, 4, 1 << 30, 1),
    ARRAY(ddr_page_ns, REAL, 0, 1e6, 1),
    ARRAY(dispatch_us, REAL, 0, 1e6, 1),
};
#undef ARRAY

#define KERNEL(field, kind, low, high, count)                                                                          \
  { #field, TW_CONFIG_##kind, offsetof(xd_kernel, field), low, high, count, NULL, NULL }
static const tw_config_key kernel_keys[] = {
    KERNEL(name, TEXT, 0, sizeof((xd_kernel *)0)->name, 1),
    KERNEL(a, TYPE, 0, 0, 1),
    KERNEL(b, TYPE, 0, 0, 1),
    KERNEL(c, TYPE, 0, 0, 1),
    KERNEL(acc, TYPE, 0, 0, 1),
    KERNEL(vmac, PRODUCT, 1, 256, 3),
    KERNEL(vmac_issues, INT, 1, 128, 1),
    KERNEL(vmac_distance, INT, 1, 64, 1),
    KERNEL(cluster, PRODUCT, 1, 16, 2),
    KERNEL(copies, LIST, 1, 16, 3),
    KERNEL(scratch_a, BOOL, 0, 1, 1),
    KERNEL(scratch_b, NO_TYPE, 0, 0, 1),
    KERNEL(staging, REAL, 0, 16, 1),
    KERNEL(load, INT, 1, 100, 1),
    KERNEL(acc_latency, INT, 0, 100, 1),
    KERNEL(acc_loads, INT, 0, 64, 1),
    KERNEL(acc_stores, INT, 0, 64, 1),
    KERNEL(cluster_cycles, REAL, 0, 100000, 1),
    KERNEL(vmac_cycles, REAL, 0, 1000, 1),
    {"way", TW_CONFIG_CHOICE, offsetof(xd_kernel, way), 0, 0, 1, NULL, "in-turn unrolled pipelined"}, /* xd_core_way */
    KERNEL(unroll, INT, 1, 64, 1),
    KERNEL(switches, BOOL, 0, 1, 1),
    KERNEL(scheduled, BOOL, 0, 1, 1),
};
#undef KERNEL

static void check_kernel(const xd_kernel *k, tw_config_file *f) {
  if (k->cluster_cycles > 0 && k->vmac_cycles <= 0)
    tw_config_wrong(f, "kernel.cluster_cycles kernel.vmac_cycles",
                    "kernel %s has cluster_cycles, but lacks vmac_cycles", k->name);
  if (k->vmac_cycles <= 0 && !k->acc_loads)
    tw_config_wrong(f, "kernel.vmac_cycles kernel.acc_loads", "kernel %s needs vmac_cycles or acc_loads", k->name);
}

static void check(void *whole, tw_config_file *f) {
  const xd_config *c = whole;
  if (c->stack_bytes >= c->l1_bytes) tw_config_wrong(f, "stack_bytes l1_bytes", "the stack uses all of L1");
  for (size_t i = 0; i < c->n_kernels; i++) check_kernel(&c->kernel[i], f);
}

static const tw_config_section sections[] = {
    {TW_CONFIG_KEYS(machine_keys)},
    {.name = "array", TW_CONFIG_KEYS(array_keys), .offset = offsetof(xd_config, array)},
    {.name = "kernel",
     TW_CONFIG_KEYS(kernel_keys),
     .offset = offsetof(xd_config, kernel),
     .stride = sizeof(xd_kernel),
     .count = offsetof(xd_config, n_kernels),
     .most = XD_KERNELS_MAX},
};
const tw_config_schema xd_config_schema = {.what = "machine",
                                           .section = sections,
                                           .n = sizeof sections / sizeof sections[0],
                                           .bytes = sizeof(xd_config),
                                           .words = "name summary error error_of",
                                           .check = check};

tw_status xd_config_parse(const char *text, const char *origin, xd_config *out, tw_error *error) {
  return tw_config_read(&xd_config_schema, text, origin, NULL, out, NULL, error);
}
