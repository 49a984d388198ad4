/* machine.c - the keys of a machine file: the destination and range of each value. */
#include "target/cdna/machine.h"

#include <stddef.h>

#define KEY(field, kind, low, high)                                                                                    \
  { #field, TW_CONFIG_##kind, offsetof(cdna_machine, field), low, high, 1, NULL, NULL }
#define TEXT(field) KEY(field, TEXT, 0, sizeof((cdna_machine *)0)->field)
#define CACHE(field, kind, low, high)                                                                                  \
  { #field, TW_CONFIG_##kind, offsetof(cdna_machine, caches.field), low, high, 1, NULL, NULL }
#define RATE(field, kind, low, high)                                                                                   \
  { #field, TW_CONFIG_##kind, offsetof(cdna_machine, rates.field), low, high, 1, NULL, NULL }
static const tw_config_key keys[] = {
    TEXT(name),
    TEXT(summary),
    TEXT(product),
    TEXT(products),
    KEY(error, REAL, 0, 1),
    TEXT(error_of),
    {"processor", TW_CONFIG_CHOICE, offsetof(cdna_machine, arch), 0, 0, 1, NULL, "gfx942 gfx950"}, /* cdna_arch */
    KEY(clock_mhz, INT, 100, 10000),
    KEY(simds, INT, 1, 16),
    KEY(waves, INT, 1, 64),
    KEY(registers, INT, 64, 4096),
    KEY(register_step, INT, 1, 64),
    KEY(register_most, INT, 64, 1024),
    KEY(lds_bytes, INT, 1024, 1 << 20),
    KEY(lds_step, INT, 4, 65536),
    KEY(barriers, INT, 1, 64),
    KEY(work_items, INT, 64, 1024),
    KEY(scalars_most, INT, 16, 106),
    KEY(memory_tbs, REAL, 0.01, 1000),
    CACHE(xcds, INT, 1, CDNA_XCDS_MAX),
    CACHE(cus, INT, 1, 256),
    CACHE(l2_bytes, INT64, 1 << 16, 1 << 30),
    CACHE(llc_bytes, INT64, 1 << 16, (int64_t)1 << 40),
    CACHE(channels, POWER, 1, 256),
    CACHE(interleave, POWER, 64, 65536),
    CACHE(line_bytes, POWER, 32, 1024),
    CACHE(ways, INT, 1, 64),
    CACHE(l2_tbs, REAL, 0.01, 1000),
    CACHE(llc_tbs, REAL, 0.01, 1000),
    RATE(matrix_mhz, REAL, 100, 10000),
    RATE(matrix_use, REAL, 0.1, 1),
    RATE(power_exponent, REAL, 0.5, 10),
    RATE(vector_power, REAL, 0, 10),
    RATE(slot, INT, 1, 64),
    RATE(valu_latency, INT, 1, 1000),
    RATE(valu_to_matrix, INT, 1, 1000),
    RATE(valu_to_scalar, INT, 1, 1000),
    RATE(transcendental, INT, 1, 1000),
    RATE(branch, INT, 1, 1000),
    RATE(matrix_to_vector, INT, 0, 100),
    RATE(barrier, INT, 0, 10000),
    RATE(wave_start, INT, 0, 1000000),
    RATE(lds_read, INT, 4, 4096),
    RATE(lds_write, INT, 4, 4096),
    RATE(lds_addresses, INT, 1, 64),
    RATE(lds_latency, INT, 1, 10000),
    RATE(lds_queue, INT, 1, 100000),
    RATE(addresses, INT, 1, 64),
    RATE(l1_bandwidth, INT, 4, 4096),
    RATE(l1_bytes, INT, 1024, 1 << 24),
    RATE(l1_line, POWER, 32, 1024),
    RATE(l1_ways, INT, 1, 1024),
    RATE(l2_write, INT, 1, 1024),
    RATE(vmem_queue, INT, 1, 100000),
    RATE(burst, INT, 0, 1000000),
    RATE(code_bytes, INT, 1024, 1 << 24),
    RATE(code_line, POWER, 32, 1024),
    RATE(code_lines, INT, 2, 64),
    RATE(l1_ns, REAL, 0, 100000),
    RATE(l2_gbs, REAL, 1, 1e7),
    RATE(l2_ns, REAL, 0, 100000),
    RATE(llc_gbs, REAL, 1, 1e7),
    RATE(llc_ns, REAL, 0, 100000),
    RATE(memory_use, REAL, 0.01, 1),
    RATE(memory_ns, REAL, 0, 100000),
    RATE(arguments_ns, REAL, 0, 100000),
    RATE(code_ns, REAL, 0, 100000),
    RATE(launch_us, REAL, 0, 1e6),
};
#undef KEY
#undef TEXT
#undef CACHE
#undef RATE

static void check(void *whole, tw_config_file *f) {
  const cdna_machine *m = whole;
  const cdna_cache_machine *c = &m->caches;
  if (m->register_most > m->registers)
    tw_config_wrong(f, "register_most registers", "a wave may have %d registers, which exceeds a SIMD's %d",
                    m->register_most, m->registers);
  if (c->interleave % c->line_bytes)
    tw_config_wrong(f, "interleave line_bytes", "interleave must be a multiple of line_bytes");
  if (c->l2_bytes % ((int64_t)c->channels * c->ways * c->interleave))
    tw_config_wrong(f, "l2_bytes channels ways interleave",
                    "l2_bytes is not a multiple of channels x ways x interleave");
  if (m->rates.l1_bytes % (m->rates.l1_ways * m->rates.l1_line))
    tw_config_wrong(f, "l1_bytes l1_ways l1_line", "l1_bytes is not a multiple of l1_ways x l1_line");
  if (m->rates.matrix_mhz > m->clock_mhz)
    tw_config_wrong(f, "matrix_mhz clock_mhz", "matrix_mhz is above the peak clock");
}

static const tw_config_section sections[] = {{TW_CONFIG_KEYS(keys)}};
const tw_config_schema cdna_machine_schema = {.what = "machine",
                                              .section = sections,
                                              .n = 1,
                                              .bytes = sizeof(cdna_machine),
                                              .words = "name summary product products error error_of",
                                              .check = check};

double cdna_stream_rate(const cdna_machine *m, double bytes) {
  return bytes <= (double)m->caches.llc_bytes ? m->rates.llc_gbs * 1e9 : m->memory_tbs * 1e12;
}

const char *cdna_processor(cdna_arch arch) { return arch == CDNA3 ? "gfx942" : "gfx950"; }
