/* test_cdna_object.c - code objects without a compiler: two that are in the tree run, and damaged ones are refused in a
 * line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include "base/random.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/isa/isa.h"
#include "target/cdna/object/object.h"

static const char *const gpu[] = {"gfx942", "gfx950"};

static char *read_object(cdna_arch arch, size_t *size) {
  char path[300], *data;
  snprintf(path, sizeof path, "%s/cdna/vadd.%s.co", TW_TEST_DATA, gpu[arch]);
  assert_int_equal(tw_file_read(path, 1 << 20, &data, size, NULL), TW_OK);
  return data;
}

enum { N = 1000, ROOM = 1024 };
typedef struct arguments {
  uint64_t a, b, c;
  int32_t n;
} arguments;

static tw_status add(cdna_arch arch, int jobs, size_t c_bytes, int n, float c[], tw_error *error) {
  size_t size;
  char *data = read_object(arch, &size);
  cdna_object o;
  const cdna_kernel *k;
  cdna_memory memory = {0};
  float a[ROOM], b[ROOM];
  for (int i = 0; i < ROOM; i++) a[i] = (float)i, b[i] = 0.5f * (float)i;
  assert_int_equal(cdna_object_read(data, size, "vadd", &o, error), TW_OK);
  assert_int_equal(o.arch, arch);
  assert_int_equal(cdna_object_kernel(&o, NULL, &k, error), TW_OK);
  assert_string_equal(k->name, "vadd");
  assert_int_equal(k->n_parameters, 4);
  const arguments block = {cdna_memory_add(&memory, a, sizeof a, false, "a"),
                           cdna_memory_add(&memory, b, sizeof b, false, "b"),
                           cdna_memory_add(&memory, c, c_bytes, true, "c"), n};
  const cdna_launch launch = {
      .grid = {4, 1, 1}, .block = {256, 1, 1}, .arguments = &block, .argument_bytes = 28, .jobs = jobs};
  const tw_status status = cdna_run(&o, k, &launch, &memory, NULL, error);
  cdna_object_free(&o);
  free(data);
  return status;
}

static void test_vectors_are_added(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (int jobs = 1; jobs <= 3; jobs++) {
      float c[ROOM];
      tw_error error = {0};
      memset(c, 0x5a, sizeof c);
      const float untouched = c[N];
      if (add((cdna_arch)arch, jobs, sizeof c, N, c, &error) != TW_OK) fail_msg("%s", error.text);
      for (int i = 0; i < N; i++) assert_true(c[i] == 1.5f * (float)i);
      for (int i = N; i < ROOM; i++) assert_memory_equal(&c[i], &untouched, sizeof untouched);
    }
}

static void test_a_store_past_the_end_is_said_with_its_lane(void **state) {
  float c[ROOM];
  tw_error error = {0};
  /* the first that is too far is element 100, of wave 1 of workgroup 0 and its lane 36, whatever runs beside it */
  for (int jobs = 1; jobs <= 3; jobs++) {
    assert_int_equal(add(CDNA3, jobs, 400, N, c, &error), TW_FAILED);
    assert_non_null(strstr(error.text, "global_store_dword"));
    assert_non_null(strstr(error.text, "workgroup 0,0,0 wave 1: lane 36 writes 4 bytes"));
    assert_non_null(strstr(error.text, "0 bytes past the end of c (400 bytes)"));
  }
}

/* Whatever the bytes: refused in one line, or read; and code that is read prints. */
static void read_anything(const char *data, size_t size) {
  cdna_object o;
  tw_error error = {0};
  if (cdna_object_read(data, size, "a file", &o, &error) != TW_OK) {
    assert_true(error.text[0] && !strchr(error.text, '\n'));
    return;
  }
  cdna_object_free(&o);
}

static void test_files_that_are_cut_or_damaged(void **state) {
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    size_t size;
    char *data = read_object((cdna_arch)arch, &size);
    for (size_t cut = 0; cut < size; cut += cut < 1200 ? 1 : 37) {
      char *part = malloc(cut + 1); /* its own, so that a sanitizer sees what reads past it */
      memcpy(part, data, cut);
      read_anything(part, cut);
      free(part);
    }
    tw_random r;
    tw_random_seed(&r, 3);
    for (int i = 0; i < 3000; i++) {
      char *copy = malloc(size);
      memcpy(copy, data, size);
      for (int k = 0; k < 4; k++) copy[tw_random_below(&r, i < 1500 ? 1500 : size)] = (char)tw_random_next(&r);
      read_anything(copy, size);
      free(copy);
    }
    free(data);
  }
}

static void test_other_files_are_named(void **state) {
  tw_error error = {0};
  cdna_object o;
  size_t size;
  char *data = read_object(CDNA3, &size);
  const cdna_kernel *k;
  assert_int_equal(cdna_object_read("hello", 5, "x.co", &o, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "x.co: not an ELF file"));
  assert_int_equal(cdna_object_read(data, size, "x.co", &o, &error), TW_OK);
  assert_int_equal(cdna_object_kernel(&o, "vad", &k, &error), TW_USAGE);
  assert_string_equal(error.text, "unknown kernel 'vad'; expected vadd");
  cdna_object_free(&o);
  data[48] = 0x4A; /* e_flags: another GPU */
  assert_int_equal(cdna_object_read(data, size, "x.co", &o, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "of LLVM's list); expected gfx942 or gfx950"));
  data[18] = 62; /* e_machine: x86-64 */
  assert_int_equal(cdna_object_read(data, size, "x.co", &o, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "for another machine (62)"));
  free(data);
}

/* A kernel made of the words given: s_endpgm and what is put before it. */
static tw_status run_code(const uint32_t *code, size_t n, uint64_t limit, tw_error *error) {
  size_t size;
  char *data = read_object(CDNA3, &size);
  cdna_object o;
  const cdna_kernel *k;
  cdna_memory memory = {0};
  assert_int_equal(cdna_object_read(data, size, "vadd", &o, error), TW_OK);
  assert_int_equal(cdna_object_kernel(&o, NULL, &k, error), TW_OK);
  for (size_t i = 0; i < o.n_segments; i++)
    if (o.segment[i].executable)
      memcpy(data + (o.segment[i].data - (const uint8_t *)data) + (k->entry - o.segment[i].address), code,
             n * sizeof *code);
  const cdna_launch launch = {
      .grid = {1, 1, 1}, .block = {64, 1, 1}, .arguments = "", .argument_bytes = 0, .limit = limit};
  const tw_status status = cdna_run(&o, k, &launch, &memory, NULL, error);
  cdna_object_free(&o);
  free(data);
  return status;
}

static void test_code_that_cannot_go_on(void **state) {
  tw_error error = {0};
  const uint32_t ends[] = {0xBF810000}, loop[] = {0xBF82FFFF}, unknown[] = {0xFFFFFFFF}, trap[] = {0xBF920002};
  const uint32_t far_jump[] = {0xBF827000};
  assert_int_equal(run_code(ends, 1, 0, &error), TW_OK);
  assert_int_equal(run_code(loop, 1, 1000, &error), TW_FAILED);
  assert_non_null(
      strstr(error.text, "the wave has executed 1000 instructions and did not end; it may be in an infinite loop"));
  assert_int_equal(run_code(unknown, 1, 0, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "0xffffffff is no instruction of this machine"));
  assert_int_equal(run_code(trap, 1, 0, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "traps (2)"));
  assert_int_equal(run_code(far_jump, 1, 0, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "past the end of the code"));
}

static void test_launches_that_cannot_be(void **state) {
  size_t size;
  char *data = read_object(CDNA4, &size);
  cdna_object o;
  const cdna_kernel *k;
  cdna_memory memory = {0};
  tw_error error = {0};
  assert_int_equal(cdna_object_read(data, size, "vadd", &o, &error), TW_OK);
  assert_int_equal(cdna_object_kernel(&o, "vadd", &k, &error), TW_OK);
  cdna_launch l = {.grid = {1 << 16, 1 << 15, 1}, .block = {64, 1, 1}, .arguments = ""};
  assert_int_equal(cdna_run(&o, k, &l, &memory, NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "at most 2^31 - 1"));
  l = (cdna_launch){.grid = {1, 1, 1}, .block = {512, 1, 1}, .arguments = ""};
  assert_int_equal(cdna_run(&o, k, &l, &memory, NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "compiled for at most 256"));
  l = (cdna_launch){.grid = {1, 1, 1}, .block = {64, 1, 1}, .arguments = "", .lds = 163841};
  assert_int_equal(cdna_run(&o, k, &l, &memory, NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "at most 163840"));
  cdna_object_free(&o);
  free(data);
}

/* printf's buffer is the kernel's: sizes, ids and formats that cannot be end the text, and nothing else happens. */
static void test_prints_that_cannot_be(void **state) {
  static char opencl[] = "1:2:4:8:%d %s\\n", vector[] = "2:1:16:%v4f", hip[] = "0:0:7,%s %f %*d %n %q %",
              lies[] = "3:9:4:x";
  char *formats[2][3] = {{opencl, vector, lies}, {hip, hip, hip}};
  tw_random r;
  tw_random_seed(&r, 5);
  for (int turn = 0; turn < 4000; turn++) {
    const cdna_object o = {.n_prints = 3, .print = formats[turn & 1]};
    const size_t room = 4 * tw_random_below(&r, 24);
    uint8_t *buffer = malloc(8 + room); /* to the byte: what is beyond belongs to others */
    uint32_t word = (uint32_t)(turn % 3 ? room : tw_random_next(&r)), capacity = (uint32_t)room;
    memcpy(buffer, &word, 4);
    memcpy(buffer + 4, &capacity, 4);
    for (size_t at = 0; at < room; at += 4) {
      word = (uint32_t)(tw_random_below(&r, 2) ? tw_random_below(&r, 8) : tw_random_next(&r));
      if (turn & 1 && tw_random_below(&r, 3) == 0) word = 4 * (uint32_t)tw_random_below(&r, 80) + 2;
      memcpy(buffer + 8 + at, &word, 4);
    }
    tw_text t = {0};
    cdna_prints(&o, buffer, &t);
    assert_true(t.length < 100000);
    tw_text_free(&t);
    free(buffer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vectors_are_added),
      cmocka_unit_test(test_a_store_past_the_end_is_said_with_its_lane),
      cmocka_unit_test(test_files_that_are_cut_or_damaged),
      cmocka_unit_test(test_other_files_are_named),
      cmocka_unit_test(test_code_that_cannot_go_on),
      cmocka_unit_test(test_launches_that_cannot_be),
      cmocka_unit_test(test_prints_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
