/* test_prompt_texts.c - texts of prompts from a folder: what was written gives the same prompts, what is edited is
 * used, and what does not fit is an error that names the place. */
#define _GNU_SOURCE
#include "agent/prompt_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/distill.h"
#include "agent/prompt.h"
#include "base/files.h"
#include "test.h"
#include "tilewright/extend/extend.h"

static const char *const PROBLEMS[][2] = {
    {"gemmini-16x16-int8", "conv2d n=1 h=8 w=8 c=16 k=16 r=3 s=3 pad=1"},
    {"gemmini-4x4-fp32", "mpc_backward horizon=5 states=4 inputs=2"},
    {"x86", "gemm m=64 n=64 k=64 a=f32"},
    {"xdna2", "gemm m=256 n=256 k=256 a=i8 b=i8 c=i32"},
    {"cuda-h100-sxm", "gemm m=256 n=256 k=256 a=bf16 b=bf16 c=bf16"},
    {"cdna4", "attention b=1 hq=2 hkv=2 sq=128 sk=128 d=64 a=bf16"},
    {"trn2", "gemm m=128 n=512 k=128 a=bf16 b=bf16 c=f32"},
};

typedef struct fixture {
  const tw_target *target;
  tw_problem problem;
  tw_candidate *parent;
  char *folder;
} fixture;

static fixture open_fixture(const char *target, const char *problem) {
  fixture f = {.target = tw_target_find(target), .parent = tw_candidate_new()};
  tw_error error = {0};
  size_t files;
  if (tw_problem_parse(f.target, problem, &f.problem, &error) != TW_OK ||
      tw_target_supports(f.target, &f.problem, &error) != TW_OK || tw_directory_temporary(&f.folder, &error) != TW_OK ||
      tw_prompt_texts_write(f.folder, f.target, &files, &error) != TW_OK)
    fail_msg("%s: %s: %s", target, problem, error.text);
  assert_true(files > 5);
  tw_candidate_set_kernel(f.parent, f.target, NULL, strdup("the program\n"));
  f.parent->parent = TW_NONE;
  f.parent->measured.cost = 123;
  return f;
}

static void close_fixture(fixture *f) {
  tw_candidate_free(f->parent);
  tw_directory_remove(f->folder);
  free(f->folder);
}

static tw_prompt_texts *read_texts(const fixture *f) {
  tw_prompt_texts *texts = NULL;
  tw_error error = {0};
  if (tw_prompt_texts_read(f->folder, f->target, &texts, &error) != TW_OK) fail_msg("%s", error.text);
  return texts;
}

/* The planning prompt, or the one for a kernel whose plan has words of all examples. */
static char *prompt_of(const fixture *f, const tw_prompt_texts *texts, bool planning) {
  const tw_request request = {.target = f->target,
                              .problem = &f->problem,
                              .parent = f->parent,
                              .texts = texts,
                              .iteration = 3,
                              .iterations = 10,
                              .dropout = 0.3};
  tw_random random;
  tw_error error = {0};
  char *prompt = NULL;
  tw_random_seed(&random, 7);
  const tw_status status =
      planning
          ? tw_prompt_plan(&request, &random, &prompt, &error)
          : tw_prompt_implement(&request, "Change the tiling, split k, use banks and pipeline.", NULL, &prompt, &error);
  if (status != TW_OK) fail_msg("%s", error.text);
  return prompt;
}

static void write_file(const fixture *f, const char *name, const char *text) {
  char *path = tw_path_join(f->folder, name);
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  free(path);
}

static void is_rejected(const fixture *f, const char *place, const char *reason) {
  tw_prompt_texts *texts = NULL;
  tw_error error = {0};
  assert_int_equal(tw_prompt_texts_read(f->folder, f->target, &texts, &error), TW_USAGE);
  assert_null(texts);
  if (!strstr(error.text, place) || !strstr(error.text, reason)) fail_msg("%s", error.text);
}

static void what_was_written_gives_the_same_prompts(void **state) {
  for (size_t i = 0; i < sizeof PROBLEMS / sizeof *PROBLEMS; i++) {
    fixture f = open_fixture(PROBLEMS[i][0], PROBLEMS[i][1]);
    tw_prompt_texts *texts = read_texts(&f);
    for (int planning = 0; planning < 2; planning++) {
      char *own = prompt_of(&f, texts, planning), *built_in = prompt_of(&f, NULL, planning);
      assert_string_equal(own, built_in);
      free(own), free(built_in);
    }
    tw_prompt_texts_free(texts);
    close_fixture(&f);
  }
}

static void edited_texts_are_used(void **state) {
  fixture f = open_fixture("gemmini-16x16-int8", "gemm m=64 n=64 k=64");
  write_file(&f, "gemmini/rules.txt", "- An edited rule.\n");
  write_file(&f, "gemmini/isa.txt", "");
  write_file(&f, "gemmini/gemm.menu.txt", "edited option: do it\n");
  write_file(&f, "gemmini/gemm.example.mine.txt", "for: pipeline, banks, tiling, split\n\nMy own example.\n");
  tw_prompt_texts *texts = read_texts(&f);
  char *plan = prompt_of(&f, texts, true), *code = prompt_of(&f, texts, false);
  assert_non_null(strstr(plan, "An edited rule."));
  assert_non_null(strstr(plan, "1. edited option: do it\n"));
  assert_null(strstr(plan, "# The language"));
  assert_non_null(strstr(code, "My own example."));
  free(plan), free(code);
  tw_prompt_texts_free(texts);
  close_fixture(&f);
}

/* A template of all slots that are allowed is filled, so none of them is unknown to the prompt itself. */
static void every_allowed_slot_exists(void **state) {
  fixture f = open_fixture("x86", "gemm m=64 n=64 k=64 a=f32");
  const char *const name[] = {"implement", "plan"};
  for (int planning = 0; planning < 2; planning++) {
    char text[2000] = "", file[40];
    for (const char *const *s = tw_prompt_slots(name[planning]); *s; s++)
      snprintf(text + strlen(text), sizeof text - strlen(text), "[%s:{{%s}}]\n", *s, *s);
    snprintf(file, sizeof file, "%s.txt", name[planning]);
    write_file(&f, file, text);
  }
  tw_prompt_texts *texts = read_texts(&f);
  for (int planning = 0; planning < 2; planning++) {
    char *prompt = prompt_of(&f, texts, planning);
    assert_non_null(strstr(prompt, "the program"));
    assert_null(strstr(prompt, "{{"));
    free(prompt);
  }
  tw_prompt_texts_free(texts);
  close_fixture(&f);
}

static void what_does_not_fit_is_an_error_with_its_place(void **state) {
  fixture f = open_fixture("gemmini-16x16-int8", "gemm m=64 n=64 k=64");
  char *rules = tw_path_join(f.folder, "gemmini/rules.txt");
  unlink(rules);
  is_rejected(&f, "gemmini/rules.txt", "1 prompt file is missing");
  write_file(&f, "gemmini/rules.txt", "rules\n");
  write_file(&f, "gemmini/gem.menu.txt", "a: b\n");
  is_rejected(&f, "gem.menu.txt", "unknown prompt file");
  char *unknown = tw_path_join(f.folder, "gemmini/gem.menu.txt");
  unlink(unknown);
  write_file(&f, "plan.txt", "one\n{{nonsense}}\n");
  is_rejected(&f, "plan.txt, line 2", "nonsense");
  write_file(&f, "plan.txt", "one\n{{#menu}}\nopen\n");
  is_rejected(&f, "plan.txt, section", "menu");
  tw_prompt_texts *texts = NULL;
  tw_error error = {0};
  size_t files;
  assert_int_equal(tw_prompt_texts_read("/nowhere", f.target, &texts, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "prompt --write"));
  /* nothing of the user's is overwritten */
  assert_int_equal(tw_prompt_texts_write(f.folder, f.target, &files, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "differs"));
  free(rules), free(unknown);
  close_fixture(&f);
}

/* A command that takes the place of a model keeps what it is asked. */
static void a_search_asks_with_the_folders_texts(void **state) {
  fixture f = open_fixture("gemmini-16x16-int8", "gemm m=64 n=64 k=64");
  char command[4000], *asked, *said, *path = tw_path_join(f.folder, "asked.log"),
                                     *log = tw_path_join(f.folder, "said.log");
  write_file(&f, "gemmini/rules.txt", "- A rule of this folder alone.\n");
  snprintf(command, sizeof command,
           TW_COMMAND " tune gemm m=64 n=64 k=64 -t gemmini-16x16-int8 --no-wisdom --seed 1 --samples 2 --iterations 1 "
                      "--repairs 0 --prompts %s --agent 'exec:cat >>%s' >%s 2>&1",
           f.folder, path, log);
  const int status = system(command);
  assert_int_equal(tw_file_read(log, 1 << 24, &said, NULL, NULL), TW_OK);
  if (status != 0) fail_msg("status %d: %s", status, said);
  assert_int_equal(tw_file_read(path, 1 << 24, &asked, NULL, NULL), TW_OK);
  assert_non_null(strstr(asked, "A rule of this folder alone."));
  free(asked), free(path), free(said), free(log);
  close_fixture(&f);
}

/* The scripted model answers by what a question wants: an instruction for isa.txt, a rule, and nothing else. */
#define READER                                                                                                         \
  "exec:p=$(cat); echo \"$p\" >> %s/asked.log; case \"$p\" in *'Wanted: instructions'*) printf '%%s\\n' '```' "        \
  "'turbo(x)' '  doubles x' '```';; *'Wanted: rules'*) echo '- turbo needs even x';; *) echo NONE.;; esac"

static tw_status distill(const fixture *f, const char *agent, const char *document, tw_distillation *out,
                         tw_error *error) {
  const tw_model_options options = {.size = sizeof options, .at_once = 1, .seconds = 20};
  const tw_stop stop = {0};
  const char *const documents[] = {document};
  const tw_status status = tw_distill(f->target, agent, &options, 1, documents, f->folder, &stop, out, error);
  tw_text_free(&out->notes);
  return status;
}

static char *read_file(const fixture *f, const char *name) {
  char *path = tw_path_join(f->folder, name), *text = NULL;
  assert_int_equal(tw_file_read(path, 1 << 24, &text, NULL, NULL), TW_OK);
  free(path);
  return text;
}

/* A document of two parts: both answers are equal, and their lines are added once. */
static void documentation_is_added_to_the_texts(void **state) {
  fixture f = open_fixture("gemmini-16x16-int8", "gemm m=64 n=64 k=64");
  char agent[2000], *document = calloc(60001, 1), *path = tw_path_join(f.folder, "manual.md");
  for (size_t i = 0; i < 60000; i++) document[i] = i % 100 == 99 ? '\n' : 'm';
  memcpy(document + 59000, "THE END OF THE MANUAL", 21);
  write_file(&f, "manual.md", document);
  snprintf(agent, sizeof agent, READER, f.folder);
  char *isa = read_file(&f, "gemmini/isa.txt"), *architecture = read_file(&f, "gemmini/architecture.txt");
  tw_distillation done;
  tw_error error = {0};
  if (distill(&f, agent, path, &done, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(done.requests, 6); /* two parts; architecture, isa and rules: Gemmini's menus are of single ops */
  assert_int_equal(done.added, 2);
  char *isa_now = read_file(&f, "gemmini/isa.txt"), *rules = read_file(&f, "gemmini/rules.txt"),
       *architecture_now = read_file(&f, "gemmini/architecture.txt"), *asked = read_file(&f, "asked.log");
  assert_int_equal(strncmp(isa_now, isa, strlen(isa)), 0);
  assert_string_equal(isa_now + strlen(isa), "turbo(x)\n  doubles x\n");
  assert_non_null(strstr(rules, "\n- turbo needs even x\n"));
  assert_string_equal(architecture_now, architecture);
  assert_non_null(strstr(asked, "THE END OF THE MANUAL"));
  char *folder = f.folder, *log = tw_path_join(folder, "asked.log");
  unlink(path), unlink(log);
  tw_prompt_texts *texts = read_texts(&f);
  char *prompt = prompt_of(&f, texts, true);
  assert_non_null(strstr(prompt, "- turbo needs even x"));
  free(prompt), free(document), free(path), free(log), free(isa), free(isa_now), free(rules), free(asked);
  free(architecture), free(architecture_now);
  tw_prompt_texts_free(texts);
  close_fixture(&f);
}

static void a_request_without_an_answer_adds_nothing(void **state) {
  fixture f = open_fixture("gemmini-16x16-int8", "gemm m=64 n=64 k=64");
  char *rules = read_file(&f, "gemmini/rules.txt"), *path = tw_path_join(f.folder, "manual.md");
  tw_distillation done;
  tw_error error = {0};
  write_file(&f, "manual.md", "words\n");
  assert_int_not_equal(
      distill(&f, "exec:case \"$(cat)\" in *instructions*) exit 1;; *) echo '- a rule';; esac", path, &done, &error),
      TW_OK);
  assert_non_null(strstr(error.text, "nothing was added"));
  char *now = read_file(&f, "gemmini/rules.txt");
  assert_string_equal(now, rules);
  static char no_text[50001]; /* neither lines nor characters: it is cut anywhere */
  memset(no_text, 0x80, sizeof no_text - 1);
  write_file(&f, "manual.md", no_text);
  assert_int_equal(distill(&f, "exec:cat >/dev/null; echo none", path, &done, &error), TW_OK);
  assert_int_equal(done.requests, 6);
  assert_int_equal(done.added, 0);
  write_file(&f, "manual.md", " \n");
  assert_int_equal(distill(&f, "exec:cat", path, &done, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "empty or no text"));
  assert_int_equal(distill(&f, "rules", path, &done, &error), TW_USAGE);
  free(rules), free(now), free(path);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_gives_the_same_prompts),
      cmocka_unit_test(edited_texts_are_used),
      cmocka_unit_test(every_allowed_slot_exists),
      cmocka_unit_test(what_does_not_fit_is_an_error_with_its_place),
      cmocka_unit_test(documentation_is_added_to_the_texts),
      cmocka_unit_test(a_request_without_an_answer_adds_nothing),
      cmocka_unit_test(a_search_asks_with_the_folders_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
