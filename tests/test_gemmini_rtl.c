/* The simulator against the RTL: every program of the yardstick gives the right result, each within 8% of its
 * measured cycles, 3% on average; and docs/gemmini-accuracy.md says just what this finds.
 *
 *   build/tests/test_gemmini_rtl --write    writes the table of that page anew */
#include <math.h>

#include "base/parallel.h"
#include "gemmini_yardstick.h"
#include "page.h"
#include "target/gemmini/build.h"
#include "target/gemmini/run.h"

static const page the_page = {"docs/gemmini-accuracy.md",
                              "<!-- table: made by build/tests/test_gemmini_rtl --write -->\n",
                              "<!-- end of table -->\n", "test_gemmini_rtl"};

typedef struct outcome {
  const gm_config *config;
  yardstick *program;
  size_t n;
  double cycles[100];
  char failure[100][300];
} outcome;

static void run_program(void *context, size_t i) {
  outcome *o = context;
  yardstick *y = &o->program[i];
  tw_error error = {0};
  char *elf = NULL;
  size_t size = 0;
  tw_case inputs = {0};
  gm_run_result result = {0};
  const gm_run_options options = {0};
  tw_status status = gm_build(o->config, &y->problem, y->source, y->length, false, &elf, &size, &error);
  if (status == TW_OK) status = tw_case_make(&y->problem, 7 + i, 1, &inputs, &error);
  if (status == TW_OK) status = gm_run(o->config, elf, size, &inputs, &options, &result, &error);
  if (status != TW_OK) snprintf(o->failure[i], sizeof o->failure[i], "%.299s", error.text[0] ? error.text : "failed");
  o->cycles[i] = (double)result.core.cycles;
  tw_case_free(&inputs);
  free(elf);
}

static outcome run_all(gm_config *config) {
  outcome o = {.config = config};
  *config = gemmini_config("gemmini-16x16-int8");
  o.program = yardstick_load(&o.n);
  tw_parallel_for(0, o.n, run_program, &o);
  return o;
}

static double error_of(const outcome *o, size_t i) { return o->cycles[i] / (double)o->program[i].cycles - 1; }

static double mean_error(const outcome *o) {
  double sum = 0;
  for (size_t i = 0; i < o->n; i++) sum += fabs(error_of(o, i));
  return sum / (double)o->n;
}

/* The table as the page has it. */
static char *table(const outcome *o) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  assert_non_null(f);
  fprintf(f, "| program | RTL cycles | simulated | error |\n| --- | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < o->n; i++)
    fprintf(f, "| %s | %ld | %.0f | %+.2f%% |\n", o->program[i].program, o->program[i].cycles, o->cycles[i],
            100 * error_of(o, i));
  double worst = 0;
  for (size_t i = 0; i < o->n; i++) worst = fmax(worst, fabs(error_of(o, i)));
  fprintf(f, "| **mean of the absolute errors; worst** | | | **%.2f%%; %.2f%%** |\n", 100 * mean_error(o), 100 * worst);
  fclose(f);
  return text;
}

static void every_program_is_right_and_near_its_measured_cycles(void **state) {
  const outcome *o = *state;
  assert_true(o->n >= 63);
  for (size_t i = 0; i < o->n; i++) {
    if (o->failure[i][0]) fail_msg("%s: %s", o->program[i].program, o->failure[i]);
    if (fabs(error_of(o, i)) > 0.08)
      fail_msg("%s: %.0f cycles, measured %ld", o->program[i].program, o->cycles[i], o->program[i].cycles);
  }
  print_message("mean absolute error %.2f%%\n", 100 * mean_error(o));
  assert_true(mean_error(o) <= 0.03);
}

static void the_page_says_what_was_found(void **state) { page_must_say(&the_page, table(*state)); }

int main(int argc, char *argv[]) {
  gm_config config;
  outcome o = run_all(&config);
  if (argc > 1 && !strcmp(argv[1], "--write")) {
    page_write(&the_page, table(&o));
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(every_program_is_right_and_near_its_measured_cycles, &o),
      cmocka_unit_test_prestate(the_page_says_what_was_found, &o),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  yardstick_free(o.program, o.n);
  return failed;
}
