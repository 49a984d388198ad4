/* harness.c - see harness.h.
 *
 * The candidate is a separate translation unit: the runtime's headers, the problem's macros, its source. The harness
 * is another (runtime/start.S), compiled without it, which calls kernel_entry__ with the operands' addresses as
 * arguments, between the timing marks. Everything that the source defines or writes in assembly is in its own
 * object. object.h lists the allowed content, and the machine accepts marks only from the harness's section. A
 * kernel may call __harness_stop, which waits for all commands and ends the measurement.
 *
 * Timing follows the yardstick (tests/data/gemmini/README.md): gemmini_flush(0), fence, start, the kernel, fence,
 * stop. There the kernel's body was pasted into the caller, with global arrays for its parameters. The same is done
 * here where it is possible: a macro turns
 *
 *     void test(int8_t A[64][64], ...) {       into       void gm_signature_(int8_t A[64][64], ...);
 *       body                                              void kernel_entry__(void) { body }
 *     }
 *
 * and the operands are declared by the parameters' names. Elsewhere (a parameter that is a pointer, a kernel that calls
 * itself, returns early, or is not the last in the file) kernel_entry__ is the function itself. The call and the saved
 * registers are part of the time: some 20 instructions.
 *
 * Caches are cold, as in the yardstick. For ops whose inputs the core has just made (tw_op.inputs_cached) the core
 * reads all inputs first: they are in its cache and in the L2, as after the public harness of TinyMPC
 * (ucb-bar/autocomp, harnesses/admm-multifunction and autocomp/backend/gemmini: the core writes the inputs, the
 * accelerator reads them for the reference result; gemmini_flush(0), fence, and the first run of the code is timed).
 * Code and outputs are cold in the cache. */
#include "target/gemmini/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "op/conv2d.h"
#include "op/operand.h"

enum { ARGUMENTS = 8 }; /* arguments that start.S takes from its table */

static tw_status finish(tw_text *t, char **text, tw_error *error) {
  *text = tw_text_take(t);
  return *text ? TW_OK : tw_no_memory(error, NULL);
}

/* ---- gemmini_params.h ------------------------------------------------------------------------------------- */

/* Tiles that one command can move: 64 bytes of a row (GemminiConfigs.scala, generateHeader), at least one. */
static int block_length(const gm_config *c, int element_bytes) {
  int tiles = c->dma_max_bytes / (c->dim * element_bytes);
  return tiles > 0 ? tiles : 1;
}

static void add_integer_types(tw_text *t) {
  tw_text_add_string(t, "typedef int8_t elem_t;\nstatic const elem_t elem_t_max = 127, elem_t_min = -128;\n"
                        "typedef int32_t acc_t;\ntypedef int64_t full_t;\n");
}

/* Elements of 16 bits have integer types, as in the generator's header. */
static void add_float_types(tw_text *t, tw_type input) {
  const bool half = input != TW_F32;
  const char *most = input == TW_F16 ? "65504.0f" : input == TW_BF16 ? "3.3895314e38f" : "3.4028235e38f";
  tw_text_add(t, "#define ELEM_T_IS_FLOAT\n%s#define ELEM_T_EXP_BITS %d\n#define ELEM_T_SIG_BITS %d\n",
              half ? "#define ELEM_T_IS_LOWPREC_FLOAT\n" : "", input == TW_F16 ? 5 : 8,
              input == TW_F16    ? 11
              : input == TW_BF16 ? 8
                                 : 24);
  tw_text_add(
      t, "typedef %s elem_t;\nstatic const float elem_t_max = %s, elem_t_min = -%s;\ntypedef uint%d_t elem_t_bits;\n",
      half ? "uint16_t" : "float", most, most, half ? 16 : 32);
  tw_text_add_string(t, "#define ACC_T_EXP_BITS 8\n#define ACC_T_SIG_BITS 24\n"
                        "typedef float acc_t;\ntypedef uint32_t acc_t_bits;\ntypedef double full_t;\n");
}

tw_status gm_harness_params(const gm_config *c, char **text, tw_error *error) {
  tw_text t = {0};
  const bool real = c->acc_type == TW_F32;
  tw_text_add(&t,
              "/* gemmini_params.h - %s. Made by tilewright from its configuration. */\n"
              "#ifndef GEMMINI_PARAMS_H\n#define GEMMINI_PARAMS_H\n\n#include <limits.h>\n#include <stdint.h>\n\n",
              c->name);
  tw_text_add(&t, "#define XCUSTOM_ACC 3\n#define ADDR_LEN 32\n#define DIM %d\n", c->dim);
  tw_text_add(&t, "#define BANK_NUM %d\n#define BANK_ROWS %d\n#define ACC_ROWS %d\n", c->spad_banks,
              gm_spad_bank_rows(c), gm_acc_rows(c));
  tw_text_add(&t, "#define MAX_BYTES %d\n#define MAX_BLOCK_LEN %d\n#define MAX_BLOCK_LEN_ACC %d\n\n", c->dma_max_bytes,
              block_length(c, gm_input_bytes(c)), block_length(c, gm_acc_bytes(c)));
  if (real)
    add_float_types(&t, c->input_type);
  else
    add_integer_types(&t);
  if (c->has_mvin_scale)
    tw_text_add_string(&t, "\n#define HAS_MVIN_SCALE\ntypedef float scale_t;\ntypedef uint32_t scale_t_bits;\n");
  else /* as the generator's header: the identity is 0, and its bits are ignored */
    tw_text_add_string(&t, "\ntypedef int32_t scale_t;\ntypedef uint32_t scale_t_bits;\n");
  if (c->mvin_scales_acc)
    tw_text_add_string(&t,
                       "#define HAS_MVIN_ACC_SCALE\ntypedef float scale_acc_t;\ntypedef uint32_t scale_acc_t_bits;\n");
  else
    tw_text_add_string(&t, "typedef int32_t scale_acc_t;\ntypedef uint32_t scale_acc_t_bits;\n");
  tw_text_add_string(&t, "#define ACC_SCALE_T_IS_FLOAT\n#define ACC_SCALE_EXP_BITS 8\n#define ACC_SCALE_SIG_BITS 24\n"
                         "typedef float acc_scale_t;\ntypedef uint32_t acc_scale_t_bits;\n"
                         "#define ACC_SCALE_IDENTITY 1.0\n");
  tw_text_add(&t, "#define MVIN_SCALE_IDENTITY %s\n", c->has_mvin_scale ? "1.0" : "0");
  if (c->acc_read_small_width) tw_text_add_string(&t, "#define ACC_READ_SMALL_WIDTH\n");
  tw_text_add(&t, "%s\n", real && c->acc_read_full_width ? "#define ACC_READ_FULL_WIDTH" : "");
  tw_text_add_string(
      &t, "#define row_align(blocks) __attribute__((aligned((blocks) * DIM * sizeof(elem_t))))\n"
          "#define row_align_acc(blocks) __attribute__((aligned((blocks) * DIM * sizeof(acc_t))))\n\n#endif\n");
  return finish(&t, text, error);
}

/* ---- The program ------------------------------------------------------------------------------------------ */

/* Names that the harnesses of the public problems define (ucb-bar/autocomp, harnesses/), for kernels that use them. */
static void add_gemm_macros(tw_text *t, const tw_problem *p) {
  bool bias_row = tw_problem_int(p, "bias") == 1, bias = tw_problem_int(p, "bias") != 0;
  bool a_transposed = tw_problem_int(p, "a_transposed"), b_transposed = tw_problem_int(p, "b_transposed");
  tw_text_add(t, "#define MAT_DIM_I %" PRId64 "\n#define MAT_DIM_J %" PRId64 "\n#define MAT_DIM_K %" PRId64 "\n",
              tw_problem_int(p, "m"), tw_problem_int(p, "n"), tw_problem_int(p, "k"));
  tw_text_add(t, "#define A_TRANSPOSE %d\n#define B_TRANSPOSE %d\n", a_transposed, b_transposed);
  tw_text_add(t, "#define A_ROWS %s\n#define A_COLS %s\n", a_transposed ? "MAT_DIM_K" : "MAT_DIM_I",
              a_transposed ? "MAT_DIM_I" : "MAT_DIM_K");
  tw_text_add(t, "#define B_ROWS %s\n#define B_COLS %s\n", b_transposed ? "MAT_DIM_J" : "MAT_DIM_K",
              b_transposed ? "MAT_DIM_K" : "MAT_DIM_J");
  tw_text_add(t, "#define NO_BIAS %d\n#define REPEATING_BIAS %d\n#define SUB_BIAS 0\n#define ACTIVATION %s\n", !bias,
              bias_row, tw_problem_int(p, "relu") ? "RELU" : "NO_ACTIVATION");
}

static bool is_parameter(const gm_entry *e, const char *name) {
  for (size_t i = 0; i < e->n_parameters; i++)
    if (!strcmp(e->parameter[i], name)) return true;
  return false;
}

/* The sizes have names of one letter: constants, not macros, so that a kernel may use the same letters for its own. */
static void add_conv2d_macros(tw_text *t, const tw_problem *p, const gm_entry *e) {
  const tw_conv2d v = tw_conv2d_of(p);
  const struct {
    const char *name;
    int64_t value;
  } size[] = {{"N", v.n}, {"INP_ROWS", v.h}, {"INP_COLS", v.w}, {"C", v.c}, {"K", v.k},
              {"P", v.p}, {"Q", v.q},        {"R", v.r},        {"S", v.s}, {"STRIDE", v.stride}};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    if (!is_parameter(e, size[i].name)) tw_text_add(t, "enum { %s = %" PRId64 " };\n", size[i].name, size[i].value);
  tw_text_add(t, "#define INP_MATRIX_NAME %s\n#define WEIGHT_MATRIX_NAME %s\n#define BIAS_MATRIX_NAME %s\n",
              e->parameter[0], e->parameter[1], v.bias ? e->parameter[2] : "NULL");
  tw_text_add(t, "#define NO_BIAS %d\n#define ACTIVATION %s\n", !v.bias, v.relu ? "RELU" : "NO_ACTIVATION");
}

/* Element-wise work on the core, between the operators of a chain. */
static void add_mpc_macros(tw_text *t, const tw_problem *p) {
  tw_text_add(t, "#define NHORIZON %" PRId64 "\n#define NSTATES %" PRId64 "\n#define NINPUTS %" PRId64 "\n",
              tw_problem_int(p, "horizon"), tw_problem_int(p, "states"), tw_problem_int(p, "inputs"));
  tw_text_add_string(t, "static inline void negate_matrix(elem_t *from, elem_t *to, int rows, int columns) {\n"
                        "  for (int i = 0; i < rows * columns; i++) to[i] = -from[i];\n}\n"
                        "static inline void add_matrix(elem_t *a, elem_t *b, elem_t *to, int rows, int columns) {\n"
                        "  for (int i = 0; i < rows * columns; i++) to[i] = a[i] + b[i];\n}\n");
}

static void add_problem_macros(tw_text *t, const tw_problem *p, const gm_entry *e) {
  if (!strcmp(p->op->name, "gemm")) add_gemm_macros(t, p);
  if (!strcmp(p->op->name, "conv2d")) add_conv2d_macros(t, p, e);
  if (!strncmp(p->op->name, "mpc_", 4)) add_mpc_macros(t, p);
}

/* The operands by the names that kernels may use for them. A pasted kernel finds the arrays by its parameters'
 * names. */
static tw_status add_arrays(tw_text *t, const tw_operand *operand, size_t n, const gm_entry *e, tw_error *error) {
  for (size_t i = 0; i < n; i++) {
    const tw_operand *o = &operand[i];
    if (!gm_c_type(o->type))
      return tw_fail(error, TW_USAGE, "%s has type %s, which programs for Gemmini cannot declare", o->name,
                     tw_type_name(o->type));
    tw_text_add(t, "extern %s %s%s", gm_c_type(o->type), e->pasted ? "" : "gm_operand_",
                e->pasted ? e->parameter[i] : o->name);
    for (int d = 0; d + 1 < o->rank; d++) tw_text_add(t, "[%" PRId64 "]", o->dims[d]);
    tw_text_add(t, "[%" PRId64 "] __asm__(\"gm_operand_%zu\");\n#define %s_MATRIX_NAME %s\n", tw_operand_pitch(o), i,
                o->name, e->parameter[i]);
    if (o->is_output && !o->given_bytes) tw_text_add(t, "#define OUTPUT_MATRIX_NAME %s\n", e->parameter[i]);
  }
  return TW_OK;
}

static tw_status check_entry(const tw_problem *p, const tw_operand *operand, size_t n, const gm_entry *e,
                             tw_error *error) {
  if (n != e->n_parameters) {
    char names[256] = "";
    for (size_t i = 0; i < n; i++)
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", operand[i].name);
    return tw_fail(error, TW_FAILED,
                   "kernel.c:%d: error: %s has %zu parameters; expected one for each of the %zu operands %s", e->line,
                   e->name, e->n_parameters, n, names);
  }
  if (n > ARGUMENTS)
    return tw_fail(error, TW_USAGE, "programs for Gemmini take at most %d arrays, and %s has %zu", ARGUMENTS,
                   p->op->name, n);
  for (size_t i = 0; i < n; i++)
    if (!e->parameter[i][0])
      return tw_fail(error, TW_FAILED, "kernel.c:%d: error: parameter %zu of %s has no name", e->line, i + 1, e->name);
  return TW_OK;
}

tw_status gm_harness_declarations(tw_text *t, const tw_problem *p, const gm_entry *e, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  const size_t n = p->op->operands(p, operand);
  const tw_status status = check_entry(p, operand, n, e, error);
  if (status != TW_OK) return status;
  add_problem_macros(t, p, e);
  return add_arrays(t, operand, n, e, error);
}

static void add_source(tw_text *t, const char *source, size_t length) {
  tw_text_add_string(t, "#line 1 \"kernel.c\"\n");
  tw_text_add_bytes(t, source, length);
}

/* The text around a pasted body. On the simulated machine a run ends in __harness_stop. The code after it is for a
 * real machine: it prints the counters and a checksum of the outputs. It is emitted in both cases, because it
 * changes the code before it: values that are needed after the kernel occupy registers, as in the yardstick's own
 * harness (docs/explain/compilers.md). */
static void add_surroundings(tw_text *t, const tw_operand *operand, const gm_entry *e) {
  tw_text_add_string(t, "#define GM_READ_(counter, to) __asm__ volatile(\"rd\" counter \" %0\" : \"=r\"(to))\n"
                        "#define GM_HEAD_ uint64_t gm_cycles_, gm_instructions_; GM_READ_(\"cycle\", gm_cycles_); "
                        "GM_READ_(\"instret\", gm_instructions_); __asm__ volatile(\"\" : : : \"memory\");\n"
                        "#define GM_TAIL_ "
                        "__asm__ volatile(\"call __harness_stop\" : : : \"ra\", \"memory\"); { "
                        "uint64_t c_, i_, checksum_ = 0; GM_READ_(\"cycle\", c_); GM_READ_(\"instret\", i_); "
                        "printf(\"cycles %lu\\n\", c_ - gm_cycles_); "
                        "printf(\"instructions %lu\\n\", i_ - gm_instructions_);");
  for (size_t i = 0; i < e->n_parameters; i++)
    if (operand[i].is_output)
      tw_text_add(t,
                  " for (unsigned long w_ = 0; w_ < sizeof %s / 8; w_++) checksum_ = checksum_ * 31 + "
                  "((uint64_t *)%s)[w_];",
                  e->parameter[i], e->parameter[i]);
  tw_text_add_string(t, " printf(\"checksum %lx\\n\", checksum_); }\n");
}

static void add_pasted(tw_text *t, const char *source, size_t length, const tw_operand *operand, const gm_entry *e) {
  add_surroundings(t, operand, e);
  tw_text_add(t, "#define %s(...) gm_signature_(__VA_ARGS__); void kernel_entry__(void) { GM_HEAD_\n", e->name);
  add_source(t, source, length);
  tw_text_add_string(t, "\nGM_TAIL_ }\n");
  /* If the parameters' types do not fit the arrays, the error is at the definition. */
  tw_text_add(t, "#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"\n#line %d \"kernel.c\"\n", e->line);
  tw_text_add_string(t, "static inline void gm_check_(void) { gm_signature_(");
  for (size_t i = 0; i < e->n_parameters; i++) tw_text_add(t, "%s%s", i ? ", " : "", e->parameter[i]);
  tw_text_add_string(t, "); }\n");
}

static void add_called(tw_text *t, const char *source, size_t length, const gm_entry *e) {
  add_source(t, source, length);
  tw_text_add(t,
              "\n#line %d \"kernel.c\"\n"
              "extern __typeof__(%s) kernel_entry__ __attribute__((__alias__(\"%s\")));\n",
              e->line, e->name, e->name);
}

tw_status gm_harness_program(const tw_problem *p, const char *source, size_t length, const gm_entry *e, char **text,
                             tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  p->op->operands(p, operand);

  tw_text t = {0};
  if (e->software_loop) tw_text_add_string(&t, "#define GEMMINI_SOFTWARE_LOOP\n");
  tw_text_add_string(&t, "#line 1 \"harness.c\"\n#include \"gemmini_testutils.h\"\n");
  tw_status status = gm_harness_declarations(&t, p, e, error);
  if (status != TW_OK) {
    tw_text_free(&t);
    return status;
  }
  if (e->pasted)
    add_pasted(&t, source, length, operand, e);
  else
    add_called(&t, source, length, e);
  return finish(&t, text, error);
}

/* ---- The linker script ------------------------------------------------------------------------------------ */

/* The linker script places operands as symbols gm_operand_N; they are in no section of an object. */
static void add_operand(tw_text *t, const tw_operand *o, size_t i) {
  tw_text_add(t, "  .operand.%s%s (NOLOAD) : ALIGN(%d) { gm_operand_%zu = .; . += %zu; }\n", o->is_output ? "out." : "",
              o->name, i == 0 ? 4096 : 64, i, o->bytes);
}

/* start.S reads a word of each cache line between two addresses, after the core has written the data. */
static void add_table(tw_text *t, const tw_problem *p, const tw_operand *operand, size_t n) {
  tw_text_add_string(t, "  .harness.table : ALIGN(64) {\n    __harness_table = .;\n   ");
  for (size_t i = 0; i < ARGUMENTS; i++) {
    if (i < n)
      tw_text_add(t, " QUAD(gm_operand_%zu)", i);
    else
      tw_text_add_string(t, " QUAD(0)");
  }
  tw_text_add_string(t, "\n");
  for (size_t i = 0; p->op->inputs_cached && i < n; i++) {
    const tw_operand *o = &operand[i];
    const size_t from = o->is_output ? o->given_at : 0, bytes = o->is_output ? o->given_bytes : o->bytes;
    if (bytes)
      tw_text_add(t, "    QUAD(gm_operand_%zu + %zu) QUAD(gm_operand_%zu + %zu)\n", i, from / 64 * 64, i, from + bytes);
  }
  tw_text_add_string(t, "    QUAD(0) QUAD(0)\n  }\n");
}

/* Code and data have low addresses, operands high ones. The distance exceeds the range of relaxed addresses (gp +- 2
 * KiB), so the cost of the kernel's addresses does not depend on the size of its data. Operands come last, in the
 * order of the parameters, outputs after inputs. */
tw_status gm_harness_script(const tw_problem *p, char **text, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n = p->op->operands(p, operand);
  tw_text t = {0};
  tw_text_add_string(
      &t,
      "OUTPUT_ARCH(riscv)\nENTRY(_start)\nSECTIONS {\n  . = 0x80000000;\n"
      "  .harness : { KEEP(*(.harness)) }\n"
      "  . = ALIGN(64);\n  .text : { *(.text.startup .text.startup.*) *(.text .text.*) }\n"
      "  . = ALIGN(4096);\n  .rodata : { *(.rodata .rodata.*) }\n"
      "  . = ALIGN(4096);\n  .data : { *(.data .data.*) }\n"
      "  . = ALIGN(8);\n  __global_pointer$ = . + 0x800;\n"
      "  .sdata : { *(.srodata.cst16) *(.srodata.cst8) *(.srodata.cst4) *(.srodata .srodata.*) *(.sdata .sdata.*) }\n"
      "  .sbss (NOLOAD) : { *(.sbss .sbss.*) }\n"
      /* An input section goes to its first match, so operands come before the rest of .bss. */
      "  . = ALIGN(0x100000) + 0x100000;\n");
  for (int outputs = 0; outputs < 2; outputs++)
    for (size_t i = 0; i < n; i++)
      if (operand[i].is_output == (outputs == 1)) add_operand(&t, &operand[i], i);
  add_table(&t, p, operand, n);
  tw_text_add_string(&t, "  . = ALIGN(4096);\n  .bss (NOLOAD) : { *(.bss .bss.*) *(COMMON) }\n"
                         "  /DISCARD/ : { *(.comment) *(.note .note.*) *(.eh_frame) *(.riscv.attributes) }\n}\n");
  return finish(&t, text, error);
}
