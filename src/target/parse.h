/* parse.h - tw_problem_parse for words that are already separate, as on a command line. */
#ifndef TW_TARGET_PARSE_H
#define TW_TARGET_PARSE_H

#include "tilewright/target.h"

/* `words` are "key=value". NULL: no target, and no options. */
tw_status tw_problem_parse_words(const tw_target *, const char *op, size_t n_words, const char *const words[],
                                 tw_problem *out, tw_error *);

#endif
