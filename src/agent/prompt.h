/* prompt.h - the questions to a language model, in two phases: first a plan, then a kernel that follows the plan.
 *
 * Structure: Autocomp (C. Hong et al., section 3.2, figure 5). The words are files, which a user can replace
 * (prompt_texts.h): src/agent/prompts/ has the two templates (base/template.h). src/target/NAME/prompts/ describes a
 * machine:
 *
 *   architecture.txt, isa.txt, rules.txt      of the machine; OP.isa.txt goes before isa.txt, and so on
 *   OP.kernel.txt                             what the op's source looks like on this machine
 *   OP.reference.txt                          what the op computes, in PyTorch; may be left out
 *   OP.menu.txt                               options, lines of "name: what to do"
 *   OP.example.NAME.txt                       shown when its line "for: OPTION, ..." has the option of a plan, or words of it; with
 *                                             a line "run: TARGET OP KEY=VALUE...", its block is a whole program for that
 *
 * For an op A_B files of A serve, too (mpc.menu.txt). tw_target_topic finds them; a machine outside of the project has
 * them in tables (tw_topic). */
#ifndef TW_AGENT_PROMPT_H
#define TW_AGENT_PROMPT_H

#include "agent/agent.h"

/* TW_USAGE with a line if agents that write source cannot work on this op of this machine: the texts are missing. */
tw_status tw_prompt_available(const tw_target *, const tw_problem *, tw_error *);

/* The parent's bottleneck, on a target that can determine it (tw_rewriter). This takes simulations, so it is done once
 * for all plans of a parent. False if it is unknown or the simulations would take too long. */
bool tw_prompt_diagnose(const tw_request *, tw_diagnosis *out);
/* The inner loop of the request's parent as compiled: text, malloc'ed. NULL: none. */
char *tw_prompt_inner_loop(const tw_request *);
/* The planning prompt, malloc'ed. Each option is hidden with the request's dropout, by draws of the stream; the last
 * one ("other") never is, so there is always one. */
tw_status tw_prompt_plan(const tw_request *, tw_random *, char **out, tw_error *);
/* Prompts with the same words and another question: more options for this program, or plan and kernel in one answer. */
tw_status tw_prompt_invent(const tw_request *, tw_random *, char **out, tw_error *);
tw_status tw_prompt_direct(const tw_request *, tw_random *, char **out, tw_error *);
/* The options of a reply to tw_prompt_invent, as lines of a menu; malloc'ed, "" if it has none. */
char *tw_prompt_read_menu(const char *reply);
/* The prompt for a kernel that follows the plan. With `failed`: the prompt that repairs a failed kernel or a reply
 * without one. It shows the error and all earlier tries. */
tw_status tw_prompt_implement(const tw_request *, const char *plan, const tw_candidate *failed, char **out, tw_error *);
/* The candidate whose source the edits of a reply change: the last failed kernel, or the parent. */
const tw_candidate *tw_prompt_edited(const tw_request *, const tw_candidate *failed);

/* The percentage in the last line "COMPLETE: N%" of a reply, 0 to 100; 0 without such a line. */
int tw_prompt_read_complete(const char *reply);
/* Reads a planning reply: the option's name into `lever`, the reason into `why`. Both are always filled in. False if
 * the reply has no plan: neither an option nor a part PLAN. */
bool tw_prompt_read_plan(const char *reply, char lever[TW_LEVER_MAX], char why[TW_WHY_MAX]);

#endif
