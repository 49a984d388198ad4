/* targets.c - the list of targets. A new machine is a folder here and a line below. */
#include <stdlib.h>
#include <string.h>

#include "tilewright/target.h"

static const tw_target *const targets[] = {
    NULL,
};

const tw_target *tw_target_at(size_t index) {
  return index < sizeof targets / sizeof *targets ? targets[index] : NULL;
}

const tw_target *tw_target_find(const char *name) {
  const tw_target *target;
  for (size_t i = 0; (target = tw_target_at(i)); i++) {
    if (strcmp(target->name, name) == 0) return target;
  }
  return NULL;
}

void tw_menu_free(tw_menu *menu) {
  free(menu->item);
  *menu = (tw_menu){0};
}
