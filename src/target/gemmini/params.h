/* params.h - reads gemmini_params.h, the header that the generator writes for programs: its description of the
 * machine. */
#ifndef TW_GEMMINI_PARAMS_H
#define TW_GEMMINI_PARAMS_H

#include <stddef.h>

#include "tilewright/status.h"

typedef struct gm_param {
  const char *key;          /* text of the machine file */
  char value[32], from[80]; /* the values in the header, and their lines */
} gm_param;

enum { GM_PARAMS_MAX = 16 };
typedef struct gm_params {
  const char *base; /* the machine whose values replace values that the header lacks */
  size_t n;
  gm_param param[GM_PARAMS_MAX];
} gm_params;

/* TW_USAGE with origin and the missing or unsupported value. */
tw_status gm_params_read(const char *text, const char *origin, gm_params *out, tw_error *);

#endif
