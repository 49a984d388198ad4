/* files.h - whole files in, whole files out, with errors that name the file and the reason. */
#ifndef TW_BASE_FILES_H
#define TW_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/status.h"

/* Reads a regular file (or a pipe) of at most `limit` bytes into a malloc'ed buffer followed by a '\0'. `length` may be
 * NULL. TW_USAGE if it cannot be read or is larger. */
tw_status tw_file_read(const char *path, size_t limit, char **data, size_t *length, tw_error *);

/* Writes to a temporary file beside `path` and renames it: readers see the old file or the new one, never a part. On
 * failure (TW_DISK_FULL on a full disk, TW_USAGE otherwise) the old file is untouched. A `path` that is not a
 * regular file (/dev/stdout, a pipe) is written directly. */
tw_status tw_file_write(const char *path, const void *data, size_t length, tw_error *);

/* For files that are written in pieces: makes a new file beside `path`, open for writing, with the permissions of
 * open(). No other thread or process uses it. Rename it to `path` when it is complete. Returns the descriptor; -1
 * with errno. `name`, malloc'ed, is NULL without memory. */
int tw_file_open_beside(const char *path, char **name);
/* Removes such files left by processes that have ended. */
void tw_file_remove_stale(const char *path);
/* The status of a write to `path` that failed with this errno, as in tw_file_write. */
tw_status tw_file_cannot_write(const char *path, int number, tw_error *);

/* Creates a directory and its parents; an existing one is fine. */
tw_status tw_directory_make(const char *path, tw_error *);

/* A new directory under $TMPDIR (or /tmp); `path` is malloc'ed. tw_directory_remove deletes it and its contents. The
 * first call in a process also removes directories of killed processes. */
tw_status tw_directory_temporary(char **path, tw_error *);
void tw_directory_remove(const char *path);

/* Joins with one '/' between: a malloc'ed string, NULL without memory. */
char *tw_path_join(const char *directory, const char *name);
bool tw_file_exists(const char *path);
bool tw_directory_is_readable(const char *path);

#endif
