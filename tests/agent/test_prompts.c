/* test_prompts.c - what prompts say: every name in a program that they show is explained, and what all prompts share
 * comes first.
 *
 * The programs are those of tests/data/corpus. A name is explained if the prompt has it outside of the program, or if
 * the program declares it. What declares a name is told by the tokens around it: a type before it and an end behind it,
 * a macro's or a template's head, a line `//:`. */
#define _GNU_SOURCE
#include "test.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/strings.h"
#include "evaluate/trial.h"
#include "tilewright/extend/extend.h"

/* ---- tokens ---- */

typedef struct token {
  char text[64];
} token;
typedef struct tokens {
  size_t n;
  token *at;
} tokens;

static bool is(const token *t, const char *text) { return !strcmp(t->text, text); }
static bool is_one_of(const token *t, const char *words) {
  char padded[80];
  snprintf(padded, sizeof padded, " %s ", t->text);
  return strstr(words, padded) != NULL;
}
static bool is_name(const token *t) { return isalpha((unsigned char)t->text[0]) || t->text[0] == '_'; }

/* Blanks, comments and includes. A line `//:` begins with the token "\1". */
static const char *past_blanks(const char *s, bool hash_is_comment) {
  for (;;) {
    s += strspn(s, " \t\r\n\\");
    if (!strncmp(s, "/*", 2) && strstr(s, "*/"))
      s = strstr(s, "*/") + 2;
    else if ((!strncmp(s, "//", 2) && s[2] != ':') || !strncmp(s, "#include", 8) || (hash_is_comment && *s == '#'))
      s += strcspn(s, "\n");
    else
      return s;
  }
}

static tokens read_tokens(const char *s, bool hash_is_comment) {
  tokens t = {0, calloc(strlen(s) + 4, sizeof(token))};
  t.at += 2; /* so that two tokens before each can be looked at */
  while (*(s = past_blanks(s, hash_is_comment))) {
    token *now = &t.at[t.n++];
    size_t n = 1;
    if (isalnum((unsigned char)*s) || *s == '_') {
      const bool number = isdigit((unsigned char)*s);
      while (isalnum((unsigned char)s[n]) || s[n] == '_' || (number && s[n] == '.')) n++;
    } else if (*s == '"' || *s == '\'') {
      while (s[n] && s[n] != *s) n += s[n] == '\\' && s[n + 1] ? 2 : 1;
      n += s[n] != '\0';
      snprintf(now->text, sizeof now->text, "%c%c", *s, *s);
      s += n;
      continue;
    } else if (!strncmp(s, "//:", 3)) {
      n = 3;
    }
    snprintf(now->text, sizeof now->text, "%.*s", (int)(n < 63 ? n : 63), s);
    s += n;
  }
  return t;
}

static void free_tokens(tokens *t) { free(t->at - 2); }

/* ---- names that a program declares ---- */

static const char KEYWORDS[] = " alignas alignof and asm auto bool break case catch char class const constexpr "
                               "continue decltype default delete do double "
                               "else enum explicit extern false float for goto if inline int long namespace new "
                               "noexcept nullptr operator private protected "
                               "public register restrict return short signed sizeof static static_assert struct switch "
                               "template this true typedef typename "
                               "union unsigned using void volatile while _Static_assert __attribute__ define undef "
                               "ifdef ifndef endif if elif pragma unroll "
                               "once defined ";
static const char TYPES[] =
    " int float double char short long unsigned signed bool void auto struct enum class typename const "
    "constexpr static inline union using namespace ";
/* Types and the like of the language that need no explanation; words of attributes. */
static const char PLAIN[] =
    " int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t uintptr_t aligned visibility ";

typedef struct declared {
  size_t n;
  const char *name[20000];
} declared;

static bool has(const declared *d, const char *name) {
  for (size_t i = 0; i < d->n; i++)
    if (!strcmp(d->name[i], name)) return true;
  return false;
}
static void declare(declared *d, const token *t) {
  if (!has(d, t->text) && d->n < sizeof d->name / sizeof *d->name) d->name[d->n++] = t->text;
}

static bool has_word(const char *text, const char *word) {
  const size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += n) {
    const bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
    if (begins && !(isalnum((unsigned char)at[n]) || at[n] == '_')) return true;
  }
  return false;
}

static bool is_type(const declared *d, const token *t, const char *prompt) {
  const size_t n = strlen(t->text);
  return is_one_of(t, TYPES) || (n > 2 && !strcmp(t->text + n - 2, "_t")) ||
         (is_name(t) && !is_one_of(t, KEYWORDS) && (has(d, t->text) || has_word(prompt, t->text)));
}

/* The token before the parenthesis that `close` closes. */
static const token *before_parenthesis(const tokens *t, size_t close) {
  int depth = 0;
  for (size_t i = close; i > 0; i--) {
    depth += is(&t->at[i], ")") - is(&t->at[i], "(");
    if (depth == 0) return &t->at[i - 1];
  }
  return &t->at[0];
}

static void find_declared(const tokens *t, const char *prompt, declared *out) {
  int depth = 0, declaring[64], n_declaring = 0;
  for (size_t i = 0; i < t->n; i++) {
    const token *now = &t->at[i], *before = now - 1, *twice = now - 2, *next = now + 1;
    if (is_one_of(now, " ( [ { ")) depth++;
    if (is_one_of(now, " ) ] } ")) depth--;
    while (n_declaring && (declaring[n_declaring - 1] > depth || (is(now, ";") && declaring[n_declaring - 1] >= depth)))
      n_declaring--;
    if (!is_name(now) || is_one_of(now, KEYWORDS)) continue;
    const bool listing = n_declaring && declaring[n_declaring - 1] == depth;
    const bool ends = is_one_of(next, " ; , ) [ ( { } : > ") || (is(next, "=") && !is(next + 1, "="));
    const bool refers = is_one_of(before, " * & ");
    bool new = is(before, "define") || is(before, "//:") || (is(before, ":") && is(twice, "//:"));
    if (is(before, "define") && is(next, "(")) /* parameters */
      for (size_t k = i + 2; k < t->n && !is(&t->at[k], ")"); k++)
        if (is_name(&t->at[k])) declare(out, &t->at[k]);
    new |= ends &&is_name(before) && (is_one_of(before, TYPES) || !is_one_of(before, KEYWORDS));
    new |= ends &&is(before, ">") && !is(twice, "-");
    new |= ends &&refers &&
           (is_type(out, twice, prompt) || is_one_of(twice, " const * & > ") || (is(twice, ",") && listing));
    new |= ends &&is(before, ",") && listing;
    new |= is(before, "}") && is_one_of(next, " , ; ");
    new |= is(before, ")") && is(next, "(") && strstr(before_parenthesis(t, i - 1)->text, "TW_KERNEL");
    new |=
        is(before, ")") && is(next, "{") && is(before_parenthesis(t, i - 1), "alignas"); /* struct alignas(16) NAME */
    const bool of_macro = is(before, "(") && is(next, ",") && has(out, twice->text);     /* BASE(name, value) */
    if (!new && !of_macro) continue;
    declare(out, now);
    if (new && !listing && n_declaring < 64 && !is(before, "define")) declaring[n_declaring++] = depth;
  }
  /* enumerators */
  for (size_t i = 0; i + 2 < t->n; i++) {
    if (!is(&t->at[i], "enum")) continue;
    size_t k = i + 1;
    while (k < t->n && !is_one_of(&t->at[k], " { ; ")) k++;
    for (; k + 1 < t->n && !is_one_of(&t->at[k], " } ; "); k++)
      if (is_one_of(&t->at[k], " { , ") && is_name(&t->at[k + 1])) declare(out, &t->at[k + 1]);
  }
}

/* ---- prompts ---- */

static char *prompt_of(const tw_target *target, const tw_problem *problem, const char *source) {
  tw_error error = {0};
  char *prompt = NULL;
  tw_candidate *parent = tw_candidate_new();
  tw_candidate_set_kernel(parent, target, NULL, strdup(source));
  tw_request request = {.target = target, .problem = problem, .parent = parent, .iteration = 1, .iterations = 1};
  tw_random random;
  tw_random_seed(&random, 1);
  if (tw_prompt_plan(&request, &random, &prompt, &error) != TW_OK) fail_msg("%s: %s", target->name, error.text);
  tw_candidate_free(parent);
  return prompt;
}

/* Without the program itself. */
static void cut_program(char *prompt, const char *source) {
  char *at = strstr(prompt, source);
  assert_non_null(at);
  memmove(at, at + strlen(source), strlen(at + strlen(source)) + 1);
}

/* Of Python: names of the modules nl and nisa, and names of arguments. */
static int count_unexplained_nki(const tw_target *target, const char *prompt, const char *source, const char *where) {
  int unexplained = 0;
  for (const char *p = source; *p; p++) {
    char name[80];
    const bool is_begin =
        (isalpha((unsigned char)*p) || *p == '_') && (p == source || !(isalnum((unsigned char)p[-1]) || p[-1] == '_'));
    if (!is_begin) continue;
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    const bool is_member = p >= source + 3 && (!strncmp(p - 3, "nl.", 3) || !strncmp(p - 3, "sa.", 3));
    if (!is_member && !(p[n] == '=' && p[n + 1] != '=' && p[n + 1] != ' ')) continue;
    snprintf(name, sizeof name, "%.*s", (int)n, p);
    if (has_word(prompt, name)) continue;
    print_message("%s: %s: '%s' is explained nowhere\n", target->name, where, name);
    unexplained++;
  }
  return unexplained;
}

static int count_unexplained(const tw_target *target, const tw_problem *problem, const char *source,
                             const char *where) {
  static declared d;
  int unexplained = 0;
  char *prompt = prompt_of(target, problem, source);
  cut_program(prompt, source);
  if (!strcmp(target->traits.language, "NKI")) {
    unexplained = count_unexplained_nki(target, prompt, source, where);
    free(prompt);
    return unexplained;
  }
  tokens t = read_tokens(source, !strcmp(target->traits.language, "text") || !strncmp(target->name, "xdna2", 5));
  d.n = 0;
  find_declared(&t, prompt, &d);
  for (size_t i = 0; i < t.n; i++) {
    const token *now = &t.at[i];
    if (!is_name(now) || is_one_of(now, KEYWORDS) || is_one_of(now, PLAIN) || has(&d, now->text)) continue;
    if (has_word(prompt, now->text)) continue;
    print_message("%s: %s: '%s' is explained nowhere\n", target->name, where, now->text);
    declare(&d, now); /* once is enough */
    unexplained++;
  }
  free_tokens(&t);
  free(prompt);
  return unexplained;
}

/* ---- the corpus ---- */

static bool read_schedule(char *text, tw_schedule *s) {
  *s = (tw_schedule){0};
  char *rest = NULL;
  for (char *step = strtok_r(text, ";", &rest); step; step = strtok_r(NULL, ";", &rest))
    if (tw_schedule_add(s, step + strspn(step, " "), NULL) != TW_OK) return false;
  return true;
}

/* Of "  HASH COST STEP; STEP": the steps. */
static char *steps_of(char *line) {
  for (int word = 0; word < 2; word++) {
    line += strspn(line, " ");
    line += strcspn(line, " ");
  }
  return line + strspn(line, " ");
}

static int check_corpus(const char *path, const char *name, int *programs) {
  const tw_target *target = tw_target_find(name);
  tw_problem problem;
  char *text = NULL, *rest = NULL;
  int unexplained = 0, examples = 0;
  bool usable = false;
  assert_non_null(target);
  assert_int_equal(tw_file_read(path, 1 << 20, &text, NULL, NULL), TW_OK);
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    tw_schedule schedule;
    char *source = NULL, where[4096];
    if (!strncmp(line, "environment", 11)) continue;
    if (*line != ' ') {
      usable = tw_problem_parse(target, line, &problem, NULL) == TW_OK &&
               tw_target_supports(target, &problem, NULL) == TW_OK &&
               tw_prompt_available(target, &problem, NULL) == TW_OK;
      continue;
    }
    if (examples++ % example_stride()) continue;
    snprintf(where, sizeof where, "%s", line);
    /* steps of the CPU that the corpus was recorded on may be illegal on another one */
    if (!usable || !read_schedule(steps_of(line), &schedule) ||
        tw_target_emit(target, &problem, &schedule, &source, NULL) != TW_OK)
      continue;
    unexplained += count_unexplained(target, &problem, source, where);
    ++*programs;
    free(source);
  }
  free(text);
  return unexplained;
}

static void every_name_of_an_emitted_program_is_explained(void **state) {
  int unexplained = 0, programs = 0;
  DIR *folder = opendir(TW_TEST_DATA "/corpus");
  assert_non_null(folder);
  for (const struct dirent *e; (e = readdir(folder));) {
    char path[512], name[300];
    const char *end = strrchr(e->d_name, '.');
    if (!end || strcmp(end, ".txt") != 0) continue;
    snprintf(name, sizeof name, "%.*s", (int)(end - e->d_name), e->d_name);
    snprintf(path, sizeof path, TW_TEST_DATA "/corpus/%s", e->d_name);
    unexplained += check_corpus(path, name, &programs);
  }
  closedir(folder);
  print_message("%d programs\n", programs);
  assert_true(programs > 200 / example_stride());
  assert_int_equal(unexplained, 0);
}

/* The test above finds what nobody explains. */
static void a_strange_name_is_found(void **state) {
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  tw_problem problem;
  assert_int_equal(tw_problem_parse(target, "gemm m=16 n=16 k=16", &problem, NULL), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
  static const char strange[] = "#define NONE 1\nvoid test(int8_t A[16][16]) {\n  const int a = NONE, *b = &a;\n"
                                "  for (int i = 0, rows = 4; i < rows; i++) mvin(A, a + *b, 16, 16);\n"
                                "  gemmini_loop_wsx(a, STRANGE);\n  fence();\n}\n";
  assert_int_equal(count_unexplained(target, &problem, strange, "two names"), 2);
}

/* The caches of providers keep what prompts begin with: machine, language, task and rules, in both kinds. */
static void what_all_prompts_share_comes_first(void **state) {
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  tw_problem problem;
  assert_int_equal(tw_problem_parse(target, "gemm m=64 n=64 k=64", &problem, NULL), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
  char *plan = prompt_of(target, &problem, "one program\n"), *other = NULL;
  tw_candidate *parent = tw_candidate_new();
  tw_candidate_set_kernel(parent, target, NULL, strdup("another program\n"));
  const tw_request request = {.target = target, .problem = &problem, .parent = parent};
  assert_int_equal(tw_prompt_implement(&request, "a plan", NULL, &other, NULL), TW_OK);
  size_t same = 0;
  while (plan[same] && plan[same] == other[same]) same++;
  plan[same] = '\0';
  static const char *const topics[] = {"architecture", "isa", "kernel", "rules"};
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    assert_non_null(strstr(plan, tw_target_topic(target, &problem, topics[i])));
  assert_non_null(strstr(plan, "Operands: A i8 [64][64], B i8 [64][64]; outputs: C i8 [64][64]. Keys: m, n, k,"));
  free(plan), free(other);
  tw_candidate_free(parent);
}

/* The prompt for a kernel after a plan: of the start, or of `source`. */
static char *kernel_prompt(const char *name, const char *text, const char *source, const char *plan, bool filters) {
  const tw_target *target = tw_target_find(name);
  const tw_schedule none = {0};
  tw_problem problem;
  char *program = source ? strdup(source) : NULL, *prompt = NULL;
  tw_error error = {0};
  if (tw_problem_parse(target, text, &problem, &error) != TW_OK ||
      tw_target_supports(target, &problem, &error) != TW_OK ||
      (!program && tw_target_emit(target, &problem, &none, &program, &error) != TW_OK))
    fail_msg("%s: %s", name, error.text);
  tw_candidate *parent = tw_candidate_new();
  tw_candidate_set_kernel(parent, target, NULL, program);
  const tw_request request = {.target = target, .problem = &problem, .parent = parent, .filters_isa = filters};
  assert_int_equal(tw_prompt_implement(&request, plan, NULL, &prompt, NULL), TW_OK);
  tw_candidate_free(parent);
  return prompt;
}

/* Machines with a long text of their language: what program and plan do not name is left out, and named. */
static void a_filtered_language_describes_what_is_used(void **state) {
  static const char *const machines[][2] = {{"trn2", "gemm m=128 n=512 k=128 a=bf16 b=bf16 c=f32"},
                                            {"cdna4", "gemm m=256 n=256 k=256 a=bf16 b=bf16 c=f32"}};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    char *all = kernel_prompt(machines[i][0], machines[i][1], NULL, "Change it.", false),
         *some = kernel_prompt(machines[i][0], machines[i][1], NULL, "Change it.", true);
    assert_null(strstr(all, "not described here: "));
    assert_non_null(strstr(some, "not described here: "));
    assert_true(strlen(some) + 400 < strlen(all));
    free(all), free(some);
  }
  static const char plain[] = "void kernel(const float *a) {}\n", layout[] = "Who holds what";
  char *with = kernel_prompt(machines[1][0], machines[1][1], plain, "Use MFMA; read rows by nontemporal_load.", true),
       *without = kernel_prompt(machines[1][0], machines[1][1], plain, "Unroll the loop.", true);
  assert_non_null(strstr(with, layout));
  assert_null(strstr(without, layout));
  assert_non_null(strstr(without, "not described here: __builtin_fmaf, "));
  free(with), free(without);
}

/* A planner is told the bound beside the time, and what sets it: here memory. */
static void the_bound_is_in_the_plan(void **state) {
  const tw_target *target = tw_target_find("gemmini-16x16-int8");
  tw_problem problem;
  tw_bound bound;
  assert_int_equal(tw_problem_parse(target, "gemm m=16 n=512 k=512", &problem, NULL), TW_OK);
  assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
  assert_int_equal(tw_target_bound(target, &problem, &bound, NULL), TW_OK);
  assert_true(bound.memory_cost > bound.compute_cost);
  tw_candidate *parent = tw_candidate_new();
  tw_candidate_set_kernel(parent, target, NULL, strdup("a program\n"));
  parent->measured.cost = 2 * bound.cost;
  const tw_request request = {.target = target, .problem = &problem, .parent = parent, .bound = &bound};
  tw_random random;
  tw_random_seed(&random, 1);
  char *plan = NULL;
  assert_int_equal(tw_prompt_plan(&request, &random, &plan, NULL), TW_OK);
  assert_non_null(strstr(plan, "No program can take less than 33792 cycles "));
  assert_non_null(strstr(plan, "(memory: 264 KiB in at 8 bytes a cycle"));
  free(plan);
  tw_candidate_free(parent);
}

/* ---- examples ---- */

/* Of a line "MARK: text" in an example's head; "" without one. */
static void head_of(const char *text, const char *mark, char *out, size_t size) {
  *out = '\0';
  for (; *text && *text != '\n'; text += strcspn(text, "\n") + 1)
    if (!strncmp(text, mark, strlen(mark))) {
      text += strlen(mark) + 1;
      snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
      return;
    }
}

/* Each option that an example is for is in a menu of its op: else no plan would name it. */
static void expect_options(const tw_embedded *file, char *list, const char *menu) {
  char *rest = NULL;
  for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
    char option[100];
    snprintf(option, sizeof option, "%s:", item + strspn(item, " "));
    const char *at = strstr(menu, option);
    if (!at || (at != menu && at[-1] != '\n')) fail_msg("%s: no option '%s' in the menu", file->name, option);
  }
}

static void expect_correct(const tw_embedded *file, char *run) {
  const char *fence = strstr((const char *)file->data, "```"), *begin = fence ? strchr(fence, '\n') : NULL,
             *end = begin ? strstr(begin, "```") : NULL;
  char *rest = strchr(run, ' ');
  tw_problem problem;
  tw_error error = {0};
  tw_outcome outcome;
  assert_non_null(end);
  *rest++ = '\0';
  const tw_target *target = tw_target_find(run);
  assert_non_null(target);
  if (tw_problem_parse(target, rest, &problem, &error) != TW_OK ||
      tw_target_supports(target, &problem, &error) != TW_OK)
    fail_msg("%s: %s", file->name, error.text);
  if (target->available(target, &error) != TW_OK) {
    print_message("%s is not run: %s\n", file->name, error.text);
    return;
  }
  char *source = strndup(begin + 1, (size_t)(end - begin - 1));
  const tw_trial trial = {
      .target = target, .problem = &problem, .source = source, .length = strlen(source), .seed = 1, .check_only = true};
  const tw_setting setting = {.jobs = 1};
  tw_trial_run(&trial, &setting, &outcome);
  if (outcome.verdict != TW_CORRECT && outcome.verdict != TW_UNAVAILABLE)
    fail_msg("%s: %s: %s", file->name, tw_verdict_name(outcome.verdict), outcome.error.text);
  free(source);
}

static void examples_are_right_and_for_options_of_their_op(void **state) {
  const tw_embedded *file;
  int all = 0, run_here = 0;
  for (size_t i = 0; (file = tw_embedded_at(i)); i++) {
    char list[400], run[200], menu[300];
    const char *example = strstr(file->name, ".example.");
    if (!example) continue;
    all++;
    head_of((const char *)file->data, "for:", list, sizeof list);
    head_of((const char *)file->data, "run:", run, sizeof run);
    if (!*list) fail_msg("%s: no line 'for:'", file->name);
    snprintf(menu, sizeof menu, "%.*s.menu.txt", (int)(example - file->name), file->name);
    const tw_embedded *options = tw_embedded_find(menu);
    if (!options) { /* the menu of all ops */
      snprintf(menu, sizeof menu, "%.*s/prompts/menu.txt", (int)strcspn(file->name, "/"), file->name);
      options = tw_embedded_find(menu);
    }
    assert_non_null(options);
    expect_options(file, list, (const char *)options->data);
    if (!*run) continue;
    expect_correct(file, run);
    run_here++;
  }
  assert_true(all >= 8 && run_here >= 6);
}

/* Plans that a model gave: most call for an example. None did where a file's name had to be a word of the plan. */
static void real_plans_get_examples(void **state) {
  static const struct {
    char kind;
    const char *target, *problem;
  } searches[] = {{'A', "gemmini-16x16-int8", "gemm m=128 n=128 k=128"},
                  {'B', "cdna4", "gemm m=512 n=512 k=512 a=bf16 b=bf16 c=f32"},
                  {'D', "x86", "gemm m=128 n=128 k=128 a=f32"}};
  int plans = 0, with = 0;
  DIR *folder = opendir(TW_TEST_DATA "/agents/plans");
  assert_non_null(folder);
  for (const struct dirent *e; (e = readdir(folder));)
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
      char path[512], *plan = NULL, *prompt = NULL;
      tw_problem problem;
      if (*e->d_name != searches[i].kind) continue;
      const tw_target *target = tw_target_find(searches[i].target);
      assert_int_equal(tw_problem_parse(target, searches[i].problem, &problem, NULL), TW_OK);
      assert_int_equal(tw_target_supports(target, &problem, NULL), TW_OK);
      snprintf(path, sizeof path, TW_TEST_DATA "/agents/plans/%s", e->d_name);
      assert_int_equal(tw_file_read(path, 1 << 20, &plan, NULL, NULL), TW_OK);
      tw_candidate *parent = tw_candidate_new();
      tw_candidate_set_kernel(parent, target, NULL, strdup("a program\n"));
      const tw_request request = {.target = target, .problem = &problem, .parent = parent};
      assert_int_equal(tw_prompt_implement(&request, plan, NULL, &prompt, NULL), TW_OK);
      plans++;
      with += strstr(prompt, "# Examples") != NULL;
      free(plan), free(prompt);
      tw_candidate_free(parent);
    }
  closedir(folder);
  print_message("%d of %d plans\n", with, plans);
  assert_int_equal(plans, 23);
  assert_true(with >= 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_name_of_an_emitted_program_is_explained),
      cmocka_unit_test(a_strange_name_is_found),
      cmocka_unit_test(what_all_prompts_share_comes_first),
      cmocka_unit_test(a_filtered_language_describes_what_is_used),
      cmocka_unit_test(the_bound_is_in_the_plan),
      cmocka_unit_test(examples_are_right_and_for_options_of_their_op),
      cmocka_unit_test(real_plans_get_examples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
