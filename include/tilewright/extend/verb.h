/* verb.h - the grammar of schedule steps as tables: one row per verb, one cell per argument. Arguments set fields of a plan.
 *
 *   step     = verb { ' ' argument }       tile m=128 n=64 k=64
 *   argument = name '=' value | word       unroll 2 ikj
 *
 * Each machine lists its verbs once. The table gives the parser, its error messages and the comparison of two plans.
 * Arguments may come in any order, each at most once. Bare words are matched in the order of the table. Anything that the
 * table does not list is an error that names the word.
 *
 * Old names: the name of a verb or an argument may be followed by its old names, as in "cluster|team". A choice may be
 * followed by its old word, as in "direct_to_lds=direct|registers". Old names are parsed like current ones;
 * tw_step_rename replaces them. */
#ifndef TILEWRIGHT_EXTEND_VERB_H
#define TILEWRIGHT_EXTEND_VERB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/schedule.h"
#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The place of a value in a plan: an integer of 1 to 8 bytes (bool, enum, int, int64_t), or any type that `read` fills. */
typedef struct tw_field {
  /* In bytes. size 0: no field. */
  size_t at, size;
} tw_field;
#define TW_FIELD(plan, field)                                                                                          \
  { offsetof(plan, field), sizeof((plan *)0)->field }

/* One argument: a whole number in [least, most]; with `choices`, one of several words separated by '|', whose value is
 * `least` plus its index; with `read`, any text that `read` accepts. */
typedef struct tw_argument {
  /* The name before '='. "" for a bare word. NULL ends a verb's list. */
  const char *name;
  tw_field into;
  int64_t least, most;
  const char *choices;
  /* Parses `text` into the field (plan + into.at). Returns false if the text is not allowed. */
  bool (*read)(const void *context, const struct tw_argument *, const char *text, void *field);
} tw_argument;

/* Cells of a row. `plan` is the struct, `field` its member. `name_` is "" for a bare word. */
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

/* A verb without arguments; one with an old name. */
#define TW_FLAG(name_, help_, plan, field)                                                                             \
  .name = (name_), .usage = (name_), .help = (help_), .sets = TW_FIELD(plan, field)

#define TW_FLAG_RENAMED(name_, old_, help_, plan, field)                                                               \
  .name = name_ "|" old_, .usage = (name_), .help = (help_), .sets = TW_FIELD(plan, field)

/* A verb with one number, without a name. */
#define TW_NUMBERED(name_, usage_, help_, plan, field, least_, most_)                                                  \
  TW_VERB(name_, usage_, help_, 1, TW_NUMBER("", plan, field, least_, most_))

/* `context` belongs to the caller: machine, problem, or anything else that the functions need. */
typedef struct tw_verb {
  const char *name;
  /* An example: "tile m=128 n=64 k=64". */
  const char *usage;
  /* The smallest number of arguments. */
  int needs;
  tw_argument argument[TW_ARGUMENTS_MAX];
  /* A field that becomes 1 when the verb is used, even without arguments. */
  tw_field sets;
  /* Called before the arguments are read. May be NULL. */
  void (*first)(const void *context, void *plan);
  /* Called after the arguments are read. Bit i of `given` is set if argument[i] was given. On failure it returns one line
   * that continues the name of the step: "requires 'rows' before it". May be NULL. */
  tw_status (*then)(const void *context, void *plan, unsigned given, tw_error *);
  /* The effect of the step: one imperative sentence. The reference page of steps prints it. */
  const char *help;
  /* The menu offers the step with each of these arguments: "2, 4, 8" or "m=1, m=2, n=1". NULL: without arguments. */
  const char *offers;
  /* Why the menu offers the step. NULL: tw_menu_offer_language does not offer it. */
  const char *why;
} tw_verb;

typedef struct tw_language {
  /* Names the language in messages: "gemm on Gemmini". */
  const char *of;
  size_t n;
  const tw_verb *verb;
  /* A field that the first verb sets: while it is 0, all other steps require the first one before them. size 0: they do not. */
  tw_field begun;
} tw_language;

/* The columns of every language; `verbs_` is an array. */
#define TW_LANGUAGE(of_, verbs_) .of = (of_), .n = sizeof(verbs_) / sizeof *(verbs_), .verb = (verbs_)

/* Applies one step. Returns TW_USAGE with the step and the wrong word; the plan is undefined then. */
TW_API tw_status tw_step_apply(const tw_language *, const void *context, const char *step, void *plan, tw_error *);
/* Applies all steps. The plan must be `legal` before the first step and after each one. NULL: no check, because later
 * steps may repair a plan that one step alone would break. */
TW_API tw_status tw_steps_apply(const tw_language *, const void *context, const tw_schedule *, void *plan,
                                tw_status (*legal)(const void *context, const void *plan, tw_error *), tw_error *);
/* Replaces old names in a step by current ones and returns whether the step changed. `out` gets the resulting step.
 * An unknown step stays unchanged. */
TW_API bool tw_step_rename(const tw_language *, const char *step, char out[TW_STEP_MAX]);
/* Does the step begin with this verb, by its current name or an old one? */
TW_API bool tw_step_is(const tw_verb *, const char *step);
/* Are all fields of the table equal? */
TW_API bool tw_plan_same(const tw_language *, const void *plan, const void *other);
/* For `read`: true if the whole text is a decimal number in [least, most], without a sign. */
TW_API bool tw_read_number(const char *text, int64_t least, int64_t most, int64_t *out);
/* The index of `text` in a list of choices separated by '|'. */
TW_API bool tw_read_choice(const char *choices, const char *text, int64_t *out);

#ifdef __cplusplus
}
#endif
#endif
