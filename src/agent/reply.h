/* reply.h - the kernel in a language model's reply.
 *
 * A reply has the whole file in a fenced block (``` or ~~~, of any language), or edits of the kernel in its prompt. The
 * longest block counts, and the last of equally long blocks, because models show fragments before the whole file. Edits
 * have a form of edits.h and need no fence. A reply without a fence is a whole file if it begins like C (a comment, a
 * directive or a declaration). A byte order mark does not count. */
#ifndef TW_AGENT_REPLY_H
#define TW_AGENT_REPLY_H

#include "tilewright/status.h"

/* The kernel's source, malloc'ed. TW_FAILED with the fault of the reply, in a line for its author. */
tw_status tw_reply_source(const char *reply, const char *parent, char **source, tw_error *);

#endif
