/* embedded_table.h - the table of embedded files, made at build time. For embedded.c only. */
#ifndef TW_BASE_EMBEDDED_TABLE_H
#define TW_BASE_EMBEDDED_TABLE_H

#include "base/embedded.h"

extern const tw_embedded tw_embedded_table[];
extern const size_t tw_embedded_count;

#endif
