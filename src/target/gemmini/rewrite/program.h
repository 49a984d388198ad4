/* program.h - what is known of a user's program. */
#ifndef TW_GEMMINI_REWRITE_PROGRAM_H
#define TW_GEMMINI_REWRITE_PROGRAM_H

#include "target/gemmini/rewrite/rewrite.h"
#include "target/gemmini/rewrite/stream.h"

struct tw_program {
  tw_problem problem;
  gm_stream stream;
  bool plain; /* the accelerator does only what single commands tell it */
  int jobs;
};

#endif
