/* Designs of C = A B, 64x64x64, int8 to int32, through the target as `tilewright run` takes them, and texts with one
 * part replaced, which must be refused in one line. */
#ifndef TW_TESTS_XDNA2_REFUSALS_H
#define TW_TESTS_XDNA2_REFUSALS_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/parse.h"
#include "tilewright/extend/target.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Builds, checks and measures `text`; the first failure. */
static tw_status run(const char *text, const char *const words[], size_t n_words, tw_error *error) {
  const tw_target *t = tw_target_find("xdna2");
  tw_problem p;
  tw_case k = {0};
  tw_artefact *a = NULL;
  tw_measurement m;
  *error = (tw_error){0};
  tw_status status = tw_problem_parse_words(NULL, "gemm", n_words, words, &p, error);
  if (status == TW_OK) status = tw_target_supports(t, &p, error);
  if (status == TW_OK) status = t->build(t, &p, text, strlen(text), &(tw_evaluation){0}, &a, error);
  if (status == TW_OK) status = tw_target_case(t, &p, 1, 1, &k, error);
  if (status == TW_OK) status = t->check(t, a, &k, &(tw_evaluation){0}, error);
  if (status == TW_OK) status = t->measure(t, a, &k, &(tw_evaluation){0}, &m, error);
  if (status == TW_OK) assert_true(m.cycles > 0);
  tw_case_free(&k);
  if (a) t->release(a);
  return status;
}

static const char *const square[] = {"m=64", "n=64", "k=64", "a=i8", "b=i8", "c=i32"};
static tw_status run_square(const char *text, tw_error *error) { return run(text, square, 6, error); }

/* The text with one part of it replaced. */
static char *replaced(const char *text, const char *part, const char *by) {
  const char *at = strstr(text, part);
  if (!at) fail_msg("there is no \"%s\" in the text", part);
  char *out = malloc(strlen(text) + strlen(by) + 1);
  memcpy(out, text, (size_t)(at - text));
  strcpy(out + (at - text), by);
  strcat(out, at + strlen(part));
  return out;
}

static int line_of(const char *text, const char *part) {
  int line = 1;
  const char *at = strstr(text, part);
  if (!at) fail_msg("there is no \"%s\" in the text", part);
  for (const char *c = text; c < at; c++) line += *c == '\n';
  return line;
}

typedef struct refusal {
  const char *part, *by;
  const char *message; /* a part of it */
  const char *where;   /* the first place of this text is in the line that is named; NULL: `by` is */
} refusal;

static void expect_refusal(const char *text, const refusal *r) {
  char *bad = replaced(text, r->part, r->by), line[32];
  tw_error error;
  if (run_square(bad, &error) != TW_FAILED) fail_msg("\"%s\" is taken (%s)", r->by, error.text);
  snprintf(line, sizeof line, "line %d: ", line_of(bad, r->where ? r->where : r->by));
  if (strncmp(error.text, line, strlen(line)) != 0 || !strstr(error.text, r->message) || strchr(error.text, '\n'))
    fail_msg("\"%s\" for \"%s\" should be refused in %s%s, not: %s", r->by, r->part, line, r->message, error.text);
  free(bad);
}

#endif
