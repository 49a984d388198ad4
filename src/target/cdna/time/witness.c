/* witness.c - see witness.h. */
#include "target/cdna/time/witness.h"

#include <string.h>

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

typedef struct looking {
  const cdna_witness *expected;
  cdna_witness *seen;
  const cdna_effects *effects;
  int shift;
} looking;

static void note_one(void *context, cdna_wave *w, const cdna_op *op) {
  looking *c = context;
  const int wave = (int)(w - w->group->wave);
  cdna_access a;
  if (wave >= CDNA_WITNESS_WAVES || c->seen->accesses[wave] >= c->expected->accesses[wave]) return;
  if (c->effects[w->at].klass == CDNA_CLASS_VMEM && cdna_access_of(w, op, &a))
    cdna_witness_note(c->seen, wave, &a, c->shift);
}

tw_status cdna_witness_check(const cdna_witness *s, cdna_dispatch *d, const cdna_effects *effects, int shift,
                             cdna_witness *checked, tw_error *error) {
  *checked = (cdna_witness){.group = s->group};
  looking q = {.expected = s, .seen = checked, .effects = effects, .shift = shift};
  const cdna_observer observer = {.context = &q, .before = note_one};
  return cdna_group_run(d, s->group, &observer, error);
}

bool cdna_witness_is_same(const cdna_witness *s, const cdna_witness *checked) {
  return !memcmp(s->accesses, checked->accesses, sizeof s->accesses) && !memcmp(s->sum, checked->sum, sizeof s->sum);
}

int cdna_witness_lines(const cdna_witness *s) {
  int n = 0;
  for (size_t i = 0; i < sizeof s->met; i++) n += __builtin_popcount(s->met[i]);
  return n;
}
