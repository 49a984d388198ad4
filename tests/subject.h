/* subject.h - the problem and the schedule of a test, from their texts. An invalid text fails the test. */
#ifndef TW_TEST_SUBJECT_H
#define TW_TEST_SUBJECT_H

#include "test.h"

#include <stdarg.h>
#include <stdio.h>

#include "tilewright/extend/target.h"

/* "OP KEY=VALUE ...", supported by the target; NULL: no target. */
static inline __attribute__((format(printf, 2, 3))) tw_problem problem_from(const tw_target *t, const char *format,
                                                                            ...) {
  char text[600];
  va_list arguments;
  tw_problem p;
  tw_error error = {0};
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (tw_problem_parse(t, text, &p, &error) != TW_OK || (t && tw_target_supports(t, &p, &error) != TW_OK))
    fail_msg("%s: %s", text, error.text);
  return p;
}

static inline tw_schedule schedule_from(const char *text) {
  tw_schedule s;
  tw_error error = {0};
  if (tw_schedule_parse(text, &s, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  return s;
}

#endif
