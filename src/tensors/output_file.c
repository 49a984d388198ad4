/* output_file.c - see output_file.h. */
#include "tensors/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

tw_status output_open(const char *path, uint64_t size, output_file *o, tw_error *error) {
  struct stat info;
  *o = (output_file){.path = path, .fd = -1};
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return tw_fail(error, TW_USAGE, "'%s' is not a regular file; tensors are written by position", path);
  o->fd = tw_file_open_beside(path, &o->temporary);
  if (!o->temporary) return tw_fail(error, TW_NO_MEMORY, "out of memory for '%s'", path);
  int number = o->fd < 0 ? errno : 0;
  /* not every file system can reserve space; then a full disk shows while writing */
  if (!number && size) number = posix_fallocate(o->fd, 0, (off_t)size);
  if (number == EOPNOTSUPP || number == EINVAL) number = 0;
  if (!number) return TW_OK;
  tw_status status = tw_file_cannot_write(path, number, error);
  output_abandon(o);
  return status;
}

tw_status output_write(const output_file *o, uint64_t at, const void *data, size_t bytes, tw_error *error) {
  for (const uint8_t *p = data; bytes;) {
    ssize_t n = pwrite(o->fd, p, bytes, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tw_file_cannot_write(o->path, errno, error);
    p += n;
    at += (uint64_t)n;
    bytes -= (size_t)n;
  }
  return TW_OK;
}

tw_status output_commit(output_file *o, tw_error *error) {
  int number = fsync(o->fd) < 0 ? errno : 0;
  if (close(o->fd) < 0 && !number) number = errno;
  o->fd = -1;
  if (!number && rename(o->temporary, o->path) < 0) number = errno;
  if (!number) {
    free(o->temporary);
    o->temporary = NULL;
    return TW_OK;
  }
  tw_status status = tw_file_cannot_write(o->path, number, error);
  output_abandon(o);
  return status;
}

void output_abandon(output_file *o) {
  if (o->fd >= 0) {
    unlink(o->temporary);
    close(o->fd);
  } else if (o->temporary) {
    unlink(o->temporary);
  }
  free(o->temporary);
  *o = (output_file){.fd = -1};
}
