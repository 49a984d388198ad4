/* fuzz_evaluate.c - any line as a trial and as an outcome: it is refused, or what it says is written and read as the
 * same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size);
  tw_read_trial trial, again;
  tw_outcome outcome, same;
  if (text && tw_trial_read(text, NULL, &trial, NULL) == TW_OK) {
    char *printed = tw_trial_print(&trial.trial);
    if (!printed || tw_trial_read(printed, NULL, &again, NULL) != TW_OK) abort();
    if (again.trial.length != trial.trial.length || memcmp(again.source, trial.source, trial.trial.length)) abort();
    free(printed);
    tw_read_trial_free(&trial);
    tw_read_trial_free(&again);
  }
  if (text && tw_outcome_read(text, &outcome, NULL) == TW_OK) {
    char *printed = tw_outcome_print(&outcome);
    if (!printed || tw_outcome_read(printed, &same, NULL) != TW_OK) abort();
    if (same.verdict != outcome.verdict || same.measured.n_counters != outcome.measured.n_counters) abort();
    free(printed);
  }
  free(text);
  return 0;
}
