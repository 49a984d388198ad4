/* lru.h - a cache without sets: parts of any size; the least recently used parts are evicted first. */
#ifndef TW_CDNA_LRU_H
#define TW_CDNA_LRU_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cdna_lru_part {
  uint64_t key;
  int bytes;
  int newer, older, next; /* in the list; in the chain of its hash */
} cdna_lru_part;

typedef struct cdna_lru {
  int64_t bytes, room;
  cdna_lru_part *at;
  int n, unused; /* parts ever in use; the first free part (linked by .next) */
  int newest, oldest;
  int *head;
  uint32_t mask;
} cdna_lru;

/* Opens a cache with `room` bytes, for parts of at least `least_bytes`. False: out of memory; close it in any case. */
bool cdna_lru_open(cdna_lru *, int64_t room, int least_bytes);
void cdna_lru_close(cdna_lru *);
/* True if the part was present. In any case it is the newest afterwards. */
bool cdna_lru_touch(cdna_lru *, uint64_t key, int bytes);

#endif
