/* headers.h - the user's folders of headers (tw_evaluation.headers). */
#ifndef TW_BASE_HEADERS_H
#define TW_BASE_HEADERS_H

#include "tilewright/extend/target.h"

/* TW_USAGE for too many folders, and for a folder that cannot be read. */
tw_status tw_headers_check(const tw_headers *, tw_error *);

#endif
