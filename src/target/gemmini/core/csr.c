/* csr.c - the control and status registers that a program for this machine may use.
 *
 * The user counters and floating-point CSRs of the unprivileged specification, and mhartid. `time` counts cycles.
 * All other CSRs are illegal, because a kernel does not need them. The harness CSRs (rv64.h) end or time the run. */
#include <inttypes.h>
#include <string.h>

#include "target/gemmini/core/core.h"

enum {
  FFLAGS = 0x001,
  FRM = 0x002,
  FCSR = 0x003,
  MCYCLE = 0xb00,
  MINSTRET = 0xb02,
  CYCLE = 0xc00,
  TIME = 0xc01,
  INSTRET = 0xc02,
  MHARTID = 0xf14
};

static bool read_csr(const rv64_core *core, unsigned csr, uint64_t cycle, uint64_t instructions, uint64_t *value) {
  switch (csr) {
  case FFLAGS: *value = core->fflags; return true;
  case FRM: *value = core->frm; return true;
  case FCSR: *value = core->fflags | core->frm << 5; return true;
  case CYCLE:
  case MCYCLE:
  case TIME: *value = cycle; return true;
  case INSTRET:
  case MINSTRET: *value = instructions; return true;
  case MHARTID: *value = 0; return true;
  default: return false;
  }
}

static bool write_csr(rv64_core *core, unsigned csr, uint64_t value) {
  switch (csr) {
  case FFLAGS: core->fflags = value & 31; return true;
  case FRM: core->frm = value & 7; return true;
  case FCSR:
    core->fflags = value & 31;
    core->frm = value >> 5 & 7;
    return true;
  default: return false;
  }
}

void rv64_finish(rv64_core *core, uint64_t cycle, uint64_t instructions) {
  core->result->cycles = cycle - core->start_cycle;
  core->result->instructions = instructions - core->start_instructions;
}

/* Only the harness may write marks. A kernel could write them only by jumping into the harness, which is detected. */
static bool is_harness(const rv64_core *core, uint64_t pc) {
  const rv64_region *r = rv64_region_find(core->memory, pc, 4);
  return !core->options->harness || (r && !strcmp(r->name, core->options->harness));
}

/* A write to a harness CSR, executed at `cycle` with that many instructions retired. Returns a stop or
 * RV64_CONTINUE. */
static int harness(rv64_core *core, uint64_t pc, unsigned csr, uint64_t value, uint64_t cycle, uint64_t instructions) {
  if (csr != RV64_CSR_CONSOLE && !is_harness(core, pc))
    return (int)rv64_fault(core, pc, "kernels may not write control registers; 0x%03x belongs to the harness", csr);
  switch (csr) {
  case RV64_CSR_START:
    if (core->started)
      return (int)rv64_fault(core, pc, "the kernel started the timer again; it must leave the harness alone");
    core->started = true;
    core->start_cycle = cycle;
    core->start_instructions = instructions;
    return RV64_CONTINUE;
  case RV64_CSR_STOP:
    if (!core->started)
      return (int)rv64_fault(core, pc, "the timer was stopped before it was started; leave the harness alone");
    if (core->unfenced && core->options->harness)
      return (int)rv64_fault(core, pc, "the kernel jumped past the fence that ends the time; leave the harness alone");
    rv64_finish(core, cycle, instructions);
    return RV64_EXITED;
  case RV64_CSR_CONSOLE:
    rv64_console_put(core->result, &core->console_length, (unsigned char)value);
    return RV64_CONTINUE;
  default: /* RV64_CSR_EXIT */
    rv64_finish(core, cycle, instructions);
    if (value) return (int)rv64_fault(core, pc, "the program ended with code %" PRIu64, value);
    if (core->started) return (int)rv64_fault(core, pc, "the program ended between the timing marks");
    return RV64_EXITED;
  }
}

/* One CSR instruction. A write flushes the pipeline: later instructions are fetched again (*refetch). */
int rv64_csr(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue, uint64_t instructions, bool *refetch) {
  unsigned csr = (unsigned)in->imm & 0xfff;
  bool immediate = in->op >= OP_CSRRWI, swaps = in->op == OP_CSRRW || in->op == OP_CSRRWI;
  bool sets = in->op == OP_CSRRS || in->op == OP_CSRRSI;
  bool writes = swaps || in->rs1, is_float = csr <= 3;
  uint64_t t = later(*issue, core->x_ready[in->rd]), old = 0;
  if (!immediate) t = later(t, core->x_ready[in->rs1]);
  if (is_float) t = later(t, core->float_done);
  *issue = t;
  uint64_t operand = immediate ? in->rs1 : core->x[in->rs1], cycle = t + STAGES_TO_WRITE_BACK;
  *refetch = false;
  if (csr >= RV64_CSR_START && csr <= RV64_CSR_EXIT && swaps && in->rd == RV64_SINK)
    return harness(core, pc, csr, operand, cycle, instructions);

  if (core->options->from_first_count && csr == CYCLE && core->started && !core->counted) {
    core->counted = true;
    core->start_cycle = cycle;
    core->start_instructions = instructions;
  }
  uint64_t value = operand;
  bool legal = read_csr(core, csr, cycle, instructions, &old);
  if (!swaps) value = sets ? old | operand : old & ~operand;
  if (legal && writes) legal = write_csr(core, csr, value);
  if (!legal)
    return (int)rv64_fault(core, pc, "%s of CSR 0x%03x, which is not available to programs on this machine",
                           writes ? "write" : "read", csr);
  core->x[in->rd] = old;
  core->x_ready[in->rd] = t + CSR_READY;
  *refetch = writes;
  return RV64_CONTINUE;
}
