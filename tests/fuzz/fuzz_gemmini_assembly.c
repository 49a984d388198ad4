/* fuzz_gemmini_assembly.c - any bytes as assembly: refused, or free of the directives that read files. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/assembly.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line that is nothing but the directive and a name: the plainest way to read a file. */
static int reads_a_file(const char *text) {
  for (const char *line = text; *line;) {
    line += strspn(line, " \t");
    if (!strncmp(line, ".incbin \"", 9) || !strncmp(line, ".include \"", 10)) return 1;
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tw_error error = {0};
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  tw_status status = gm_assembly_check(text, size, "tag", &error);
  if (status == TW_OK && strlen(text) == size && reads_a_file(text)) abort();
  free(text);
  return 0;
}
