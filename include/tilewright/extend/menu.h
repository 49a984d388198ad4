/* menu.h - how a target builds the menu of a schedule: its legal next steps. ../target.h has the menu itself.
 *
 * A target offers steps as text, in tables and loops. A step stays on the menu if its language (verb.h) accepts it,
 * if it changes the plan, and if the target's model predicts a cost for the new kernel. */
#ifndef TILEWRIGHT_EXTEND_MENU_H
#define TILEWRIGHT_EXTEND_MENU_H

#include "tilewright/extend/verb.h"
#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fill the first block, offer, finish. */
typedef struct tw_menu_builder {
  const tw_language *language;
  /* The argument of the language's functions and of `judge`. */
  const void *context;
  /* The schedule so far; a full schedule gets no more steps. */
  const tw_schedule *schedule;
  /* The plan of `schedule`. */
  const void *now;
  /* Memory for a second plan. */
  void *next;
  size_t plan_size;
  /* The predicted cost of a plan; 0 if it is not legal. */
  double (*judge)(const void *context, const void *plan);
  /* Predicted cost of `now`. The text `why` of a step has its ratio to the step's cost; 0: it has no ratio. */
  double now_cost;

  size_t capacity;
  /* True after an allocation has failed. */
  bool failed;
  tw_menu menu;
} tw_menu_builder;

TW_API void tw_menu_offer(tw_menu_builder *, const char *lever, const char *why, const char *format, ...)
    TW_PRINTF(4, 5);

/* Steps that need no numbers. */
typedef struct tw_offer {
  const char *lever, *step, *why;
} tw_offer;
TW_API void tw_menu_offer_all(tw_menu_builder *, size_t n, const tw_offer[]);
/* The steps that the rows of the language offer (tw_verb.offers). The lever is the name of the verb. */
TW_API void tw_menu_offer_language(tw_menu_builder *);

/* Moves the items of `more` to `menu`, sorted by prediction. `more` is then empty. */
TW_API tw_status tw_menu_join(tw_menu *menu, tw_menu *more, tw_error *);

/* Sorts by prediction and removes duplicates. */
TW_API tw_status tw_menu_finish(tw_menu_builder *, tw_menu *out, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
