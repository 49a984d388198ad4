/* headers.h - the user's headers and macros (tw_evaluation.headers). */
#ifndef TW_BASE_HEADERS_H
#define TW_BASE_HEADERS_H

#include "tilewright/extend/target.h"

/* TW_USAGE for too many folders or macros, a folder that cannot be read, and a macro whose name is no identifier. */
tw_status tw_headers_check(const tw_headers *, tw_error *);

#endif
