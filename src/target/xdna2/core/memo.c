/* memo.c - keeps paces by their inputs after they were scheduled once: a search needs the same few thousand paces
 * repeatedly.
 *
 * The functions are pure, so the order of requests affects only the time. Paces for which the table has no room are
 * scheduled again. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "target/xdna2/core/core.h"

enum { ENTRIES = 4096, PROBES = 16 };

/* A kernel as numbers: comparable and hashable byte by byte, because it has no padding. */
typedef struct key {
  int32_t mac, c, m, k, n, rows, columns, way, unroll, convert_a, unpack, shuffle_b, bank[3];
} key;

typedef struct entry {
  bool used, fails; /* fails: no schedule is legal */
  key of;
  xd_core_pace pace;
} entry;

static struct {
  pthread_mutex_t lock;
  entry at[ENTRIES];
} memo = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The least call with the same loops: m and n matter only for whether there are clusters to unroll, and a remainder. */
static xd_core_kernel least_of(const xd_core_kernel *k) {
  const int *shape = xd_core_shape(k->mac);
  const int unit_m = shape[0] * k->cluster[0], unit_n = shape[2] * k->cluster[1];
  const int clusters = k->m / unit_m * (k->n / unit_n);
  const int each = k->way != XD_CORE_UNROLLED ? 1 : k->unroll < clusters ? k->unroll : clusters;
  xd_core_kernel least = *k;
  least.m = unit_m;
  least.n = unit_n * (each + (clusters % each ? 1 : 0));
  least.unroll = each;
  return least;
}

static key key_of(const xd_core_kernel *k) {
  return (key){(int32_t)k->mac,
               (int32_t)k->c,
               k->m,
               k->k,
               k->n,
               k->cluster[0],
               k->cluster[1],
               (int32_t)k->way,
               k->unroll,
               k->convert_a,
               k->unpack,
               k->shuffle_b,
               {k->bank[0], k->bank[1], k->bank[2]}};
}

static uint32_t hash(const key *k) {
  const unsigned char *bytes = (const unsigned char *)k;
  uint32_t h = 2166136261U; /* FNV-1a */
  for (size_t i = 0; i < sizeof *k; i++) h = (h ^ bytes[i]) * 16777619U;
  return h;
}

/* The entry of the key, or a free one for it; NULL if the table is full there. The lock is held. */
static entry *place_of(const key *k) {
  const uint32_t first = hash(k);
  for (uint32_t i = 0; i < PROBES; i++) {
    entry *e = &memo.at[(first + i) % ENTRIES];
    if (!e->used || !memcmp(&e->of, k, sizeof *k)) return e;
  }
  return NULL;
}

static bool recall(const key *k, entry *out) {
  pthread_mutex_lock(&memo.lock);
  const entry *e = place_of(k);
  const bool known = e && e->used;
  if (known) *out = *e;
  pthread_mutex_unlock(&memo.lock);
  return known;
}

static void remember(const entry *e) {
  pthread_mutex_lock(&memo.lock);
  entry *to = place_of(&e->of);
  if (to) *to = *e;
  pthread_mutex_unlock(&memo.lock);
}

/* True if least_of can divide; for other kernels the scheduler reports the error. */
static bool divides(const xd_core_kernel *k) {
  enum { MOST = 1 << 10 };
  const int *shape = xd_core_shape(k->mac);
  return k->cluster[0] > 0 && k->cluster[1] > 0 && k->cluster[0] < MOST && k->cluster[1] < MOST && k->unroll > 0 &&
         k->m > 0 && k->n > 0 && k->m % (shape[0] * k->cluster[0]) == 0 && k->n % (shape[2] * k->cluster[1]) == 0;
}

/* Schedules the call itself: for the text of an error, and for calls without a key. */
static tw_status schedule_call(const xd_core_kernel *k, double *cycles, tw_error *error) {
  xd_core_pace pace;
  const tw_status status = xd_core_pace_of(k, &pace, error);
  if (status == TW_OK) *cycles = xd_core_pace_cycles(&pace, k);
  return status;
}

tw_status xd_core_cycles(const xd_core_kernel *k, double *cycles, tw_error *error) {
  entry e;
  if (!divides(k)) return schedule_call(k, cycles, error);
  const xd_core_kernel least = least_of(k);
  const key of_it = key_of(&least);
  if (!recall(&of_it, &e)) {
    const tw_status status = xd_core_pace_of(&least, &e.pace, NULL);
    if (status != TW_OK && status != TW_USAGE) return schedule_call(k, cycles, error);
    e.of = of_it;
    e.used = true;
    e.fails = status != TW_OK;
    remember(&e);
  }
  if (e.fails) return error ? schedule_call(k, cycles, error) : TW_USAGE;
  *cycles = xd_core_pace_cycles(&e.pace, k);
  return TW_OK;
}
