/* exchanges.c - records the agents' questions to models, answered by the journal or by a model, and finally the result
 * of each. Texts stay in the journal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "base/strings.h"
#include "search/state.h"

/* The outcome of an answer; a kernel's result is recorded after its trial. */
static const char *first_outcome(const tw_exchange *e) {
  char lever[TW_LEVER_MAX], why[TW_WHY_MAX];
  if (e->kernel) return "no kernel";
  return e->answer && !tw_prompt_read_plan(e->answer, lever, why) ? "no plan" : "a plan";
}

/* Without memory the list is incomplete. */
static void note(tw_exchanges *x, const char *agent, const tw_exchange *e, bool recalled) {
  pthread_mutex_lock(&x->lock);
  if (x->n == x->room) {
    const size_t room = x->room ? 2 * x->room : 64;
    tw_model_call *larger = tw_resize(x->asked, room, sizeof *larger);
    if (larger) x->asked = larger, x->room = room;
  }
  if (x->n < x->room) {
    tw_model_call *a = &x->asked[x->n++];
    *a = (tw_model_call){.place = e->place,
                         .iteration = (int)((e->place >> TW_PLACE_BITS & UINT32_MAX) / TW_BEAM_MAX),
                         .tokens_in = e->tokens_in,
                         .tokens_out = e->tokens_out,
                         .money = e->money,
                         .seconds = e->seconds,
                         .recalled = recalled,
                         .candidate = TW_NONE};
    tw_append_cut(a->agent, sizeof a->agent, agent);
    tw_append_cut(a->model, sizeof a->model, e->model ? e->model : "");
    tw_append_cut(a->outcome, sizeof a->outcome, e->trouble ? e->trouble : first_outcome(e));
  }
  pthread_mutex_unlock(&x->lock);
}

static bool recall(void *context, const char *agent, tw_exchange *e) {
  tw_exchanges *x = context;
  if (!x->journal.recall || !x->journal.recall(x->journal.context, agent, e)) return false;
  note(x, agent, e, true);
  return true;
}

static void keep_exchange(void *context, const char *agent, const tw_exchange *e) {
  tw_exchanges *x = context;
  if (e->answer && x->journal.keep) x->journal.keep(x->journal.context, agent, e);
  note(x, agent, e, false);
}

tw_memo tw_exchanges_open(tw_exchanges *x) {
  *x = (tw_exchanges){0};
  pthread_mutex_init(&x->lock, NULL);
  return (tw_memo){.context = x, .recall = recall, .keep = keep_exchange};
}

static int by_place(const void *x, const void *y) {
  const tw_model_call *a = x, *b = y;
  if (a->iteration != b->iteration) return a->iteration < b->iteration ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

void tw_exchanges_take(const tw_state *s, tw_search_result *out) {
  const tw_exchanges *x = &s->exchanges;
  tw_model_call *list = x->n ? tw_new(x->n, sizeof *list) : NULL;
  if (!list) return;
  memcpy(list, x->asked, x->n * sizeof *list);
  qsort(list, x->n, sizeof *list, by_place);
  for (size_t i = 0; i < s->n; i++) {
    const tw_candidate *c = s->all[i], *e = tw_state_evaluated(s, c);
    for (size_t k = 0; c->exchange && k < x->n; k++) {
      if (list[k].place != c->exchange) continue;
      list[k].candidate = c->number;
      snprintf(list[k].outcome, sizeof list[k].outcome, "%s", tw_verdict_name(c->verdict));
      if (c->verdict == TW_NO_KERNEL && c->message) { /* in other cases the journal has more than one line */
        tw_append_cut(list[k].outcome, sizeof list[k].outcome, ": ");
        tw_append_cut(list[k].outcome, sizeof list[k].outcome, c->message);
      }
      list[k].cost = tw_verdict_has_cost(e->verdict) ? e->measured.cost : 0;
    }
  }
  out->exchange = list;
  out->n_exchanges = x->n;
}

void tw_exchanges_close(tw_exchanges *x) {
  pthread_mutex_destroy(&x->lock);
  free(x->asked);
}
