/* machine.h - machines of your own: a text file that begins with `base = NAME`, a target that the library knows, and lists what
 * differs from it. docs/guide/your-own-machine.md is the guide.
 *
 * A file `my.machine` becomes a target "my@1a2b3c4d": its name, and eight digits made of its values. Two files with the same name and
 * values are the same target; comments and the order of lines do not count. Wisdom and journals know a machine by its digits: a file
 * that is renamed keeps them. They show the name.
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

/* The target of that name, as tw_target_find; or the machine of a file: a path with a '/' in it or that ends in ".machine"; or
 * NAME.machine in a directory of the environment variable TILEWRIGHT_MACHINES (separated by ':'), then in
 * $XDG_CONFIG_HOME/tilewright/machines or ~/.config/tilewright/machines. "NAME@1a2b3c4d" must have these digits.
 * TW_USAGE with the file, the line and what is wrong. The target stays until the process ends. */
TW_API tw_status tw_target_open(const char *name, const tw_target **out, tw_error *);

/* Reads the file as tw_target_open. On failure *problems gets everything that is wrong, a line "FILE:LINE: ..." each; else NULL.
 * The text is malloc'ed. `target` may be NULL. */
TW_API tw_status tw_machine_check(const char *path, const tw_target **target, char **problems, tw_error *);

/* The machine of a text: for programs that send a machine to another computer. `name` is as in tw_target.name, `origin` for
 * messages. */
TW_API tw_status tw_machine_read(const char *text, const char *name, const char *origin, const tw_target **out,
                                 tw_error *);
/* That text of a target that tw_target_open made of a file, malloc'ed; NULL: the target is not from a file. */
TW_API char *tw_machine_text(const tw_target *);

/* A file to start from: every key of the target with its value and source, commented out. Malloc'ed. TW_USAGE if no file
 * describes the target. */
TW_API tw_status tw_machine_template(const tw_target *, char **text, tw_error *);
/* A machine file made of a header of another generator, malloc'ed: of gemmini_params.h, which Gemmini's generator writes. What the
 * header does not say is commented out. TW_USAGE with the file and what is missing or unsupported. */
TW_API tw_status tw_machine_from(const char *path, char **text, tw_error *);
/* What the machine of a file changes of its base: "base = NAME" and a line for each key; malloc'ed. NULL: not from a file. */
TW_API char *tw_machine_changes(const tw_target *);

/* The files in the directories above, by position: a malloc'ed path; NULL past the last. */
TW_API char *tw_machine_file_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
