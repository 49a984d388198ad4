/* source.c - see source.h: what all kernels begin with, and one function for each distinct call of the cores. */
#include "target/xdna2/aie/source.h"

#include <stdlib.h>
#include <string.h>

#include "target/xdna2/aie/writer.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/plan.h"
#include "target/xdna2/array/symbol.h"

/* ---- the beginning ---- */

/* Names and meaning as in mlir-aie's aie_kernel_utils.h. */
static const char macros[] = "#if defined(__chess__)\n"
                             "#define AIE_PREPARE_FOR_PIPELINING [[chess::prepare_for_pipelining]]\n"
                             "#define AIE_LOOP_MIN_ITERATION_COUNT(n) [[chess::min_loop_count(n)]]\n"
                             "#define AIE_LOOP_UNROLL_FULL [[chess::unroll_loop()]]\n"
                             "#elif defined(__AIECC__)\n"
                             "#define AIE_PRAGMA(text) _Pragma(#text)\n"
                             "#define AIE_PREPARE_FOR_PIPELINING\n"
                             "#define AIE_LOOP_MIN_ITERATION_COUNT(n) AIE_PRAGMA(clang loop min_iteration_count(n))\n"
                             "#define AIE_LOOP_UNROLL_FULL AIE_PRAGMA(clang loop unroll(full))\n"
                             "#else\n"
                             "#define AIE_PREPARE_FOR_PIPELINING\n"
                             "#define AIE_LOOP_MIN_ITERATION_COUNT(n)\n"
                             "#define AIE_LOOP_UNROLL_FULL\n"
                             "#endif\n"
                             "#define ALWAYS_INLINE static inline __attribute__((always_inline))\n";

static const char bfp16[] =
    "\n/* bfp16: 64 values in 72 bytes. They pass through the load and store FIFOs, which block-vector streams are. "
    "*/\n"
    "using Blocks = aie::block_vector<bfp16ebs8, 64>;\n"
    "using In = aie::block_vector_input_buffer_stream<bfp16ebs8, 64>;\n"
    "using Out = aie::block_vector_output_buffer_stream<bfp16ebs8, 64>;\n"
    "using Sums = aie::accum<accfloat, 64>;\n\n"
    "ALWAYS_INLINE const bfp16ebs8 *blocks_at(const uint8_t *p) { return reinterpret_cast<const bfp16ebs8 *>(p); }\n"
    "ALWAYS_INLINE bfp16ebs8 *blocks_at(uint8_t *p) { return reinterpret_cast<bfp16ebs8 *>(p); }\n"
    "ALWAYS_INLINE Sums widened(const bfloat16 *p) { return Sums(aie::load_v<64>(p)); }\n";

static const char codes[] =
    "\n/* A field of each byte: masked, moved down by way of an accumulator, and `less` taken away. */\n"
    "template <unsigned mask, int shift, int less>\n"
    "ALWAYS_INLINE aie::vector<int8, 64> field(const aie::vector<uint8, 64> &codes) {\n"
    "  const aie::accum<acc32, 64> masked(aie::bit_and(aie::broadcast<uint8, 64>(mask), codes));\n"
    "  return aie::sub(masked.to_vector<int8>(shift), aie::broadcast<int8, 64>(less));\n"
    "}\n";

static void write_start(const xd_gemm *g, tw_text *t) {
  char *design = xd_plan_print(g);
  if (!design) t->failed = true;
  tw_text_add_string(t, "/* Kernels of a GEMM on XDNA2 (AIE2P), written by tilewright for this design:\n *\n");
  for (char *line = design, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    if (*line != '#') tw_text_add(t, " *   %s\n", line);
  }
  free(design);
  tw_text_add_string(
      t, " *\n * Tiles are rows of the multiplier's blocks, each block row-major; blocks of bfp16 lie in the order in "
         "which the\n"
         " * clusters below read them. It needs the AIE API's headers (C++20) and a compiler for aie2p. */\n");
  tw_text_add_string(t, "#include <stdint.h>\n\n#include <aie_api/aie.hpp>\n\n");
  tw_text_add_string(t, macros);
  if (g->kernel->b == TW_BFP16) tw_text_add_string(t, bfp16);
  if (g->kernel->b == TW_TERNARY) tw_text_add_string(t, codes);
}

void xd_write_rounding(const xd_call *c, tw_text *t) {
  tw_text_add(t, "  aie::set_rounding(aie::rounding_mode::%s);\n",
              c->rounding == TW_ROUND_FLOOR ? "floor" : "conv_even");
}

/* ---- functions ---- */

static const struct {
  const char *begins;
  void (*write)(const xd_call *, tw_text *);
} writers[] = {{"matmul_", xd_write_matmul},
               {"zero", xd_write_zero},
               {"narrow_", xd_write_narrow},
               {"round_", xd_write_round},
               {"unpack_", xd_write_unpack}};

static tw_status write_function(const xd_call *c, tw_text *t, tw_error *error) {
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
    if (strncmp(c->function->name, writers[i].begins, strlen(writers[i].begins)) != 0) continue;
    writers[i].write(c, t);
    return TW_OK;
  }
  return tw_fail(error, TW_FAILED, "function %s is not written in C++", c->function->name);
}

enum { FUNCTIONS_MAX = 32 };
typedef struct written {
  int n;
  xd_symbol symbol[FUNCTIONS_MAX];
} written;

static bool is_new(written *w, const xd_symbol *s) {
  if (!*s->text) return false;
  for (int i = 0; i < w->n; i++)
    if (!strcmp(w->symbol[i].text, s->text)) return false;
  if (w->n < FUNCTIONS_MAX) w->symbol[w->n++] = *s;
  return true;
}

tw_status xd_kernel_source(const xd_config *c, const xd_gemm *g, char **out, tw_error *error) {
  xd_program p;
  written w = {0};
  tw_text t = {0};
  tw_status status = xd_gemm_program(c, g, &p, error);
  if (status != TW_OK) return status;
  write_start(g, &t);
  for (size_t core = 0; core < p.cores.n; core++)
    for (size_t i = 0; i < p.cores.at[core].ops.n && status == TW_OK; i++) {
      const xd_op *op = &p.cores.at[core].ops.at[i];
      const xd_symbol symbol = op->kind == XD_CALL ? xd_symbol_of(&op->call) : (xd_symbol){""};
      if (is_new(&w, &symbol)) status = write_function(&op->call, &t, error);
    }
  xd_program_free(&p);
  *out = tw_text_take(&t);
  if (status == TW_OK && !*out) status = tw_fail(error, TW_MISSING, "out of memory for kernel.cc");
  if (status != TW_OK) free(*out);
  return status;
}
