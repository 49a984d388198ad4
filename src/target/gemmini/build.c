/* build.c - see build.h. The way of a source:
 *
 *   inspect (kernel_source)  ->  program text (harness)  ->  cache?  ->  compile  ->  check the assembly  ->  link
 *
 * Compiling untrusted text must not read or write the host's files. Headers other than the runtime's are refused
 * before the compiler sees them, directives of the assembler that read files (or hide that they do) after. */
#include "target/gemmini/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/files.h"
#include "target/gemmini/assembly.h"
#include "target/gemmini/harness.h"
#include "target/gemmini/toolchain.h"

static const char KIND[] = "gemmini-programs";

tw_status gm_build_available(const gm_config *config, tw_error *error) {
  gm_toolchain tools;
  tw_status status = gm_toolchain_open(config, &tools, error);
  gm_toolchain_close(&tools);
  return status;
}

/* Names of the harness end in this: a source that contained it would have to contain its own hash. */
static void tag_of(const char *source, size_t length, char tag[17]) {
  char text[TW_HASH_TEXT];
  tw_hash h;
  tw_hash_start(&h);
  tw_hash_add(&h, source, length);
  tw_hash_finish_text(&h, text);
  memcpy(tag, text, 16);
  tag[16] = '\0';
}

static void key_of(const gm_toolchain *tools, const char *program, const char *script, char key[TW_HASH_TEXT]) {
  tw_hash h;
  tw_hash_start(&h);
  tw_hash_add_string(&h, tools->identity);
  tw_hash_add_string(&h, program);
  tw_hash_add_string(&h, script);
  tw_hash_finish_text(&h, key);
}

/* The compiler speaks of gm_signature_<tag> where the user wrote `test`. */
static void say_the_users_name(tw_error *error, const char *name, const char *tag) {
  char made[64];
  snprintf(made, sizeof made, "gm_signature_%s", tag);
  for (char *at; (at = strstr(error->text, made));) {
    memcpy(at, name, strlen(name)); /* shorter than what it replaces */
    memmove(at + strlen(name), at + strlen(made), strlen(at + strlen(made)) + 1);
  }
}

static tw_status make(gm_toolchain *tools, const char *program, const char *script, const char *tag, char **elf,
                      size_t *size, tw_error *error) {
  char *directory = NULL, *assembly = NULL;
  size_t length = 0;
  tw_status status = gm_toolchain_prepare(tools, error);
  if (status == TW_OK) status = tw_directory_temporary(&directory, error);
  if (status == TW_OK) status = gm_compile(tools, directory, program, &assembly, &length, error);
  if (status == TW_OK) status = gm_assembly_check(assembly, length, tag, error);
  if (status == TW_OK) status = gm_link(tools, directory, script, elf, size, error);
  free(assembly);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}

tw_status gm_build(const gm_config *config, const tw_problem *problem, const char *source, size_t length, char **elf,
                   size_t *size, tw_error *error) {
  gm_entry entry;
  gm_toolchain tools = {0};
  char tag[17], key[TW_HASH_TEXT], *program = NULL, *script = NULL;
  tw_status status = gm_kernel_inspect(source, length, &entry, error);
  if (status != TW_OK) return status;
  tag_of(source, length, tag);
  status = gm_harness_program(problem, source, length, &entry, tag, &program, error);
  if (status == TW_OK) status = gm_harness_script(problem, &script, error);
  if (status == TW_OK) status = gm_toolchain_open(config, &tools, error);
  if (status == TW_OK) {
    key_of(&tools, program, script, key);
    if (!tw_cache_get(KIND, key, elf, size)) {
      status = make(&tools, program, script, tag, elf, size, error);
      if (status == TW_OK)
        tw_cache_put(KIND, key, *elf, *size);
      else if (error)
        say_the_users_name(error, entry.name, tag);
    }
  }
  gm_toolchain_close(&tools);
  free(program);
  free(script);
  return status;
}
