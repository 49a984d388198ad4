/* schedule.h - a schedule: an ordered list of steps, each a line of text: `tile m=128 n=64 k=64`.
 *
 * A step is a verb followed by arguments, separated by single blanks. The target defines verbs and arguments. A
 * schedule is only text, so it can be stored, printed, compared and replayed on another shape. The empty schedule is
 * the target's baseline. */
#ifndef TILEWRIGHT_SCHEDULE_H
#define TILEWRIGHT_SCHEDULE_H

#include <stddef.h>

#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_STEP_MAX = 160, TW_STEPS_MAX = 64 };

typedef struct tw_schedule { /* a plain value */
  size_t n;
  char step[TW_STEPS_MAX][TW_STEP_MAX];
} tw_schedule;

/* Appends one step; leading, trailing and double blanks are removed. */
TW_API tw_status tw_schedule_add(tw_schedule *, const char *step, tw_error *);
/* Parses lines; ignores empty lines and text after '#'. */
TW_API tw_status tw_schedule_parse(const char *text, tw_schedule *out, tw_error *);
/* Prints one step a line, each ended by a newline. Returns the length it needs, as snprintf does. */
TW_API size_t tw_schedule_print(const tw_schedule *, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
