/* relevant.h - the entries of a language's description that a program needs.
 *
 * An entry begins in the first column with a name and its parameters, "NAME(...)". If the line has nothing more, the
 * next such line belongs to the entry, too. So do the indented lines after it. All other lines belong to no entry. */
#ifndef TW_AGENT_RELEVANT_H
#define TW_AGENT_RELEVANT_H

#include <stddef.h>

/* The description without the entries whose names occur in none of the texts (each may be NULL); a last line has the
 * names that were left out. malloc'ed; NULL without memory. */
char *tw_relevant_entries(const char *description, size_t n, const char *const text[]);

#endif
