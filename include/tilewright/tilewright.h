/* tilewright.h - everything: find, check and run fast tiled kernels for tensor accelerators.
 *
 *   tw_problem_parse  ->  tw_target_find  ->  target->supports  ->  tw_search  ->  source, schedule, evidence
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include "tilewright/format.h"
#include "tilewright/gemm.h"
#include "tilewright/menu.h"
#include "tilewright/op.h"
#include "tilewright/schedule.h"
#include "tilewright/search.h"
#include "tilewright/status.h"
#include "tilewright/target.h"
#include "tilewright/type.h"
#include "tilewright/verb.h"
#include "tilewright/view.h"
#include "tilewright/wisdom.h"

#define TILEWRIGHT_VERSION "0.1.0"

#endif
