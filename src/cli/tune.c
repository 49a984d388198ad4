/* tune.c - `tilewright tune OP key=value... -t TARGET`: searches for the best kernel, shows the ladder that led to it,
 * keeps it as wisdom and, with --out, as files. Ctrl-C ends the search; its result so far is kept. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/lock.h"
#include "cli/cli.h"
#include "cli/crew.h"
#include "report/live.h"
#include "tilewright/extend/target.h"
#include "tilewright/tune.h"

tw_model_options cli_model_options(const cli_options *o) {
  return (tw_model_options){
      .size = sizeof(tw_model_options),
      .temperature = o->temperature == 0  ? 1e-9
                     : o->temperature < 0 ? 0
                                          : o->temperature,
      .fixes = o->repairs == 0  ? -1
               : o->repairs < 0 ? 0
                                : (int)o->repairs,
      .at_once = (int)o->concurrent_requests,
      .seconds = o->answer_timeout,
      .reply_tokens = (int)o->max_answer_tokens,
      .questions = (int)o->max_requests,
      .tokens = o->max_tokens,
      .money = o->max_cost,
      .price_in = o->price_in,
      .price_out = o->price_out,
      .prompts = o->prompts,
      .context = o->context,
      .effort = o->effort,
      .hide_scores = o->hide_scores,
      .combine = o->combine,
      .ancestors = (int)o->ancestors,
      .shuffle_menu = o->shuffle_menu,
      .one_question = o->one_question,
      .own_menu = o->own_menu,
      .filter_isa = o->filter_isa,
      .translate = (int)o->translate,
  };
}

/* Shows a search. The address of the live report is printed with the first progress: then the journal was accepted. */
typedef struct viewer {
  const tw_target *target;
  const char *address; /* not yet printed; NULL: none */
} viewer;

static void print_progress(void *context, const tw_progress *p) {
  viewer *v = context;
  if (v->address) fprintf(stderr, "{\"watch\": \"%s\"}\n", v->address);
  v->address = NULL;
  cli_print_progress(NULL, p);
}

static void show_progress(void *context, const tw_search_status *s) {
  viewer *v = context;
  if (v->address) fprintf(stderr, "tilewright: live report on %s\n", v->address);
  v->address = NULL;
  cli_show_progress((void *)v->target, s);
}

static tw_search_options search_options(const cli *c, const tw_model_options *model, uint64_t without) {
  const cli_options *o = &c->options;
  return (tw_search_options){
      .size = sizeof(tw_search_options),
      .exhaustive = o->exhaustive,
      .iterations = (int)o->iterations,
      .plans = (int)o->plans,
      .kernels = (int)o->kernels,
      .beam = (int)o->beam,
      .dropout = o->dropout,
      .runner = o->runner,
      .agents = o->agents.text,
      .n_agents = o->agents.n,
      .reuse = o->reuse.text,
      .n_reuse = o->reuse.n,
      .without = without,
      .model = model,
      .seed = (uint64_t)o->seed,
      .inputs = o->inputs,
      .jobs = (int)o->jobs,
      .samples = (int)o->samples,
      .seconds = o->seconds,
      .began = c->began,
      .trust = o->trust,
      .interrupt = cli_catch_interrupt(),
      .progress = o->progress ? print_progress : NULL,
      .watch = o->progress ? NULL : show_progress,
      .command = c->command,
  };
}

/* The notes of a search for its user: steps that were left out, a journal that could not be written, ... */
static void print_notes(const tw_search_result *r) {
  for (const char *line = r->notes; line && *line; line += strcspn(line, "\n") + 1)
    fprintf(stderr, "tilewright: %.*s\n", (int)strcspn(line, "\n"), line);
}

/* Prints the result. `i` is NULL without --from. */
static tw_status show(const cli *c, const cli_subject *s, const tw_search_result *r, const tw_improvement *i,
                      tw_error *error) {
  json_t *more = c->options.json && i ? cli_json_improvement(s, r, i) : NULL;
  if (c->options.json) {
    json_t *object = cli_json_result(s, r, false);
    if (more) json_object_update(object, more);
    json_decref(more);
    return cli_print_json(c, object, error);
  }
  if (i) cli_print_improvement(s, c->options.from, r, i);
  cli_print_ladder(s, r, c->options.verbose);
  return TW_OK;
}

/* Does wisdom have this source? */
static bool is_wisdom(const cli_subject *s, const char *source) {
  tw_wisdom *wisdom;
  if (tw_wisdom_load(NULL, &wisdom, NULL) != TW_OK) return false;
  const tw_wisdom_entry *e = tw_wisdom_find_source(wisdom, s->target->name, &s->problem);
  const bool found = e && !strcmp(tw_wisdom_entry_source(e), source);
  tw_wisdom_free(wisdom);
  return found;
}

/* Prints how to get a rewritten program without --out: only the same search can make it again. */
static void say_where(const cli *c, const cli_subject *s, const tw_search_result *r) {
  char problem[512];
  tw_problem_print(&s->problem, problem, sizeof problem);
  if (!c->options.no_wisdom && is_wisdom(s, r->source)) {
    if (!c->options.json)
      printf("  stored as wisdom: `tilewright wisdom show %s -t %s` prints the program\n", problem, s->target->name);
  } else if (!c->options.json) {
    fprintf(stderr, "tilewright: the rewritten program is not stored%s; add --out DIR\n",
            c->options.no_wisdom ? "" : ", because wisdom has one that is at least as fast");
  }
}

/* The result is shown before files are written, so that a full disk costs only the files. `until`: the end of
 * --seconds; 0: no limit. */
static tw_status deliver(const cli *c, const cli_subject *s, const tw_search_result *r, double until, tw_error *error) {
  const tw_improvement *i = r->how;
  tw_status status = show(c, s, r, i, error);
  if (!c->options.out && i && i->rewritten) say_where(c, s, r);
  if (status == TW_OK)
    status = cli_draw_source(c, s, r->source, r->has_schedule || c->options.trust, "the best", error);
  if (!c->options.out) return status;
  tw_error why = {0};
  tw_text list = {0};
  tw_status written = cli_write_result(c->options.out, s, r, &list, &why);
  if (written == TW_OK && !tw_is_set(cli_catch_interrupt()))
    cli_write_timeline(c, s, r->has_schedule || c->options.trust, c->options.out, until);
  char *names = tw_text_take(&list);
  if (written == TW_OK && names && !c->options.json) printf("  in %s: %s\n", c->options.out, names);
  free(names);
  if (written == TW_OK) return status;
  if (error) *error = why;
  char *schedule = cli_schedule_text(&r->schedule);
  if (schedule && !c->options.json) printf("\nthe schedule, because its file could not be written:\n%s", schedule);
  free(schedule);
  return written;
}

/* With --from, the program is rewritten; named agents continue from it instead. */
static tw_status search(const cli *c, const cli_subject *s, tw_search_options *search, tw_search_result **out,
                        tw_error *error) {
  tw_tune_options options = {.size = sizeof options,
                             .again = true,
                             .no_wisdom = c->options.no_wisdom,
                             .rewrites_only = c->options.rewrites_only,
                             .search = search};
  char *source = NULL;
  tw_status status =
      c->options.from ? cli_read_source(c->options.from, &source, &options.program_length, error) : TW_OK;
  if (c->options.agents.n)
    search->program = source;
  else
    options.program = source;
  if (status == TW_OK) status = tw_tune(s->target, &s->problem, &options, out, error);
  free(source);
  return status;
}

/* Also removes SQLite's own files next to it. */
static void forget_journal(const char *path) {
  static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
  for (size_t i = 0; path && i < sizeof suffixes / sizeof *suffixes; i++) {
    tw_text t = {0};
    tw_text_add(&t, "%s%s", path, suffixes[i]);
    char *name = tw_text_take(&t);
    if (name) unlink(name);
    free(name);
  }
}

/* The machine must exist at the place of evaluation. */
static tw_status check_usable(const cli_subject *subject, tw_error *error) {
  tw_error why = {0};
  const tw_status status = cli_usable(subject, &why);
  if (status == TW_OK) return TW_OK;
  return tw_fail(error, status, "%.1800s. Or evaluate on another computer: --runner 'ssh HOST tilewright evaluate'",
                 why.text);
}

static tw_status check_options(const cli *c, tw_error *error) {
  if (c->options.fresh && !c->options.out)
    return tw_fail(error, TW_USAGE, "--fresh discards the journal of --out DIR; add --out DIR");
  if (c->options.rewrites_only && !c->options.from)
    return tw_fail(error, TW_USAGE, "--rewrites-only requires a program to rewrite; add --from FILE");
  if (c->options.rewrites_only && c->options.agents.n)
    return tw_fail(error, TW_USAGE, "--rewrites-only uses no agents; leave out --agent");
  if (c->options.max_cost > 0 && c->options.price_in + c->options.price_out <= 0)
    return tw_fail(error, TW_USAGE,
                   "--max-cost requires prices; add --price-in and --price-out, each for a million tokens");
  if (c->options.exhaustive && c->options.reuse.n)
    return tw_fail(error, TW_USAGE, "--exhaustive and --reuse exclude each other; give one of them");
  if (c->options.rewrites_only && c->options.reuse.n)
    return tw_fail(error, TW_USAGE, "--rewrites-only and --reuse exclude each other; give one of them");
  if (c->options.exhaustive && c->options.from)
    return tw_fail(error, TW_USAGE, "--exhaustive and --from exclude each other; give one of them");
  return cli_check_timeline(c, error);
}

/* Two searches that write to one folder would mix their files. Some network file systems lock no folders: no lock then. */
static tw_status lock_directory(const char *directory, int *out, tw_error *error) {
  const tw_stop at_once = {.deadline = tw_now()};
  if (tw_lock_file(directory, false, &at_once, out, NULL) != TW_INTERRUPTED) return TW_OK;
  return tw_fail(error, TW_USAGE, "another search writes to %s; wait until it ends, or give another --out", directory);
}

/* Runs the search in this process; kernels are evaluated where the crew says. */
static tw_status tune(const cli *c, const cli_subject *subject, const cli_crew *crew, tw_error *error) {
  tw_search_result *result = NULL;
  char *journal = NULL, *temporary = NULL;
  report_live *live = NULL;
  const double seconds = c->options.seconds;
  const double until = seconds > 0 ? c->began + tw_seconds_allowed(seconds) : 0;
  uint64_t without = 0;
  int lock = -1;
  tw_status status = c->options.without ? tw_without_parse(c->options.without, &without, error) : TW_OK;
  if (status == TW_OK && c->options.out) status = tw_directory_make(c->options.out, error);
  if (status == TW_OK && c->options.out) status = lock_directory(c->options.out, &lock, error);
  if (status != TW_OK) return status;
  const tw_model_options model = cli_model_options(&c->options);
  tw_search_options options = search_options(c, &model, without);
  viewer view = {.target = subject->target};
  options.context = &view;
  options.backend = crew->backend;
  if (crew->backend) options.jobs = (int)crew->slots;
  if (c->options.watch && !c->options.out) status = tw_directory_temporary(&temporary, error);
  const char *directory = c->options.out ? c->options.out : temporary;
  if (directory) options.journal = journal = tw_path_join(directory, "journal.sqlite");
  if (c->options.fresh) forget_journal(journal);
  if (status == TW_OK && c->options.watch) status = report_live_start(directory, &live, error);
  if (live) view.address = report_live_address(live);
  if (status != TW_OK) {
    free(journal);
    tw_unlock_file(lock);
    return status;
  }
  status = search(c, subject, &options, &result, error);
  cli_clear_progress();
  free(journal);
  const bool found = result;
  tw_status delivered = status;
  if (found) {
    print_notes(result);
    delivered = deliver(c, subject, result, until, error);
  }
  report_live_stop(live);
  if (temporary) tw_directory_remove(temporary);
  free(temporary);
  tw_unlock_file(lock);
  tw_search_result_free(result);
  if (!found) return status;
  if (delivered != TW_OK || status == TW_OK) return delivered;
  return tw_fail(error, TW_INTERRUPTED, "interrupted; the result so far is kept");
}

tw_status cli_tune(const cli *c, tw_error *error) {
  cli_subject subject;
  cli_crew crew = {0};
  tw_status status = check_options(c, error);
  if (status == TW_OK) status = cli_subject_of(c, 0, &subject, error);
  if (status == TW_OK && !c->options.runner && !c->options.hosts) status = check_usable(&subject, error);
  if (status == TW_OK) status = cli_crew_open(c, &subject, &crew, error);
  if (status != TW_OK || crew.has_served) return status;
  status = tune(c, &subject, &crew, error);
  cli_crew_close(&crew);
  return status;
}
