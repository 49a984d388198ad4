/* config.c - reads the machine from its text: a section for each engine, by tables of keys. */
#include "target/trainium/config.h"

#include <stddef.h>

#define KEY(record, field, kind, low, high)                                                                            \
  { #field, TW_CONFIG_##kind, offsetof(record, field), low, high, 1, NULL, NULL }
#define NS(record, field) KEY(record, field, REAL, 0, 1e6)
#define CYCLES(record, field) KEY(record, field, REAL, 0, 1000)
#define GHZ(record) KEY(record, ghz, REAL, 0.01, 100)
#define NS2(record, a, b) NS(record, a), NS(record, b)
#define NS4(record, a, b, c, d) NS2(record, a, b), NS2(record, c, d)
#define CYCLES2(record, a, b) CYCLES(record, a), CYCLES(record, b)
#define CYCLES4(record, a, b, c, d) CYCLES2(record, a, b), CYCLES2(record, c, d)

static const tw_config_key machine_keys[] = {
    KEY(trn_config, name, TEXT, 0, sizeof((trn_config *)0)->name),
    KEY(trn_config, summary, TEXT, 0, sizeof((trn_config *)0)->summary), KEY(trn_config, error, REAL, 0, 1),
    KEY(trn_config, error_of, TEXT, 0, sizeof((trn_config *)0)->error_of), NS(trn_config, launch_ns)};
static const tw_config_key memory_keys[] = {
    KEY(trn_config_memory, partitions, INT, 32, 128), KEY(trn_config_memory, sbuf_bytes, INT64, 1024, 1 << 24),
    KEY(trn_config_memory, psum_bank_bytes, INT64, 64, 1 << 20), KEY(trn_config_memory, psum_banks, INT, 1, 64)};
static const tw_config_key tensor_keys[] = {GHZ(trn_config_tensor),
                                            CYCLES2(trn_config_tensor, row_cycles_16, row_cycles_32),
                                            KEY(trn_config_tensor, passes_32, INT, 1, 16),
                                            CYCLES(trn_config_tensor, transpose_cycles_32),
                                            KEY(trn_config_tensor, rows_min, INT, 0, 512),
                                            NS4(trn_config_tensor, issue_ns, load_interval_32_ns, load_ns, done_ns),
                                            NS2(trn_config_tensor, slow_done_ns, window_phase_ns),
                                            KEY(trn_config_tensor, slow_rate, REAL, 0.01, 1),
                                            KEY(trn_config_tensor, window_ns, REAL, 1, 1e6),
                                            KEY(trn_config_tensor, up_use, REAL, 0, 1),
                                            KEY(trn_config_tensor, down_use, REAL, 0, 1)};
static const tw_config_key vector_keys[] = {
    GHZ(trn_config_vector),
    CYCLES2(trn_config_vector, start_cycles, bn_aggregate),
    NS4(trn_config_vector, pointer_ns, done_ns, transpose_ns, transpose_across_ns),
    CYCLES4(trn_config_vector, copy_32, copy_16, widen, psum),
    CYCLES4(trn_config_vector, tensor_tensor_32, tensor_tensor_16, tensor_tensor_psum, reduce),
    CYCLES4(trn_config_vector, reciprocal, scan, select, memset)};
static const tw_config_key scalar_keys[] = {GHZ(trn_config_scalar), CYCLES2(trn_config_scalar, cycles, slow_cycles),
                                            NS4(trn_config_scalar, sbuf_ns, psum_ns, pointer_ns, accumulate_ns),
                                            NS2(trn_config_scalar, done_ns, table_ns)};
static const tw_config_key gpsimd_keys[] = {GHZ(trn_config_gpsimd), CYCLES2(trn_config_gpsimd, start_cycles, cycles),
                                            NS(trn_config_gpsimd, done_ns),
                                            KEY(trn_config_gpsimd, shares_port, BOOL, 0, 1)};
static const tw_config_key sync_keys[] = {
    NS2(trn_config_sync, handoff_ns, wait_tensor_ns),
    NS4(trn_config_sync, wait_vector_ns, wait_scalar_ns, wait_gpsimd_ns, wait_sync_ns)};
static const tw_config_key dma_keys[] = {
    KEY(trn_config_dma, engines, INT, 1, 64),
    NS(trn_config_dma, packet_ns),
    KEY(trn_config_dma, transpose_rate, REAL, 0, 1),
    KEY(trn_config_dma, engine_gbs, REAL, 0.01, 10000),
    KEY(trn_config_dma, packet_bytes, INT64, 64, 1 << 20),
    KEY(trn_config_dma, merge_bytes, INT64, 0, 1 << 20),
    KEY(trn_config_dma, total_gbs, REAL, 0.01, 100000),
    NS4(trn_config_dma, hardware_issue_ns, hardware_write_ns, hardware_read_ns, hardware_read_large_ns),
    KEY(trn_config_dma, small_bytes, INT64, 0, 1 << 20),
    NS4(trn_config_dma, software_prepare_ns, software_issue_ns, software_write_ns, software_read_ns),
    NS4(trn_config_dma, element_ns, static_issue_ns, static_first_ns, notice_ns),
    KEY(trn_config_dma, hardware, BOOL, 0, 1)};

#define SECTION(part_)                                                                                                 \
  { .name = #part_, TW_CONFIG_KEYS(part_##_keys), .offset = offsetof(trn_config, part_) }
static const tw_config_section sections[] = {{TW_CONFIG_KEYS(machine_keys)},
                                             SECTION(memory),
                                             SECTION(tensor),
                                             SECTION(vector),
                                             SECTION(scalar),
                                             SECTION(gpsimd),
                                             SECTION(sync),
                                             SECTION(dma)};
const tw_config_schema trn_config_schema = {.what = "machine",
                                            .section = sections,
                                            .n = sizeof sections / sizeof sections[0],
                                            .bytes = sizeof(trn_config),
                                            .words = "name summary error error_of"};
