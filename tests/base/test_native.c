/* test_native.c - the sandbox of kernels with operands of all sorts: as many as there can be, of several types and
 * ranks, with gaps between elements, some the same for all sets, outputs that begin with what they are given. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"
#include "native/sandbox.h"

enum { PAIRS = TW_OPERANDS_MAX / 2, SETS = 3, GIVEN = 8 };

/* Output i takes the elements of input i, wherever they lie; `EXTRA` is what else a kernel does. */
static const char KERNEL[] =
    "#include \"native/arena.h\"\n"
    "static size_t size_of(tw_type t) { return t == TW_F32 || t == TW_I32 ? 4 : t == TW_F16 ? 2 : 1; }\n"
    "static void copy(const tw_arena_array *x, const tw_arena_array *y, const char *from, char *to, int d) {\n"
    "  const size_t size = size_of(x->type);\n"
    "  for (int64_t i = 0; i < x->dims[d]; i++, from += x->stride[d] * size, to += y->stride[d] * size)\n"
    "    if (d + 1 == x->rank) __builtin_memcpy(to, from, size); else copy(x, y, from, to, d + 1);\n}\n"
    "void kernel(const tw_arena_array *x, uint32_t n, void *const at[]) {\n"
    "  for (uint32_t i = 0; i < n / 2; i++) copy(&x[i], &x[n / 2 + i], at[i], at[n / 2 + i], 0);\n"
    "  EXTRA\n}\n";

static char *build(const char *extra, size_t *bytes) {
  static const char *const cc[] = {
      "cc", "-shared", "-fPIC", "-O1", "-I", TW_SOURCE_ROOT "/src", "-I" TW_SOURCE_ROOT "/include",
      "-o", "x.so",    "-xc",   "-",   NULL};
  const char *mark = strstr(KERNEL, "EXTRA");
  char source[4096], *folder = NULL, *object = NULL;
  tw_process_result r;
  tw_error error = {0};
  snprintf(source, sizeof source, "%.*s%s%s", (int)(mark - KERNEL), KERNEL, extra, mark + strlen("EXTRA"));
  assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
  const tw_process_options o = {.argv = cc, .directory = folder, .input = source, .input_length = strlen(source)};
  assert_int_equal(tw_process_run(&o, &r, &error), TW_OK);
  if (r.exit_status != 0) fail_msg("%s", r.output);
  char *path = tw_path_join(folder, "x.so");
  assert_int_equal(tw_file_read(path, 1 << 24, &object, bytes, &error), TW_OK);
  tw_process_result_free(&r);
  tw_directory_remove(folder);
  free(path);
  free(folder);
  return object;
}

/* ---- operands: pair i is an input and the output that takes it, with other strides ---- */

typedef struct operands {
  char name[TW_OPERANDS_MAX][8];
  tw_operand list[TW_OPERANDS_MAX];
  void *buffer[TW_OPERANDS_MAX];
} operands;

static void make(operands *o) {
  static const tw_type types[] = {TW_F32, TW_I8, TW_F16, TW_I32};
  for (size_t i = 0; i < TW_OPERANDS_MAX; i++) {
    const size_t pair = i % PAIRS;
    const bool output = i >= PAIRS;
    const int64_t dims[] = {3, 2 + (int64_t)pair, 5};
    snprintf(o->name[i], sizeof o->name[i], "%c%zu", output ? 'Y' : 'X', pair);
    o->list[i] = tw_operand_pitched(o->name[i], types[pair % 4], 3, dims, output ? 9 : 5 + (int64_t)pair);
    o->list[i].is_output = output;
    o->buffer[i] = malloc(o->list[i].bytes);
    for (size_t b = 0; b < o->list[i].bytes; b++) ((char *)o->buffer[i])[b] = (char)(i * 31 + b * 7 + 1);
  }
  tw_operand *last = &o->list[TW_OPERANDS_MAX - 1]; /* it begins with what it is given, behind its elements */
  last->given_at = last->bytes;
  last->given_bytes = GIVEN;
  last->bytes += GIVEN;
  o->buffer[TW_OPERANDS_MAX - 1] = realloc(o->buffer[TW_OPERANDS_MAX - 1], last->bytes);
  memcpy((char *)o->buffer[TW_OPERANDS_MAX - 1] + last->given_at, "is given", GIVEN);
}

static void forget(operands *o) {
  for (size_t i = 0; i < TW_OPERANDS_MAX; i++) free(o->buffer[i]);
}

static tw_status open_kernel(const char *extra, const operands *o, tw_sandbox **out, tw_error *error) {
  size_t bytes;
  char *object = build(extra, &bytes);
  const tw_sandboxed c = {.runner = "native-test",
                          .variable = "TILEWRIGHT_TEST_RUNNER",
                          .operand = o->list,
                          .n_operands = TW_OPERANDS_MAX,
                          .buffer = o->buffer,
                          .sets = SETS,
                          .varies = 1u << 1 | 1u << 6,
                          .kernel = object,
                          .kernel_bytes = bytes,
                          .threads = 1,
                          .seconds = 60,
                          .cpu_seconds = 60};
  const tw_status status = tw_sandbox_open(&c, out, error);
  free(object);
  return status;
}

/* Element i of an operand, in the order of its indices. */
static size_t place_of(const tw_operand *o, size_t i) {
  const size_t columns = (size_t)o->dims[2], rows = (size_t)o->dims[1];
  return i % columns * (size_t)o->stride[2] + i / columns % rows * (size_t)o->stride[1] +
         i / columns / rows * (size_t)o->stride[0];
}

static void every_operand_is_where_it_is_said_to_be(void **state) {
  operands o;
  tw_sandbox *s = NULL;
  tw_error error = {0};
  double seconds;
  make(&o);
  if (open_kernel("", &o, &s, &error) != TW_OK) fail_msg("%s", error.text);
  for (uint32_t set = 0; set < SETS; set++)
    for (size_t i = 1; i < PAIRS; i += 5) { /* the two that vary */
      char *x = tw_sandbox_operand(s, i, set);
      for (size_t b = 0; b < o.list[i].bytes; b++) x[b] = (char)(b * 11 + set);
    }
  tw_sandbox_poison(s, SETS);
  if (tw_sandbox_run(s, SETS, 30, HUGE_VAL, &seconds, &error) != TW_OK) fail_msg("%s", error.text);
  if (tw_sandbox_margins(s, SETS, &error) != TW_OK) fail_msg("%s", error.text);
  for (uint32_t set = 0; set < SETS; set++)
    for (size_t i = 0; i < PAIRS; i++) {
      const tw_operand *x = &o.list[i], *y = &o.list[PAIRS + i];
      const size_t size = i % 4 == 1 ? 1 : i % 4 == 2 ? 2 : 4, n = (size_t)(x->dims[0] * x->dims[1] * x->dims[2]);
      const char *from = tw_sandbox_operand(s, i, set), *to = tw_sandbox_operand(s, PAIRS + i, set);
      if (i != 1 && i != 6) assert_memory_equal(from, o.buffer[i], x->bytes);
      for (size_t e = 0; e < n; e++)
        assert_memory_equal(from + place_of(x, e) * size, to + place_of(y, e) * size, size);
      assert_int_equal((unsigned char)to[5 * size], TW_POISON); /* a gap */
    }
  assert_memory_equal((char *)tw_sandbox_operand(s, TW_OPERANDS_MAX - 1, 2) + o.list[TW_OPERANDS_MAX - 1].given_at,
                      "is given", GIVEN);
  tw_sandbox_close(s);
  forget(&o);
}

/* Any of them, by its name. */
static void a_fault_names_the_operand(void **state) {
  static const struct {
    const char *extra, *words;
  } cases[] = {
      {"((volatile char *)at[5])[3] = 1;", "writes to its input X5"},
      {"((volatile char *)at[13])[-1] = 1;", "writes outside its array: within"},
      {"((volatile char *)at[13])[-1] = 1;", "before Y5"},
      {"((volatile char *)at[9])[x[9].bytes] = 1;", "after Y1"},
      {"((volatile char *)at[9])[x[9].bytes + 64] = 1;", "bytes after Y1"},
      {"((volatile char *)at[15])[(x[15].bytes + 4095) / 4096 * 4096] = 1;", "after Y7"},
      {"x[2].bytes == 0 || ((volatile char *)at[2])[x[2].bytes + 64];", "after X2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    operands o;
    tw_sandbox *s = NULL;
    tw_error error = {0};
    double seconds;
    make(&o);
    if (open_kernel(cases[i].extra, &o, &s, &error) != TW_OK) fail_msg("%s", error.text);
    tw_sandbox_poison(s, SETS);
    tw_status status = tw_sandbox_run(s, SETS, 30, HUGE_VAL, &seconds, &error);
    if (status == TW_OK) status = tw_sandbox_margins(s, SETS, &error);
    if (status != TW_FAILED || !strstr(error.text, cases[i].words))
      fail_msg("%s should end with '%s': %s", cases[i].extra, cases[i].words, status == TW_OK ? "right" : error.text);
    tw_sandbox_close(s);
    forget(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operand_is_where_it_is_said_to_be),
      cmocka_unit_test(a_fault_names_the_operand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
