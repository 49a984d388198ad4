/* build.c - see build.h. The way of a source:
 *
 *   inspect (kernel_source)  ->  program text (harness)  ->  cache?  ->  compile, confined  ->  check the object  ->  link
 *
 * Compiling untrusted text must not read or write the host's files: src/toolchain sees to it. */
#include "target/gemmini/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/files.h"
#include "target/gemmini/harness.h"
#include "target/gemmini/toolchain.h"

static const char KIND[] = "gemmini-programs";

tw_status gm_build_available(const gm_config *config, tw_error *error) {
  gm_toolchain tools;
  tw_status status = gm_toolchain_open(config, &tools, error);
  gm_toolchain_close(&tools);
  return status;
}

static void key_of(const gm_toolchain *tools, const char *program, const char *script, char key[TW_HASH_TEXT]) {
  tw_hash h;
  tw_hash_start(&h);
  tw_hash_add_string(&h, tools->identity);
  tw_hash_add_string(&h, program);
  tw_hash_add_string(&h, script);
  tw_hash_finish_text(&h, key);
}

static tw_status make(gm_toolchain *tools, const char *program, const char *script, bool trust, char **elf,
                      size_t *size, tw_error *error) {
  char *directory = NULL;
  tw_status status = gm_toolchain_prepare(tools, error);
  if (status == TW_OK) status = tw_directory_temporary(&directory, error);
  if (status == TW_OK) status = gm_compile(tools, directory, program, trust, error);
  if (status == TW_OK) status = gm_link(tools, directory, script, trust, elf, size, error);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}

/* In messages of the compiler, replaces gm_signature_ by the user's name `test`. */
static void say_the_users_name(tw_error *error, const char *name) {
  static const char made[] = "gm_signature_";
  for (char *at; (at = strstr(error->text, made));) {
    memcpy(at, name, strlen(name)); /* shorter than the replaced text */
    memmove(at + strlen(name), at + strlen(made), strlen(at + strlen(made)) + 1);
  }
}

tw_status gm_build(const gm_config *config, const tw_problem *problem, const char *source, size_t length, bool trust,
                   char **elf, size_t *size, tw_error *error) {
  gm_entry entry;
  gm_toolchain tools = {0};
  char key[TW_HASH_TEXT], *program = NULL, *script = NULL;
  tw_status status = gm_kernel_inspect(source, length, &entry, error);
  if (status != TW_OK) return status;
  status = gm_harness_program(problem, source, length, &entry, &program, error);
  if (status == TW_OK) status = gm_harness_script(problem, &script, error);
  if (status == TW_OK) status = gm_toolchain_open(config, &tools, error);
  if (status == TW_OK) {
    key_of(&tools, program, script, key);
    if (!tw_cache_get(KIND, key, elf, size)) {
      status = make(&tools, program, script, trust, elf, size, error);
      if (status == TW_OK)
        tw_cache_put(KIND, key, *elf, *size);
      else if (error)
        say_the_users_name(error, entry.name);
    }
  }
  gm_toolchain_close(&tools);
  free(program);
  free(script);
  return status;
}
