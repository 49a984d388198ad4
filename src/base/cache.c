/* cache.c - see cache.h. An entry is the SHA-256 of its content (32 bytes), then the content. Its time of modification
 * is the time of its last use. */
#define _GNU_SOURCE /* mkostemp, d_type */
#include "base/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"

enum {
  DIGEST = 32,
  TRIM_ONE_IN = 64, /* the cache's size is checked once in this many additions */
  ENTRY_MAX = 1 << 30,
};

char *tw_cache_directory(const char *name) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  tw_text t = {0};
  if (xdg && *xdg == '/')
    tw_text_add(&t, "%s/tilewright/%s", xdg, name);
  else if (home && *home == '/')
    tw_text_add(&t, "%s/.cache/tilewright/%s", home, name);
  else
    return NULL;
  char *path = tw_text_take(&t);
  if (path && tw_directory_make(path, NULL) == TW_OK && access(path, W_OK | X_OK) == 0) return path;
  free(path);
  return NULL;
}

static void digest_of(const void *data, size_t length, uint8_t digest[DIGEST]) {
  tw_hash h;
  tw_hash_start(&h);
  tw_hash_add(&h, data, length);
  tw_hash_finish(&h, digest);
}

bool tw_cache_get(const char *kind, const char *key, char **data, size_t *length) {
  char *directory = tw_cache_directory(kind), *path = directory ? tw_path_join(directory, key) : NULL, *entry = NULL;
  size_t size = 0;
  uint8_t digest[DIGEST];
  bool found = path && tw_file_read(path, ENTRY_MAX, &entry, &size, NULL) == TW_OK && size >= DIGEST;
  if (found) {
    digest_of(entry + DIGEST, size - DIGEST, digest);
    found = !memcmp(digest, entry, DIGEST);
  }
  if (found) {
    utimensat(AT_FDCWD, path, NULL, 0); /* used now */
    memmove(entry, entry + DIGEST, size - DIGEST);
    entry[size - DIGEST] = '\0';
    *data = entry;
    *length = size - DIGEST;
  } else {
    free(entry);
  }
  free(path);
  free(directory);
  return found;
}

static bool write_all(int fd, const void *data, size_t length) {
  const char *at = data;
  while (length > 0) {
    ssize_t n = write(fd, at, length);
    if (n <= 0) return false;
    at += n;
    length -= (size_t)n;
  }
  return true;
}

/* Not synchronized with the disk: after a power failure, a truncated entry fails its hash check. */
void tw_cache_put(const char *kind, const char *key, const void *data, size_t length) {
  char *directory = tw_cache_directory(kind);
  char *path = directory ? tw_path_join(directory, key) : NULL;
  char *temporary = directory ? tw_path_join(directory, ".new-XXXXXX") : NULL;
  int fd = path && temporary ? mkostemp(temporary, O_CLOEXEC) : -1;
  if (fd >= 0) {
    uint8_t digest[DIGEST];
    digest_of(data, length, digest);
    bool written = write_all(fd, digest, DIGEST) && write_all(fd, data, length);
    written = close(fd) == 0 && written;
    if (!written || rename(temporary, path) < 0) unlink(temporary);
    if (digest[0] % TRIM_ONE_IN == 0) tw_cache_trim(kind, TW_CACHE_BYTES);
  }
  free(temporary);
  free(path);
  free(directory);
}

/* ---- Keeping it small ------------------------------------------------------------------------------------- */

typedef struct cached {
  char *name;
  struct timespec used;
  unsigned long long bytes;
} cached;

static int by_use(const void *a, const void *b) {
  const cached *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* The entries of a directory, unsorted. Omits entries that cannot be inspected, for example because another process
 * removed them. */
static cached *list(int directory, DIR *stream, size_t *n) {
  cached *all = NULL;
  size_t room = 0;
  *n = 0;
  for (struct dirent *e; (e = readdir(stream));) {
    struct stat info;
    if (fstatat(directory, e->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode)) continue;
    if (*n == room) {
      cached *more = tw_resize(all, room ? 2 * room : 256, sizeof *more);
      if (!more) return all;
      all = more;
      room = room ? 2 * room : 256;
    }
    char *name = strdup(e->d_name);
    if (!name) return all;
    all[(*n)++] = (cached){name, info.st_mtim, (unsigned long long)info.st_size};
  }
  return all;
}

void tw_cache_trim(const char *kind, unsigned long long limit) {
  char *path = tw_cache_directory(kind);
  DIR *stream = path ? opendir(path) : NULL;
  if (stream) {
    size_t n;
    unsigned long long total = 0;
    cached *all = list(dirfd(stream), stream, &n);
    for (size_t i = 0; i < n; i++) total += all[i].bytes;
    if (n > 0) qsort(all, n, sizeof *all, by_use);
    for (size_t i = 0; i < n && total > limit; i++)
      if (unlinkat(dirfd(stream), all[i].name, 0) == 0) total -= all[i].bytes;
    for (size_t i = 0; i < n; i++) free(all[i].name);
    free(all);
    closedir(stream);
  }
  free(path);
}

/* ---- What there is ---------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const tw_cache_kind *)a)->name, ((const tw_cache_kind *)b)->name);
}

static void measure(tw_cache_kind *kind) {
  char *path = tw_cache_directory(kind->name);
  DIR *stream = path ? opendir(path) : NULL;
  if (stream) {
    cached *all = list(dirfd(stream), stream, &kind->entries);
    for (size_t i = 0; i < kind->entries; i++) {
      kind->bytes += all[i].bytes;
      free(all[i].name);
    }
    free(all);
    closedir(stream);
  }
  free(path);
}

size_t tw_cache_kinds(tw_cache_kind out[], size_t max) {
  char *path = tw_cache_directory("");
  DIR *stream = path ? opendir(path) : NULL;
  size_t n = 0;
  for (struct dirent *e; stream && n < max && (e = readdir(stream));) {
    if (*e->d_name == '.' || e->d_type != DT_DIR || strlen(e->d_name) >= sizeof out[n].name) continue;
    out[n] = (tw_cache_kind){0};
    memcpy(out[n].name, e->d_name, strlen(e->d_name));
    measure(&out[n++]);
  }
  if (stream) closedir(stream);
  free(path);
  qsort(out, n, sizeof *out, by_name);
  return n;
}
