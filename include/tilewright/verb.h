/* verb.h - what steps mean, as tables: a verb a row, an argument a cell, a plan a struct whose fields they set.
 *
 *   step  = verb { ' ' argument }          tile m=128 n=64 k=64
 *   argument = name '=' value | word       unroll 2 ikj
 *
 * A machine writes down its verbs once: from the table come the parser, its messages, and the comparison of two plans. An
 * argument may come in any order, and once; bare words come in the order of the table. What the table does not list is
 * refused with one line that names the word. */
#ifndef TILEWRIGHT_VERB_H
#define TILEWRIGHT_VERB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/schedule.h"
#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Where a value lies in a plan: an integer of 1 to 8 bytes (bool, enum, int, int64_t), or whatever `read` makes there. */
typedef struct tw_field {
  size_t at, size; /* size 0: nowhere */
} tw_field;
#define TW_FIELD(plan, field)                                                                                          \
  { offsetof(plan, field), sizeof((plan *)0)->field }

/* One argument: a whole number in [least, most]; or, with `choices`, one of its words, '|' between them, whose value is
 * `least` + its index; or, with `read`, what that understands. */
typedef struct tw_argument {
  const char *name; /* of name=value; "" of a bare word; NULL ends a verb's list */
  tw_field into;
  int64_t least, most;
  const char *choices;
  /* Sets the field (plan + into.at) to what `text` says; false if it says nothing that is allowed. */
  bool (*read)(const void *context, const struct tw_argument *, const char *text, void *field);
} tw_argument;

/* Cells: {.name, .into, ...} in a word. `plan` is the struct, `field` its member; `name_` is "" for a bare word. */
#define TW_NUMBER(name_, plan, field, least_, most_)                                                                   \
  { .name = (name_), .into = TW_FIELD(plan, field), .least = (least_), .most = (most_) }
#define TW_CHOICE(name_, plan, field, least_, choices_)                                                                \
  { .name = (name_), .into = TW_FIELD(plan, field), .least = (least_), .choices = (choices_) }
#define TW_READ(name_, plan, field, read_)                                                                             \
  { .name = (name_), .into = TW_FIELD(plan, field), .read = (read_) }

enum { TW_ARGUMENTS_MAX = 10 };

/* The columns of nearly every row; the cells of arguments follow `needs_`. */
#define TW_VERB(name_, usage_, help_, needs_, ...)                                                                     \
  .name = (name_), .usage = (usage_), .help = (help_), .needs = (needs_), .argument = {__VA_ARGS__}

/* A verb without arguments. */
#define TW_FLAG(name_, help_, plan, field)                                                                             \
  .name = (name_), .usage = (name_), .help = (help_), .sets = TW_FIELD(plan, field)

/* `context` is the caller's: machine, problem, whatever its functions ask. */
typedef struct tw_verb {
  const char *name;
  const char *usage; /* how to write it: "tile m=128 n=64 k=64" */
  int needs;         /* least number of arguments */
  tw_argument argument[TW_ARGUMENTS_MAX];
  tw_field sets;                                  /* becomes 1: what the verb says without any argument */
  void (*first)(const void *context, void *plan); /* before its arguments are read; may be NULL */
  /* Behind its arguments; bit i of `given` is set if argument[i] was. On failure one line that fits behind the name of
   * the step: "needs 'rows' before it". May be NULL. */
  tw_status (*then)(const void *context, void *plan, unsigned given, tw_error *);
  /* What the step does: one imperative sentence. The reference page of steps prints it. */
  const char *help;
} tw_verb;

typedef struct tw_language {
  const char *of; /* whose: "gemm on Gemmini" */
  size_t n;
  const tw_verb *verb;
} tw_language;

/* Applies one step; TW_USAGE with the step and the word that is wrong in it, the plan then is of no use. */
tw_status tw_step_apply(const tw_language *, const void *context, const char *step, void *plan, tw_error *);
/* Applies all steps. After each, and before the first, the plan must be `legal` (NULL: steps that follow may mend what
 * one alone would break). */
tw_status tw_steps_apply(const tw_language *, const void *context, const tw_schedule *, void *plan,
                         tw_status (*legal)(const void *context, const void *plan, tw_error *), tw_error *);
/* Are all fields of the table equal? */
bool tw_plan_same(const tw_language *, const void *plan, const void *other);
/* For `read`: the whole text is a decimal number in [least, most], without a sign. */
bool tw_read_number(const char *text, int64_t least, int64_t most, int64_t *out);
/* The index of `text` among the choices, '|' between them. */
bool tw_read_choice(const char *choices, const char *text, int64_t *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
