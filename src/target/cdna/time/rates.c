/* rates.c - see rates.h. A table of the keys says where each value goes and what it may be. */
#include "target/cdna/time/rates.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/config.h"
#include "base/embedded.h"
#include "target/cdna/machine.h"

#define KEY(field, kind, low, high)                                                                                    \
  { #field, TW_CONFIG_##kind, offsetof(cdna_rates, field), low, high, 1, NULL, NULL }
static const tw_config_key keys[] = {
    {"name", TW_CONFIG_TEXT, offsetof(cdna_rates, name), 0, sizeof((cdna_rates *)0)->name, 1, NULL, NULL},
    KEY(matrix_mhz, REAL, 100, 10000),
    KEY(matrix_use, REAL, 0.1, 1),
    KEY(power_exponent, REAL, 0.5, 10),
    KEY(slot, INT, 1, 64),
    KEY(valu_latency, INT, 1, 1000),
    KEY(valu_to_matrix, INT, 1, 1000),
    KEY(transcendental, INT, 1, 1000),
    KEY(branch, INT, 1, 1000),
    KEY(matrix_to_vector, INT, 0, 100),
    KEY(barrier, INT, 0, 10000),
    KEY(wave_start, INT, 0, 1000000),
    KEY(lds_read, INT, 4, 4096),
    KEY(lds_write, INT, 4, 4096),
    KEY(lds_addresses, INT, 1, 64),
    KEY(lds_latency, INT, 1, 10000),
    KEY(lds_queue, INT, 1, 100000),
    KEY(addresses, INT, 1, 64),
    KEY(l1_bandwidth, INT, 4, 4096),
    KEY(l1_bytes, INT, 1024, 1 << 24),
    KEY(l1_line, POWER, 32, 1024),
    KEY(l1_ways, INT, 1, 1024),
    KEY(l2_write, INT, 1, 1024),
    KEY(vmem_queue, INT, 1, 100000),
    KEY(burst, INT, 0, 1000000),
    KEY(l1_ns, REAL, 0, 100000),
    KEY(l2_bandwidth, REAL, 1, 1e6),
    KEY(l2_gbs, REAL, 1, 1e7),
    KEY(l2_ns, REAL, 0, 100000),
    KEY(llc_gbs, REAL, 1, 1e7),
    KEY(llc_ns, REAL, 0, 100000),
    KEY(memory_use, REAL, 0.01, 1),
    KEY(memory_ns, REAL, 0, 100000),
    KEY(arguments_ns, REAL, 0, 100000),
    KEY(launch_us, REAL, 0, 1e6),
};
#undef KEY

tw_status cdna_rates_parse(const char *text, const char *origin, cdna_rates *out, tw_error *error) {
  tw_config_record record = {.what = "machine", .key = keys, .n = sizeof keys / sizeof keys[0], .out = out};
  *out = (cdna_rates){0};
  return tw_config_read(text, origin, &record, error);
}

static cdna_rates known[CDNA_ARCHES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void parse_all(void) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    char name[64];
    tw_error error = {0};
    snprintf(name, sizeof name, "cdna/configs/%s.txt", cdna_machines[arch].name);
    const tw_embedded *e = tw_embedded_find(name);
    if (e && cdna_rates_parse((const char *)e->data, name, &known[arch], &error) == TW_OK) continue;
    fprintf(stderr, "tilewright: %s: %s\n", name, e ? error.text : "missing");
    abort(); /* the program itself is broken: a test reads each file */
  }
}

const cdna_rates *cdna_rates_of(cdna_arch arch) {
  pthread_once(&once, parse_all);
  return &known[arch];
}

double cdna_clock_mhz(const cdna_rates *r, double peak_mhz, double use) {
  if (use <= 0) return peak_mhz;
  const double clock = r->matrix_mhz * pow(r->matrix_use / use, 1 / r->power_exponent);
  return clock < peak_mhz ? clock : peak_mhz;
}
