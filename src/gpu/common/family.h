/* family.h - one structure of tile kernels, as data: the problems that it supports, the plan that its steps change, its menu
 * and its writer. A new structure is a file with such a table and a line in the list of a target, beside its cost model.
 *
 *   schedule --steps--> plan --settle--> a complete plan, or an error that says why it is illegal
 *                        |  \--predict--> seconds (the target's model)
 *                        \-----slots----> kernel, a template -----> source
 *
 * A plain option of a plan is a field, a row of the language with its place in the menu, and a slot in the template. A
 * rule of the option is a line of `settle`.
 *
 * Without `plainest`, the empty schedule is the target's plain kernel. */
#ifndef TW_TILE_FAMILY_H
#define TW_TILE_FAMILY_H

#include "base/template.h"
#include "gpu/common/machine.h"
#include "tilewright/extend/menu.h"
#include "tilewright/extend/op.h"
#include "tilewright/extend/verb.h"

/* The argument of the functions of a language. */
typedef struct tw_tile_context {
  const tw_tile_machine *machine;
  const tw_problem *problem;
} tw_tile_context;

enum { TW_TILE_PLAN_MAX = 192 };
typedef union tw_tile_any_plan {
  long long alignment;
  char bytes[TW_TILE_PLAN_MAX];
} tw_tile_any_plan;

typedef struct tw_tile_family {
  const tw_language *language;
  size_t plan_size; /* TW_TILE_PLAN_MAX at most */
  /* TW_USAGE with the reason if the problem is unsupported. NULL: every problem of the op is supported. */
  tw_status (*supports)(const tw_tile_machine *, const tw_problem *, tw_error *);
  void (*plainest)(const tw_tile_context *, void *plan); /* NULL: a plan begins with zeros */
  /* Derives the fields that the steps left open. TW_USAGE with the reason if the plan is illegal here. */
  tw_status (*settle)(const tw_tile_machine *, const tw_problem *, void *plan, tw_error *);
  /* Offers what the rows of the language do not: steps that depend on the problem or on `now`, a plan before `settle`.
   * May be NULL. */
  void (*offers)(tw_menu_builder *, const tw_tile_context *);
  /* The template of the kernel with the launch that docs/reference/kernel-header.md describes, and the slots that
   * tw_tile_fill does not set. */
  const char *kernel;
  void (*slots)(const tw_tile_machine *, const tw_problem *, const void *plan, tw_slots *);
  /* Writes the kernel where a template and slots do not suffice; NULL: they do. */
  tw_status (*write)(const tw_tile_machine *, const tw_problem *, const void *plan, tw_text *, tw_error *);
} tw_tile_family;

/* Fills a kernel, and frees the slots. Where `slots` has no slot of the name, these exist, too:
 *   header, warp_header, warp, group_threads, group_rows, chips    of the machine
 *   an argument of the family's steps, by its name in a schedule:
 *     `tile m=128 n=64`     m, n          numbers of the first verb
 *     `cluster m=2`         cluster_m     numbers of other verbs
 *     `stages 4`            stages        a number without a name
 *     `stream_k`            stream_k      for sections
 *     `copy registers`      registers     for sections: each word of a choice
 * A number is empty if it is 0. */
tw_status tw_tile_fill(const tw_tile_family *, const tw_tile_machine *, const void *plan, const char *kernel,
                       tw_slots *slots, tw_text *, tw_error *);

/* The cost of a settled plan. */
typedef double tw_tile_predictor(const void *with, const void *plan);

/* The complete plan of a schedule; TW_USAGE with the illegal step. */
tw_status tw_tile_plan_of(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                          void *plan, tw_error *);
tw_status tw_tile_predict(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                          tw_tile_predictor *predictor, const void *with, double *cost, tw_error *);
/* The legal next steps, each with lever, reason and the predicted cost after it. Empty where the problem is
 * unsupported. */
tw_status tw_tile_steps(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                        tw_tile_predictor *, const void *with, tw_menu *, tw_error *);
/* The kernel of a settled plan. */
tw_status tw_tile_write(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const void *plan,
                        tw_text *, tw_error *);
/* `source` is malloc'ed. */
tw_status tw_tile_emit(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                       char **source, tw_error *);

#endif
