/* gemmini_yardstick.h - the measured programs of data/gemmini: their sources, problems and figures. */
#ifndef TW_TEST_GEMMINI_YARDSTICK_H
#define TW_TEST_GEMMINI_YARDSTICK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/files.h"
#include "subject.h"
#include "target/gemmini/config.h"
#include "target/parse.h"
#include "test.h"
#include "tilewright/extend/op.h"

typedef struct yardstick {
  char program[64];
  long i, j, k, cycles, instructions;
  char *source;
  size_t length;
  tw_problem problem;
} yardstick;

static inline void must(tw_status status, const tw_error *error) {
  if (status != TW_OK) fail_msg("%s", error->text);
}

static inline gm_config gemmini_config(const char *name) {
  char path[128];
  gm_config config;
  tw_error error = {0};
  snprintf(path, sizeof path, "gemmini/configs/%s.txt", name);
  const tw_embedded *file = tw_embedded_find(path);
  assert_non_null(file);
  must(gm_config_parse((const char *)file->data, name, &config, &error), &error);
  return config;
}

/* gemm with the types of the configuration: i8 with i32, or f32. */
static inline tw_problem gemm_problem(const char *keys) {
  tw_problem p = problem_from(NULL, "gemm %s", keys);
  tw_error error = {0};
  static const char *const types[][2] = {{"a", "i8"}, {"b", "i8"}, {"c", "i8"}, {"acc", "i32"}};
  for (int t = 0; t < 4; t++)
    if (!tw_problem_given(&p, types[t][0])) must(tw_problem_set(&p, types[t][0], types[t][1], &error), &error);
  return p;
}

/* The second line of a program: // @ a_transposed=0 bias=none relu=0 scale=1 */
static inline tw_problem yardstick_problem(const yardstick *y) {
  char keys[256];
  const char *second = strchr(y->source, '\n') + 1;
  assert_int_equal(strncmp(second, "// @ ", 5), 0);
  snprintf(keys, sizeof keys, "m=%ld n=%ld k=%ld %.*s", y->i, y->j, y->k, (int)strcspn(second + 5, "\n"), second + 5);
  return gemm_problem(keys);
}

/* All programs in the order of the table; `n` is how many. */
static inline yardstick *yardstick_load(size_t *n) {
  char *table = NULL, *save = NULL;
  tw_error error = {0};
  yardstick *all = calloc(100, sizeof *all);
  assert_non_null(all);
  must(tw_file_read(TW_TEST_DATA "/gemmini/cycles.csv", 1 << 20, &table, NULL, &error), &error);
  *n = 0;
  for (char *line = strtok_r(table, "\n", &save); line && *n < 100; line = strtok_r(NULL, "\n", &save)) {
    yardstick *y = &all[*n];
    if (sscanf(line, "%63[^,],%ld,%ld,%ld,%ld,%ld,", y->program, &y->i, &y->j, &y->k, &y->cycles, &y->instructions) !=
        6)
      continue; /* the heading */
    char path[4096];
    snprintf(path, sizeof path, "%s/gemmini/programs/%s", TW_TEST_DATA, y->program);
    must(tw_file_read(path, 1 << 20, &y->source, &y->length, &error), &error);
    y->problem = yardstick_problem(y);
    (*n)++;
  }
  free(table);
  assert_int_equal(*n, 63);
  return all;
}

static inline void yardstick_free(yardstick *all, size_t n) {
  for (size_t i = 0; i < n; i++) free(all[i].source);
  free(all);
}

#endif
