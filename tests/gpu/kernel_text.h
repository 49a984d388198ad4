/* kernel_text.h - problems and schedules of GPU tests, as texts. */
#ifndef TW_TEST_KERNEL_TEXT_H
#define TW_TEST_KERNEL_TEXT_H

#include <stdio.h>
#include <string.h>

#include "test.h"
#include "tilewright/extend/extend.h"

/* "op key=value ..." */
static inline tw_problem problem_of(const char *text) {
  tw_problem p;
  tw_error error = {0};
  if (tw_problem_parse(NULL, text, &p, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  return p;
}

/* Steps with ';' between them. */
static inline tw_schedule schedule_of(const char *text) {
  char copy[300];
  tw_schedule s = {0};
  snprintf(copy, sizeof copy, "%s", text);
  for (char *w = strtok(copy, ";"); w; w = strtok(NULL, ";")) assert_int_equal(tw_schedule_add(&s, w, NULL), TW_OK);
  return s;
}

#endif
