/* verdict.c - the table of verdicts. */
#include "evaluate/verdict.h"

#include <string.h>

static const struct {
  const char *name;
  bool is_final, has_cost, is_failure;
} verdicts[TW_VERDICT_COUNT] = {
    [TW_PENDING] = {"pending", false, false, false},
    [TW_CORRECT] = {"correct", true, true, false},
    [TW_ILLEGAL] = {"illegal schedule", false, false, false},
    [TW_NO_KERNEL] = {"no kernel", false, false, true},
    [TW_UNBUILDABLE] = {"does not build", true, false, true},
    [TW_WRONG] = {"wrong", true, false, true},
    [TW_UNMEASURED] = {"not measurable", true, false, true},
    [TW_UNCONFIRMED] = {"wrong on fresh inputs", true, true, true},
    [TW_IMPOSSIBLE] = {"faster than the machine can be", true, false, true},
    [TW_SLOWER] = {"slower, not checked", false, true, false},
    [TW_UNAVAILABLE] = {"not evaluated", false, false, false},
    [TW_DUPLICATE] = {"duplicate", false, false, false},
    [TW_SKIPPED] = {"skipped", false, false, false},
};

const char *tw_verdict_name(tw_verdict verdict) {
  return (unsigned)verdict < TW_VERDICT_COUNT ? verdicts[verdict].name : "?";
}

bool tw_verdict_parse(const char *name, tw_verdict *out) {
  for (int i = 0; i < TW_VERDICT_COUNT; i++)
    if (!strcmp(name, verdicts[i].name)) {
      *out = (tw_verdict)i;
      return true;
    }
  return false;
}

bool tw_verdict_is_final(tw_verdict verdict) { return verdicts[verdict].is_final; }
bool tw_verdict_has_cost(tw_verdict verdict) { return verdicts[verdict].has_cost; }
bool tw_verdict_is_failure(tw_verdict verdict) { return verdicts[verdict].is_failure; }
