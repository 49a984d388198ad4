/* family.h - one structure of kernels of tiles, as data: which problems it takes, a plan that steps change, what is on its
 * menu, and its writer. A new structure is a file with such a table, and a line in the list of a target that has a model of
 * its speed.
 *
 *   schedule --steps--> plan --settle--> what follows from it, or why it cannot be
 *                        |  \--predict--> seconds (the target's model)
 *                        \-----write----> source
 *
 * A family without `plainest` has no kernel for the empty schedule: what is plainest is the target's. */
#ifndef TW_TILE_FAMILY_H
#define TW_TILE_FAMILY_H

#include "base/strings.h"
#include "tile/machine.h"
#include "tilewright/menu.h"
#include "tilewright/op.h"
#include "tilewright/verb.h"

/* What the functions of a language get. */
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
  /* Says why not. NULL: every problem of the op. */
  tw_status (*supports)(const tw_tile_machine *, const tw_problem *, tw_error *);
  void (*plainest)(const tw_tile_context *, void *plan); /* NULL: plans begin as zeros */
  /* Derives what steps left open; TW_USAGE and why if the machine or the problem has no such kernel. */
  tw_status (*settle)(const tw_tile_machine *, const tw_problem *, void *plan, tw_error *);
  void (*offers)(tw_menu_builder *, const tw_tile_context *); /* `now` is a plan that is not settled */
  /* The kernel with the launch that docs/reference/kernel-header.md describes. */
  tw_status (*write)(const tw_tile_machine *, const tw_problem *, const void *plan, tw_text *, tw_error *);
} tw_tile_family;

/* The cost of a settled plan. */
typedef double tw_tile_predictor(const void *with, const void *plan);

/* What the schedule means for the problem; TW_USAGE with the step that is illegal. */
tw_status tw_tile_plan_of(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                          void *plan, tw_error *);
tw_status tw_tile_predict(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                          tw_tile_predictor *, const void *with, double *cost, tw_error *);
/* Legal next steps, with lever and reason and what `predictor` says of the plan after each; none where the family does not
 * take the problem. */
tw_status tw_tile_steps(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                        tw_tile_predictor *, const void *with, tw_menu *, tw_error *);
/* `source` is malloc'ed. */
tw_status tw_tile_emit(const tw_tile_family *, const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                       char **source, tw_error *);

#endif
