/* prompt.h - the machine in words, for an agent that writes source. */
#ifndef TW_GEMMINI_PROMPT_H
#define TW_GEMMINI_PROMPT_H

#include "tilewright/target.h"

/* topic: "architecture", "isa" and "rules" of the machine; "kernel", "menu" and "example" of the problem's op, from its
 * family of schedules (schedule/family.h); NULL for others. Static text. */
const char *gm_prompt(const tw_target *, const tw_problem *, const char *topic);

#endif
