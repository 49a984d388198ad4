/* atomic.c - the A extension. With one core and no other writer, a reservation lasts until the next sc. */
#include <string.h>

#include "target/gemmini/core/access.h"

static uint64_t sign_extend_size(uint64_t value, unsigned size) {
  return size == 4 ? (uint64_t)(int64_t)(int32_t)value : value;
}

static uint64_t atomic_result(unsigned op, uint64_t old, uint64_t operand, unsigned size) {
  int64_t a = (int64_t)sign_extend_size(old, size), b = (int64_t)sign_extend_size(operand, size);
  uint64_t ua = size == 4 ? (uint32_t)old : old, ub = size == 4 ? (uint32_t)operand : operand;
  switch (op) {
  case OP_AMOSWAP: return operand;
  case OP_AMOADD: return old + operand;
  case OP_AMOXOR: return old ^ operand;
  case OP_AMOAND: return old & operand;
  case OP_AMOOR: return old | operand;
  case OP_AMOMIN: return a < b ? old : operand;
  case OP_AMOMAX: return a > b ? old : operand;
  case OP_AMOMINU: return ua < ub ? old : operand;
  default: return ua > ub ? old : operand;
  }
}

/* A read-modify-write goes from WB to the second place of the store buffer before it can drain: one cycle later than a
 * plain store (pstore1_rmw, DCache.scala 492-510). */
static uint64_t store_in_place(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, uint64_t t) {
  t = data_store(core, pc, address, size, t);
  core->store[0].time++;
  return t;
}

/* lr, sc and the read-modify-writes, which the cache does in place (AMOALU). False: the access faults. */
bool rv64_atomic(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue) {
  unsigned size = 1u << in->format;
  uint64_t address = core->x[in->rs1], operand = core->x[in->rs2], old = 0;
  uint64_t t = later(later(*issue, core->x_ready[in->rs1]), later(core->x_ready[in->rs2], core->x_ready[in->rd]));
  uint8_t *p = at(core, address, size, in->op == OP_LR ? RV64_READ : RV64_READ | RV64_WRITE);
  *issue = t;
  if (!p) return false;
  if (in->op == OP_SC) {
    bool held = core->reservation == (address >> 3) + 1;
    if (held) memcpy(p, &operand, size);
    core->reservation = 0;
    t = after_stores(core, pc, address, size, t);
    if (held) t = store_in_place(core, pc, address, size, t);
    core->x[in->rd] = !held;
    core->x_ready[in->rd] = t + NARROW_LOAD_READY;
  } else {
    memcpy(&old, p, size);
    t = data_load(core, pc, address, size, t);
    if (in->op == OP_LR) {
      core->reservation = (address >> 3) + 1;
    } else {
      uint64_t value = atomic_result(in->op, old, operand, size);
      memcpy(p, &value, size);
      t = store_in_place(core, pc, address, size, t);
    }
    core->x[in->rd] = sign_extend_size(old, size);
    core->x_ready[in->rd] = t + LOAD_READY;
  }
  *issue = t;
  return true;
}
