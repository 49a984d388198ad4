/* fuzz_machine.c - any text as a machine file: refused with its place, or a machine that can be described. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright/extend/target.h"
#include "tilewright/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size);
  const tw_target *t = NULL;
  tw_error error = {0};
  if (!text) return 0;
  if (tw_machine_read(text, "fuzz@00000000", "fuzz", &t, &error) != TW_OK) {
    const char *made = strstr(error.text, "make it fuzz@");
    char name[14] = "";
    if (made) memcpy(name, made + strlen("make it "), sizeof name - 1);
    t = made ? tw_target_find(name) : NULL;
    if (!made && strncmp(error.text, "fuzz", 4) != 0 && error.status == TW_USAGE) abort();
  }
  char *words = t ? t->describe(t) : NULL;
  char *again = t ? tw_machine_text(t) : NULL;
  if (t && (!words || !again)) abort();
  free(words);
  free(again);
  free(text);
  return 0;
}
