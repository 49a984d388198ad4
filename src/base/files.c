/* files.c - see files.h. Every error names the file and the system's reason. */
#define _GNU_SOURCE
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"

static tw_status no_memory(const char *path, tw_error *error) {
  return tw_fail(error, TW_NO_MEMORY, "out of memory for '%s'", path);
}

static tw_status too_large(const char *path, size_t limit, tw_error *error) {
  return tw_fail(error, TW_USAGE, "'%s' is larger than %zu KiB, the limit for this file", path, limit >> 10);
}

/* TW_DISK_FULL for a full disk, a spent quota and a limit on file size. TW_USAGE for errors that the caller can
 * correct (permissions, no such directory). */
tw_status tw_file_cannot_write(const char *path, int number, tw_error *error) {
  if (number == ENOSPC || number == EDQUOT || number == EFBIG)
    return tw_fail(error, TW_DISK_FULL, "cannot write '%s': its disk is full%s; free space or choose another place",
                   path, number == EFBIG ? ", or a limit on the size of files (ulimit -f)" : "");
  return tw_fail(error, TW_USAGE, "cannot write '%s': %s", path, strerror(number));
}

enum { PIPE_MS = 10000 };

static tw_status read_all(int fd, const char *path, size_t limit, tw_text *text, tw_error *error) {
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PIPE_MS) > 0) continue;
    if (n < 0 && errno == EAGAIN)
      return tw_fail(error, TW_USAGE, "cannot read '%s': the pipe sent nothing for %d s", path, PIPE_MS / 1000);
    if (n < 0) return tw_fail(error, TW_USAGE, "cannot read '%s': %s", path, strerror(errno));
    if (n == 0) return TW_OK;
    if ((size_t)n > limit - text->length) return too_large(path, limit, error);
    tw_text_add_bytes(text, buffer, (size_t)n);
    if (text->failed) return no_memory(path, error);
  }
}

tw_status tw_file_read(const char *path, size_t limit, char **data, size_t *length, tw_error *error) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer is empty */
  if (fd < 0) return tw_fail(error, TW_USAGE, "cannot read '%s': %s", path, strerror(errno));
  struct stat info;
  tw_text text = {0};
  tw_status status;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size > limit)
    status = too_large(path, limit, error); /* reported without reading 100 MB first */
  else
    status = read_all(fd, path, limit, &text, error);
  close(fd);
  if (status != TW_OK) {
    tw_text_free(&text);
    return status;
  }
  if (length) *length = text.length;
  *data = tw_text_take(&text);
  return *data ? TW_OK : no_memory(path, error);
}

/* 0, or the errno of what failed. */
static int write_all(int fd, const char *data, size_t length) {
  while (length) {
    ssize_t n = write(fd, data, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    data += n;
    length -= (size_t)n;
  }
  return 0;
}

static tw_status write_directly(const char *path, const void *data, size_t length, tw_error *error) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return tw_file_cannot_write(path, errno, error);
  int number = write_all(fd, data, length);
  if (close(fd) < 0 && !number) number = errno;
  return number ? tw_file_cannot_write(path, number, error) : TW_OK;
}

/* Not mkstemp: its files are private. The umask cannot be read without changing it for all threads. */
int tw_file_open_beside(const char *path, char **name) {
  static atomic_uint made;
  for (;;) {
    tw_text text = {0};
    tw_text_add(&text, "%s.%ld-%u", path, (long)getpid(), atomic_fetch_add(&made, 1));
    *name = tw_text_take(&text);
    if (!*name) return errno = ENOMEM, -1;
    int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
    free(*name); /* left by a process of the same number that was killed */
  }
}

/* ---- what killed processes leave ---- */

/* Other systems and containers may share the folder, and their process numbers mean nothing here. A file that is in
 * use is younger than this. */
static const double STALE_SECONDS = 3600;

/* Is it `prefix`, the number of a process that has ended, and `mark`? */
static bool is_left_behind(const char *name, const char *prefix, char mark) {
  const size_t length = strlen(prefix);
  char *end;
  if (strncmp(name, prefix, length) != 0 || name[length] < '1' || name[length] > '9') return false;
  const long process = strtol(name + length, &end, 10);
  return *end == mark && process <= INT_MAX && kill((pid_t)process, 0) < 0 && errno == ESRCH;
}

/* The system that numbers processes: this boot of this kernel, and the container's name space. Zeros if that is not
 * known. */
enum { SYSTEM_TEXT = 9 };
static void system_text(char out[SYSTEM_TEXT]) {
  char boot[64] = "", space[64] = "";
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const bool known =
      fd >= 0 && read(fd, boot, sizeof boot - 1) > 0 && readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0;
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (const char *c = boot; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
  for (const char *c = space; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
  if (fd >= 0) close(fd);
  snprintf(out, SYSTEM_TEXT, "%08x", known ? hash : 0);
}

/* Did a process of this system write the name? Then the file may be removed at any age. */
static bool is_of_this_system(const char *name, const char *prefix, char mark) {
  char system[SYSTEM_TEXT];
  const char *after = strchr(name + strlen(prefix), mark);
  system_text(system);
  return after && strcmp(system, "00000000") != 0 && !strncmp(after + 1, system, strlen(system)) &&
         after[SYSTEM_TEXT] == '-';
}

static void remove_stale(const char *directory, const char *prefix, char mark, mode_t kind) {
  DIR *stream = opendir(directory);
  const time_t now = time(NULL);
  for (struct dirent *e; stream && (e = readdir(stream));) {
    struct stat info;
    if (!is_left_behind(e->d_name, prefix, mark) || fstatat(dirfd(stream), e->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
        (info.st_mode & S_IFMT) != kind || info.st_uid != geteuid() ||
        (difftime(now, info.st_mtime) < STALE_SECONDS && !is_of_this_system(e->d_name, prefix, mark)))
      continue;
    char *path = tw_path_join(directory, e->d_name);
    if (path) tw_directory_remove(path); /* the path may also be a file's */
    free(path);
  }
  if (stream) closedir(stream);
}

void tw_file_remove_stale(const char *path) {
  char *real = realpath(path, NULL);
  const char *name = real ? real : path, *slash = strrchr(name, '/');
  tw_text prefix = {0};
  tw_text_add(&prefix, "%s.", slash ? slash + 1 : name);
  char *directory = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup("."), *start = tw_text_take(&prefix);
  if (directory && start) remove_stale(directory, start, '-', S_IFREG);
  free(directory);
  free(start);
  free(real);
}

/* An existing file keeps its kind: a link still leads to its file, and the file keeps its permissions. */
tw_status tw_file_write(const char *path, const void *data, size_t length, tw_error *error) {
  struct stat info;
  const bool exists = stat(path, &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) return write_directly(path, data, length, error);
  char *real = exists ? realpath(path, NULL) : NULL, *temporary = NULL;
  const char *name = real ? real : path;
  int fd = tw_file_open_beside(name, &temporary), number = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (exists && fchmod(fd, info.st_mode & 07777) < 0) number = errno;
    if (!number) number = write_all(fd, data, length);
    if (!number && fsync(fd) < 0) number = errno;
    if (close(fd) < 0 && !number) number = errno;
    if (!number && rename(temporary, name) < 0) number = errno;
    if (number) unlink(temporary);
  }
  free(temporary);
  free(real);
  return number ? tw_file_cannot_write(path, number, error) : TW_OK;
}

tw_status tw_directory_make(const char *path, tw_error *error) {
  if (!*path) return tw_fail(error, TW_USAGE, "the name of a directory is empty");
  char *part = strdup(path);
  if (!part) return no_memory(path, error);
  int number = 0;
  for (char *slash = part + 1;; slash++) {
    if (*slash != '/' && *slash != '\0') continue;
    char kept = *slash;
    *slash = '\0';
    /* An existing folder may be read-only. The first folder that cannot be made gives the error. */
    number = mkdir(part, 0777) < 0 ? errno : 0;
    struct stat info;
    if (number && stat(part, &info) == 0) number = S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (number || !kept) break;
    *slash = kept;
  }
  tw_status status = TW_OK;
  if (number == ENOSPC || number == EDQUOT)
    status = tw_file_cannot_write(path, number, error);
  else if (number && strcmp(part, path) != 0)
    status = tw_fail(error, TW_USAGE, "cannot make the directory '%s': '%s': %s", path, part, strerror(number));
  else if (number)
    status = tw_fail(error, TW_USAGE, "cannot make the directory '%s': %s", path, strerror(number));
  free(part);
  return status;
}

tw_status tw_directory_temporary(char **path, tw_error *error) {
  static atomic_flag looked = ATOMIC_FLAG_INIT;
  static const char PREFIX[] = "tilewright-";
  const char *own = getenv("TMPDIR"), *base = own && *own ? own : "/tmp";
  if (!atomic_flag_test_and_set(&looked)) remove_stale(base, PREFIX, '-', S_IFDIR);
  tw_text name = {0};
  char system[SYSTEM_TEXT];
  system_text(system);
  tw_text_add(&name, "%s%s%s%ld-%s-XXXXXX", base, base[strlen(base) - 1] == '/' ? "" : "/", PREFIX, (long)getpid(),
              system);
  *path = tw_text_take(&name);
  if (!*path) return no_memory("a temporary directory", error);
  if (mkdtemp(*path)) return TW_OK;
  tw_status status =
      tw_fail(error, errno == ENOSPC || errno == EDQUOT ? TW_DISK_FULL : TW_MISSING,
              "cannot make a temporary directory '%s': %s; set TMPDIR to a folder with space", *path, strerror(errno));
  free(*path);
  *path = NULL;
  return status;
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *walk) {
  (void)info, (void)flag, (void)walk;
  remove(path);
  return 0;
}

void tw_directory_remove(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

char *tw_path_join(const char *directory, const char *name) {
  size_t length = strlen(directory);
  tw_text path = {0};
  tw_text_add(&path, "%s%s%s", directory, length && directory[length - 1] == '/' ? "" : "/", name);
  return tw_text_take(&path);
}

bool tw_file_exists(const char *path) { return access(path, F_OK) == 0; }

bool tw_directory_is_readable(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && access(path, R_OK | X_OK) == 0;
}
