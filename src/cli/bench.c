/* bench.c - `tilewright bench OP key=value... -t TARGET`: checks and measures the kernel that the library would run:
 * the best schedule that wisdom knows for this shape or a near one, else the baseline; or, on a target with a library
 * of its own, that library, with the schedule that wisdom knows for this very problem. */
#include <stdlib.h>
#include <string.h>

#include "base/device.h"
#include "cli/cli.h"
#include "evaluate/text.h"

/* Results of a library are plain keys of the object: "gflops", "kernel", ... */
static tw_status print_library_json(const cli *c, const cli_subject *s, const tw_bench *b, tw_error *error) {
  json_t *object = json_object();
  json_object_set_new(object, "correct", json_true());
  json_object_set_new(object, s->target->unit, cli_json_number(b->measurement.cost));
  json_object_set_new(object, "utilization", json_real(b->measurement.utilization));
  if (b->measurement.spread.rounds) json_object_set_new(object, "spread", tw_spread_object(&b->measurement.spread));
  for (size_t i = 0; i < b->measurement.n_counters; i++)
    json_object_set_new(object, b->measurement.counter[i].name, cli_json_number(b->measurement.counter[i].value));
  json_object_set_new(object, "kernel", tw_json_text(b->kernel));
  json_object_set_new(object, "plan", tw_json_text(b->plan));
  json_object_set_new(object, "bound", cli_json_bound(s->target, &b->bound));
  return cli_print_json(c, object, error);
}

static tw_status bench_library(const cli *c, const cli_subject *s, tw_error *error) {
  tw_bench b = {0};
  int lock;
  tw_status status = tw_device_lock(s->target->traits.device, false, NULL, &lock, error);
  if (status != TW_OK) return status;
  status = s->target->library->bench(s->target, &s->problem, c->options.inputs, &b, error);
  tw_device_unlock(lock);
  if (status != TW_OK) return status;
  if (c->options.json) return print_library_json(c, s, &b, error);
  char problem[512];
  tw_problem_print(&s->problem, problem, sizeof problem);
  printf("%s on %s\n  result        correct\n  kernel        %s\n  plan          %s\n", problem, s->target->name,
         b.kernel, b.plan);
  cli_print_measurement(s, &b.measurement, &b.bound);
  return TW_OK;
}

tw_status cli_bench(const cli *c, tw_error *error) {
  cli_subject subject;
  tw_known known;
  tw_status status = cli_subject_of(c, 0, &subject, error);
  if (status == TW_OK) status = cli_usable(&subject, error);
  if (status != TW_OK) return status;
  cli_find_known(c, &subject, &known);
  if (subject.target->library) {
    free(known.source);
    const bool hopeless =
        known.has_schedule && tw_wisdom_is_hopeless(subject.target, &subject.problem, &known.schedule);
    if (hopeless && known.is_exact)
      fprintf(stderr,
              "tilewright: the entry in wisdom is predicted to be slower than the library's own kernel and is not "
              "used; `tilewright tune` replaces it\n");
    if (known.has_schedule && known.is_exact && !hopeless)
      status = subject.target->library->learn(subject.target, &subject.problem, &known.schedule, error);
    return status == TW_OK ? bench_library(c, &subject, error) : status;
  }
  const char *note = known.source || (known.is_exact && known.has_schedule) ? "as tuned"
                     : known.has_schedule                                   ? "as tuned for a near shape"
                     : *known.illegal.text ? "the baseline: the schedule in wisdom is illegal"
                                           : "not tuned yet: the baseline";
  const bool emitted = !known.source; /* wisdom may come from another person */
  if (emitted) subject.schedule = &known.schedule;
  if (emitted) status = tw_target_emit(subject.target, &subject.problem, &known.schedule, &known.source, error);
  if (status != TW_OK) return status;
  status = cli_measure_source(c, &subject, known.source, strlen(known.source), emitted || c->options.trust, note, true,
                              error);
  free(known.source);
  return status;
}
