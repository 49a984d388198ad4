/* wisdom.c - `tilewright wisdom list | show OP key=value... -t TARGET | forget OP key=value... -t TARGET | export
 * [FILE] | import FILE`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/machine_name.h"
#include "base/random.h"
#include "cli/cli.h"
#include "evaluate/trial.h"
#include "search/wisdom.h"

enum { WISDOM_LIMIT = 64 << 20 };

static json_t *as_json(const tw_wisdom_entry *e) {
  json_t *object = json_object();
  json_object_set_new(object, "target", tw_json_text(e->target));
  json_object_set_new(object, "problem", tw_json_text(e->problem));
  json_object_set_new(object, *e->unit ? e->unit : "cost", cli_json_number(e->cost));
  json_object_set_new(object, "utilization", json_real(e->utilization));
  if (e->found > 0) json_object_set_new(object, "found", json_integer(e->found));
  if (e->machine) json_object_set_new(object, "machine", tw_json_digits(e->machine));
  json_object_set_new(object, e->source ? "source" : "schedule",
                      e->source ? tw_json_text(e->source) : cli_json_schedule(&e->schedule));
  return object;
}

/* How long ago it was measured: "3 days". */
static const char *age_of(const tw_wisdom_entry *e, char text[CLI_NUMBER]) {
  static const struct {
    double seconds;
    const char *name;
  } unit[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
  const double age = difftime(time(NULL), (time_t)e->found);
  if (e->found <= 0 || age < 0) return "of unknown age"; /* or the clock of the computer that measured it was ahead */
  size_t i = 0;
  while (i < 3 && age < unit[i].seconds) i++;
  const double n = floor(age / unit[i].seconds);
  snprintf(text, CLI_NUMBER, "%.0f %s%s", n, unit[i].name, n == 1 ? "" : "s");
  return text;
}

/* The heading of entries, which take two lines each. */
static void print_heading(void) {
  printf("problem\n  %-24s  %11s  %18s  %s\n\n", "target", "utilization", "cost", "measured ago");
}

static void print_entry(const tw_wisdom_entry *e) {
  char cost[CLI_NUMBER], age[CLI_NUMBER];
  printf("%s\n  %-24s  %10.1f%%  %18s  %s\n", e->problem, e->target, 100 * e->utilization,
         cli_print_amount(e->unit, e->cost, cost), age_of(e, age));
}

static tw_status list(const cli *c, const tw_wisdom *wisdom, tw_error *error) {
  json_t *all = c->options.json ? json_array() : NULL;
  if (!all) cli_wrap_output();
  if (!all && wisdom->n) print_heading();
  if (!all && !wisdom->n) printf("wisdom has no entries; `tilewright tune` adds them\n");
  for (size_t i = 0; i < wisdom->n; i++) {
    if (all)
      json_array_append_new(all, as_json(&wisdom->entry[i]));
    else
      print_entry(&wisdom->entry[i]);
  }
  return all ? cli_print_json(c, json_pack("{s:o}", "wisdom", all), error) : TW_OK;
}

static tw_status show(const cli *c, const tw_wisdom *wisdom, tw_error *error) {
  cli_subject subject;
  bool exact;
  tw_status status = cli_subject_of(c, 1, &subject, error);
  if (status != TW_OK) return status;
  const tw_wisdom_entry *source = tw_wisdom_find_source(wisdom, subject.target->name, &subject.problem);
  const tw_wisdom_entry *entry =
      source ? source : tw_wisdom_find(wisdom, subject.target->name, &subject.problem, &exact);
  if (!entry)
    return tw_fail(error, TW_FAILED,
                   "wisdom has no entry for this problem; run `tilewright tune` with the same arguments first");
  if (c->options.json) return cli_print_json(c, as_json(entry), error);
  if (source) {
    fputs(source->source, stdout);
    return TW_OK;
  }
  char *text = cli_schedule_text(&entry->schedule), age[CLI_NUMBER];
  printf("# %s%s (%s)\n%s", exact ? "" : "of the nearest shape: ", entry->problem, age_of(entry, age),
         text ? text : "");
  free(text);
  return TW_OK;
}

static tw_status copy(const tw_wisdom *wisdom, const char *to, tw_error *error) {
  size_t refused;
  return tw_wisdom_keep(to, wisdom, &refused, NULL, error);
}

/* Exports to a file, merged with its contents, or to standard output through a temporary file. */
static tw_status export(const cli *c, const tw_wisdom *wisdom, tw_error *error) {
  if (!wisdom->n) return tw_fail(error, TW_FAILED, "wisdom has no entries to export; `tilewright tune` adds them");
  if (c->n_words > 1 && strcmp(c->words[1], "-") != 0) {
    const tw_status copied = copy(wisdom, c->words[1], error);
    if (copied != TW_OK) return copied;
    if (c->options.json)
      return cli_print_json(c, json_pack("{s:I, s:s}", "exported", (json_int_t)wisdom->n, "file", c->words[1]), error);
    printf("%zu entr%s exported to %s\n", wisdom->n, wisdom->n == 1 ? "y" : "ies", c->words[1]);
    return TW_OK;
  }
  char *directory, *text = NULL;
  tw_status status = tw_directory_temporary(&directory, error);
  if (status != TW_OK) return status;
  char *path = tw_path_join(directory, "wisdom.json");
  status = path ? copy(wisdom, path, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) status = tw_file_read(path, WISDOM_LIMIT, &text, NULL, error);
  if (text) fputs(text, stdout);
  *c->printed = true;
  tw_directory_remove(directory);
  free(text);
  free(path);
  free(directory);
  return status;
}

static tw_status forget(const cli *c, tw_error *error) {
  cli_subject subject;
  size_t n;
  tw_status status = cli_subject_of(c, 1, &subject, error);
  if (status == TW_OK) status = tw_wisdom_forget(NULL, subject.target->name, &subject.problem, &n, error);
  if (status != TW_OK) return status;
  if (!n)
    return tw_fail(error, TW_FAILED,
                   "wisdom has no entry for this problem; `tilewright wisdom list` lists all entries");
  if (c->options.json) return cli_print_json(c, json_pack("{s:I}", "forgotten", (json_int_t)n), error);
  printf("%zu entr%s forgotten\n", n, n == 1 ? "y" : "ies");
  return TW_OK;
}

/* ---- import ---- */

/* Runs the entry's kernel: it must be correct in two cases, and its cost is measured here. A source that was not
 * emitted from a schedule is untrusted. */
static tw_status verify(const cli *c, tw_wisdom_entry *e, tw_error *error) {
  const tw_target *t;
  tw_problem problem;
  char *made = NULL;
  tw_status status = cli_find_target(e->target, &t, error);
  if (status == TW_OK) status = tw_problem_parse(t, e->problem, &problem, error);
  if (status == TW_OK) status = tw_target_supports(t, &problem, error);
  if (status == TW_OK)
    status = t->build ? t->available(t, error) : tw_fail(error, TW_UNSUPPORTED, "%s cannot run kernels", t->name);
  if (status == TW_OK && !e->source) status = tw_target_emit(t, &problem, &e->schedule, &made, error);
  if (status != TW_OK) return status;
  const char *source = made ? made : e->source;
  const tw_trial trial = {.target = t,
                          .problem = &problem,
                          .source = source,
                          .length = strlen(source),
                          .seed = tw_random_system(),
                          .more_cases = tw_trial_more_cases(&problem),
                          .trust = made != NULL};
  const tw_setting setting = {.jobs = (int)c->options.jobs};
  tw_outcome outcome;
  tw_trial_run(&trial, &setting, &outcome);
  free(made);
  if (outcome.verdict != TW_CORRECT) {
    if (error) *error = outcome.error;
    return outcome.error.status ? outcome.error.status : TW_FAILED;
  }
  e->cost = outcome.measured.cost;
  e->utilization = outcome.measured.utilization;
  e->found = (int64_t)time(NULL);
  e->machine = tw_wisdom_machine(t);
  return TW_OK;
}

/* Removes entries that are not as good as they claim; *why is the first reason. */
static void verify_all(const cli *c, tw_wisdom *wisdom, size_t *refused, tw_error *why) {
  size_t kept = 0;
  for (size_t i = 0; i < wisdom->n; i++) {
    tw_wisdom_entry *e = &wisdom->entry[i];
    tw_error error = {0};
    if (verify(c, e, &error) == TW_OK) {
      wisdom->entry[kept++] = *e;
      continue;
    }
    if ((*refused)++ == 0) tw_fail(why, TW_FAILED, "%s on %s: %.1200s", e->problem, e->target, error.text);
    free(e->source);
  }
  wisdom->n = kept;
}

/* Costs of a device hold for the computer that measured them. Costs that a model computes hold everywhere. */
static bool costs_compare(const tw_wisdom_entry *e) {
  const tw_target *t = tw_target_find(e->target);
  return t && t->traits.simulated;
}

static bool is_in(const tw_wisdom *wisdom, const tw_wisdom_entry *e) {
  for (size_t i = 0; i < wisdom->n; i++)
    if (tw_same_machine(wisdom->entry[i].target, e->target) && !strcmp(wisdom->entry[i].problem, e->problem))
      return true;
  return false;
}

/* Removes entries for which this computer has its own entry and whose costs are not comparable; *left_out is their
 * number. */
static tw_status leave_out_known(tw_wisdom *wisdom, size_t *left_out, tw_error *error) {
  tw_wisdom *own;
  size_t kept = 0;
  const tw_status status = tw_wisdom_load(NULL, &own, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < wisdom->n; i++) {
    if (!costs_compare(&wisdom->entry[i]) && is_in(own, &wisdom->entry[i]))
      free(wisdom->entry[i].source);
    else
      wisdom->entry[kept++] = wisdom->entry[i];
  }
  *left_out = wisdom->n - kept;
  wisdom->n = kept;
  tw_wisdom_free(own);
  return TW_OK;
}

static tw_status import(const cli *c, tw_error *error) {
  tw_wisdom *wisdom;
  if (c->n_words < 2) return tw_fail(error, TW_USAGE, "the file is missing; write `tilewright wisdom import FILE`");
  if (!tw_file_exists(c->words[1])) return tw_fail(error, TW_USAGE, "cannot read '%s': no such file", c->words[1]);
  tw_status status = tw_wisdom_load(c->words[1], &wisdom, error);
  if (status != TW_OK) return status;
  const size_t all = wisdom->n;
  size_t refused = 0, wrong = 0, left_out = 0;
  tw_error why = {0}, reason = {0};
  if (c->options.verify)
    verify_all(c, wisdom, &wrong, &reason);
  else
    status = leave_out_known(wisdom, &left_out, error);
  if (status == TW_OK) status = tw_wisdom_keep(NULL, wisdom, &refused, &why, error);
  refused += wrong;
  const size_t taken = all - refused - left_out;
  if (status == TW_OK && c->options.json)
    status = cli_print_json(c,
                            json_pack("{s:I, s:I, s:I}", "imported", (json_int_t)taken, "refused", (json_int_t)refused,
                                      "left_out", (json_int_t)left_out),
                            error);
  else if (status == TW_OK)
    printf("%zu entr%s imported from %s\n", taken, taken == 1 ? "y" : "ies", c->words[1]);
  if (status == TW_OK && left_out && !c->options.json)
    printf("%zu entries are skipped: this computer has its own entries for these problems, and costs of two computers "
           "are not comparable; --verify measures the entries of the file here\n",
           left_out);
  if (status == TW_OK && refused)
    status = tw_fail(error, TW_FAILED, "%zu of %zu entries were rejected: %.1500s", refused, all,
                     wrong ? reason.text : why.text);
  tw_wisdom_free(wisdom);
  return status;
}

tw_status cli_wisdom(const cli *c, tw_error *error) {
  tw_wisdom *wisdom = NULL;
  const char *verb = c->n_words ? c->words[0] : "";
  tw_status status = strcmp(verb, "show") == 0 || strcmp(verb, "forget") == 0
                         ? TW_OK
                         : cli_no_words(c, strcmp(verb, "list") == 0 ? 1 : 2, error);
  if (status != TW_OK) return status;
  if (c->options.verify && strcmp(verb, "import") != 0)
    return tw_fail(error, TW_USAGE, "--verify requires `tilewright wisdom import FILE`");
  if (strcmp(verb, "import") == 0) return import(c, error);
  if (strcmp(verb, "forget") == 0) return forget(c, error);
  status = tw_wisdom_load(NULL, &wisdom, error);
  if (status != TW_OK) return status;
  if (strcmp(verb, "list") == 0)
    status = list(c, wisdom, error);
  else if (strcmp(verb, "show") == 0)
    status = show(c, wisdom, error);
  else if (strcmp(verb, "export") == 0)
    status = export(c, wisdom, error);
  else
    status = tw_fail(error, TW_USAGE, "%s%s%s; expected list, show, forget, export or import",
                     *verb ? "unknown action '" : "the action is missing", verb, *verb ? "'" : "");
  tw_wisdom_free(wisdom);
  return status;
}
