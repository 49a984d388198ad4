/* vocabulary.h - what the names in a program mean that come from a library of its machine.
 *
 * A program that the library has written uses words of headers (tile.hpp, target/x86/runtime/words.h). A prompt that shows such a
 * program has to say what they are. The headers are the source: for each name that the program uses, its declaration without
 * its body, under the comment in front of it, or of the group of lines that it stands in. */
#ifndef TW_AGENT_VOCABULARY_H
#define TW_AGENT_VOCABULARY_H

#include "tilewright/target.h"

/* malloc'ed; "" if the source uses nothing of a header. The headers are those that it includes, or else those of NAME/runtime/include,
 * which a machine's programs get without asking: of these, names that `explained` has (NULL: nothing) are left out. NULL
 * without memory. */
char *tw_vocabulary_of(const tw_target *, const char *source, const char *explained);

#endif
