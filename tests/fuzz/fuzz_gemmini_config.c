/* fuzz_gemmini_config.c - any text as a configuration: refused, or one whose derived sizes make sense. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size);
  gm_config config;
  tw_error error;
  if (!text) return 0;
  if (gm_config_parse(text, "fuzz", &config, &error) == TW_OK) {
    if (gm_spad_rows(&config) < 1 || gm_acc_rows(&config) < 1) abort();
    if (gm_spad_bank_rows(&config) < 1 || gm_acc_bank_rows(&config) < 1) abort();
  }
  free(text);
  return 0;
}
