/* intern.c - a table that only grows. */
#include "base/intern.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { SLOTS = 2 * TW_INTERNED_MAX };
static const char *table[SLOTS]; /* open addressing; never full */
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *tw_intern(const char *text) {
  const size_t length = strnlen(text, TW_INTERNED_LENGTH + 1);
  if (length > TW_INTERNED_LENGTH) return NULL;
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  size_t slot = hash % SLOTS;
  pthread_mutex_lock(&lock);
  while (table[slot] && strcmp(table[slot], text) != 0) slot = (slot + 1) % SLOTS;
  if (!table[slot] && count < TW_INTERNED_MAX && (table[slot] = strdup(text))) count++;
  const char *found = table[slot];
  pthread_mutex_unlock(&lock);
  return found;
}
