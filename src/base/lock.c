/* lock.c - flock(2), polled, so that the wait can be stopped. */
#define _GNU_SOURCE
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { PAUSE_NANOSECONDS = 5 * 1000 * 1000, OPEN_TRIES = 100 };

/* In a world-writable directory, O_CREAT fails for another user's file (fs.protected_regular). So the file is
 * created only if it is missing. */
static int open_or_make(const char *path) {
  for (int i = 0; i < OPEN_TRIES; i++) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

tw_status tw_lock_file(const char *path, bool shared, const tw_stop *stop, int *out, tw_error *error) {
  *out = -1;
  const int fd = open_or_make(path);
  if (fd < 0)
    return tw_fail(error, errno == ENOSPC || errno == EDQUOT ? TW_DISK_FULL : TW_USAGE, "cannot lock %s: %s", path,
                   strerror(errno));
  while (flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    const int reason = errno;
    if (reason == EINTR) continue;
    if (reason == EWOULDBLOCK && !tw_is_stopped(stop)) {
      nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
      continue;
    }
    close(fd);
    return reason == EWOULDBLOCK ? tw_fail(error, TW_INTERRUPTED, "cannot lock %s: another process holds it", path)
                                 : tw_fail(error, TW_USAGE, "cannot lock %s: %s", path, strerror(reason));
  }
  *out = fd;
  return TW_OK;
}

void tw_unlock_file(int fd) {
  if (fd >= 0) close(fd);
}
