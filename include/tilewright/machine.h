/* machine.h - machines of your own. A machine file begins with `base = NAME`, the name of a known target, and lists the values that
 * differ. docs/guide/your-own-machine.md is the guide.
 *
 * A file `my.machine` becomes a target "my@1a2b3c4d": its name, and eight digits of a digest of its values. Files with equal names and
 * values are one target; comments and the order of lines have no effect. Wisdom and journals find a machine by its digits and show its
 * name. They stay valid if the file is renamed.
 *
 *   tw_target_open("my.machine", &target, &error)
 */
#ifndef TILEWRIGHT_MACHINE_H
#define TILEWRIGHT_MACHINE_H

#include <stddef.h>

#include "tilewright/status.h"
#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds a target by name, as tw_target_find, or reads a machine file. A name with a '/' or with the ending ".machine" is a path.
 * Otherwise NAME.machine is looked for in the directories of the environment variable TILEWRIGHT_MACHINES (separated by ':'), then
 * in $XDG_CONFIG_HOME/tilewright/machines or ~/.config/tilewright/machines. The digits of "NAME@1a2b3c4d" must match.
 * TW_USAGE gives the file, the line and the error. The target stays valid until the process ends. */
TW_API tw_status tw_target_open(const char *name, const tw_target **out, tw_error *);

/* Reads the file as tw_target_open. On failure *problems gets all errors, one line "FILE:LINE: ..." for each; otherwise NULL.
 * The text is malloc'ed. `target` may be NULL. */
TW_API tw_status tw_machine_check(const char *path, const tw_target **target, char **problems, tw_error *);

/* Reads a machine from a text, for programs that send machines to other computers. `name` is the name of the target. Messages
 * name `origin`. */
TW_API tw_status tw_machine_read(const char *text, const char *name, const char *origin, const tw_target **out,
                                 tw_error *);
/* The text of a target that tw_target_open read from a file, malloc'ed. NULL: the target is not from a file. */
TW_API char *tw_machine_text(const tw_target *);

/* A file to start from: every key of the target with its value and source, commented out. Malloc'ed. TW_USAGE if no file
 * describes the target. */
TW_API tw_status tw_machine_template(const tw_target *, char **text, tw_error *);
/* Converts gemmini_params.h, the header that Gemmini's generator writes, to a machine file, malloc'ed. Values that the header lacks
 * are commented out. TW_USAGE names the file and the missing or unsupported value. */
TW_API tw_status tw_machine_from(const char *path, char **text, tw_error *);
/* The values of a machine file that differ from its base: "base = NAME" and one line for each key; malloc'ed. NULL: not from a file. */
TW_API char *tw_machine_changes(const tw_target *);

/* The files in the directories above, by position: a malloc'ed path; NULL past the last. */
TW_API char *tw_machine_file_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
