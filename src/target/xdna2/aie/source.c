/* source.c - see source.h: the common beginning of all kernels, and one function for each distinct call of the cores.
 * Their texts are in the folder kernels (base/template.h). */
#include "target/xdna2/aie/source.h"

#include <stdlib.h>
#include <string.h>

#include "target/xdna2/aie/writer.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/plan.h"
#include "target/xdna2/array/symbol.h"

/* ---- the beginning ---- */

static tw_status write_start(const xd_gemm *g, tw_text *t, tw_error *error) {
  char *design = xd_plan_print(g);
  tw_text lines = {.failed = !design};
  tw_slots s = {0};
  for (char *line = design, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    if (*line != '#') tw_text_add(&lines, " *   %s\n", line);
  }
  free(design);
  tw_slots_take(&s, "design", &lines);
  const bool emulated = g->kernel->b == TW_BF16 && xd_gemm_multiplies_blocks(g);
  tw_slots_flag(&s, "bfp16", xd_multiplied_b(g->kernel) == TW_BFP16 || (emulated && xd_gemm_turns_b(g)));
  tw_slots_flag(&s, "emulated", emulated && !xd_gemm_turns_b(g));
  tw_slots_flag(&s, "ternary", g->kernel->b == TW_TERNARY);
  const tw_status status = tw_template_add(t, "xdna2/kernels/start.cc.in", &s, error);
  tw_slots_free(&s);
  return status;
}

const char *xd_rounding_name(const xd_call *c) { return c->rounding == TW_ROUND_FLOOR ? "floor" : "conv_even"; }

/* ---- functions ---- */

static const struct {
  const char *begins;
  tw_status (*write)(const xd_call *, tw_text *, tw_error *);
} writers[] = {{"matmul_", xd_write_matmul},
               {"zero", xd_write_zero},
               {"narrow_", xd_write_narrow},
               {"round_", xd_write_round},
               {"unpack_", xd_write_unpack}};

static tw_status write_function(const xd_call *c, tw_text *t, tw_error *error) {
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
    if (!strncmp(c->function->name, writers[i].begins, strlen(writers[i].begins))) return writers[i].write(c, t, error);
  return tw_fail(error, TW_FAILED, "function %s is not available in C++", c->function->name);
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
  status = write_start(g, &t, error);
  for (size_t core = 0; core < p.cores.n; core++)
    for (size_t i = 0; i < p.cores.at[core].ops.n && status == TW_OK; i++) {
      const xd_op *op = &p.cores.at[core].ops.at[i];
      const xd_symbol symbol = op->kind == XD_CALL ? xd_symbol_of(&op->call) : (xd_symbol){""};
      if (is_new(&w, &symbol)) status = write_function(&op->call, &t, error);
    }
  xd_program_free(&p);
  *out = tw_text_take(&t);
  if (status == TW_OK && !*out) status = tw_no_memory(error, "kernel.cc");
  if (status != TW_OK) free(*out);
  return status;
}
