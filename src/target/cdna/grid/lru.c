/* lru.c - see lru.h. */
#include "target/cdna/grid/lru.h"

#include <stdlib.h>

#include "base/strings.h"

static uint32_t slot_of(const cdna_lru *c, uint64_t key) {
  return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & c->mask;
}

bool cdna_lru_open(cdna_lru *c, int64_t room, int least_bytes) {
  const int64_t parts = room / least_bytes + 2;
  *c = (cdna_lru){.room = room, .unused = -1, .newest = -1, .oldest = -1, .mask = 15};
  while (c->mask < parts) c->mask = 2 * c->mask + 1;
  c->at = tw_new((size_t)parts, sizeof *c->at);
  c->head = tw_new((size_t)c->mask + 1, sizeof *c->head);
  for (uint32_t i = 0; c->head && i <= c->mask; i++) c->head[i] = -1;
  return c->at && c->head;
}

void cdna_lru_close(cdna_lru *c) {
  free(c->at);
  free(c->head);
}

static void unlink_part(cdna_lru *c, int i) {
  cdna_lru_part *p = &c->at[i];
  *(p->newer < 0 ? &c->newest : &c->at[p->newer].older) = p->older;
  *(p->older < 0 ? &c->oldest : &c->at[p->older].newer) = p->newer;
}

static void link_newest(cdna_lru *c, int i) {
  c->at[i].newer = -1;
  c->at[i].older = c->newest;
  *(c->newest < 0 ? &c->oldest : &c->at[c->newest].newer) = i;
  c->newest = i;
}

static void drop_oldest(cdna_lru *c) {
  const int i = c->oldest;
  int *link = &c->head[slot_of(c, c->at[i].key)];
  while (*link != i) link = &c->at[*link].next;
  *link = c->at[i].next;
  unlink_part(c, i);
  c->bytes -= c->at[i].bytes;
  c->at[i].next = c->unused;
  c->unused = i;
}

bool cdna_lru_touch(cdna_lru *c, uint64_t key, int bytes) {
  int *head = &c->head[slot_of(c, key)];
  for (int i = *head; i >= 0; i = c->at[i].next)
    if (c->at[i].key == key) {
      if (c->newest != i) {
        unlink_part(c, i);
        link_newest(c, i);
      }
      return true;
    }
  if (bytes > c->room) return false;
  while (c->bytes + bytes > c->room) drop_oldest(c);
  int i = c->unused;
  if (i >= 0)
    c->unused = c->at[i].next;
  else
    i = c->n++;
  head = &c->head[slot_of(c, key)];
  c->at[i] = (cdna_lru_part){.key = key, .bytes = bytes, .next = *head};
  *head = i;
  c->bytes += bytes;
  link_newest(c, i);
  return false;
}
