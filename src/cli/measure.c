/* measure.c - one kernel source through build, check and measure. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/program.h"
#include "cli/cli.h"
#include "cli/timeline.h"
#include "evaluate/trial.h"

enum { SOURCE_LIMIT = 8 << 20 }; /* larger than any kernel; a compiler would be busy for minutes with more */

/* The user's file of the command; NULL: none. */
static const char *source_file(const cli *c) {
  const char *file = c->options.from ? c->options.from : c->n_words ? c->words[0] : NULL;
  const char *slash = file ? strrchr(file, '/') : NULL;
  return file && strchr(slash ? slash : file, '.') ? file : NULL;
}

/* Compilers get a source as kernel.c, kernel.hip, ... If the text begins with such a name and a colon, returns the
 * end of the name; otherwise NULL. */
static const char *end_of_name(const char *text) {
  static const char stem[] = "kernel.";
  if (strncmp(text, stem, sizeof stem - 1) != 0) return NULL;
  const char *end = text + sizeof stem - 1;
  while (*end >= 'a' && *end <= 'z') end++;
  return *end == ':' && end - text < 12 ? end : NULL;
}

/* Errors of the readers of NKI and MLIR begin with the line number. */
static bool begins_with_line(const char *text) {
  int length = 0;
  return sscanf(text, "line %*[0-9]:%n", &length) == 0 && length > 0;
}

char *cli_name_source(const cli *c, const char *text) {
  const char *file = source_file(c), *end;
  tw_text t = {0};
  if (file && begins_with_line(text)) tw_text_add(&t, "%s: ", file);
  for (const char *at = text; *at;)
    if (file && (at == text || !strchr("/._-", at[-1])) && (end = end_of_name(at)) != NULL)
      tw_text_add_string(&t, file), at = end;
    else
      tw_text_add_bytes(&t, at++, 1);
  return tw_text_take(&t);
}

void cli_name_source_in(const cli *c, char **text) {
  char *named = *text ? cli_name_source(c, *text) : NULL;
  if (!named) return;
  free(*text);
  *text = named;
}

tw_status cli_read_source(const char *path, char **source, size_t *length, tw_error *error) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > SOURCE_LIMIT)
    return tw_fail(error, TW_FAILED, "'%s' is larger than %d KiB, the limit for a program", path, SOURCE_LIMIT >> 10);
  tw_status status = tw_file_read(path, SOURCE_LIMIT, source, length, error);
  if (status != TW_OK) return status;
  if ((*source)[strspn(*source, " \t\r\n")] || strlen(*source) < *length) return TW_OK;
  free(*source);
  *source = NULL;
  return tw_fail(error, TW_FAILED, "'%s' is empty; give a file with a kernel or a design", path);
}

typedef struct outcome {
  cli_inspection inspection;
  tw_outcome trial;
  tw_bound bound;
} outcome;

static tw_status build_check_measure(const cli *c, const cli_subject *s, const char *source, size_t length, bool trust,
                                     const char *trace, outcome *out, tw_error *error) {
  const tw_target *t = s->target;
  const tw_trial trial = {.target = t,
                          .problem = &s->problem,
                          .source = source,
                          .length = length,
                          .seed = c->options.inputs,
                          .more_cases = tw_trial_more_cases(&s->problem),
                          .trust = trust};
  const tw_setting setting = {.bound = &out->bound,
                              .jobs = (int)c->options.jobs,
                              .trace = trace,
                              .inspection = out->inspection.wanted ? &out->inspection.by : NULL,
                              .headers = cli_headers(c)};
  tw_status status = tw_target_bound(t, &s->problem, &out->bound, error);
  if (status != TW_OK) return status;
  tw_trial_run(&trial, &setting, &out->trial);
  if (out->trial.verdict == TW_CORRECT) return TW_OK;
  if (error) *error = out->trial.error;
  return out->trial.error.status;
}

tw_status cli_check_timeline(const cli *c, tw_error *error) {
  cli_timeline t;
  if (!c->options.window) return TW_OK;
  if (!c->options.timeline) return tw_fail(error, TW_USAGE, "--window requires --timeline FILE; give both");
  return cli_timeline_window(c->options.window, &t, error);
}

/* As above; with --timeline the trace is drawn, and written to a temporary file unless --trace names one. */
static tw_status measure_and_draw(const cli *c, const cli_subject *s, const char *source, size_t length, bool trust,
                                  const char *note, outcome *out, tw_error *error) {
  const char *svg = c->options.timeline;
  tw_status status = cli_check_timeline(c, error);
  if (status != TW_OK) return status;
  if (!svg) return build_check_measure(c, s, source, length, trust, c->options.trace, out, error);
  char problem[512], title[700], *directory = NULL, *own = NULL;
  cli_timeline t = {.title = title, .unit = strcmp(s->target->unit, "seconds") ? s->target->unit : "microseconds"};
  tw_problem_print(&s->problem, problem, sizeof problem);
  snprintf(title, sizeof title, "%s on %s%s%s", problem, s->target->name, note ? ", " : "", note ? note : "");
  if (c->options.window) status = cli_timeline_window(c->options.window, &t, error);
  if (status == TW_OK && !c->options.trace) {
    status = tw_directory_temporary(&directory, error);
    if (status == TW_OK && !(own = tw_path_join(directory, "trace.json"))) status = tw_no_memory(error, NULL);
  }
  const char *trace = own ? own : c->options.trace;
  if (status == TW_OK) status = build_check_measure(c, s, source, length, trust, trace, out, error);
  if (status == TW_OK) status = cli_timeline_write(&t, trace, svg, error);
  if (directory) tw_directory_remove(directory);
  free(directory);
  free(own);
  return status;
}

static json_t *json_error(const cli *c, const tw_error *why) {
  char *named = cli_name_source(c, why->text);
  json_t *text = tw_json_text(named ? named : why->text);
  free(named);
  return text;
}

/* Unit and meaning of each counter. */
static json_t *json_counter_help(const tw_measurement *m) {
  json_t *object = json_object();
  for (size_t i = 0; i < m->n_counters; i++)
    json_object_set_new(object, m->counter[i].name,
                        json_pack("{s:s, s:s}", "unit", m->counter[i].unit ? m->counter[i].unit : "", "help",
                                  m->counter[i].help ? m->counter[i].help : ""));
  return object;
}

/* A wrong kernel is a result: it is in the object, and in the exit status. */
static tw_status print_json(const cli *c, const cli_subject *s, const outcome *o, tw_status status, const tw_error *why,
                            tw_error *error) {
  json_t *object = json_object();
  json_object_set_new(object, "correct", json_boolean(status == TW_OK));
  json_object_set_new(object, "seed", json_integer((json_int_t)c->options.inputs));
  if (o->inspection.wanted) cli_json_inspection(&o->inspection, object);
  json_object_set_new(object, "verdict", json_string(tw_verdict_name(o->trial.verdict)));
  if (status == TW_OK) {
    json_t *measurement = cli_json_measurement(s, &o->trial.measured);
    json_object_update(object, measurement);
    json_decref(measurement);
    json_object_set_new(object, "counter_help", json_counter_help(&o->trial.measured));
    json_object_set_new(object, "checked", tw_json_text(o->trial.coverage));
    json_object_set_new(object, "bound", cli_json_bound(s->target, &o->bound));
  } else {
    json_object_set_new(object, "error", json_error(c, why));
  }
  tw_status printed = cli_print_json(c, object, error);
  return printed == TW_OK ? status : printed;
}

tw_status cli_refuse_source(const cli *c, const tw_error *why) {
  json_t *object = json_pack("{s:b, s:s, s:o}", "correct", 0, "verdict", tw_verdict_name(TW_UNBUILDABLE), "error",
                             tw_json_text(why->text));
  if (why->status == TW_FAILED && c->options.json)
    cli_print_json(c, object, NULL);
  else
    json_decref(object);
  return why->status;
}

static void print_timelines(const cli *c) {
  if (c->options.trace) printf("\ntimeline in %s: open it in ui.perfetto.dev or chrome://tracing\n", c->options.trace);
  if (c->options.timeline) printf("\npicture of the timeline in %s\n", c->options.timeline);
}

static void print_text(const cli *c, const cli_subject *s, const outcome *o, const char *note) {
  char problem[512];
  tw_problem_print(&s->problem, problem, sizeof problem);
  printf("%s on %s%s%s\n", problem, s->target->name, note ? ", " : "", note ? note : "");
  printf("  result        correct: %s\n", o->trial.coverage);
  printf("  inputs        --seed %" PRIu64 "\n", c->options.inputs);
  cli_print_measurement(s, &o->trial.measured, &o->bound);
  if (o->inspection.wanted) cli_print_inspection(&o->inspection);
  print_timelines(c);
}

tw_status cli_draw_source(const cli *c, const cli_subject *s, const char *source, bool trust, const char *note,
                          tw_error *error) {
  outcome o = {0};
  if (!c->options.trace && !c->options.timeline) return TW_OK;
  const tw_status status = measure_and_draw(c, s, source, strlen(source), trust, note, &o, error);
  if (status == TW_OK && !c->options.json) print_timelines(c);
  return status;
}

/* Time limits for simulating the best kernel for a timeline. */
static const double TIMELINE_SECONDS = 20, TIMELINE_MOST = 600;

/* Runs `tilewright run` on the kernel in a separate process, so that it can be ended at `until`. */
static tw_status trace_kernel(const cli *c, const cli_subject *s, const char *kernel, bool trust, const char *trace,
                              double until, tw_error *error) {
  enum { WORDS = 64 };
  char self[4096], problem[512], seed[32], *rest = NULL;
  const char *argv[WORDS + 16] = {self, "run", kernel};
  size_t n = 3;
  tw_own_path("tilewright", self, sizeof self);
  tw_problem_print(&s->problem, problem, sizeof problem);
  for (char *word = strtok_r(problem, " ", &rest); word && n < WORDS; word = strtok_r(NULL, " ", &rest))
    argv[n++] = word;
  snprintf(seed, sizeof seed, "%" PRIu64, c->options.inputs);
  const char *const more[] = {"-t", c->options.target, "--seed", seed, "--trace", trace};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) argv[n++] = more[i];
  if (trust) argv[n++] = "--trust";
  const double left = until > 0 ? until - tw_now() : TIMELINE_MOST;
  const tw_process_options options = {
      .argv = argv, .seconds = left, .cpu_seconds = TIMELINE_MOST, .interrupt = cli_catch_interrupt()};
  tw_process_result r = {0};
  if (left <= 0) return tw_fail(error, TW_MISSING, "--seconds left no time for the timeline");
  tw_status status = tw_process_run(&options, &r, error);
  if (status == TW_OK && (r.timed_out || r.interrupted))
    status = tw_fail(error, TW_MISSING, r.interrupted ? "interrupted" : "--seconds left no time for the timeline");
  else if (status == TW_OK && r.exit_status != 0)
    status = tw_fail(error, TW_FAILED, "%.1000s", r.output);
  tw_process_result_free(&r);
  return status;
}

void cli_write_timeline(const cli *c, const cli_subject *s, bool trust, const char *directory, double until) {
  const tw_target *t = s->target;
  tw_bound bound;
  tw_error error;
  char *folder = NULL, *path = tw_path_join(directory, "timeline.json"), *trace = NULL;
  char *kernel = tw_path_join(directory, t->traits.source_name);
  if (path) unlink(path); /* removes the timeline of an earlier search */
  if (path && kernel && t->traits.simulated && tw_target_bound(t, &s->problem, &bound, &error) == TW_OK &&
      !(t->traits.simulation_rate > 0 && bound.cost / t->traits.simulation_rate > TIMELINE_SECONDS) &&
      tw_directory_temporary(&folder, &error) == TW_OK && (trace = tw_path_join(folder, "trace.json"))) {
    const cli_timeline timeline = {.title = "", .unit = strcmp(t->unit, "seconds") ? t->unit : "microseconds"};
    tw_status status = trace_kernel(c, s, kernel, trust, trace, until, &error);
    if (status == TW_OK) status = cli_timeline_write_data(&timeline, trace, path, &error);
    if (status != TW_OK) fprintf(stderr, "tilewright: the report of this run has no timeline: %s\n", error.text);
  }
  if (folder) tw_directory_remove(folder);
  free(folder);
  free(trace);
  free(kernel);
  free(path);
}

tw_status cli_measure_source(const cli *c, const cli_subject *s, const char *source, size_t length, bool trust,
                             const char *note, bool is_own, tw_error *error) {
  outcome o = {0};
  tw_error why = {0};
  tw_status status = cli_inspection_of(c, s->target, is_own ? "none" : "usual", &o.inspection, &why);
  if (status == TW_OK) status = measure_and_draw(c, s, source, length, trust, note, &o, &why);
  cli_name_findings(c, &o.inspection);
  if (error) *error = why;
  if (c->options.json && (status == TW_OK || status == TW_FAILED)) {
    status = print_json(c, s, &o, status, &why, error);
    if (status == TW_OK) status = cli_judge_inspection(c, &o.inspection, error);
  } else if (status == TW_OK) {
    print_text(c, s, &o, note);
    status = cli_judge_inspection(c, &o.inspection, error);
  } else if (o.inspection.wanted && o.inspection.by.n_findings) {
    cli_print_inspection(&o.inspection);
  }
  cli_inspection_free(&o.inspection);
  return status;
}
