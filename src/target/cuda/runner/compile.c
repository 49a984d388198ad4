/* compile.c - CUDA C++ to a cubin with NVRTC, which is loaded at run time. In a separate process: the source is
 * untrusted, and the compiler is a large program. Declarations follow nvrtc.h of CUDA 12 and 13. */
#define _GNU_SOURCE /* dlinfo */
#include "target/cuda/runner/runner.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct _nvrtcProgram *nvrtcProgram;
typedef struct nvrtc {
  int (*version)(int *major, int *minor);
  int (*create)(nvrtcProgram *, const char *source, const char *name, int headers, const char *const *header,
                const char *const *include_name);
  int (*compile)(nvrtcProgram, int options, const char *const *option);
  int (*log_size)(nvrtcProgram, size_t *);
  int (*log)(nvrtcProgram, char *);
  int (*cubin_size)(nvrtcProgram, size_t *);
  int (*cubin)(nvrtcProgram, char *);
} nvrtc;

enum { OPTIONS_MAX = 96, SOURCE_LIMIT = 16 << 20 };
enum { DONE, WRONG_SOURCE, NO_FILE, NO_COMPILER }; /* exit statuses */

/* In the loader's path, then where the toolkit is usually put. */
static void *look_for_library(char *path, size_t size) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  const char *const roots[] = {"", getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
  for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
    for (size_t i = 0; roots[r] && i < sizeof names / sizeof *names; i++) {
      snprintf(path, size, "%s%s%s", roots[r], *roots[r] ? "/lib64/" : "", names[i]);
      void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (library) return library;
    }
  return NULL;
}

static int open_compiler(nvrtc *n, void *library) {
  if (!library) return 0;
  *(void **)&n->version = dlsym(library, "nvrtcVersion");
  *(void **)&n->create = dlsym(library, "nvrtcCreateProgram");
  *(void **)&n->compile = dlsym(library, "nvrtcCompileProgram");
  *(void **)&n->log_size = dlsym(library, "nvrtcGetProgramLogSize");
  *(void **)&n->log = dlsym(library, "nvrtcGetProgramLog");
  *(void **)&n->cubin_size = dlsym(library, "nvrtcGetCUBINSize");
  *(void **)&n->cubin = dlsym(library, "nvrtcGetCUBIN");
  return n->version && n->create && n->compile && n->log_size && n->log && n->cubin_size && n->cubin;
}

/* NULL if it cannot be read. */
static char *read_source(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = calloc(SOURCE_LIMIT + 1, 1);
  if (text && fread(text, 1, SOURCE_LIMIT, file) == 0) text[0] = '\0';
  fclose(file);
  return text;
}

/* Without the lines that ptxas writes for each wgmma that it waits for (C7517, C7519): there can be thousands. */
static void print_log(const nvrtc *n, nvrtcProgram program) {
  size_t size = 0;
  char *log = n->log_size(program, &size) == 0 && size ? calloc(size + 1, 1) : NULL;
  if (log && n->log(program, log) == 0)
    for (char *rest = NULL, *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
      if (!strstr(line, "(C7517)") && !strstr(line, "(C7519)")) puts(line);
  free(log);
}

static int write_cubin(const nvrtc *n, nvrtcProgram program, const char *path) {
  size_t size = 0;
  if (n->cubin_size(program, &size) || !size) return WRONG_SOURCE;
  char *cubin = calloc(size, 1);
  FILE *file = cubin && n->cubin(program, cubin) == 0 ? fopen(path, "wb") : NULL;
  int status = file && fwrite(cubin, 1, size, file) == size ? DONE : NO_FILE;
  if (file && fclose(file)) status = NO_FILE;
  free(cubin);
  return status;
}

/* "NVRTC 13.0 /usr/local/cuda-13.0/lib64/libnvrtc.so.13.0.88" */
static int print_version(void) {
  nvrtc n = {0};
  char path[1024];
  struct link_map *map = NULL;
  int major = 0, minor = 0;
  void *library = look_for_library(path, sizeof path);
  if (!open_compiler(&n, library) || dlinfo(library, RTLD_DI_LINKMAP, &map) || !realpath(map->l_name, path))
    return NO_COMPILER;
  n.version(&major, &minor);
  printf("NVRTC %d.%d %s\n", major, minor, path);
  return DONE;
}

int cuda_compile(int argc, char **argv) {
  enum { LIBRARY, ARCHITECTURE, SOURCE, CUBIN, OPTIONS };
  nvrtc n = {0};
  nvrtcProgram program;
  char architecture[64];
  const char *option[OPTIONS_MAX + 1];
  int n_options = 0;
  if (argc == 1 && strcmp(argv[0], "version") == 0) return print_version();
  if (argc < OPTIONS || argc - OPTIONS > OPTIONS_MAX) return NO_FILE;
  if (!open_compiler(&n, dlopen(argv[LIBRARY], RTLD_NOW | RTLD_LOCAL))) {
    printf("error: %s cannot be loaded: %s\n", argv[LIBRARY], dlerror());
    return NO_COMPILER;
  }
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", argv[ARCHITECTURE]);
  option[n_options++] = architecture;
  for (int i = OPTIONS; i < argc; i++) option[n_options++] = argv[i];
  char *source = read_source(argv[SOURCE]);
  if (!source || n.create(&program, source, "kernel.cu", 0, NULL, NULL)) return NO_FILE;
  const int wrong = n.compile(program, n_options, option);
  print_log(&n, program);
  const int status = wrong ? WRONG_SOURCE : write_cubin(&n, program, argv[CUBIN]);
  free(source);
  return status;
}
