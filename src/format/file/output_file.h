/* output_file.h - a new file of known size that is written by position and appears only when it is whole. */
#ifndef TW_FORMAT_OUTPUT_FILE_H
#define TW_FORMAT_OUTPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

typedef struct output_file {
  const char *path;
  char *temporary;
  int fd;
} output_file;

/* Makes a temporary file beside `path` and takes the room for `size` bytes: TW_DISK_FULL if the disk lacks it, before
 * any work is done. TW_USAGE if `path` is something else than a regular file. */
tw_status output_open(const char *path, uint64_t size, output_file *, tw_error *);
tw_status output_write(const output_file *, uint64_t at, const void *data, size_t bytes, tw_error *);
/* Renames it to its path. Whether it succeeds or not, the file is closed and no temporary one is left. */
tw_status output_commit(output_file *, tw_error *);
void output_abandon(output_file *); /* after a failure; also fine on {.fd = -1} */

#endif
