/* fragment.c - lanes and registers of the elements of an operand: the formulas of mfma.h's source, and their inverses.
 *
 * Inputs. A lane holds `run` consecutive k of one row of A (column of B); lanes run over the rows, then the blocks,
 * then the next run of k. Lanes with 32 bytes hold two such runs, half of K apart.
 *
 * Outputs. Elements of `height` consecutive rows are successive items of a lane; lanes run over the columns, then
 * `lane_blocks` blocks, then `lane_rows` such groups of rows; the remaining rows, then the remaining blocks, are in
 * further items. (The manual's formula puts the groups of rows before the blocks. They differ only for 4x4x4_4b_f64,
 * where AMD's calculator and lab notes, which were run on the machines, have the blocks first.) */
#include "target/cdna/layout/mfma.h"

static const struct {
  const char *name;
  int bits;
} types[CDNA_TYPES] = {
    [CDNA_F64] = {"f64", 64},      [CDNA_F32] = {"f32", 32}, [CDNA_XF32] = {"xf32", 32}, [CDNA_F16] = {"f16", 16},
    [CDNA_BF16] = {"bf16", 16},    [CDNA_I8] = {"i8", 8},    [CDNA_I32] = {"i32", 32},   [CDNA_FP8] = {"fp8", 8},
    [CDNA_BF8] = {"bf8", 8},       [CDNA_FP6] = {"fp6", 6},  [CDNA_BF6] = {"bf6", 6},    [CDNA_FP4] = {"fp4", 4},
    [CDNA_F8F6F4] = {"f8f6f4", 0},
};

const char *cdna_type_name(cdna_type type) { return types[type].name; }
int cdna_type_bits(cdna_type type) { return types[type].bits; }

const char *cdna_operand_name(cdna_operand operand) {
  static const char *const names[CDNA_OPERANDS] = {"A", "B", "C", "index", "scale A", "scale B"};
  return names[operand];
}

enum { SCALED = 32, TWO_RUNS = 256 }; /* elements that share a scale; bits of a lane from which on it has two runs */

static void make_input(const cdna_mfma *i, bool is_a, int k, int bits, cdna_fragment *f) {
  const int outer = is_a ? i->m : i->n, lanes_of_k = CDNA_LANES / (outer * i->blocks), items = k / lanes_of_k;
  const int runs = items * bits == TWO_RUNS ? 2 : 1;
  *f = (cdna_fragment){.blocks = i->blocks,
                       .rows = is_a ? outer : k,
                       .columns = is_a ? k : outer,
                       .bits = bits,
                       .items = items,
                       .registers = (items * bits + 31) / 32,
                       .k_is_row = !is_a,
                       .outer = outer,
                       .run = items / runs,
                       .runs = runs};
}

static void make_output(const cdna_mfma *i, cdna_fragment *f) {
  const int bits = types[i->c].bits, height = bits == 64 ? 1 : 4, of_block = i->m * i->n / height;
  const int lane_blocks = of_block < CDNA_LANES ? CDNA_LANES / of_block : 1,
            lane_rows = CDNA_LANES / lane_blocks / i->n;
  const int items = i->m * i->n * i->blocks / CDNA_LANES;
  *f = (cdna_fragment){.blocks = i->blocks,
                       .rows = i->m,
                       .columns = i->n,
                       .bits = bits,
                       .items = items,
                       .registers = items * bits / 32,
                       .is_output = true,
                       .height = height,
                       .lane_rows = lane_rows,
                       .lane_blocks = lane_blocks,
                       .groups = i->m / (height * lane_rows)};
}

bool cdna_fragment_of(const cdna_mfma *i, cdna_operand operand, cdna_type type, cdna_fragment *out) {
  const bool is_sparse = cdna_mfma_is_sparse(i), is_scaled = i->fields == CDNA_FIELDS_FORMATS;
  const cdna_type declared = operand == CDNA_B ? i->b : i->a;
  if (declared != CDNA_F8F6F4) type = declared;
  switch (operand) {
  case CDNA_A:
  case CDNA_B:
    if ((unsigned)type >= CDNA_F8F6F4 || (is_scaled && type < CDNA_FP8)) return false;
    make_input(i, operand == CDNA_A, is_sparse && operand == CDNA_A ? i->k / 2 : i->k, types[type].bits, out);
    return true;
  case CDNA_C: make_output(i, out); return true;
  case CDNA_INDEX:
    if (!is_sparse) return false;
    make_input(i, true, i->k / 2, 2, out);
    return true;
  case CDNA_SCALE_A:
  case CDNA_SCALE_B:
    if (!is_scaled) return false;
    make_input(i, operand == CDNA_SCALE_A, i->k / SCALED, 8, out);
    return true;
  default: return false;
  }
}

cdna_slot cdna_fragment_slot(const cdna_fragment *f, cdna_position p) {
  if (!f->is_output) {
    const int k = f->k_is_row ? p.row : p.column, i = f->k_is_row ? p.column : p.row;
    const int all = f->k_is_row ? f->rows : f->columns, within = k % (all / f->runs);
    return (cdna_slot){i + f->outer * (p.block + f->blocks * (within / f->run)),
                       within % f->run + f->run * (k / (all / f->runs))};
  }
  const int group = p.row / f->height;
  return (cdna_slot){p.column + f->columns * (p.block % f->lane_blocks + f->lane_blocks * (group % f->lane_rows)),
                     p.row % f->height + f->height * (group / f->lane_rows + f->groups * (p.block / f->lane_blocks))};
}

cdna_position cdna_fragment_position(const cdna_fragment *f, cdna_slot s) {
  if (!f->is_output) {
    const int all = f->k_is_row ? f->rows : f->columns, rest = s.lane / f->outer;
    const int k = s.item % f->run + f->run * (rest / f->blocks) + s.item / f->run * (all / f->runs);
    const int i = s.lane % f->outer;
    return (cdna_position){rest % f->blocks, f->k_is_row ? k : i, f->k_is_row ? i : k};
  }
  const int rest = s.lane / f->columns, high = s.item / f->height;
  return (cdna_position){rest % f->lane_blocks + high / f->groups * f->lane_blocks,
                         s.item % f->height + f->height * (rest / f->lane_blocks + f->lane_rows * (high % f->groups)),
                         s.lane % f->columns};
}

bool cdna_broadcast_is_defined(const cdna_mfma *i, int cbsz, int abid) {
  return cbsz >= 0 && cbsz <= 4 && 1 << cbsz <= i->blocks && abid >= 0 && abid < 1 << cbsz;
}

int cdna_lane_of_a(const cdna_mfma *i, int lane, int cbsz, int abid) {
  const int of_block = CDNA_LANES / i->blocks, group = of_block << cbsz;
  return cbsz ? lane / group * group + abid * of_block + lane % of_block : lane;
}

int cdna_lane_of_b(int lane, int blgp) {
  static const struct {
    int period, offset;
  } patterns[8] = {{64, 0}, {32, 0}, {32, 32}, {64, 16}, {16, 0}, {16, 16}, {16, 32}, {16, 48}};
  return (lane % patterns[blgp].period + patterns[blgp].offset) % CDNA_LANES;
}

int cdna_index_bit(const cdna_mfma *i, int cbsz, int abid) {
  cdna_fragment f;
  if (!cdna_fragment_of(i, CDNA_INDEX, CDNA_F8F6F4, &f)) return 0;
  const int bits = 2 * f.items, sets = bits < 32 ? 32 / bits : 1;
  return cbsz & 3 ? 0 : abid % sets * bits;
}
