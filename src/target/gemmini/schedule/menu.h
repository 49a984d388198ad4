/* menu.h - puts together a menu of steps.
 *
 * A family names steps as text; a step stays on the menu if the family's `try` says that it is legal now and changes
 * something, and what it would cost. The offers of levers that every kernel has (words.h) are here. */
#ifndef TW_GEMMINI_MENU_H
#define TW_GEMMINI_MENU_H

#include <stddef.h>

#include "target/gemmini/config.h"
#include "tilewright/target.h"

typedef struct gm_menu {
  /* The predicted cycles after the step; false if it is illegal or changes nothing. */
  bool (*try)(void *context, const char *step, double *cycles);
  void *context;
  double now, peak; /* predicted cycles of the schedule as it is; of the array alone */
  tw_menu *out;
  size_t capacity;
  bool failed; /* out of memory */
} gm_menu;

void gm_offer(gm_menu *, const char *lever, const char *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void gm_offer_buffers(gm_menu *);
void gm_offer_banks(gm_menu *, const gm_config *);
/* Widths in elements: of the widest mvin and mvout. */
void gm_offer_widths(gm_menu *, int dim, int load, int store);
void gm_offer_overwrite(gm_menu *);
void gm_offer_prefetch(gm_menu *);
/* Are loads, are stores already spread? */
void gm_offer_spread(gm_menu *, bool loads, bool stores);
/* Sorts by prediction and drops what is there twice. */
tw_status gm_menu_finish(gm_menu *, tw_error *);

#endif
