/* gemmini_measured.h - programs with cycles that the RTL measured, from tables of the four kinds that there are:
 *
 *   cycles.csv           program,i,j,k,cycles,instructions,...       programs/: GEMMs; their second line says the rest
 *   tuned/cycles.csv     program,op,keys,cycles,schedule             tuned/programs/: what the search and the emitter made
 *   tuned/micro.csv      program,op,keys,cycles                      tuned/micro/: one mechanism each; results may be wrong
 *   published.csv (or published-programs.csv)  suite,program,shape,variant,cycles,...   of a checkout of ucb-bar/autocomp
 *
 * Tables that a folder lacks have no rows. */
#ifndef TW_TEST_GEMMINI_MEASURED_H
#define TW_TEST_GEMMINI_MEASURED_H

#include <sys/stat.h>

#include "gemmini_yardstick.h"
#include "target/parse.h"

enum measured_set { MEASURED_PROGRAMS, MEASURED_PUBLISHED, MEASURED_TUNED, MEASURED_MICRO, MEASURED_SETS };
static const char *const measured_set_name[MEASURED_SETS] = {"programs", "published", "tuned", "micro"};

typedef struct measured {
  enum measured_set set;
  char program[64], what[160]; /* of the published: shape and variant */
  long cycles;
  bool result_counts;
  char *source;
  size_t length;
  tw_problem problem;
} measured;

typedef struct measured_list {
  measured *row;
  size_t n;
} measured_list;

static inline measured *measured_add(measured_list *list) {
  if (list->n % 64 == 0) list->row = realloc(list->row, (list->n + 64) * sizeof *list->row);
  assert_non_null(list->row);
  return memset(&list->row[list->n++], 0, sizeof *list->row);
}

static inline tw_problem measured_problem(const char *op, const char *keys) {
  if (!strcmp(op, "gemm")) return gemm_problem(keys);
  tw_problem p = problem_from(NULL, "%s %s", op, keys);
  tw_error error = {0};
  static const char *const types[][2] = {{"a", "i8"}, {"b", "i8"}, {"out", "i8"}, {"acc", "i32"}};
  for (int t = 0; t < 4; t++)
    if (!tw_problem_given(&p, types[t][0])) must(tw_problem_set(&p, types[t][0], types[t][1], &error), &error);
  return p;
}

static inline bool measured_is_there(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

/* The library call, for shapes without a program of their own. */
static const char measured_library_call[] =
    "void test(int8_t A[MAT_DIM_I][MAT_DIM_K], int8_t B[MAT_DIM_K][MAT_DIM_J], int8_t C[MAT_DIM_I][MAT_DIM_J]) {\n"
    "  tiled_matmul_auto(MAT_DIM_I, MAT_DIM_J, MAT_DIM_K, (elem_t *)A, (elem_t *)B, NULL, C, MAT_DIM_K, MAT_DIM_J,\n"
    "                    MAT_DIM_J, MAT_DIM_J, 1, 1, 1, NO_ACTIVATION, 1, 0, false, false, false, false, false, 0, "
    "WS);\n"
    "  fence();\n"
    "}\n";

static inline void measured_read_published(measured *m, const char *line, const char *checkout) {
  char program[160], shape[64], variant[64], keys[160], path[4096], *text = NULL;
  size_t length = 0;
  int v[7];
  tw_error error = {0};
  assert_int_equal(sscanf(line, "%*[^,],%159[^,],%63[^,],%63[^,],%ld", program, shape, variant, &m->cycles), 4);
  const char *name = strrchr(program, '/');
  snprintf(m->program, sizeof m->program, "%.63s", name ? name + 1 : program);
  snprintf(m->what, sizeof m->what, "%s %s", shape, variant);
  if (sscanf(shape, "n%d_p%d_q%d_c%d_k%d_r%d_s%d", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6]) == 7) {
    snprintf(keys, sizeof keys, "n=%d h=%d w=%d c=%d k=%d r=%d s=%d bias=row", v[0], v[1] + v[5] - 1, v[2] + v[6] - 1,
             v[3], v[4], v[5], v[6]);
    m->problem = measured_problem("conv2d", keys);
  } else {
    assert_int_equal(sscanf(shape, "%dx%dx%d", &v[0], &v[1], &v[2]), 3);
    snprintf(keys, sizeof keys, "m=%d k=%d n=%d", v[0], v[1], v[2]);
    m->problem = measured_problem("gemm", keys);
  }
  snprintf(path, sizeof path, "%s/%s", checkout, program);
  if (measured_is_there(path))
    must(tw_file_read(path, 1 << 22, &text, &length, &error), &error);
  else
    text = strdup(measured_library_call), length = strlen(text);
  const char *head = strcmp(variant, "library_software_loop") ? "" : "#define GEMMINI_SOFTWARE_LOOP\n";
  m->length = strlen(head) + length;
  m->source = malloc(m->length + 1);
  assert_non_null(m->source);
  snprintf(m->source, m->length + 1, "%s%.*s", head, (int)length, text);
  m->result_counts = true;
  free(text);
}

static inline void measured_read_row(measured *m, const char *line, const char *folder) {
  char path[4096], op[16], keys[160];
  tw_error error = {0};
  yardstick y = {0};
  bool plain = m->set == MEASURED_PROGRAMS;
  if (plain)
    assert_int_equal(sscanf(line, "%63[^,],%ld,%ld,%ld,%ld,", m->program, &y.i, &y.j, &y.k, &m->cycles), 5);
  else
    assert_int_equal(sscanf(line, "%63[^,],%15[^,],%159[^,],%ld", m->program, op, keys, &m->cycles), 4);
  snprintf(path, sizeof path, "%s/%s/%s", folder, m->set == MEASURED_MICRO ? "micro" : "programs", m->program);
  must(tw_file_read(path, 1 << 22, &m->source, &m->length, &error), &error);
  y.source = m->source;
  m->problem = plain ? yardstick_problem(&y) : measured_problem(op, keys);
  m->result_counts = m->set != MEASURED_MICRO;
}

static inline void measured_read_table(measured_list *list, enum measured_set set, const char *folder, const char *name,
                                       const char *checkout) {
  char path[4096], *table = NULL, *save = NULL;
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!measured_is_there(path) || (set == MEASURED_PUBLISHED && !checkout)) return;
  must(tw_file_read(path, 1 << 20, &table, NULL, &error), &error);
  strtok_r(table, "\n", &save); /* the heading */
  for (char *line; (line = strtok_r(NULL, "\n", &save));) {
    if (!strncmp(line, "autocomp_paper,", 15)) continue; /* printed in a paper, in no checkout */
    measured *m = measured_add(list);
    m->set = set;
    if (set == MEASURED_PUBLISHED)
      measured_read_published(m, line, checkout);
    else
      measured_read_row(m, line, folder);
  }
  free(table);
}

/* All rows of the tables in `folder`; those of published programs if there is a checkout of them. */
static inline measured_list measured_load(const char *folder, const char *checkout) {
  measured_list list = {0};
  char tuned[4096];
  snprintf(tuned, sizeof tuned, "%s/tuned", folder);
  measured_read_table(&list, MEASURED_PROGRAMS, folder, "cycles.csv", NULL);
  measured_read_table(&list, MEASURED_PUBLISHED, folder, "published.csv", checkout);
  measured_read_table(&list, MEASURED_PUBLISHED, folder, "published-programs.csv", checkout);
  measured_read_table(&list, MEASURED_TUNED, tuned, "cycles.csv", NULL);
  measured_read_table(&list, MEASURED_MICRO, tuned, "micro.csv", NULL);
  return list;
}

static inline void measured_free(measured_list *list) {
  for (size_t i = 0; i < list->n; i++) free(list->row[i].source);
  free(list->row);
}

#endif
