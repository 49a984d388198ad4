/* schedule.c - the text of a schedule: steps in, steps out.
 *
 * A step is kept in one normal form (single blanks, none at the ends), so that equal schedules are equal bytes
 * and can be compared and hashed as text. */
#include "tilewright/schedule.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Copies text[0..length) without blanks at the ends, and with single blanks between words. Returns the required
 * length. */
static size_t normalize(const char *text, size_t length, char out[TW_STEP_MAX]) {
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    char c = is_blank(text[i]) ? ' ' : text[i];
    bool next_is_end = i + 1 == length || is_blank(text[i + 1]);
    if (c == ' ' && (used == 0 || next_is_end)) continue;
    if (used < TW_STEP_MAX) out[used] = c;
    used++;
  }
  out[used < TW_STEP_MAX ? used : TW_STEP_MAX - 1] = '\0';
  return used;
}

static tw_status add(tw_schedule *schedule, const char *text, size_t length, tw_error *error) {
  char step[TW_STEP_MAX];
  size_t used = normalize(text, length, step);
  if (used == 0)
    return tw_fail(error, TW_USAGE,
                   "a step of a schedule is empty; write a verb and its arguments, as in 'tile m=128'");
  if (used >= TW_STEP_MAX)
    return tw_fail(error, TW_USAGE, "the step '%.40s...' is longer than %d characters", step, TW_STEP_MAX - 1);
  for (size_t i = 0; i < used; i++)
    if ((unsigned char)step[i] < ' ' || step[i] == 0x7f || step[i] == '#')
      return tw_fail(error, TW_USAGE, "a step is one line of plain text without '#'; character %zu is not allowed",
                     i + 1);
  if (schedule->n >= TW_STEPS_MAX)
    return tw_fail(error, TW_USAGE, "a schedule has at most %d steps; '%s' exceeds them", TW_STEPS_MAX, step);
  memcpy(schedule->step[schedule->n++], step, used + 1);
  return TW_OK;
}

tw_status tw_schedule_add(tw_schedule *schedule, const char *step, tw_error *error) {
  return add(schedule, step, strlen(step), error);
}

/* A verb is a name. The first word of a file of another kind (a program, JSON, bytes) usually is not one. */
static bool begins_with_verb(const char *step) {
  const size_t length = strcspn(step, " ");
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)step[i]) && step[i] != '_' && step[i] != '-') return false;
  return isalpha((unsigned char)step[0]);
}

tw_status tw_schedule_parse(const char *text, tw_schedule *out, tw_error *error) {
  out->n = 0;
  for (int line = 1; *text; line++) {
    size_t length = strcspn(text, "\n");
    size_t code = strcspn(text, "#\n");
    char step[TW_STEP_MAX] = "";
    tw_error why;
    tw_status status = TW_OK;
    const bool is_blank_line = normalize(text, code, step) == 0;
    if (!is_blank_line && !begins_with_verb(step))
      status =
          tw_fail(&why, TW_USAGE, "expected a step that begins with a verb, as in 'tile m=128' (got '%.24s')", step);
    else if (!is_blank_line)
      status = add(out, text, code, &why);
    if (status != TW_OK) {
      out->n = 0;
      return tw_fail(error, TW_USAGE, "line %d of the schedule: %s", line, why.text);
    }
    text += length + (text[length] == '\n');
  }
  return TW_OK;
}

size_t tw_schedule_print(const tw_schedule *schedule, char *buffer, size_t size) {
  size_t needed = 0;
  if (size > 0) buffer[0] = '\0';
  for (size_t i = 0; i < schedule->n; i++) {
    bool room = needed < size;
    needed += (size_t)snprintf(room ? buffer + needed : NULL, room ? size - needed : 0, "%s\n", schedule->step[i]);
  }
  return needed;
}
