/* summary.c - the result of a search: the ladder for people, the object of --json, the files of --out. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/utilization.h"
#include "cli/cli.h"
#include "evaluate/stated.h"
#include "evaluate/text.h"

static double speedup(const tw_search_result *r, double cost) { return cost > 0 ? r->start.cost / cost : 0; }

static const char *noise_of(const cli_subject *s) {
  if (s->target->traits.simulated && s->target->traits.error_of) return s->target->traits.error_of;
  if (s->target->traits.error <= 0) return "half of the distance between the quartiles of the timed rounds";
  return s->target->traits.error_of;
}

static json_t *json_ladder(const cli_subject *s, const tw_search_result *r) {
  json_t *ladder = json_array();
  for (size_t i = 0; i < r->n_rungs; i++) {
    json_t *rung = json_object();
    json_object_set_new(rung, "step", tw_json_text(r->rung[i].step));
    json_object_set_new(rung, "why", tw_json_text(r->rung[i].why));
    json_object_set_new(rung, s->target->unit, cli_json_number(r->rung[i].cost));
    json_object_set_new(rung, "utilization", json_real(r->rung[i].utilization));
    json_object_set_new(rung, "speedup", json_real(speedup(r, r->rung[i].cost)));
    json_object_set_new(rung, "within_error", json_boolean(r->rung[i].within_error));
    json_array_append_new(ladder, rung);
  }
  return ladder;
}

/* The agents' questions to models, their cost, and their results. */
static json_t *json_exchanges(const cli_subject *s, const tw_search_result *r) {
  json_t *list = json_array();
  for (size_t i = 0; i < r->n_exchanges; i++) {
    const tw_model_call *a = &r->exchange[i];
    json_t *object = json_object();
    json_object_set_new(object, "agent", tw_json_text(a->agent));
    json_object_set_new(object, "model", tw_json_text(a->model));
    json_object_set_new(object, "iteration", json_integer(a->iteration));
    json_object_set_new(object, "tokens_in", cli_json_number(a->tokens_in));
    json_object_set_new(object, "tokens_out", cli_json_number(a->tokens_out));
    json_object_set_new(object, "money", json_real(a->money));
    json_object_set_new(object, "seconds", json_real(a->seconds));
    json_object_set_new(object, "recalled", json_boolean(a->recalled));
    json_object_set_new(object, "outcome", tw_json_text(a->outcome));
    if (a->candidate >= 0) json_object_set_new(object, "candidate", json_integer(a->candidate));
    if (a->cost > 0) json_object_set_new(object, s->target->unit, cli_json_number(a->cost));
    json_array_append_new(list, object);
  }
  return list;
}

/* A candidate of the result. All of its measurement if `full`, else cost and utilization. */
static json_t *json_candidate(const cli_subject *s, const tw_measurement *m, const char *source, bool full) {
  json_t *object = full ? cli_json_measurement(s, m) : json_object();
  json_object_set_new(object, s->target->unit, cli_json_number(m->cost));
  if (m->spread.rounds) json_object_set_new(object, "spread", tw_spread_object(&m->spread));
  json_object_set_new(object, "utilization", json_real(m->utilization));
  json_object_set_new(object, "source", tw_json_text(source ? source : ""));
  return object;
}

/* The meaning of a measurement's counters, for the report. */
static json_t *json_legend(const tw_measurement *m) {
  json_t *legend = json_object();
  for (size_t i = 0; i < m->n_counters; i++)
    json_object_set_new(legend, m->counter[i].name,
                        json_pack("{s:s, s:s}", "unit", m->counter[i].unit, "help", m->counter[i].help));
  return legend;
}

/* NULL: measured on this computer, as usual. */
static const char *cost_from(const tw_search_result *r) {
  switch (r->cost_from) {
  case TW_COST_CONFIRMED: return "reported by the runner, confirmed here";
  case TW_COST_REPORTED: return "reported by the runner, not confirmed here";
  default: return NULL;
  }
}

/* The subject with the schedule of the best kernel. */
static cli_subject best_of(const cli_subject *s, const tw_search_result *r) {
  return (cli_subject){.target = s->target, .problem = s->problem, .schedule = &r->schedule};
}

json_t *cli_json_result(const cli_subject *s, const tw_search_result *r, bool full) {
  const cli_subject found = best_of(s, r);
  json_t *object = json_object(), *best = json_candidate(&found, &r->best, r->source, full);
  json_object_set_new(best, "speedup", json_real(speedup(r, r->best.cost)));
  json_object_set_new(best, "schedule", cli_json_schedule(&r->schedule));
  json_object_set_new(object, "best", best);
  json_object_set_new(object, "start", json_candidate(s, &r->start, r->start_source, full));
  json_object_set_new(object, "bound", cli_json_bound(s->target, &r->bound));
  cli_json_accuracy(object, s->target, &found);
  if (r->coverage[0]) json_object_set_new(object, "checked", tw_json_text(r->coverage));
  if (cost_from(r)) json_object_set_new(object, "cost_from", json_string(cost_from(r)));
  json_object_set_new(object, "samples", json_integer(r->samples));
  json_object_set_new(object, "recalled", json_integer(r->recalled));
  json_object_set_new(object, "wall_seconds", json_real(r->wall_seconds));
  if (r->n_exchanges) json_object_set_new(object, "exchanges", json_exchanges(s, r));
  if (full) {
    char problem[512];
    tw_problem_print(&s->problem, problem, sizeof problem);
    json_object_set_new(object, "tilewright", tw_json_text(TILEWRIGHT_VERSION));
    json_object_set_new(object, "problem", tw_json_text(problem));
    json_object_set_new(object, "target", tw_json_text(s->target->name));
    json_object_set_new(object, "unit", tw_json_text(s->target->unit));
    json_object_set_new(object, "correct", json_integer(r->correct));
    json_object_set_new(object, "slower", json_integer(r->slower));
    json_object_set_new(object, "ladder", json_ladder(s, r));
    json_object_set_new(object, "error", json_pack("{s:f, s:s}", "least", r->error, "of", noise_of(s)));
    json_object_set_new(object, "legend", json_legend(&r->best));
  }
  return object;
}

enum { STEPS = 41 }; /* the column of steps */

static void print_why(const char *text) {
  if (!*text) return;
  printf("%*s%s\n", STEPS, "", text);
}

/* A step that makes the kernel slower is shown together with the step after it. `before`: the last printed rung, or
 * NULL. */
static void print_rung(const cli_subject *s, const tw_search_result *r, const tw_rung *before, const tw_rung *rung) {
  const bool slower = before && rung->cost > before->cost && !rung->within_error;
  char cost[CLI_NUMBER];
  printf(" %c%7.2fx  %6.1f%%  %18s  %s\n", rung->within_error ? '~' : ' ', speedup(r, rung->cost),
         100 * rung->utilization, cli_print_cost(s->target, rung->cost, cost), rung->step);
  print_why(rung->why);
  if (slower) print_why("(slower by itself, but the following steps need it)");
}

/* Steps within the error are neither a known gain nor a known loss. Only `verbose` prints them. Returns their
 * number. */
static size_t print_rungs(const cli_subject *s, const tw_search_result *r, bool verbose) {
  const tw_rung *before = NULL;
  size_t within = 0;
  printf("  speed-up %s  %18s  step\n", tw_is_memory_bound(&r->bound) ? "of bound" : " of peak", "cost");
  for (size_t i = 0; i < r->n_rungs; i++) {
    within += r->rung[i].within_error;
    if (r->rung[i].within_error && !verbose) continue;
    print_rung(s, r, before, &r->rung[i]);
    before = &r->rung[i];
  }
  return within;
}

void cli_print_ladder(const cli_subject *s, const tw_search_result *r, bool verbose) {
  char problem[512], cost[CLI_NUMBER];
  tw_problem_print(&s->problem, problem, sizeof problem);
  printf("%s on %s\n\n", problem, s->target->name);
  const size_t within = print_rungs(s, r, verbose);
  putchar('\n');
  if (within && verbose)
    printf("  ~ marks differences below the simulator's error of %.2g%% (%s)\n", 100 * r->error, noise_of(s));
  if (within && !verbose)
    printf("  %zu step%s below the error of %.2g%% (%s); --verbose shows %s\n", within, within == 1 ? "" : "s",
           100 * r->error, noise_of(s), within == 1 ? "it" : "them");
  printf("  best   %s, %.1f%% of %s, %.2fx the start\n", cli_print_cost(s->target, r->best.cost, cost),
         100 * r->best.utilization, tw_utilization_of(&r->bound), speedup(r, r->best.cost));
  cli_print_spread(s->target, &r->best.spread);
  printf("  bound  %s (%s): no kernel costs less; the best costs %.2f times as much\n",
         cli_print_cost(s->target, r->bound.cost, cost), r->bound.limit,
         r->bound.cost > 0 ? r->best.cost / r->bound.cost : 0);
  char recalled[80] = "", slower[80] = "";
  if (r->recalled)
    snprintf(recalled, sizeof recalled, "%d recalled from the journal (--fresh discards it), ", r->recalled);
  if (r->slower) snprintf(slower, sizeof slower, "%d slower than their parent and not checked, ", r->slower);
  const cli_subject found = best_of(s, r);
  cli_print_accuracy(&found);
  printf("  %d candidate%s, %d of them correct, %s%sin %.1f s\n", r->samples, r->samples == 1 ? "" : "s", r->correct,
         recalled, slower, r->wall_seconds);
  if (r->coverage[0]) printf("  checked: %s\n", r->coverage);
  if (cost_from(r)) printf("  cost   %s\n", cost_from(r));
}

static tw_status write_bytes(const char *directory, const char *name, const char *data, size_t size, tw_error *error) {
  char *path = tw_path_join(directory, name);
  tw_status status = path && data ? tw_file_write(path, data, size, error)
                                  : tw_fail(error, TW_NO_MEMORY, "out of memory while writing %s", name);
  free(path);
  return status;
}

/* Writes a file in `directory`. Frees `text`, which may be NULL (out of memory). */
static tw_status write_text(const char *directory, const char *name, char *text, tw_error *error) {
  const tw_status status = write_bytes(directory, name, text, text ? strlen(text) : 0, error);
  free(text);
  return status;
}

static char *json_to_text(json_t *object) {
  char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
  json_decref(object);
  return text;
}

/* "kernel.c", or for the start of the same search "start.c". */
static const char *source_name(const cli_subject *s) { return s->target->traits.source_name; }
static char *start_name(const cli_subject *s) {
  const char *suffix = strrchr(source_name(s), '.');
  tw_text name = {0};
  tw_text_add(&name, "start%s", suffix ? suffix : "");
  return tw_text_take(&name);
}

/* Writes the target's additional files for a kernel into an existing directory. Appends ", " and each name to
 * `names`. */
static tw_status write_sources(const char *directory, const cli_subject *s, const tw_schedule *schedule,
                               const char *source, tw_text *names, tw_error *error) {
  tw_files files = {0};
  if (!s->target->exporter) return TW_OK;
  tw_status status = s->target->exporter->sources(s->target, &s->problem, schedule, source, &files, error);
  for (size_t i = 0; i < files.n && status == TW_OK; i++) {
    const size_t size = files.file[i].size ? files.file[i].size : strlen(files.file[i].text);
    status = write_bytes(directory, files.file[i].name, files.file[i].text, size, error);
    tw_text_add(names, ", %s", files.file[i].name);
  }
  tw_files_free(&files);
  return status;
}

tw_status cli_write_design(const char *directory, const cli_subject *s, const tw_schedule *schedule, const char *source,
                           tw_text *names, tw_error *error) {
  tw_status status = tw_directory_make(directory, error);
  tw_text_add(names, "%s, schedule.txt", source_name(s));
  if (status == TW_OK) status = write_text(directory, source_name(s), strdup(source), error);
  if (status == TW_OK) status = write_text(directory, "schedule.txt", cli_schedule_text(schedule), error);
  return status == TW_OK ? write_sources(directory, s, schedule, source, names, error) : status;
}

/* The user's own program stays as it is; other kernels state their problem. */
static char *own_text(const cli_subject *s, const tw_search_result *r, const char *source) {
  return r->how || !source ? strdup(source ? source : "") : tw_stated_text(s->target, &s->problem, source);
}

tw_status cli_write_result(const char *directory, const cli_subject *s, const tw_search_result *r, tw_text *names,
                           tw_error *error) {
  char *start = start_name(s);
  tw_status status = start ? write_text(directory, source_name(s), own_text(s, r, r->source), error)
                           : tw_fail(error, TW_NO_MEMORY, "out of memory while writing the result");
  if (status == TW_OK) status = write_text(directory, start, own_text(s, r, r->start_source), error);
  if (status == TW_OK) status = write_text(directory, "schedule.txt", cli_schedule_text(&r->schedule), error);
  if (status == TW_OK) status = write_text(directory, "summary.json", json_to_text(cli_json_result(s, r, true)), error);
  tw_text_add(names, "%s, %s, schedule.txt, summary.json", source_name(s), start ? start : "?");
  free(start);
  return status == TW_OK ? write_sources(directory, s, &r->schedule, r->source ? r->source : "", names, error) : status;
}
