/* races.h - whether iterations of parallel loops depend on each other. */
#ifndef TW_TRAINIUM_RACES_H
#define TW_TRAINIUM_RACES_H

#include "target/trainium/program.h"

/* TW_FAILED, with both lines, if an iteration reads data that another has written. */
tw_status trn_check_races(const trn_program *, tw_error *);

#endif
