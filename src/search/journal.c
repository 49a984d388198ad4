/* journal.c - candidates, facts and exchanges of a search in its journal.
 *
 * Invariants:
 * - A candidate's key is (search, number), and numbers are the same in every run of a search: writing the same candidate
 *   twice changes nothing. So a resumed search need not know where it was interrupted.
 * - A verdict is recalled only for equal source text (the digest, which ignores comments, is just the index) and equal
 *   inputs (the seed). Verdicts about a missing compiler or device are never recalled.
 * - `wrong on fresh inputs` is decided at the end of a search: before that the candidate was correct. It is recalled as
 *   correct, so that a second run makes the same decisions. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/strings.h"
#include "evaluate/text.h"
#include "search/journal_file.h"

/* ---- writing ---- */

/* As text; NULL if empty. Frees the object. */
static char *print_object(json_t *object) {
  char *text = json_object_size(object) ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  return text;
}

static void bind_text(sqlite3_stmt *s, int column, const char *text) {
  sqlite3_bind_text(s, column, text, -1, SQLITE_TRANSIENT); /* NULL for NULL */
}

/* For example "tile + double buffer". */
static void bind_levers(sqlite3_stmt *s, int column, const tw_candidate *c) {
  char text[TW_LEVERS_MAX * (TW_LEVER_MAX + 3)] = "";
  for (size_t i = 0, used = 0; i < c->n_levers; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " + " : "", c->lever[i]);
  bind_text(s, column, text);
}

static void bind_number(sqlite3_stmt *s, int column, int number) {
  if (number == TW_NONE)
    sqlite3_bind_null(s, column);
  else
    sqlite3_bind_int(s, column, number);
}

static void bind_measurement(sqlite3_stmt *s, int column, const tw_candidate *c) {
  const tw_measurement *m = &c->measured;
  const double value[] = {m->cost, m->cycles, m->seconds, m->instructions, m->utilization};
  bool measured = tw_verdict_has_cost(c->verdict);
  for (int i = 0; i < 5 && measured; i++) sqlite3_bind_double(s, column + i, value[i]);
  char *counters = measured ? print_object(tw_counters_object(m)) : NULL,
       *memories = measured ? print_object(tw_memories_object(m)) : NULL;
  bind_text(s, column + 5, counters);
  bind_text(s, column + 6, memories);
  free(counters);
  free(memories);
}

/* Stores the meaning of counters, unless it is stored already. */
static void describe_counters(tw_journal *j, const tw_measurement *m) {
  for (size_t i = 0; i < m->n_counters; i++) {
    bind_text(j->statement[DESCRIBE], 1, m->counter[i].name);
    bind_text(j->statement[DESCRIBE], 2, m->counter[i].unit);
    bind_text(j->statement[DESCRIBE], 3, m->counter[i].help);
    sqlite3_step(j->statement[DESCRIBE]);
    sqlite3_reset(j->statement[DESCRIBE]);
  }
}

static bool write_candidate(tw_journal *j, tw_candidate *c) {
  sqlite3_stmt *s = j->statement[INSERT];
  size_t length = c->schedule ? tw_schedule_print(c->schedule, NULL, 0) : 0;
  char *schedule = c->schedule ? malloc(length + 1) : NULL;
  if (schedule) tw_schedule_print(c->schedule, schedule, length + 1);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  sqlite3_bind_int64(s, 1, j->search);
  sqlite3_bind_int(s, 2, c->number);
  sqlite3_bind_int(s, 3, c->iteration);
  bind_number(s, 4, c->parent);
  bind_number(s, 5, c->plan);
  bind_number(s, 6, c->twin);
  bind_levers(s, 7, c);
  bind_text(s, 8, c->why);
  bind_text(s, 9, schedule);
  bind_text(s, 10, c->verdict == TW_DUPLICATE ? NULL : c->source);
  sqlite3_bind_blob(s, 11, &c->source_digest, sizeof c->source_digest, SQLITE_TRANSIENT);
  bind_text(s, 12, tw_verdict_name(c->verdict));
  bind_text(s, 13, c->message);
  bind_measurement(s, 14, c);
  sqlite3_bind_double(s, 21, c->seconds);
  bind_text(s, 22, c->agent);
  bind_text(s, 23, c->step);
  bind_number(s, 24, c->repairs);
  sqlite3_bind_double(s, 25, j->before + tw_now() - j->opened);
  bind_text(s, 26, c->coverage[0] ? c->coverage : NULL);
  bind_text(s, 27, c->place[0] ? c->place : NULL);
  free(schedule);
  if (!j->has_described && c->measured.n_counters) describe_counters(j, &c->measured);
  j->has_described |= c->measured.n_counters > 0; /* all kernels of a target have the same counters */
  int code = sqlite3_step(s);
  if (code != SQLITE_DONE) snprintf(j->reason, sizeof j->reason, "%s", sqlite3_errmsg(j->db));
  sqlite3_reset(s);
  c->recorded = code == SQLITE_DONE;
  return c->recorded;
}

bool tw_journal_is_machine(tw_journal *j, const char *digest) {
  char *first = NULL;
  if (!j->evaluator[0]) { /* a full disk is reported elsewhere */
    tw_journal_query(j, "INSERT OR IGNORE INTO journal VALUES ('evaluator', ?1)", (const char *[]){digest, NULL}, NULL);
    tw_journal_query(j, "SELECT value FROM journal WHERE key = 'evaluator'", NULL, &first);
    if (first) snprintf(j->evaluator, sizeof j->evaluator, "%s", first);
    free(first);
  }
  return !j->evaluator[0] || !strcmp(j->evaluator, digest);
}

void tw_journal_state(tw_journal *j, const char *key, const char *text, double number) {
  if (!j) return;
  sqlite3_stmt *s = j->statement[STATE];
  sqlite3_bind_int64(s, 1, j->search);
  bind_text(s, 2, key);
  if (text)
    bind_text(s, 3, text);
  else
    sqlite3_bind_double(s, 3, number);
  sqlite3_step(s);
  sqlite3_reset(s);
}

void tw_journal_retry(tw_journal *j) {
  size_t kept = 0;
  for (size_t i = 0; i < j->n_waiting; i++)
    if (kept > 0 || !write_candidate(j, j->waiting[i])) /* after a failure, later candidates would fail too */
      j->waiting[kept++] = j->waiting[i];
  j->n_waiting = kept;
}

static bool wait_in_memory(tw_journal *j, tw_candidate *c) {
  if (j->n_waiting == j->room) {
    size_t room = j->room ? 2 * j->room : 64;
    tw_candidate **larger = tw_resize(j->waiting, room, sizeof(tw_candidate *));
    if (!larger) return false;
    j->waiting = larger;
    j->room = room;
  }
  j->waiting[j->n_waiting++] = c;
  return true;
}

/* Candidates of a transaction stay in memory until it has succeeded, so a full disk loses none. */
static void end_together(tw_journal *j) {
  bool done = true;
  for (size_t i = 0; done && i < j->n_waiting; i++) done = write_candidate(j, j->waiting[i]);
  if (done && tw_journal_run(j, "COMMIT")) {
    j->n_waiting = 0;
  } else {
    tw_journal_run(j, "ROLLBACK");
    j->has_described = false;
  }
}

void tw_journal_together(tw_journal *j, bool begin) {
  if (!j) return;
  if (!begin && j->is_together) end_together(j);
  j->is_together = begin && tw_journal_run(j, "BEGIN");
}

void tw_journal_record(tw_journal *j, tw_candidate *c) {
  if (c->verdict == TW_SKIPPED || c->verdict == TW_PENDING) return;
  if (j->is_together && wait_in_memory(j, c)) return;
  tw_journal_retry(j);
  if (j->n_waiting > 0 || !write_candidate(j, c)) wait_in_memory(j, c);
}

void tw_journal_amend(tw_journal *j, tw_candidate *c) {
  if (c->recorded && !write_candidate(j, c)) wait_in_memory(j, c);
}

const char *tw_journal_trouble(tw_journal *j) {
  tw_journal_retry(j);
  if (j->n_waiting == 0) return NULL;
  snprintf(j->trouble, sizeof j->trouble, "the last %zu candidates are not in the journal %s (%s)", j->n_waiting,
           j->path, j->reason);
  return j->trouble;
}

/* ---- reading ---- */

/* Reads units and meanings of the counters. */
static void explain_counters(tw_journal *j, tw_measurement *m) {
  for (size_t i = 0; i < m->n_counters; i++) {
    tw_counter *c = &m->counter[i];
    sqlite3_bind_text(j->statement[EXPLAIN], 1, c->name, -1, SQLITE_STATIC);
    if (sqlite3_step(j->statement[EXPLAIN]) == SQLITE_ROW) {
      const char *unit = tw_intern((const char *)sqlite3_column_text(j->statement[EXPLAIN], 0)),
                 *help = tw_intern((const char *)sqlite3_column_text(j->statement[EXPLAIN], 1));
      if (unit && help) *c = (tw_counter){c->name, unit, help, c->value};
    }
    sqlite3_reset(j->statement[EXPLAIN]);
  }
}

static void recall_objects(tw_journal *j, sqlite3_stmt *s, tw_measurement *m) {
  const char *counters = (const char *)sqlite3_column_text(s, 8), *memory = (const char *)sqlite3_column_text(s, 9);
  json_t *object = counters ? json_loads(counters, 0, NULL) : NULL;
  if (object && !tw_counters_read(object, m)) m->n_counters = 0;
  json_decref(object);
  object = memory ? json_loads(memory, 0, NULL) : NULL;
  if (object && !tw_memories_read(object, m)) m->n_memories = 0;
  json_decref(object);
  explain_counters(j, m);
}

static void recall_row(tw_journal *j, sqlite3_stmt *s, tw_verdict verdict, tw_candidate *c) {
  c->verdict = verdict == TW_UNCONFIRMED ? TW_CORRECT : verdict;
  const char *message = (const char *)sqlite3_column_text(s, 1);
  if (message && c->verdict != TW_CORRECT) c->message = strdup(message);
  c->measured = (tw_measurement){
      .cost = sqlite3_column_double(s, 2),
      .cycles = sqlite3_column_double(s, 3),
      .seconds = sqlite3_column_double(s, 4),
      .instructions = sqlite3_column_double(s, 5),
      .utilization = sqlite3_column_double(s, 6),
  };
  recall_objects(j, s, &c->measured);
  c->seconds = sqlite3_column_double(s, 7);
  c->recalled = true;
}

bool tw_journal_recall(tw_journal *j, tw_candidate *c) {
  sqlite3_stmt *s = j->statement[RECALL];
  bool found = false;
  sqlite3_bind_blob(s, 1, &c->source_digest, sizeof c->source_digest, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, c->source, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, j->seed);
  sqlite3_bind_int(s, 4, j->by_runner);
  while (!found && sqlite3_step(s) == SQLITE_ROW) {
    tw_verdict verdict;
    const char *name = (const char *)sqlite3_column_text(s, 0);
    found = name && tw_verdict_parse(name, &verdict) &&
            (tw_verdict_is_final(verdict) ||
             (verdict == TW_SLOWER && c->limit > 0 && sqlite3_column_double(s, 2) > c->limit));
    if (found && tw_verdict_has_cost(verdict)) found = sqlite3_column_double(s, 2) > 0;
    if (found) recall_row(j, s, verdict, c);
  }
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return found;
}

/* ---- exchanges ---- */

static void bind_exchange(const tw_journal *j, sqlite3_stmt *s, const char *agent, uint64_t place) {
  sqlite3_bind_int64(s, 1, j->search);
  sqlite3_bind_text(s, 2, agent, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, (sqlite3_int64)place);
}

/* A copy that lives as long as the journal; "" without memory. */
static const char *name_of_model(tw_journal *j, const char *model) {
  for (size_t i = 0; model && i < j->n_models; i++)
    if (!strcmp(j->models[i], model)) return j->models[i];
  char **larger = model ? tw_resize(j->models, j->n_models + 1, sizeof(char *)) : NULL;
  if (larger) j->models = larger;
  char *copy = larger ? strdup(model) : NULL;
  if (copy) j->models[j->n_models++] = copy;
  return copy ? copy : "";
}

static bool remember(void *context, const char *agent, tw_exchange *e) {
  tw_journal *j = context;
  sqlite3_stmt *s = j->statement[REMEMBER];
  pthread_mutex_lock(&j->lock);
  bind_exchange(j, s, agent, e->place);
  sqlite3_bind_text(s, 4, e->asked, -1, SQLITE_STATIC);
  bool found = sqlite3_step(s) == SQLITE_ROW && (e->answer = strdup((const char *)sqlite3_column_text(s, 1)));
  if (found) {
    e->model = name_of_model(j, (const char *)sqlite3_column_text(s, 0));
    e->tokens_in = sqlite3_column_double(s, 2);
    e->tokens_out = sqlite3_column_double(s, 3);
    e->money = sqlite3_column_double(s, 4);
    e->seconds = sqlite3_column_double(s, 5);
  }
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  pthread_mutex_unlock(&j->lock);
  return found;
}

/* A resumed search repeats requests that could not be written. The error for candidates reports the disk. */
static void keep_exchange(void *context, const char *agent, const tw_exchange *e) {
  tw_journal *j = context;
  sqlite3_stmt *s = j->statement[KEEP];
  pthread_mutex_lock(&j->lock);
  bind_exchange(j, s, agent, e->place);
  sqlite3_bind_text(s, 4, e->model ? e->model : "", -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 5, e->asked, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 6, e->answer ? e->answer : "", -1, SQLITE_STATIC);
  sqlite3_bind_double(s, 7, e->tokens_in);
  sqlite3_bind_double(s, 8, e->tokens_out);
  sqlite3_bind_double(s, 9, e->money);
  sqlite3_bind_double(s, 10, e->seconds);
  sqlite3_step(s);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  pthread_mutex_unlock(&j->lock);
}

tw_memo tw_journal_memo(tw_journal *j) { return (tw_memo){.context = j, .recall = remember, .keep = keep_exchange}; }
