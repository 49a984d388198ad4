/* program.c - see program.h. The installed tree may be moved: nothing is absolute. */
#define _GNU_SOURCE
#include "base/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096 };

void tw_own_path(const char *fallback, char *path, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", path, size - 1);
  if (length > 0)
    path[length] = '\0';
  else
    snprintf(path, size, "%s", fallback);
}

/* The folder of the running program, or of the shared library that this is part of. */
static int folder(char path[PATH], int of_library) {
  Dl_info self;
  if (of_library) {
    if (!dladdr((const void *)tw_program_path, &self) || !realpath(self.dli_fname, path)) return 0;
  } else {
    tw_own_path("", path, PATH);
  }
  char *slash = strrchr(path, '/');
  if (!slash) return 0;
  *slash = '\0';
  return 1;
}

char *tw_program_path(const char *name, const char *variable) {
  static const char *const places[] = {"", "/..", "/../libexec/tilewright", "/../../libexec/tilewright"};
  const char *given = getenv(variable);
  if (given && *given) return access(given, X_OK) == 0 ? strdup(given) : NULL;
  for (int of_library = 0; of_library < 2; of_library++) {
    char base[PATH], path[PATH + 128];
    if (!folder(base, of_library)) continue;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      snprintf(path, sizeof path, "%s%s/tilewright-%s", base, places[i], name);
      if (access(path, X_OK) == 0) return strdup(path);
    }
  }
  return NULL;
}

char *tw_documents_path(void) {
  static const char *const places[] = {"/../share/doc/tilewright/docs", "/../docs"};
  char base[PATH], path[PATH + 128];
  if (!folder(base, 0)) return NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s%s/index.md", base, places[i]);
    if (access(path, R_OK) != 0) continue;
    snprintf(path, sizeof path, "%s%s", base, places[i]);
    return realpath(path, NULL);
  }
  return NULL;
}
