/* float.c - the F and D extensions: values from softfloat.c, times from tile/FPU.scala.
 *
 * A reader of a floating-point register waits while the writer is in EX, MEM or WB, so nothing is ready before
 * issue + 4; the double-precision multiply-add (latency 4) writes at issue + 5 and frees its scoreboard entry a
 * cycle later. Results in integer registers come from MEM and are ready at issue + 3 (Core 856-876; FPU.scala 19-23,
 * 830-935). Division and square root take about a cycle a bit and stop every other floating-point instruction
 * (hardfloat's DivSqrtRecFN_small; nack_mem, FPU.scala 939). */
#include "target/gemmini/core/core.h"
#include "target/gemmini/core/softfloat.h"

enum { FLOAT_READY = 4, DOUBLE_FMA_READY = 6, TO_INTEGER_READY = 3 };
#define BOX 0xffffffff00000000ull

/* A binary32 operand that is not NaN-boxed reads as the canonical NaN. */
static uint64_t operand(const rv64_core *core, sf_format format, unsigned r) {
  uint64_t value = core->f[r];
  if (format == SF_D) return value;
  return value >= BOX ? (uint32_t)value : sf_nan(SF_S);
}

/* Cycles from issue until the unit writes the quotient or root: 2 to its entry in MEM, then one for each bit. */
static unsigned divide_latency(sf_format format, uint64_t a, uint64_t b, bool root) {
  enum { NOT_FINITE_OR_ZERO = 1u << 0 | 1u << 3 | 1u << 4 | 1u << 7 | 1u << 8 | 1u << 9, NEGATIVE = 7 };
  unsigned special = root ? sf_class(format, a) & (NOT_FINITE_OR_ZERO | NEGATIVE)
                          : (sf_class(format, a) | sf_class(format, b)) & NOT_FINITE_OR_ZERO;
  unsigned bits = format == SF_D ? 53 : 24;
  return special ? 3 : 2 + bits + (root ? 1 : 2);
}

static unsigned rounding_of(const rv64_core *core, const rv64_insn *in) {
  return in->rounding == 7 ? core->frm : in->rounding;
}

/* Instructions that write an integer register. */
static bool to_integer(rv64_core *core, const rv64_insn *in, unsigned rounding, unsigned *flags, uint64_t *value) {
  sf_format format = in->format;
  uint64_t a = operand(core, format, in->rs1), b = operand(core, format, in->rs2);
  switch (in->op) {
  case OP_FLE: *value = sf_le(format, a, b, flags); return true;
  case OP_FLT: *value = sf_lt(format, a, b, flags); return true;
  case OP_FEQ: *value = sf_eq(format, a, b, flags); return true;
  case OP_FCLASS: *value = sf_class(format, a); return true;
  case OP_FMV_X_F:
    a = core->f[in->rs1]; /* the bits, boxed or not */
    *value = format == SF_D ? a : (uint64_t)(int64_t)(int32_t)a;
    return true;
  case OP_FCVT_X_F: *value = sf_to_int(format, a, in->rs2 & 2 ? 64 : 32, !(in->rs2 & 1), rounding, flags); return true;
  default: return false;
  }
}

static uint64_t to_float(rv64_core *core, const rv64_insn *in, unsigned rounding, unsigned *flags) {
  sf_format format = in->format;
  uint64_t sign = sf_sign_bit(format);
  uint64_t a = operand(core, format, in->rs1), b = operand(core, format, in->rs2), c = operand(core, format, in->rs3);
  switch (in->op) {
  case OP_FMADD: return sf_fma(format, a, b, c, rounding, flags);
  case OP_FMSUB: return sf_fma(format, a, b, c ^ sign, rounding, flags);
  case OP_FNMSUB: return sf_fma(format, a ^ sign, b, c, rounding, flags);
  case OP_FNMADD: return sf_fma(format, a ^ sign, b, c ^ sign, rounding, flags);
  case OP_FADD: return sf_add(format, a, b, rounding, flags);
  case OP_FSUB: return sf_add(format, a, b ^ sign, rounding, flags);
  case OP_FMUL: return sf_mul(format, a, b, rounding, flags);
  case OP_FDIV: return sf_div(format, a, b, rounding, flags);
  case OP_FSQRT: return sf_sqrt(format, a, rounding, flags);
  case OP_FSGNJ: return (a & ~sign) | (b & sign);
  case OP_FSGNJN: return (a & ~sign) | (~b & sign);
  case OP_FSGNJX: return a ^ (b & sign);
  case OP_FMIN: return sf_min(format, a, b, flags);
  case OP_FMAX: return sf_max(format, a, b, flags);
  case OP_FCVT_F_F: {
    sf_format from = format == SF_D ? SF_S : SF_D;
    return sf_convert(from, format, operand(core, from, in->rs1), rounding, flags);
  }
  case OP_FCVT_F_X: {
    uint64_t value = core->x[in->rs1];
    if (!(in->rs2 & 2)) value = in->rs2 & 1 ? (uint32_t)value : (uint64_t)(int64_t)(int32_t)value;
    return sf_from_int(format, value, !(in->rs2 & 1), rounding, flags);
  }
  default: return core->x[in->rs1]; /* OP_FMV_F_X */
  }
}

static bool reads_integer(uint8_t op) { return op == OP_FCVT_F_X || op == OP_FMV_F_X; }
static bool reads_two(uint8_t op) { return op <= OP_FDIV || (op >= OP_FSGNJ && op <= OP_FEQ); }
static bool is_rounded(uint8_t op) { return op <= OP_FCVT_F_X || op == OP_FCVT_X_F; }

/* The register file has one port for results. A result that would be written in the same cycle as an earlier one is
 * refused in MEM, and its instruction is fetched again (nack_mem, FPU.scala 890-939). Latencies: FPU.scala 17-23,
 * 875-882. */
static uint64_t find_port(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t t) {
  const unsigned latency = in->op > OP_FMUL ? 2 : in->format == SF_D ? 4 : 3;
  while (core->float_write[(t + latency) & 7] == t + latency) t = rv64_fetch_again(core, pc, t);
  core->float_write[(t + latency) & 7] = t + latency;
  return t;
}

bool rv64_float(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue) {
  unsigned rounding = rounding_of(core, in), flags = 0;
  if (is_rounded(in->op) && rounding > SF_RMM) return false;

  uint64_t t = later(*issue, core->float_free), value;
  t = later(t, reads_integer(in->op) ? core->x_ready[in->rs1] : core->f_ready[in->rs1]);
  if (reads_two(in->op)) t = later(t, core->f_ready[in->rs2]);
  if (in->op <= OP_FNMADD) t = later(t, core->f_ready[in->rs3]);

  if (to_integer(core, in, rounding, &flags, &value)) {
    t = later(t, core->x_ready[in->rd]);
    core->x[in->rd] = value;
    core->x_ready[in->rd] = t + TO_INTEGER_READY;
    core->float_done = later(core->float_done, t + TO_INTEGER_READY);
  } else {
    t = later(t, core->f_ready[in->rd]);
    if (in->op != OP_FDIV && in->op != OP_FSQRT) t = find_port(core, in, pc, t);
    uint64_t ready = t + FLOAT_READY;
    if (in->op == OP_FDIV || in->op == OP_FSQRT) {
      unsigned latency = divide_latency(in->format, operand(core, in->format, in->rs1),
                                        operand(core, in->format, in->rs2), in->op == OP_FSQRT);
      core->float_free = t + latency;
      ready = t + latency + 1;
    } else if (in->op <= OP_FMUL && in->format == SF_D) {
      ready = t + DOUBLE_FMA_READY;
    }
    value = to_float(core, in, rounding, &flags);
    core->f[in->rd] = in->format == SF_D ? value : BOX | (uint32_t)value;
    core->f_ready[in->rd] = ready;
    core->float_done = later(core->float_done, ready);
  }
  core->fflags |= flags;
  *issue = t;
  return true;
}
