/* functional_array.c - preload and compute: the operations of the systolic array.
 *
 * Every PE has two registers: one is computed on while the other is loaded; compute_preloaded swaps them, and
 * compute_accumulated does not (PE.scala:101-130, ExecuteController.scala:90, 796). Weight-stationary, the register
 * holds a weight and partial sums run down a column from D, one PE a step:  C[i][j] = D[i][j] + sum over k of A[i][k] *
 * B[k][j].  Output-stationary, it holds a partial sum that starts as D and stays until it is written to C.
 *
 * Operands are padded with zeros to the array's size (ExecuteController.scala:305-307, 836-838). The adders between PEs
 * are mesh_output_bits wide and wrap, output-stationary sums included (PE.scala:107, 114). Floating point rounds once a
 * step, in order of k. Results are written to the accumulator unchanged, to the scratchpad saturated and with the
 * activation of config_ex (ExecuteController.scala:923-951); output-stationary ones are first shifted right, rounding
 * to nearest even (PE.scala:103, Arithmetic.scala:97-108). */
#include "target/gemmini/machine/functional_private.h"

/* ---- operands ---- */

/* A matrix in the form that the array reads: dim x dim, padded with zeros. */
typedef union tile {
  int8_t integer[GM_MAX_DIM * GM_MAX_DIM];
  float real[GM_MAX_DIM * GM_MAX_DIM];
  uint16_t half[GM_MAX_DIM * GM_MAX_DIM];
} tile;

typedef struct operand {
  const char *command, *name;
  gm_address from;
  int rows, cols; /* as the array reads it, after a transposition */
  int stride;     /* local rows between stored rows */
  bool garbage, transposed;
} operand;

static operand decode_operand(const char *command, const char *name, uint64_t field, int stride, bool transposed) {
  return (operand){command,        name,   gm_decode(gm_local(field)),     gm_rows(field),
                   gm_cols(field), stride, gm_is_garbage(gm_local(field)), transposed};
}

/* Rows and columns as named, or, transposed, `cols` rows of `rows` elements (ExecuteController.scala:161-166). */
static bool check_operand(const gm_arch *g, const operand *o, char why[GM_WHY]) {
  if (o->rows > g->dim || o->cols > g->dim)
    return gm_fault(why, "%s: %s of %d rows and %d columns; at most %d are supported", o->command, o->name, o->rows,
                    o->cols, g->dim);
  int lines = o->transposed ? o->cols : o->rows;
  if (o->garbage || !lines || !o->rows || !o->cols) return true;
  const gm_config *config = g->config;
  const bool is_result = *o->name == 'C';
  if (!is_result && o->from.acc && !config->ex_read_from_acc)
    return gm_fault(why, "%s: %s is in the accumulator, which this machine cannot multiply (ex_read_from_acc = 0)",
                    o->command, o->name);
  if (is_result && !o->from.acc && !config->ex_write_to_spad)
    return gm_fault(why,
                    "%s: C is in the scratchpad, to which this machine cannot write results (ex_write_to_spad = 0)",
                    o->command);
  if (*o->name == 'D' && !config->ex_adds_d)
    return gm_fault(why, "%s: this machine does not add D (ex_adds_d = 0); add it in the accumulator", o->command);
  /* Mesh.scala passes the bits of an input element to a wider partial sum without conversion. */
  if (*o->name == 'D' && g->half)
    return gm_fault(why,
                    "%s: the array would take the 16 bits of D for the low half of an f32; add D in the accumulator",
                    o->command);
  return gm_check_rows(g, o->command, o->from, (uint64_t)(lines - 1) * (uint64_t)o->stride, why);
}

/* One row of a local memory as input elements. */
static const void *operand_line(gm_arch *g, const operand *o, int line, void *scratch) {
  uint32_t row = o->from.row + (uint32_t)(line * o->stride);
  gm_note_rows(g, o->command, o->from.acc, row, 1);
  if (!o->from.acc) return gm_spad_at(g, row);
  const gm_execute_registers *e = &g->registers.execute;
  gm_acc_to_input(g, gm_acc_at(g, row), e->activation, e->acc_scale, scratch);
  return scratch;
}

/* The operand as the array reads it: in *scratch, or in place when no conversion is needed. */
static const void *fetch(gm_arch *g, const operand *o, tile *scratch) {
  int dim = g->dim;
  bool full = o->rows == dim && o->cols == dim;
  if (full && !o->garbage && !o->from.acc && !o->transposed && o->stride == 1) {
    gm_note_rows(g, o->command, false, o->from.row, dim);
    return gm_spad_at(g, o->from.row);
  }
  memset(scratch, 0, (size_t)(dim * dim * g->input_bytes));
  if (o->garbage || !o->rows || !o->cols) return scratch;
  float buffer[GM_MAX_DIM];
  int lines = o->transposed ? o->cols : o->rows, length = o->transposed ? o->rows : o->cols;
  for (int r = 0; r < lines; r++) {
    const void *line = operand_line(g, o, r, buffer);
    if (!o->transposed)
      memcpy((uint8_t *)scratch + (size_t)(r * dim * g->input_bytes), line, (size_t)(length * g->input_bytes));
    else if (g->half)
      for (int i = 0; i < length; i++) memcpy(&scratch->half[i * dim + r], (const uint8_t *)line + 2 * (size_t)i, 2);
    else if (g->real)
      for (int i = 0; i < length; i++) memcpy(&scratch->real[i * dim + r], (const uint8_t *)line + 4 * (size_t)i, 4);
    else
      for (int i = 0; i < length; i++) scratch->integer[i * dim + r] = ((const int8_t *)line)[i];
  }
  return scratch;
}

static void pack_weights(const gm_arch *g, const void *matrix, gm_pe_registers *pe) {
  if (!g->real)
    g->kernels->pack(g->dim, matrix, pe->weights);
  else
    gm_read_inputs(g, matrix, g->dim * g->dim, pe->real_weights);
}

/* Elements of D, widened to the type of a partial sum. Elements of 16 bits are always zero here (check_operand). */
static void widen(const gm_arch *g, const void *matrix, int rows, void *sums) {
  int n = rows * g->dim;
  if (g->half) {
    memset(sums, 0, (size_t)n * 4);
    return;
  }
  if (g->real) {
    memcpy(sums, matrix, (size_t)n * 4);
    return;
  }
  int32_t *s = sums;
  for (int i = 0; i < n; i++) s[i] = ((const int8_t *)matrix)[i];
}

static void wrap(const gm_arch *g, int32_t *sums, int rows) {
  int cut = 32 - g->config->mesh_output_bits;
  for (int i = 0; i < rows * g->dim; i++) sums[i] = (int32_t)((uint32_t)sums[i] << cut) >> cut;
}

/* Is the field's size that of the array? */
static bool is_whole(const gm_arch *g, uint64_t field) {
  return field >> 32 == ((unsigned)g->dim << 16 | (unsigned)g->dim);
}

/* A tile of the array's size in the scratchpad, used in place: without checks or rearrangement. */
static bool is_plain_tile(const gm_arch *g, uint64_t field) {
  const uint32_t local = gm_local(field);
  return is_whole(g, field) && !gm_is_acc(local) && gm_decode(local).row + (uint32_t)g->dim <= g->spad_rows;
}

static bool is_plain_result(const gm_arch *g, uint64_t field) {
  const uint32_t local = gm_local(field);
  return is_whole(g, field) && !gm_is_garbage(local) && gm_is_acc(local) &&
         gm_decode(local).row + (uint32_t)g->dim <= g->acc_rows;
}

/* ---- preload ---- */

static void take_preload(gm_arch *g, const gm_command *command, bool plain_c) {
  g->preload_waits = true;
  g->c = command->rs2;
  g->plain_c = plain_c;
}

bool gm_arch_preload(gm_arch *g, const gm_command *command, char why[256]) {
  const gm_execute_registers *e = &g->registers.execute;
  if (!e->configured) return gm_fault(why, "preload: requires a config_ex before it");
  if (g->preload_waits && !gm_is_garbage(gm_local(g->c)))
    return gm_fault(why, "preload: the previous preload, which named a C, had no compute");
  const bool plain_c = g->plain && is_plain_result(g, command->rs2);
  if (plain_c && is_plain_tile(g, command->rs1)) {
    const uint32_t row = gm_decode(gm_local(command->rs1)).row;
    take_preload(g, command, true);
    gm_note_rows(g, "preload", false, row, g->dim);
    pack_weights(g, gm_spad_at(g, row), &g->pe[!g->active]);
    g->pe[!g->active].contents = GM_WEIGHTS;
    return true;
  }
  if (plain_c && gm_is_garbage(gm_local(command->rs1)) && is_whole(g, command->rs1)) {
    take_preload(g, command, true);
    g->pe[!g->active].contents = GM_UNDEFINED;
    return true;
  }
  operand o = decode_operand("preload", e->weight_stationary ? "B" : "D", command->rs1, 1,
                             e->weight_stationary && e->b_transposed);
  if (!check_operand(g, &o, why)) return false;
  operand c = decode_operand("preload", "C", command->rs2, e->c_stride, false);
  if (!check_operand(g, &c, why)) return false;
  if (!c.garbage && c.rows > 1 && e->c_stride == 0) return gm_fault(why, "preload: C with a c_stride of 0");
  if (!c.garbage && c.rows > 1 && e->c_stride != 1 && !e->weight_stationary)
    return gm_fault(why, "preload: output-stationary results need a c_stride of 1, not %d", e->c_stride);
  tile scratch;
  gm_pe_registers *pe = &g->pe[!g->active];
  if (!e->weight_stationary) {
    widen(g, fetch(g, &o, &scratch), g->dim, pe->sums);
    pe->contents = GM_PARTIAL_SUMS;
  } else if (o.garbage) {
    /* only as many rows are shifted in as the command in the other register set has
     * (ExecuteController.scala:288-302) */
    pe->contents = GM_UNDEFINED;
  } else {
    pack_weights(g, fetch(g, &o, &scratch), pe);
    pe->contents = GM_WEIGHTS;
  }
  take_preload(g, command, plain_c);
  return true;
}

/* ---- results ---- */

static void mark_written(gm_arch *g, const operand *c) {
  uint8_t *written = c->from.acc ? g->acc_written : g->spad_written;
  for (int r = 0; r < c->rows; r++) {
    const uint32_t row = c->from.row + (uint32_t)(r * c->stride);
    if (c->from.accumulate) gm_note_rows(g, c->command, c->from.acc, row, 1);
    written[row] = 1;
  }
}

/* The caller has filled dim results per row, of which c->cols count; the analyzer does not follow that. */
// NOLINTBEGIN(clang-analyzer-core.*)
static void write_integers(gm_arch *g, const operand *c, const int32_t *results) {
  bool relu = g->registers.execute.activation == GM_RELU;
  for (int r = 0; r < c->rows; r++, results += g->dim) {
    uint32_t row = c->from.row + (uint32_t)(r * c->stride);
    if (!c->from.acc) {
      int8_t *to = (int8_t *)gm_spad_at(g, row);
      for (int j = 0; j < c->cols; j++) {
        int32_t x = results[j] > 127 ? 127 : results[j] < -128 ? -128 : results[j];
        to[j] = (int8_t)(relu && x < 0 ? 0 : x);
      }
      continue;
    }
    int32_t *to = (int32_t *)(void *)gm_acc_at(g, row);
    if (c->from.accumulate)
      for (int j = 0; j < c->cols; j++) to[j] = gm_add_wrapping(to[j], results[j]);
    else
      memcpy(to, results, (size_t)c->cols * 4);
  }
}

static void write_reals(gm_arch *g, const operand *c, const float *results) {
  bool relu = g->registers.execute.activation == GM_RELU;
  for (int r = 0; r < c->rows; r++, results += g->dim) {
    uint32_t row = c->from.row + (uint32_t)(r * c->stride);
    if (!c->from.acc) {
      for (int j = 0; j < c->cols; j++) gm_set_input(g, gm_spad_at(g, row), j, relu && results[j] < 0 ? 0 : results[j]);
      continue;
    }
    float *to = (float *)(void *)gm_acc_at(g, row);
    for (int j = 0; j < c->cols; j++) to[j] = c->from.accumulate ? gm_real_add(to[j], results[j]) : results[j];
  }
}
// NOLINTEND(clang-analyzer-core.*)

static void write_results(gm_arch *g, const operand *c, const void *results) {
  if (!c->rows || !c->cols) return;
  mark_written(g, c);
  if (g->real)
    write_reals(g, c, results);
  else
    write_integers(g, c, results);
}

/* ---- compute ---- */

typedef struct matmul {
  operand a, bd, c; /* bd: D if weight-stationary, B if output-stationary */
} matmul;

static void multiply(const gm_arch *g, int rows, const void *a, const gm_pe_registers *weights, const void *init,
                     void *out) {
  float wide[GM_MAX_DIM * GM_MAX_DIM];
  if (g->half) gm_read_inputs(g, a, rows * g->dim, wide);
  if (g->real)
    g->kernels->real_multiply(g->dim, rows, g->half ? wide : a, weights->real_weights, init, out);
  else
    g->kernels->multiply(g->dim, rows, a, weights->weights, init, out);
}

static int max(int a, int b) { return a > b ? a : b; }

/* The array is fed at least max(rows of A, rows of D, 4) rows, and all rows if the parallel command or the
 * transposer needs them (ExecuteController.scala:285-302). Further rows of C may or may not be written. */
static bool check_result_rows(const gm_arch *g, const matmul *m, char why[GM_WHY]) {
  const gm_execute_registers *e = &g->registers.execute;
  if (e->a_transposed || e->b_transposed) return true;
  int fed = max(max(m->a.rows, m->bd.garbage ? 1 : m->bd.rows), 4);
  if (m->c.rows <= fed) return true;
  return gm_fault(why, "%s: C has %d rows, but A and D have only %d; the array may not produce more", m->a.command,
                  m->c.rows, fed);
}

static bool weight_stationary(gm_arch *g, const matmul *m, char why[GM_WHY]) {
  const gm_pe_registers *pe = &g->pe[g->active];
  if (m->c.garbage) return true;
  if (pe->contents != GM_WEIGHTS)
    return gm_fault(why, "%s: the array holds no weights; preload a B first", m->a.command);
  if (m->a.garbage && m->a.rows && m->a.cols)
    return gm_fault(why, "%s: A is the garbage address, but the array would multiply it; only D may be omitted",
                    m->a.command);
  if (!check_result_rows(g, m, why)) return false;
  tile scratch;
  const void *a = fetch(g, &m->a, &scratch);
  const operand *c = &m->c;
  gm_pe_registers sums;
  const void *init = NULL;
  if (!m->bd.garbage) {
    tile d;
    widen(g, fetch(g, &m->bd, &d), c->rows, sums.sums);
    init = sums.sums;
  }
  multiply(g, c->rows, a, pe, init, sums.sums);
  if (!g->real && g->sums_may_wrap) wrap(g, sums.sums, c->rows);
  write_results(g, c, sums.sums);
  return true;
}

/* Rounds to nearest even (Arithmetic.scala:97-108), then saturates to the width of the mesh (PE.scala:103). */
static int32_t shift_integer(int32_t x, int shift, int bits) {
  if (shift) {
    int32_t half = x >> (shift - 1) & 1, rest = (x & (int32_t)((1u << (shift - 1)) - 1)) != 0, odd = x >> shift & 1;
    x = (x >> shift) + (half & (rest | odd));
  }
  int64_t limit = 1LL << (bits - 1);
  return x > limit - 1 ? (int32_t)(limit - 1) : x < -limit ? (int32_t)-limit : x;
}

static void shift_sums(const gm_arch *g, const gm_pe_registers *pe, gm_pe_registers *out) {
  int shift = g->registers.execute.in_shift, n = g->dim * g->dim;
  float factor = ldexpf(1.0f, -shift);
  if (g->real)
    for (int i = 0; i < n; i++) out->real_sums[i] = gm_real_multiply(pe->real_sums[i], factor);
  else
    for (int i = 0; i < n; i++) out->sums[i] = shift_integer(pe->sums[i], shift, g->config->mesh_output_bits);
}

static bool output_stationary(gm_arch *g, const matmul *m, char why[GM_WHY]) {
  gm_pe_registers *pe = &g->pe[g->active];
  if (pe->contents != GM_PARTIAL_SUMS)
    return gm_fault(why, "%s: the array holds no partial sums: start with compute_preloaded", m->a.command);
  if (g->sums_left)
    return gm_fault(why, "%s: the partial sums were moved to C; start again with compute_preloaded", m->a.command);
  bool zero = m->bd.garbage || !m->bd.rows || !m->bd.cols; /* A is multiplied by zeros, whatever it is */
  if (m->a.garbage && m->a.rows && m->a.cols && !zero)
    return gm_fault(why, "%s: A is the garbage address, but the array would multiply it by B", m->a.command);
  if (!zero) {
    tile scratch;
    gm_pe_registers b;
    pack_weights(g, fetch(g, &m->bd, &scratch), &b);
    multiply(g, g->dim, fetch(g, &m->a, &scratch), &b, pe->sums, pe->sums);
    if (!g->real) wrap(g, pe->sums, g->dim);
  }
  if (m->c.garbage) return true;
  gm_pe_registers results;
  shift_sums(g, pe, &results);
  write_results(g, &m->c, results.sums);
  g->sums_left = true;
  return true;
}

static void swap_registers(gm_arch *g) {
  g->active = !g->active;
  g->pe[!g->active].contents = GM_UNDEFINED;
  g->sums_left = false;
}

/* The usual product needs no further checks: a whole tile of A by weights, without D, to a whole tile of the
 * accumulator. */
static void multiply_plain(gm_arch *g, const gm_command *command) {
  const gm_address to = gm_decode(gm_local(g->c));
  int32_t *sums = (int32_t *)(void *)gm_acc_at(g, to.row);
  const uint32_t a_row = gm_decode(gm_local(command->rs1)).row;
  const int8_t *a = (const int8_t *)gm_spad_at(g, a_row);
  gm_note_rows(g, "compute", false, a_row, g->dim);
  if (to.accumulate) gm_note_rows(g, "compute", true, to.row, g->dim);
  g->kernels->multiply(g->dim, g->dim, a, g->pe[g->active].weights, to.accumulate ? sums : NULL, sums);
  if (g->dim == 16)
    memset(g->acc_written + to.row, 1, 16); /* a constant size is faster */
  else
    memset(g->acc_written + to.row, 1, (size_t)g->dim);
}

bool gm_arch_compute(gm_arch *g, const gm_command *command, char why[256]) {
  const gm_execute_registers *e = &g->registers.execute;
  bool preloaded = command->funct == GM_COMPUTE_PRELOADED;
  const char *name = preloaded ? "compute_preloaded" : "compute_accumulated";
  if (!g->preload_waits) return gm_fault(why, "%s: requires a preload that names C", name);
  if (g->plain_c && g->plain && is_plain_tile(g, command->rs1) && is_whole(g, command->rs2) &&
      gm_is_garbage(gm_local(command->rs2)) && g->pe[g->active ^ preloaded].contents == GM_WEIGHTS) {
    g->preload_waits = false;
    if (preloaded) swap_registers(g);
    multiply_plain(g, command);
    return true;
  }
  matmul m = {
      .a = decode_operand(name, "A", command->rs1, e->a_stride, e->a_transposed),
      .bd = decode_operand(name, e->weight_stationary ? "D" : "B", command->rs2, 1,
                           !e->weight_stationary && e->b_transposed),
      .c = decode_operand(name, "C", g->c, e->c_stride, false),
  };
  if (!check_operand(g, &m.a, why) || !check_operand(g, &m.bd, why) || !check_operand(g, &m.c, why)) return false;
  g->preload_waits = false;
  if (preloaded) swap_registers(g);
  return e->weight_stationary ? weight_stationary(g, &m, why) : output_stationary(g, &m, why);
}
