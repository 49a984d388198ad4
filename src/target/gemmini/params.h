/* params.h - reads the header that the generator writes for programs, gemmini_params.h: what it says of the machine. */
#ifndef TW_GEMMINI_PARAMS_H
#define TW_GEMMINI_PARAMS_H

#include <stddef.h>

#include "tilewright/status.h"

typedef struct gm_param {
  const char *key;          /* of the machine file */
  char value[32], from[80]; /* what the header says, and where */
} gm_param;

enum { GM_PARAMS_MAX = 16 };
typedef struct gm_params {
  const char *base; /* the machine whose values stand for what the header does not say */
  size_t n;
  gm_param param[GM_PARAMS_MAX];
} gm_params;

/* TW_USAGE with origin and what is missing or unsupported. */
tw_status gm_params_read(const char *text, const char *origin, gm_params *out, tw_error *);

#endif
