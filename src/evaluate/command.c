/* command.c - a backend of processes that a user's command starts, one for each slot (talk.h).
 *
 * A command that ends without an answer is started once more, with the same trial: a connection was lost, or a machine
 * restarted. If it ends again, the trial could not be evaluated: the kernel gets no verdict, because either of the two
 * may be the cause. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strings.h"
#include "evaluate/backend.h"
#include "evaluate/talk.h"

enum { TRIES = 2 };

typedef struct commands {
  char *command;
  size_t n;
  tw_talk slot[];
} commands;

static void evaluate(tw_backend *b, size_t number, const tw_trial *trial, const tw_case *data, const tw_bound *bound,
                     const volatile int *interrupt, tw_outcome *out) {
  (void)data;
  commands *c = b->own;
  const tw_stop until = {.deadline = trial->seconds > 0 ? tw_now() + trial->seconds : 0, .interrupt = interrupt};
  tw_talk_evaluate(&c->slot[number % c->n], c->command, trial, bound, &until, TRIES, out);
}

static void close_commands(tw_backend *b) {
  commands *c = b->own;
  for (size_t i = 0; i < c->n; i++) tw_talk_stop(&c->slot[i], false);
  free(c->command);
  free(c);
  free(b);
}

tw_status tw_backend_command(const char *command, size_t slots, tw_backend **out, tw_error *error) {
  tw_backend *b = tw_new(1, sizeof *b);
  commands *c = calloc(1, sizeof *c + slots * sizeof c->slot[0]);
  if (c) c->command = strdup(command);
  if (!b || !c || !c->command) {
    free(b);
    if (c) free(c->command);
    free(c);
    return tw_no_memory(error, "evaluating");
  }
  c->n = slots;
  for (size_t i = 0; i < slots; i++) c->slot[i] = TW_TALK_NONE;
  *b = (tw_backend){.name = "command", .is_elsewhere = true, .own = c, .evaluate = evaluate, .close = close_commands};
  *out = b;
  return TW_OK;
}
