/* fuzz_gemmini_source.c - any bytes as a kernel's source: refused with a message, or an entry point with names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/kernel_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gm_entry entry;
  tw_error error = {0};
  char *text = malloc(size + 1); /* not ended by '\0': a read past its end shows */
  if (!text) return 0;
  memcpy(text, data, size);
  if (gm_kernel_inspect(text, size, &entry, &error) == TW_OK) {
    if (strcmp(entry.name, "test") != 0 && strcmp(entry.name, "solution") != 0) abort();
    for (size_t i = 0; entry.pasted && i < entry.n_parameters && i < TW_OPERANDS_MAX; i++)
      if (entry.parameter[i][0] == '\0') abort();
  } else if (error.text[0] == '\0') {
    abort();
  }
  free(text);
  return 0;
}
