/* kinds.c - see kinds.h. */
#include "gpu/common/kinds.h"

#include <stdio.h>
#include <string.h>

bool tw_tile_kind_is(const tw_tile_kind *k, unsigned machine, const tw_problem *p, const tw_schedule *s) {
  return (k->machines & machine) && strcmp(k->op, p->op->name) == 0 && (!k->is || k->is(p, s));
}

const tw_tile_kind *tw_tile_kind_of(const tw_tile_kinds *kinds, unsigned machine, const tw_problem *p,
                                    const tw_schedule *s) {
  for (size_t i = 0; i < kinds->n; i++)
    if (tw_tile_kind_is(&kinds->kind[i], machine, p, s)) return &kinds->kind[i];
  return NULL;
}

/* The next kind from `i` on whose op the machine supports and that no earlier kind names; n: none. */
static size_t next_op(const tw_tile_kinds *kinds, unsigned machine, size_t i) {
  for (; i < kinds->n; i++) {
    bool named = !(kinds->kind[i].machines & machine);
    for (size_t j = 0; j < i && !named; j++)
      named = (kinds->kind[j].machines & machine) && strcmp(kinds->kind[j].op, kinds->kind[i].op) == 0;
    if (!named) break;
  }
  return i;
}

const char *tw_tile_kinds_ops(const tw_tile_kinds *kinds, unsigned machine, char text[TW_TILE_OPS]) {
  size_t length = 0;
  text[0] = '\0';
  for (size_t i = next_op(kinds, machine, 0), next; i < kinds->n && length < TW_TILE_OPS; i = next) {
    next = next_op(kinds, machine, i + 1);
    const char *before = length == 0 ? "" : next < kinds->n ? ", " : " or ";
    length += (size_t)snprintf(text + length, TW_TILE_OPS - length, "%s%s", before, kinds->kind[i].op);
  }
  return text;
}

const tw_language *tw_tile_kinds_language(const tw_tile_kinds *kinds, size_t index) {
  return index < kinds->n ? kinds->kind[index].family->language : NULL;
}
