/* test_machines.c - machines of files: each machine of the program expressed as a file is the same machine; values make
 * the name, words do not; the stated error goes with the machine that was measured; files that are wrong say where;
 * 1,000 mutated files neither crash the reader nor what is done with the machine. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "evaluate/evaluator.h"
#include "evaluate/text.h"
#include "tilewright/extend/target.h"
#include "tilewright/machine.h"

static const tw_target *known_machine(size_t index) { /* the targets that files describe */
  const tw_target *t;
  char *text;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    if (tw_machine_template(t, &text, NULL) != TW_OK) continue;
    free(text);
    if (index-- == 0) return t;
  }
  return NULL;
}

static char *template_of(const tw_target *t) {
  char *text = NULL;
  tw_error error = {0};
  if (tw_machine_template(t, &text, &error) != TW_OK) fail_msg("%s", error.text);
  return text;
}

/* Every line "#key = value" without its '#'. */
static char *uncommented(const char *template) {
  tw_text out = {0};
  for (const char *line = template; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    const bool value = line[0] == '#' && line[1] >= 'a' && line[1] <= 'z';
    tw_text_add_bytes(&out, line + value, strcspn(line, "\n") - value);
    tw_text_add_string(&out, "\n");
  }
  return tw_text_take(&out);
}

static const tw_target *read_machine(const char *text) {
  char *path = NULL, *directory = NULL;
  const tw_target *t = NULL;
  tw_error error = {0};
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  path = tw_path_join(directory, "own.machine");
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  if (tw_target_open(path, &t, &error) != TW_OK) fail_msg("%s\n%s", error.text, text);
  tw_directory_remove(directory);
  free(directory);
  free(path);
  return t;
}

/* A file whose text is wrong: all of its problems. The caller frees them. */
static char *problems_of(const char *text) {
  char *path = NULL, *directory = NULL, *problems = NULL;
  tw_error error = {0};
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  path = tw_path_join(directory, "own.machine");
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  assert_int_equal(tw_machine_check(path, NULL, &problems, &error), TW_USAGE);
  tw_directory_remove(directory);
  free(directory);
  free(path);
  if (problems) return problems;
  return strdup(error.text);
}

/* ---- the machines of the program as files ---- */

static bool problem_for(const tw_target *t, tw_problem *out) {
  return tw_problem_parse(t, "gemm m=128 n=512 k=128", out, NULL) == TW_OK && tw_target_supports(t, out, NULL) == TW_OK;
}

/* A comment of a kernel may have the name of a file's machine, NAME@VALUES: only NAME is added. */
static void add_without_values(tw_text *out, const char *source, const char *name) {
  for (const char *at; (at = strstr(source, name)); source = at + strlen(name)) {
    tw_text_add_bytes(out, source, (size_t)(at - source));
    tw_text_add_bytes(out, name, strcspn(name, "@"));
  }
  tw_text_add_string(out, source);
}

/* Baseline, text and prediction of a product; the menu that follows. */
static char *kernel_in_words(const tw_target *t) {
  tw_problem p;
  tw_schedule s = {0};
  tw_menu menu = {0};
  char *source = NULL;
  double cost = -1;
  tw_text out = {0};
  if (!problem_for(t, &p)) return strdup("no product");
  tw_target_baseline(t, &p, &s, NULL);
  for (int step = 0; step < 3; step++) {
    if (tw_target_emit(t, &p, &s, &source, NULL) == TW_OK) add_without_values(&out, source, t->name);
    free(source);
    source = NULL;
    tw_target_predict(t, &p, &s, &cost, NULL);
    tw_text_add(&out, "\ncost %.17g\n", cost);
    if (tw_target_steps(t, &p, &s, &menu, NULL) != TW_OK) break;
    const bool more = menu.n > 0;
    if (more) tw_schedule_add(&s, menu.item[menu.n / 2].step, NULL);
    tw_menu_free(&menu);
    if (!more) break;
  }
  return tw_text_take(&out);
}

static double measured(const tw_target *t) {
  tw_problem p;
  tw_schedule s = {0};
  tw_case k = {0};
  tw_artefact *a = NULL;
  char *source = NULL;
  tw_measurement m = {0};
  tw_error error = {0};
  if (t->available(t, NULL) != TW_OK || !t->traits.simulated || !problem_for(t, &p)) return 0;
  tw_target_baseline(t, &p, &s, NULL);
  if (tw_target_emit(t, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
  if (t->build(t, &p, source, strlen(source), &(tw_evaluation){.trust = true}, &a, &error) != TW_OK ||
      tw_target_case(t, &p, 1, 1, &k, &error) != TW_OK || t->check(t, a, &k, &(tw_evaluation){0}, &error) != TW_OK ||
      t->measure(t, a, &k, &(tw_evaluation){0}, &m, &error) != TW_OK)
    fail_msg("%s: %s", t->name, error.text);
  t->release(a);
  tw_case_free(&k);
  free(source);
  return m.cost;
}

static void each_machine_of_the_program_is_the_same_as_a_file(void **state) {
  const tw_target *t;
  size_t n = 0;
  for (; (t = known_machine(n)); n++) {
    char *template = template_of(t), *full = uncommented(template);
    const tw_target *file = read_machine(template), *whole = read_machine(full);
    if (strcmp(strchr(file->name, '@'), strchr(whole->name, '@')) != 0)
      fail_msg("%s: values differ: %s, %s", t->name, file->name, whole->name);
    assert_true(file->traits.error == t->traits.error && whole->traits.error == t->traits.error);
    /* a comment of the emitted text names the machine: the whole file has the same name */
    char *ours = kernel_in_words(t), *own = kernel_in_words(whole);
    if (strcmp(ours, own) != 0) fail_msg("%s: other kernels or predictions as a file", t->name);
    free(ours);
    free(own);
    const double a = measured(t), b = measured(whole);
    if (a != b) fail_msg("%s costs %.17g, as a file %.17g", t->name, a, b);
    free(template);
    free(full);
  }
  assert_true(n >= 18);
}

/* ---- names and errors ---- */

static void values_make_the_name_and_words_do_not(void **state) {
  const tw_target *a = read_machine("base = gemmini-16x16-int8\nl2_ways = 4\nllc_hit = 20\n");
  const tw_target *b =
      read_machine("# mine\nbase = gemmini-16x16-int8 # that\n\nllc_hit = 20\nl2_ways = 4\nsummary = other words\n");
  const tw_target *c = read_machine("base = gemmini-16x16-int8\nl2_ways = 4\nllc_hit = 21\n");
  assert_string_equal(a->name, b->name);
  assert_true(strncmp(a->name, "own@", 4) == 0 && strlen(a->name) == 12);
  assert_string_not_equal(a->name, c->name);
  assert_ptr_equal(tw_target_find(a->name), a);
  char renamed[32], digest[TW_HASH_TEXT], again[TW_HASH_TEXT];
  snprintf(renamed, sizeof renamed, "other%s", strchr(a->name, '@'));
  assert_ptr_equal(tw_target_find(renamed), a); /* wisdom that was found under another name of the file */
  assert_null(tw_target_find("other@00000000"));
  const tw_target *named = read_machine("base = gemmini-16x16-int8\nname = lab-3\nl2_ways = 4\n");
  assert_true(strncmp(named->name, "lab-3@", 6) == 0);
  const tw_target *same = read_machine("base = gemmini-16x16-int8\nname = lab-4\nsummary = ours\nl2_ways = 4\n");
  tw_evaluator_digest(named, digest); /* a journal goes on under another name */
  tw_evaluator_digest(same, again);
  assert_ptr_not_equal(named, same);
  assert_string_equal(digest, again);
  tw_evaluator_digest(c, again);
  assert_string_not_equal(digest, again);
}

static void the_stated_error_is_of_the_machine_that_was_measured(void **state) {
  const tw_target *t = tw_target_find("gemmini-16x16-int8"), *own;
  own = read_machine("base = gemmini-16x16-int8\nsummary = the same in other words\n");
  assert_true(own->traits.error == t->traits.error && own->traits.error > 0);
  own = read_machine("base = gemmini-16x16-int8\nllc_miss = 51\n");
  assert_true(own->traits.error == 0);
  assert_string_equal(own->traits.error_of, "this machine has not been measured");
  own =
      read_machine("base = gemmini-16x16-int8\nhas_relu = 0\nacc_read_full_width = 0\n"); /* parts that take no time */
  assert_true(own->traits.error == t->traits.error);
  own = read_machine("base = gemmini-16x16-int8\nhas_loop_conv = 0\n"); /* a queue less */
  assert_true(own->traits.error == 0);
  own = read_machine("base = gemmini-16x16-int8\nllc_miss = 51\nerror = 0.03\n");
  assert_true(own->traits.error == 0.03);
  assert_non_null(strstr(own->traits.error_of, "stated in"));
  own = tw_target_find("cdna4-mi350x");
  assert_true(own->traits.error == 0 && strstr(own->traits.error_of, "not been measured"));
  assert_true(tw_target_find("xdna2-halo")->traits.error > 0); /* its file has its own */
}

static void files_are_found_by_name(void **state) {
  char *directory = NULL, *path;
  const tw_target *t = NULL;
  tw_error error = {0};
  assert_int_equal(tw_directory_temporary(&directory, NULL), TW_OK);
  path = tw_path_join(directory, "shelf.machine");
  const char text[] = "base = trn2\n[dma]\nengines = 8\n";
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  assert_int_equal(tw_target_open("shelf", &t, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "unknown target 'shelf'"));
  char list[400];
  snprintf(list, sizeof list, "/nowhere:%s", directory);
  setenv("TILEWRIGHT_MACHINES", list, 1);
  if (tw_target_open("shelf", &t, &error) != TW_OK) fail_msg("%s", error.text);
  assert_ptr_equal(tw_target_find(t->name), t);
  assert_int_equal(tw_target_open("shelf@00000000", &t, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "its values have changed"));
  char *file = tw_machine_file_at(0);
  assert_string_equal(file, path);
  free(file);
  assert_null(tw_machine_file_at(1));
  unsetenv("TILEWRIGHT_MACHINES");
  tw_directory_remove(directory);
  free(directory);
  free(path);
}

/* A runner does not need the file. */
static void a_trial_carries_its_machine(void **state) {
  const tw_target *t = read_machine("base = gemmini-4x4-fp32\nl2_latency = 12\n");
  tw_problem p;
  assert_true(problem_for(t, &p));
  const tw_trial trial = {.target = t, .problem = &p, .source = "x", .length = 1, .seed = 3};
  char *text = tw_trial_print(&trial);
  assert_non_null(text);
  assert_non_null(strstr(text, "l2_latency = 12"));
  tw_read_trial again;
  tw_error error = {0};
  if (tw_trial_read(text, NULL, &again, &error) != TW_OK) fail_msg("%s", error.text);
  assert_ptr_equal(again.trial.target, t);
  tw_read_trial_free(&again);
  free(text);
  const tw_target *other = NULL;
  char *machine = tw_machine_text(t);
  assert_int_equal(tw_machine_read(machine, "own@12345678", "here", &other, &error), TW_USAGE);
  free(machine);
}

/* ---- wrong files ---- */

static void wrong_files_say_where(void **state) {
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"", ":1: a machine file begins with `base = NAME`"},
      {"dim = 8\nbase = gemmini-16x16-int8\n", ":1: a machine file begins with"},
      {"base = gemini-16x16-int8\n", ":1: base = gemini-16x16-int8: unknown machine; did you mean gemmini-16x16-int8?"},
      {"base = x86\n", "unknown machine, or a machine without a file"},
      {"base = gemmini-16x16-int8\n\nspad_bnks = 4\n",
       ":3: unknown key \"spad_bnks\" of a machine; did you mean \"spad_banks\"?"},
      {"base = gemmini-16x16-int8\nscratchpad = 64\n",
       ":2: unknown key \"scratchpad\" of a machine; `tilewright targets --write NAME` lists the keys"},
      {"base = gemmini-16x16-int8\nacc_bytes = 8192\nacc_banks = 32\n",
       ":3: an accumulator bank holds fewer rows (4) than dim = 16"},
      {"base = gemmini-4x4-fp32\ninput_type = bf16\nmesh_output_bits = 16\n",
       ":3: mesh_output_bits must be 32 with floating point"},
      {"base = cdna4\nxcds = 0\n", ":2: xcds = 0: must be from 1 to 64"},
      {"base = cdna4\nprocessor = gfx90a\n", ":2: processor = gfx90a: expected one of gfx942 gfx950"},
      {"base = cuda-h200\nl2_bytes = 12MB\n", ":2: l2_bytes = 12MB: not an integer"},
      {"base = trn2\n[dmas]\nengines = 3\n", ":2: unknown section [dmas]"},
      {"base = trn2\n[dma]\n[dma]\n", ":3: a second [dma]"},
      {"base = xdna2\nl1_bytes = 1024\n", ":2: the stack uses all of L1"},
      {"base = xdna2\n[kernel]\nname = new\n", "the kernel above lacks the key a"},
      {"base = xdna2\n[kernel]\nname = atb\nvmac_cycles = 0\n", "kernel atb has cluster_cycles, but lacks vmac_cycles"},
      {"base = gemmini-16x16-int8\nname = a name\n", "must have 1 to 31 letters"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *problems = problems_of(cases[i].text);
    if (!strstr(problems, cases[i].says)) fail_msg("%s\n%s", cases[i].text, problems);
    if (!strstr(problems, "own.machine")) fail_msg("%s does not name the file", problems);
    free(problems);
  }
}

static void all_problems_are_listed(void **state) {
  char *problems =
      problems_of("base = gemmini-16x16-int8\ndimm = 8\nspad_banks = 3\nacc_latency = 1\ndim = 64\ndim = 32\nfoo\n");
  size_t n = 0;
  for (const char *p = problems; (p = strchr(p, '\n')); p++) n++;
  assert_int_equal(n, 5);
  for (int line = 2; line <= 7; line++) {
    char at[32];
    snprintf(at, sizeof at, "own.machine:%d: ", line);
    if (line != 5 && !strstr(problems, at)) fail_msg("no %s in\n%s", at, problems);
  }
  free(problems);
}

/* Values that contradict each other are found beside wrong lines, unless a wrong line is one of theirs. */
static void contradictions_are_found_beside_wrong_lines(void **state) {
  char *problems = problems_of("base = gemmini-16x16-int8\ndimm = 8\n\nacc_banks = 32\nacc_bytes = 8192\n");
  assert_non_null(strstr(problems, ":2: unknown key"));
  assert_non_null(strstr(problems, ":5: an accumulator bank holds fewer rows (4) than dim = 16"));
  free(problems);
  problems = problems_of("base = gemmini-16x16-int8\nacc_banks = 33\nacc_bytes = 1024\n");
  assert_non_null(strstr(problems, ":2: acc_banks = 33"));
  assert_null(strstr(problems, "an accumulator bank"));
  free(problems);
  problems =
      problems_of("base = xdna2\nl1_bytes = 1024\n[kernel]\nname = new\n"); /* a kernel without values is not checked */
  assert_non_null(strstr(problems, "lacks the key"));
  assert_null(strstr(problems, "stack"));
  free(problems);
}

static void the_error_of_a_text_counts_its_problems(void **state) {
  const tw_target *t = NULL;
  tw_error error = {0};
  assert_int_equal(tw_machine_read("base = cdna4\none = 1\ntwo = 2\n", "mine", "mine", &t, &error), TW_USAGE);
  if (!strstr(error.text, "mine:2: ") || !strstr(error.text, "1 more problem")) fail_msg("%s", error.text);
}

/* ---- mutated files ---- */

static char *mutated(const char *text, tw_random *r) {
  static const char *const values[] = {
      "0",     "1",     "-1",  "2147483647", "9223372036854775807", "1e308", "nan", "i8", "f32", "64", "2", "3", "",
      "4 4 4", "8x8x8", "[x]", "="};
  size_t length = strlen(text);
  char *out = malloc(2 * length + 400);
  memcpy(out, text, length + 1);
  for (uint64_t i = tw_random_below(r, 6) + 1; i > 0; i--) {
    const size_t at = (size_t)tw_random_below(r, length ? length : 1), end = at + strcspn(out + at, "\n");
    const char *value = values[tw_random_below(r, sizeof values / sizeof *values)];
    switch (tw_random_below(r, 5)) {
    case 0: out[at] = (char)(1 + tw_random_below(r, 255)); break;
    case 1: /* a line goes */ memmove(out + at, out + end, length - end + 1); break;
    case 2: { /* a value changes */
      char *equals = memchr(out + at, '=', end - at);
      if (!equals) break;
      memmove(equals + 2 + strlen(value), out + end, length - end + 1);
      memcpy(equals + 1, " ", 1);
      memcpy(equals + 2, value, strlen(value));
      break;
    }
    case 3: /* a commented line counts */
      if (out[at] == '#') out[at] = ' ';
      for (size_t p = at; p < length; p++)
        if (out[p] == '\n' && out[p + 1] == '#') {
          out[p + 1] = ' ';
          break;
        }
      break;
    default: /* the text ends */
      if (tw_random_below(r, 8) == 0) out[at] = '\0';
    }
    length = strlen(out);
    if (length > 2 * strlen(text)) break;
  }
  return out;
}

static void mutated_files_never_crash(void **state) {
  const size_t files = 1000 / (size_t)example_stride();
  size_t machines = 0, right = 0;
  tw_random r;
  tw_random_seed(&r, 38);
  while (known_machine(machines)) machines++;
  for (size_t i = 0; i < files; i++) {
    char *template = template_of(known_machine(i % machines)), *full = i & 1 ? uncommented(template) : strdup(template);
    char *text = mutated(full, &r);
    const tw_target *t = NULL;
    char *name = NULL, *problems = NULL;
    /* the first read says the name that its values make */
    tw_error error = {0};
    if (tw_machine_read(text, "mutant@00000000", "mutant", &t, &error) == TW_OK ||
        strstr(error.text, "values make it")) {
      const char *is = strstr(error.text, "make it ");
      right++;
      if (is && (name = strndup(is + 8, strcspn(is + 8, ","))) && (t = tw_target_find(name))) {
        char *words = t->describe(t), *kernel = kernel_in_words(t);
        free(words);
        free(kernel);
      }
    } else if (!strstr(error.text, "mutant:")) {
      fail_msg("an error without its place: %s", error.text);
    }
    free(name);
    free(problems);
    free(text);
    free(full);
    free(template);
  }
  assert_true(right > files / 10); /* the test is about both */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_machine_of_the_program_is_the_same_as_a_file),
      cmocka_unit_test(values_make_the_name_and_words_do_not),
      cmocka_unit_test(the_stated_error_is_of_the_machine_that_was_measured),
      cmocka_unit_test(files_are_found_by_name),
      cmocka_unit_test(a_trial_carries_its_machine),
      cmocka_unit_test(wrong_files_say_where),
      cmocka_unit_test(all_problems_are_listed),
      cmocka_unit_test(contradictions_are_found_beside_wrong_lines),
      cmocka_unit_test(the_error_of_a_text_counts_its_problems),
      cmocka_unit_test(mutated_files_never_crash),
  };
  unsetenv("TILEWRIGHT_MACHINES");
  setenv("XDG_CONFIG_HOME", "/nowhere", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
