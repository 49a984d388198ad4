/* watch.c - see watch.h. */
#include "base/watch.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tw_watcher *watcher;

void tw_watch(tw_watcher *new) {
  pthread_mutex_lock(&lock);
  watcher = new;
  pthread_mutex_unlock(&lock);
}

void tw_watched_step(tw_watched *w) {
  pthread_mutex_lock(&lock);
  w->done++;
  if (watcher) watcher(w->what, w->done, w->all);
  pthread_mutex_unlock(&lock);
}
