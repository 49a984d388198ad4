/* output_file.h - a new file of known size that is written by position and appears only when it is complete. */
#ifndef TW_TENSORS_OUTPUT_FILE_H
#define TW_TENSORS_OUTPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

typedef struct output_file {
  const char *path;
  char *temporary;
  int fd;
} output_file;

/* Makes a temporary file beside `path` and reserves `size` bytes, so that TW_DISK_FULL is reported before any work.
 * TW_USAGE if `path` is not a regular file. */
tw_status output_open(const char *path, uint64_t size, output_file *, tw_error *);
tw_status output_write(const output_file *, uint64_t at, const void *data, size_t bytes, tw_error *);
/* Renames it to its path. In any case the file is closed and no temporary file is left. */
tw_status output_commit(output_file *, tw_error *);
void output_abandon(output_file *); /* after a failure; may be called for {.fd = -1} */

#endif
