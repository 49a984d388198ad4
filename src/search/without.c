/* without.c - parts of a search that can be switched off, for experiments that measure their effect. */
#include <string.h>

#include "search/state.h"

static const struct part {
  const char *name;
  uint64_t bit;
  bool of_rules, of_models; /* the agents whose proposals it changes */
} parts[] = {
    {"menu", TW_WITHOUT_MENU, false, true},         {"isa", TW_WITHOUT_ISA, false, true},
    {"feedback", TW_WITHOUT_FEEDBACK, true, true},  {"model", TW_WITHOUT_MODEL, true, false},
    {"examples", TW_WITHOUT_EXAMPLES, false, true},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static tw_status parse_one(const char *name, size_t length, uint64_t *out, tw_error *error) {
  for (size_t i = 0; i < N_PARTS; i++)
    if (strlen(parts[i].name) == length && !strncmp(parts[i].name, name, length)) {
      *out |= parts[i].bit;
      return TW_OK;
    }
  return tw_fail(error, TW_USAGE, "unknown part '%.*s'; expected menu, isa, feedback, model or examples",
                 (int)(length < 80 ? length : 80), name);
}

tw_status tw_without_parse(const char *names, uint64_t *out, tw_error *error) {
  tw_status status = TW_OK;
  *out = 0;
  for (const char *at = names; status == TW_OK;) {
    const size_t n = strcspn(at, ",");
    status = parse_one(at, n, out, error);
    if (!at[n]) break;
    at += n + 1;
  }
  return status;
}

tw_status tw_without_check(uint64_t without, size_t n, const tw_member member[], tw_error *error) {
  bool rules = false, models = false;
  for (size_t i = 0; i < n; i++) {
    rules |= !strcmp(member[i].agent->name, "rules");
    models |= member[i].agent->asks_models;
  }
  for (size_t i = 0; i < N_PARTS; i++) {
    const struct part *p = &parts[i];
    if (without & p->bit && !(rules && p->of_rules) && !(models && p->of_models))
      return tw_fail(error, TW_USAGE, "without %s changes nothing for the given agents; it requires %s", p->name,
                     p->of_rules && p->of_models ? "rules, llm:MODEL or exec:COMMAND"
                     : p->of_rules               ? "the agent rules"
                                                 : "llm:MODEL or exec:COMMAND");
    without &= ~p->bit;
  }
  return without ? tw_fail(error, TW_USAGE, "tw_search_options.without has unknown bits") : TW_OK;
}
