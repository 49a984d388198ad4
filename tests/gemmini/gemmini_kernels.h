/* gemmini_kernels.h - for tests of schedules: runs the kernels that they make on the host.
 *
 * Kernels are compiled for the host against data/gemmini_commands.h, where every command does what it does on Gemmini
 * but takes no time, and compared with the reference. */
#ifndef TW_TEST_GEMMINI_KERNELS_H
#define TW_TEST_GEMMINI_KERNELS_H

#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "base/status.h"
#include "gemmini_family.h"
#include "op/operand.h"
#include "subject.h"

#define CONFIGS TW_TEST_DATA "/../../src/target/gemmini/configs/"

static inline gm_config read_config(const char *name) {
  char path[512];
  snprintf(path, sizeof path, CONFIGS "%s.txt", name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char text[16384] = "";
  const size_t length = fread(text, 1, sizeof text - 1, file);
  assert_true(length > 0);
  fclose(file);
  gm_config config;
  tw_error error = {0};
  if (gm_config_parse(text, path, &config, &error) != TW_OK) fail_msg("%s", error.text);
  return config;
}

/* A problem of the configuration's own types; `wide`: with an output of the accumulator's type. */
static inline tw_problem problem_of(const gm_config *config, const char *op, const char *words, bool wide) {
  tw_problem p = problem_from(NULL, "%s %s", op, words);
  const char *in = tw_type_name(config->input_type), *acc = tw_type_name(config->acc_type);
  const char *const value[] = {in, in, acc, wide ? acc : in};
  const char *const key[] = {"a", "b", "acc", strcmp(op, "gemm") == 0 ? "c" : "out"};
  for (int i = 0; i < 4; i++) assert_int_equal(tw_problem_set(&p, key[i], value[i], NULL), TW_OK);
  return p;
}

/* --- running kernels ---------------------------------------------------------------------------------------- */

enum { BATCH = 24 };

typedef struct batch {
  const gm_config *config;
  bool wide; /* C of the accumulator's type */
  int n;
  tw_problem problem[BATCH];
  char *source[BATCH];
  char *schedule[BATCH];
} batch;

static inline void add(batch *b, const tw_problem *problem, const tw_schedule *schedule) {
  assert_true(b->n < BATCH);
  tw_error error = {0};
  char text[8192];
  tw_schedule_print(schedule, text, sizeof text);
  b->problem[b->n] = *problem;
  b->schedule[b->n] = strdup(text);
  if (gm_emit(b->config, problem, schedule, &b->source[b->n], &error) != TW_OK) fail_msg("%s\n%s", error.text, text);
  b->n++;
}

static inline const char *c_type(tw_type type) {
  return type == TW_I8 ? "int8_t" : type == TW_I32 ? "int32_t" : "float";
}

/* Compiles all kernels of the batch into one shared object. */
static inline void *compile(const batch *b, char *directory) {
  char path[256], command[1024];
  assert_non_null(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/kernels.c", directory);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "#include <stdint.h>\ntypedef %s elem_t;\ntypedef %s acc_t;\n", c_type(b->config->input_type),
          c_type(b->config->acc_type));
  fprintf(file, "enum { DIM = %d, SPAD_ROWS = %d, ACC_ROWS = %d };\n", b->config->dim, gm_spad_rows(b->config),
          gm_acc_rows(b->config));
  fprintf(file, "#include \"gemmini_commands.h\"\n");
  for (int i = 0; i < b->n; i++)
    fprintf(file,
            "#define test test_%d\n%s\n#undef test\n#undef FULL\n#undef NONE\n#undef MIN\n#undef CUT_M\n#undef "
            "CUT_N\n#undef CUT_K\n#undef CUT_C\n#undef CUT_S\n",
            i, b->source[i]);
  fprintf(file, "void reset(void) { reset_commands(); }\nint faults(void) { return commands_fault; }\n");
  fclose(file);
  snprintf(command, sizeof command, "gcc -std=gnu99 -O0 -w -fPIC -shared -I%s -o %s/kernels.so %s -lm", TW_TEST_DATA,
           directory, path);
  assert_int_equal(system(command), 0);
  snprintf(path, sizeof path, "%s/kernels.so", directory);
  void *object = dlopen(path, RTLD_NOW);
  if (!object) fail_msg("%s", dlerror());
  return object;
}

static inline void check(const batch *b, void *object, int i) {
  char name[32], text[512];
  tw_error error = {0};
  tw_case expected, actual;
  assert_int_equal(tw_case_make(&b->problem[i], 7, 1, &expected, &error), TW_OK);
  assert_int_equal(tw_case_make(&b->problem[i], 7, 1, &actual, &error), TW_OK);
  const size_t out = expected.n_operands - 1;
  const tw_operand *c = &actual.operand[out];
  const size_t element = (size_t)tw_type_bits(c->type) / 8;
  int64_t rows = 1;
  for (int d = 0; d + 1 < c->rank; d++) rows *= c->dims[d];
  for (int64_t row = 0; row < rows; row++) /* what lies between the rows is not the kernel's */
    memset((char *)actual.buffer[out] + (size_t)(row * tw_operand_pitch(c)) * element, 0x55,
           (size_t)c->dims[c->rank - 1] * element);
  snprintf(name, sizeof name, "test_%d", i);
  void (*kernel)(void *, ...);
  *(void **)&kernel = dlsym(object, name);
  void (*reset)(void);
  *(void **)&reset = dlsym(object, "reset");
  int (*faults)(void);
  *(void **)&faults = dlsym(object, "faults");
  assert_true(kernel && reset && faults);
  reset();
  if (expected.n_operands == 4)
    ((void (*)(void *, void *, void *, void *))kernel)(actual.buffer[0], actual.buffer[1], actual.buffer[2],
                                                       actual.buffer[3]);
  else
    ((void (*)(void *, void *, void *))kernel)(actual.buffer[0], actual.buffer[1], actual.buffer[2]);
  tw_problem_print(&b->problem[i], text, sizeof text);
  if (b->problem[i].op->compare(&b->problem[i], expected.buffer, actual.buffer, &error) != TW_OK || faults() != 0)
    fail_msg("%s: %s (%d faults)\nschedule:\n%s\n%s", text, error.text, faults(), b->schedule[i], b->source[i]);
  tw_case_free(&expected);
  tw_case_free(&actual);
}

static inline void run(batch *b) {
  char directory[] = "/tmp/tilewright-emit-XXXXXX", command[256];
  void *object = compile(b, directory);
  for (int i = 0; i < b->n; i++) check(b, object, i);
  dlclose(object);
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
  for (int i = 0; i < b->n; i++) {
    free(b->source[i]);
    free(b->schedule[i]);
  }
  b->n = 0;
}

/* --- random schedules --------------------------------------------------------------------------------------- */

static inline int below(tw_random *random, int n) { return (int)tw_random_below(random, (uint64_t)n); }

static inline const char *pick(tw_random *random, const char *const word[], int n) { return word[below(random, n)]; }
#define PICK(random, ...)                                                                                              \
  pick(random, (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

/* A walk along the menu: whatever it offers must be legal, and so must be what it offers then. */
static inline tw_schedule menu_schedule(tw_random *random, const gm_config *config, const tw_problem *problem) {
  tw_schedule schedule = {0};
  for (int steps = 1 + below(random, 8); steps > 0; steps--) {
    tw_menu menu;
    tw_error error = {0};
    assert_int_equal(gm_steps(config, problem, &schedule, &menu, &error), TW_OK);
    for (size_t i = 0; i < menu.n; i++) {
      tw_schedule longer = schedule;
      double cycles = 0;
      assert_int_equal(tw_schedule_add(&longer, menu.item[i].step, &error), TW_OK);
      if (gm_predict(config, problem, &longer, &cycles, &error) != TW_OK)
        fail_msg("offered, but refused: %s", error.text);
      assert_true(cycles > 0 && cycles == menu.item[i].predicted_cost);
      assert_true(*menu.item[i].lever && *menu.item[i].why);
      assert_true(i == 0 || menu.item[i].predicted_cost >= menu.item[i - 1].predicted_cost);
    }
    const tw_menu_item *item = menu.n ? &menu.item[below(random, (int)menu.n)] : NULL;
    if (item &&
        strncmp(item->step, "hardware_loop", 13) != 0) /* the commands' stand-in on the host has no hardware loop */
      assert_int_equal(tw_schedule_add(&schedule, item->step, &error), TW_OK);
    tw_menu_free(&menu);
  }
  return schedule;
}

/* Steps that are legal after each other; illegal ones are left out. */
static inline tw_schedule legal_schedule(void (*random_step)(tw_random *, int dim, char step[TW_STEP_MAX]),
                                         tw_random *random, const gm_config *config, const tw_problem *problem) {
  tw_schedule schedule = {0};
  for (int tries = 0; tries < 30; tries++) {
    tw_schedule longer = schedule;
    char step[TW_STEP_MAX];
    double cycles;
    random_step(random, config->dim, step);
    assert_int_equal(tw_schedule_add(&longer, step, NULL), TW_OK);
    if (gm_predict(config, problem, &longer, &cycles, NULL) == TW_OK) schedule = longer;
  }
  return schedule;
}

/* The schedule is refused, and the message has `reason` in it. */
static inline void must_be_refused(const char *op, const char *shape, const char *steps, const char *reason) {
  const gm_config config = read_config("gemmini-16x16-int8");
  const tw_problem problem = problem_of(&config, op, shape, false);
  const tw_schedule schedule = schedule_from(steps);
  tw_error error = {0};
  char *source = NULL;
  assert_int_equal(tw_status_group(gm_emit(&config, &problem, &schedule, &source, &error)), TW_USAGE);
  assert_null(source);
  if (!strstr(error.text, reason)) fail_msg("'%s' does not say '%s'", error.text, reason);
}

#endif
