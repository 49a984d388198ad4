/* watch.h - progress of the library's long computations, for any listener in this process. */
#ifndef TW_BASE_WATCH_H
#define TW_BASE_WATCH_H

#include <stddef.h>

/* `done` of `all` parts of `what` ("orders") are complete. Called from any thread, by one thread at a time. `done`
 * never decreases. */
typedef void tw_watcher(const char *what, size_t done, size_t all);

/* Set before the computation begins; NULL: no listener, the default. */
void tw_watch(tw_watcher *);

/* For the computation: one more part is done. Begin with {.what, .all}. */
typedef struct tw_watched {
  const char *what;
  size_t done, all;
} tw_watched;
void tw_watched_step(tw_watched *);

#endif
