/* program.h - the analysis of a user's program. */
#ifndef TW_GEMMINI_REWRITE_PROGRAM_H
#define TW_GEMMINI_REWRITE_PROGRAM_H

#include "target/gemmini/rewrite/rewrite.h"
#include "target/gemmini/rewrite/stream.h"

struct tw_program {
  tw_problem problem;
  gm_stream stream;
  char fixed[300]; /* why its commands cannot be taken apart; "" if they can */
  int jobs;
};

#endif
