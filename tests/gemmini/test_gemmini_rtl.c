/* The simulator against the RTL: programs of the yardstick give the right results, near their measured cycles; and
 * docs/reference/accuracy-gemmini.md says just what this finds.
 *
 *   build/tests/test_gemmini_rtl --write              writes the tables of that page anew
 *   build/tests/test_gemmini_rtl FOLDER [CHECKOUT]    prints the same tables for the programs of another folder laid out like
 *                                                     tests/data/gemmini, and those of a checkout of
 * ucb-bar/autocomp */
#include <math.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "gemmini_measured.h"
#include "page.h"
#include "target/gemmini/build.h"
#include "target/gemmini/run.h"
#include "tilewright/extend/target.h"

static const page the_page = {"docs/reference/accuracy-gemmini.md",
                              "<!-- table: made by build/tests/test_gemmini_rtl --write -->\n",
                              "<!-- end of table -->\n", "test_gemmini_rtl"};

/* Below so many cycles a program's start weighs more than what it does. */
enum { SMALL = 3000 };

typedef struct outcome {
  double cycles;
  bool asserts; /* the RTL would, of a block stride */
  char failure[300];
} outcome;

typedef struct comparison {
  gm_config config;
  measured_list list;
  outcome *outcome;
} comparison;

static void run_program(void *context, size_t i) {
  comparison *c = context;
  const measured *m = &c->list.row[i];
  outcome *o = &c->outcome[i];
  tw_error error = {0};
  char *elf = NULL;
  size_t size = 0;
  tw_case inputs = {0};
  gm_run_result result = {0};
  /* The measured programs were pasted into their caller: what a function saves was no part of the time. */
  const gm_run_options options = {.from_first_count = true};
  tw_status status = gm_build(&c->config, &m->problem, m->source, m->length, false, &elf, &size, &error);
  if (status == TW_OK) status = tw_case_make(&m->problem, 7 + i, m->result_counts, &inputs, &error);
  if (status == TW_OK) status = gm_run(&c->config, elf, size, &inputs, &options, &result, &error);
  if (status != TW_OK && (m->result_counts || result.core.stop != RV64_EXITED))
    snprintf(o->failure, sizeof o->failure, "%.299s", error.text[0] ? error.text : "failed");
  o->cycles = (double)result.core.cycles;
  o->asserts = result.counters.short_strides > 0;
  tw_case_free(&inputs);
  free(elf);
}

static comparison compare_on(gm_config config, measured_list list) {
  comparison c = {.config = config, .list = list};
  c.outcome = calloc(c.list.n + 1, sizeof *c.outcome);
  assert_non_null(c.outcome);
  tw_parallel_for(0, c.list.n, run_program, &c);
  return c;
}

static comparison compare(const char *folder, const char *checkout) {
  return compare_on(gemmini_config("gemmini-16x16-int8"), measured_load(folder, checkout));
}

/* The public SoC of data/gemmini/README.md, as its RTL says; the memory behind it is a model's, as in the other
 * measurements. */
static comparison compare_soc(void) {
  gm_config config = gemmini_config("gemmini-16x16-int8");
  measured_list list = {0};
  config.l2_bytes = 131072;                                      /* 256 sets */
  config.max_in_flight_reads = config.max_in_flight_writes = 32; /* XactTracker, StreamWriter */
  config.l2_fill_latency =
      1; /* a line's first beat is there 18 cycles after its fetch was scheduled, 16 of them the memory's */
  measured_read_table(&list, MEASURED_TUNED, TW_TEST_DATA "/gemmini/soc", "cycles.csv", NULL);
  return compare_on(config, list);
}

static void forget(comparison *c) {
  measured_free(&c->list);
  free(c->outcome);
}

static double error_of(const comparison *c, size_t i) {
  return c->outcome[i].cycles / (double)c->list.row[i].cycles - 1;
}

typedef struct sum {
  int n, n_small, n_far; /* far: more than 4%, of those that are not small */
  double mean, worst, worst_small;
  const char *worst_name, *worst_small_name;
} sum;

static sum sum_of(const comparison *c, int set) {
  sum s = {.worst_name = "", .worst_small_name = ""};
  for (size_t i = 0; i < c->list.n; i++) {
    if (set != MEASURED_SETS && (int)c->list.row[i].set != set) continue;
    const double error = error_of(c, i);
    if (c->list.row[i].cycles <= SMALL) {
      s.n_small++;
      if (fabs(error) >= fabs(s.worst_small)) s.worst_small = error, s.worst_small_name = c->list.row[i].program;
      continue;
    }
    s.n++;
    s.mean += fabs(error);
    s.n_far += fabs(error) > 0.04;
    if (fabs(error) >= fabs(s.worst)) s.worst = error, s.worst_name = c->list.row[i].program;
  }
  if (s.n) s.mean /= s.n;
  return s;
}

static void add_summary(tw_text *t, const comparison *c) {
  tw_text_add_string(t, "| set | programs | mean error | worst | above 4% | up to 3,000 cycles | worst of those |\n"
                        "| --- | ---: | ---: | --- | ---: | ---: | --- |\n");
  for (int set = 0; set <= MEASURED_SETS; set++) {
    const sum s = sum_of(c, set);
    if (!s.n && !s.n_small) continue;
    tw_text_add(t, "| %s | %d | %.2f%% | %+.2f%% %s | %d | %d | ",
                set == MEASURED_SETS ? "all" : measured_set_name[set], s.n, 100 * s.mean, 100 * s.worst, s.worst_name,
                s.n_far, s.n_small);
    if (s.n_small) tw_text_add(t, "%+.2f%% %s", 100 * s.worst_small, s.worst_small_name);
    tw_text_add_string(t, " |\n");
  }
}

static void add_programs(tw_text *t, const comparison *c) {
  tw_text_add_string(t, "\n| program | RTL cycles | simulated | error |\n| --- | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < c->list.n; i++) {
    const measured *m = &c->list.row[i];
    tw_text_add(t, "| %s%s%s | %ld | %.0f | %+.2f%% |\n", m->program, *m->what ? " " : "", m->what, m->cycles,
                c->outcome[i].cycles, 100 * error_of(c, i));
  }
}

/* The tables as the page has them; those of the SoC may be missing. */
static char *tables(const comparison *c, const comparison *soc) {
  tw_text t = {0};
  add_summary(&t, c);
  add_programs(&t, c);
  if (soc) {
    tw_text_add_string(&t, "\nOf the other machine below:\n");
    add_programs(&t, soc);
  }
  return tw_text_take(&t);
}

typedef struct comparisons {
  comparison ours, soc;
} comparisons;

static void every_program_is_right(void **state) {
  const comparison *c = &((comparisons *)*state)->ours;
  assert_true(c->list.n >= 63);
  for (size_t i = 0; i < c->list.n; i++)
    if (c->outcome[i].failure[0]) fail_msg("%s: %s", c->list.row[i].program, c->outcome[i].failure);
}

/* Of the first set each within 4%, 0.6% on average; those that isolate one mechanism, or were made because they are
 * off, within 6%, and all together 0.6%. */
static void every_program_is_near_its_measured_cycles(void **state) {
  const comparison *c = &((comparisons *)*state)->ours;
  for (size_t i = 0; i < c->list.n; i++) {
    const measured *m = &c->list.row[i];
    if (fabs(error_of(c, i)) > (m->set == MEASURED_PROGRAMS ? 0.04 : 0.06))
      fail_msg("%s: %.0f cycles, measured %ld", m->program, c->outcome[i].cycles, m->cycles);
  }
  assert_true(sum_of(c, MEASURED_PROGRAMS).mean <= 0.006);
  assert_true(sum_of(c, MEASURED_SETS).mean <= 0.006);
  const double said = tw_target_find("gemmini-16x16-int8")->traits.error; /* of the machine file */
  if (fabs(sum_of(c, MEASURED_SETS).mean - said) > 0.0001)
    fail_msg("the mean is %.4f, and the machine file says %.4f", sum_of(c, MEASURED_SETS).mean, said);
}

/* One of the first set's: its loads of one block say a block stride of nothing. */
static void short_block_strides_are_told(void **state) {
  const comparison *c = &((comparisons *)*state)->ours;
  for (size_t i = 0; i < c->list.n; i++)
    if (c->list.row[i].set == MEASURED_PROGRAMS)
      assert_int_equal(c->outcome[i].asserts, strncmp(c->list.row[i].program, "p45_", 4) == 0);
}

/* On another machine than the one that the simulator was made for, with nothing but its parameters. */
static void programs_of_another_machine_are_near(void **state) {
  const comparison *c = &((comparisons *)*state)->soc;
  double errors = 0;
  assert_int_equal(c->list.n, 14);
  for (size_t i = 0; i < c->list.n; i++) {
    if (c->outcome[i].failure[0]) fail_msg("%s: %s", c->list.row[i].program, c->outcome[i].failure);
    errors += fabs(error_of(c, i));
    if (fabs(error_of(c, i)) > 0.02)
      fail_msg("%s: %.0f cycles, measured %ld", c->list.row[i].program, c->outcome[i].cycles, c->list.row[i].cycles);
  }
  assert_true(errors / 14 <= 0.006);
}

static void the_page_says_what_was_found(void **state) {
  const comparisons *c = *state;
  page_must_say(&the_page, tables(&c->ours, &c->soc));
}

int main(int argc, char *argv[]) {
  const bool writes = argc == 2 && !strcmp(argv[1], "--write"), other = argc > 1 && !writes;
  comparisons c = {.ours = compare(other ? argv[1] : TW_TEST_DATA "/gemmini", argc > 2 ? argv[2] : NULL)};
  if (!other) c.soc = compare_soc();
  if (argc > 1) {
    for (size_t i = 0; i < c.ours.list.n; i++)
      if (c.ours.outcome[i].failure[0])
        fprintf(stderr, "%s: %s\n", c.ours.list.row[i].program, c.ours.outcome[i].failure);
    char *text = tables(&c.ours, other ? NULL : &c.soc);
    if (writes)
      page_write(&the_page, text);
    else
      fputs(text, stdout), free(text);
    forget(&c.ours);
    forget(&c.soc);
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(every_program_is_right, &c),
      cmocka_unit_test_prestate(every_program_is_near_its_measured_cycles, &c),
      cmocka_unit_test_prestate(programs_of_another_machine_are_near, &c),
      cmocka_unit_test_prestate(short_block_strides_are_told, &c),
      cmocka_unit_test_prestate(the_page_says_what_was_found, &c),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  forget(&c.ours);
  forget(&c.soc);
  return failed;
}
