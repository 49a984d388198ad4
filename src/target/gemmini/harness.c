/* harness.c - see harness.h.
 *
 * Timing follows the yardstick (tests/data/gemmini/README.md): gemmini_flush(0), fence, the counters are read, the
 * kernel's body runs, fence, the counters are read again. The body is compiled as a part of main, with the operands'
 * global arrays in place of its parameters: a macro turns
 *
 *     void test(int8_t A[64][64], ...) {       into       void gm_signature(int8_t A[64][64], ...);
 *       body                                              int main(void) { ...begin timing... {
 *     }                                                     body
 *                                                         } ...end timing... }
 *
 * and the arrays get the parameters' names. Where that cannot be done (a parameter that is a pointer, a
 * kernel that calls itself, returns early, or has something behind it in the file) main calls the function with
 * the arrays as arguments; the difference is a few instructions.
 *
 * Caches are cold, as in the yardstick. For ops whose inputs the core has just made (tw_op.inputs_cached) the core
 * reads all inputs first: they are in its cache and in the L2, as after the public harness of TinyMPC
 * (ucb-bar/autocomp, harnesses/admm-multifunction and autocomp/backend/gemmini: the core writes the inputs, the
 * accelerator reads them for the reference result; gemmini_flush(0), fence, and the first run of the code is timed). The
 * code is cold, and so is what a kernel writes.
 *
 * On the simulated machine a run ends at the second mark. What follows is for a real one: it prints the counters
 * and a checksum of the outputs. It stays in the program everywhere because it shapes the code before it: what main
 * still needs after the kernel takes registers from the kernel, as in the yardstick's own harness (docs/compiler.md).
 *
 * Sources are hostile: they may define macros for whatever they know of. So the names of the harness end in a tag
 * that depends on the source itself and cannot be in it, and kernel_source.c refuses to redefine keywords. */
#include "target/gemmini/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "op/conv2d.h"
#include "op/operand.h"

static tw_status finish(tw_text *t, char **text, tw_error *error) {
  *text = tw_text_take(t);
  return *text ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
}

static const char *c_type(tw_type type) {
  switch (type) {
  case TW_I8: return "int8_t";
  case TW_I32: return "int32_t";
  case TW_F32: return "float";
  default: return NULL;
  }
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

static void add_float_types(tw_text *t) {
  tw_text_add_string(
      t, "#define ELEM_T_IS_FLOAT\n#define ELEM_T_EXP_BITS 8\n#define ELEM_T_SIG_BITS 24\n"
         "#define ACC_T_EXP_BITS 8\n#define ACC_T_SIG_BITS 24\n"
         "typedef float elem_t;\nstatic const elem_t elem_t_max = 3.4028235e38f, elem_t_min = -3.4028235e38f;\n"
         "typedef uint32_t elem_t_bits;\ntypedef float acc_t;\ntypedef uint32_t acc_t_bits;\ntypedef double full_t;\n");
}

tw_status gm_harness_params(const gm_config *c, char **text, tw_error *error) {
  tw_text t = {0};
  bool real = c->input_type == TW_F32;
  if ((c->input_type != TW_I8 || c->acc_type != TW_I32) && (!real || c->acc_type != TW_F32))
    return tw_fail(error, TW_USAGE,
                   "%s: programs can be built for i8 with i32 and for f32 with f32, not for %s with %s", c->name,
                   tw_type_name(c->input_type), tw_type_name(c->acc_type));
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
    add_float_types(&t);
  else
    add_integer_types(&t);
  tw_text_add_string(&t, "\n#define HAS_MVIN_SCALE\ntypedef float scale_t;\ntypedef uint32_t scale_t_bits;\n");
  if (c->mvin_scales_acc)
    tw_text_add_string(&t,
                       "#define HAS_MVIN_ACC_SCALE\ntypedef float scale_acc_t;\ntypedef uint32_t scale_acc_t_bits;\n");
  else
    tw_text_add_string(&t, "typedef int32_t scale_acc_t;\ntypedef uint32_t scale_acc_t_bits;\n");
  tw_text_add_string(&t,
                     "#define ACC_SCALE_T_IS_FLOAT\n#define ACC_SCALE_EXP_BITS 8\n#define ACC_SCALE_SIG_BITS 24\n"
                     "typedef float acc_scale_t;\ntypedef uint32_t acc_scale_t_bits;\n"
                     "#define MVIN_SCALE_IDENTITY 1.0\n#define ACC_SCALE_IDENTITY 1.0\n#define ACC_READ_SMALL_WIDTH\n");
  tw_text_add(&t, "%s\n", real ? "#define ACC_READ_FULL_WIDTH" : "");
  tw_text_add_string(
      &t, "#define row_align(blocks) __attribute__((aligned((blocks) * DIM * sizeof(elem_t))))\n"
          "#define row_align_acc(blocks) __attribute__((aligned((blocks) * DIM * sizeof(acc_t))))\n\n#endif\n");
  return finish(&t, text, error);
}

/* ---- The program ------------------------------------------------------------------------------------------ */

/* What the harnesses of the public problems (ucb-bar/autocomp, harnesses/) define, for kernels that use it. */
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

/* A pasted kernel finds the arrays by its parameters' names; a called one has no use for their names. */
static void add_array_name(tw_text *t, const tw_operand *o, const gm_entry *e, size_t i, const char *tag) {
  if (e->pasted)
    tw_text_add_string(t, e->parameter[i]);
  else
    tw_text_add(t, "gm_%s_%s", o->name, tag);
}

/* The operands as arrays of their own sections: the first on a page, the others on cache lines, as in the yardstick. */
static tw_status add_arrays(tw_text *t, const tw_operand *operand, size_t n, const gm_entry *e, const char *tag,
                            tw_error *error) {
  for (size_t i = 0; i < n; i++) {
    const tw_operand *o = &operand[i];
    if (!c_type(o->type))
      return tw_fail(error, TW_USAGE, "%s has type %s, which programs for Gemmini cannot declare", o->name,
                     tw_type_name(o->type));
    tw_text_add(t, "%s ", c_type(o->type));
    add_array_name(t, o, e, i, tag);
    for (int d = 0; d + 1 < o->rank; d++) tw_text_add(t, "[%" PRId64 "]", o->dims[d]);
    tw_text_add(t, "[%" PRId64 "] __attribute__((section(\".bss.operand.%s\"), aligned(%d)));\n", tw_operand_pitch(o), o->name,
                i == 0 ? 4096 : 64);
    const char *parameter = e->pasted ? e->parameter[i] : o->name;
    tw_text_add(t, "#define %s_MATRIX_NAME %s\n", o->name, parameter);
    if (o->is_output && !o->given_bytes) tw_text_add(t, "#define OUTPUT_MATRIX_NAME %s\n", parameter);
  }
  return TW_OK;
}

/* Text with every '@' replaced by the tag. */
static void add_tagged(tw_text *t, const char *text, const char *tag) {
  for (const char *at; (at = strchr(text, '@')); text = at + 1) {
    tw_text_add_bytes(t, text, (size_t)(at - text));
    tw_text_add_string(t, tag);
  }
  tw_text_add_string(t, text);
}

/* Reads one word of each line of what is given at the start. A function of its own: the code of main is cold. */
static void add_reading_of_inputs(tw_text *t, const tw_operand *operand, const gm_entry *e, const char *tag) {
  add_tagged(t, "static __attribute__((noinline)) void gm_read_inputs_@(void) {\n", tag);
  for (size_t i = 0; i < e->n_parameters; i++) {
    const tw_operand *o = &operand[i];
    size_t from = o->is_output ? o->given_at : 0, bytes = o->is_output ? o->given_bytes : o->bytes;
    if (!bytes) continue;
    tw_text_add(t, "  for (unsigned long i = %zu; i < %zu; i += 64)\n", from / 64 * 64, from + bytes);
    tw_text_add_string(t, "    (void)*(volatile uint32_t *)((char *)");
    add_array_name(t, o, e, i, tag);
    tw_text_add_string(t, " + i);\n");
  }
  tw_text_add_string(t, "}\n");
}

/* What main is made of. The marks tell the compiler that memory changes, so that nothing of the kernel moves out
 * between them. */
static void add_parts_of_main(tw_text *t, const tw_problem *p, const tw_operand *operand, const gm_entry *e,
                              const char *tag) {
  if (p->op->inputs_cached) add_reading_of_inputs(t, operand, e, tag);
  add_tagged(t, p->op->inputs_cached ? "#define GM_READ_INPUTS gm_read_inputs_@();\n" : "#define GM_READ_INPUTS\n",
             tag);
  add_tagged(
      t,
      "typedef uint64_t gm_count_@;\n"
      "#define GM_PART static inline __attribute__((always_inline))\n"
      "GM_PART uint64_t gm_cycles_@(void) { uint64_t n; asm volatile(\"rdcycle %0\" : \"=r\"(n)); return n; }\n"
      "GM_PART uint64_t gm_instructions_@(void) { uint64_t n; asm volatile(\"rdinstret %0\" : \"=r\"(n)); return n; }\n"
      "GM_PART void gm_prepare_@(void) { GM_READ_INPUTS gemmini_flush(0); gemmini_fence(); }\n"
      "GM_PART void gm_begin_@(void) { asm volatile(\"csrw 0x8c0, x0 # @\" : : : \"memory\"); }\n"
      "GM_PART void gm_end_@(void) { gemmini_fence(); asm volatile(\"csrw 0x8c1, x0 # @\" : : : \"memory\"); }\n"
      "GM_PART void gm_report_@(uint64_t instructions, uint64_t cycles) {\n"
      "  uint64_t checksum = 0;\n"
      "  cycles = gm_cycles_@() - cycles, instructions = gm_instructions_@() - instructions;\n"
      "  printf(\"cycles %lu\\n\", cycles);\n"
      "  printf(\"instructions %lu\\n\", instructions);\n",
      tag);
  for (size_t i = 0; i < e->n_parameters; i++)
    if (operand[i].is_output) {
      tw_text_add_string(t, "  for (unsigned long i = 0; i < sizeof ");
      add_array_name(t, &operand[i], e, i, tag);
      tw_text_add_string(t, " / 8; i++) checksum = checksum * 31 + ((uint64_t *)");
      add_array_name(t, &operand[i], e, i, tag);
      tw_text_add_string(t, ")[i];\n");
    }
  tw_text_add_string(t, "  printf(\"checksum %lx\\n\", checksum);\n}\n#undef GM_PART\n#undef GM_READ_INPUTS\n");
}

#define MAIN_BEGINS                                                                                                    \
  "int main(void) { gm_prepare_@(); const gm_count_@ gm_i_@ = gm_instructions_@(), gm_c_@ = gm_cycles_@(); "           \
  "gm_begin_@(); "
#define MAIN_ENDS "gm_end_@(); gm_report_@(gm_i_@, gm_c_@); return 0; }\n"

static void add_source(tw_text *t, const char *source, size_t length) {
  tw_text_add_string(t, "#line 1 \"kernel.c\"\n");
  tw_text_add_bytes(t, source, length);
}

static void add_arguments(tw_text *t, const tw_operand *operand, const gm_entry *e, const char *tag, const char *cast) {
  for (size_t i = 0; i < e->n_parameters; i++) {
    tw_text_add(t, "%s%s", i ? ", " : "", cast);
    add_array_name(t, &operand[i], e, i, tag);
  }
}

static void add_pasted(tw_text *t, const char *source, size_t length, const tw_operand *operand, const gm_entry *e,
                       const char *tag) {
  tw_text_add(t, "#define %s(...) ", e->name);
  add_tagged(t, "gm_signature_@(__VA_ARGS__); " MAIN_BEGINS "\n", tag);
  add_source(t, source, length);
  add_tagged(t, "\n" MAIN_ENDS, tag);
  /* Do the parameters' types fit the arrays? If not, it shows at the definition. */
  tw_text_add(t, "#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"\n#line %d \"kernel.c\"\n", e->line);
  add_tagged(t, "static inline void gm_check_@(void) { gm_signature_@(", tag);
  add_arguments(t, operand, e, tag, "");
  tw_text_add_string(t, "); }\n");
}

/* main comes first: nothing in the source can change it. */
static void add_called(tw_text *t, const char *source, size_t length, const tw_operand *operand, const gm_entry *e,
                       const char *tag) {
  add_tagged(t,
             "static inline __attribute__((always_inline)) void gm_kernel_@(void);\n" MAIN_BEGINS
             "gm_kernel_@(); " MAIN_ENDS,
             tag);
  add_source(t, source, length);
  tw_text_add(t, "\n#line %d \"kernel.c\"\n", e->line);
  add_tagged(t, "static inline void gm_kernel_@(void) { ", tag);
  tw_text_add(t, "%s(", e->name);
  add_arguments(t, operand, e, tag, "(void *)");
  tw_text_add_string(t, "); }\n");
}

tw_status gm_harness_program(const tw_problem *p, const char *source, size_t length, const gm_entry *e, const char *tag,
                             char **text, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n = p->op->operands(p, operand);
  if (n != e->n_parameters) {
    char names[256] = "";
    for (size_t i = 0; i < n; i++)
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", operand[i].name);
    return tw_fail(error, TW_FAILED, "kernel.c:%d: error: %s has %zu parameters, but this problem has %zu operands: %s",
                   e->line, e->name, e->n_parameters, n, names);
  }
  for (size_t i = 0; i < n; i++)
    if (!e->parameter[i][0])
      return tw_fail(error, TW_FAILED, "kernel.c:%d: error: parameter %zu of %s has no name", e->line, i + 1, e->name);

  tw_text t = {0};
  if (e->software_loop) tw_text_add_string(&t, "#define GEMMINI_SOFTWARE_LOOP\n");
  tw_text_add_string(&t, "#line 1 \"harness.c\"\n#include \"gemmini_testutils.h\"\n");
  add_problem_macros(&t, p, e);
  tw_status status = add_arrays(&t, operand, n, e, tag, error);
  if (status != TW_OK) {
    tw_text_free(&t);
    return status;
  }
  add_parts_of_main(&t, p, operand, e, tag);
  if (e->pasted)
    add_pasted(&t, source, length, operand, e, tag);
  else
    add_called(&t, source, length, operand, e, tag);
  return finish(&t, text, error);
}

/* ---- The linker script ------------------------------------------------------------------------------------ */

/* Code and data low, operands high: between them is more than any relaxed address (gp +- 2 KiB) spans, so that what
 * the kernel's addresses cost does not depend on how much data the program has. Operands are the last, in the
 * order of the parameters, outputs behind the inputs. */
tw_status gm_harness_script(const tw_problem *p, char **text, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n = p->op->operands(p, operand);
  tw_text t = {0};
  tw_text_add_string(
      &t,
      "OUTPUT_ARCH(riscv)\nENTRY(_start)\nSECTIONS {\n  . = 0x80000000;\n"
      "  .text : { *(.text.start) *(.text.startup .text.startup.*) *(.text .text.*) }\n"
      "  . = ALIGN(4096);\n  .rodata : { *(.rodata .rodata.*) }\n"
      "  . = ALIGN(4096);\n  .data : { *(.data .data.*) }\n"
      "  . = ALIGN(8);\n  __global_pointer$ = . + 0x800;\n"
      "  .sdata : { *(.srodata.cst16) *(.srodata.cst8) *(.srodata.cst4) *(.srodata .srodata.*) *(.sdata .sdata.*) }\n"
      "  .sbss (NOLOAD) : { *(.sbss .sbss.*) }\n"
      /* Input sections go where they match first: the operands before the rest of .bss. */
      "  . = ALIGN(0x100000) + 0x100000;\n");
  for (int outputs = 0; outputs < 2; outputs++)
    for (size_t i = 0; i < n; i++)
      if (operand[i].is_output == (outputs == 1))
        tw_text_add(&t, "  .operand.%s%s (NOLOAD) : { KEEP(*(.bss.operand.%s)) }\n", outputs ? "out." : "",
                    operand[i].name, operand[i].name);
  tw_text_add_string(&t, "  . = ALIGN(4096);\n  .bss (NOLOAD) : { *(.bss .bss.*) *(COMMON) }\n"
                         "  /DISCARD/ : { *(.comment) *(.note .note.*) *(.eh_frame) *(.riscv.attributes) }\n}\n");
  return finish(&t, text, error);
}
