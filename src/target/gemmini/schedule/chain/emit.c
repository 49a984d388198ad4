/* emit.c - chain -> C source of the kernel.
 *
 * Commands take 64-bit operands: a local address below the size of the block. The source keeps one base for each
 * size, memory and bank, in a register whose value the compiler cannot see. So an operand is a base and a small
 * offset: one instruction. Otherwise GCC builds every 64-bit constant with three to five instructions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/chain/chain.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/writer.h"

enum { BASES = 128, TEXT = 160 };

typedef struct base { /* common to all operands of this memory, bank and size */
  gm_space space;
  int bank, rows, cols;
} base;

typedef struct emitter {
  gm_writer out;
  const gm_config *config;
  const gm_chain *chain;
  base bases[BASES];
  int n_bases;
  bool merged, plus, minus; /* scales are written separately from the rest of a configuration; which scales occur */
  char index[GM_CHAIN_DEPTH][8]; /* names of the loops' indices */
} emitter;

/* ---- operands ---- */

static int bank_rows(const emitter *e, gm_space s) {
  return s == GM_SPAD ? gm_spad_bank_rows(e->config) : gm_acc_rows(e->config);
}

static base base_of(const emitter *e, const gm_rows *r) {
  return (base){r->space, r->at.base / bank_rows(e, r->space), r->rows, r->cols};
}

static void base_name(const base *b, char *out, size_t size) {
  static const char *const memory[] = {"", "spad", "acc", "add"};
  if (b->space == GM_SPAD)
    snprintf(out, size, "%s%d_%dx%d", memory[b->space], b->bank, b->rows, b->cols);
  else
    snprintf(out, size, "%s_%dx%d", memory[b->space], b->rows, b->cols);
}

/* " + 16 + 4 * j" */
static void affine_text(const emitter *e, const gm_affine *a, int constant, char *out, size_t size) {
  size_t at = 0;
  *out = '\0';
  if (constant)
    at += (size_t)snprintf(out, size, " %c %d", constant < 0 ? '-' : '+', constant < 0 ? -constant : constant);
  for (int l = 0; l < GM_CHAIN_DEPTH && at < size; l++)
    if (a->step[l]) {
      int step = a->step[l] < 0 ? -a->step[l] : a->step[l];
      const char sign = a->step[l] < 0 ? '-' : '+';
      if (step == 1)
        at += (size_t)snprintf(out + at, size - at, " %c %s", sign, e->index[l]);
      else
        at += (size_t)snprintf(out + at, size - at, " %c %d * %s", sign, step, e->index[l]);
    }
}

static const char *rows_text(const emitter *e, const gm_rows *r, char out[TEXT]) {
  char name[32], offset[TEXT - 40];
  if (r->space == GM_NOWHERE) return "none";
  base b = base_of(e, r);
  base_name(&b, name, sizeof name);
  affine_text(e, &r->at, r->at.base % bank_rows(e, r->space), offset, sizeof offset);
  snprintf(out, TEXT, "%s%s", name, offset);
  return out;
}

/* "&x[0][0][0] + 12 * t" */
static const char *memory_text(const emitter *e, const gm_memory *m, char out[TEXT]) {
  const gm_chain_array *a = &e->chain->array[m->array];
  char offset[TEXT - 60];
  gm_affine at = m->at;
  if (a->code) { /* an address, not an array */
    at.base *= gm_input_bytes(e->config);
    for (int l = 0; l < GM_CHAIN_DEPTH; l++) at.step[l] *= gm_input_bytes(e->config);
  }
  affine_text(e, &at, at.base, offset, sizeof offset);
  if (a->code) {
    snprintf(out, TEXT, "(void *)(code%s)", offset);
    return out;
  }
  const bool vectors = a->parameter && strlen(a->name) == 1; /* x, d, u, p, r, q: [steps][length][1] */
  snprintf(out, TEXT, "%s%s%s", a->parameter || a->constant ? "&" : "", a->name,
           vectors                       ? "[0][0][0]"
           : a->parameter || a->constant ? "[0][0]"
                                         : "");
  snprintf(out + strlen(out), TEXT - strlen(out), "%s", offset);
  return out;
}

/* ---- declarations ---- */

static uint64_t size_fields(int cols, int rows) { return (uint64_t)rows << 48 | (uint64_t)cols << 32; }

static bool is_written(const emitter *e, const base *b) {
  for (int i = 0; i < e->n_bases; i++)
    if (e->bases[i].space == b->space && e->bases[i].bank == b->bank && e->bases[i].rows == b->rows &&
        e->bases[i].cols == b->cols)
      return true;
  return false;
}

/* A base without a bank is made from its size alone, with two instructions. Another base is that one plus a
 * distance. */
static void write_base(emitter *e, const gm_rows *r) {
  if (r->space == GM_NOWHERE) return;
  base b = base_of(e, r), root = {GM_SPAD, 0, b.rows, b.cols};
  char name[32], root_name[32];
  base_name(&root, root_name, sizeof root_name);
  if (!is_written(e, &root)) {
    gm_write(&e->out, "BASE(%s, UINT64_C(0x%" PRIx64 "));", root_name, size_fields(b.cols, b.rows));
    if (e->n_bases < BASES) e->bases[e->n_bases++] = root;
  }
  if (is_written(e, &b)) return;
  uint64_t flags = b.space == GM_ACC ? UINT64_C(1) << 31 : b.space == GM_ACC_ADD ? UINT64_C(3) << 30 : 0;
  uint64_t row = (uint64_t)b.bank * (uint64_t)bank_rows(e, b.space);
  base_name(&b, name, sizeof name);
  gm_write(&e->out, "BASE(%s, %s + 0x%" PRIx64 ");", name, root_name, flags | row);
  if (e->n_bases < BASES) e->bases[e->n_bases++] = b;
}

/* The name of a scale's bits, to which a block stride is added. The compiler computes the bits of a scale that has
 * no name. */
static const char *scale_name(const gm_chain_command *x) {
  return x->kind == GM_SET_EX || x->scale == 1 ? "plus" : x->scale == -1 ? "minus" : NULL;
}

static void write_scale(emitter *e, const gm_chain_command *x) {
  const char *name = scale_name(x);
  if (!e->merged || !name) return;
  bool *there = *name == 'p' ? &e->plus : &e->minus;
  if (!*there) gm_write(&e->out, "BASE(%s, UINT64_C(0x%s) << 16);", name, *name == 'p' ? "3f800000" : "bf800000");
  *there = true;
}

/* Loads that the commands in [from, to) need and that were not issued before. */
static void write_bases(emitter *e, int from, int to) {
  for (int i = from; i < to; i++) {
    const gm_chain_command *x = &e->chain->command[i];
    if (x->kind == GM_SET_LD || x->kind == GM_SET_EX) write_scale(e, x);
    if (x->kind == GM_LOAD || x->kind == GM_STORE || x->kind == GM_MULTIPLY || x->kind == GM_BEFORE)
      write_base(e, &x->a);
    if (x->kind == GM_MULTIPLY || x->kind == GM_BEFORE) write_base(e, &x->b);
  }
}

static void write_arrays(emitter *e) {
  for (int i = 0; i < e->chain->n_arrays; i++) {
    const gm_chain_array *a = &e->chain->array[i];
    if (a->parameter) continue;
    if (a->code) {
      gm_write(&e->out, "uint64_t code; /* the line behind this one */");
      gm_write(&e->out, "asm volatile(\"auipc %%0, 0\\n\\taddi %%0, %%0, 64\" : \"=r\"(code));");
      continue;
    }
    if (!a->constant) {
      gm_write(&e->out, "static float %s[%d] __attribute__((aligned(64)));", a->name, a->length);
      continue;
    }
    int dim = e->config->dim;
    tw_text rows = {0};
    for (int r = 0; r < dim; r++) {
      tw_text_add(&rows, "%s{", r ? ", " : "");
      for (int c = 0; c < dim; c++) tw_text_add(&rows, "%s%d", c ? ", " : "", r == c);
      tw_text_add_string(&rows, "}");
    }
    char *text = tw_text_take(&rows);
    e->out.text.failed |= !text;
    gm_write(&e->out, "static const float %s[%d][%d] __attribute__((aligned(64))) = {%s};", a->name, dim, dim,
             text ? text : "");
    free(text);
  }
}

/* ---- commands ---- */

static void write_configuration(emitter *e, const gm_chain_command *x) {
  char scale[32];
  const char *name = e->merged ? scale_name(x) : NULL, *turned = x->a_transposed ? "true" : "false";
  gm_float_text(x->scale, scale, sizeof scale);
  if (x->kind == GM_SET_EX && name)
    gm_write(&e->out, "SET_EX(%s, %s);", x->output_stationary ? "OUTPUT_STATIONARY" : "WEIGHT_STATIONARY", turned);
  else if (x->kind == GM_SET_LD && name)
    gm_write(&e->out, "SET_LD(%d, %s, %d, %d);", x->stride, name, x->block_stride, x->id);
  else if (x->kind == GM_SET_EX)
    gm_write(&e->out, "config_ex(%s, NO_ACTIVATION, 1, %s, false);",
             x->output_stationary ? "OUTPUT_STATIONARY" : "WEIGHT_STATIONARY", turned);
  else if (x->kind == GM_SET_ST)
    gm_write(&e->out, "config_st(%d);", x->stride);
  else
    gm_write(&e->out, "config_ld(%d, %s, %d, %d);", x->stride, scale, x->block_stride, x->id);
}

static void write_core(emitter *e, const gm_chain_command *x) {
  char out[TEXT], a[TEXT], b[TEXT];
  memory_text(e, &x->memory, out);
  memory_text(e, &x->x, a);
  if (x->kind == GM_ADD) memory_text(e, &x->y, b);
  gm_write(&e->out, "for (int e = 0; e < %d; e++) {", x->memory.cols);
  if (x->kind == GM_NEGATE)
    gm_write(&e->out, "(%s)[e] = -(%s)[e];", out, a);
  else
    gm_write(&e->out, "(%s)[e] = (%s)[e] + (%s)[e];", out, a, b);
  gm_write(&e->out, "}");
  gm_write(&e->out, "SETTLE();");
}

static void write_command(emitter *e, const gm_chain_command *x) {
  static const char *const load[] = {"mvin", "mvin2", "mvin3"};
  char a[TEXT], b[TEXT];
  switch (x->kind) {
  case GM_OPERATOR: gm_write(&e->out, "/* %s */", x->name); break;
  case GM_FENCE:
    gm_write(&e->out, "fence();");
    gm_write(&e->out, "SETTLE();");
    break;
  case GM_SET_EX:
  case GM_SET_LD:
  case GM_SET_ST: write_configuration(e, x); break;
  case GM_LOAD:
    gm_write(&e->out, "%s(%s, %s, 0, 0);", load[x->id], memory_text(e, &x->memory, b), rows_text(e, &x->a, a));
    break;
  case GM_STORE:
    gm_write(&e->out, "mvout(%s, %s, 0, 0);", memory_text(e, &x->memory, b), rows_text(e, &x->a, a));
    break;
  case GM_BEFORE:
    gm_write(&e->out, "preload(%s, %s, 0, 0, 0, 0);", rows_text(e, &x->a, a), rows_text(e, &x->b, b));
    break;
  case GM_MULTIPLY:
    gm_write(&e->out, "compute_%s(%s, %s, 0, 0, 0, 0);", x->accumulated ? "accumulated" : "preloaded",
             rows_text(e, &x->a, a), rows_text(e, &x->b, b));
    break;
  case GM_NEGATE:
  case GM_ADD: write_core(e, x); break;
  default: break;
  }
}

static void write_body(emitter *e) {
  int depth = 0;
  for (int i = 0; i < e->chain->n; i++) {
    const gm_chain_command *x = &e->chain->command[i];
    if (!depth) write_bases(e, i, gm_chain_behind(e->chain, i));
    if (x->kind == GM_DO) {
      bool taken = false;
      for (int l = 0; l < depth; l++) taken |= !strncmp(e->index[l], x->name, 1);
      snprintf(e->index[depth], sizeof e->index[depth], taken ? "%.1s%d" : "%.1s", x->name, depth);
      gm_write(&e->out, "for (uint64_t %s = 0; %s < %d; %s++) {", e->index[depth], e->index[depth], x->trip,
               e->index[depth]);
      depth++;
    } else if (x->kind == GM_END) {
      gm_write(&e->out, "}");
      depth--;
    } else {
      write_command(e, x);
    }
  }
}

static void write_head(emitter *e, const tw_problem *problem, const tw_schedule *schedule, const gm_chain_plan *plan) {
  char text[512];
  tw_text *t = &e->out.text;
  gm_write_schedule(&e->out, e->config, problem, schedule);
  tw_text_add(t, " * %s.\n", gm_chain_plan_print(plan, text, sizeof text));
  tw_text_add_string(t,
                     " * An operand is a base (memory, bank, rows x columns of the block) and a row. A base is in a "
                     "register that the\n"
                     " * compiler cannot look into, so that it adds offsets instead of making every constant anew. */\n"
                     "#define BASE(name, value) uint64_t name; asm(\"\" : \"=r\"(name) : \"0\"(value))\n"
                     "/* What the core writes is in memory before a command reads it, and the other way round. */\n"
                     "#define SETTLE() asm volatile(\"\" : : : \"memory\")\n");
  if (plan->merge)
    tw_text_add_string(
        t, "/* The scale's bits are in a register, above the block stride: as a part of one constant they would "
           "come from\n"
           " * memory that no cache holds. */\n"
           "#define SET_LD(stride, scale, block_stride, id) \\\n"
           "  gemmini_extended4_config_ld(stride, 0.0f, false, (scale) + (block_stride), id)\n"
           "#define SET_EX(dataflow, a_transposed) \\\n"
           "  gemmini_extended3_config_ex(dataflow, NO_ACTIVATION, 0, 0.0f, 1, plus + 1, a_transposed, false, "
           "false)\n");
}

static void write_signature(emitter *e, const tw_problem *problem) {
  tw_operand o[TW_OPERANDS_MAX];
  size_t n = problem->op->operands(problem, o);
  char line[768] = "void test(";
  for (size_t i = 0; i < n; i++) {
    snprintf(line + strlen(line), sizeof line - strlen(line), "%sfloat %s", i ? ", " : "", o[i].name);
    for (int d = 0; d < o[i].rank; d++)
      snprintf(line + strlen(line), sizeof line - strlen(line), "[%" PRId64 "]", o[i].dims[d]);
  }
  gm_write(&e->out, "%s) {", line);
}

tw_status gm_chain_source(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule,
                          const gm_chain_plan *plan, const gm_chain *c, char **source, tw_error *error) {
  emitter e = {.config = config, .chain = c, .merged = plan->merge};
  write_head(&e, problem, schedule, plan);
  write_signature(&e, problem);
  write_arrays(&e);
  gm_write(&e.out, "const uint64_t none = GARBAGE_ADDR;");
  write_body(&e);
  gm_write(&e.out, "fence();");
  gm_write(&e.out, "}");
  *source = tw_text_take(&e.out.text);
  return *source ? TW_OK : tw_no_memory(error, NULL);
}

tw_status gm_chain_emit(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule, char **source,
                        tw_error *error) {
  const gm_config *config = gm_config_of(target);
  gm_chain_plan plan;
  gm_chain c;
  tw_status status = gm_chain_from(config, problem, schedule, &plan, &c, error);
  if (status != TW_OK) return status;
  status = gm_chain_source(config, problem, schedule, &plan, &c, source, error);
  gm_chain_free(&c);
  return status;
}
