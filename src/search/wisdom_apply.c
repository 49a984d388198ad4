/* wisdom_apply.c - what wisdom knows goes to the libraries of targets that have one. */
#include <stdio.h>
#include <string.h>

#include "tilewright/target.h"
#include "tilewright/wisdom.h"

/* "gemm m=512 n=512" into a problem with all types, if this program knows it and the target takes it. */
static bool parse(const tw_target *t, const char *text, tw_problem *out) {
  char copy[sizeof((tw_wisdom_entry *)0)->problem], *rest = NULL;
  const char *word[TW_KEYS_MAX];
  size_t n = 0;
  snprintf(copy, sizeof copy, "%s", text);
  const char *op = strtok_r(copy, " ", &rest);
  for (char *w; op && n < TW_KEYS_MAX && (w = strtok_r(NULL, " ", &rest));) word[n++] = w;
  return op && tw_problem_parse(op, n, word, out, NULL) == TW_OK && t->supports(t, out, NULL) == TW_OK;
}

tw_status tw_wisdom_apply(const char *path, size_t *applied, tw_error *error) {
  tw_wisdom wisdom;
  size_t n = 0;
  const tw_status status = tw_wisdom_load(path, &wisdom, error);
  for (size_t i = 0; status == TW_OK && i < wisdom.n; i++) {
    const tw_wisdom_entry *e = &wisdom.entry[i];
    const tw_target *t = tw_target_find(e->target);
    tw_problem problem;
    if (t && t->learn && parse(t, e->problem, &problem)) n += t->learn(t, &problem, &e->schedule, NULL) == TW_OK;
  }
  tw_wisdom_free(&wisdom);
  if (applied) *applied = n;
  return status;
}
