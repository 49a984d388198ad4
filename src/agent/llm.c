/* llm.c - an agent that asks language models (or a command): first for plans, then for kernels that follow them.
 *
 * Method: Autocomp (C. Hong et al., section 3): each plan is a separate question, about a menu of which a part is
 * hidden, and so is each kernel; kernels that fail are sent back with the error. prompt.h has the texts, ask.h the
 * budget, chat.h the servers, reply.h the parsing of replies.
 *
 * Named llm:MODEL[@URL] or exec:COMMAND; two of them with " then " between: the first plans, the second writes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/ask.h"
#include "agent/prompt.h"
#include "agent/prompt_texts.h"
#include "agent/reply.h"
#include "base/files.h"
#include "base/status.h"

/* A request's questions within its place: plans, and kernels by plan, alternative and how often they were repaired. */
enum { PLAN_BITS = 6, ALTERNATIVE_BITS = 6, REPAIR_BITS = 3, KERNEL_MARK = 1 << 15, MENU_MARK = 1 << 14 };

typedef struct llm {
  tw_agent agent;
  tw_model_options options;
  tw_chat *planner, *coder; /* may be the same chat */
  tw_prompt_texts *texts;   /* from options.prompts; NULL: the built-in ones */
  char *context;            /* from options.context; NULL: none */
  tw_account account;
} llm;

typedef struct plan_detail {
  size_t number;
  char *text;
  const tw_candidate *mate; /* the other program that the plan's prompt showed; NULL: none */
} plan_detail;

/* Whether the request was not sent because the agent has stopped. A sent and failed request does not stop the agent. */
static bool is_over(const tw_question *q) {
  return tw_status_group(q->status) == TW_MISSING && q->trouble == TW_CHAT_FINE;
}

static void free_plan(tw_agent_plan *plan) {
  plan_detail *detail = plan->detail;
  if (detail) free(detail->text);
  free(detail);
  plan->detail = NULL;
}

/* ---- plans ---- */

/* The request with the parts that all its prompts share. */
static tw_request with_texts(const llm *m, const tw_request *r) {
  tw_request own = *r;
  own.texts = m->texts;
  own.user_text = m->context;
  own.ancestors = (size_t)m->options.ancestors;
  own.shuffles_menu = m->options.shuffle_menu;
  own.filters_isa = m->options.filter_isa;
  return own;
}

/* The random choices for plan `number`. The same request gives the same draws. */
static tw_request with_draws(const llm *m, const tw_request *r, size_t number) {
  tw_request own = *r;
  tw_random random;
  tw_random_seed_stream(&random, r->place, number);
  const double hide = tw_random_real(&random), combine = tw_random_real(&random);
  if (hide < m->options.hide_scores) own.without |= TW_WITHOUT_FEEDBACK;
  if (combine < m->options.combine && r->n_beam > 1) {
    const size_t other = (size_t)tw_random_below(&random, r->n_beam - 1);
    size_t at = 0;
    while (at < r->n_beam && r->beam[at] != r->parent) at++;
    own.mate = r->beam[other + (other >= at)];
  }
  return own;
}

/* Takes ownership of the answer. A reply without a plan counts as no answer. */
static void add_plan(llm *m, const tw_request *r, size_t number, char *answer, tw_proposal *p) {
  tw_agent_plan *plan = &p->plan[p->n];
  *plan = (tw_agent_plan){.n_alternatives = r->kernels};
  const bool is_plan = tw_prompt_read_plan(answer, plan->lever, plan->why);
  plan_detail *detail = is_plan ? malloc(sizeof *detail) : NULL;
  if (!is_plan) tw_account_useless(&m->account, false, "the reply names no OPTION and has no PLAN");
  if (!detail) {
    free(answer);
    return;
  }
  *detail = (plan_detail){number, answer, r->n_recorded ? NULL : with_draws(m, r, number).mate};
  plan->detail = detail;
  p->n++;
}

/* Takes plans of an earlier search in order, without questions. */
static void take_recorded(llm *m, const tw_request *r, tw_proposal *p) {
  for (size_t i = 0; i < r->plans && i < r->n_recorded; i++) {
    char *copy = strdup(r->recorded[i]);
    if (copy) add_plan(m, r, i, copy, p);
  }
}

/* Makes the plans of one request from its answers. */
static void take_plans(llm *m, const tw_request *r, tw_question *q, tw_proposal *p) {
  *p = (tw_proposal){.plan = p->plan};
  if (r->n_recorded) {
    take_recorded(m, r, p);
    return;
  }
  for (size_t i = 0; i < r->plans; i++) {
    if (q[i].answer) {
      add_plan(m, r, i, q[i].answer, p);
    } else if (p->status != TW_INTERRUPTED && q[i].status != TW_OK) {
      p->error = q[i].error;
      p->status = q[i].status == TW_INTERRUPTED || is_over(&q[i]) ? q[i].status : TW_FAILED;
      p->error.status = p->status;
    }
  }
  if (p->n > 0) p->status = TW_OK; /* the account has the other failures */
}

/* Makes plans whose text comes with the kernel. */
static void plan_without_questions(llm *m, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  for (size_t i = 0; i < n; i++) {
    tw_proposal *p = &proposal[i];
    *p = (tw_proposal){.plan = p->plan};
    if (request[i]->n_recorded) take_recorded(m, request[i], p);
    while (!request[i]->n_recorded && p->n < request[i]->plans) {
      plan_detail *detail = calloc(1, sizeof *detail);
      if (!detail) break;
      *detail = (plan_detail){p->n, NULL, with_draws(m, request[i], p->n).mate};
      p->plan[p->n++] =
          (tw_agent_plan){.lever = "plan and kernel", .n_alternatives = request[i]->kernels, .detail = detail};
    }
  }
}

/* Asks for options for each parent's own program: more_menu[i], malloc'ed; NULL without an answer. */
static void ask_for_menus(llm *m, const char *name, size_t n, const tw_request *const request[], char *more_menu[]) {
  tw_question *question = calloc(n + 1, sizeof *question);
  for (size_t i = 0; question && i < n; i++) {
    const tw_request own = with_texts(m, request[i]);
    tw_random random = own.random;
    question[i] = (tw_question){.chat = m->planner, .place = own.place | MENU_MARK, .memo = own.memo, .stop = own.stop};
    question[i].status =
        own.n_recorded ? TW_MISSING : tw_prompt_invent(&own, &random, &question[i].prompt, &question[i].error);
  }
  if (question) tw_ask(&m->options, &m->account, name, n, question);
  for (size_t i = 0; question && i < n; i++) {
    more_menu[i] = question[i].answer ? tw_prompt_read_menu(question[i].answer) : NULL;
    free(question[i].answer);
    free(question[i].prompt);
  }
  free(question);
}

static void plan(tw_agent *agent, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  llm *m = agent->own;
  if (m->options.one_question) {
    plan_without_questions(m, n, request, proposal);
    return;
  }
  char **more_menu = calloc(n + 1, sizeof *more_menu);
  if (m->options.own_menu && more_menu && !(n > 0 && request[0]->translates))
    ask_for_menus(m, agent->name, n, request, more_menu);
  size_t wanted = 0, k = 0;
  for (size_t i = 0; i < n; i++) wanted += request[i]->plans;
  tw_question *question = calloc(wanted + 1, sizeof *question);
  for (size_t i = 0; i < n; i++) {
    tw_diagnosis diagnosis;
    tw_request own = with_texts(m, request[i]);
    if (!own.n_recorded && tw_prompt_diagnose(&own, &diagnosis)) own.diagnosis = &diagnosis;
    char *inner_loop = own.n_recorded ? NULL : tw_prompt_inner_loop(&own);
    own.inner_loop = inner_loop;
    own.more_menu = more_menu ? more_menu[i] : NULL;
    const tw_request *r = &own;
    tw_random random = r->random;
    for (size_t j = 0; question && j < r->plans; j++, k++) {
      tw_question *q = &question[k];
      *q = (tw_question){.chat = m->planner, .place = r->place | j, .memo = r->memo, .stop = r->stop};
      const tw_request drawn = with_draws(m, r, j);
      q->status = r->n_recorded ? TW_MISSING : tw_prompt_plan(&drawn, &random, &q->prompt, &q->error);
    }
    free(inner_loop);
  }
  if (question) tw_ask(&m->options, &m->account, agent->name, wanted, question);
  k = 0;
  for (size_t i = 0; i < n; k += request[i++]->plans) {
    if (question)
      take_plans(m, request[i], question + k, &proposal[i]);
    else
      proposal[i].status = tw_fail(&proposal[i].error, TW_NO_MEMORY, "no memory for questions");
  }
  for (size_t i = 0; question && i < wanted; i++) free(question[i].prompt);
  for (size_t i = 0; more_menu && i < n; i++) free(more_menu[i]);
  free(more_menu);
  free(question);
}

/* ---- kernels ---- */

static void copy_text(char *out, size_t size, const char *text) { snprintf(out, size, "%s", text); }

static void take_kernel(llm *m, const tw_order *o, tw_question *q, tw_kernel *out) {
  *out = (tw_kernel){.n_levers = 1, .exchange = q->place};
  copy_text(out->lever[0], sizeof out->lever[0], o->plan->lever);
  copy_text(out->why, sizeof out->why, o->plan->why);
  copy_text(out->step, sizeof out->step, o->plan->lever);
  if (!q->answer) {
    out->message = q->error; /* one lost request counts as a tried kernel; the account decides when to stop */
    out->message.status = q->status == TW_INTERRUPTED || is_over(q) ? q->status : TW_FAILED;
    return;
  }
  const plan_detail *detail = o->plan->detail;
  if (!detail->text) tw_prompt_read_plan(q->answer, out->lever[0], out->why);
  if (!detail->text) copy_text(out->step, sizeof out->step, out->lever[0]);
  if (o->request->translates) out->complete = tw_prompt_read_complete(q->answer);
  const char *shown = tw_prompt_edited(o->request, o->failed)->source;
  if (tw_reply_source(q->answer, shown, &out->source, &out->message) == TW_OK) {
    tw_account_useful(&m->account);
  } else {
    tw_account_useless(&m->account, true, out->message.text);
    out->reply = q->answer;
    q->answer = NULL;
  }
}

/* Plan and kernel in one answer; a repair follows the plan that came with the failed kernel. */
static tw_status write_direct(const llm *m, const tw_order *o, const tw_request *own, char **prompt, tw_error *error) {
  const plan_detail *detail = o->plan->detail;
  if (o->failed) {
    char text[TW_STEP_MAX + TW_WHY_MAX + 40];
    snprintf(text, sizeof text, "OPTION: %s\nWHY: %s\n", o->failed->step, o->failed->why);
    return tw_prompt_implement(own, text, o->failed, prompt, error);
  }
  tw_random random;
  tw_request drawn = with_draws(m, own, detail->number);
  drawn.mate = own->mate;
  tw_random_seed_stream(&random, own->place, (uint64_t)(detail->number + 1) << 16 | o->alternative);
  char *inner_loop = tw_prompt_inner_loop(own);
  drawn.inner_loop = inner_loop;
  const tw_status status = tw_prompt_direct(&drawn, &random, prompt, error);
  free(inner_loop);
  return status;
}

static void implement(tw_agent *agent, size_t n, const tw_order order[], tw_kernel kernel[]) {
  llm *m = agent->own;
  tw_question *question = calloc(n + 1, sizeof *question);
  for (size_t i = 0; question && i < n; i++) {
    const tw_order *o = &order[i];
    const plan_detail *detail = o->plan->detail;
    tw_question *q = &question[i];
    const uint64_t within = KERNEL_MARK |
                            (detail->number & ((1 << PLAN_BITS) - 1)) << (ALTERNATIVE_BITS + REPAIR_BITS) |
                            (o->alternative & ((1 << ALTERNATIVE_BITS) - 1)) << REPAIR_BITS |
                            ((uint64_t)o->repaired & ((1 << REPAIR_BITS) - 1));
    *q = (tw_question){.chat = m->coder,
                       .place = o->request->place | within,
                       .kernel = true,
                       .memo = o->request->memo,
                       .stop = o->request->stop};
    tw_request own = with_texts(m, o->request);
    own.mate = detail->mate;
    q->status = detail->text ? tw_prompt_implement(&own, detail->text, o->failed, &q->prompt, &q->error)
                             : write_direct(m, o, &own, &q->prompt, &q->error);
  }
  if (question) tw_ask(&m->options, &m->account, agent->name, n, question);
  for (size_t i = 0; i < n; i++) {
    if (question) {
      take_kernel(m, &order[i], &question[i], &kernel[i]);
      free(question[i].answer);
      free(question[i].prompt);
    } else {
      kernel[i] = (tw_kernel){0};
      tw_fail(&kernel[i].message, TW_NO_MEMORY, "no memory for questions");
    }
  }
  free(question);
}

/* ---- opening and closing ---- */

static void close_llm(tw_agent *agent, tw_text *notes) {
  llm *m = agent->own;
  if (notes) tw_account_print(&m->account, agent->name, notes);
  tw_chat *const chats[] = {m->planner, m->coder};
  for (size_t i = 0; notes && i < (m->coder == m->planner ? 1 : 2); i++)
    if (tw_chat_dropped(chats[i]))
      tw_text_add(notes, "%s: the server rejects the parameter '%s'; requests were sent without it\n",
                  tw_chat_name(chats[i]), tw_chat_dropped(chats[i]));
  tw_account_close(&m->account);
  if (m->coder != m->planner) tw_chat_close(m->coder);
  tw_chat_close(m->planner);
  tw_prompt_texts_free(m->texts);
  free(m->context);
  free((char *)(uintptr_t)agent->name);
  free(m);
}

/* " then llm:..." or " then exec:..."; NULL if one model does both. */
static const char *find_second(const char *text) {
  const char *llm_then = strstr(text, " then llm:"), *exec_then = strstr(text, " then exec:");
  return llm_then && (!exec_then || llm_then < exec_then) ? llm_then : exec_then;
}

static tw_status open_chats(llm *m, const char *text, tw_error *error) {
  const tw_chat_options options = {.seconds = m->options.seconds, .at_once = m->options.at_once};
  const char *second = find_second(text);
  char *first = second ? strndup(text, (size_t)(second - text)) : strdup(text);
  if (!first) return tw_fail(error, TW_NO_MEMORY, "no memory for a model");
  tw_status status = tw_chat_open(first, &options, &m->planner, error);
  free(first);
  m->coder = m->planner;
  if (status == TW_OK && second) status = tw_chat_open(second + strlen(" then "), &options, &m->coder, error);
  return status;
}

enum { CONTEXT_MOST = 1 << 20, ANCESTORS_MOST = 16, TRANSLATIONS_MOST = 1000 };

static bool is_effort(const char *text) {
  return !strcmp(text, "low") || !strcmp(text, "medium") || !strcmp(text, "high");
}

static bool is_command(const tw_chat *chat) { return !strncmp(tw_chat_name(chat), "exec:", 5); }

/* A user's template must have the slots of the user's options. */
static tw_status check_slot(const llm *m, const char *template, const char *slot, tw_error *error) {
  char mark[40];
  snprintf(mark, sizeof mark, "{{%s}}", slot);
  return strstr(tw_prompt_template(m->texts, template), mark)
             ? TW_OK
             : tw_fail(error, TW_USAGE, "%s/%s.txt has no slot %s, so prompts would lack what was asked for; add it",
                       m->options.prompts ? m->options.prompts : "", template, mark);
}

static tw_status check_model_options(const llm *m, tw_error *error) {
  const tw_model_options *o = &m->options;
  if (o->effort && !is_effort(o->effort))
    return tw_fail(error, TW_USAGE, "reasoning effort '%s' is unknown; expected low, medium or high", o->effort);
  if (o->effort && is_command(m->planner) && is_command(m->coder))
    return tw_fail(error, TW_USAGE,
                   "the reasoning effort is for llm:MODEL; give a command its own option in exec:COMMAND");
  if (!(o->hide_scores >= 0 && o->hide_scores <= 1 && o->combine >= 0 && o->combine <= 1))
    return tw_fail(error, TW_USAGE, "hide_scores and combine are probabilities; expected 0 to 1");
  if (o->ancestors < 0 || o->ancestors > ANCESTORS_MOST)
    return tw_fail(error, TW_USAGE, "ancestors=%d is out of range; expected 0 to %d", o->ancestors, ANCESTORS_MOST);
  tw_status status = TW_OK;
  if (o->context) status = check_slot(m, "plan", "context", error);
  if (o->context && status == TW_OK) status = check_slot(m, "implement", "context", error);
  if (o->combine > 0 && status == TW_OK) status = check_slot(m, "plan", "other", error);
  if (o->ancestors && status == TW_OK) status = check_slot(m, "plan", "ancestors", error);
  if (o->one_question && o->own_menu)
    return tw_fail(error, TW_USAGE, "--one-question and --own-menu cannot be combined; remove one");
  if (o->one_question && m->coder != m->planner)
    return tw_fail(error, TW_USAGE, "--one-question requires one model for plan and kernel; name one, without 'then'");
  if (o->one_question && status == TW_OK) status = check_slot(m, "plan", "#direct", error);
  if (o->own_menu && status == TW_OK) status = check_slot(m, "plan", "#invent", error);
  if (o->translate < 0 || o->translate > TRANSLATIONS_MOST)
    return tw_fail(error, TW_USAGE, "translate=%d is out of range; expected 0 to %d", o->translate, TRANSLATIONS_MOST);
  if (o->translate && o->one_question)
    return tw_fail(error, TW_USAGE, "--translate and --one-question cannot be combined; remove one");
  if (o->translate && status == TW_OK) status = check_slot(m, "plan", "#translate", error);
  if (o->translate && status == TW_OK) status = check_slot(m, "implement", "#translate", error);
  return status;
}

tw_status tw_llm_check_unused(const tw_model_options *o, tw_error *error) {
  const char *unused = o->prompts           ? "prompts"
                       : o->context         ? "a context"
                       : o->effort          ? "a reasoning effort"
                       : o->ancestors       ? "ancestors"
                       : o->combine > 0     ? "combined programs"
                       : o->hide_scores > 0 ? "hidden scores"
                       : o->shuffle_menu    ? "a shuffled menu"
                       : o->one_question    ? "one question"
                       : o->own_menu        ? "a menu for each program"
                       : o->filter_isa      ? "a filtered language"
                       : o->translate       ? "a translation"
                                            : NULL;
  return unused
             ? tw_fail(error, TW_USAGE,
                       "%s: only for agents that ask language models, and no agent does; add llm:MODEL or exec:COMMAND",
                       unused)
             : TW_OK;
}

/* The user's text for all prompts. */
static tw_status read_context(llm *m, tw_error *error) {
  size_t length = 0;
  if (!m->options.context) return TW_OK;
  const tw_status status = tw_file_read(m->options.context, CONTEXT_MOST, &m->context, &length, error);
  if (status != TW_OK) return status;
  return strlen(m->context) == length && length > 0
             ? TW_OK
             : tw_fail(error, TW_USAGE, "the context %s is empty or no text", m->options.context);
}

tw_status tw_llm_open(const char *text, const tw_target *target, const tw_model_options *options, tw_agent **out,
                      tw_error *error) {
  *out = NULL;
  llm *m = calloc(1, sizeof *m);
  if (!m) return tw_fail(error, TW_NO_MEMORY, "no memory for an agent");
  if (options) m->options = *options;
  char *name = NULL;
  tw_status status = open_chats(m, text, error);
  if (status == TW_OK && m->options.prompts)
    status = tw_prompt_texts_read(m->options.prompts, target, &m->texts, error);
  if (status == TW_OK) status = check_model_options(m, error);
  if (status == TW_OK) status = read_context(m, error);
  if (status == TW_OK && asprintf(&name, m->coder == m->planner ? "%s" : "%s then %s", tw_chat_name(m->planner),
                                  tw_chat_name(m->coder)) < 0)
    status = tw_fail(error, TW_NO_MEMORY, "no memory for an agent");
  if (status != TW_OK) {
    if (m->coder != m->planner) tw_chat_close(m->coder);
    tw_chat_close(m->planner);
    tw_prompt_texts_free(m->texts);
    free(m->context);
    free(m);
    return status;
  }
  tw_account_open(&m->account);
  m->agent = (tw_agent){.name = name,
                        .asks_models = true,
                        .max_repairs = m->options.fixes == 0  ? 1
                                       : m->options.fixes < 0 ? 0
                                                              : m->options.fixes,
                        .translations = m->options.translate,
                        .own = m,
                        .plan = plan,
                        .implement = implement,
                        .free_plan = free_plan,
                        .close = close_llm};
  *out = &m->agent;
  return TW_OK;
}
