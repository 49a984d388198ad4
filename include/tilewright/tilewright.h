/* tilewright.h - everything for programs that use the library: find, check and run fast tiled kernels for tensor accelerators.
 *
 *   tw_target_find -> tw_problem_parse -> tw_target_supports -> tw_tune -> source, schedule, measurements
 *
 * extend/extend.h is for authors of targets and operations. */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include "tilewright/device.h"
#include "tilewright/format.h"
#include "tilewright/gemm.h"
#include "tilewright/machine.h"
#include "tilewright/memory.h"
#include "tilewright/problem.h"
#include "tilewright/run.h"
#include "tilewright/schedule.h"
#include "tilewright/search.h"
#include "tilewright/status.h"
#include "tilewright/target.h"
#include "tilewright/tune.h"
#include "tilewright/type.h"
#include "tilewright/wisdom.h"

#define TILEWRIGHT_VERSION "0.1.0"
#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 1
#define TILEWRIGHT_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the running library, which may differ from the version of the headers. */
TW_API const char *tw_version(void);
/* The size of a public struct ("tw_measurement") in the compiled library; 0 for an unknown name. A binding compares it with
 * its own size, because structs grow from one minor version to the next. */
TW_API size_t tw_size_of(const char *type);

#ifdef __cplusplus
}
#endif

#endif
