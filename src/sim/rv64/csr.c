/* csr.c - the control and status registers that a program for this machine may use.
 *
 * The user counters and floating-point CSRs of the unprivileged specification, and mhartid. `time` counts
 * cycles. Everything else is illegal: a kernel has no business with it. The harness CSRs are in run.c. */
#include "sim/rv64/core.h"

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

bool rv64_csr_read(const rv64_core *core, unsigned csr, uint64_t cycle, uint64_t instructions, uint64_t *value) {
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

bool rv64_csr_write(rv64_core *core, unsigned csr, uint64_t value) {
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
