/* test_cli.c - the command from outside: output, exit statuses, bad input. Each bad input gives one clear line. */
#include "test.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"
#include "tilewright/extend/target.h"

static char *folder; /* of this test's own files; wisdom lies there too */

typedef struct outcome {
  int status;
  char *out, *err;
} outcome;

/* `words` as a shell would take them, with $T for the command and $F for the folder. */
static outcome run(const char *words) {
  tw_text script = {0};
  tw_text_add(&script, "T='%s'; F='%s'; cd \"$F\"; { %s; } 2>\"$F/stderr\"", TW_COMMAND, folder, words);
  char *text = tw_text_take(&script), *path = tw_path_join(folder, "stderr");
  tw_process_options options = {
      .argv = (const char *const[]){"sh", "-c", text, NULL}, .output_limit = 1 << 24, .seconds = 120};
  tw_process_result result;
  tw_error error;
  if (tw_process_run(&options, &result, &error) != TW_OK) fail_msg("%s", error.text);
  if (result.timed_out) fail_msg("%s: does not end", words);
  outcome o = {.status = result.exit_status, .out = result.output};
  assert_int_equal(tw_file_read(path, 1 << 20, &o.err, NULL, NULL), TW_OK);
  free(path);
  free(text);
  return o;
}

static void release(outcome *o) {
  free(o->out);
  free(o->err);
}

static void expect_output(const char *words, const char *part) {
  outcome o = run(words);
  if (o.status != 0) fail_msg("%s: status %d, %s%s", words, o.status, o.err, o.out);
  if (!strstr(o.out, part)) fail_msg("%s: '%s' does not hold '%s'", words, o.out, part);
  release(&o);
}

/* One line on standard error that begins with the command's name and holds `part`; nothing on standard output. */
static void expect_failure(const char *words, int status, const char *part) {
  outcome o = run(words);
  if (o.status != status) fail_msg("%s: status %d instead of %d, %s", words, o.status, status, o.err);
  if (strncmp(o.err, "tilewright: ", 12) != 0 || !strstr(o.err, part))
    fail_msg("%s: '%s' does not say '%s'", words, o.err, part);
  if (strchr(o.err, '\n') != o.err + strlen(o.err) - 1) fail_msg("%s: more than one line: %s", words, o.err);
  if (*o.out) fail_msg("%s: prints '%s'", words, o.out);
  release(&o);
}

/* Exactly one JSON object on standard output, whatever the status. The caller releases it. */
static json_t *expect_json(const char *words, int status) {
  outcome o = run(words);
  json_error_t why;
  json_t *object = json_loads(o.out, 0, &why); /* refuses anything behind the object */
  if (o.status != status) fail_msg("%s: status %d, %s", words, o.status, o.err);
  if (!json_is_object(object)) fail_msg("%s: no JSON object: %s: %s", words, why.text, o.out);
  release(&o);
  return object;
}

static void help_and_version_are_printed(void **state) {
  expect_output("$T --help", "tune");
  expect_output("$T --version", "tilewright 0.");
  expect_output("$T tune --help", "--beam N");
  expect_output("$T run -h", "--trace FILE");
  expect_output("$T help run", "--trace FILE");
  expect_output("$T cache", "by last use");
  expect_output("$T ops", "gemm");
  expect_output("$T ops gemm", "a_transposed");
}

static void help_explains_terms_and_steps(void **state) {
  expect_output("$T help ping-pong", "two sets of warps alternate");
  expect_output("$T help pingpong", "two sets of warps alternate");
  expect_output("$T help ping-pong", "step of attention on NVIDIA GPUs: pingpong");
  expect_output("$T help split-K", "step of gemm on AMD GPUs: split_k 4");
  expect_output("$T help stream k", "step of gemm on NVIDIA GPUs: stream_k");
  expect_output("$T help warp-specialized", "producer and consumer");
  expect_output("$T help k-loop", "the loop over k");
  expect_output("$T help ATB", "asymmetric tile buffering");
  expect_output("$T help turns", "older word for pingpong");
  expect_failure("$T help pingpon", 2, "did you mean 'ping-pong'");
  expect_failure("$T help no-such-term", 2, "docs/reference/glossary.md");
  expect_failure("$T help ''", 2, "unknown command or term");
}

static void wrong_usage_is_said_in_one_line(void **state) {
  expect_failure("$T", 2, "--help");
  expect_failure("$T tun", 2, "did you mean 'tune'");
  expect_failure("$T frobnicate", 2, "unknown command");
  expect_failure("$T tune", 2, "the op is missing");
  expect_failure("$T tune gem m=1 n=1 k=1 -t x86", 2, "did you mean 'gemm'");
  expect_failure("$T tune gemm m=1 n=1 k=1", 2, "-t TARGET");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t nonsense", 2, "unknown target 'nonsense'");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t", 2, "requires a value");
  expect_failure("$T tune gemm m=1 n=1 k=1 --itrations 3 -t x", 2, "did you mean '--iterations'");
  expect_failure("$T tune gemm m=1 n=1 k=1 --beam 0 -t x", 2, "between 1 and");
  expect_failure("$T tune gemm m=1 n=1 k=1 --seconds soon -t x", 2, "--seconds soon");
  expect_failure("$T run", 2, "the file is missing");
  expect_failure("$T run gemm m=1 n=1 k=1 -t gemmini-16x16-int8", 2, "the file is missing");
  expect_failure("$T help tun", 2, "did you mean 'tune'");
  expect_failure("$T cache clar", 2, "cache clear");
  expect_failure("$T cache clear now", 2, "unexpected argument 'now'");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t gemmini-16x16-int8 --fresh", 2, "--out DIR");
  expect_failure("$T report", 2, "--out");
  expect_failure("$T wisdom", 2, "list");
  expect_failure("$T wisdom list extra", 2, "unexpected argument 'extra'");
  expect_failure("$T ops fft", 2, "unknown op 'fft'");
}

/* Former names of options work as the present ones do: the same limits, the same messages; no help has them. */
static void former_names_of_options_are_accepted(void **state) {
  static const char *const names[][2] = {{"at-once 99", "concurrent-requests 99"},
                                         {"fix 99", "repairs 99"},
                                         {"answer-seconds 0", "answer-timeout 0"},
                                         {"answer-tokens 0", "max-answer-tokens 0"},
                                         {"questions 0", "max-requests 0"},
                                         {"tokens 0", "max-tokens 0"},
                                         {"money x", "max-cost x"}};
  outcome help = run("$T tune --help");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char words[2][200], part[100];
    for (int k = 0; k < 2; k++) snprintf(words[k], sizeof words[k], "$T tune gemm -t x86 --%s", names[i][k]);
    snprintf(part, sizeof part, "--%s: expected a", names[i][1]);
    for (int k = 0; k < 2; k++) expect_failure(words[k], 2, part);
    snprintf(part, sizeof part, "--%.*s ", (int)strcspn(names[i][0], " "), names[i][0]);
    if (strstr(help.out, part)) fail_msg("help has '%s'", part);
  }
  release(&help);
  expect_failure("$T tune gemm -t x86 --money 1", 2, "--max-cost requires prices");
  expect_failure("$T bench gemm -t x86 --money 1", 2, "bench has no option '--money'");
  const char *tune = "$T tune gemm m=16 n=16 k=16 -t gemmini-16x16-int8 --no-wisdom --seed 1 --iterations 1 --agent "
                     "'exec:cat >/dev/null; echo OPTION: x; echo PLAN: y' ";
  for (int k = 0; k < 2; k++) {
    char words[400];
    snprintf(words, sizeof words, "%s --%s 1 2>&1", tune, k ? "questions" : "max-requests");
    expect_output(words, "1 request, ");
  }
}

/* 80 columns where standard output is no terminal; the width that COLUMNS says where it says one. Pictures and sources
 * stay. */
static void output_fits_the_width(void **state) {
  static const char *const commands[] = {
      "--help",
      "help wisdom",
      "help tune",
      "targets",
      "targets xdna2",
      "ops",
      "ops gemm",
      "view -t cdna4",
      "cache",
      "model gemm m=512 n=512 k=512 a=i8 b=i8 'tile m=128 k=64 n=128 rho=4' -t xdna2",
      "model conv2d n=1 h=14 w=14 c=256 k=256 r=3 s=3 pad=1 -t gemmini-16x16-int8 --verbose",
      "bench conv2d n=1 h=9 w=9 c=16 k=16 r=3 s=3 pad=1 bias=row relu=1 -t gemmini-16x16-int8"};
#ifdef __SANITIZE_ADDRESS__ /* commands that other tests run, too: some */
  enum { STEP = 3 };
#else
  enum { STEP = 1 };
#endif
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i += STEP) {
    char words[300];
    const size_t w = i % 2, width = w ? 60 : 80;
    size_t column = 0, words_in = 0;
    snprintf(words, sizeof words, "%s$T %s", w ? "COLUMNS=60 " : "unset COLUMNS; ", commands[i]);
    outcome o = run(words);
    assert_true(strlen(o.out) > 60);
    for (const char *c = o.out; *c; c++) { /* a word is never cut */
      if (*c == '\n') column = words_in = 0;
      column += *c != '\n' && (*c & 0xc0) != 0x80;
      words_in += *c != ' ' && *c != '\n' && (c == o.out || c[-1] == ' ' || c[-1] == '\n');
      if (column > width && words_in > 1)
        fail_msg("%s: wider than %zu columns: %.60s", commands[i], width, c - column + 1);
    }
    release(&o);
  }
  outcome source = run("$T emit gemm m=64 n=64 k=64 -t gemmini-16x16-int8");
  assert_non_null(strstr(source.out, "loads 0 steps ahead."));
  release(&source);
}

static void bad_sizes_are_refused(void **state) {
  expect_failure("$T tune gemm m=0 n=1 k=1 -t x86", 2, "m=0 is out of range");
  expect_failure("$T tune gemm m=-4 n=1 k=1 -t x86", 2, "m=-4 is out of range");
  expect_failure("$T tune gemm m=four n=1 k=1 -t x86", 2, "m='four' is not a whole number");
  expect_failure("$T tune gemm m=1e3 n=1 k=1 -t x86", 2, "not a whole number");
  expect_failure("$T tune gemm m=9999999 n=1 k=1 -t x86", 2, "out of range");
  expect_failure("$T tune gemm m=1 n=1 -t x86", 2, "requires k=");
  expect_failure("$T tune gemm m=1 n=1 k=1 q=3 -t x86", 2, "no key 'q'");
  expect_failure("$T tune gemm m=1 n=1 k=1 threads=1 -t x", 2, "unknown target 'x'");
  expect_failure("$T tune gemm m=1 n=1 k=1 rellu=1 -t x86", 2, "did you mean 'relu'");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t x --exhaustive --from f.c", 2,
                 "--exhaustive and --from exclude each other");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t x --exhaustive --reuse run", 2,
                 "--exhaustive and --reuse exclude each other");
  expect_failure("$T tune gemm m=16 n=16 k=16 -t gemmini-16x16-int8 --reuse nowhere", 2,
                 "recording 'nowhere' does not exist");
  expect_failure("$T tune gemm m=16 n=16 k=16 -t gemmini-16x16-int8 --without modell", 2, "unknown part 'modell'");
  expect_failure("$T tune gemm m=16 n=16 k=16 -t gemmini-16x16-int8 --without menu", 2,
                 "without menu changes nothing for the given agents");
}

static void failures_are_json_too(void **state) {
  json_t *object = expect_json("$T tune gemm m=0 n=1 k=1 -t x86 --json", 2);
  assert_int_equal(json_integer_value(json_object_get(object, "status")), 2);
  assert_non_null(strstr(json_string_value(json_object_get(object, "error")), "m=0"));
  json_decref(object);
  json_decref(expect_json("$T --json", 2));
  json_decref(expect_json("$T report /nowhere --json", 2));
}

static void lists_are_json(void **state) {
  json_t *object = expect_json("$T ops --json", 0), *ops = json_object_get(object, "ops");
  assert_string_equal(json_string_value(json_object_get(json_array_get(ops, 0), "name")), "gemm");
  json_decref(object);
  object = expect_json("$T targets --json", 0);
  assert_true(json_is_array(json_object_get(object, "targets")));
  json_decref(object);
  object = expect_json("$T wisdom list --json", 0);
  assert_int_equal(json_array_size(json_object_get(object, "wisdom")), 0);
  json_decref(object);
}

static void tiles_are_explained(void **state) {
#define TILE "$T model gemm m=4096 n=2048 k=4096 a=bf16 b=bfp16 c=bf16 acc=bf16 -t xdna2"
  json_t *object = expect_json(TILE " tile=128x64x128 rho=4 --json", 0), *value;
  const char *key;
  json_int_t sum = 0;
  assert_int_equal(json_integer_value(json_object_get(object, "buffer_bytes")), 61696);
  json_object_foreach(json_object_get(object, "buffers"), key, value) sum += json_integer_value(value);
  assert_int_equal(sum, 61696);
  assert_true(json_is_true(json_object_get(object, "fits")));
  static const char *const numbers[] = {"intensity",        "compute_bound_tflops", "memory_bound_tflops",
                                        "predicted_tflops", "efficiency_micro",     "efficiency_core",
                                        "core_cycles",      "core_efficiency",      "core_ii"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    assert_true(json_number_value(json_object_get(object, numbers[i])) > 0);
  json_decref(object);
  expect_output(TILE " tile=128x64x128 rho=4", "a_scratch");
  object = expect_json(TILE " tile=128x64x128 --json", 0); /* explained, and said on standard error */
  assert_true(json_is_false(json_object_get(object, "fits")));
  json_decref(object);
  outcome o = run(TILE " tile=128x64x128");
  assert_int_equal(o.status, 0);
  assert_non_null(strstr(o.err, "tilewright: the tile does not fit"));
  release(&o);
  expect_output(TILE " --verbose", "tile m=64 k=128 n=128 rho=4"); /* no choice: schedules */
  expect_output(TILE, " more with --verbose");
  expect_failure(TILE " rho=2", 2, "the tile of a core is missing");
  expect_output("echo 'cores rows=2 columns=8' > $F/cores.txt; " TILE " --schedule $F/cores.txt", "for this schedule");
  expect_failure(TILE " threads=4", 2, "gemm has no key 'threads'");
  expect_failure(TILE " a_rounding=rows", 2, "a_rounding is not supported for gemm");
  expect_failure(TILE " tile=128x64x128 rho=3", 2, "rho=3 does not divide");
  expect_failure(TILE " tile=128x64x128 rho=4 rho=2", 2, "rho is given twice");
  expect_failure(TILE " tile=128x64x128 rhoo=4", 2, "gemm has no key 'rhoo'");
  expect_failure(TILE " tile=128x64x128 --schedule x", 2, "cannot read 'x'");
  expect_output(TILE " tile=128x64x128 rho=4 --kernel kernel.txt >explained && cat kernel.txt", "vmac.f C00.0");
  expect_output(TILE " tile=128x64x128 rho=4 way=pipelined --kernel kernel.svg >explained && tail -n 1 kernel.svg",
                "</svg>");
  expect_failure(TILE " tile=128x64x128 rho=4 --kernel /nowhere/kernel.svg", 2, "/nowhere/kernel.svg");
  expect_failure(TILE " tile=128x64x128 rho=4 --kernel ''", 2, "--kernel is empty");
  expect_failure(TILE " tile=128x64x128 rho=4 cluster=4x2", 2, "needs 8 accumulators, but the core has 5");
  expect_failure("$T model gemm m=4 n=4 k=4 -t gemmini-16x16-int8 --kernel x.svg", 2, "does not draw kernels");
  expect_failure("$T model -t xdna2", 2, "the op is missing");
  expect_failure("$T model gemm m=4 n=4 k=4 tile=64x64x64 -t gemmini-16x16-int8", 2, "no key 'tile'");
  expect_output("$T tune gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2 --no-wisdom --iterations 1 --plans 2 --kernels 1",
                "best");
  expect_output("$T bench gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2", "not tuned yet");
  expect_output("$T emit gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2 > $F/a.design; "
                "$T run $F/a.design gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2",
                "correct");
  expect_output("$T emit gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2 --floorplan $F/a.svg; cat $F/a.svg", "core (7,5)");
  expect_output("$T emit gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2 --out $F/a; cat $F/a/kernel.cc",
                "extern \"C\" void matmul_i8_16x32x32(");
  expect_failure("$T emit gemm m=64 n=64 k=64 -t gemmini-16x16-int8 --floorplan a.svg", 2, "has no floor plans");
  expect_output("$T targets xdna2", "58.98 Tflop/s");
#undef TILE
}

static void files_that_cannot_be_read_are_named(void **state) {
  expect_failure("$T report /nowhere", 2, "'/nowhere' has no run");
  expect_failure("mkdir -p bad; echo '{' >bad/summary.json; $T report bad", 2, "bad/summary.json");
  expect_failure("mkdir -p bad; echo '{}' >bad/summary.json; $T report bad", 2, "its best kernel or ladder is missing");
  expect_failure("$T wisdom import /nowhere", 2, "/nowhere");
}

static void full_disk_under_standard_output_is_said(void **state) {
  expect_failure("$T ops >/dev/full", 3, "standard output");
  expect_failure("$T ops --json >/dev/full", 3, "standard output");
}

/* ---- with a target: Gemmini ---- */

#define ON " -t gemmini-16x16-int8 "
#define SMALL "gemm m=20 n=24 k=40" ON
#define QUICK " --iterations 2 --plans 2 --kernels 1 --beam 2 --no-wisdom "

static void write_text(const char *name, const char *text) {
  char *path = tw_path_join(folder, name);
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  free(path);
}

/* A kernel of 20 x 24 x 40 on the core alone, with more statements at its begin and its end. */
static void write_kernel_with(const char *name, const char *begin, const char *damage) {
  tw_text text = {0};
  tw_text_add(&text,
              "void test(int8_t A[20][40], int8_t B[40][24], int8_t C[20][24]) {\n%s\n"
              "  for (int i = 0; i < 20; i++)\n    for (int j = 0; j < 24; j++) {\n      int s = 0;\n"
              "      for (int k = 0; k < 40; k++) s += A[i][k] * B[k][j];\n"
              "      C[i][j] = s > 127 ? 127 : s < -128 ? -128 : s;\n    }\n%s\n}\n",
              begin, damage);
  char *source = tw_text_take(&text);
  write_text(name, source);
  free(source);
}

static void write_kernel(const char *name, const char *damage) { write_kernel_with(name, "", damage); }

static void expect_kernel_failure(const char *damage, const char *part) {
  write_kernel("bad.c", damage);
  expect_failure("$T run bad.c " SMALL, 1, part);
}

static double number_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("there is no number '%s'", key);
  return json_number_value(value);
}

static void right_kernel_is_measured(void **state) {
  write_kernel("good.c", "");
  expect_output("$T run good.c " SMALL, "correct");
  json_t *object = expect_json("$T run good.c " SMALL " --json --trace trace.json", 0);
  assert_true(json_is_true(json_object_get(object, "correct")));
  assert_true(number_of(object, "cycles") > number_of(object, "instructions"));
  assert_true(number_of(object, "utilization") < 0.1);
  assert_true(json_object_size(json_object_get(object, "memory")) >= 2);
  assert_true(json_object_size(json_object_get(object, "counters")) >= 5);
  json_decref(object);
  char *path = tw_path_join(folder, "trace.json");
  json_t *trace = json_load_file(path, 0, NULL);
  assert_non_null(trace);
  json_decref(trace);
  free(path);
}

static char *contents_of(const char *name) {
  enum { MOST = 1 << 20 };
  char *path = tw_path_join(folder, name), *text = calloc(1, MOST);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_true(fread(text, 1, MOST - 1, f) > 0);
  fclose(f);
  free(path);
  return text;
}

static int occurrences(const char *text, const char *part) {
  int n = 0;
  for (const char *found = strstr(text, part); found; found = strstr(found + 1, part)) n++;
  return n;
}

/* Every key of the two passes of TinyMPC, each wrong in every way that there is: one line, status 2. */
static void keys_of_mpc_are_checked(void **state) {
  static const struct {
    const char *keys, *part;
  } wrong[] = {
      {"states=12 inputs=4", "requires horizon="},
      {"horizon=5 inputs=4", "requires states="},
      {"horizon=5 states=12", "requires inputs="},
      {"horizon=0 states=12 inputs=4", "horizon=0 is out of range"},
      {"horizon=5 states=0 inputs=4", "states=0 is out of range"},
      {"horizon=5 states=12 inputs=0", "inputs=0 is out of range"},
      {"horizon=-1 states=12 inputs=4", "horizon=-1 is out of range"},
      {"horizon=5 states=-12 inputs=4", "states=-12 is out of range"},
      {"horizon=5 states=12 inputs=-4", "inputs=-4 is out of range"},
      {"horizon=ten states=12 inputs=4", "horizon='ten' is not a whole number"},
      {"horizon=5 states=1e1 inputs=4", "states='1e1' is not a whole number"},
      {"horizon=5 states=12 inputs=", "inputs='' is not a whole number"},
      {"horizon=99999999999999999999 states=12 inputs=4", "is not a whole number from "},
      {"horizon=10001 states=12 inputs=4", "horizon=10001 is out of range"},
      {"horizon=5 states=513 inputs=4", "between 1 and 512"},
      {"horizon=5 states=12 inputs=513", "between 1 and 512"},
      {"horizon=5 states=256 inputs=4", "rows of the scratchpad, but it has 16384; choose fewer states or inputs"},
      {"horizon=5 states=130 inputs=200", "rows of the scratchpad, but it has 16384; choose fewer states or inputs"},
      {"horizon=10000 states=128 inputs=4", "products of blocks"},
      {"horizon=5 states=12 inputs=4 type=i8", "use type=f32"},
      {"horizon=5 states=12 inputs=4 type=float", "is not an element type"},
      {"horizon=5 states=12 inputs=4 type=", "is not an element type"},
      {"horizon=5 horizon=5 states=12 inputs=4", "given twice"},
      {"horizon=5 state=12 inputs=4", "did you mean 'states'"},
      {"horizon=5 states=12 inputs=4 m=4", "has no key 'm'"}};
  static const char *const ops[] = {"mpc_forward", "mpc_backward"}, *const commands[] = {"tune", "emit", "bench"};
  char line[300];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    for (size_t o = 0; o < 2; o++) {
      snprintf(line, sizeof line, "$T %s %s %s -t gemmini-4x4-fp32", commands[(i + o) % 3], ops[o], wrong[i].keys);
      expect_failure(line, 2, wrong[i].part);
    }
  for (size_t o = 0; o < 2; o++) {
    snprintf(line, sizeof line, "$T tune %s horizon=5 states=12 inputs=4 -t gemmini-16x16-int8", ops[o]);
    expect_failure(line, 2, "use -t gemmini-4x4-fp32");
    snprintf(line, sizeof line, "$T tune %s horizon=5 states=12 inputs=4 -t x86", ops[o]);
    expect_failure(line, 2, "is unsupported");
  }
  expect_failure("$T tune mpc_backward horizon=1 states=12 inputs=4 -t gemmini-4x4-fp32", 2, "between 2 and");
  write_text("long.txt", "fuse\nhoist\nkeep\n");
  expect_failure("$T emit mpc_forward horizon=10000 states=12 inputs=4 -t gemmini-4x4-fp32 -s long.txt", 2,
                 "do not fit the scratchpad");
}

/* A lane for each unit that did something in the window, a bar for what it did. */
static void timelines_are_drawn(void **state) {
  write_kernel_with("drawn.c", "config_ld(40, 1.0f, 4, 0); mvin(A, 0, 16, 4); fence();", "");
  expect_output("$T run drawn.c " SMALL " --timeline all.svg --window 0:500", "all.svg");
  char *svg = contents_of("all.svg");
  assert_int_equal(occurrences(svg, "<svg"), 1);
  assert_int_equal(occurrences(svg, ">mvin "), 1);
  assert_int_equal(occurrences(svg, ">fence "), 1);
  const char *at = strstr(svg, ">mvin ");
  int from = 0, to = 0;
  assert_non_null(at);
  assert_int_equal(sscanf(at, ">mvin %d-%d<", &from, &to), 2);
  assert_true(from > 0 && to > from + 10);
  free(svg);
  char command[200];
  snprintf(command, sizeof command, "$T run drawn.c " SMALL " --timeline part.svg --window %d:%d", from + 1, to - 1);
  expect_output(command, "correct");
  svg = contents_of("part.svg");
  assert_int_equal(occurrences(svg, ">mvin "), 1);
  assert_int_equal(occurrences(svg, ">config "), 0);
  free(svg);
  snprintf(command, sizeof command, "$T run drawn.c " SMALL " --timeline part.svg --window %d:%d", to + 99, to + 2000);
  expect_failure(command, 2, "nothing to draw");
}

/* The colour of a legend's entry: fill="#rrggbb"/><text x="98" y="34">mvin. */
static void colour_in(const char *svg, const char *name, char colour[8]) {
  char entry[40];
  snprintf(entry, sizeof entry, ">%s</text>", name);
  const char *at = strstr(svg, entry), *fill = NULL;
  if (!at) fail_msg("the legend has no '%s'", name);
  for (const char *p = svg; (p = strstr(p, "fill=\"#")) && p < at; p++) fill = p;
  snprintf(colour, 8, "%.7s", fill + 6);
}

static void a_name_has_one_colour_in_all_pictures(void **state) {
  write_kernel_with("one.c", "config_ld(40, 1.0f, 4, 0); mvin(A, 0, 16, 4); fence();", "");
  write_kernel_with(
      "two.c", "config_ld(40, 1.0f, 4, 1); config_ld(40, 1.0f, 4, 0); mvin2(A, 0, 16, 4); mvin(A, 64, 16, 4); fence();",
      "");
  expect_output("$T run one.c " SMALL " --timeline one.svg; $T run two.c " SMALL " --timeline two.svg", "correct");
  char *one = contents_of("one.svg"), *two = contents_of("two.svg");
  for (const char *const *name = (const char *const[]){"config", "mvin", "fence", NULL}; *name; name++) {
    char a[8], b[8];
    colour_in(one, *name, a), colour_in(two, *name, b);
    assert_string_equal(a, b);
  }
  free(one), free(two);
}

/* A picture has no more bars than the eye can tell apart, and nothing of it is cut off. */
static void pictures_of_long_runs_stay_small(void **state) {
  expect_output("$T emit gemm m=256 n=256 k=256 -t gemmini-16x16-int8 > long.c", "");
  expect_output("$T run long.c gemm m=256 n=256 k=256 -t gemmini-16x16-int8 --timeline long.svg", "correct");
  char *svg = contents_of("long.svg");
  assert_in_range(strlen(svg), 20000, 250000);
  assert_true(occurrences(svg, "<path ") > 4);
  double x = 0, last = 0;
  char cycles[16] = "";
  for (const char *at = strstr(svg, "text-anchor=\"middle\""); at; at = strstr(at + 1, "text-anchor=\"middle\"")) {
    const char *begin = at;
    while (strncmp(begin, "<text", 5) != 0) begin--;
    assert_int_equal(sscanf(begin, "<text x=\"%lf\" y=\"%*d\" text-anchor=\"middle\">%15[0-9]<", &x, cycles), 2);
    assert_true(x > last);
    last = x;
  }
  assert_true(atoi(cycles) > 100000);
  assert_true(last + 3.5 * (double)strlen(cycles) < 1000); /* the picture's width */
  free(svg);
}

/* Memory in use is a curve below the lanes, with its largest value. */
static void numbers_over_time_are_drawn(void **state) {
  const char *problem = "gemm m=128 n=512 k=256 a=bf16 b=bf16 -t trn2";
  char command[200];
  snprintf(command, sizeof command, "$T emit %s > curve.py", problem);
  expect_output(command, "");
  snprintf(command, sizeof command, "$T run curve.py %s --timeline curve.svg", problem);
  expect_output(command, "correct");
  char *svg = contents_of("curve.svg");
  assert_int_equal(occurrences(svg, "class=\"curve\""), 2);
  const char *at = strstr(svg, "SBUF bytes of a partition, at most ");
  int most = 0;
  assert_non_null(at);
  assert_int_equal(sscanf(at, "SBUF bytes of a partition, at most %d<", &most), 1);
  assert_true(most >= 512 * 2);
  free(svg);
}

static void errors_in_a_source_name_its_file(void **state) {
  write_text("broken.py", "import nki\n@nki.jit\ndef k(x)\n    return x\n");
  expect_failure("$T run broken.py softmax rows=128 cols=64 -t trn2", 1, "broken.py: line 3: expected ':'");
}

static void windows_of_timelines_are_checked(void **state) {
  write_kernel("drawn.c", "");
  expect_failure("$T run drawn.c " SMALL " --window 0:10", 2, "give both");
  expect_failure("$T run drawn.c " SMALL " --timeline x.svg --window 10", 2, "FROM:TO");
  expect_failure("$T run drawn.c " SMALL " --timeline x.svg --window 10:5", 2, "FROM:TO");
  expect_failure("$T run drawn.c " SMALL " --timeline x.svg --window -1:5", 2, "FROM:TO");
  expect_failure("$T run drawn.c " SMALL " --timeline x.svg --window 0:99999999999999999999", 2, "FROM:TO");
  expect_failure("$T run drawn.c " SMALL " --timeline x.svg --window 900000000:900000001", 2, "nothing to draw");
  expect_failure("$T run drawn.c " SMALL " --timeline no/such/x.svg", 2, "no/such");
  expect_failure("$T run drawn.c " SMALL " --timeline ''", 2, "--timeline");
}

static void wrong_kernels_are_told_how_they_are_wrong(void **state) {
  expect_kernel_failure("C[3][5] ^= 1;", "C[3][5]");
  expect_kernel_failure("C[3][5] ^= 1;", "1 of 480 elements");
  expect_kernel_failure("C[20][0] = 1;", "past the end of C");
  expect_kernel_failure("*(volatile int *)8 = 1;", "0x8");
  expect_kernel_failure("for (;;);", "still running");
  expect_kernel_failure(
      "config_ex(WEIGHT_STATIONARY, 0, 1, 0, 0);\n"
      "gemmini_loop_conv_ws(1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 16, 60000, 60000, 60000,\n"
      "0, 0, 0, 0, 0, 0, 0, 0, 1, 1, B, NULL, NULL, A, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0); fence();",
      "still running");
  expect_kernel_failure("A[0][0]++;", "A");
  expect_kernel_failure("C[0][0] = undeclared;", "undeclared");
  expect_kernel_failure("C[0][0] = undeclared;", "bad.c:"); /* and not what the compiler was given */
  expect_kernel_failure("__asm__ volatile(\"unimp\");", "illegal");
  json_t *object = expect_json("$T run bad.c " SMALL " --json", 1);
  assert_true(json_is_false(json_object_get(object, "correct")));
  assert_true(json_is_string(json_object_get(object, "error")));
  json_decref(object);
}

static void sources_that_are_none_are_refused(void **state) {
  expect_failure(": >empty.c; $T run empty.c " SMALL, 1, "empty");
  expect_failure("printf 'int x;' >other.c; $T run other.c " SMALL, 1, "test");
  expect_failure("head -c 100 /dev/zero >zero.c; $T run zero.c " SMALL, 1, "not text");
  expect_failure("truncate -s 100M big.c; $T run big.c " SMALL, 1, "larger than");
  expect_failure("$T run nowhere.c " SMALL, 2, "nowhere.c");
  expect_failure("echo 'int x;' >launched.c; $T run launched.c " SMALL " --grid 4", 2,
                 "for this machine has a fixed launch");
  expect_failure("$T run --schedule /dev/null " SMALL " --kernel gemm", 2, "of a schedule has a fixed launch");
  expect_failure("mkdir -p folder.c; $T run folder.c " SMALL, 2, "directory");
  expect_failure("$T run launched.c " SMALL " -D A", 2,
                 "does not support headers and macros of your own; leave out --define");
}

/* Arguments by the metadata's names, where a compiler wrote names; else by number. */
static void launch_files_name_arguments(void **state) {
  static const char object[] = "head -c 1200 /dev/zero | tr '\\0' 'A' >a.bin; "
                               "printf '{\"kernel\": \"vadd\", \"grid\": [2], \"block\": [256], \"args\": %s}' '",
                    list[] = "[\"in=a.bin\", \"in=a.bin\", \"out=c.bin:1200\", \"u32=300\"]",
                    named[] = "clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -ffreestanding -O2 "
                              "-fno-discard-value-names -o named.co " TW_TEST_DATA "/cdna/vadd.c && ",
                    run_list[] =
                        "' >l.json; $T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --args l.json -t cdna4 --no-timing",
                    run_named[] = "' >n.json; $T run named.co --args n.json -t cdna4 --no-timing";
  /* each is a sum of two floats of bytes "AAAA": 0x41414141 + itself = 0x41c14141 */
  static const char sums[] = " && od -v -An -tx4 -w4 c.bin | sort | uniq -c";
  static const struct {
    const char *args, *says;
  } wrong[] = {
      {"{\"a\": \"in=a.bin\", \"b\": \"in=a.bin\", \"n\": \"u32=300\"}",
       "vadd lacks 1 argument; give all of a, b, c, n"},
      {"{\"a\": \"in=a.bin\", \"0\": \"in=a.bin\"}", "given twice"},
      {"{\"m\": \"u32=300\"}", "vadd has no argument m; expected one of a, b, c, n"},
      {"{\"n\": \"in=a.bin\"}", "argument n of vadd has 4 bytes, but the given one has 8"},
      {"{\"n\": \"@16:u32=300\"}", "leave out @BYTE"},
      {"{\"n\": 300}", "expected a text"},
      {"300", "an object with the names of arguments, or a list"},
  };
  char words[1200];
  snprintf(words, sizeof words, "%s%s%s%s", object, list, run_list, sums);
  expect_output(words, "300  41c14141");
  expect_failure("echo '{\"gird\": 4}' >g.json; $T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --args g.json -t cdna4", 2,
                 "unknown key gird");
  expect_failure("$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --args none.json -t cdna4", 2, "none.json");
  expect_failure("$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --args l.json -t cdna4 -D A -D B=2", 2,
                 "macro A: a code object has no macros");
  expect_failure("$T run l.json gemm m=64 n=64 k=64 --args l.json -t cdna4", 2, "a launch without an op");
  expect_failure("$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --args l.json --arg u32=1 -t cdna4", 2,
                 "exclude each other");
  expect_failure("$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --grid 2 --block 256 --arg in=a.bin --arg in=a.bin "
                 "--arg out=c.bin:1200 --arg u64=300 -t cdna4",
                 2, "argument 3 of vadd has 8 bytes at byte 24, but parameter 3 has 4 at byte 24");
  expect_failure("$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --grid 2 --block 256 --arg u32=1 --arg u32=1 "
                 "--arg in=a.bin --arg out=c.bin:1200 --arg u32=300 -t cdna4",
                 2, "argument 0 of vadd has 4 bytes at byte 0, but parameter 0 has 8 at byte 0 and is a pointer");
  if (system("command -v clang-22 >/dev/null") != 0) skip();
  snprintf(words, sizeof words, "%s%s%s%s%s", named, object,
           "{\"n\": \"u64=300\", \"c\": \"out=c.bin:1200\", \"a\": \"in=a.bin\", \"b\": \"in=a.bin\"}", run_named,
           sums);
  expect_output(words, "300  41c14141");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(words, sizeof words, "%s%s%s", object, wrong[i].args, run_named);
    expect_failure(words, 2, wrong[i].says);
  }
}

static void a_header_beside_the_source_is_named_with_its_folder(void **state) {
  static const char run[] = "$T run beside/f.hip -t cdna4 --kernel f --grid 1 --block 64 --arg out=o.bin:256";
  char words[400];
  if (system("command -v clang-22 >/dev/null") != 0) skip();
  snprintf(words, sizeof words,
           "mkdir -p beside; echo '#include \"two.h\"\n#include <hip/hip_runtime.h>\n"
           "__global__ void f(float *a) { a[threadIdx.x] = TWO; }' >beside/f.hip; %s",
           run);
  expect_failure(words, 1, "tilewright: beside/f.hip:1:10: fatal error: 'two.h' file not found");
  snprintf(words, sizeof words, "echo '#define TWO 2' >beside/two.h; %s", run);
  expect_failure(words, 1, "two.h is beside the source; add --include beside: beside/f.hip:1:10: fatal error");
  snprintf(words, sizeof words, "%s --include beside", run);
  expect_output(words, "f ran on cdna4");
}

static void what_is_no_program_is_not_correct(void **state) {
  static const char *const words[] = {"truncate -s 9M large.c; $T run large.c " SMALL " --json",
                                      ": >empty.c; $T run empty.c " SMALL " --json"};
  for (int i = 0; i < 2; i++) {
    json_t *object = expect_json(words[i], 1);
    assert_true(json_is_false(json_object_get(object, "correct")));
    assert_string_equal(json_string_value(json_object_get(object, "verdict")), "does not build");
    json_decref(object);
  }
}

static void a_pipe_without_a_writer_is_no_program(void **state) {
  expect_failure("rm -f pipe.c; mkfifo pipe.c; timeout 20 $T run pipe.c " SMALL, 1, "empty");
}

/* What divides the lines of a message is told as such, and nothing of it commands the terminal. */
static void a_message_of_several_lines_is_one_line(void **state) {
  expect_failure("$T ops 'one\ntwo\a'", 2, "one; two?");
}

static void a_journal_that_never_ends_is_no_journal(void **state) {
  sqlite3 *db;
  char *path = tw_path_join(folder, "endless/journal.sqlite");
  expect_output("$T tune " SMALL QUICK "--out endless", "best");
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db,
                                "ALTER TABLE candidate RENAME TO old; CREATE VIEW candidate AS WITH RECURSIVE t(x) AS "
                                "(SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT o.* FROM t, old AS o",
                                NULL, NULL, NULL),
                   SQLITE_OK);
  sqlite3_close(db);
  free(path);
#ifdef TW_HAVE_PAGE
  expect_output("timeout 60 $T report endless", "report.html");
#endif
  expect_failure("timeout 60 $T tune " SMALL QUICK "--out endless", 2, "views");
}

static void garbage_that_a_kernel_prints_stays_out_of_the_output(void **state) {
  write_kernel("loud.c", "for (int i = 0; i < 3000; i++) printf(\"{\\x01\\xff\\n\");");
  json_t *object = expect_json("$T run loud.c " SMALL " --json", 0);
  assert_true(json_is_true(json_object_get(object, "correct")));
  json_decref(object);
}

static void problems_that_the_target_cannot_run_are_refused(void **state) {
  expect_failure("$T tune gemm m=8 n=8 k=8 -t gemmini", 2, "did you mean 'gemmini-16x16-int8'");
  expect_failure("$T tune gemm m=8 n=8 k=8 a=f32" ON, 2, "a=f32");
  expect_failure("$T tune gemm m=8 n=8 k=8 c=i32 scale=0.5" ON, 2, "scale");
  expect_failure("$T tune gemm m=8 n=8 k=8 lda=4" ON, 2, "lda=4");
  expect_failure("$T tune gemm m=1000000 n=1000000 k=8" ON, 2, "room for");
}

#define CONV "conv2d n=1 h=6 w=5 c=3 k=4 r=3 s=3"

static void convolutions_are_run_and_impossible_ones_refused(void **state) {
  tw_text text = {0};
  tw_text_add_string(&text,
                     "void test(int8_t in[N][INP_ROWS][INP_COLS][C], int8_t w[R][S][C][K], int8_t out[N][P][Q][K]) {\n"
                     "  for (int p = 0; p < P; p++) for (int q = 0; q < Q; q++) for (int k = 0; k < K; k++) {\n"
                     "    int x = 0;\n"
                     "    for (int r = 0; r < R; r++) for (int s = 0; s < S; s++) for (int c = 0; c < C; c++)\n"
                     "      x += in[0][p + r][q + s][c] * w[r][s][c][k];\n"
                     "    OUTPUT_MATRIX_NAME[0][p][q][k] = x > 127 ? 127 : x < -128 ? -128 : x;\n  }\n}\n");
  char *path = tw_path_join(folder, "conv.c"), *source = tw_text_take(&text);
  assert_int_equal(tw_file_write(path, source, strlen(source), NULL), TW_OK);
  free(source);
  free(path);
  expect_output("$T run conv.c " CONV ON, "correct");
  expect_failure("$T run conv.c " CONV " relu=1" ON, 1, "output[0][");
  expect_failure("$T run conv.c " CONV " bias=row" ON, 1, "4 operands input, weights, bias, output");
  expect_failure("$T run conv.c " CONV " a=f32" ON, 2, "a=f32");
  expect_failure("$T run conv.c " CONV " out=i32 relu=1" ON, 2,
                 "is stored unchanged from the accumulator; relu and pool require out=i8");
  expect_failure("$T run conv.c conv2d n=1 h=9 w=9 c=1 k=1 r=1 s=1 pool=4" ON, 2, "3 x 3");
  expect_failure("$T run conv.c " CONV " pool=2 pool_stride=4" ON, 2, "strides of at most 3");
  expect_failure("$T run conv.c " CONV " pool=2 pool_pad=1" ON, 2, "relu=1");
  expect_failure("$T run conv.c conv2d n=1 h=3 w=600 c=1 k=1 r=1 s=1 pool=2" ON, 2, "255 columns");
  expect_failure("$T run conv.c " CONV " weight_layout=kcrs -t gemmini-4x4-fp32", 2,
                 "weight_layout=kcrs is not supported; use rsck or krsc");
  expect_failure("$T run conv.c conv2d n=60000 h=100 w=100 c=3 k=4 r=3 s=3" ON, 2, "room for");
}

/* Every key of conv2d, missing, out of range, of the wrong kind, or at odds with the others. */
static void bad_keys_of_conv2d_are_refused_with_one_line(void **state) {
#define SIZES "n=1 h=6 w=5 c=3 k=4 r=3"
  static const struct {
    const char *words, *says;
  } bad[] = {
      {SIZES, "conv2d requires s="},
      {SIZES " s=3 depth=1", "no key 'depth'"},
      {SIZES " s=3 n=2", "n is given twice"},
      {SIZES " s=x", "s='x'"},
      {SIZES " s=0", "s=0 is out of range"},
      {SIZES " s=65", "s=65 is out of range"},
      {SIZES " s=6", "larger than the input"},
      {"n=0 h=6 w=5 c=3 k=4 r=3 s=3", "n=0 is out of range"},
      {"n=1 h=-6 w=5 c=3 k=4 r=3 s=3", "h=-6 is out of range"},
      {"n=1 h=6 w=65537 c=3 k=4 r=3 s=3", "w=65537 is out of range"},
      {"n=1 h=6 w=5 c=0 k=4 r=3 s=3", "c=0 is out of range"},
      {"n=1 h=6 w=5 c=3 k=1.5 r=3 s=3", "k='1.5'"},
      {"n=1 h=6 w=5 c=3 k=4 r=7 s=3", "r=7 s=3 is larger than the input"},
      {SIZES " s=3 stride=0", "stride=0 is out of range"},
      {SIZES " s=3 stride=65", "stride=65 is out of range"},
      {SIZES " s=3 pad=-1", "pad=-1 is out of range"},
      {SIZES " s=3 pad=65", "pad=65 is out of range"},
      {SIZES " s=3 pool=5", "larger than the 4 x 3 results"},
      {SIZES " s=3 pad=1 pool=4", "at most 3 x 3"},
      {SIZES " s=3 pool=2 pool_stride=4", "strides of at most 3"},
      {SIZES " s=3 pool_stride=2", "require a window"},
      {SIZES " s=3 pool_pad=1", "require a window"},
      {SIZES " s=3 pool=2 pool_pad=2", "must be less than pool=2"},
      {SIZES " s=3 pool=2 pool_pad=1", "relu=1"},
      {SIZES " s=3 pool=2 out=i32", "require out=i8"},
      {SIZES " s=3 bias=full", "not one of none|row"},
      {SIZES " s=3 relu=2", "relu"},
      {SIZES " s=3 scale=nan", "scale='nan'"},
      {SIZES " s=3 scale=0.5 out=i32", "scale must be 1"},
      {SIZES " s=3 layout=nchw", "not one of rsck|krsc"},
      {SIZES " s=3 a=f32", "a=f32 is not a type of this machine"},
      {SIZES " s=3 b=i32", "b=i32 is not a type of this machine"},
      {SIZES " s=3 out=f32", "out=f32 is not a type of this machine"},
      {SIZES " s=3 acc=i8", "acc=i8 is not a type of this machine"},
      {"n=1 h=60000 w=60000 c=3 k=4 r=3 s=3", "room for"},
      {"n=1 h=5 w=5 c=65536 k=65536 r=1 s=1", "room for"},
      {"n=1 h=64 w=64 c=65536 k=1 r=64 s=64", "products"},
  };
#undef SIZES
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char command[512];
    snprintf(command, sizeof command, "$T tune conv2d %s" ON, bad[i].words);
    expect_failure(command, 2, bad[i].says);
  }
  expect_failure("$T tune " CONV " a=i8 -t gemmini-4x4-fp32", 2, "a=i8 is not a type of this machine");
  expect_failure("$T tune " CONV " -t gemmini", 2, "gemmini");
}

static void missing_compiler_is_named(void **state) {
  write_kernel("good.c", "");
  expect_failure("PATH=/nowhere; $T run good.c " SMALL, 3, "apt-get install");
  expect_failure("PATH=/nowhere; $T tune " SMALL, 3, "apt-get install");
}

static void a_kernel_that_is_run_on_another_problem_says_so_first(void **state) {
  expect_failure("$T emit gemm m=128 n=128 k=128 a_transposed=1 -t trn2 >stated.py; $T run stated.py gemm m=128 n=128 "
                 "k=128 -t trn2",
                 1,
                 "states that it is for a_transposed=1, but it was run with the default of a_transposed: wrong result");
  static const char stated[] = "the kernel's first comment states that it is for";
  static const struct {
    const char *keys, *says;
  } rows[] = {{"m=10 n=24 k=40", " m=20, but it was run with m=10: "},
              {"m=200 n=24 k=40", " m=20, but it was run with m=200: "},
              {"m=20 n=30 k=41", " n=24 k=40, but it was run with n=30 k=41: "}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char words[200], says[200];
    snprintf(words, sizeof words, "$T emit " SMALL " >stated.c; $T run stated.c gemm %s" ON, rows[i].keys);
    snprintf(says, sizeof says, "%s%s", stated, rows[i].says);
    expect_failure(words, 1, says);
  }
  expect_failure(
      "$T emit gemm m=64 n=64 k=64 -t x86 >stated.c; $T run stated.c gemm m=64 n=64 k=64 a_transposed=1 -t x86", 1,
      "states that it is for the default of a_transposed, but it was run with a_transposed=1: ");
  expect_failure("$T tune gemm m=64 n=256 k=64 a=i8 b=i8 -t xdna2 --samples 2 --no-wisdom --out stated >/dev/null; "
                 "$T run stated/design.txt gemm m=64 n=256 k=64 -t xdna2",
                 1, "states that it is for a=i8 b=i8 c=i32 acc=i32, but it was run with ");
  /* On its own problem, or without a comment, a fault is only a fault. */
  outcome own = run("$T emit " SMALL " | sed 's/ mvout(/ (void)(/' >stated.c; $T run stated.c " SMALL);
  outcome none = run("$T emit " SMALL " | sed '1,/\\*\\//d' >stated.c; $T run stated.c gemm m=10 n=24 k=40" ON);
  assert_int_equal(own.status, 1);
  assert_int_equal(none.status, 1);
  assert_null(strstr(own.err, stated));
  assert_null(strstr(none.err, stated));
  release(&own);
  release(&none);
}

static void schedules_are_emitted_and_bad_ones_refused(void **state) {
  write_text("misspelt.txt", "tils m=16 n=16 k=16\n");
  expect_failure("$T emit " SMALL " --schedule misspelt.txt", 2, "did you mean 'tile'");
  expect_output("$T emit " SMALL, "void test(");
  expect_failure("echo 'frobnicate a=1' >s.txt; $T emit " SMALL " --schedule s.txt", 2, "frobnicate");
  expect_failure("$T emit " SMALL " --schedule nowhere.txt", 2, "nowhere.txt");
  const char *const others[] = {"head -c 900 $T",       "head -c 99 /dev/zero",  "echo '{\"a\": 1}'",
                                "$T emit " SMALL,       "yes unroll | head -99", "cat $T",
                                "printf '\\0tile m=16'"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char words[300];
    snprintf(words, sizeof words, "%s >other; $T emit " SMALL " --schedule other", others[i]);
    expect_failure(words, 2, "schedule file 'other': ");
  }
  expect_failure("$T emit " SMALL " z=3", 2, "has no key 'z'; its keys are m n k");
  expect_failure("$T emit gemm M=20 n=24 k=40" ON, 2, "did you mean 'm'");
  expect_output("$T emit " SMALL " > $F/printed.c; $T emit " SMALL " --out $F/of/emit; "
                "cmp $F/printed.c $F/of/emit/kernel.c && echo same",
                "same");
  expect_output(": > empty.txt; cmp empty.txt $F/of/emit/schedule.txt && echo empty", "empty");
  expect_failure(": > $F/file; $T emit " SMALL " --out $F/file", 2, "file");
  json_t *object = expect_json("$T model " SMALL " --json", 0);
  assert_true(number_of(object, "cycles") >= number_of(json_object_get(object, "bound"), "cycles"));
  assert_true(json_array_size(json_object_get(object, "steps")) > 3);
  json_decref(object);
}

/* A rung is marked where it costs what the last one that is not marked costs, as far as the machine's error goes. */
static void expect_ladder(const char *path) {
  char command[200];
  snprintf(command, sizeof command, "cat %s", path);
  json_t *summary = expect_json(command, 0), *ladder = json_object_get(summary, "ladder"), *rung;
  const double least = number_of(json_object_get(summary, "error"), "least");
  double base = number_of(json_array_get(ladder, 0), "cycles");
  size_t i;
  assert_true(least == tw_target_find(json_string_value(json_object_get(summary, "target")))->traits.error &&
              least > 0.001 && least < 0.05);
  json_array_foreach(ladder, i, rung) {
    const double cost = number_of(rung, "cycles");
    const bool same = i && fabs(cost / base - 1) < least;
    assert_int_equal(json_is_true(json_object_get(rung, "within_error")), same);
    if (!same) base = cost;
  }
  json_decref(summary);
}

static void tuning_gives_files_that_run_as_promised(void **state) {
  json_t *tuned = expect_json("$T tune " SMALL QUICK "--out out --json", 0), *best = json_object_get(tuned, "best");
  assert_true(number_of(best, "speedup") >= 1);
  assert_true(number_of(best, "cycles") <= number_of(json_object_get(tuned, "start"), "cycles"));
  assert_true(number_of(best, "cycles") >= number_of(json_object_get(tuned, "bound"), "cycles"));
  assert_true(number_of(tuned, "samples") >= 2);
  assert_true(number_of(tuned, "wall_seconds") > 0);
  json_t *file = expect_json("$T run out/kernel.c " SMALL " --json", 0);
  assert_true(number_of(file, "cycles") == number_of(best, "cycles"));
  json_t *schedule = expect_json("$T run " SMALL " --schedule out/schedule.txt --json", 0);
  assert_true(number_of(schedule, "cycles") == number_of(best, "cycles"));
  expect_ladder("out/summary.json");
#ifdef TW_HAVE_PAGE
  expect_output("$T report out && cat out/report.html", "Content-Security-Policy");
  expect_output("cat out/report.html", "Redistribution and use in source and binary forms"); /* d3's licence */
  expect_output("rm out/summary.json; $T report out && grep -c '\"verdict\":\"correct\"' out/report.html", "1");
#else
  expect_failure("$T report out", 3, "node-d3");
#endif
  json_decref(tuned);
  json_decref(file);
  json_decref(schedule);
  tuned = expect_json("$T tune " SMALL QUICK "--seed 5 --out again --json", 0);
  assert_true(number_of(tuned, "recalled") == 0);
  json_decref(tuned);
  expect_output("$T tune " SMALL QUICK "--seed 5 --out again", " recalled from the journal");
  expect_failure("flock again $T tune " SMALL QUICK "--seed 5 --out again", 2, "another search writes to again");
  tuned = expect_json("$T tune " SMALL QUICK "--seed 5 --out again --fresh --json", 0);
  assert_true(number_of(tuned, "recalled") == 0);
  json_decref(tuned);
}

/* A runner's word: what cannot be is refused, what was not confirmed is said to be so. */
static void a_runner_is_not_trusted(void **state) {
#define GPU "tune gemm m=64 n=64 k=64 a=bf16 b=bf16 c=bf16 -t cuda-h200 --no-wisdom --iterations 1 --jobs 1 --runner "
#define SAYS(sed) "'" TW_LYING_RUNNER " 5e-4 \"" sed "\"' "
#define IN_SECONDS "s/.cycles.:5e-4/\\\"cycles\\\":0/;s/.seconds.:0/\\\"seconds\\\":5e-4/"
  expect_failure("$T tune " SMALL QUICK "--runner '" TW_LYING_RUNNER " 1'", 3, "implausible outcome (faster than the");
  expect_failure("$T tune " SMALL QUICK "--runner '" TW_LYING_RUNNER " 90000'", 1, "it reported 90000 cycles for the");
  expect_output("$T tune " SMALL QUICK "--runner \"$T evaluate\"", "cost   reported by the runner, confirmed here");
  expect_output("$T tune " SMALL QUICK "--out run --runner \"$T evaluate\" --json | grep cost_from",
                "\"reported by the runner, confirmed here\"");
  if (tw_target_find("cuda-h200")->available(tw_target_find("cuda-h200"), NULL) == TW_OK) return;
  expect_output("$T " GPU SAYS(IN_SECONDS), "cost   reported by the runner, not confirmed here");
  expect_output("$T " GPU SAYS(IN_SECONDS) " --out gpu --json | grep cost_from",
                "\"reported by the runner, not confirmed here\"");
  expect_output("grep cost_from gpu/summary.json", "\"reported by the runner, not confirmed here\"");
}

/* The runner answers after the limit has passed, so no time is left for the timeline; an older one must not stay. */
static void no_timeline_is_drawn_after_the_time_limit(void **state) {
#define LATE "tune gemm m=32 n=32 k=32 a=i8 b=i8 -t xdna2 --no-wisdom --fresh --jobs 1 --out late "
  expect_output("$T " LATE "--samples 1 >/dev/null; ls late/timeline.json", "late/timeline.json");
  outcome o = run("$T " LATE "--seconds 0.01 --runner \"sleep 2.1; $T evaluate\"");
  assert_int_equal(o.status, 0);
  if (!strstr(o.err, "of the 0.01 s given, so no candidate was tried") ||
      !strstr(o.err, "this run has no timeline: --seconds left no time for the timeline"))
    fail_msg("%s", o.err);
  release(&o);
  expect_output("cat late/kernel.cc >/dev/null; ls late/timeline.json 2>&1 || true", "No such file");
}

static void tuning_does_not_depend_on_jobs(void **state) {
  json_t *one = expect_json("$T tune " SMALL QUICK "--seed 3 --jobs 1 --json --timeline best.svg", 0);
  json_t *four = expect_json("$T tune " SMALL QUICK "--seed 3 --jobs 4 --json", 0);
  json_object_del(one, "wall_seconds");
  json_object_del(four, "wall_seconds");
  assert_true(json_equal(one, four));
  json_decref(one);
  json_decref(four);
  char *svg = contents_of("best.svg"); /* of the best that was found */
  assert_true(occurrences(svg, "<rect ") > 10 && strstr(svg, ">array</text>"));
  free(svg);
  expect_failure("$T tune " SMALL QUICK "--window 0:10", 2, "--timeline");
}

/* Without --out, too: it takes the same search to make it again. */
static void a_rewritten_program_is_not_lost(void **state) {
#define OWN " gemm m=32 n=32 k=32" ON
#define REWRITE " tune --from plain.c" OWN " --rewrites-only "
  const char *set = "cd $F; export TILEWRIGHT_WISDOM=own.json; ";
  char words[400];
  snprintf(words, sizeof words, "%s$T emit" OWN " >plain.c; $T" REWRITE "; $T wisdom show" OWN, set);
  expect_output(words, "stored as wisdom: `tilewright wisdom show gemm m=32");
  expect_output(words, "/* A program rewritten by tilewright");
  snprintf(words, sizeof words, "%s$T wisdom show" OWN " >k.c; $T run k.c" OWN, set);
  expect_output(words, "correct");
  snprintf(words, sizeof words, "%s$T" REWRITE "--no-wisdom 2>&1", set);
  expect_output(words, "is not stored; add --out DIR");
}

static size_t count_of(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) n++;
  return n;
}

/* The rungs of hidden/summary.json that are within the error. */
static size_t count_within_error(void) {
  size_t n = 0, i;
  json_error_t why;
  char *path = tw_path_join(folder, "hidden/summary.json");
  json_t *summary = json_load_file(path, 0, &why), *rung;
  free(path);
  if (!summary) fail_msg("%s", why.text);
  json_array_foreach(json_object_get(summary, "ladder"), i, rung) n +=
      json_is_true(json_object_get(rung, "within_error"));
  json_decref(summary);
  return n;
}

static void steps_within_the_error_are_shown_on_request(void **state) {
  size_t within = 0;
  for (int seed = 1; seed <= 12 && !within; seed++) {
    char words[200];
    snprintf(words, sizeof words,
             "$T tune gemm m=96 n=96 k=96" ON " --no-wisdom --iterations 2 --fresh --out hidden --seed %d", seed);
    outcome brief = run(words);
    within = count_within_error();
    strcat(words, " --verbose");
    outcome verbose = run(words);
    assert_int_equal(count_within_error(), within);
    assert_int_equal(count_of(brief.out, "\n ~ "), 0);
    assert_int_equal(count_of(verbose.out, "\n ~ "), within);
    assert_int_equal(count_of(brief.out, "below the error"), within > 0);
    assert_int_equal(count_of(brief.out, "--verbose shows"), within > 0);
    release(&brief);
    release(&verbose);
  }
  assert_true(within > 0);
}

static void columns_of_tables_do_not_collide(void **state) {
  const tw_op *op;
  for (size_t i = 0; (op = tw_op_at(i)); i++) {
    char words[100];
    snprintf(words, sizeof words, "COLUMNS=400 $T ops %s", op->name);
    outcome o = run(words);
    const char *help = strstr(o.out, "meaning");
    assert_non_null(help);
    const char *heading = strstr(o.out, "  key");
    const long column = help - heading;
    for (size_t k = 0; k < op->n_keys; k++) {
      char row[64];
      snprintf(row, sizeof row, "\n  %s ", op->keys[k].name);
      const char *line = strstr(o.out, row);
      if (!line || strncmp(line + 1 + column, op->keys[k].help, strlen(op->keys[k].help)) != 0 ||
          strncmp(line + column - 1, "  ", 2) != 0)
        fail_msg("%s: %s", words, o.out);
    }
    release(&o);
  }
}

static void wisdom_is_kept_and_carried_over(void **state) {
  expect_failure("$T wisdom show " SMALL, 1, "wisdom has no entry");
  expect_output("$T bench " SMALL, "not tuned yet");
  expect_output("$T tune " SMALL " --iterations 1 --plans 2 --kernels 1", "best");
  expect_output("$T wisdom list", "m=20 n=24 k=40");
  expect_output("$T wisdom list | sed -n 2p | tr -s ' '", " target utilization cost measured ago");
  expect_output("$T bench " SMALL, "as tuned");
  expect_output("$T wisdom show gemm m=30 n=24 k=40" ON, "nearest shape");
  expect_output("$T wisdom export copy.json; TILEWRIGHT_WISDOM=$F/other.json $T wisdom import copy.json", "1 entry");
  expect_output("TILEWRIGHT_WISDOM=$F/other.json $T wisdom list", "m=20 n=24 k=40");
  expect_output("$T wisdom export", "m=20 n=24 k=40");
  expect_output("$T wisdom export -", "m=20 n=24 k=40");
  expect_output("$T wisdom list", "second");
  json_t *list = expect_json("$T wisdom list --json", 0);
  const json_t *found = json_object_get(json_array_get(json_object_get(list, "wisdom"), 0), "found");
  assert_true(difftime(time(NULL), (time_t)json_integer_value(found)) < 600);
  json_decref(list);
  /* What is imported is what it costs here, if somebody looks. */
  expect_output("sed 's/\"cost\": [0-9.]*/\"cost\": 900000.0/; /found/d' copy.json >claims.json; "
                "TILEWRIGHT_WISDOM=$F/third.json $T wisdom import claims.json --verify",
                "1 entry");
  expect_output("TILEWRIGHT_WISDOM=$F/third.json $T wisdom list | grep -v 900,000", "second");
  write_text("wrong.json", "{\"format\": \"tilewright wisdom\", \"version\": 2, \"entries\": [{\"target\": "
                           "\"gemmini-16x16-int8\", \"problem\": \"gemm m=20 n=24 k=40\", \"cost\": 900000, "
                           "\"unit\": \"cycles\", \"utilization\": 0.1, \"source\": \"int x;\"}]}");
  expect_output("TILEWRIGHT_WISDOM=$F/fourth.json $T wisdom import wrong.json", "1 entry");
  outcome o = run("TILEWRIGHT_WISDOM=$F/fifth.json $T wisdom import wrong.json --verify");
  assert_int_equal(o.status, 1);
  assert_non_null(strstr(o.out, "0 entries"));
  assert_non_null(strstr(o.err, "1 of 1 entries were rejected: gemm m=20"));
  release(&o);
  /* A step that a later version removed. */
  expect_output("sed 's/\"schedule\": \\[/&\"hasten n=2\", /' copy.json >removed.json; "
                "TILEWRIGHT_WISDOM=$F/sixth.json $T wisdom import removed.json",
                "1 entry");
  o = run("TILEWRIGHT_WISDOM=$F/sixth.json $T bench " SMALL);
  assert_non_null(strstr(o.out, "the schedule in wisdom is illegal"));
  assert_non_null(strstr(o.err, "the schedule in wisdom is not used, and `tilewright tune` replaces it: "));
  assert_non_null(strstr(o.err, "hasten"));
  release(&o);
  o = run("TILEWRIGHT_WISDOM=$F/sixth.json $T tune " SMALL " --iterations 1 --plans 1 --kernels 1");
  assert_non_null(strstr(o.err, "the step 'hasten n=2' of the known schedule is left out: "));
  release(&o);
  o = run("TILEWRIGHT_WISDOM=$F/sixth.json $T bench " SMALL);
  assert_string_equal(o.err, "");
  release(&o);
  /* A faster source of the same problem is kept by a search that has no time to try it. */
  expect_output(
      "sed 's/k=40/& a=i8 b=i8 c=i8 acc=i32/; s/900000/700/' wrong.json >faster.json; "
      "export TILEWRIGHT_WISDOM=$F/seventh.json; $T wisdom import removed.json; $T wisdom import faster.json; "
      "$T tune " SMALL " --seconds 0.001 && $T wisdom export",
      "\"int x;\"");
  expect_output("$T wisdom forget " SMALL, "1 entry forgotten");
  expect_failure("$T wisdom forget " SMALL, 1, "wisdom has no entry");
  expect_failure("$T wisdom list --verify", 2, "import");
}

#define CLAIM(target, cost)                                                                                            \
  "{\"format\": \"tilewright wisdom\", \"version\": 2, \"entries\": [{\"target\": \"" target                           \
  "\", \"problem\": \"gemm m=20 n=24 k=40\", \"cost\": " cost ", \"unit\": \"seconds\", \"utilization\": 0.1, "        \
  "\"source\": \"int x;\"}]}"

/* Costs of two computers do not compare: a claim does not take the place of what was measured here. A model's costs
 * do. */
static void claims_of_other_computers_do_not_win(void **state) {
  write_text("here.json", CLAIM("x86", "0.2"));
  write_text("there.json", CLAIM("x86", "0.1"));
  write_text("model_here.json", CLAIM("cdna3", "0.2"));
  write_text("model_there.json", CLAIM("cdna3", "0.1"));
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom import here.json", "1 entry");
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom import there.json",
                "1 entries are skipped: this computer has its own entries for these problems, and costs of");
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom import there.json --json", "\"left_out\": 1");
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom list", "200 ms");
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom import model_here.json", "1 entry");
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom import model_there.json", "1 entry");
  expect_output("TILEWRIGHT_WISDOM=$F/own.json $T wisdom list", "100 ms");
}

/* Memory-bound kernels are compared with their bound, wherever a utilization is told. */
static void utilization_is_of_what_limits(void **state) {
  if (system("command -v clang-22 >/dev/null") != 0) skip();
  json_t *object = expect_json("$T bench softmax rows=64 cols=256 -t cdna3 --no-wisdom --json", 0);
  const json_t *bound = json_object_get(object, "bound");
  assert_string_equal(json_string_value(json_object_get(bound, "utilization_of")), "bound");
  assert_true(fabs(number_of(object, "utilization") * number_of(object, "seconds") / number_of(bound, "seconds") - 1) <
              1e-6);
  json_decref(object);
  object = expect_json("$T bench gemm m=64 n=64 k=64" ON " --no-wisdom --json", 0);
  assert_string_equal(json_string_value(json_object_get(json_object_get(object, "bound"), "utilization_of")), "peak");
  json_decref(object);
  expect_output("$T tune softmax rows=64 cols=256 -t cdna3 --no-wisdom --samples 1 --out memory_bound",
                "speed-up of bound");
  expect_output("$T tune gemm m=64 n=64 k=64" ON " --no-wisdom --samples 1", "speed-up  of peak");
  char *path = tw_path_join(folder, "memory_bound/summary.json");
  object = json_load_file(path, 0, NULL);
  assert_non_null(object);
  bound = json_object_get(object, "bound");
  const json_t *best = json_object_get(object, "best"), *rung = json_array_get(json_object_get(object, "ladder"), 0);
  const double share = number_of(bound, "seconds") / number_of(best, "seconds");
  assert_true(fabs(number_of(best, "utilization") / share - 1) < 1e-6);
  assert_true(fabs(number_of(rung, "utilization") / share - 1) < 1e-6);
  json_decref(object);
  free(path);
}

/* A limit on file size stands for a full disk: what was found is shown, and the missing file named. */
static void full_disk_costs_the_files_only(void **state) {
  outcome o = run("trap '' XFSZ; mkdir -p full; ln -sf /dev/full full/kernel.c; $T tune " SMALL QUICK "--out full");
  assert_int_equal(o.status, 3);
  assert_non_null(strstr(o.err, "its disk is full"));
  assert_non_null(strstr(o.out, "best"));
  assert_non_null(strstr(o.out, "the schedule, because its file could not be written"));
  release(&o);
}

/* The shell's own limit, which would end the command by a signal: the error says so, and no part of a file is left. */
static void a_limit_on_files_is_told(void **state) {
  static const char *const sizes[] = {"gemm m=64 n=64 k=64 -t gemmini-16x16-int8",
                                      "gemm m=512 n=512 k=512 -t gemmini-16x16-int8"};
  for (int i = 0; i < 2; i++) {
    tw_text words = {0};
    tw_text_add(&words, "ulimit -f 1; $T emit %s --out limited >/dev/null", sizes[i]);
    expect_failure(words.data, 3, "ulimit -f");
    tw_text_free(&words);
    expect_output("ls -A limited | grep -c kernel || echo none", "none");
  }
  expect_failure("(ulimit -f 1; $T emit gemm m=64 n=64 k=64 -t gemmini-16x16-int8 >limited.c)", 3, "standard output");
}

/* Rows of the journal that `out` holds by now. */
static int journal_rows(const char *path) {
  sqlite3 *db;
  sqlite3_stmt *query = NULL;
  int rows = 0;
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(db, "SELECT count(*) FROM candidate WHERE verdict = 'correct'", -1, &query, NULL) ==
          SQLITE_OK &&
      sqlite3_step(query) == SQLITE_ROW)
    rows = sqlite3_column_int(query, 0);
  sqlite3_finalize(query);
  sqlite3_close(db);
  return rows;
}

/* The signal comes `times`. */
static void expect_kept_after(int signal, int times, const char *name) {
  char *out = tw_path_join(folder, name), *log = tw_path_join(folder, "log"), words[300];
  char *journal = tw_path_join(out, "journal.sqlite"), *text;
  pid_t pid = fork();
  if (pid == 0) {
    if (!freopen(log, "w", stdout)) _exit(99);
    execl(TW_COMMAND, TW_COMMAND, "tune", "gemm", "m=128", "n=128", "k=128", "-t", "gemmini-16x16-int8", "--no-wisdom",
          "--iterations", "1000", "--plans", "200", "--out", out, (char *)NULL);
    _exit(99);
  }
  int status;
  while (journal_rows(journal) < 5) {
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    usleep(20000);
  }
  for (int i = 0; i < times; i++) kill(pid, signal), usleep(1000);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 130);
  assert_int_equal(tw_file_read(log, 1 << 20, &text, NULL, NULL), TW_OK);
  assert_non_null(strstr(text, "best"));
  free(text);
  snprintf(words, sizeof words, "$T run %s/kernel.c gemm m=128 n=128 k=128" ON, name);
  expect_output(words, "correct");
  snprintf(words, sizeof words, "cat %s/summary.json", name);
  expect_output(words, "\"ladder\"");
  free(journal);
  free(log);
  free(out);
}

static void ctrl_c_keeps_and_shows_what_was_found(void **state) { expect_kept_after(SIGINT, 1, "broken_off"); }

/* A shell passes it on, so that it comes more than once. */
static void the_loss_of_the_terminal_keeps_what_was_found(void **state) {
  expect_kept_after(SIGHUP, 3, "hung_up");
  /* nobody reads any more */
  expect_output("{ $T tune " SMALL QUICK "--out unread; } | true; sleep 2; cat unread/summary.json", "\"ladder\"");
}

static void a_small_stack_suffices(void **state) {
  expect_output("ulimit -s 100; $T tune " SMALL QUICK, "best");
  expect_output("ulimit -s 64; $T targets", "gemmini");
}

static int make_folder(void **state) {
  if (tw_directory_temporary(&folder, NULL) != TW_OK) return -1;
  char *wisdom = tw_path_join(folder, "wisdom.json");
  setenv("TILEWRIGHT_WISDOM", wisdom, 1);
  free(wisdom);
  return 0;
}

static int remove_folder(void **state) {
  tw_directory_remove(folder);
  free(folder);
  return 0;
}

static void library_is_timed(void **state) {
  static const char *const keys[] = {"seconds",          "gflops",      "weight_gb_s", "peak_gflops",
                                     "fraction_of_peak", "memory_gb_s", "threads"};
  json_t *object = expect_json("$T bench gemm m=33 n=40 k=50 threads=1 -t x86 --json", 0);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_true(number_of(object, keys[i]) > 0);
  assert_true(json_is_string(json_object_get(object, "kernel")));
  const json_t *spread = json_object_get(object, "spread");
  assert_true(number_of(spread, "rounds") > 3 && number_of(spread, "median") == number_of(object, "seconds") &&
              number_of(spread, "least") <= number_of(spread, "lower_quartile") &&
              number_of(spread, "lower_quartile") <= number_of(spread, "median") &&
              number_of(spread, "median") <= number_of(spread, "upper_quartile") &&
              number_of(spread, "upper_quartile") <= number_of(spread, "most"));
  json_decref(object);
  expect_failure("$T bench conv2d in_h=8 in_w=8 in_channels=8 out_channels=8 kernel=3 -t x86", 2, "");
  expect_failure("$T bench gemm m=4 n=4 k=4 bias=full -t x86", 2, "bias=row");
  expect_failure("$T bench gemm m=4 n=4 k=4 threads=2" ON, 2, "gemm has no key 'threads'");
  expect_failure("$T bench gemm m=4 n=4 k=4 group=32 -t x86", 2, "group=32");
}

static void views_answer_about_machines(void **state) {
  expect_output("$T view", "cdna4            layout banks swizzle grid occupancy");
  expect_output("$T view -t cdna3", "access     INSTRUCTION:LAYOUT");
  expect_output("$T view banks access=ds_read_b128:row16x32s8 -t cdna4", "2-way conflicts");
  expect_output("$T view occupancy vgprs=64 -t cdna4 --svg o.svg && head -c 4 o.svg", "<svg");
  json_t *o = expect_json("$T view occupancy vgprs=64 -t cdna4 --json", 0);
  assert_int_equal(json_integer_value(json_object_get(o, "waves_of_simd")), 8);
  json_decref(o);
  o = expect_json("$T view -t cdna4 --json", 0);
  assert_int_equal(json_array_size(json_object_get(o, "views")), 6);
  json_decref(o);
  expect_failure("$T view banks -t cdna4", 2, "requires access=");
  expect_failure("$T view bank -t cdna4", 2, "did you mean 'banks'");
  expect_failure("$T view banks -t gemmini-16x16-int8", 2, "has no views");
  expect_failure("$T view banks", 2, "-t TARGET");
}

/* Where a cost model leaves out what sets the bound, too: such a number is no prediction. */
/* The error of the model of cdna4 is that of some kinds of kernels; other kinds are marked. */
static void kinds_without_a_published_time_are_marked(void **state) {
  static const struct {
    const char *subject;
    bool known;
  } cases[] = {
      {"gemm m=64 n=64 k=64 a=bf16 b=bf16 c=f32", true},
      {"gemm m=64 n=64 k=64 a=e4m3 b=e4m3 c=bf16", true},
      {"gemm m=64 n=64 k=64 a=i8 b=i8", false},
      {"gemm m=64 n=64 k=64 a=f16 b=f16 c=f16", false},
      {"attention b=1 hq=1 hkv=1 sq=64 sk=64 d=128 a=bf16", true},
      {"attention b=1 hq=1 hkv=1 sq=64 sk=64 d=128 a=bf16 causal=1", true},
      {"attention pass=backward b=1 hq=1 hkv=1 sq=64 sk=64 d=128 a=bf16 causal=1", false},
      {"attention b=1 hq=1 hkv=1 sq=64 sk=64 d=32 a=bf16", false},
      {"softmax rows=64 cols=64", false},
  };
  if (system("command -v clang-22 >/dev/null 2>&1")) skip();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char words[300];
    snprintf(words, sizeof words, "$T bench %s -t cdna4 --no-wisdom", cases[i].subject);
    outcome o = run(words);
    if (o.status) fail_msg("%s: %s", words, o.err);
    if (cases[i].known == !!strstr(o.out, "accuracy      unknown: no published time of this kind was reproduced"))
      fail_msg("%s: %s", words, o.out);
    release(&o);
    snprintf(words, sizeof words, "$T tune %s -t cdna4 --no-wisdom --samples 1 --json", cases[i].subject);
    o = run(words);
    if (cases[i].known == !!strstr(o.out, "\"error\": null")) fail_msg("%s: %s", words, o.out);
    release(&o);
    snprintf(words, sizeof words, "$T model %s -t cdna4", cases[i].subject);
    o = run(words);
    if (cases[i].known == !!strstr(o.out, "accuracy      unknown")) fail_msg("%s: %s", words, o.out);
    release(&o);
  }
  /* no kernel with a split k, and no launch without an op, was compared */
  static const char split[] =
      "echo 'split_k 2' >split; $T run --schedule split gemm m=64 n=64 k=512 a=bf16 b=bf16 -t cdna4",
                    launch[] =
                        "$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --kernel vadd --grid 2 --block 256 --timing-only "
                        "--arg out=sums:1200 --arg out=sums:1200 --arg out=sums:1200 --arg u32=300 -t ";
  char words[400];
  expect_output(split, "accuracy      unknown: no published time");
  snprintf(words, sizeof words, "%scdna4", launch);
  expect_output(words, "accuracy      unknown: a launch without an op");
}

static void launches_without_an_op_have_no_timeline(void **state) {
  static const char launch[] =
      "$T run " TW_TEST_DATA "/cdna/vadd.gfx950.co --kernel vadd --grid 2 --block 256 -t cdna4";
  char words[400];
  snprintf(words, sizeof words, "%s --trace t.json", launch);
  expect_failure(words, 2, "--trace is unsupported for a launch without an op");
  snprintf(words, sizeof words, "%s --timeline t.svg", launch);
  expect_failure(words, 2, "--timeline is unsupported for a launch without an op");
}

/* Launches without an op are timed on the machine of the file, too. */
static void launches_use_the_machine_of_a_file(void **state) {
  expect_output(
      "printf 'base = cdna4\\nclock_mhz = 1200\\nmatrix_mhz = 1000\\n' >half.txt; $T run " TW_TEST_DATA
      "/cdna/vadd.gfx950.co --kernel vadd --grid 2 --block 256 --timing-only --arg out=sums:1200 --arg out=sums:1200 "
      "--arg out=sums:1200 --arg u32=300 -t ./half.txt",
      "1,200 MHz");
}

static void no_share_of_the_bound_is_above_100_percent(void **state) {
  static const char *const subjects[] = {
      "gemm m=4096 n=4096 k=64 a=i8 b=i8 -t cdna4",
      "gemm m=1 n=4096 k=4096 a=bf16 b=bf16 -t cdna4",
      "rotary b=1 h=32 s=4096 d=64 -t cdna4-mi350x",
      "gemm m=4096 n=1 k=4096 -t gemmini-16x16-int8",
      "gemm m=4096 n=1 k=4096 a=f32 b=f32 c=f32 -t gemmini-4x4-fp32",
      "gemm m=64 n=64 k=64 a=i8 b=i8 -t xdna2",
      "gemm m=128 n=512 k=128 a=bf16 b=bf16 -t trn2",
  };
  size_t shares = 0;
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    char words[200];
    snprintf(words, sizeof words, "$T model %s --verbose", subjects[i]);
    outcome o = run(words);
    assert_int_equal(o.status, 0);
    for (const char *at = o.out; (at = strchr(at, '%')); at++) {
      const char *digit = at;
      while (digit > o.out && strchr("0123456789.", digit[-1])) digit--;
      if (digit == at) continue;
      shares++;
      if (atof(digit) > 100) fail_msg("%s: %.*s", words, (int)(at - digit) + 1, digit);
    }
    release(&o);
  }
  assert_true(shares > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_without_a_published_time_are_marked),
      cmocka_unit_test(launches_use_the_machine_of_a_file),
      cmocka_unit_test(launches_without_an_op_have_no_timeline),
      cmocka_unit_test(no_share_of_the_bound_is_above_100_percent),
      cmocka_unit_test(views_answer_about_machines),
      cmocka_unit_test(help_and_version_are_printed),
      cmocka_unit_test(help_explains_terms_and_steps),
      cmocka_unit_test(wrong_usage_is_said_in_one_line),
      cmocka_unit_test(former_names_of_options_are_accepted),
      cmocka_unit_test(output_fits_the_width),
      cmocka_unit_test(bad_sizes_are_refused),
      cmocka_unit_test(failures_are_json_too),
      cmocka_unit_test(lists_are_json),
      cmocka_unit_test(library_is_timed),
      cmocka_unit_test(tiles_are_explained),
      cmocka_unit_test(files_that_cannot_be_read_are_named),
      cmocka_unit_test(full_disk_under_standard_output_is_said),
      cmocka_unit_test(right_kernel_is_measured),
      cmocka_unit_test(keys_of_mpc_are_checked),
      cmocka_unit_test(timelines_are_drawn),
      cmocka_unit_test(a_name_has_one_colour_in_all_pictures),
      cmocka_unit_test(pictures_of_long_runs_stay_small),
      cmocka_unit_test(numbers_over_time_are_drawn),
      cmocka_unit_test(errors_in_a_source_name_its_file),
      cmocka_unit_test(windows_of_timelines_are_checked),
      cmocka_unit_test(wrong_kernels_are_told_how_they_are_wrong),
      cmocka_unit_test(sources_that_are_none_are_refused),
      cmocka_unit_test(launch_files_name_arguments),
      cmocka_unit_test(garbage_that_a_kernel_prints_stays_out_of_the_output),
      cmocka_unit_test(problems_that_the_target_cannot_run_are_refused),
      cmocka_unit_test(convolutions_are_run_and_impossible_ones_refused),
      cmocka_unit_test(bad_keys_of_conv2d_are_refused_with_one_line),
      cmocka_unit_test(missing_compiler_is_named),
      cmocka_unit_test(a_kernel_that_is_run_on_another_problem_says_so_first),
      cmocka_unit_test(schedules_are_emitted_and_bad_ones_refused),
      cmocka_unit_test(steps_within_the_error_are_shown_on_request),
      cmocka_unit_test(columns_of_tables_do_not_collide),
      cmocka_unit_test(tuning_gives_files_that_run_as_promised),
      cmocka_unit_test(a_runner_is_not_trusted),
      cmocka_unit_test(no_timeline_is_drawn_after_the_time_limit),
      cmocka_unit_test(tuning_does_not_depend_on_jobs),
      cmocka_unit_test(a_header_beside_the_source_is_named_with_its_folder),
      cmocka_unit_test(what_is_no_program_is_not_correct),
      cmocka_unit_test(a_pipe_without_a_writer_is_no_program),
      cmocka_unit_test(a_message_of_several_lines_is_one_line),
      cmocka_unit_test(a_journal_that_never_ends_is_no_journal),
      cmocka_unit_test(a_rewritten_program_is_not_lost),
      cmocka_unit_test(wisdom_is_kept_and_carried_over),
      cmocka_unit_test(claims_of_other_computers_do_not_win),
      cmocka_unit_test(utilization_is_of_what_limits),
      cmocka_unit_test(full_disk_costs_the_files_only),
      cmocka_unit_test(a_limit_on_files_is_told),
      cmocka_unit_test(ctrl_c_keeps_and_shows_what_was_found),
      cmocka_unit_test(the_loss_of_the_terminal_keeps_what_was_found),
      cmocka_unit_test(a_small_stack_suffices),
  };
  return cmocka_run_group_tests_name("cli", tests, make_folder, remove_folder);
}
