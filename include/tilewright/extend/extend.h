/* extend.h - everything for authors of targets, operations, steps and views. Programs that only use the library include
 * <tilewright/tilewright.h>.
 *
 * These structs are filled by the author and read by the library. They may change with each minor version; `size` in tw_op and
 * tw_target tells the library which version an author compiled. */
#ifndef TILEWRIGHT_EXTEND_EXTEND_H
#define TILEWRIGHT_EXTEND_EXTEND_H

#include "tilewright/extend/menu.h"
#include "tilewright/extend/op.h"
#include "tilewright/extend/target.h"
#include "tilewright/extend/verb.h"
#include "tilewright/extend/view.h"
#include "tilewright/tilewright.h"

#endif
