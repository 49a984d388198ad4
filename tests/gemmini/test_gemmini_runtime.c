/* What the runtime gives to kernels works on the simulated machine: the library's matrix multiplication in all its
 * variants, and the small libc. */
#include "gemmini_yardstick.h"
#include "target/gemmini/build.h"
#include "target/gemmini/core/rv64.h"
#include "tilewright/extend/target.h"

/* ---- tiled_matmul_auto ------------------------------------------------------------------------------------ */

typedef struct variant {
  const char *keys;
  const char *call; /* from the sizes on; A, B, D, C are the operands */
} variant;

static void source_is_right(const char *target_name, const char *problem, const char *source) {
  const tw_target *target = tw_target_find(target_name);
  const tw_problem p = problem_from(target, "%s", problem);
  tw_case c;
  tw_artefact *artefact = NULL;
  tw_error error = {0};
  must(tw_case_make(&p, 7, 1, &c, &error), &error);
  must(target->build(target, &p, source, strlen(source), &(tw_evaluation){0}, &artefact, &error), &error);
  if (target->check(target, artefact, &c, &(tw_evaluation){0}, &error) != TW_OK)
    fail_msg("%s: %s\n%s", problem, error.text, source);
  target->release(artefact);
  tw_case_free(&c);
}

/* Runs the library call as a kernel for the problem, by hardware loop or by single commands. */
static void is_right(const char *target_name, const variant *v, const char *parameters, const char *define) {
  char source[2000], problem[200];
  snprintf(problem, sizeof problem, "gemm %s", v->keys);
  snprintf(source, sizeof source, "%s\nvoid test(%s) {\n  tiled_matmul_auto(%s);\n  fence();\n}\n", define, parameters,
           v->call);
  source_is_right(target_name, problem, source);
}

#define SCALES "MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY"

static const variant int8_variants[] = {
    {"m=64 n=64 k=64", "64, 64, 64, (elem_t *)A, (elem_t *)B, NULL, C, 64, 64, 64, 64, " SCALES
                       ", NO_ACTIVATION, 1, 0, false, false, false, "
                       "false, false, 0, WS"},
    {"m=100 n=70 k=48", /* no multiples of 16 in C */
     "100, 70, 48, (elem_t *)A, (elem_t *)B, NULL, C, 48, 70, 70, 70, " SCALES
     ", NO_ACTIVATION, 1, 0, false, false, false, "
     "false, false, 0, WS"},
    {"m=200 n=150 k=704", /* several tiles in each dimension */
     "200, 150, 704, (elem_t *)A, (elem_t *)B, NULL, C, 704, 150, 150, 150, " SCALES
     ", NO_ACTIVATION, 1, 0, false, false, "
     "false, false, false, 0, WS"},
    {"m=48 n=80 k=64 relu=1 scale=0.25", "48, 80, 64, (elem_t *)A, (elem_t *)B, NULL, C, 64, 80, 80, 80, " SCALES
                                         ", RELU, 0.25, 0, false, false, false, false, "
                                         "false, 0, WS"},
    {"m=48 n=80 k=64 a_transposed=1", "48, 80, 64, (elem_t *)A, (elem_t *)B, NULL, C, 48, 80, 80, 80, " SCALES
                                      ", NO_ACTIVATION, 1, 0, false, true, false, false, "
                                      "false, 0, WS"},
    {"m=50 n=80 k=60 b_transposed=1", "50, 80, 60, (elem_t *)A, (elem_t *)B, NULL, C, 60, 60, 80, 80, " SCALES
                                      ", NO_ACTIVATION, 1, 0, false, false, true, false, "
                                      "false, 0, WS"},
    {"m=100 n=70 k=37", /* the hardware loop reads 11 rows behind the end of B, or 10 if B is transposed, and uses none of them */
     "100, 70, 37, (elem_t *)A, (elem_t *)B, NULL, C, 37, 70, 70, 70, " SCALES
     ", NO_ACTIVATION, 1, 0, false, false, false, "
     "false, false, 0, WS"},
    {"m=50 n=70 k=60 b_transposed=1", "50, 70, 60, (elem_t *)A, (elem_t *)B, NULL, C, 60, 60, 70, 70, " SCALES
                                      ", NO_ACTIVATION, 1, 0, false, false, true, false, "
                                      "false, 0, WS"},
    {"m=48 n=80 k=64 c=i32", "48, 80, 64, (elem_t *)A, (elem_t *)B, NULL, C, 64, 80, 80, 80, " SCALES
                             ", NO_ACTIVATION, 1, 0, false, false, false, true, "
                             "false, 0, WS"},
};

static const variant biased_variants[] = {
    {"m=48 n=80 k=64 bias=full",
     "48, 80, 64, (elem_t *)A, (elem_t *)B, D, C, 64, 80, 80, 80, 1.0, 1.0, 1, NO_ACTIVATION, 1, 0, false, false, "
     "false, false, "
     "false, 0, WS"},
    {"m=50 n=90 k=608 bias=row",
     "50, 90, 608, (elem_t *)A, (elem_t *)B, D, C, 608, 90, 90, 90, 1.0, 1.0, 1, NO_ACTIVATION, 1, 0, true, false, "
     "false, false, "
     "false, 0, WS"},
};

static const variant output_stationary_variants[] = {
    {"m=64 n=64 k=64", "64, 64, 64, (elem_t *)A, (elem_t *)B, NULL, C, 64, 64, 64, 64, " SCALES
                       ", NO_ACTIVATION, 1, 0, false, false, false, "
                       "false, false, 0, OS"},
    {"m=50 n=70 k=37", "50, 70, 37, (elem_t *)A, (elem_t *)B, NULL, C, 37, 70, 70, 70, " SCALES
                       ", NO_ACTIVATION, 1, 0, false, false, false, "
                       "false, false, 0, OS"},
};

static const char no_bias[] = "int8_t A[A_ROWS][A_COLS], int8_t B[B_ROWS][B_COLS], void *C";
static const char with_bias[] = "int8_t A[A_ROWS][A_COLS], int8_t B[B_ROWS][B_COLS], int32_t *D, void *C";

static void hardware_loop_of_the_library_is_right(void **state) {
  for (size_t i = 0; i < sizeof int8_variants / sizeof *int8_variants; i++)
    is_right("gemmini-16x16-int8", &int8_variants[i], no_bias, "");
  for (size_t i = 0; i < sizeof biased_variants / sizeof *biased_variants; i++)
    is_right("gemmini-16x16-int8", &biased_variants[i], with_bias, "");
}

static void software_loop_of_the_library_is_right(void **state) {
  for (size_t i = 0; i < sizeof int8_variants / sizeof *int8_variants; i++)
    is_right("gemmini-16x16-int8", &int8_variants[i], no_bias, "#define GEMMINI_SOFTWARE_LOOP");
  for (size_t i = 0; i < sizeof biased_variants / sizeof *biased_variants; i++)
    is_right("gemmini-16x16-int8", &biased_variants[i], with_bias, "#define GEMMINI_SOFTWARE_LOOP");
}

static void output_stationary_library_is_right(void **state) {
  for (size_t i = 0; i < sizeof output_stationary_variants / sizeof *output_stationary_variants; i++)
    is_right("gemmini-16x16-int8", &output_stationary_variants[i], no_bias, "");
}

static void library_is_right_in_floating_point(void **state) {
  static const variant v = {"m=10 n=10 k=30", /* two rows behind the end of B */
                            "10, 10, 30, (elem_t *)A, (elem_t *)B, NULL, C, 30, 10, 10, 10, " SCALES
                            ", NO_ACTIVATION, 1, 0, false, false, false, "
                            "false, false, 0, WS"};
  static const char parameters[] = "float A[10][30], float B[30][10], void *C";
  is_right("gemmini-4x4-fp32", &v, parameters, "");
  is_right("gemmini-4x4-fp32", &v, parameters, "#define GEMMINI_SOFTWARE_LOOP");
}

/* ---- tiled_conv_auto -------------------------------------------------------------------------------------- */

/* Runs the library call for the problem, by hardware loop or by single commands. `more`: pad, scale, pooling. */
static void convolution_is_right(const char *sizes, const char *more, bool bias, const char *arguments,
                                 const char *define) {
  char text[256], source[2000];
  snprintf(text, sizeof text, "conv2d %s %s%s", sizes, more, bias ? " bias=row" : "");
  snprintf(source, sizeof source,
           "%s\n#define CALL(pad, scale, pool_size, pool_stride, pool_pad) \\\n"
           "  tiled_conv_auto(N, INP_ROWS, INP_COLS, C, K, P, Q, STRIDE, 1, 1, pad, R, false, false, false, false, "
           "false, \\\n"
           "                  (elem_t *)INP_MATRIX_NAME, (elem_t *)WEIGHT_MATRIX_NAME, (acc_t *)BIAS_MATRIX_NAME, \\\n"
           "                  out, ACTIVATION, scale, pool_size, pool_stride, pool_pad, WS)\n"
           "void solution(int8_t in[N][INP_ROWS][INP_COLS][C], int8_t weights[R][S][C][K],%s void *out) {\n"
           "  CALL(%s);\n  fence();\n}\n",
           define, bias ? " int32_t bias[1][K]," : "", arguments);
  source_is_right("gemmini-16x16-int8", text, source);
}

static const struct {
  const char *sizes, *more;
  bool bias;
  const char *arguments; /* pad, scale, pool size, stride, pad */
} convolutions[] = {
    {"n=1 h=8 w=8 c=16 k=16 r=3 s=3", "", false, "0, 1, 0, 0, 0"},
    {"n=2 h=14 w=14 c=40 k=70 r=3 s=3", "pad=1 relu=1 scale=0.4", true, "1, 0.4, 0, 0, 0"}, /* no multiples of 16 */
    {"n=4 h=28 w=28 c=96 k=160 r=3 s=3", "pad=1", true, "1, 1, 0, 0, 0"},                   /* many tiles */
    {"n=1 h=7 w=7 c=700 k=16 r=3 s=3", "pad=1", false, "1, 1, 0, 0, 0"},                    /* sums of several tiles */
    {"n=1 h=40 w=40 c=3 k=64 r=7 s=7 stride=2", "pad=3 relu=1 scale=0.1 pool=3 pool_stride=2 pool_pad=1", true,
     "3, 0.1, 3, 2, 1"},
    {"n=1 h=28 w=28 c=128 k=64 r=1 s=1 stride=2", "", true,
     "0, 1, 0, 0, 0"}, /* every second row and column is loaded */
    {"n=1 h=35 w=35 c=8 k=32 r=11 s=11 stride=4", "pad=2", false, "2, 1, 0, 0, 0"},
    {"n=1 h=16 w=16 c=16 k=24 r=1 s=1", "pool=2 pool_stride=2", true, "0, 1, 2, 2, 0"},
};

static void convolutions_of_the_library_are_right(void **state) {
  for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++)
    for (int software = 0; software < 2; software++)
      convolution_is_right(convolutions[i].sizes, convolutions[i].more, convolutions[i].bias, convolutions[i].arguments,
                           software ? "#define GEMMINI_SOFTWARE_LOOP" : "");
}

/* The hardware loop knows one size for both sides: single commands without being asked. */
static void images_that_are_not_square_are_right(void **state) {
  convolution_is_right("n=2 h=9 w=30 c=20 k=40 r=3 s=3", "pad=1", true, "1, 1, 0, 0, 0", "");
  convolution_is_right("n=1 h=30 w=9 c=8 k=16 r=3 s=3", "pad=1 relu=1 pool=2 pool_stride=2", false, "1, 1, 2, 2, 0",
                       "");
}

/* The sizes' names may be a kernel's own. */
static void kernels_may_use_the_names_of_sizes(void **state) {
  source_is_right("gemmini-16x16-int8", "conv2d n=1 h=1 w=4 c=2 k=3 r=1 s=1",
                  "void test(int8_t N[1][1][4][2], int8_t K[1][1][2][3], int8_t C[1][1][4][3]) {\n"
                  "  for (int P = 0; P < Q; P++) for (int S = 0; S < 3; S++) {\n"
                  "    int R = N[0][0][P][0] * K[0][0][0][S] + N[0][0][P][1] * K[0][0][1][S];\n"
                  "    C[0][0][P][S] = R > 127 ? 127 : R < -128 ? -128 : R;\n  }\n}\n");
}

/* Completions of a loop's last commands come while other commands pass the loop by; both loops in turn. */
static void loops_and_single_commands_may_mix(void **state) {
  source_is_right(
      "gemmini-16x16-int8", "gemm m=64 n=64 k=64",
      "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n"
      "  for (int i = 0; i < 8; i++) {\n"
      "    tiled_conv_auto(1, 8, 8, 64, 64, 8, 8, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, A[0], B[0], NULL, C[0], 0, 1,\n"
      "                    0, 0, 0, WS);\n"
      "    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);\n"
      "    for (int id = 0; id < 3; id++) config_ld(64, 1, 16, id);\n"
      "    gemmini_loop_ws(4, 4, 4, 0, 0, 0, A, B, NULL, C, 64, 64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0);\n"
      "    for (int j = 0; j < 20; j++) mvin(A[0], 8192 - 16, 64, 16);\n"
      "  }\n  fence();\n}\n");
}

/* B is loaded once, into the second half; the second loop finds it there, and loads its A, while the first computes,
 * beside it (into the first half it would come too early: the loops know nothing of each other's rows). */
static void hardware_loops_name_their_halves(void **state) {
  source_is_right(
      "gemmini-16x16-int8", "gemm m=128 n=64 k=64",
      "void test(int8_t A[128][64], int8_t B[64][64], int8_t C[128][64]) {\n"
      "  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);\n"
      "  for (int id = 0; id < 3; id++) config_ld(64, 1, 16, id);\n"
      "  config_st(64);\n"
      "  gemmini_loop_ws(4, 4, 4, 0, 0, 0, A, B, NULL, C, 64, 64, 0, 64, 0, 0, 0, 0, 0, 0, 1, 2, 0);\n"
      "  gemmini_loop_ws(4, 4, 4, 0, 0, 0, A[64], NULL, NULL, C[64], 64, 64, 0, 64, 0, 0, 0, 0, 0, 0, 2, 2, 0);\n"
      "  fence();\n}\n");
}

/* ---- libc ------------------------------------------------------------------------------------------------- */

static uint64_t accept(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                       rv64_answer *answer, char why[256]) {
  (void)context, (void)instruction, (void)rs1, (void)rs2, (void)answer, (void)why;
  return cycle;
}

/* What the body prints. */
static void prints(const char *body, const char *expected) {
  char source[4000], *elf = NULL;
  size_t size;
  rv64_memory memory;
  rv64_result result;
  tw_error error = {0};
  gm_config config = gemmini_config("gemmini-16x16-int8");
  tw_problem p = gemm_problem("m=16 n=16 k=16");
  const rv64_ports ports = {.command = accept};
  const rv64_options options = {.max_cycles = 10000000};
  snprintf(source, sizeof source,
           "#include <string.h>\n#include <assert.h>\nint zero; char big[100];\n"
           "void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {\n%s\n}\n",
           body);
  must(gm_build(&config, &p, source, strlen(source), false, &elf, &size, &error), &error);
  must(rv64_memory_load(elf, size, "program", &memory, &error), &error);
  must(rv64_run(&memory, &ports, &options, &result, &error), &error);
  if (strcmp(result.console, expected) != 0)
    fail_msg("printed '%s' and not '%s' (%s)", result.console, expected, result.why);
  rv64_memory_free(&memory);
  free(elf);
}

static void printf_formats_as_c_says(void **state) {
  prints("printf(\"%d|%5d|%-5d|%05d|%+d|%i\", 42, 42, 42, -42, 42, zero);", "42|   42|42   |-0042|+42|0");
  prints("printf(\"%u|%x|%X|%#x|%08x\", 4000000000u, 255, 255, 255, 0xabc);", "4000000000|ff|FF|0xff|00000abc");
  prints("printf(\"%ld|%lu|%lx|%zu|%hhd|%hd\", -1234567890123l, ~0ul, 1ul << 40, sizeof(int), 300, 70000);",
         "-1234567890123|18446744073709551615|10000000000|4|44|4464");
  prints("printf(\"%s|%8s|%-8s|%.2s|%c|%%|%p\", \"text\", \"right\", \"left\", \"cut\", 'x', (void *)0x1234);",
         "text|   right|left    |cu|x|%|0x1234");
  prints("printf(\"%f|%.2f|%8.1f|%.0f|%g\", 3.25, -0.005 - zero, 2.25 + zero, 2.5 + zero, 1.5);",
         "3.250000|-0.01|     2.3|3|1.500000");
  prints("printf(\"%*d|%-*d|%.*f|%.3d\", 4, 7, 4, 7, 1, 2.0, 5); puts(\"\"); putchar('!');", "   7|7   |2.0|005\n!");
  prints("char t[6]; int n = snprintf(t, sizeof t, \"%d-%s\", 12, \"long\"); printf(\"%s %d\", t, n);", "12-lo 7");
}

static void memory_and_text_functions_work(void **state) {
  prints("memset(big, 7, 99); memcpy(big + 3, \"abcdefghijklmnop\", 16); memmove(big + 4, big + 3, 16);\n"
         "printf(\"%d %d %.17s %d %d\", big[2], big[98], big + 3, memcmp(big, big, 100), big[99]);",
         "7 7 aabcdefghijklmnop 0 0");
  prints("strcpy(big, \"kernel\"); printf(\"%zu %d %d %d\", strlen(big + zero), strcmp(big, \"kernel\"), strcmp(big, "
         "\"kernal\") > 0,"
         " strncmp(big, \"kerosene\", 3));",
         "6 0 1 0");
  prints("printf(\"%d %ld %d\", abs(zero - 5), labs(zero - 6l), (int)sqrt(2025.0 + zero));", "5 6 45");
  prints("printf(\"%d %d %d %d\", (int)floor(zero - 1.5), (int)ceil(zero + 1.2), (int)round(zero + 2.5), "
         "(int)rint(zero + 2.5));",
         "-2 2 3 2");
  prints("srand(3); int a = rand(); srand(3); printf(\"%d %d\", a == rand(), a >= 0);", "1 1");
}

static void assertions_and_exits_end_the_run(void **state) {
  prints("assert(zero == 0); assert(zero == 1); puts(\"not here\");", "kernel.c:5: assertion failed: zero == 1\n");
  prints("puts(\"before\"); exit(3); puts(\"not here\");", "before\n");
  prints("tiled_matmul(16, 16, 16, (elem_t *)A, (elem_t *)B, NULL, C, 16, 16, 16, 16, 1, 1, 1, 0, 1, 0, false, 100, 1, "
         "1, false,"
         " false, false, false, 0, WS);",
         "tiled_matmul: tile_I is larger than the matrix\n");
  prints(
      "tiled_conv_auto(1, 4, 4, 1, 1, 4, 4, 1, 1, 1, 0, 1, true, false, false, false, false, A[0], B[0], NULL, C[0], 0,"
      " 1, 0, 0, 0, WS);",
      "tiled_conv: rotated and transposed operands are not available here\n");
  prints(
      "tiled_conv_auto(1, 4, 4, 1, 1, 4, 4, 1, 1, 2, 0, 1, false, false, false, false, false, A[0], B[0], NULL, C[0],"
      " 0, 1, 0, 0, 0, WS);",
      "tiled_conv: dilation is not available here\n");
  prints("tiled_conv(1, 4, 4, 1, 1, 4, 4, 1, 1, 1, 0, 1, false, false, false, false, false, 1, 4, 4, 1, 1, 1, 0, A[0],"
         " B[0], NULL, C[0], 0, 1, 0, 0, 0, WS);",
         "tiled_conv: tile sizes must be positive\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hardware_loop_of_the_library_is_right), cmocka_unit_test(software_loop_of_the_library_is_right),
      cmocka_unit_test(output_stationary_library_is_right),    cmocka_unit_test(library_is_right_in_floating_point),
      cmocka_unit_test(convolutions_of_the_library_are_right), cmocka_unit_test(images_that_are_not_square_are_right),
      cmocka_unit_test(kernels_may_use_the_names_of_sizes),    cmocka_unit_test(loops_and_single_commands_may_mix),
      cmocka_unit_test(hardware_loops_name_their_halves),      cmocka_unit_test(printf_formats_as_c_says),
      cmocka_unit_test(memory_and_text_functions_work),        cmocka_unit_test(assertions_and_exits_end_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
