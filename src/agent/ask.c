/* ask.c - see ask.h. The answers do not depend on the order of the threads. The set of questions before a budget ends
 * does depend on it; the search reports that a budget ended. */
#define _GNU_SOURCE
#include "agent/ask.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/strings.h"

enum {
  AT_ONCE = 4,
  USELESS_MOST = 24,  /* replies without a kernel in a row */
  UNANSWERED_MOST = 6 /* requests without an answer in a row */
};

void tw_account_open(tw_account *a) {
  *a = (tw_account){0};
  pthread_mutex_init(&a->lock, NULL);
  pthread_cond_init(&a->freed, NULL);
}

void tw_account_close(tw_account *a) {
  for (int i = 0; i < TW_CHAT_TROUBLES; i++) free(a->trouble[i]);
  free(a->useless_why[0]);
  free(a->useless_why[1]);
  free(a->spent_why);
  pthread_cond_destroy(&a->freed);
  pthread_mutex_destroy(&a->lock);
}

void tw_account_useless(tw_account *a, bool kernel, const char *why) {
  pthread_mutex_lock(&a->lock);
  if (a->useless[kernel]++ == 0) a->useless_why[kernel] = strdup(why);
  a->useless_in_a_row++;
  pthread_mutex_unlock(&a->lock);
}

void tw_account_useful(tw_account *a) {
  pthread_mutex_lock(&a->lock);
  a->useless_in_a_row = 0;
  pthread_mutex_unlock(&a->lock);
}

/* TW_MISSING: further requests would fail like the last ones. */
static tw_status check_hope(tw_account *a, const char *agent, tw_error *error) {
  pthread_mutex_lock(&a->lock);
  const size_t useless = a->useless_in_a_row, unanswered = a->unanswered_in_a_row;
  pthread_mutex_unlock(&a->lock);
  if (useless >= USELESS_MOST)
    return tw_fail(error, TW_MISSING, "%s gave no kernel in %zu answers in a row; it gets no more requests", agent,
                   useless);
  if (unanswered >= UNANSWERED_MOST)
    return tw_fail(error, TW_MISSING, "%s gave no answer to %zu requests in a row; it gets no more requests", agent,
                   unanswered);
  return TW_OK;
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

void tw_account_print(tw_account *a, const char *agent, tw_text *out) {
  if (a->asked + a->recalled == 0) return;
  tw_text_add(out, "%s: %zu request%s", agent, a->asked, plural(a->asked));
  if (a->recalled) tw_text_add(out, ", %zu more known from the journal", a->recalled);
  const char *about = a->estimated ? "about " : "";
  if (a->tokens_in + a->tokens_out > 0)
    tw_text_add(out, ", %s%.0f tokens in and %.0f out%s", about, a->tokens_in, a->tokens_out,
                a->estimated ? " (estimated as characters / 4)" : "");
  if (a->money > 0) tw_text_add(out, ", %s%.4g spent", about, a->money);
  tw_text_add(out, ", %.1f s of waiting for answers\n", a->seconds);
  if (a->spent)
    tw_text_add(out, "%s: the budget is used up (%s); the search went on without it\n", agent,
                a->spent_why ? a->spent_why : "?");
  for (int i = 0; i < TW_CHAT_TROUBLES; i++)
    if (a->troubles[i])
      tw_text_add(out, "%s: %zu request%s without an answer: %s\n", agent, a->troubles[i], plural(a->troubles[i]),
                  a->trouble[i] ? a->trouble[i] : "?");
  for (int kernel = 0; kernel < 2; kernel++)
    if (a->useless[kernel])
      tw_text_add(out, "%s: %zu answer%s without a %s; the first: %s\n", agent, a->useless[kernel],
                  plural(a->useless[kernel]), kernel ? "kernel" : "plan",
                  a->useless_why[kernel] ? a->useless_why[kernel] : "?");
}

/* ---- one request ---- */

static double price(const tw_model_options *o, const tw_exchange *e) {
  return 1e-6 * (o->price_in * e->tokens_in + o->price_out * e->tokens_out);
}

static double estimate_tokens(const char *text) { return text ? ceil((double)strlen(text) / 4) : 0; }

/* The expected tokens and cost of a request. */
static tw_exchange expect(const tw_model_options *o, const tw_account *a, const char *prompt) {
  tw_exchange e = {.tokens_in = estimate_tokens(prompt)};
  e.tokens_out = o->reply_tokens > 0 ? o->reply_tokens : a->answers ? a->tokens_out / (double)a->answers : e.tokens_in;
  e.money = price(o, &e);
  return e;
}

/* The budget that forbids one more question, in words; malloc'ed. NULL: the budgets allow it. */
static char *find_shortage(const tw_model_options *o, const tw_account *a, const tw_exchange *e, double tokens_reserved,
                           double money_reserved) {
  const double used = a->tokens_in + a->tokens_out, tokens = e->tokens_in + e->tokens_out;
  tw_text t = {0};
  if (o->questions > 0 && a->asked + a->recalled >= (size_t)o->questions) /* recalled questions count, too */
    tw_text_add(&t, "%d questions", o->questions);
  else if (o->tokens > 0 && used + tokens_reserved + tokens > o->tokens)
    tw_text_add(&t, "%.0f of %.0f tokens, and another question takes about %.0f", used, o->tokens, tokens);
  else if (o->money > 0 && a->money + money_reserved + e->money > o->money)
    tw_text_add(&t, "%.4g of %.4g spent, and another question costs about %.4g", a->money, o->money, e->money);
  return t.length ? tw_text_take(&t) : NULL;
}

static void wait_for_others(tw_account *a) {
  struct timespec soon; /* an interrupt is a flag and wakes no thread */
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 50000000;
  if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
  pthread_cond_timedwait(&a->freed, &a->lock, &soon);
}

/* A permitted request counts as sent, and its expected cost is reserved. */
static tw_status take_budget(const tw_model_options *o, tw_account *a, const char *name, tw_question *q,
                             tw_exchange *reserved) {
  tw_status status = TW_OK;
  pthread_mutex_lock(&a->lock);
  for (;; wait_for_others(a)) {
    *reserved = expect(o, a, q->prompt);
    char *now = find_shortage(o, a, reserved, a->tokens_reserved, a->money_reserved);
    char *ever = now ? find_shortage(o, a, reserved, 0, 0) : NULL;
    if (ever) {
      status = tw_fail(&q->error, TW_MISSING, "the budget for %s is used up: %s", name, ever);
      if (!a->spent_why) a->spent_why = strdup(ever);
      a->spent = true;
    } else if (now && tw_is_stopped(q->stop)) {
      status = tw_fail(&q->error, TW_INTERRUPTED, "stopped before the request");
    }
    free(ever);
    free(now);
    if (!now || status != TW_OK) break;
  }
  if (status == TW_OK) {
    a->asked++;
    a->tokens_reserved += reserved->tokens_in + reserved->tokens_out;
    a->money_reserved += reserved->money;
  }
  pthread_mutex_unlock(&a->lock);
  return status;
}

/* True unless the kind of failure shows that the server did not read the prompt. */
static bool is_charged(tw_chat_trouble trouble) {
  return trouble != TW_CHAT_UNREACHABLE && trouble != TW_CHAT_REFUSED && trouble != TW_CHAT_OVERLOADED &&
         trouble != TW_CHAT_STOPPED;
}

/* The tokens of a request if the model reports none. */
static void estimate(const tw_model_options *o, const tw_question *q, tw_exchange *e) {
  if (e->tokens_in + e->tokens_out > 0 || !is_charged(q->trouble)) return;
  e->tokens_in = estimate_tokens(q->prompt);
  e->tokens_out = estimate_tokens(e->answer);
  e->money = price(o, e);
}

/* A memo keeps counts without their origin. */
static bool is_estimate(const tw_exchange *e) {
  return e->tokens_in > 0 && e->tokens_in == estimate_tokens(e->asked) && e->tokens_out == estimate_tokens(e->answer);
}

static void add_tokens(tw_account *a, const tw_exchange *e) {
  a->tokens_in += e->tokens_in, a->tokens_out += e->tokens_out;
  a->money += e->money;
  a->answers += e->answer != NULL;
  a->estimated |= is_estimate(e);
}

static void enter(tw_account *a, const tw_exchange *e, const tw_exchange *reserved, const tw_question *q) {
  pthread_mutex_lock(&a->lock);
  add_tokens(a, e);
  a->seconds += e->seconds;
  a->tokens_reserved -= reserved->tokens_in + reserved->tokens_out;
  a->money_reserved -= reserved->money;
  pthread_cond_broadcast(&a->freed);
  if (q->trouble == TW_CHAT_FINE) a->unanswered_in_a_row = 0;
  if (q->trouble != TW_CHAT_FINE && q->trouble != TW_CHAT_STOPPED) {
    a->unanswered_in_a_row++;
    if (a->troubles[q->trouble]++ == 0) a->trouble[q->trouble] = strdup(q->error.text);
  }
  pthread_mutex_unlock(&a->lock);
}

static void recall(tw_account *a, const tw_exchange *e) {
  pthread_mutex_lock(&a->lock);
  a->recalled++;
  add_tokens(a, e); /* they count in the budget, too */
  pthread_mutex_unlock(&a->lock);
}

typedef struct asker {
  const tw_model_options *options;
  tw_account *account;
  const char *name;
  size_t n;
  tw_question *question;
  atomic_size_t next;
} asker;

static tw_exchange exchange_of(const tw_question *q) {
  return (tw_exchange){.place = q->place, .asked = q->prompt, .model = tw_chat_name(q->chat), .kernel = q->kernel};
}

/* All known answers first: they count in the budgets of new questions. */
static void recall_all(const asker *k) {
  for (size_t i = 0; i < k->n; i++) {
    tw_question *q = &k->question[i];
    tw_exchange e = exchange_of(q);
    if (q->status != TW_OK || !q->memo || !q->memo->recall(q->memo->context, k->name, &e)) continue;
    q->answer = e.answer;
    recall(k->account, &e);
  }
}

static void ask_one(const asker *k, tw_question *q) {
  const tw_model_options *o = k->options;
  tw_exchange e = exchange_of(q);
  if (q->answer) return; /* known */
  if (tw_is_stopped(q->stop)) {
    q->status = tw_fail(&q->error, TW_INTERRUPTED, "stopped before the request");
    return;
  }
  if ((q->status = check_hope(k->account, k->name, &q->error)) != TW_OK) return;
  tw_exchange reserved;
  if ((q->status = take_budget(o, k->account, k->name, q, &reserved)) != TW_OK) return;
  tw_chat_reply reply;
  const tw_chat_request request = {.prompt = q->prompt,
                                   .temperature = o->temperature == 0 ? 1 : o->temperature,
                                   .tokens_most = o->reply_tokens,
                                   .effort = o->effort,
                                   .interrupt = q->stop ? q->stop->interrupt : NULL};
  q->status = tw_chat_ask(q->chat, &request, &reply, &q->error);
  q->trouble = reply.trouble;
  e.tokens_in = (double)reply.tokens_in, e.tokens_out = (double)reply.tokens_out, e.seconds = reply.seconds;
  e.money = price(o, &e);
  e.answer = q->answer = reply.text;
  estimate(o, q, &e);
  enter(k->account, &e, &reserved, q);
  if (!q->answer) e.trouble = q->error.text;
  if (q->memo && q->trouble != TW_CHAT_STOPPED) q->memo->keep(q->memo->context, k->name, &e);
}

static void *work(void *context) {
  asker *k = context;
  for (size_t i; (i = k->next++) < k->n;)
    if (k->question[i].status == TW_OK) ask_one(k, &k->question[i]);
  return NULL;
}

void tw_ask(const tw_model_options *options, tw_account *account, const char *name, size_t n, tw_question question[]) {
  asker k = {.options = options, .account = account, .name = name, .n = n, .question = question};
  size_t most = options->at_once > 0 ? (size_t)options->at_once : AT_ONCE, started = 0;
  pthread_t thread[64];
  if (most > 64) most = 64;
  recall_all(&k);
  while (started + 1 < most && started + 1 < n && pthread_create(&thread[started], NULL, work, &k) == 0) started++;
  work(&k); /* this thread works, too: no further thread may be available */
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
}
