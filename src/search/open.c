/* open.c - prepares a search for its first candidate: checked options, its teams, the journal, a place where
 * candidates are evaluated, inputs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/utilization.h"
#include "evaluate/evaluator.h"
#include "search/state.h"
#include "tilewright/extend/extend.h"

tw_status tw_check_members(size_t n, tw_error *error) {
  return n <= TW_MEMBERS_MAX
             ? TW_OK
             : tw_fail(error, TW_USAGE, "%zu agents are too many; at most %d are supported", n, TW_MEMBERS_MAX);
}

static tw_status check_options(const tw_search_options *o, tw_error *error) {
  const struct {
    const char *name;
    int value, max;
  } range[] = {
      {"iterations", o->iterations, 1000}, {"plans", o->plans, 256}, {"kernels", o->kernels, 256},
      {"beam", o->beam, TW_BEAM_MAX},      {"jobs", o->jobs, 1024},  {"samples", o->samples, 100000000},
  };
  for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
    if (range[i].value < 0 || range[i].value > range[i].max)
      return tw_fail(error, TW_USAGE, "%s=%d is out of range; expected 1 to %d, or 0 for the default", range[i].name,
                     range[i].value, range[i].max);
  if (!(o->dropout < 1))
    return tw_fail(error, TW_USAGE, "dropout=%g is out of range; expected at least 0 and less than 1", o->dropout);
  if (!(o->seconds >= 0))
    return tw_fail(error, TW_USAGE, "seconds=%g is out of range; expected a positive time, or 0 for no limit",
                   o->seconds);
  return TW_OK;
}

/* ---- the journal ---- */

static void add_digest(tw_text *t, const char *what, const char *source) {
  char digest[TW_HASH_TEXT];
  tw_hash hash;
  tw_hash_start(&hash);
  tw_hash_add_string(&hash, source);
  tw_hash_finish_text(&hash, digest);
  tw_text_add(t, "\n%s: %s", what, digest);
}

/* "rules", or "2*rules + llm:...". */
static char *print_members(size_t n, const tw_member member[]) {
  tw_text t = {0};
  char share[32];
  for (size_t i = 0; i < n; i++) {
    tw_text_add_string(&t, i ? " + " : "");
    if (member[i].share != 1) tw_text_add(&t, "%s*", tw_print_real(member[i].share, share));
    tw_text_add_string(&t, member[i].agent->name);
  }
  return tw_text_take(&t);
}

/* All options that determine the proposals of a search, except for the seed and the agents. */
static char *print_options(const tw_state *s, const char *program) {
  tw_text t = {0};
  char dropout[32];
  const tw_search_options *o = &s->options;
  if (s->by_runner) tw_text_add_string(&t, TW_JOURNAL_RUNNER);
  if (o->exhaustive) tw_text_add(&t, "exhaustive ");
  for (size_t i = 0; i < s->n_teams; i++) {
    const tw_search_options *w = &s->team[i].options;
    tw_text_add(&t, "%siterations=%d plans=%d kernels=%d beam=%d dropout=%s", i ? "\nthen " : "", w->iterations,
                w->plans, w->kernels, w->beam, tw_print_real(w->dropout, dropout));
  }
  if (o->without) tw_text_add(&t, "\nwithout: %" PRIu64, o->without);
  for (size_t i = 0; o->start && i < o->start->n; i++) tw_text_add(&t, "\nstart: %s", o->start->step[i]);
  if (o->start_source) add_digest(&t, "start source", o->start_source);
  if (program) add_digest(&t, "program", program);
  for (size_t k = 0; s->recordings && k < s->recordings->n; k++)
    for (size_t i = 0; i < s->recordings->schedule[k].n; i++)
      tw_text_add(&t, "\nrecording %zu: %s", k + 1, s->recordings->schedule[k].step[i]);
  for (size_t i = 0; s->recordings && i < s->recordings->n_plans; i++)
    add_digest(&t, "recorded plan", s->recordings->plan[i]);
  return tw_text_take(&t);
}

static tw_status open_journal(tw_state *s, size_t n_members, const tw_member member[], const char *program,
                              tw_error *error) {
  if (!s->options.journal) return TW_OK;
  char machine[TW_HASH_TEXT];
  tw_evaluator_digest(s->target, machine); /* includes the compiler, because another one gives other costs */
  char *options = print_options(s, program), *problem = tw_problem_text(&s->problem);
  char *agents = print_members(n_members, member);
  const tw_journal_subject subject = {
      .version = TILEWRIGHT_VERSION,
      .target = s->target->name,
      .machine = machine,
      .problem = problem,
      .unit = s->target->unit,
  };
  tw_status status = options && problem && agents ? tw_journal_open(s->options.journal, &subject, agents, options,
                                                                    s->options.seed, &s->journal, error)
                                                  : tw_no_memory(error, "the journal");
  if (status == TW_OK) s->exchanges.journal = tw_journal_memo(s->journal);
  free(agents);
  free(options);
  free(problem);
  return status;
}

/* Facts for a report, in addition to candidates. A report may read them while the search runs, so they are written
 * at the start. */
static void state_facts(tw_state *s) {
  tw_journal *j = s->journal;
  const tw_bound *b = &s->bound;
  const tw_op *op = s->problem.op;
  char host[64] = "";
  int planned = 0;
  for (size_t i = 0; i < s->n_teams && !s->options.exhaustive; i++) {
    const tw_search_options *w = &s->team[i].options;
    planned += w->iterations * w->beam * w->plans * w->kernels;
  }
  gethostname(host, sizeof host - 1);
  tw_journal_together(j, true);
  tw_journal_state(j, "command", s->options.command ? s->options.command : "", 0);
  tw_journal_state(j, "version", TILEWRIGHT_VERSION, 0);
  tw_journal_state(j, "host", host, 0);
  /* a journal may have several searches; this tells which was the last */
  tw_journal_state(j, "opened", NULL, (double)time(NULL));
  tw_journal_state(j, "jobs", NULL, s->options.jobs);
  tw_journal_state(j, "process", NULL, getpid());
  if (s->options.runner) tw_journal_state(j, "runner", s->options.runner, 0);
  if (planned) tw_journal_state(j, "planned", NULL, planned);
  tw_journal_state(j, "simulated", NULL, s->target->traits.simulated);
  tw_journal_state(j, "source_name", s->target->traits.source_name, 0);
  tw_journal_state(j, "bound_cost", NULL, b->cost);
  tw_journal_state(j, "bound_compute", NULL, b->compute_cost);
  tw_journal_state(j, "bound_memory", NULL, b->memory_cost);
  tw_journal_state(j, "bound_limit", b->limit, 0);
  tw_journal_state(j, "utilization_of", tw_utilization_of(b), 0);
  if (op->operations) tw_journal_state(j, "operations", NULL, 2 * op->operations(&s->problem));
  if (op->bytes) tw_journal_state(j, "bytes", NULL, op->bytes(&s->problem));
  tw_journal_together(j, false);
}

/* ---- all of it ---- */

/* Prepares everything before the first candidate. On failure tw_state_close closes the opened parts. */
tw_status tw_state_open(tw_state *s, const tw_search_subject *subject, const tw_search_options *options,
                        tw_error *error) {
  const tw_target *target = subject->target;
  *s = (tw_state){
      .target = target, .problem = *subject->problem, .options = *options, .is_patient = subject->is_patient};
  s->recordings = subject->recordings;
  s->memo = tw_exchanges_open(&s->exchanges);
  s->by_runner = options->runner || (options->backend && !options->backend->is_own);
  s->started = tw_now();
  s->began = options->began > 0 ? options->began : s->started;
  s->deadline = s->last_trial = s->last_measurement = s->trial_seconds = HUGE_VAL;
  tw_status status = check_options(&s->options, error);
  if (status == TW_OK) status = tw_check_members(subject->n_members, error);
  if (status == TW_OK && target->available && !options->runner && !options->backend)
    status = target->available(target, error);
  if (status == TW_OK) status = tw_target_supports(target, &s->problem, error);
  if (status == TW_OK) status = tw_target_bound(target, &s->problem, &s->bound, error);
  if (status != TW_OK) return status;
  if (!s->options.inputs) s->options.inputs = tw_random_system();
  tw_teams_divide(s, subject, &s->options, tw_simulation_seconds(target, &s->bound));
  s->options = s->team[0].options;
  status = open_journal(s, subject->n_members, subject->member, subject->program, error);
  if (status == TW_OK && s->options.backend)
    s->backend = s->options.backend;
  else if (status == TW_OK)
    status = s->options.runner ? tw_backend_command(s->options.runner, (size_t)s->options.jobs, &s->backend, error)
                               : tw_backend_threads(s->options.jobs, &s->backend, error);
  if (status == TW_OK && s->journal) state_facts(s);
  const double before_case = tw_now();
  if (status == TW_OK && !s->backend->is_elsewhere)
    status = tw_target_case(s->target, &s->problem, s->options.inputs, s->options.jobs, &s->data, error);
  s->case_seconds = tw_now() - before_case;
  return status;
}

void tw_state_close(tw_state *s, bool finished) {
  tw_state_abandon(s);
  tw_journal_close(s->journal, finished);
  tw_exchanges_close(&s->exchanges);
  for (size_t i = 0; i < s->n; i++) tw_candidate_free(s->all[i]);
  free(s->all);
  free(s->experience);
  tw_index_free(&s->schedules);
  tw_index_free(&s->sources);
  tw_case_free(&s->data);
  if (s->backend && s->backend != s->options.backend) s->backend->close(s->backend);
  tw_text_free(&s->notes);
}
