/* program.c - see program.h. The installed tree may be moved: nothing is absolute. */
#define _GNU_SOURCE
#include "base/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "tilewright/tilewright.h"

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
  const int wanted = tw_ends_with(name, ".so") ? R_OK : X_OK; /* Debian installs modules without X */
  if (given && *given) return access(given, wanted) == 0 ? strdup(given) : NULL;
  for (int of_library = 0; of_library < 2; of_library++) {
    char base[PATH], path[PATH + 128];
    if (!folder(base, of_library)) continue;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      snprintf(path, sizeof path, "%s%s/tilewright-%s", base, places[i], name);
      if (access(path, wanted) == 0) return strdup(path);
    }
  }
  return NULL;
}

/* ---- modules ---- */

static tw_status load(const tw_part *p, const tw_module **out, tw_error *error) {
  char file[64];
  snprintf(file, sizeof file, "%s.so", p->name);
  char *path = tw_program_path(file, p->variable);
  if (!path)
    return tw_fail(error, TW_MISSING, "%s is part of tilewright-%s, which is not installed; install tilewright again",
                   p->purpose, file);
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  tw_status status = TW_OK;
  *out = module ? dlsym(module, p->table) : NULL;
  if (!*out)
    status = tw_fail(error, TW_MISSING, "cannot load %s: %s; install tilewright again", path, dlerror());
  else if (strcmp((*out)->version, tw_version()) != 0)
    status = tw_fail(error, TW_MISSING, "%s is of version %s, and the command of %s; install tilewright again", path,
                     (*out)->version, tw_version());
  free(path);
  return status;
}

tw_status tw_module_open(const tw_part *p, const tw_module **out, tw_error *error) {
  *out = dlsym(RTLD_DEFAULT, p->table); /* tests have all parts */
  if (*out) return TW_OK;
  if (!dlsym(RTLD_DEFAULT, "tw_module_open"))
    return tw_fail(error, TW_UNSUPPORTED, "%s is part of the command and not of the library; run `tilewright`",
                   p->purpose);
  return load(p, out, error);
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
