/* A candidate's source becomes a program, or one clear message; what is in it cannot reach the host's files or the
 * timing marks; what was built once is not built again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gemmini_yardstick.h"

#include "base/cache.h"
#include "base/parallel.h"
#include "target/gemmini/build.h"
#include "target/gemmini/run.h"

#define BODY "config_st(64); mvout(&C[0][0], 0x80000000u, 16, 16); fence();"
#define KERNEL "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  " BODY "\n}\n"

static char cache[64];
static gm_config config;
static tw_problem problem; /* 64 x 64 x 64 */

static int use_own_cache(void **state) {
  strcpy(cache, "/tmp/tilewright-test-XXXXXX");
  assert_non_null(mkdtemp(cache));
  setenv("XDG_CACHE_HOME", cache, 1);
  config = gemmini_config("gemmini-16x16-int8");
  problem = gemm_problem("m=64 n=64 k=64");
  return 0;
}

static int remove_own_cache(void **state) {
  tw_directory_remove(cache);
  return 0;
}

static tw_status build(const char *source, tw_error *error) {
  char *elf = NULL;
  size_t size;
  tw_status status = gm_build(&config, &problem, source, strlen(source), false, &elf, &size, error);
  free(elf);
  return status;
}

static void accepted(const char *source) {
  tw_error error = {0};
  must(build(source, &error), &error);
}

/* Refused with a message that contains all of the words. */
static void refused(const char *source, const char *word1, const char *word2) {
  tw_error error = {0};
  assert_int_equal(build(source, &error), TW_FAILED);
  assert_int_equal(error.status, TW_FAILED);
  if (!strstr(error.text, word1) || !strstr(error.text, word2))
    fail_msg("message without '%s' and '%s': %s", word1, word2, error.text);
}

/* The section of that name; its offset in the program's memory is its address. */
static const Elf64_Shdr *section(const char *elf, const char *name) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
  const Elf64_Shdr *all = (const Elf64_Shdr *)(elf + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++)
    if (!strcmp(elf + all[header->e_shstrndx].sh_offset + all[i].sh_name, name)) return &all[i];
  return NULL;
}

/* ---- Programs --------------------------------------------------------------------------------------------- */

static void operands_lie_in_their_own_sections(void **state) {
  const char *source =
      "void test(int8_t A[100][37], int8_t B[37][40], int32_t D[1][40], int8_t C[100][48]) { fence(); }";
  tw_problem p = gemm_problem("m=100 n=40 k=37 bias=row ldc=48");
  char *elf = NULL;
  size_t size;
  tw_error error = {0};
  must(gm_build(&config, &p, source, strlen(source), false, &elf, &size, &error), &error);
  const Elf64_Shdr *a = section(elf, ".operand.A"), *b = section(elf, ".operand.B"), *d = section(elf, ".operand.D");
  const Elf64_Shdr *c = section(elf, ".operand.out.C");
  assert_true(a && b && c && d);
  assert_int_equal(a->sh_type, SHT_NOBITS);
  assert_int_equal(a->sh_size, 100 * 37);
  assert_int_equal(b->sh_size, 37 * 40);
  assert_int_equal(d->sh_size, 40 * 4);
  assert_int_equal(c->sh_size, 100 * 48);
  assert_int_equal(a->sh_addr % 4096, 0);
  assert_int_equal(b->sh_addr, (a->sh_addr + a->sh_size + 63) / 64 * 64);
  assert_int_equal(d->sh_addr % 64 + c->sh_addr % 64, 0);
  free(elf);
}

static void public_styles_of_kernels_are_accepted(void **state) {
  /* the other name, the public harness's macros, the long names, includes of public programs */
  accepted("#include <stdint.h>\n#include \"include/gemmini_testutils.h\"\n#include <stdio.h>\n"
           "void solution(elem_t A[MAT_DIM_I][MAT_DIM_K], elem_t B[64][64], elem_t C[64][64]) {\n"
           "  tiled_matmul_auto(MAT_DIM_I, MAT_DIM_J, MAT_DIM_K, A_MATRIX_NAME, B_MATRIX_NAME, NULL, C_MATRIX_NAME, "
           "64, 64, 64, 64,\n"
           "    MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, NO_ACTIVATION, ACC_SCALE_IDENTITY, 0, "
           "false,\n"
           "    A_TRANSPOSE, B_TRANSPOSE, false, false, 0, WEIGHT_STATIONARY);\n  gemmini_fence();\n}");
  /* the software loop, other parameter names, const */
  accepted("void test(const int8_t a[64][64], const int8_t b[64][64], int8_t out[64][64]) {\n"
           "  gemmini_extended_config_ex(WEIGHT_STATIONARY, 0, 0, 1, false, false);\n"
           "  gemmini_extended3_config_ld(64, 1.0f, false, 0); gemmini_config_st(64);\n"
           "  gemmini_mvin(a, 0) gemmini_preload_zeros(0x80000000u); gemmini_compute_preloaded(0, GARBAGE_ADDR);\n"
           "  gemmini_mvout(out, 0x80000000u);\n  fence();\n}");
  /* pointers, helpers before and behind, early return, static data, the library of C */
  accepted("#include <string.h>\nstatic int8_t scratch[4096];\nstatic void helper(int8_t *p);\n"
           "void test(int8_t *A, int8_t (*B)[64], int8_t C[][64]) {\n"
           "  if (A == 0) return;\n  memset(scratch, 0, sizeof scratch); helper(A); memcpy(C, scratch, 4096);\n}\n"
           "static void helper(int8_t *p) { printf(\"%d %s %f\\n\", p[0], \"x\", sqrt(p[1])); }\n");
  accepted("/* test(a) { } */ // solution() {\nvoid \\\ntest\n(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64])\n"
           "{ const char *s = \"void test() { }\"; (void)s; }");
}

/* One macro in the source chooses between the library's two ways. */
static void the_software_loop_of_the_library_is_another_program(void **state) {
  static const char *const library = "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n"
                                     "  tiled_matmul_auto(64, 64, 64, (elem_t *)A, (elem_t *)B, NULL, (elem_t *)C, 64, "
                                     "64, 64, 64, 1, 1, 1, 0, 1, 0, false,\n"
                                     "    false, false, false, false, 0, WS);\n}\n";
  static const char *const define[] = {"\n", "#define GEMMINI_SOFTWARE_LOOP\n"};
  uint64_t mvouts[2];
  for (int software = 0; software < 2; software++) {
    char source[1000], *elf = NULL;
    size_t size;
    tw_error error = {0};
    snprintf(source, sizeof source, "%s%s", define[software], library);
    must(gm_build(&config, &problem, source, strlen(source), false, &elf, &size, &error), &error);
    const Elf64_Shdr *text = section(elf, ".text");
    mvouts[software] = 0;
    for (uint64_t i = 0; i + 4 <= text->sh_size; i += 2) {
      uint32_t word;
      memcpy(&word, elf + text->sh_offset + i, sizeof word);
      mvouts[software] += (word & 0xfe00707f) == (3u << 25 | 3u << 12 | 0x7b); /* custom-3, funct7 3: mvout */
    }
    free(elf);
  }
  assert_true(mvouts[1] > mvouts[0]);
}

static void float_configuration_builds(void **state) {
  gm_config real = gemmini_config("gemmini-4x4-fp32");
  tw_problem p = gemm_problem("m=8 n=4 k=4 a=f32 b=f32 c=f32 acc=f32");
  const char *source =
      "void test(float A[8][4], float B[4][4], float C[8][4]) {\n"
      "  config_ld(16, 0.5f, DIM, 0); config_st(4 * sizeof(elem_t), 2.0f); mvin(A, 0, 4, 4); fence();\n}";
  char *elf = NULL;
  size_t size;
  tw_error error = {0};
  must(gm_build(&real, &p, source, strlen(source), false, &elf, &size, &error), &error);
  assert_int_equal(section(elf, ".operand.A")->sh_size, 128);
  free(elf);
}

/* ---- Messages --------------------------------------------------------------------------------------------- */

static void compile_errors_carry_line_and_message(void **state) {
  refused(
      "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  int x = 1;\n  x = undefined_thing;\n}\n",
      "kernel.c:3:", "undefined_thing");
  refused("void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  no_such_function(1);\n}\n",
          "kernel.c:2:", "no_such_function");
  refused("void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  for (;;) {\n", "error", "kernel.c");
  refused("extern int far_away;\nvoid test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  C[0][0] = "
          "far_away;\n}\n",
          "undefined reference", "far_away");
}

static void parameters_must_be_the_operands(void **state) {
  refused("void test(int8_t A[64][64], int8_t C[64][64]) {}\n", "kernel.c:1", "2 parameters");
  refused("void test(void) {}\n", "kernel.c:1", "0 parameters");
  refused("void test(int8_t A[64][32], int8_t B[64][64], int8_t C[64][64]) {}\n", "kernel.c:1", "incompatible pointer");
  refused("\n\nvoid test(float A[64][64], int8_t B[64][64], int8_t C[64][64]) {}\n", "kernel.c:3",
          "argument 1 of 'test' from incompatible pointer");
}

static void exactly_one_entry_point(void **state) {
  refused("void kernel(int8_t A[64][64]) {}\n",
          "kernel.c:1: error: the entry point is missing; define `void test(...)` or `void", "void test(...)");
  refused("void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]);\n",
          "kernel.c:1: error: the entry point is missing; define `void test(...)` or `void", "solution");
  refused("/* void test(int8_t *A) {} */\n", "empty", "test");
  refused(KERNEL "void solution(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {}\n", "kernel.c:4",
          "second entry point");
  refused("", "empty", "test");
}

static void text_that_is_no_source_is_refused(void **state) {
  tw_error error = {0};
  char *elf;
  size_t size, huge = 100u << 20;
  assert_int_equal(gm_build(&config, &problem, "void\0test", 9, false, &elf, &size, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "NUL"));
  char *text = malloc(huge);
  assert_non_null(text);
  memset(text, ' ', huge);
  assert_int_equal(gm_build(&config, &problem, text, huge, false, &elf, &size, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "104857600 bytes"));
  free(text);
}

static void missing_compiler_is_named_with_its_package(void **state) {
  char *path = strdup(getenv("PATH"));
  tw_error error = {0};
  setenv("PATH", "/nonexistent", 1);
  tw_status built = build(KERNEL, &error), available = gm_build_available(&config, NULL);
  setenv("PATH", path, 1);
  free(path);
  assert_int_equal(built, TW_NO_COMPILER);
  assert_int_equal(available, TW_NO_COMPILER);
  assert_non_null(strstr(error.text, "apt-get install gcc-riscv64-unknown-elf"));
  assert_int_equal(gm_build_available(&config, NULL), TW_OK);
}

/* ---- Hostile sources -------------------------------------------------------------------------------------- */

/* Neither what is in a file comes out, nor does anything go into one: the canary is where a source would aim. */
static char canary[100];

static void make_canary(void) {
  tw_error error;
  snprintf(canary, sizeof canary, "%s/canary", cache);
  assert_int_equal(tw_file_write(canary, "int secret_of_the_host;\n", 24, &error), TW_OK);
}

static void canary_is_untouched(void) {
  char *text = NULL;
  tw_error error;
  assert_int_equal(tw_file_read(canary, 1000, &text, NULL, &error), TW_OK);
  assert_string_equal(text, "int secret_of_the_host;\n");
  free(text);
}

static void expect_no_reading(const char *source) {
  tw_error error = {0};
  const tw_status status = build(source, &error);
  if (status != TW_FAILED) fail_msg("accepted (%d): %s", status, source);
  if (strstr(error.text, "root:") || strstr(error.text, "secret_of")) fail_msg("leaks: %s\n%s", source, error.text);
  if (!strstr(error.text, "error") && !strstr(error.text, "Error")) fail_msg("no error: %s", error.text);
  canary_is_untouched();
}

static void files_of_the_host_cannot_be_included(void **state) {
  static const char *const line[] = {
      "#include \"%s\"",
      "#include <%s>",
      "#include \"/etc/passwd\"",
      "#include \"../../../../../../../../etc/passwd\"",
      "\xef\xbb\xbf#include \"%s\"",
      "int x;\r#include \"%s\"\n#include \"%s\"",
      "%%:include \"%s\"",
      "#inc\\\nlude \"%s\"",
      "/* */ # /* */ include /* */ \"%s\"",
      "// \\\n\n#include \"%s\"",
      "#define F \"%s\"\n#include F",
      "#include_next <%s>",
      "#import \"%s\"",
      "#if __has_include(\"%s\")\n#error here\n#else\n#error not here\n#endif",
      "#define H __has_incl##ude\n#if H(\"%s\")\n#endif",
      "#if 0 )\n#endif\n#include \"%s\"",
      "#pragma GCC dependency \"%s\"",
      "_Pragma(\"GCC dependency \\\"%s\\\"\")",
      "#define DO_PRAGMA(x) _Pragma(#x)\nDO_PRAGMA(GCC dependency \"%s\")",
      "#line 1 \"%s\"\nint x = y;",
      "#include \"/dev/zero\"",
      "#include \"/proc/self/environ\"",
      "#include \"/proc/self/cmdline\"",
      "#include \"/proc/self/root%s\"",
      "#include <sys/mman.h>",
  };
  make_canary();
  for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
    char start[400], source[1000];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(start, sizeof start, line[i], canary, canary);
#pragma GCC diagnostic pop
    snprintf(source, sizeof source, "%s\n" KERNEL, start);
    expect_no_reading(source);
  }
}

static void files_cannot_come_in_through_the_assembler(void **state) {
  static const char *const text[] = {
      ".incbin \\\"%s\\\"",
      ".include \\\"%s\\\"",
      ".INCBIN \\\"%s\\\"",
      "x: .incbin \\\"%s\\\"",
      "nop; .incbin \\\"%s\\\"",
      ".inc\" \"bin \\\"%s\\\"",
      ".macro m a b\\n.\\\\a\\\\b \\\"%s\\\"\\n.endm\\nm inc bin",
      ".irp x, incbin\\n.\\\\x \\\"%s\\\"\\n.endr",
      ".rept 1\\n.incbin \\\"%s\\\"\\n.endr",
      "/* */ .incbin \\\"%s\\\"",
      ".if 1\\n.incbin \\\"%s\\\"\\n.endif",
      ".altmacro\\n.incbin \\\"%s\\\"",
      ".section .data.x; .incbin \\\"%s\\\"",
      "li a0, '\\\"'; .incbin \\\"%s\\\"",
      ".section .gnu.lto_.opts,\\\"\\\",@progbits\\n.string \\\"-fplugin=%s\\\"",
      ".section .gnu.lto_main.1,\\\"\\\",@progbits\\n.byte 1",
      ". = . + 1000000000",
      ".org 100000000",
      ".space 1000000000",
      ".fill 100000000, 8, 0",
      ".align 30",
      ".section .harness,\\\"ax\\\"\\nnop",
      ".section .operand.C,\\\"aw\\\"\\n.byte 1",
      ".section .init_array,\\\"aw\\\"\\n.quad 0",
      ".globl _start\\n_start: nop",
      ".globl __global_pointer$\\n__global_pointer$:",
      "la t0, __harness_table",
  };
  make_canary();
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
    char statement[400], source[1000];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(statement, sizeof statement, text[i], canary);
#pragma GCC diagnostic pop
    snprintf(source, sizeof source,
             "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  asm volatile(\"%s\");\n}\n",
             statement);
    expect_no_reading(source);
    snprintf(source, sizeof source, "asm(\"%s\");\n" KERNEL, statement);
    expect_no_reading(source);
  }
}

/* What harms nobody is nobody's business. */
static void honest_sources_of_unusual_looks_are_accepted(void **state) {
  accepted("/* # include \"what.h\" in a comment */ // #include <that.h>\n" KERNEL);
  accepted("asm(\".text\\n.rept 3\\nnop\\n.endr\\n.if 1\\nnop\\n.endif\");\n" KERNEL);
  accepted("#define main other\n#define int long\n#define NULL 0\n" KERNEL);
  accepted("#define volatile(...) volatile(\"nop\")\n#define gemmini_fence() \n#define printf(...) 0\n"
           "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) { ; }\n");
  accepted("static void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) { if (A) return; C[0][0] = 1; }\n");
  accepted("void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n"
           "  uint64_t t; asm volatile(\"rdcycle %0\" : \"=r\"(t)); asm volatile(\"csrr %0, cycle\" : \"=r\"(t)); "
           "C[0][0] = t;\n}\n");
}

static void enormous_data_is_refused(void **state) {
  refused("char big[1 << 30] = {1};\nvoid test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) { C[0][0] = "
          "big[5]; }\n",
          "initialised data", "64 MiB");
}

/* Builds, and ends with the words when it runs. */
static void ends(const char *source, const char *words) {
  char *elf = NULL;
  size_t size;
  tw_error error = {0};
  tw_case data;
  gm_run_result result;
  const gm_run_options options = {0};
  must(tw_case_make(&problem, 1, 1, &data, &error), &error);
  must(gm_build(&config, &problem, source, strlen(source), false, &elf, &size, &error), &error);
  assert_int_equal(gm_run(&config, elf, size, &data, &options, &result, &error), TW_FAILED);
  if (!strstr(error.text, words)) fail_msg("should end with '%s': %s\n%s", words, error.text, source);
  tw_case_free(&data);
  free(elf);
}

#define ASM(text)                                                                                                      \
  "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n  asm volatile(\"" text "\");\n}\n"

/* However the instruction got there: the machine takes the marks from the harness alone. */
static void timing_marks_belong_to_the_harness(void **state) {
  ends(ASM("csrw 0x8c0, x0"), "kernels may not write control registers; 0x8c0 belongs to the harness");
  ends(ASM("csrrw x0, 0x8c1, x0"), "kernels may not write control registers; 0x8c1 belongs to the harness");
  ends(ASM(".insn i 0x73, 1, x0, x0, 0x8c1 - 4096"),
       "kernels may not write control registers; 0x8c1 belongs to the harness");
  ends(ASM(".word 0x8c101073"), "kernels may not write control registers; 0x8c1 belongs to the harness");
  ends("const unsigned code[] __attribute__((section(\".text.data\"))) = {0x8c101073, 0x8067};\n" ASM("call code"),
       "kernels may not write control registers; 0x8c1 belongs to the harness");
  ends(ASM("csrw 0x8c3, x0"), "kernels may not write control registers; 0x8c3 belongs to the harness");
  /* into the harness: the start again, the end without its fence, the way out */
  ends(ASM("addi ra, ra, -8\\njr ra"), "started the timer again");
  ends("void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n"
       "  gemmini_config_st(64); asm volatile(\"la t0, __harness_stop + 4\\njr t0\");\n}\n",
       "jumped past the fence");
  refused(ASM("la t0, _exit\\njr t0"), "may not be used", "_exit");
  refused(KERNEL "int main(void) { return 0; }\n", "may not be defined", "main");
  refused("void _start(void) {}\n" KERNEL, "may not be defined", "_start");
  refused("int other(void) __asm__(\"main\");\nint other(void) { return 0; }\n" KERNEL, "may not be defined", "main");
}

/* ---- The cache -------------------------------------------------------------------------------------------- */

static int count_programs(void) {
  char path[200];
  snprintf(path, sizeof path, "%s/tilewright/gemmini-programs", cache);
  DIR *stream = opendir(path);
  int n = 0;
  for (struct dirent *e; stream && (e = readdir(stream));) n += e->d_name[0] != '.';
  if (stream) closedir(stream);
  return n;
}

static void what_was_built_is_not_built_again(void **state) {
  char *first = NULL, *second = NULL;
  size_t size1, size2;
  tw_error error = {0};
  const char *source = "/* cached */\n" KERNEL;
  must(gm_build(&config, &problem, source, strlen(source), false, &first, &size1, &error), &error);
  int before = count_programs();
  /* with a compiler that cannot run, only the cache can answer */
  setenv("TMPDIR", "/nonexistent", 1);
  must(gm_build(&config, &problem, source, strlen(source), false, &second, &size2, &error), &error);
  unsetenv("TMPDIR");
  assert_int_equal(size1, size2);
  assert_memory_equal(first, second, size1);
  assert_int_equal(count_programs(), before);
  accepted("/* another */\n" KERNEL);
  assert_int_equal(count_programs(), before + 1);
  free(first);
  free(second);
}

static void damaged_entries_are_rebuilt(void **state) {
  char path[400];
  accepted(KERNEL);
  snprintf(path, sizeof path, "%s/tilewright/gemmini-programs", cache);
  DIR *stream = opendir(path);
  assert_non_null(stream);
  for (struct dirent *e; (e = readdir(stream));) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/tilewright/gemmini-programs/%.100s", cache, e->d_name);
    assert_int_equal(truncate(path, 1000), 0);
  }
  closedir(stream);
  char *elf = NULL;
  size_t size;
  tw_error error = {0};
  must(gm_build(&config, &problem, KERNEL, strlen(KERNEL), false, &elf, &size, &error), &error);
  assert_non_null(section(elf, ".operand.A"));
  free(elf);
}

static void builds_without_a_place_for_the_cache(void **state) {
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  accepted(KERNEL);
  accepted(KERNEL);
  setenv("XDG_CACHE_HOME", cache, 1);
}

static void one_of_four(void *context, size_t index) {
  char source[400];
  tw_error error = {0};
  snprintf(source, sizeof source, "/* %zu */\n" KERNEL, index % 4);
  ((tw_status *)context)[index] = build(source, &error);
}

static void concurrent_builders_agree(void **state) {
  char own[100];
  tw_status status[16];
  snprintf(own, sizeof own, "%s/concurrent", cache); /* even the runtime is built by all at once */
  setenv("XDG_CACHE_HOME", own, 1);
  tw_parallel_for(8, 16, one_of_four, status);
  setenv("XDG_CACHE_HOME", cache, 1);
  for (int i = 0; i < 16; i++) assert_int_equal(status[i], TW_OK);
}

static void the_cache_keeps_what_was_used_last(void **state) {
  char text[1000] = {0}, *data = NULL;
  size_t length;
  struct timespec pause = {.tv_nsec = 20000000};
  for (int i = 0; i < 4; i++) {
    char key[16];
    snprintf(key, sizeof key, "k%d", i);
    tw_cache_put("trimmed", key, text, sizeof text);
    nanosleep(&pause, NULL);
  }
  assert_true(tw_cache_get("trimmed", "k0", &data, &length)); /* the oldest is now the last used */
  free(data);
  tw_cache_trim("trimmed", 2 * (sizeof text + 32));
  assert_false(tw_cache_get("trimmed", "k1", &data, &length));
  assert_false(tw_cache_get("trimmed", "k2", &data, &length));
  assert_true(tw_cache_get("trimmed", "k3", &data, &length));
  free(data);
  assert_true(tw_cache_get("trimmed", "k0", &data, &length));
  assert_int_equal(length, sizeof text);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operands_lie_in_their_own_sections),
      cmocka_unit_test(public_styles_of_kernels_are_accepted),
      cmocka_unit_test(the_software_loop_of_the_library_is_another_program),
      cmocka_unit_test(float_configuration_builds),
      cmocka_unit_test(compile_errors_carry_line_and_message),
      cmocka_unit_test(parameters_must_be_the_operands),
      cmocka_unit_test(exactly_one_entry_point),
      cmocka_unit_test(text_that_is_no_source_is_refused),
      cmocka_unit_test(missing_compiler_is_named_with_its_package),
      cmocka_unit_test(files_of_the_host_cannot_be_included),
      cmocka_unit_test(files_cannot_come_in_through_the_assembler),
      cmocka_unit_test(honest_sources_of_unusual_looks_are_accepted),
      cmocka_unit_test(enormous_data_is_refused),
      cmocka_unit_test(timing_marks_belong_to_the_harness),
      cmocka_unit_test(what_was_built_is_not_built_again),
      cmocka_unit_test(damaged_entries_are_rebuilt),
      cmocka_unit_test(builds_without_a_place_for_the_cache),
      cmocka_unit_test(concurrent_builders_agree),
      cmocka_unit_test(the_cache_keeps_what_was_used_last),
  };
  return cmocka_run_group_tests(tests, use_own_cache, remove_own_cache);
}
