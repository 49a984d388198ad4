/* fuzz_schedule.c - any text: a schedule that is taken prints to text that parses to the same schedule. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tw_schedule schedule, again;
  static char text[TW_STEPS_MAX * TW_STEP_MAX + 1], printed[sizeof text];
  tw_error error;
  if (size >= sizeof text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (tw_schedule_parse(text, &schedule, &error) != TW_OK) return 0;
  if (tw_schedule_print(&schedule, printed, sizeof printed) >= sizeof printed) abort();
  if (tw_schedule_parse(printed, &again, &error) != TW_OK) abort();
  if (again.n != schedule.n) abort();
  for (size_t i = 0; i < again.n; i++) {
    if (strcmp(again.step[i], schedule.step[i]) != 0) abort();
  }
  return 0;
}
