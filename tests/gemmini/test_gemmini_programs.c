/* test_gemmini_programs.c - whole programs, with main(), on machines of the generator's parameter space.
 * data/gemmini/calls.c has the calls of the public tests, training.c the flags of the hardware convolution loop for training and for depthwise
 * convolutions; with GEMMINI_ROCC_TESTS, a checkout of
 * ucb-bar/gemmini-rocc-tests, its own programs run too. They need no submodule: data/rv64 starts them, and this
 * project's C library serves them. */
#include "test.h"

#include <stdio.h>

#include "configurations.h"
#include "rv64_program.h"
#include "target/gemmini/harness.h"
#include "target/gemmini/machine/machine.h"

#include <dirent.h>

#define RUNTIME TW_TEST_DATA "/../../src/target/gemmini/runtime"

static bool compiler_is_missing(void) {
  const char *const argv[] = {"riscv64-unknown-elf-gcc", "--version", NULL};
  const tw_process_options options = {.argv = argv};
  tw_process_result result = {0};
  const bool missing = tw_process_run(&options, &result, NULL) != TW_OK || result.exit_status;
  tw_process_result_free(&result);
  return missing;
}

static void must_run(const char *const *argv, const char *what) {
  const tw_process_options options = {.argv = argv};
  tw_process_result result;
  tw_error error;
  if (tw_process_run(&options, &result, &error)) fail_msg("%s", error.text);
  if (result.exit_status) fail_msg("%s does not compile:\n%.2000s", what, result.output);
  tw_process_result_free(&result);
}

/* A folder with what programs need beside their own text: start.o, libc.o and stand-ins for headers of submodules. */
typedef struct place {
  char *folder, *start, *libc, *params, *elf;
} place;

static void put(const place *p, const char *name, const char *text) {
  char *path = tw_path_join(p->folder, name);
  tw_error error;
  if (tw_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
  free(path);
}

static place new_place(void) {
  place p;
  tw_error error;
  assert_int_equal(tw_directory_temporary(&p.folder, &error), TW_OK);
  p.start = tw_path_join(p.folder, "start.o"), p.libc = tw_path_join(p.folder, "libc.o");
  p.params = tw_path_join(p.folder, "gemmini_params.h"), p.elf = tw_path_join(p.folder, "program.elf");
  char *source = tw_path_join(p.folder, "start.S"), *submodule = tw_path_join(p.folder, "rocc-software"),
       *deeper = tw_path_join(submodule, "src"), *include = tw_path_join(p.folder, "include");
  put(&p, "start.S",
      "  .section .text.start, \"ax\"\n  .globl _start\n_start:\n  .option push\n  .option norelax\n"
      "  la gp, __global_pointer$\n  .option pop\n  call main\n  .globl _exit\n_exit: csrw 0x8c3, a0\n1: j 1b\n"
      /* Printing takes longer than all that is in flight: public programs rely on it between a product and the
       * comparison. */
      "  .globl __wrap_printf\n__wrap_printf:\n  fence\n  tail __real_printf\n");
  assert_int_equal(tw_directory_make(submodule, &error), TW_OK);
  assert_int_equal(tw_directory_make(deeper, &error), TW_OK);
  assert_int_equal(tw_directory_make(include, &error), TW_OK);
  put(&p, "rocc-software/src/xcustom.h", "#include <rocc.h>\n");
  put(&p, "time.h", "");
  const char *const start[] = {
      "riscv64-unknown-elf-gcc", "-march=rv64gc", "-mabi=lp64d", "-c", source, "-o", p.start, NULL};
  const char *const libc[] = {"riscv64-unknown-elf-gcc",
                              "-O2",
                              "-march=rv64gc",
                              "-mabi=lp64d",
                              "-mcmodel=medany",
                              "-nostdinc",
                              "-fno-builtin",
                              "-isystem",
                              RUNTIME "/include",
                              "-c",
                              RUNTIME "/libc.c",
                              "-o",
                              p.libc,
                              NULL};
  must_run(start, "start.S");
  must_run(libc, "libc.c");
  free(source);
  free(submodule);
  free(deeper);
  free(include);
  return p;
}

static void remove_place(place *p) {
  tw_directory_remove(p->folder);
  free(p->folder);
  free(p->start);
  free(p->libc);
  free(p->params);
  free(p->elf);
}

/* Compiles the program into p->elf. `options` end with NULL. */
static void compile(const place *p, const char *source, const char *const *options) {
  const char *argv[64] = {
      "riscv64-unknown-elf-gcc",
      "-O2",
      "-fno-common",
      "-fno-builtin-printf",
      "-fno-tree-loop-distribute-patterns",
      "-march=rv64gc",
      "-mabi=lp64d",
      "-mcmodel=medany",
      "-std=gnu99",
      "-w",
      "-nostdinc",
      "-nostdlib",
      "-nostartfiles",
      "-Wl,--no-warn-rwx-segments,-z,muldefs,--wrap=printf", /* public programs bring a rand of their own */
      "-I",
      p->folder,
      "-T",
      RV64_DATA "/program.ld",
      "-o",
      p->elf};
  size_t n = 0;
  while (argv[n]) n++;
  for (; *options; options++) argv[n++] = *options;
  const char *const rest[] = {"-isystem", RUNTIME "/include", p->start, source, p->libc, "-lgcc", "-lgcc"};
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) argv[n++] = rest[i];
  must_run(argv, source);
}

/* Why the program in p->elf failed, and its last words; "" if it ended with 0. With `any_order` it may read stored data
 * before a fence. */
static void run(const place *p, const gm_config *c, bool any_order, char why[512]) {
  char *elf;
  size_t size;
  tw_error error;
  rv64_memory memory;
  rv64_result result;
  if (tw_file_read(p->elf, 1 << 28, &elf, &size, &error) || rv64_memory_load(elf, size, "program", &memory, &error))
    fail_msg("%s", error.text);
  gm_machine *machine = gm_machine_new(c, &memory, &error);
  assert_non_null(machine);
  gm_machine_limit(machine, 1000000000);
  if (any_order) gm_machine_allow_any_order(machine);
  const rv64_ports ports = gm_machine_ports(machine);
  const rv64_options options = {.max_cycles = 1000000000};
  if (rv64_run(&memory, &ports, &options, &result, &error)) fail_msg("%s", error.text);
  const size_t said = strlen(result.console);
  *why = '\0';
  if (result.stop != RV64_EXITED)
    snprintf(why, 512, "%.200s; console: %.200s", result.why, result.console + (said > 200 ? said - 200 : 0));
  gm_machine_free(machine);
  rv64_memory_free(&memory);
  free(elf);
}

static gm_config machine_of(const place *p, const configuration *k) {
  const gm_config c = config_of(k);
  char *params = NULL;
  tw_error error;
  assert_int_equal(gm_harness_params(&c, &params, &error), TW_OK);
  put(p, "gemmini_params.h", params);
  free(params);
  return c;
}

static void calls_are_right_on(const place *p, const configuration *k) {
  const gm_config c = machine_of(p, k);
  const char *options[8];
  char why[512];
  size_t n = 0;
  if (c.dataflow == GM_WEIGHT_STATIONARY_ONLY) options[n++] = "-DNO_OS";
  if (c.dataflow == GM_OUTPUT_STATIONARY_ONLY) options[n++] = "-DNO_WS";
  if (!c.has_relu) options[n++] = "-DNO_RELU";
  if (!c.has_loop_matmul) options[n++] = "-DNO_LOOPS";
  if (c.acc_read_full_width) options[n++] = "-DFULL_WIDTH";
  options[n] = NULL;
  compile(p, TW_TEST_DATA "/gemmini/calls.c", options);
  run(p, &c, false, why);
  if (*why) fail_msg("calls.c on %s: %s", k->name, why);
}

/* Six machines here, all of them with GEMMINI_ROCC_TESTS. */
static void own_programs_are_right(void **state) {
  static const char *const few[] = {"default", "2x2", "8x8-of-2x2-tiles", "fp32-chip", "bf16-8x8", "f16-16x16-ws"};
  size_t done = 0;
  if (compiler_is_missing()) skip();
  place p = new_place();
  for (size_t i = 0; i < CONFIGURATIONS; i++) {
    bool wanted = getenv("GEMMINI_ROCC_TESTS") != NULL;
    for (size_t j = 0; j < sizeof few / sizeof *few; j++) wanted |= !strcmp(configurations[i].name, few[j]);
    if (wanted) calls_are_right_on(&p, &configurations[i]), done++;
  }
  remove_place(&p);
  assert_true(done >= sizeof few / sizeof *few);
}

/* One machine here, with GEMMINI_ROCC_TESTS all that have the parts. */
static void convolutions_for_training_are_right(void **state) {
  size_t done = 0;
  if (compiler_is_missing()) skip();
  place p = new_place();
  for (size_t i = 0; i < CONFIGURATIONS; i++) {
    const configuration *k = &configurations[i];
    char why[512];
    const gm_config c = config_of(k);
    const bool able =
                   c.has_training_convs && c.has_dw_convs && c.has_loop_conv && c.dataflow != GM_OUTPUT_STATIONARY_ONLY,
               has_room = gm_acc_rows(&c) >= 40 * c.dim; /* a half of the accumulator holds the largest tile */
    if (strcmp(k->name, "fp32-training") != 0 && (!getenv("GEMMINI_ROCC_TESTS") || !able || !has_room)) continue;
    machine_of(&p, k);
    compile(&p, TW_TEST_DATA "/gemmini/training.c", (const char *const[]){NULL});
    run(&p, &c, false, why);
    if (*why) fail_msg("training.c on %s: %s", k->name, why);
    done++;
  }
  remove_place(&p);
  assert_true(done > 0);
}

/* Programs that take hours on a core, and one that calls a macro with arguments that its own header lacks. */
static bool is_left_out(const char *program) {
  static const char *const all[] = {"tiled_matmul_cpu.c", "tiled_matmul_option.c", "transpose_scale.c"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(program, all[i])) return true;
  return strstr(program, "_perf.") != NULL;
}

/* The line "#define NAME NUMBER" of a header with another number; frees `text`. */
static char *set_number(char *text, const char *name, int number) {
  char line[64];
  tw_text t = {0};
  snprintf(line, sizeof line, "#define %s ", name);
  const char *at = strstr(text, line);
  if (!at) fail_msg("the checkout's gemmini_params.h lacks %s", name);
  tw_text_add_bytes(&t, text, (size_t)(at - text));
  tw_text_add(&t, "%s%d%s", line, number, at + strcspn(at, "\n"));
  free(text);
  return tw_text_take(&t);
}

/* The checkout's own header for this machine comes before the one in the checkout. */
static void put_params(const place *p, const char *checkout, const gm_config *c) {
  char *path = tw_path_join(checkout, "include/gemmini_params.h"), *text = NULL;
  size_t size;
  tw_error error;
  if (tw_file_read(path, 1 << 20, &text, &size, &error)) fail_msg("%s", error.text);
  text = set_number(text, "DIM", c->dim);
  text = set_number(text, "BANK_NUM", c->spad_banks);
  text = set_number(text, "BANK_ROWS", gm_spad_bank_rows(c));
  text = set_number(text, "ACC_ROWS", gm_acc_rows(c));
  put(p, "include/gemmini_params.h", text);
  free(text);
  free(path);
}

/* Two limits of gemmini_counter.c depend on the time of loads. Blocks of the rectangular convolutions have no column where a packet of
 * the DMA is shorter than a row of the accumulator (MAX_BLOCK_LEN_ACC is 0). */
static bool is_excused(const gm_config *c, const char *program, const char *why) {
  if (!strcmp(program, "gemmini_counter.c")) return strstr(why, "too small") || strstr(why, "changed too little");
  return c->dma_max_bytes < c->dim * gm_acc_bytes(c) && strstr(why, "0 columns");
}

typedef struct counts {
  size_t right, early, lacking, excused, wrong; /* early: right, but reads a result before a fence */
} counts;

static void run_public_program(const place *p, const gm_config *c, const char *checkout, const char *name, counts *n) {
  char *folder = tw_path_join(checkout, "bareMetalC"), *source = tw_path_join(folder, name), why[512];
  const char *const options[] = {
      "-ffast-math", "-fno-builtin", "-DBAREMETAL=1", "-DID_STRING=", "-DPRINT_TILE=0", "-I", checkout, NULL};
  compile(p, source, options);
  run(p, c, false, why);
  const bool early = strstr(why, "before a fence");
  if (early) run(p, c, true, why);
  const bool lacks = strstr(why, "this machine is weight-stationary only"), excused = is_excused(c, name, why);
  if (*why && !lacks) print_message("%s: %s\n", name, why);
  if (!*why)
    n->right++, n->early += early;
  else
    n->lacking += lacks, n->excused += excused, n->wrong += !lacks && !excused;
  free(source);
  free(folder);
}

static void public_programs_are_right(void **state) {
  static const char *const machines[] = {"default", "8x8", "32x32-of-4x4-tiles-ws"};
  const char *checkout = getenv("GEMMINI_ROCC_TESTS");
  if (!checkout || compiler_is_missing()) skip();
  char *folder = tw_path_join(checkout, "bareMetalC");
  place p = new_place();
  for (size_t i = 0; i < CONFIGURATIONS; i++) {
    bool wanted = false;
    for (size_t j = 0; j < sizeof machines / sizeof *machines; j++)
      wanted |= !strcmp(machines[j], configurations[i].name);
    if (!wanted) continue;
    DIR *d = opendir(folder);
    if (!d) fail_msg("no %s", folder);
    const gm_config c = config_of(&configurations[i]);
    put_params(&p, checkout, &c);
    counts n = {0};
    for (struct dirent *e; (e = readdir(d));) {
      const size_t length = strlen(e->d_name);
      if (length > 2 && !strcmp(e->d_name + length - 2, ".c") && !is_left_out(e->d_name))
        run_public_program(&p, &c, checkout, e->d_name, &n);
    }
    closedir(d);
    print_message("%s: %zu programs are right, %zu of them read a result before a fence; %zu need the other dataflow\n",
                  configurations[i].name, n.right, n.early, n.lacking);
    assert_int_equal(n.wrong, 0);
    assert_true(n.excused <= 2 && n.right >= (c.dataflow == GM_BOTH_DATAFLOWS ? 40 : 30));
  }
  free(folder);
  remove_place(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_programs_are_right),
      cmocka_unit_test(convolutions_for_training_are_right),
      cmocka_unit_test(public_programs_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
