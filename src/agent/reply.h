/* reply.h - the kernel in a language model's reply.
 *
 * Either the whole file, in a fenced block (``` or ~~~, whatever language it names); of several blocks the longest, the later
 * one of two as long, since models show fragments before the whole. Or edits of the kernel it was given, in any number,
 * inside a fence or not, in a form of edits.h. A reply without a fence is a whole file if it begins like C (a comment, a
 * directive or a declaration). A byte order mark does not count. */
#ifndef TW_AGENT_REPLY_H
#define TW_AGENT_REPLY_H

#include "tilewright/status.h"

/* The kernel's source, malloc'ed. TW_FAILED with the fault of the reply, in a line for its author. */
tw_status tw_reply_source(const char *reply, const char *parent, char **source, tw_error *);

#endif
