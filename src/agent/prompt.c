/* prompt.c - see prompt.h. */
#define _GNU_SOURCE
#include "agent/prompt.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lines.h"
#include "agent/prompt_texts.h"
#include "agent/relevant.h"
#include "agent/vocabulary.h"
#include "base/template.h"
#include "base/utilization.h"

enum { ATTEMPTS_SHOWN = 12, MESSAGE_SHOWN = 3000, REPLY_SHOWN = 6000, LINE_SHOWN = 200 };

/* ---- words about a machine ---- */

static const char *const NEEDED[] = {"architecture", "rules", "kernel", "menu"};

tw_status tw_prompt_available(const tw_target *target, const tw_problem *problem, tw_error *error) {
  for (size_t i = 0; i < sizeof NEEDED / sizeof NEEDED[0]; i++)
    if (!tw_prompt_topic(NULL, target, problem, NEEDED[i]))
      return tw_fail(error, TW_UNSUPPORTED,
                     "language models cannot work on %s for %s yet: its prompts lack '%s'; use the agent rules",
                     problem->op->name, target->name, NEEDED[i]);
  return TW_OK;
}

/* ---- measurements ---- */

static void add_cost(tw_text *t, const tw_target *target, double cost) {
  if (!strcmp(target->unit, "seconds"))
    tw_text_add(t, "%.4g us", 1e6 * cost);
  else
    tw_text_add(t, "%.0f %s", cost, target->unit);
}

static char *write_cost(const tw_target *target, double cost) {
  tw_text t = {0};
  add_cost(&t, target, cost);
  return tw_text_take(&t);
}

static char *write_feedback(const tw_request *r) {
  const tw_measurement *m = &r->parent->measured;
  tw_text t = {0};
  if (m->cost > 0) {
    tw_text_add_string(&t, "It takes ");
    add_cost(&t, r->target, m->cost);
  } else {
    tw_text_add_string(&t, "It was not measured");
  }
  if (m->utilization > 0)
    tw_text_add(&t, ", %.1f%% of %s", 100 * m->utilization,
                r->bound ? tw_utilization_of(r->bound) : "the machine's peak");
  tw_text_add_string(&t, ". ");
  if (r->bound && r->bound->cost > 0) {
    tw_text_add_string(&t, "No program can take less than ");
    add_cost(&t, r->target, r->bound->cost);
    tw_text_add(&t, " (%s).", r->bound->limit);
  }
  tw_text_add_string(&t, "\n");
  if (*m->bottleneck) tw_text_add(&t, "It was limited by: %s.\n", m->bottleneck);
  if (m->spread.rounds > 1) {
    tw_text_add(&t, "%zu rounds took between ", m->spread.rounds);
    add_cost(&t, r->target, m->spread.least);
    tw_text_add_string(&t, " and ");
    add_cost(&t, r->target, m->spread.most);
    tw_text_add_string(&t, ", half of them between ");
    add_cost(&t, r->target, m->spread.lower);
    tw_text_add_string(&t, " and ");
    add_cost(&t, r->target, m->spread.upper);
    tw_text_add_string(&t, ": smaller differences mean nothing.\n");
  }
  for (size_t i = 0; i < m->n_counters; i++)
    if (m->counter[i].value != 0)
      tw_text_add(&t, "- %s: %.6g %s (%s)\n", m->counter[i].name, m->counter[i].value, m->counter[i].unit,
                  m->counter[i].help);
  for (size_t i = 0; i < m->n_memories; i++)
    tw_text_add(&t, "- %s: %zu of %zu bytes in use\n", m->memory[i].name, m->memory[i].used, m->memory[i].size);
  return tw_text_take(&t);
}

enum { SIMULATIONS = 12, SECONDS_MOST = 20, SEED = 1 };

bool tw_prompt_diagnose(const tw_request *r, tw_diagnosis *out) {
  const tw_rewriter *rewriter = r->target->rewriter;
  const double rate = r->target->traits.simulation_rate;
  const tw_candidate *c = r->parent;
  tw_program *program = NULL;
  *out = (tw_diagnosis){0};
  if (!rewriter || !c->source || (rate > 0 && SIMULATIONS * c->measured.cost / rate > SECONDS_MOST)) return false;
  const int jobs = r->jobs > 0 ? r->jobs : 1;
  if (rewriter->study(r->target, r->problem, c->source, strlen(c->source), c->schedule != NULL, SEED, jobs, r->stop,
                      &program, NULL) != TW_OK)
    return false;
  const bool known = rewriter->diagnose(program, jobs, out, NULL) == TW_OK && out->n > 0;
  rewriter->forget(program);
  return known;
}

char *tw_prompt_inner_loop(const tw_request *r) {
  const tw_candidate *c = r->parent;
  char *text = NULL;
  if (r->target->inner_loop && c->source)
    r->target->inner_loop(r->target, r->problem, c->source, strlen(c->source), c->schedule != NULL, &text, NULL);
  return text;
}

static char *write_findings(const tw_request *r) {
  const tw_diagnosis *d = r->diagnosis;
  tw_text t = {0};
  for (size_t i = 0; d && i < d->n; i++) {
    const tw_finding *f = &d->finding[i];
    tw_text_add_string(&t, "- ");
    add_cost(&t, r->target, f->cost);
    tw_text_add(&t, ": %s%s%s\n", f->what, *f->example ? "; for instance " : "", f->example);
  }
  return tw_text_take(&t);
}

/* Adds a candidate's change to its parent, in a line. */
static void add_deed(tw_text *t, const tw_candidate *c) {
  const char *what = c->step[0] ? c->step : c->n_levers ? c->lever[0] : c->parent == TW_NONE ? "the start" : "a change";
  tw_text_add(t, "%s%s%s", what, c->why[0] ? ": " : "", c->why);
}

/* The nearest first. */
static char *write_ancestors(const tw_request *r) {
  tw_text t = {0};
  for (size_t up = 1; up <= r->ancestors && up < r->n_lineage; up++) {
    const tw_candidate *c = r->lineage[r->n_lineage - 1 - up];
    tw_text_add_string(&t, "It took ");
    add_cost(&t, r->target, c->measured.cost);
    tw_text_add(&t, ":\n\n```%s\n%s\n```\n\n", r->target->traits.language, c->source);
  }
  return tw_text_take(&t);
}

static int length_of_line(const char *text, int most) {
  int n = (int)strcspn(text, "\n");
  return n < most ? n : most;
}

/* A request without an answer says nothing about its plan. */
static bool tells_something(const tw_candidate *c) { return c->source || c->schedule || c->reply; }

/* A candidate's change and its result, in a line. */
static void add_attempt(tw_text *t, const tw_target *target, const tw_candidate *c) {
  add_deed(t, c);
  tw_text_add_string(t, " -> ");
  if (tw_verdict_has_cost(c->verdict) && c->measured.cost > 0)
    add_cost(t, target, c->measured.cost);
  else
    tw_text_add_string(t, tw_verdict_name(c->verdict));
  if (c->message) tw_text_add(t, " (%.*s)", length_of_line(c->message, LINE_SHOWN), c->message);
  tw_text_add_string(t, "\n");
}

static char *write_attempts(const tw_request *r) {
  tw_text t = {0};
  size_t first = r->n_children > ATTEMPTS_SHOWN ? r->n_children - ATTEMPTS_SHOWN : 0;
  for (size_t i = first; i < r->n_children; i++) {
    if (!tells_something(r->child[i])) continue;
    tw_text_add_string(&t, "- ");
    add_attempt(&t, r->target, r->child[i]);
  }
  return tw_text_take(&t);
}

/* Writes the path to the program, and other tries from its earlier versions. */
static char *write_history(const tw_request *r) {
  tw_text t = {0};
  const size_t first = r->n_relatives > ATTEMPTS_SHOWN ? r->n_relatives - ATTEMPTS_SHOWN : 0;
  for (size_t i = 0; r->n_lineage > 1 && i < r->n_lineage; i++) {
    tw_text_add_string(&t, "- ");
    add_cost(&t, r->target, r->lineage[i]->measured.cost);
    tw_text_add_string(&t, ": ");
    add_deed(&t, r->lineage[i]);
    tw_text_add_string(&t, "\n");
    for (size_t k = first; k < r->n_relatives; k++) {
      if (r->relative[k]->parent != r->lineage[i]->number || !tells_something(r->relative[k])) continue;
      tw_text_add_string(&t, "  - also tried from there: ");
      add_attempt(&t, r->target, r->relative[k]);
    }
  }
  return tw_text_take(&t);
}

/* ---- failures ---- */

static const tw_candidate *candidate_at(const tw_request *r, int number) {
  return number == TW_NONE || !r->candidate ? NULL : r->candidate(r->context, number);
}

/* The previous try for the same order. */
static const tw_candidate *try_before(const tw_request *r, const tw_candidate *c) {
  return candidate_at(r, c->repairs);
}

/* The last try with a kernel, this one included; NULL if none has one. */
static const tw_candidate *last_kernel(const tw_request *r, const tw_candidate *c) {
  while (c && !c->source) c = try_before(r, c);
  return c;
}

const tw_candidate *tw_prompt_edited(const tw_request *r, const tw_candidate *failed) {
  const tw_candidate *kernel = last_kernel(r, failed);
  return kernel ? kernel : r->parent;
}

/* A kernel that repeats an earlier one failed in the same way. */
static char *write_failure(const tw_request *r, const tw_candidate *c, int most) {
  const tw_candidate *twin = c->verdict == TW_DUPLICATE ? candidate_at(r, c->twin) : NULL;
  tw_text t = {0};
  if (twin) tw_text_add_string(&t, "it is the same program as an earlier one, which failed: ");
  if (twin) c = twin;
  tw_text_add_string(&t, tw_verdict_name(c->verdict));
  if (c->message) tw_text_add(&t, ": %.*s", most, c->message);
  return tw_text_take(&t);
}

/* A line for each try, except for tries that are shown in full. */
static char *write_earlier(const tw_request *r, const tw_candidate *failed, const tw_candidate *kernel) {
  tw_text t = {0};
  for (const tw_candidate *c = try_before(r, failed); c; c = try_before(r, c)) {
    if (c == kernel) continue;
    char *failure = write_failure(r, c, LINE_SHOWN);
    if (failure) tw_text_add(&t, "- %.*s\n", length_of_line(failure, 2 * LINE_SHOWN), failure);
    free(failure);
  }
  return tw_text_take(&t);
}

/* Quotes a reply: fences and edits in it no longer count as the prompt's own. */
static char *quote(const char *reply) {
  tw_text t = {0};
  const char *end = reply + strnlen(reply, REPLY_SHOWN);
  while (end > reply && *end && ((unsigned char)*end & 0xc0) == 0x80) end--; /* does not cut a character */
  for (const char *line = reply; line < end;) {
    const size_t n = strcspn(line, "\n"), left = (size_t)(end - line);
    tw_text_add(&t, "> %.*s\n", (int)(n < left ? n : left), line);
    line += n + (line[n] == '\n');
  }
  if (*end) tw_text_add_string(&t, "> ... (the rest is left out here)\n");
  return tw_text_take(&t);
}

/* ---- the menu ---- */

/* The option at the end, "other", stays there. */
static void shuffle(const char *line[], size_t n, tw_random *random) {
  for (size_t i = n > 1 ? n - 1 : 0; i > 1; i--) {
    const size_t k = (size_t)tw_random_below(random, i);
    const char *held = line[i - 1];
    line[i - 1] = line[k];
    line[k] = held;
  }
}

static char *write_menu(const char *menu, double dropout, bool shuffles, tw_random *random) {
  tw_text t = {0};
  size_t n_shown = 0, most = 1;
  for (const char *at = menu; *at; at++) most += *at == '\n';
  const char **shown = tw_new(most, sizeof *shown);
  if (!shown) return NULL;
  for (const char *line = menu; *line;) {
    size_t n = strcspn(line, "\n");
    bool last = line[n] == '\0' || line[n + 1] == '\0';
    bool hidden =
        /* drawn for each entry, so that the visible entries depend on the random stream alone */
        tw_random_real(random) < dropout;
    if (n > 0 && (last || !hidden)) shown[n_shown++] = line;
    line += n + (line[n] == '\n');
  }
  if (shuffles) shuffle(shown, n_shown, random);
  for (size_t i = 0; i < n_shown; i++) tw_text_add(&t, "%zu. %.*s\n", i + 1, (int)strcspn(shown[i], "\n"), shown[i]);
  free(shown);
  return tw_text_take(&t);
}

/* ---- the prompts ---- */

enum { SLOTS = 40 };
typedef struct prompt {
  size_t n;
  tw_slot slot[SLOTS];
  char *owned[SLOTS];
} prompt;

static void set(prompt *p, const char *name, const char *text) { p->slot[p->n++] = (tw_slot){name, text}; }
static void set_owned(prompt *p, const char *name, char *text) {
  p->owned[p->n] = text;
  set(p, name, text);
}

/* "Operands: A bf16 [64][32], B bf16 [32][16]; output: C f32 [64][16]. Keys: m, n, ..." */
static char *write_operands(const tw_problem *problem) {
  tw_operand o[TW_OPERANDS_MAX];
  const size_t n = problem->op->operands(problem, o);
  tw_text t = {0};
  for (int output = 0; output < 2; output++) {
    tw_text_add_string(&t, output ? "; outputs:" : "Operands:");
    for (size_t i = 0, any = 0; i < n; i++) {
      if (o[i].is_output != output) continue;
      tw_text_add(&t, "%s %s %s ", any++ ? "," : "", o[i].name, tw_type_name(o[i].type));
      for (int d = 0; d < o[i].rank; d++) tw_text_add(&t, "[%" PRId64 "]", o[i].dims[d]);
    }
  }
  tw_text_add_string(&t, ". Keys:");
  for (size_t i = 0; i < problem->op->n_keys; i++) tw_text_add(&t, "%s %s", i ? "," : "", problem->op->keys[i].name);
  tw_text_add_string(&t, ".");
  return tw_text_take(&t);
}

static bool leaves_out(const tw_request *r, uint64_t part) { return r->without & part; }

static const char *isa_of(const tw_request *r) {
  return leaves_out(r, TW_WITHOUT_ISA) ? NULL : tw_prompt_topic(r->texts, r->target, r->problem, "isa");
}

static void set_common(prompt *p, const tw_request *r) {
  set_owned(p, "machine", r->target->describe ? r->target->describe(r->target) : NULL);
  static const char *const topics[] = {"architecture", "kernel", "reference", "rules"};
  for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
    set(p, topics[i], tw_prompt_topic(r->texts, r->target, r->problem, topics[i]));
  set_owned(p, "problem", tw_problem_text(r->problem));
  set(p, "summary", r->problem->op->summary);
  set_owned(p, "operands", write_operands(r->problem));
  set(p, "context", r->user_text);
  set(p, "other", r->mate ? r->mate->source : NULL);
  set_owned(p, "other_cost", r->mate ? write_cost(r->target, r->mate->measured.cost) : NULL);
  set(p, "language", r->target->traits.language);
  set(p, "source", r->parent->source);
  set_owned(p, "vocabulary",
            leaves_out(r, TW_WITHOUT_ISA) ? NULL
                                          : tw_vocabulary_of(r->target, r->parent->source ? r->parent->source : "",
                                                             tw_prompt_topic(r->texts, r->target, r->problem, "isa")));
}

static tw_status fill_template(prompt *p, const tw_prompt_texts *texts, const char *name, char **out, tw_error *error) {
  const char *template = tw_prompt_template(texts, name);
  tw_error why = {0};
  *out = NULL;
  tw_status status = template ? tw_template_fill(template, p->n, p->slot, out, &why)
                              : tw_fail(&why, TW_MISSING, "it is not part of this build");
  for (size_t i = 0; i < p->n; i++) free(p->owned[i]);
  return status == TW_OK ? TW_OK : tw_fail(error, status, "the template %s.txt: %s", name, why.text);
}

/* A folder's texts are complete: tw_prompt_texts_read checked it. */
static tw_status check_texts(const tw_request *r, tw_error *error) {
  return r->texts ? TW_OK : tw_prompt_available(r->target, r->problem, error);
}

static char *find_examples(const tw_request *r, const char *plan) {
  char lever[TW_LEVER_MAX], why[TW_WHY_MAX];
  tw_prompt_read_plan(plan, lever, why);
  return tw_prompt_examples(r->texts, r->target, r->problem->op->name, lever, plan);
}

/* The machine's menu, with the program's own options before its last one. */
static char *whole_menu(const tw_request *r) {
  const char *menu = tw_prompt_topic(r->texts, r->target, r->problem, "menu"), *last = menu;
  tw_text t = {0};
  for (const char *line = menu; *line; line += strcspn(line, "\n"), line += *line == '\n')
    if (*line != '\n') last = line;
  tw_text_add(&t, "%.*s%s%s", (int)(last - menu), menu, r->more_menu ? r->more_menu : "", last);
  return tw_text_take(&t);
}

static char *write_options(const tw_request *r, tw_random *random) {
  char *menu = leaves_out(r, TW_WITHOUT_MENU) ? NULL : whole_menu(r);
  char *written = menu ? write_menu(menu, r->dropout, r->shuffles_menu, random) : NULL;
  free(menu);
  return written;
}

static char *write_percentage(int n) {
  tw_text t = {0};
  tw_text_add(&t, "%d", n);
  return tw_text_take(&t);
}

/* `question`: the slot of the template that is set, unless the program is translated. */
static tw_status write_plan_prompt(const tw_request *r, tw_random *random, const char *question, char **out,
                                   tw_error *error) {
  char number[2][16];
  tw_status status = check_texts(r, error);
  if (status != TW_OK) return status;
  snprintf(number[0], sizeof number[0], "%d", r->iteration);
  snprintf(number[1], sizeof number[1], "%d", r->iterations);
  prompt p = {0};
  set_common(&p, r);
  set(&p, "isa", isa_of(r));
  const bool feedback = !leaves_out(r, TW_WITHOUT_FEEDBACK);
  set_owned(&p, "feedback", feedback ? write_feedback(r) : NULL);
  set_owned(&p, "findings", feedback ? write_findings(r) : NULL);
  set(&p, "inner_loop", feedback ? r->inner_loop : NULL);
  set_owned(&p, "history", feedback ? write_history(r) : NULL);
  set_owned(&p, "attempts", feedback ? write_attempts(r) : NULL);
  set_owned(&p, "menu", r->translates ? NULL : write_options(r, random));
  set_owned(&p, "ancestors", write_ancestors(r));
  set(&p, "iteration", number[0]);
  set(&p, "iterations", number[1]);
  static const char *const questions[] = {"invent", "direct", "two_steps"};
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
    set(&p, questions[i], strcmp(questions[i], question) || r->translates ? NULL : "yes");
  set(&p, "translate", r->translates ? "yes" : NULL);
  set_owned(&p, "complete", r->parent->complete ? write_percentage(r->parent->complete) : NULL);
  return fill_template(&p, r->texts, "plan", out, error);
}

tw_status tw_prompt_plan(const tw_request *r, tw_random *random, char **out, tw_error *error) {
  return write_plan_prompt(r, random, "two_steps", out, error);
}

tw_status tw_prompt_direct(const tw_request *r, tw_random *random, char **out, tw_error *error) {
  return write_plan_prompt(r, random, "direct", out, error);
}

tw_status tw_prompt_invent(const tw_request *r, tw_random *random, char **out, tw_error *error) {
  tw_request all = *r;
  all.dropout = 0; /* it must not repeat options of the menu */
  return write_plan_prompt(&all, random, "invent", out, error);
}

tw_status tw_prompt_implement(const tw_request *r, const char *plan, const tw_candidate *failed, char **out,
                              tw_error *error) {
  tw_status status = check_texts(r, error);
  if (status != TW_OK) return status;
  const tw_candidate *kernel = failed ? last_kernel(r, failed) : NULL;
  prompt p = {0};
  set_common(&p, r);
  char *example = leaves_out(r, TW_WITHOUT_EXAMPLES) ? NULL : find_examples(r, plan);
  const char *const users[] = {r->parent->source, plan, example, kernel ? kernel->source : NULL,
                               r->mate ? r->mate->source : NULL};
  if (isa_of(r) && r->filters_isa)
    set_owned(&p, "isa", tw_relevant_entries(isa_of(r), sizeof users / sizeof *users, users));
  else
    set(&p, "isa", isa_of(r));
  set(&p, "plan", plan);
  set_owned(&p, "example", example);
  set(&p, "failed", kernel ? kernel->source : NULL);
  set_owned(&p, "failure", kernel ? write_failure(r, kernel, MESSAGE_SHOWN) : NULL);
  const bool is_reply = failed && failed->reply;
  set_owned(&p, "reply", is_reply ? quote(failed->reply) : NULL);
  set(&p, "trouble", is_reply ? failed->message : NULL);
  set(&p, "translate", r->translates ? "yes" : NULL);
  set_owned(&p, "earlier", failed ? write_earlier(r, failed, kernel) : NULL);
  return fill_template(&p, r->texts, "implement", out, error);
}

/* ---- a plan's beginning ---- */

/* After "3." or "3)" and blanks: the number of an item, which is no part of a text that begins with a number. */
static const char *skip_item_number(const char *text) {
  const size_t n = strspn(text, "0123456789");
  return n > 0 && (text[n] == '.' || text[n] == ')') && !isdigit((unsigned char)text[n + 1])
             ? text + n + 1 + strspn(text + n + 1, " \t*_`\"")
             : text;
}

/* The text after `mark` at the beginning of a line, regardless of Markdown around it; NULL if no line has the mark. */
static const char *find_mark(const char *reply, const char *mark) {
  reply = tw_skip_byte_order_mark(reply);
  for (const char *line = reply; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    const char *at = skip_item_number(line + strspn(line, " \t*#>-"));
    at += strspn(at, "*_#");
    if (strncasecmp(at, mark, strlen(mark)) != 0) continue;
    at += strlen(mark);
    at += strspn(at, "*_");
    if (*at == ':') return skip_item_number(at + 1 + strspn(at + 1, " \t*_`\""));
  }
  return NULL;
}

static void copy_line(const char *text, const char *stop, char *out, size_t size) {
  size_t n = text ? strcspn(text, stop) : 0, k = 0;
  while (n > 0 && strchr(" \t\r*_`\".", text[n - 1])) n--;
  for (size_t i = 0; i < n && k + 1 < size; i++) out[k++] = iscntrl((unsigned char)text[i]) ? ' ' : text[i];
  while (k > 0 && k + 1 == size && ((unsigned char)out[k - 1] & 0x80)) k--; /* does not cut a character */
  out[k] = '\0';
}

enum { OWN_OPTIONS = 8, OPTION_NAME = 60, OPTION_LINE = 400 };

char *tw_prompt_read_menu(const char *reply) {
  tw_text t = {0};
  int n = 0;
  reply = tw_skip_byte_order_mark(reply);
  for (const char *line = reply; *line && n < OWN_OPTIONS; line += strcspn(line, "\n"), line += *line == '\n') {
    const char *name = skip_item_number(line + strspn(line, " \t*#>-"));
    name += strspn(name, " \t*_`");
    const size_t length = strcspn(name, "*_`:\n"), marks = strspn(name + length, "*_`");
    const char *what = name + length + marks;
    if (length == 0 || length > OPTION_NAME || *what != ':') continue;
    what += 1 + strspn(what + 1, " \t*_`");
    char text[OPTION_LINE];
    copy_line(what, "\n", text, sizeof text);
    if (!*text) continue;
    tw_text_add(&t, "%.*s: %s\n", (int)length, name, text);
    n++;
  }
  return tw_text_take(&t);
}

int tw_prompt_read_complete(const char *reply) {
  int complete = 0;
  for (const char *at = reply; (at = find_mark(at, "complete"));)
    if (isdigit((unsigned char)*at)) complete = atoi(at) > 100 ? 100 : atoi(at);
  return complete;
}

bool tw_prompt_read_plan(const char *reply, char lever[TW_LEVER_MAX], char why[TW_WHY_MAX]) {
  const char *option = find_mark(reply, "option");
  copy_line(option, "\n:", lever, TW_LEVER_MAX);
  copy_line(find_mark(reply, "why"), "\n", why, TW_WHY_MAX);
  if (!*lever) snprintf(lever, TW_LEVER_MAX, "other");
  if (!*why) copy_line(reply + strspn(reply, " \t\r\n"), "\n", why, TW_WHY_MAX);
  return option || find_mark(reply, "plan");
}
