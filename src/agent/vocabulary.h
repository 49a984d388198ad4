/* vocabulary.h - the declarations of names in a program that come from a library of its machine.
 *
 * A program that the library has written uses names of headers (tile.hpp, target/x86/runtime/words.h). A prompt that
 * shows such a program must explain them. The source is the headers: for each name that the program uses, its
 * declaration without its body, and the comment before it, or before its group of lines. */
#ifndef TW_AGENT_VOCABULARY_H
#define TW_AGENT_VOCABULARY_H

#include "tilewright/extend/target.h"

/* malloc'ed; "" if the source uses no name of a header. The headers are the included ones, or else the files of
 * NAME/runtime/include, which a machine's programs get automatically. Of the latter, names in `explained` (NULL: none)
 * are left out. NULL without memory. */
char *tw_vocabulary_of(const tw_target *, const char *source, const char *explained);

#endif
