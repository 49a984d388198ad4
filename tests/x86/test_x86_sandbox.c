/* test_x86_sandbox.c - hostile kernels: each attempt has no effect and ends in one clear line. */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"
#include "native/sandbox.h"
#include "subject.h"
#include "target/x86/bench.h"
#include "target/x86/runner/task.h"
#include "target/x86/tune/build.h"
#include "tilewright/extend/extend.h"

static const char SIGNATURE[] =
    "#include <stdint.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "static long call(long number, long a, long b, long c, long d, long e) {\n"
    "  register long r10 __asm__(\"r10\") = d, r8 __asm__(\"r8\") = e;\n"
    "  __asm__ volatile(\"syscall\" : \"+a\"(number) : \"D\"(a), \"S\"(b), \"d\"(c), \"r\"(r10), \"r\"(r8) : \"rcx\", "
    "\"r11\", \"memory\");\n"
    "  return number;\n}\n"
    "static void product(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long "
    "ldc) {\n"
    "  for (long i = 0; i < m; i++)\n    for (long j = 0; j < n; j++) {\n      float sum = 0;\n"
    "      for (long p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];\n      c[i * ldc + j] = sum;\n    "
    "}\n}\n"
    "extern int printf(const char *, ...);\n"
    "GLOBALS\n"
    "void gemm(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,\n"
    "          int64_t ldc, int threads) {\n";
#define RIGHT "product(a, b, c, m, n, k, lda, ldb, ldc);"

/* The source of a kernel with this body, behind these globals. */
static char *source_of(const char *globals, const char *body) {
  char *text = malloc(sizeof SIGNATURE + strlen(globals) + strlen(body) + 64);
  const char *mark = strstr(SIGNATURE, "GLOBALS");
  sprintf(text, "%.*s%s%s%s\n}\n", (int)(mark - SIGNATURE), SIGNATURE, globals, mark + strlen("GLOBALS"), body);
  return text;
}

static tw_problem problem_of(const char *keys) { return problem_from(tw_target_find("x86"), "gemm %s", keys); }

/* Build, check and, if all that is well, measure. */
static tw_status run_on(const char *problem, const char *source, tw_measurement *m, tw_error *error) {
  const tw_target *t = tw_target_find("x86");
  const tw_problem p = problem_of(problem);
  tw_artefact *artefact = NULL;
  tw_case data;
  tw_status status = t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &artefact, error);
  if (status != TW_OK) return status;
  assert_int_equal(tw_case_make(&p, 1, 1, &data, error), TW_OK);
  status = t->check(t, artefact, &data, &(tw_evaluation){0}, error);
  if (status == TW_OK) status = t->measure(t, artefact, &data, &(tw_evaluation){0}, m, error);
  tw_case_free(&data);
  t->release(artefact);
  return status;
}

static const char SMALL[] = "m=31 n=33 k=35 ldc=40 threads=1";

static tw_status run_body(const char *globals, const char *body, tw_measurement *m, tw_error *error) {
  char *source = source_of(globals, body);
  const tw_status status = run_on(SMALL, source, m, error);
  free(source);
  return status;
}

static void expect_refusal(const char *globals, const char *body, const char *words) {
  tw_measurement m;
  tw_error error = {0};
  const tw_status status = run_body(globals, body, &m, &error);
  if (status == TW_OK || !strstr(error.text, words))
    fail_msg("%s\n  should end with '%s', but: %d %s", body, words, status, status == TW_OK ? "correct" : error.text);
  assert_int_equal(status, TW_FAILED);
  if (!strstr(error.text, "kernel.c")) assert_null(strchr(error.text, '\n'));
}

/* ---- other processes ---- */

/* Clocks of a process or thread: ~pid << 3, with 4 for a thread and a kind from 0 to 2 (linux/posix-timers.h). */
static void a_kernel_learns_nothing_about_other_processes(void **state) {
  char body[256];
  snprintf(body, sizeof body, "long mask[128]; call(204, %d, sizeof mask, (long)mask, 0, 0); " RIGHT, (int)getpid());
  expect_refusal("", body, "look into another process (system call sched_getaffinity)");
  for (int kind = 0; kind < 7; kind++) {
    snprintf(body, sizeof body, "long time[2]; call(228, %d, (long)time, 0, 0, 0); " RIGHT,
             (int)(~(unsigned)getpid() << 3) | kind);
    expect_refusal("", body, "read a clock (system call clock_gettime)");
  }
}

static void a_kernel_learns_its_own_processors(void **state) {
  tw_measurement m;
  tw_error error = {0};
  if (run_body("", "long mask[128]; if (call(204, 0, sizeof mask, (long)mask, 0, 0) <= 0) return;\n" RIGHT, &m, &error))
    fail_msg("%s", error.text);
}

/* The system calls themselves: functions of the C library execute rdtsc, which is a fault. */
static void a_kernel_reads_no_clock(void **state) {
#if defined __SANITIZE_ADDRESS__
  skip(); /* the sanitizer's runtime reads clocks in the kernel's process */
#endif
  char body[256];
  for (int clock = 0; clock < 8; clock++) {
    snprintf(body, sizeof body, "long time[2]; call(228, %d, (long)time, 0, 0, 0); " RIGHT, clock);
    expect_refusal("", body, "read a clock (system call clock_gettime)");
  }
  expect_refusal("", "long time[2]; call(96, (long)time, 0, 0, 0, 0); " RIGHT,
                 "read a clock (system call gettimeofday)");
  expect_refusal("", "call(201, 0, 0, 0, 0, 0); " RIGHT, "read a clock (system call time)");
}

/* ---- the honest ---- */

static void a_plain_kernel_is_right_and_measured(void **state) {
  tw_measurement m;
  tw_error error = {0};
  if (run_body("", RIGHT, &m, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(m.cost > 0 && m.cost < 1);
}

static void weights_may_be_packed(void **state) {
  tw_measurement m;
  tw_error error = {0};
  const char *pack =
      "size_t gemm_packed_bytes(int64_t n, int64_t k) { return n * k * 4; }\n"
      "void gemm_pack(const void *b, void *to, int64_t n, int64_t k, int64_t ldb) {\n"
      "  for (long p = 0; p < k; p++) memcpy((float *)to + p * n, (const float *)b + p * ldb, n * 4);\n}\n";
  if (run_body(pack, "product(a, b, c, m, n, k, lda, n, ldc);", &m, &error) != TW_OK) fail_msg("%s", error.text);
}

static void every_kind_of_problem_is_measured(void **state) {
  static const char *const problems[] = {
      "m=5 n=70 k=33 a=bf16 b=bf16 c=bf16 threads=2", "m=16 n=48 k=64 a=u8 b=i8 c=i32 threads=1",
      "m=20 n=31 k=64 a=i8 b=i8 c=f32 threads=1", "m=64 n=64 k=64 relu=1 bias=row threads=2",
      "m=9 n=40 k=50 a=f16 b=f32 c=f16 a_transposed=1 b_transposed=1 threads=1"};
  const tw_target *t = tw_target_find("x86");
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    const tw_problem p = problem_of(problems[i]);
    const tw_schedule plainest = {0};
    tw_measurement m;
    tw_error error = {0};
    char *source = NULL;
    assert_int_equal(tw_target_emit(t, &p, &plainest, &source, &error), TW_OK);
    if (run_on(problems[i], source, &m, &error) != TW_OK) fail_msg("%s: %s", problems[i], error.text);
    free(source);
  }
}

/* ---- what they try ---- */

static void files_and_network_are_out_of_reach(void **state) {
  char body[512], path[] = "/tmp/tilewright-sandbox-XXXXXX";
  const int file = mkstemp(path);
  struct stat s;
  assert_true(file >= 0);
  close(file);
  snprintf(body, sizeof body, "call(257, -100, (long)\"%s\", 01, 0, 0);" RIGHT, path);
  expect_refusal("", body, "open a file");
  snprintf(body, sizeof body, "call(2, (long)\"%s\", 0, 0, 0, 0);" RIGHT, path);
  expect_refusal("", body, "open a file");
  snprintf(body, sizeof body, "call(87, (long)\"%s\", 0, 0, 0, 0);" RIGHT, path);
  expect_refusal("", body, "remove a file");
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_size, 0);
  unlink(path);
  expect_refusal("", "call(1, 4, (long)\"x\", 1, 0, 0);" RIGHT, "write to a file");
  expect_refusal("", "call(41, 2, 1, 0, 0, 0);" RIGHT, "use the network");
  expect_refusal("#include <stdio.h>\n", "fclose(fopen(\"/etc/passwd\", \"r\"));" RIGHT, "open a file");
}

static void processes_and_threads_are_not_made(void **state) {
  expect_refusal("", "for (;;) call(57, 0, 0, 0, 0, 0);", "start a process");
  expect_refusal("#include <stdlib.h>\nint fork(void);", "for (;;) fork();", "start a process");
  expect_refusal("", "for (;;) call(56, 0x100, 0, 0, 0, 0);", "start a process or a thread");
  expect_refusal("", "call(59, (long)\"/bin/sh\", 0, 0, 0, 0);", "run a program");
  expect_refusal("", "call(101, 16, 1, 0, 0, 0);", "look into another process");
  expect_refusal("", "call(62, 1, 9, 0, 0, 0);", "send a signal");
  expect_refusal("", "call(62, call(110, 0, 0, 0, 0, 0), 19, 0, 0, 0);", "may only compute");
}

static tw_sandbox *open_object(const char *object, size_t bytes, uint32_t sets, tw_case *data, tw_error *error) {
  const tw_problem p = problem_of(SMALL);
  tw_sandbox *s = NULL;
  assert_int_equal(tw_case_make(&p, 1, 1, data, error), TW_OK);
  const x86_task task = {.spec = x86_spec_of(&p), .copies = 1};
  const tw_sandboxed c = {.runner = "x86-runner",
                          .variable = "TILEWRIGHT_X86_RUNNER",
                          .operand = data->operand,
                          .n_operands = data->n_operands,
                          .buffer = data->buffer,
                          .sets = sets,
                          .varies = 1,
                          .task = &task,
                          .task_bytes = sizeof task,
                          .kernel = object,
                          .kernel_bytes = bytes,
                          .threads = 1,
                          .workspace = 64 << 20,
                          .seconds = 60,
                          .cpu_seconds = 600};
  return tw_sandbox_open(&c, &s, error) == TW_OK ? s : NULL;
}

/* What cc makes of a kernel with this body when nobody looks at it. */
static char *object_of(const char *globals, const char *body, size_t *bytes) {
  char *source = source_of(globals, body), *folder = NULL, *object = NULL;
  const char *const cc[] = {"cc", "-shared", "-fPIC", "-w", "-o", "x.so", "-xc", "-", NULL};
  tw_process_result r;
  tw_error error = {0};
  assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
  const tw_process_options o = {.argv = cc, .directory = folder, .input = source, .input_length = strlen(source)};
  assert_int_equal(tw_process_run(&o, &r, &error), TW_OK);
  if (r.exit_status != 0) fail_msg("%s", r.output);
  char *path = tw_path_join(folder, "x.so");
  assert_int_equal(tw_file_read(path, 1 << 24, &object, bytes, &error), TW_OK);
  tw_process_result_free(&r);
  tw_directory_remove(folder);
  free(path), free(folder), free(source);
  return object;
}

/* No object with a constructor is built; one that got there all the same is confined while it is loaded. */
static void code_that_runs_while_it_is_loaded_is_confined_too(void **state) {
  static const struct {
    const char *globals, *words;
  } cases[] = {
      {"__attribute__((constructor)) static void early(void) { call(41, 2, 1, 0, 0, 0); }\n", "use the network"},
      {"__attribute__((constructor)) static void early(void) { call(234, call(39, 0, 0, 0, 0, 0), call(186, "
       "0, 0, 0, 0, 0), 19, 0, 0); }\n",
       "the kernel ended its process before it was called"}};
  for (size_t i = 0; i < 2; i++) {
    expect_refusal(cases[i].globals, RIGHT,
                   "functions that run by themselves (constructors, destructors) are not allowed");
    size_t bytes;
    tw_error error = {0};
    tw_case data;
    char *object = object_of(cases[i].globals, RIGHT, &bytes);
    assert_null(open_object(object, bytes, 1, &data, &error));
    if (!strstr(error.text, cases[i].words)) fail_msg("should end with '%s': %s", cases[i].words, error.text);
    tw_case_free(&data);
    free(object);
  }
}

/* One that computes for ever, within the limit that a search sets; one that sleeps for ever, within a second. */
static void what_does_not_end_is_ended(void **state) {
  const double start = tw_now();
  expect_refusal("", "for (;;) __asm__ volatile(\"\");", "did not end within");
  size_t bytes;
  double seconds;
  tw_error error = {0};
  tw_case data;
  char *object = object_of("", "for (;;) call(202, (long)c, 0, *(int *)c, 0, 0);", &bytes);
  tw_sandbox *s = open_object(object, bytes, 1, &data, &error);
  if (!s) fail_msg("%s", error.text);
  assert_int_not_equal(tw_sandbox_run(s, 1, 1, HUGE_VAL, &seconds, &error), TW_OK);
  if (!strstr(error.text, "did not end within 1 s")) fail_msg("%s", error.text);
  tw_sandbox_close(s);
  tw_case_free(&data);
  free(object);
  assert_true(tw_now() - start < 120);
}

/* Programs that keep the processor busy which this program runs on from now on; each in a session of its own, as the
 * kernel's process is: some systems divide their time between sessions. */
static void begin_to_compete(pid_t pid[], int n) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  for (int i = 0; i < n; i++)
    if ((pid[i] = fork()) == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setsid();
      for (;;) __asm__ volatile("");
    }
}

/* It computes for a fraction of its limit, and gets a fraction of a processor. */
static void a_busy_computer_does_not_end_a_kernel(void **state) {
  enum { RIVALS = 8 };
  static const double LIMIT = 0.6;
  if (access("/proc/self/schedstat", R_OK) != 0) skip();
  size_t bytes;
  double seconds;
  tw_error error = {0};
  tw_case data;
  pid_t rival[RIVALS];
  cpu_set_t before;
  char *object = object_of(
      "", "double x = 1; for (long i = 0; i < 20000000; i++) { x *= 1.5; __asm__ volatile(\"\" : \"+x\"(x)); }",
      &bytes);
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  begin_to_compete(rival, RIVALS);
  tw_sandbox *s = open_object(object, bytes, 1, &data, &error);
  const double start = tw_now();
  const tw_status status = s ? tw_sandbox_run(s, 1, LIMIT, HUGE_VAL, &seconds, &error) : TW_FAILED;
  const double took = tw_now() - start;
  for (int i = 0; i < RIVALS; i++) {
    kill(rival[i], SIGKILL);
    waitpid(rival[i], NULL, 0);
  }
  sched_setaffinity(0, sizeof before, &before);
  if (status != TW_OK) fail_msg("%s", error.text);
  if (took < LIMIT) print_message("not starved: %.2f s, of which %.2f s on the processor\n", took, seconds);
  tw_sandbox_close(s);
  tw_case_free(&data);
  free(object);
}

static void faults_say_what_was_touched(void **state) {
  expect_refusal("", "*(volatile int *)8 = 1;", "segmentation fault at address 0x8");
  expect_refusal("", RIGHT "((volatile char *)c)[m * ldc * 4 + 64] = 1;", "after C");
  expect_refusal("", RIGHT "((volatile float *)a)[0] = 1;", "writes to its input A");
  expect_refusal("", RIGHT "((volatile float *)b)[3] = 1;", "writes to its input B");
  expect_refusal("", RIGHT "((volatile char *)c)[-1] = 1;", "writes outside its array");
  expect_refusal("", RIGHT "((volatile float *)c)[n] = 1;", "writes outside its array");
  expect_refusal("", "__builtin_trap();", "died of signal");
  expect_refusal("", "abort();", "died of signal");
}

static void memory_is_limited(void **state) {
#if !defined __SANITIZE_ADDRESS__
  expect_refusal("", "volatile char *p = malloc((size_t)64 << 30); p[0] = 1;" RIGHT, "its memory is limited");
  expect_refusal("",
                 "for (;;) { volatile char *p = malloc(1 << 26); for (long i = 0; i < 1 << 26; i += 4096) p[i] = 1; }",
                 "its memory is limited");
#endif
}

static void ending_is_not_computing(void **state) {
  expect_refusal("", "exit(0);", "ended its process (exit status 0)");
  expect_refusal("", "call(231, 0, 0, 0, 0, 0);", "ended its process (exit status 0)");
  expect_refusal("", "", "wrong result");
}

static void one_wrong_element_is_found(void **state) {
  expect_refusal("", RIGHT "((float *)c)[7 * ldc + 5] += 1e-3f;", "C[7][5]");
}

/* Right when it is checked, without work when it is timed. */
static void results_cannot_be_kept(void **state) {
  const char *counter = "static int calls; static float kept[31 * 40];\n";
  expect_refusal(counter, "if (calls++ == 0) " RIGHT, "wrong result in a timed call with new inputs");
  expect_refusal(counter,
                 "if (calls++ == 0) { " RIGHT " memcpy(kept, c, sizeof kept); } else for (long i = 0; i < m; i++) "
                 "memcpy((float *)c + i * ldc, kept + i * ldc, n * 4);",
                 "wrong result in a timed call with new inputs");
  expect_refusal(counter,
                 "if (calls++ < 3) " RIGHT "else { " RIGHT " for (long j = 0; j < n; j++) ((float *)c)[j] = 0; }",
                 "wrong result in a timed call with new inputs");
}

/* How long a processor has run a process is known only when it has left it, somewhat later than the process stops. */
static void no_run_takes_no_time(void **state) {
  enum { RUNS = 500, SETS = 64 };
  char *source = source_of("", RIGHT), *object = NULL;
  tw_case data;
  tw_error error = {0};
  size_t bytes = 0;
  assert_int_equal(x86_build(source, strlen(source), false, &object, &bytes, &error), TW_OK);
  tw_sandbox *s = open_object(object, bytes, SETS, &data, &error);
  if (!s) fail_msg("%s", error.text);
  for (int i = 0; i < RUNS; i++) {
    double seconds;
    if (tw_sandbox_run(s, SETS, 60, HUGE_VAL, &seconds, &error) != TW_OK) fail_msg("%s", error.text);
    assert_true(seconds > 0);
  }
  tw_sandbox_close(s);
  tw_case_free(&data);
  free(object);
  free(source);
}

/* It hands the stop to the library before the work is done: the work then is not done. */
static void work_cannot_be_put_off(void **state) {
  expect_refusal("", "call(234, call(39, 0, 0, 0, 0, 0), call(186, 0, 0, 0, 0, 0), 19, 0, 0);" RIGHT, "wrong result");
}

static void the_clock_is_not_theirs(void **state) {
  tw_measurement slow = {0}, plain = {0};
  tw_error error = {0};
  const char *fake =
      "struct timespec;\nint clock_gettime(int c, struct timespec *t) { (void)c; memset(t, 0, 16); return 0; }\n"
      "double tw_now(void) { return 0; }\ndouble x86_now_of(int threads) { return 0; }\n";
  if (run_body("", RIGHT, &plain, &error) != TW_OK) fail_msg("%s", error.text);
  if (run_body(fake, "for (int i = 0; i < 20; i++) { " RIGHT " __asm__ volatile(\"\" ::: \"memory\"); }", &slow,
               &error) != TW_OK)
    fail_msg("%s", error.text);
  assert_true(slow.cost > 4 * plain.cost);
}

/* Whatever it is told to read or write, the file stays what and where it is. */
static void the_compiler_touches_nothing_for_them(void **state) {
  static const char *const globals[] = {
      "#include \"%s\"\n",
      "#define F <%s>\n# inc\\\nlude F\n",
      "%%:include <%s>\n",
      "/* */ #include <%s>\n",
      "#/* */include <%s>\n",
      "#include \"target/x86/../../%s\"\n",
      "const char *r = R\"(\n\" /* )\";\n#include \"%s\"\n// */\n",
      "#if __has_include(\"%s\")\n#error here\n#else\n#error not here\n#endif\n",
      "#pragma GCC dependency \"%s\"\n",
      "#line 1 \"%s\"\nint x = y;\n",
      "__asm__(\".incbin \\\"%s\\\"\");\n",
      "__asm__(\"x: .inc\" \"bin \\\"%s\\\"\");\n",
      "__asm__(\".macro x y\\n .inc\\\\y \\\"%s\\\"\\n.endm\\nx bin\");\n",
      "__asm__(\".section .gnu.lto_.opts,\\\"\\\",@progbits\\n.string \\\"-fplugin=%s\\\"\");\n",
      "__asm__(\".section .init_array,\\\"aw\\\"\\n.quad gemm\");\n",
      "__asm__(\".section .text.x,\\\"awx\\\"\\nret\");\n",
      "void gemm_of(void);\nvoid *pick(void) { return 0; }\nvoid gemm_of(void) __attribute__((ifunc(\"pick\")));\n",
      "void _init(void) {}\n",
      "__attribute__((destructor)) static void late(void) { exit(3); }\n",
      "#include \"/dev/zero\"\n",
      "#include \"/proc/self/environ\"\n",
      "int x = ;\n"};
  char path[] = "/tmp/tilewright-canary-XXXXXX", text[] = "int secret_of_the_host;\n", now[64] = "";
  const int file = mkstemp(path);
  assert_true(file >= 0 && write(file, text, sizeof text - 1) == sizeof text - 1);
  for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
    char with_path[512];
    tw_measurement m;
    tw_error error = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(with_path, sizeof with_path, globals[i], path);
#pragma GCC diagnostic pop
    const tw_status status = run_body(with_path, RIGHT, &m, &error);
    if (status != TW_FAILED) fail_msg("%s: %d %s", with_path, status, error.text);
    if (strstr(error.text, "secret") || !strstr(error.text, "rror")) fail_msg("%s: %s", with_path, error.text);
  }
  assert_int_equal(pread(file, now, sizeof now - 1, 0), sizeof text - 1);
  assert_string_equal(now, text);
  close(file);
  unlink(path);
}

static void honest_sources_of_unusual_looks_are_right(void **state) {
  static const char *const globals[] = {"/* # include \"what.h\" in a comment */ // #include <that.h>\n",
                                        "__asm__(\".text\\n.rept 3\\nnop\\n.endr\");\n",
                                        "#include <sys/types.h>\n#include <stdalign.h>\n",
                                        "static _Thread_local float kept[16];\nfloat *where(void) { return kept; }\n"};
  for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
    tw_measurement m;
    tw_error error = {0};
    if (run_body(globals[i], RIGHT, &m, &error) != TW_OK) fail_msg("%s: %s", globals[i], error.text);
  }
}

/* The other compiler. */
static void clang_is_a_compiler_like_another(void **state) {
  tw_measurement m;
  tw_error error = {0};
  if (!tw_process_find("clang")) {
    print_message("clang is not here\n");
    skip();
  }
  char *kept = getenv("TILEWRIGHT_CC") ? strdup(getenv("TILEWRIGHT_CC")) : NULL;
  setenv("TILEWRIGHT_CC", "clang", 1);
  const tw_status right = run_body("", "#pragma omp parallel for\n" RIGHT, &m, &error);
  const tw_status hostile = run_body("#include \"/etc/passwd\"\n", RIGHT, &m, NULL);
  if (kept)
    setenv("TILEWRIGHT_CC", kept, 1);
  else
    unsetenv("TILEWRIGHT_CC");
  free(kept);
  if (right != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(hostile, TW_FAILED);
}

/* ---- a command that is killed ---- */

extern char **environ;

static pid_t start_run(const char *path) {
  char *argv[] = {(char *)TW_COMMAND, (char *)"run",  (char *)path, (char *)"gemm", (char *)"m=61",
                  (char *)"n=67",     (char *)"k=71", (char *)"-t", (char *)"x86",  NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid = 0;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; i++) posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
  assert_int_equal(posix_spawn(&pid, TW_COMMAND, &actions, NULL, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

/* Whatever the moment: what it started is this process's then, and ends by itself; a stopped one would stay. */
static void a_command_that_is_killed_leaves_no_runner(void **state) {
  enum { KILLS = 20 };
  char path[80], emit[400];
  snprintf(path, sizeof path, "/tmp/tilewright-test-%d.c", (int)getpid());
  snprintf(emit, sizeof emit, "%s emit gemm m=61 n=67 k=71 -t x86 >%s", TW_COMMAND, path);
  assert_int_equal(system(emit), 0);
  assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
  double begin = tw_now();
  int status;
  for (int i = 0; i < 2; i++) { /* the second finds the kernel built */
    begin = tw_now();
    assert_true(waitpid(start_run(path), &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const double takes = tw_now() - begin;
  for (int i = 0; i < KILLS; i++) {
    const pid_t pid = start_run(path);
    const struct timespec pause = {.tv_nsec = (long)(fmin(takes, 0.9) * (i + 0.5) / KILLS * 1e9)};
    nanosleep(&pause, NULL);
    kill(pid, SIGKILL);
    const double deadline = tw_now() + 60;
    pid_t ended = 0;
    while (ended >= 0 && tw_now() < deadline)
      if ((ended = waitpid(-1, &status, WNOHANG)) == 0) usleep(1000);
    if (ended >= 0)
      fail_msg("killed after %.3f of %.3f s, it left a process behind", (double)pause.tv_nsec * 1e-9, takes);
  }
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_learns_nothing_about_other_processes),
      cmocka_unit_test(a_kernel_learns_its_own_processors),
      cmocka_unit_test(a_kernel_reads_no_clock),
      cmocka_unit_test(a_plain_kernel_is_right_and_measured),
      cmocka_unit_test(weights_may_be_packed),
      cmocka_unit_test(every_kind_of_problem_is_measured),
      cmocka_unit_test(files_and_network_are_out_of_reach),
      cmocka_unit_test(processes_and_threads_are_not_made),
      cmocka_unit_test(code_that_runs_while_it_is_loaded_is_confined_too),
      cmocka_unit_test(what_does_not_end_is_ended),
      cmocka_unit_test(a_busy_computer_does_not_end_a_kernel),
      cmocka_unit_test(faults_say_what_was_touched),
      cmocka_unit_test(memory_is_limited),
      cmocka_unit_test(ending_is_not_computing),
      cmocka_unit_test(one_wrong_element_is_found),
      cmocka_unit_test(results_cannot_be_kept),
      cmocka_unit_test(no_run_takes_no_time),
      cmocka_unit_test(work_cannot_be_put_off),
      cmocka_unit_test(the_clock_is_not_theirs),
      cmocka_unit_test(the_compiler_touches_nothing_for_them),
      cmocka_unit_test(honest_sources_of_unusual_looks_are_right),
      cmocka_unit_test(clang_is_a_compiler_like_another),
      cmocka_unit_test(a_command_that_is_killed_leaves_no_runner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
