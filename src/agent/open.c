/* open.c - the kinds of agents, and how a user names them. */
#include <string.h>

#include "agent/agent.h"
#include "base/strings.h"

/* `text` is the user's text after the share, including the kind. */
static const struct {
  const char *kind; /* the text itself or, if that ends in ':', how it begins */
  tw_status (*open)(const char *text, const tw_target *, const tw_model_options *, tw_agent **, tw_error *);
} kinds[] = {
    {"rules", tw_rules_open},
    {"random", tw_rules_open},
    {"llm:", tw_llm_open},
    {"exec:", tw_llm_open},
};
static const char KNOWN[] = "rules, random, llm:MODEL, llm:MODEL@URL, exec:'COMMAND'";

static bool is_kind(const char *text, const char *kind) {
  const size_t n = strlen(kind);
  return kind[n - 1] == ':' ? !strncmp(text, kind, n) && text[n] : !strcmp(text, kind);
}

/* "3*rules": digits and a point before the first '*'. */
static const char *take_share(const char *text, double *share) {
  const size_t n = strspn(text, "0123456789.");
  char number[32];
  *share = 1;
  if (n == 0 || n >= sizeof number || text[n] != '*') return text;
  memcpy(number, text, n);
  number[n] = '\0';
  return tw_parse_real(number, share) && *share > 0 ? text + n + 1 : text;
}

tw_status tw_agent_open(const char *text, const tw_target *t, const tw_model_options *o, tw_member *out,
                        tw_error *error) {
  const char *name = take_share(text, &out->share);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (is_kind(name, kinds[i].kind)) return kinds[i].open(name, t, o, &out->agent, error);
  return tw_fail(error, TW_USAGE, "unknown agent '%s'; expected %s, or a share such as 2*rules", text, KNOWN);
}
