/* witness.c - see witness.h. */
#include "target/cdna/time/witness.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static const double NEARLY = 0.9;

void cdna_witness_note(cdna_witness *s, int wave, const cdna_access *a, int shift) {
  uint64_t last = UINT64_MAX, sum = s->sum[wave];
  for (uint64_t left = a->lanes[CDNA_IN_GLOBAL]; left; left &= left - 1) {
    const uint64_t line = a->address[0][__builtin_ctzll(left)] >> shift;
    if (line == last) continue;
    last = line;
    sum = (sum ^ line) * 0x9E3779B97F4A7C15ull;
    sum ^= sum >> 29;
    const uint64_t bit = (line * 0x9E3779B97F4A7C15ull >> 32) % CDNA_WITNESS_LINES;
    s->met[bit / 8] |= (uint8_t)(1 << bit % 8);
  }
  s->sum[wave] = sum * 2 + a->writes;
  s->accesses[wave]++;
}

typedef struct checked {
  const cdna_witness *expected;
  cdna_witness *seen;
  const cdna_effects *effects;
  int shift;
} checked;

static void note_one(void *context, cdna_wave *w, const cdna_op *op) {
  checked *c = context;
  const int wave = (int)(w - w->group->wave);
  cdna_access a;
  if (wave >= CDNA_WITNESS_WAVES || c->seen->accesses[wave] >= c->expected->accesses[wave]) return;
  if (c->effects[w->at].klass == CDNA_CLASS_VMEM && cdna_access_of(w, op, &a))
    cdna_witness_note(c->seen, wave, &a, c->shift);
}

static int lines_of(const cdna_witness *s) {
  int n = 0;
  for (size_t i = 0; i < sizeof s->met; i++) n += __builtin_popcount(s->met[i]);
  return n;
}

tw_status cdna_witness_compare(const cdna_witness *s, cdna_dispatch *d, const cdna_effects *effects, int shift,
                               bool by_order, bool *same, tw_error *error) {
  checked c = {.expected = s, .seen = tw_new(1, sizeof *c.seen), .effects = effects, .shift = shift};
  const cdna_observer observer = {.context = &c, .before = note_one};
  if (!c.seen) return tw_fail(error, TW_MISSING, "out of memory for what workgroups read");
  const tw_status status = cdna_group_run(d, s->group, &observer, error);
  if (by_order)
    *same = lines_of(s) >= NEARLY * lines_of(c.seen);
  else
    *same = !memcmp(s->accesses, c.seen->accesses, sizeof s->accesses) && !memcmp(s->sum, c.seen->sum, sizeof s->sum);
  free(c.seen);
  return status;
}
