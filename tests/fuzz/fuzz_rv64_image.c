/* fuzz_rv64_image.c - any bytes as a program image: refused in one line, or loaded and run for a while. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/core/rv64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_one_line(const char *text) { return text[0] && !strchr(text, '\n'); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const rv64_ports no_ports = {0};
  static const rv64_options options = {.max_instructions = 2000};
  rv64_memory memory;
  rv64_result result;
  tw_error error = {0};
  if (rv64_memory_load(data, size, "image", &memory, &error)) {
    if (!is_one_line(error.text)) abort();
    return 0;
  }
  if (rv64_run(&memory, &no_ports, &options, &result, &error) == TW_OK && result.stop != RV64_EXITED &&
      !is_one_line(result.why))
    abort();
  rv64_memory_free(&memory);
  return 0;
}
