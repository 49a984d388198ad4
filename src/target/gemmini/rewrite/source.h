/* source.h - a command stream as C: loops where there are any, the runtime's short macros. */
#ifndef TW_GEMMINI_REWRITE_SOURCE_H
#define TW_GEMMINI_REWRITE_SOURCE_H

#include "target/gemmini/rewrite/stream.h"

/* `note` is a comment for the top. TW_FAILED if the stream has too few loops to be written as code. */
tw_status gm_stream_source(const gm_stream *, const char *note, char **source, tw_error *);

#endif
