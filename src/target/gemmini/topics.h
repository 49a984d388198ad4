/* topics.h - the machine in words, for an agent that writes source; schedule/words_*.c say the rest of each op. */
#ifndef TW_GEMMINI_TOPICS_H
#define TW_GEMMINI_TOPICS_H

#include "tilewright/target.h"

extern const tw_topic gm_topics[];

#endif
