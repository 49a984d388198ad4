/* rv64_program.h - builds small programs for the simulated core with the RISC-V compiler, at test time. */
#ifndef TW_TEST_RV64_PROGRAM_H
#define TW_TEST_RV64_PROGRAM_H

#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/process.h"
#include "target/gemmini/core/rv64.h"

#define RV64_DATA TW_TEST_DATA "/rv64"

/* Compiles sources (paths, then options, ended by NULL) with the tests' start-up code and linker script into
 * *elf (malloc'ed). */
static inline void rv64_compile(const char *const *arguments, char **elf, size_t *size) {
  char *directory, *path;
  tw_error error;
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  path = tw_path_join(directory, "program.elf");
  const char *argv[64] = {"riscv64-unknown-elf-gcc",
                          "-g",
                          "-O2",
                          "-ffreestanding",
                          "-fno-common",
                          "-march=rv64gc",
                          "-mabi=lp64d",
                          "-mcmodel=medany",
                          "-nostdlib",
                          "-nostartfiles",
                          "-Wl,--no-warn-rwx-segments",
                          "-T",
                          RV64_DATA "/program.ld",
                          "-o",
                          path};
  size_t n = 0;
  while (argv[n]) n++;
  for (size_t i = 0; arguments[i]; i++) argv[n++] = arguments[i];
  argv[n++] = "-lgcc";
  tw_process_options options = {.argv = argv};
  tw_process_result result;
  if (tw_process_run(&options, &result, &error)) fail_msg("%s", error.text);
  if (result.exit_status) fail_msg("the test program does not compile:\n%s", result.output);
  tw_process_result_free(&result);
  if (tw_file_read(path, 1 << 26, elf, size, &error)) fail_msg("%s", error.text);
  tw_directory_remove(directory);
  free(directory);
  free(path);
}

/* Compiles and loads source text: kind is "c" or "S"; the file is called program.c or program.S. */
static inline void rv64_build_text(const char *kind, const char *text, const char *option, rv64_memory *memory) {
  char *directory, *elf, name[16];
  size_t size;
  tw_error error;
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  snprintf(name, sizeof name, "program.%s", kind);
  char *path = tw_path_join(directory, name);
  if (tw_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
  const char *const arguments[] = {RV64_DATA "/crt0.S", path, option, NULL};
  rv64_compile(arguments, &elf, &size);
  if (rv64_memory_load(elf, size, "program.elf", memory, &error)) fail_msg("%s", error.text);
  tw_directory_remove(directory);
  free(elf);
  free(path);
  free(directory);
}

static inline void rv64_build_file(const char *name, const char *option, rv64_memory *memory) {
  char path[512], *elf;
  size_t size;
  tw_error error;
  snprintf(path, sizeof path, "%s/%s", RV64_DATA, name);
  const char *const arguments[] = {RV64_DATA "/crt0.S", path, option, NULL};
  rv64_compile(arguments, &elf, &size);
  if (rv64_memory_load(elf, size, name, memory, &error)) fail_msg("%s", error.text);
  free(elf);
}

/* Runs; a program that does not end by itself fails the test. */
static inline rv64_result rv64_run_well(const rv64_memory *memory, const rv64_ports *ports) {
  static const rv64_ports none = {0};
  rv64_options options = {.max_cycles = 200000000};
  rv64_result result;
  tw_error error;
  if (rv64_run(memory, ports ? ports : &none, &options, &result, &error)) fail_msg("%s", error.text);
  if (result.stop != RV64_EXITED) fail_msg("stopped: %s", result.why);
  return result;
}

#endif
