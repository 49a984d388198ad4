/* buffer.c - see buffer.h. Fresh pages cost more than a small product: a call reuses pages of an earlier one. */
#include "blas/buffer.h"

#include <pthread.h>

#include "tilewright/memory.h"

enum { KEPT = 8, LEAST = 1 << 16 };
static const size_t MOST_KEPT = (size_t)256 << 20; /* bytes of all */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static blas_buffer kept[KEPT]; /* in the order in which they were returned */
static int n_kept;
static size_t bytes_kept;

static void unlock(void) { pthread_mutex_unlock(&lock); }

/* No thread may be in here while the process forks. */
static pthread_once_t watched = PTHREAD_ONCE_INIT;
static void lock_for_fork(void) { pthread_mutex_lock(&lock); }
static void watch_forks(void) { pthread_atfork(lock_for_fork, unlock, unlock); }
static void take_lock(void) {
  pthread_once(&watched, watch_forks);
  pthread_mutex_lock(&lock);
}

static blas_buffer remove_at(int i) {
  const blas_buffer found = kept[i];
  bytes_kept -= found.bytes;
  for (n_kept--; i < n_kept; i++) kept[i] = kept[i + 1];
  return found;
}

blas_buffer blas_buffer_take(size_t bytes) {
  blas_buffer found = {0};
  take_lock();
  int best = -1;
  for (int i = 0; i < n_kept; i++)
    if (kept[i].bytes >= bytes && (best < 0 || kept[i].bytes <= kept[best].bytes)) best = i;
  if (best >= 0) found = remove_at(best);
  unlock();
  if (found.memory) return found;
  const size_t larger = bytes + bytes / 2; /* the next call may need slightly more */
  found.bytes = larger < LEAST ? LEAST : larger;
  if (tw_memory_alloc(found.bytes, &found.memory, NULL) == TW_OK) return found;
  found.bytes = bytes;
  if (tw_memory_alloc(bytes, &found.memory, NULL) != TW_OK) found = (blas_buffer){0};
  return found;
}

void blas_buffer_return(blas_buffer b) {
  if (b.bytes > MOST_KEPT) {
    tw_memory_free(b.memory);
    return;
  }
  take_lock();
  while (n_kept == KEPT || bytes_kept + b.bytes > MOST_KEPT) tw_memory_free(remove_at(0).memory);
  kept[n_kept++] = b;
  bytes_kept += b.bytes;
  unlock();
}
