/* prompt_texts.h - the words of prompts: the built-in files, or a folder of the user's.
 *
 * A folder has the two templates and a folder for each machine, with the names of the built-in files:
 *
 *   plan.txt, implement.txt           templates (base/template.h): what is asked, around what is known
 *   MACHINE/TOPIC.txt                 architecture, isa, kernel, reference, rules, menu
 *   MACHINE/OP.TOPIC.txt              the same, of one op: before TOPIC.txt or instead of it, as the built-in files have it
 *   MACHINE/OP.example.NAME.txt       programs that are shown with plans like them
 *
 * A folder replaces the built-in texts of a machine as a whole: a file that it lacks is an error, not a built-in text.
 * To leave a text out, leave its file empty. Further files of an op, and further examples, are welcome. */
#ifndef TW_AGENT_PROMPT_TEXTS_H
#define TW_AGENT_PROMPT_TEXTS_H

#include "tilewright/extend/target.h"

/* Constant after it was read, so threads may share it. NULL means the built-in texts in all calls below. */
typedef struct tw_prompt_texts tw_prompt_texts;

/* Reads the templates and the target's texts. TW_USAGE with the file (and line): a file that is missing, unknown, too
 * large or no text; a slot that no prompt has. */
tw_status tw_prompt_texts_read(const char *folder, const tw_target *, tw_prompt_texts **out, tw_error *);
void tw_prompt_texts_free(tw_prompt_texts *);
/* Writes the built-in texts for the target into a folder, which it makes. Existing files are an error, and nothing is
 * written then. */
tw_status tw_prompt_texts_write(const char *folder, const tw_target *, size_t *files, tw_error *);

/* The template "plan" or "implement". */
const char *tw_prompt_template(const tw_prompt_texts *, const char *name);
/* The text of a topic for the problem's op; NULL if there is none. */
const char *tw_prompt_topic(const tw_prompt_texts *, const tw_target *, const tw_problem *, const char *topic);
/* The two examples that fit a plan best, one after the other; malloc'ed, "" if none fits. `option` is the plan's
 * option. */
char *tw_prompt_examples(const tw_prompt_texts *, const tw_target *, const char *op, const char *option,
                         const char *plan);

/* The names of the slots of a template, in no order; the last one is NULL. */
const char *const *tw_prompt_slots(const char *template_name);

#endif
