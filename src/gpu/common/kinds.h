/* kinds.h - the kinds of tile kernels that a target has, as a table: the only list of kinds. */
#ifndef TW_TILE_KINDS_H
#define TW_TILE_KINDS_H

#include "gpu/common/family.h"

enum { TW_TILE_PLAINEST = 4, TW_TILE_OPS = 160 };

typedef struct tw_tile_kind {
  const char *op;
  unsigned machines; /* a bit for each generation of machines that has the kernels; the target names the bits */
  bool (*is)(const tw_problem *, const tw_schedule *); /* NULL: any problem and schedule of the op */
  const tw_tile_family *family;
  tw_tile_predictor *predict;
  /* Schedules that replace the empty one, small tiles first. None: the target's plain kernel, or the family's
   * plainest plan. */
  const char *plainest[TW_TILE_PLAINEST];
} tw_tile_kind;

typedef struct tw_tile_kinds {
  const tw_tile_kind *kind;
  size_t n;
} tw_tile_kinds;

/* Does a machine of this generation have the kind, and does the kind serve the problem and schedule? */
bool tw_tile_kind_is(const tw_tile_kind *, unsigned machine, const tw_problem *, const tw_schedule *);
/* The first such kind; NULL: none. */
const tw_tile_kind *tw_tile_kind_of(const tw_tile_kinds *, unsigned machine, const tw_problem *, const tw_schedule *);
/* The ops that have a kind on the machine, for messages: "gemm, attention or gate". Returns `text`. */
const char *tw_tile_kinds_ops(const tw_tile_kinds *, unsigned machine, char text[TW_TILE_OPS]);
/* The language of each kind, by position; NULL past the last. */
const tw_language *tw_tile_kinds_language(const tw_tile_kinds *, size_t index);

#endif
