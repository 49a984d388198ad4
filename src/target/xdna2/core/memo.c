/* memo.c - paces that were scheduled once, by what they depend on: a search asks for the same few thousands of times.
 *
 * Pure functions are remembered, so who asks first changes nothing but the time. What the table has no room for is
 * scheduled again. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "target/xdna2/core/core.h"

enum { ENTRIES = 4096, PROBES = 16 };

typedef struct entry {
  bool used, fails; /* fails: no schedule is legal */
  xd_core_kernel key;
  xd_core_pace pace;
} entry;

static struct {
  pthread_mutex_t lock;
  entry at[ENTRIES];
} memo = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The least call with the same loops: of m and n it depends only whether there are clusters to unroll, and a rest. */
static xd_core_kernel key_of(const xd_core_kernel *k) {
  xd_core_kernel key;
  memset(&key, 0, sizeof key); /* compared and hashed as bytes */
  const int *shape = xd_core_shape(k->mac);
  const int unit_m = shape[0] * k->cluster[0], unit_n = shape[2] * k->cluster[1];
  const int clusters = k->m / unit_m * (k->n / unit_n);
  const int each = k->way != XD_CORE_UNROLLED ? 1 : k->unroll < clusters ? k->unroll : clusters;
  key.mac = k->mac;
  key.c = k->c;
  key.m = unit_m;
  key.k = k->k;
  key.n = unit_n * (each + (clusters % each ? 1 : 0));
  memcpy(key.cluster, k->cluster, sizeof key.cluster);
  key.way = k->way;
  key.unroll = each;
  key.convert_a = k->convert_a;
  key.shuffle_b = k->shuffle_b;
  memcpy(key.bank, k->bank, sizeof key.bank);
  return key;
}

static uint32_t hash(const xd_core_kernel *key) {
  const unsigned char *bytes = (const unsigned char *)key;
  uint32_t h = 2166136261U; /* FNV-1a */
  for (size_t i = 0; i < sizeof *key; i++) h = (h ^ bytes[i]) * 16777619U;
  return h;
}

/* Where the key is or may go; NULL if the table is full there. The lock is held. */
static entry *place_of(const xd_core_kernel *key) {
  const uint32_t first = hash(key);
  for (uint32_t i = 0; i < PROBES; i++) {
    entry *e = &memo.at[(first + i) % ENTRIES];
    if (!e->used || !memcmp(&e->key, key, sizeof *key)) return e;
  }
  return NULL;
}

static bool recall(const xd_core_kernel *key, entry *out) {
  pthread_mutex_lock(&memo.lock);
  const entry *e = place_of(key);
  const bool known = e && e->used;
  if (known) *out = *e;
  pthread_mutex_unlock(&memo.lock);
  return known;
}

static void remember(const entry *e) {
  pthread_mutex_lock(&memo.lock);
  entry *to = place_of(&e->key);
  if (to) *to = *e;
  pthread_mutex_unlock(&memo.lock);
}

/* Whether a key can be made of it; what is wrong with others, the scheduler says. */
static bool has_key(const xd_core_kernel *k) {
  enum { MOST = 1 << 10 };
  const int *shape = xd_core_shape(k->mac);
  return k->cluster[0] > 0 && k->cluster[1] > 0 && k->cluster[0] < MOST && k->cluster[1] < MOST && k->unroll > 0 &&
         k->m > 0 && k->n > 0 && k->m % (shape[0] * k->cluster[0]) == 0 && k->n % (shape[2] * k->cluster[1]) == 0;
}

/* The call itself: for the words of an error, and for what has no key. */
static tw_status schedule_call(const xd_core_kernel *k, double *cycles, tw_error *error) {
  xd_core_pace pace;
  const tw_status status = xd_core_pace_of(k, &pace, error);
  if (status == TW_OK) *cycles = xd_core_pace_cycles(&pace, k);
  return status;
}

tw_status xd_core_cycles(const xd_core_kernel *k, double *cycles, tw_error *error) {
  entry e;
  if (!has_key(k)) return schedule_call(k, cycles, error);
  const xd_core_kernel key = key_of(k);
  if (!recall(&key, &e)) {
    memset(&e, 0, sizeof e);
    const tw_status status = xd_core_pace_of(&key, &e.pace, NULL);
    if (status != TW_OK && status != TW_USAGE) return schedule_call(k, cycles, error);
    e.key = key;
    e.used = true;
    e.fails = status != TW_OK;
    remember(&e);
  }
  if (e.fails) return error ? schedule_call(k, cycles, error) : TW_USAGE;
  *cycles = xd_core_pace_cycles(&e.pace, k);
  return TW_OK;
}
