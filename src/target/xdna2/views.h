/* views.h - the views of `tilewright view` for XDNA2. */
#ifndef TW_XDNA2_VIEWS_H
#define TW_XDNA2_VIEWS_H

#include "tilewright/extend/target.h"

/* Ended by a NULL name: the target's machine_views. A target's config is its xd_config. */
extern const tw_view xd_views[];

#endif
