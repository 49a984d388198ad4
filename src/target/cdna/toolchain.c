/* toolchain.c - see toolchain.h. */
#include "target/cdna/toolchain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "toolchain/toolchain.h"

#define CACHE "cdna"

enum { DEFINES_MAX = TW_LAUNCH_LETS };

static const tw_toolchain_kind kind = {.title = "the compiler for AMD GPUs",
                                       .remedy = "apt-get install clang-22 lld-22",
                                       .program = {"clang-22", "ld.lld-22"},
                                       .driver = true,
                                       .read = (const char *const[]){"/usr/lib/llvm-22", NULL}};
static const char options[] = "-O3 -nogpulib -ffreestanding -g1 4"; /* for the key: change it with what is below */

tw_status cdna_toolchain_find(tw_error *error) {
  tw_toolchain tools;
  return tw_toolchain_open(&kind, &tools, error);
}

/* Assembly says which GPU or kernel it is for. */
static bool is_assembly(const char *source) {
  return strstr(source, ".amdgcn_target") || strstr(source, ".amdhsa_kernel");
}

/* A kernel of tiles: C++, with the vocabulary's headers beside it. */
#define RUNTIME "cdna/runtime/"
static bool is_tiles(const char *source) { return strstr(source, "#include \"tile.hpp\"") != NULL; }

static tw_status write_headers(const char *directory, tw_error *error) {
  tw_status status = TW_OK;
  const tw_embedded *e;
  for (size_t i = 0; status == TW_OK && (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, RUNTIME, strlen(RUNTIME)) == 0)
      status = tw_tool_write(directory, e->name + strlen(RUNTIME), e->data, e->size, error);
  return status;
}

static tw_status compile_in(const tw_toolchain *tools, const char *directory, cdna_arch arch, const char *source,
                            size_t length, bool trust, char define[][64], int n_defines, char **object, size_t *size,
                            tw_error *error) {
  const bool assembly = is_assembly(source), tiles = !assembly && is_tiles(source);
  const char *argv[32 + DEFINES_MAX], *name = assembly ? "kernel.s" : tiles ? "kernel.cpp" : "kernel.c";
  int n = 0;
  argv[n++] = "";
  argv[n++] = "--target=amdgcn-amd-amdhsa";
  argv[n++] = arch == CDNA3 ? "-mcpu=gfx942" : "-mcpu=gfx950";
  argv[n++] = "-nogpulib";
  argv[n++] = "-g1";
  if (!assembly) {
    static const char *const c[] = {"-O3", "-ffreestanding", "-nostdinc", "-ffp-contract=fast"};
    argv[n++] = tiles ? "-std=gnu++17" : "-std=gnu17";
    if (tiles) argv[n++] = "-I.";
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) argv[n++] = c[i];
  }
  for (int i = 0; i < n_defines; i++) argv[n++] = define[i];
  argv[n++] = name;
  argv[n++] = "-o";
  argv[n++] = "kernel.co";
  argv[n] = NULL;
  const tw_tool_run run = {
      .argv = argv, .directory = directory, .what = "compiling the kernel", .trust = trust, .memory = (size_t)8 << 30};
  tw_status status = tw_tool_write(directory, name, source, length, error);
  if (status == TW_OK && tiles) status = write_headers(directory, error);
  if (status == TW_OK) status = tw_tool_run_confined(tools, &run, error);
  if (status == TW_OK) status = tw_tool_read(directory, "kernel.co", object, size, error);
  return status;
}

tw_status cdna_compile(cdna_arch arch, const char *source, size_t length, bool trust, const tw_launch *launch,
                       char **object, size_t *size, tw_error *error) {
  char define[DEFINES_MAX][64], key[TW_HASH_TEXT], *directory = NULL;
  int n = 0;
  tw_hash h;
  tw_toolchain tools;
  tw_status status = tw_toolchain_open(&kind, &tools, error);
  if (status != TW_OK) return status;
  tw_hash_start(&h);
  tw_hash_add_string(&h, tools.identity);
  tw_hash_add_string(&h, options);
  tw_hash_add_string(&h, arch == CDNA3 ? "gfx942" : "gfx950");
  tw_hash_add(&h, source, length);
  const tw_embedded *e;
  for (size_t i = 0; is_tiles(source) && (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, RUNTIME, strlen(RUNTIME)) == 0) tw_hash_add(&h, e->data, e->size);
  for (size_t i = 0; launch && i < launch->n_lets; i++, n++) {
    snprintf(define[n], sizeof define[n], "-D%s=%" PRId64, launch->let[i].name, launch->let[i].value);
    tw_hash_add_string(&h, define[n]);
  }
  tw_hash_finish_text(&h, key);
  if (tw_cache_get(CACHE, key, object, size)) return TW_OK;
  status = tw_directory_temporary(&directory, error);
  if (status == TW_OK)
    status = compile_in(&tools, directory, arch, source, length, trust, define, n, object, size, error);
  if (status == TW_OK) tw_cache_put(CACHE, key, *object, *size);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}
