/* menu.h - the legal next steps of a schedule, and how a target builds them.
 *
 * A target offers steps as text, in tables and loops. A step stays on the menu if its language (verb.h) accepts it,
 * if it changes the plan, and if the target's model predicts a cost for the new kernel. */
#ifndef TILEWRIGHT_MENU_H
#define TILEWRIGHT_MENU_H

#include "tilewright/verb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A legal next step of a schedule. A plan of the search is one `lever`; its parameters are alternatives of it. */
typedef struct tw_menu_item {
  char step[TW_STEP_MAX]; /* the line to append to the schedule */
  char lever[32];         /* the menu entry it belongs to: "tile", "double buffer", "bank placement", ... */
  char why[240];          /* the purpose of the step, in words, with the model's numbers */
  double predicted_cost;  /* the analytic model's cost of the kernel after this step (target's unit) */
} tw_menu_item;

typedef struct tw_menu {
  size_t n;
  tw_menu_item *item; /* free with tw_menu_free */
} tw_menu;
TW_API void tw_menu_free(tw_menu *);

/* Fill the first block, offer, finish. */
typedef struct tw_menu_builder {
  const tw_language *language;
  const void *context;         /* of the language's functions and of `judge` */
  const tw_schedule *schedule; /* to which steps are appended: after a full one comes none */
  const void *now;             /* its plan */
  void *next;                  /* room for another */
  size_t plan_size;
  /* The predicted cost of a plan; 0 if it is not legal. */
  double (*judge)(const void *context, const void *plan);
  /* predicted for `now`, and for the matrix unit alone, which `why` then names; 0: not predicted */
  double now_cost, peak_cost;

  size_t capacity;
  bool failed; /* out of memory */
  tw_menu menu;
} tw_menu_builder;

TW_API void tw_menu_offer(tw_menu_builder *, const char *lever, const char *why, const char *format, ...)
    TW_PRINTF(4, 5);

/* Steps that need no numbers. */
typedef struct tw_offer {
  const char *lever, *step, *why;
} tw_offer;
TW_API void tw_menu_offer_all(tw_menu_builder *, size_t n, const tw_offer[]);

/* Puts the items of `more` into `menu`, sorted by prediction; `more` is empty then. */
TW_API tw_status tw_menu_join(tw_menu *menu, tw_menu *more, tw_error *);

/* Sorts by prediction and removes duplicates. */
TW_API tw_status tw_menu_finish(tw_menu_builder *, tw_menu *out, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
