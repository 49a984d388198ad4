/* run.c - the interpreter: executes instructions in program order and advances the clock of core.h.
 *
 * Instructions are decoded once, into one slot for each halfword of code (code is never writable). The clock `t`
 * is the earliest cycle at which the next instruction can leave decode; every case below first raises it to the
 * cycle at which its operands are ready (a pending write to rd waits too: Core 833-871), then computes, then says
 * when the result is ready if later than the next cycle. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rv64/core.h"
#include "sim/rv64/softfloat.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum {
  LOAD_READY = 2,        /* lw, ld: bypassed from the cache's data in MEM (fastLoadWord): Core 322-330, 861-868 */
  NARROW_LOAD_READY = 3, /* lb, lh, sc: Core 600, mem_reg_slow_bypass */
  CSR_READY = 3,
  LINK_READY = 2, /* of jalr: Core 857 */
  COMMAND_RESULT_READY = 2,
  CHECK_INTERVAL = 1 << 16, /* cycles between two looks at the limits and the interrupt */
};

static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline bool is_code(const rv64_core *core, uint64_t pc) { return pc - core->code_base < core->code_size; }

/* ---- Fetch ----------------------------------------------------------------------------------------------- */

/* Moves to `packet` of the instruction at pc, behind one that was issued at `issue`; the packet is in decode at
 * `available` if its line is in the cache. */
static inline void fetch_packet(rv64_core *core, uint64_t pc, uint64_t packet, uint64_t available, uint64_t issue) {
  rv64_frontend *fetch = &core->fetch;
  fetch->count++;
  /* the queue takes five packets ahead of decode: Frontend 100-106 */
  available = later(available, fetch->dequeued[(fetch->count - FETCH_QUEUE) & 7] + 3);
  fetch->packet = packet;
  uint64_t line = packet >> PACKETS_SHIFT;
  if (unlikely(line != fetch->line)) available = rv64_fetch_line(core, line, available, issue);
  fetch->available = available;
  bool near_end = (packet & (LINE_PACKETS - 1)) >= LINE_PACKETS - (FETCH_QUEUE - 1);
  if (unlikely(near_end && line != fetch->looked_from)) rv64_fetch_ahead(core, pc);
}

/* Decode goes on at `target`, whose packet is there at `available`. */
static inline void redirect(rv64_core *core, uint64_t target, uint64_t available, uint64_t issue) {
  core->fetch.plan = 0;
  fetch_packet(core, target, target >> 2, available, issue);
  core->fetch.entered_late = target & 2 ? target >> 2 : 0;
}

/* ---- Branch prediction ----------------------------------------------------------------------------------- */

/* A taken branch that fetch predicted: at once from the target buffer (s1), or one cycle later when s2 sees the
 * instruction itself, which also trains the buffer if a bubble is likely to show (Frontend 196-310). */
static inline void predicted_taken(rv64_core *core, rv64_insn *in, uint64_t branch, uint64_t target, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t available = core->fetch.available;
  int entry = branch >> 1 == core->fetch.entered_late ? -1 : rv64_target_find(p, in, branch);
  if (likely(entry >= 0 && p->target[entry] == target)) {
    p->used[entry] = t;
    available += 1;
  } else {
    if (t - available < 2) rv64_target_train(p, in, branch, target, t);
    available += 2;
  }
  redirect(core, target, available, t);
}

/* Fetch went the wrong way until two cycles after the branch left decode, and may have asked for a line there. */
static void mispredicted(rv64_core *core, uint64_t target, uint64_t t) {
  core->mispredicts++;
  rv64_fetch_commit(core, t + MISPREDICT_REFETCH - 2);
  redirect(core, target, t + MISPREDICT_REFETCH, t);
}

/* Returns where decode goes on after a conditional branch at pc. */
static inline uint64_t conditional(rv64_core *core, rv64_insn *in, uint64_t pc, bool taken, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t branch = (pc + in->length - 2) >> 1;
  unsigned index = rv64_history_index(p, branch >> 1);
  bool predicted = p->taken[index];
  p->taken[index] = taken;
  p->history = (uint8_t)(taken << 7 | p->history >> 1);
  uint64_t next = taken ? pc + (uint64_t)(int64_t)in->imm : pc + in->length;
  if (unlikely(!is_code(core, next))) return next; /* the caller faults */
  if (likely(predicted == taken)) {
    if (taken) predicted_taken(core, in, branch, next, t);
  } else {
    if (taken) rv64_target_train(p, in, branch, next, t);
    mispredicted(core, next, t);
  }
  return next;
}

static void push_return(rv64_predictor *p, uint64_t address) {
  if (p->return_count < RETURN_ENTRIES) p->return_count++;
  p->return_top = (p->return_top + 1) % RETURN_ENTRIES;
  p->returns[p->return_top] = address;
}

static bool pop_return(rv64_predictor *p, uint64_t *address) {
  if (!p->return_count) return false;
  *address = p->returns[p->return_top];
  p->return_count--;
  p->return_top = (p->return_top + RETURN_ENTRIES - 1) % RETURN_ENTRIES;
  return true;
}

static void jump_register(rv64_core *core, rv64_insn *in, uint64_t pc, uint64_t target, uint64_t t) {
  rv64_predictor *p = &core->predictor;
  uint64_t branch = (pc + in->length - 2) >> 1, predicted = 0;
  bool links = in->rd & 1, returns = !links && (in->rs1 & 0x1b) == 1; /* rs1 is x1 or x5: BTB.scala 168-171 */
  int entry = branch >> 1 == core->fetch.entered_late ? -1 : rv64_target_find(p, in, branch);
  if (entry >= 0) predicted = p->target[entry];
  if (returns) pop_return(p, &predicted);
  if (links) push_return(p, pc + in->length);
  if (predicted == target && (returns || entry >= 0)) {
    if (entry >= 0) p->target[entry] = target; /* the buffer's return entries take their target from the stack */
    predicted_taken(core, in, branch, target, t);
  } else {
    rv64_target_train(p, in, branch, target, t);
    mispredicted(core, target, t);
  }
}

/* ---- Memory accesses ------------------------------------------------------------------------------------- */

static inline uint8_t *at(rv64_core *core, uint64_t address, unsigned size, unsigned rights) {
  if (unlikely(address & (size - 1))) return NULL;
  return rv64_memory_at(core->memory, &core->hint[address >> 20 & (N_HINTS - 1)], address, size, rights);
}

static inline bool in_buffer(const rv64_store *s, uint64_t address, unsigned mask, uint64_t t) {
  return t < s->time + 3 && s->word == address >> 3 && (s->mask & mask);
}

static inline unsigned byte_mask(uint64_t address, unsigned size) { return ((1u << size) - 1) << (address & 7); }

/* A load that issues at t; returns when it issues successfully. A load of bytes that wait in the store buffer is
 * refused and replayed: the buffer drains in the first cycle from the store's WB in which no load is in EX, which a
 * load one or two cycles behind the store prevents (DCache.scala 479-500, 541-552). */
static inline uint64_t data_load(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, uint64_t t) {
  if (unlikely(t < core->store[0].time + 3)) {
    unsigned mask = byte_mask(address, size);
    if (in_buffer(&core->store[0], address, mask, t) || in_buffer(&core->store[1], address, mask, t)) {
      rv64_fetch_again(core, pc, t);
      t += REPLAY_REFETCH;
    }
  }
  uint64_t line = address >> LINE_SHIFT;
  if (unlikely(line + 1 != core->dcache.last_line) && !rv64_cache_find(&core->dcache, line))
    t = rv64_data_miss(core, pc, line, t);
  core->last_memory = t;
  return t;
}

static inline uint64_t data_store(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, uint64_t t) {
  uint64_t line = address >> LINE_SHIFT;
  if (unlikely(line + 1 != core->dcache.last_line) && !rv64_cache_find(&core->dcache, line))
    t = rv64_data_miss(core, pc, line, t);
  *core->dcache.last_dirty = 1;
  core->store[1] = core->store[0];
  core->store[0] = (rv64_store){address >> 3, (uint8_t)byte_mask(address, size), t};
  core->last_memory = t;
  return t;
}

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

/* lr, sc and the read-modify-writes, which the cache does in place (AMOALU). False: the access faults. */
static bool atomic(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue) {
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
    t = held ? data_store(core, pc, address, size, t) : t;
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
      t = data_store(core, pc, address, size, t);
    }
    core->x[in->rd] = sign_extend_size(old, size);
    core->x_ready[in->rd] = t + LOAD_READY;
  }
  *issue = t;
  return true;
}

/* ---- CSRs and the harness -------------------------------------------------------------------------------- */

enum { CONTINUE = -1 };

static void finish(rv64_core *core, uint64_t cycle, uint64_t instructions) {
  core->result->cycles = cycle - core->start_cycle;
  core->result->instructions = instructions - core->start_instructions;
}

/* A write to a harness CSR, executed at `cycle` with that many instructions retired. Returns a stop or CONTINUE. */
static int harness(rv64_core *core, uint64_t pc, unsigned csr, uint64_t value, uint64_t cycle, uint64_t instructions) {
  switch (csr) {
  case RV64_CSR_START:
    if (core->started)
      return (int)rv64_fault(core, pc, "the kernel started the timer again; it must leave the harness alone");
    core->started = true;
    core->start_cycle = cycle;
    core->start_instructions = instructions;
    return CONTINUE;
  case RV64_CSR_STOP:
    if (!core->started)
      return (int)rv64_fault(core, pc, "the timer was stopped before it was started; leave the harness alone");
    finish(core, cycle, instructions);
    return RV64_EXITED;
  case RV64_CSR_CONSOLE: rv64_console_put(core->result, &core->console_length, (unsigned char)value); return CONTINUE;
  default: /* RV64_CSR_EXIT */
    finish(core, cycle, instructions);
    if (value) return (int)rv64_fault(core, pc, "the program ended with code %" PRIu64, value);
    if (core->started) return (int)rv64_fault(core, pc, "the program ended between the timing marks");
    return RV64_EXITED;
  }
}

/* One CSR instruction. A write flushes the pipeline: what follows is fetched again (*refetch). */
static int csr_access(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue, uint64_t instructions,
                      bool *refetch) {
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

  uint64_t value = operand;
  bool legal = rv64_csr_read(core, csr, cycle, instructions, &old);
  if (!swaps) value = sets ? old | operand : old & ~operand;
  if (legal && writes) legal = rv64_csr_write(core, csr, value);
  if (!legal)
    return (int)rv64_fault(core, pc, "%s of CSR 0x%03x, which a program for this machine may not use",
                           writes ? "write" : "read", csr);
  core->x[in->rd] = old;
  core->x_ready[in->rd] = t + CSR_READY;
  *refetch = writes;
  return CONTINUE;
}

/* ---- The coprocessor ------------------------------------------------------------------------------------- */

/* Offers a command in WB. One that is not taken there is replayed: it waits in decode until the coprocessor is
 * ready and issues in the cycle after (Core 755, 895-896). Returns false with a fault described. */
static bool command(rv64_core *core, const rv64_insn *in, uint64_t pc, uint64_t *issue) {
  uint32_t encoding = (uint32_t)in->imm;
  bool xd = encoding >> 14 & 1, xs1 = encoding >> 13 & 1, xs2 = encoding >> 12 & 1;
  unsigned rd = xd ? in->rd : RV64_SINK;
  uint64_t t = *issue, result = 0;
  if (xs1) t = later(t, core->x_ready[in->rs1]);
  if (xs2) t = later(t, core->x_ready[in->rs2]);
  if (xd) t = later(t, core->x_ready[rd]);
  *issue = t;
  if (!core->ports->command) {
    rv64_fault(core, pc, "illegal instruction 0x%08" PRIx32 ": this machine has no coprocessor", encoding);
    return false;
  }
  char why[256] = "the coprocessor refused the command";
  uint64_t offered = t + STAGES_TO_WRITE_BACK;
  rv64_fetch_commit(core, UINT64_MAX); /* fetch goes on while the core waits, here and below */
  uint64_t taken = core->ports->command(core->ports->context, offered, encoding, xs1 ? core->x[in->rs1] : 0,
                                        xs2 ? core->x[in->rs2] : 0, &result, why);
  if (taken == UINT64_MAX) {
    rv64_fault(core, pc, "%s", why);
    return false;
  }
  if (taken > offered) {
    rv64_fetch_again(core, pc, t);
    t = later(taken + 1, t + REPLAY_REFETCH);
  }
  core->last_command = t;
  if (xd) {
    core->x[rd] = result;
    core->x_ready[rd] = t + STAGES_TO_WRITE_BACK + COMMAND_RESULT_READY;
  }
  *issue = t;
  return true;
}

/* A fence waits in decode while a command is in the pipeline or the coprocessor is busy, and holds back what
 * follows until earlier memory accesses have left the cache's pipeline (Core 262-274). */
static bool fence(rv64_core *core, uint64_t pc, uint64_t *issue) {
  uint64_t t = later(*issue, core->last_command + STAGES_TO_WRITE_BACK + 1);
  char why[256] = "the coprocessor failed";
  rv64_fetch_commit(core, UINT64_MAX);
  if (core->ports->fence && (t = core->ports->fence(core->ports->context, t, why)) == UINT64_MAX) {
    rv64_fault(core, pc, "%s", why);
    return false;
  }
  *issue = later(t, core->last_memory + STAGES_TO_WRITE_BACK);
  return true;
}

/* ---- Limits ---------------------------------------------------------------------------------------------- */

static int check_limits(rv64_core *core, uint64_t pc, uint64_t t, uint64_t instructions) {
  const rv64_options *o = core->options;
  uint64_t ran = t - core->start_cycle, executed = instructions - core->start_instructions;
  finish(core, t, instructions);
  if (o->max_cycles && t > o->max_cycles) {
    rv64_fault(core, pc, "still running after %" PRIu64 " cycles, the limit (%" PRIu64 " timed)", t, ran);
    return RV64_CYCLE_LIMIT;
  }
  if (o->max_instructions && instructions > o->max_instructions) {
    rv64_fault(core, pc, "still running after %" PRIu64 " instructions, the limit (%" PRIu64 " timed)", instructions,
               executed);
    return RV64_CYCLE_LIMIT;
  }
  if (o->interrupt && *o->interrupt) {
    rv64_fault(core, pc, "interrupted after %" PRIu64 " cycles", t);
    return RV64_INTERRUPTED;
  }
  uint64_t interval = CHECK_INTERVAL; /* at most one instruction a cycle: the limit on instructions is not missed */
  if (o->max_instructions && o->max_instructions - instructions < interval)
    interval = o->max_instructions - instructions + 1;
  core->checkpoint = t + interval;
  if (o->max_cycles && core->checkpoint > o->max_cycles) core->checkpoint = o->max_cycles + 1;
  return CONTINUE;
}

/* ---- The loop -------------------------------------------------------------------------------------------- */

static inline uint64_t multiply_high(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
static inline uint64_t multiply_high_signed(uint64_t a, uint64_t b) {
  return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
}
static inline uint64_t multiply_high_mixed(uint64_t a, uint64_t b) {
  return multiply_high(a, b) - ((int64_t)a < 0 ? b : 0);
}

/* RISC-V division does not trap: by zero gives all ones and the dividend, the overflow wraps. */
static inline int64_t divide(int64_t a, int64_t b) { return !b ? -1 : b == -1 ? (int64_t) - (uint64_t)a : a / b; }
static inline int64_t remainder_of(int64_t a, int64_t b) { return !b ? a : b == -1 ? 0 : a % b; }

static inline uint64_t extend32(uint64_t x) { return (uint64_t)(int64_t)(int32_t)x; }

/* Issue of an instruction of the multiply-divide unit, which takes one at a time. */
static inline uint64_t unit_busy(rv64_core *core, uint64_t t, unsigned rd, unsigned latency) {
  core->divider_free = core->x_ready[rd] = t + latency;
  return t;
}

static rv64_stop run(rv64_core *core, uint64_t pc) {
  uint64_t *x = core->x, *ready = core->x_ready;
  rv64_insn *code = core->code;
  const uint64_t base = core->code_base;
  uint64_t t = 0, n = 0; /* clock; instructions retired */
  uint64_t address, next = 0;
  uint8_t *p;
  int stop = CONTINUE;
  bool refetch;

/* An instruction's end: it left decode at t. */
#define DONE                                                                                                           \
  do {                                                                                                                 \
    core->fetch.dequeued[core->fetch.count & 7] = t;                                                                   \
    t++;                                                                                                               \
    n++;                                                                                                               \
    pc += in->length;                                                                                                  \
    goto next_instruction;                                                                                             \
  } while (0)
#define JUMPED(target)                                                                                                 \
  do {                                                                                                                 \
    n++;                                                                                                               \
    next = (target);                                                                                                   \
    goto jumped;                                                                                                       \
  } while (0)
#define WAIT1 t = later(later(t, ready[in->rs1]), ready[in->rd])
#define WAIT2 t = later(later(t, later(ready[in->rs1], ready[in->rs2])), ready[in->rd])
#define RESULT(value)                                                                                                  \
  do {                                                                                                                 \
    WAIT1;                                                                                                             \
    x[in->rd] = (value);                                                                                               \
    DONE;                                                                                                              \
  } while (0)
#define RESULT2(value)                                                                                                 \
  do {                                                                                                                 \
    WAIT2;                                                                                                             \
    x[in->rd] = (value);                                                                                               \
    DONE;                                                                                                              \
  } while (0)
#define BRANCH(condition)                                                                                              \
  do {                                                                                                                 \
    t = later(t, later(ready[in->rs1], ready[in->rs2]));                                                               \
    core->fetch.dequeued[core->fetch.count & 7] = t;                                                                   \
    next = conditional(core, in, pc, condition, t);                                                                    \
    t++;                                                                                                               \
    n++;                                                                                                               \
    if (next == pc + in->length) {                                                                                     \
      pc = next;                                                                                                       \
      goto next_instruction;                                                                                           \
    }                                                                                                                  \
    goto jumped;                                                                                                       \
  } while (0)
#define LOAD(type, extension, latency)                                                                                 \
  do {                                                                                                                 \
    type value;                                                                                                        \
    WAIT1;                                                                                                             \
    address = x[in->rs1] + (uint64_t)(int64_t)in->imm;                                                                 \
    if (unlikely(!(p = at(core, address, sizeof value, RV64_READ)))) {                                                 \
      stop = (int)rv64_fault_access(core, pc, address, sizeof value, RV64_READ);                                       \
      goto stopped;                                                                                                    \
    }                                                                                                                  \
    memcpy(&value, p, sizeof value);                                                                                   \
    t = data_load(core, pc, address, sizeof value, t);                                                                 \
    x[in->rd] = (uint64_t)(extension)value;                                                                            \
    ready[in->rd] = t + (latency);                                                                                     \
    DONE;                                                                                                              \
  } while (0)
#define STORE(type, source, source_ready)                                                                              \
  do {                                                                                                                 \
    type value = (type)(source);                                                                                       \
    t = later(t, later(ready[in->rs1], source_ready));                                                                 \
    address = x[in->rs1] + (uint64_t)(int64_t)in->imm;                                                                 \
    if (unlikely(!(p = at(core, address, sizeof value, RV64_WRITE)))) {                                                \
      stop = (int)rv64_fault_access(core, pc, address, sizeof value, RV64_WRITE);                                      \
      goto stopped;                                                                                                    \
    }                                                                                                                  \
    memcpy(p, &value, sizeof value);                                                                                   \
    t = data_store(core, pc, address, sizeof value, t);                                                                \
    DONE;                                                                                                              \
  } while (0)
#define MULTIPLY(value, high, word)                                                                                    \
  do {                                                                                                                 \
    WAIT2;                                                                                                             \
    t = later(t, core->divider_free);                                                                                  \
    unsigned latency = rv64_multiply_latency(x[in->rs1], high, word);                                                  \
    x[in->rd] = (value);                                                                                               \
    unit_busy(core, t, in->rd, latency);                                                                               \
    DONE;                                                                                                              \
  } while (0)
#define DIVIDE(a, b, is_signed, remainder, value)                                                                      \
  do {                                                                                                                 \
    WAIT2;                                                                                                             \
    t = later(t, core->divider_free);                                                                                  \
    unsigned latency = rv64_divide_latency(a, b, is_signed, remainder);                                                \
    x[in->rd] = (value);                                                                                               \
    unit_busy(core, t, in->rd, latency);                                                                               \
    DONE;                                                                                                              \
  } while (0)

  redirect(core, pc, 0, 0);
  rv64_insn *in;

next_instruction:
  in = &code[(pc - base) >> 1];
  if (unlikely(!in->length)) rv64_decode_slot(core, in, pc);
  uint64_t packet = (pc + in->length - 1) >> 2;
  if (packet != core->fetch.packet) fetch_packet(core, pc, packet, core->fetch.available + 1, t - 1);
  t = later(t, core->fetch.available);

  switch ((rv64_op)in->op) {
    // clang-format off
  case OP_LUI:    t = later(t, ready[in->rd]); x[in->rd] = (uint64_t)(int64_t)in->imm; DONE;
  case OP_AUIPC:  t = later(t, ready[in->rd]); x[in->rd] = pc + (uint64_t)(int64_t)in->imm; DONE;
  case OP_ADDI:   RESULT(x[in->rs1] + (uint64_t)(int64_t)in->imm);
  case OP_SLTI:   RESULT((int64_t)x[in->rs1] < in->imm);
  case OP_SLTIU:  RESULT(x[in->rs1] < (uint64_t)(int64_t)in->imm);
  case OP_XORI:   RESULT(x[in->rs1] ^ (uint64_t)(int64_t)in->imm);
  case OP_ORI:    RESULT(x[in->rs1] | (uint64_t)(int64_t)in->imm);
  case OP_ANDI:   RESULT(x[in->rs1] & (uint64_t)(int64_t)in->imm);
  case OP_SLLI:   RESULT(x[in->rs1] << in->imm);
  case OP_SRLI:   RESULT(x[in->rs1] >> in->imm);
  case OP_SRAI:   RESULT((uint64_t)((int64_t)x[in->rs1] >> in->imm));
  case OP_ADDIW:  RESULT(extend32(x[in->rs1] + (uint64_t)(int64_t)in->imm));
  case OP_SLLIW:  RESULT(extend32(x[in->rs1] << in->imm));
  case OP_SRLIW:  RESULT(extend32((uint32_t)x[in->rs1] >> in->imm));
  case OP_SRAIW:  RESULT(extend32((uint64_t)((int64_t)(int32_t)x[in->rs1] >> in->imm)));
  case OP_ADD:    RESULT2(x[in->rs1] + x[in->rs2]);
  case OP_SUB:    RESULT2(x[in->rs1] - x[in->rs2]);
  case OP_SLL:    RESULT2(x[in->rs1] << (x[in->rs2] & 63));
  case OP_SLT:    RESULT2((int64_t)x[in->rs1] < (int64_t)x[in->rs2]);
  case OP_SLTU:   RESULT2(x[in->rs1] < x[in->rs2]);
  case OP_XOR:    RESULT2(x[in->rs1] ^ x[in->rs2]);
  case OP_SRL:    RESULT2(x[in->rs1] >> (x[in->rs2] & 63));
  case OP_SRA:    RESULT2((uint64_t)((int64_t)x[in->rs1] >> (x[in->rs2] & 63)));
  case OP_OR:     RESULT2(x[in->rs1] | x[in->rs2]);
  case OP_AND:    RESULT2(x[in->rs1] & x[in->rs2]);
  case OP_ADDW:   RESULT2(extend32(x[in->rs1] + x[in->rs2]));
  case OP_SUBW:   RESULT2(extend32(x[in->rs1] - x[in->rs2]));
  case OP_SLLW:   RESULT2(extend32(x[in->rs1] << (x[in->rs2] & 31)));
  case OP_SRLW:   RESULT2(extend32((uint32_t)x[in->rs1] >> (x[in->rs2] & 31)));
  case OP_SRAW:   RESULT2(extend32((uint64_t)((int64_t)(int32_t)x[in->rs1] >> (x[in->rs2] & 31))));

  case OP_MUL:    MULTIPLY(x[in->rs1] * x[in->rs2], false, false);
  case OP_MULH:   MULTIPLY(multiply_high_signed(x[in->rs1], x[in->rs2]), true, false);
  case OP_MULHSU: MULTIPLY(multiply_high_mixed(x[in->rs1], x[in->rs2]), true, false);
  case OP_MULHU:  MULTIPLY(multiply_high(x[in->rs1], x[in->rs2]), true, false);
  case OP_MULW:   MULTIPLY(extend32(x[in->rs1] * x[in->rs2]), false, true);
  case OP_DIV:
    DIVIDE(x[in->rs1], x[in->rs2], true, false, (uint64_t)divide((int64_t)x[in->rs1], (int64_t)x[in->rs2]));
  case OP_DIVU:
    DIVIDE(x[in->rs1], x[in->rs2], false, false, x[in->rs2] ? x[in->rs1] / x[in->rs2] : UINT64_MAX);
  case OP_REM:
    DIVIDE(x[in->rs1], x[in->rs2], true, true, (uint64_t)remainder_of((int64_t)x[in->rs1], (int64_t)x[in->rs2]));
  case OP_REMU:
    DIVIDE(x[in->rs1], x[in->rs2], false, true, x[in->rs2] ? x[in->rs1] % x[in->rs2] : x[in->rs1]);
  case OP_DIVW:
    DIVIDE(extend32(x[in->rs1]), extend32(x[in->rs2]), true, false,
           extend32((uint64_t)divide((int32_t)x[in->rs1], (int32_t)x[in->rs2])));
  case OP_DIVUW:
    DIVIDE((uint32_t)x[in->rs1], (uint32_t)x[in->rs2], false, false,
           (uint32_t)x[in->rs2] ? extend32((uint32_t)x[in->rs1] / (uint32_t)x[in->rs2]) : UINT64_MAX);
  case OP_REMW:
    DIVIDE(extend32(x[in->rs1]), extend32(x[in->rs2]), true, true,
           extend32((uint64_t)remainder_of((int32_t)x[in->rs1], (int32_t)x[in->rs2])));
  case OP_REMUW:
    DIVIDE((uint32_t)x[in->rs1], (uint32_t)x[in->rs2], false, true,
           extend32((uint32_t)x[in->rs2] ? (uint32_t)x[in->rs1] % (uint32_t)x[in->rs2] : (uint32_t)x[in->rs1]));

  case OP_LB:     LOAD(int8_t, int64_t, NARROW_LOAD_READY);
  case OP_LH:     LOAD(int16_t, int64_t, NARROW_LOAD_READY);
  case OP_LW:     LOAD(int32_t, int64_t, LOAD_READY);
  case OP_LD:     LOAD(uint64_t, uint64_t, LOAD_READY);
  case OP_LBU:    LOAD(uint8_t, uint64_t, NARROW_LOAD_READY);
  case OP_LHU:    LOAD(uint16_t, uint64_t, NARROW_LOAD_READY);
  case OP_LWU:    LOAD(uint32_t, uint64_t, LOAD_READY);
  case OP_SB:     STORE(uint8_t, x[in->rs2], ready[in->rs2]);
  case OP_SH:     STORE(uint16_t, x[in->rs2], ready[in->rs2]);
  case OP_SW:     STORE(uint32_t, x[in->rs2], ready[in->rs2]);
  case OP_SD:     STORE(uint64_t, x[in->rs2], ready[in->rs2]);
  case OP_FSW:    STORE(uint32_t, core->f[in->rs2], later(core->f_ready[in->rs2], core->float_free));
  case OP_FSD:    STORE(uint64_t, core->f[in->rs2], later(core->f_ready[in->rs2], core->float_free));
  case OP_FLW: case OP_FLD: {
    unsigned bytes = in->op == OP_FLD ? 8 : 4;
    uint64_t value = 0xffffffff00000000ull;
    t = later(later(t, ready[in->rs1]), later(core->f_ready[in->rd], core->float_free));
    address = x[in->rs1] + (uint64_t)(int64_t)in->imm;
    if (unlikely(!(p = at(core, address, bytes, RV64_READ)))) {
      stop = (int)rv64_fault_access(core, pc, address, bytes, RV64_READ);
      goto stopped;
    }
    memcpy(&value, p, bytes);
    t = data_load(core, pc, address, bytes, t);
    core->f[in->rd] = value;
    core->f_ready[in->rd] = t + 4;
    DONE;
  }

  case OP_BEQ:    BRANCH(x[in->rs1] == x[in->rs2]);
  case OP_BNE:    BRANCH(x[in->rs1] != x[in->rs2]);
  case OP_BLT:    BRANCH((int64_t)x[in->rs1] < (int64_t)x[in->rs2]);
  case OP_BGE:    BRANCH((int64_t)x[in->rs1] >= (int64_t)x[in->rs2]);
  case OP_BLTU:   BRANCH(x[in->rs1] < x[in->rs2]);
  case OP_BGEU:   BRANCH(x[in->rs1] >= x[in->rs2]);
    // clang-format on
  case OP_JAL:
    t = later(t, ready[in->rd]);
    core->fetch.dequeued[core->fetch.count & 7] = t;
    next = pc + (uint64_t)(int64_t)in->imm;
    x[in->rd] = pc + in->length;
    if (in->rd & 1) push_return(&core->predictor, pc + in->length);
    if (likely(is_code(core, next))) predicted_taken(core, in, (pc + in->length - 2) >> 1, next, t);
    t++;
    JUMPED(next);
  case OP_JALR:
    WAIT1;
    core->fetch.dequeued[core->fetch.count & 7] = t;
    next = (x[in->rs1] + (uint64_t)(int64_t)in->imm) & ~1ull;
    x[in->rd] = pc + in->length;
    ready[in->rd] = t + LINK_READY;
    if (likely(is_code(core, next))) jump_register(core, in, pc, next, t);
    t++;
    JUMPED(next);

  case OP_CUSTOM:
    if (!command(core, in, pc, &t)) goto faulted;
    DONE;
  case OP_FENCE:
    if (!fence(core, pc, &t)) goto faulted;
    DONE;
  case OP_FENCE_I:
    rv64_cache_clear(&core->icache);
    core->fetch.line = core->fetch.looked_from = UINT64_MAX;
    t = later(t, core->last_memory + STAGES_TO_WRITE_BACK + 1) + REPLAY_REFETCH - 1;
    DONE;
  case OP_CSRRW ... OP_CSRRCI:
    if ((stop = csr_access(core, in, pc, &t, n, &refetch)) != CONTINUE) goto stopped;
    if (refetch) {
      rv64_fetch_again(core, pc, t);
      if (is_code(core, pc + in->length)) redirect(core, pc + in->length, t + REPLAY_REFETCH, t);
    }
    DONE;
  case OP_LR ... OP_AMOMAXU:
    if (!atomic(core, in, pc, &t)) {
      stop = (int)rv64_fault_access(core, pc, x[in->rs1], 1u << in->format, in->op == OP_LR ? RV64_READ : RV64_WRITE);
      goto stopped;
    }
    DONE;

  case OP_FMADD ... OP_FMV_X_F:
    if (!rv64_float(core, in, &t)) {
      stop = (int)rv64_fault(core, pc, "illegal rounding mode %u in frm", core->frm);
      goto stopped;
    }
    DONE;

  case OP_ECALL:
    stop = (int)rv64_fault(core, pc, "system call (ecall): there is no operating system here");
    goto stopped;
  case OP_EBREAK: stop = (int)rv64_fault(core, pc, "breakpoint (ebreak): the program gave up here"); goto stopped;
  case OP_OUTSIDE: stop = (int)rv64_fault(core, pc, "ran past the end of the code"); goto stopped;
  case OP_ILLEGAL:
  case OP_COUNT:
    stop = (int)rv64_fault(core, pc, "illegal instruction 0x%0*" PRIx32, in->length * 2, (uint32_t)in->imm);
    goto stopped;
  }

jumped: /* t and n already count the jump; pc is still its own */
  if (unlikely(!is_code(core, next))) {
    stop = (int)rv64_fault_jump(core, pc, next);
    goto stopped;
  }
  pc = next;
  if (likely(t < core->checkpoint) || (stop = check_limits(core, pc, t, n)) == CONTINUE) goto next_instruction;
  goto stopped;

faulted:
  stop = RV64_FAULT;
stopped:
  core->result->pc = pc;
  if (stop == RV64_FAULT) finish(core, t, n);
  return (rv64_stop)stop;
}

/* ---- Set-up ---------------------------------------------------------------------------------------------- */

static tw_status make_code(rv64_core *core, tw_error *error) {
  uint64_t low = UINT64_MAX, high = 0;
  for (size_t i = 0; i < core->memory->n_regions; i++) {
    const rv64_region *r = &core->memory->region[i];
    if (!(r->rights & RV64_EXECUTE)) continue;
    if (r->base < low) low = r->base;
    if (r->base + r->size > high) high = r->base + r->size;
  }
  core->code_base = low & ~1ull;
  core->code_size = high - core->code_base;
  if (core->code_size > RV64_MEMORY_LIMIT)
    return tw_fail(error, TW_USAGE, "the program's sections of code are more than %llu bytes apart", RV64_MEMORY_LIMIT);
  core->code = calloc(core->code_size / 2 + 3, sizeof *core->code); /* and room to run past the end */
  return core->code ? TW_OK : tw_fail(error, TW_MISSING, "not enough host memory to decode the program");
}

static tw_status make_caches(rv64_core *core, tw_error *error) {
  const rv64_options *o = core->options;
  tw_status status = rv64_cache_make(&core->icache, "instruction", o->icache_bytes ? o->icache_bytes : 16384,
                                     o->icache_ways ? o->icache_ways : 4, error);
  if (status) return status;
  return rv64_cache_make(&core->dcache, "data", o->dcache_bytes ? o->dcache_bytes : 16384,
                         o->dcache_ways ? o->dcache_ways : 4, error);
}

tw_status rv64_run(const rv64_memory *memory, const rv64_ports *ports, const rv64_options *options, rv64_result *result,
                   tw_error *error) {
  static const rv64_options defaults = {0};
  *result = (rv64_result){0};
  rv64_core *core = calloc(1, sizeof *core);
  if (!core) return tw_fail(error, TW_MISSING, "not enough host memory for the core");
  core->memory = memory;
  core->ports = ports;
  core->options = options ? options : &defaults;
  core->result = result;
  core->fetch.line = core->fetch.looked_from = UINT64_MAX;
  core->x[2] = memory->stack_top;
  tw_status status = make_code(core, error);
  if (!status) status = make_caches(core, error);
  if (!status) {
    check_limits(core, memory->entry, 0, 0);
    result->stop = run(core, memory->entry);
    result->start_cycle = core->start_cycle;
    result->instruction_cache_misses = core->icache.misses;
    result->data_cache_misses = core->dcache.misses;
    result->branch_mispredicts = core->mispredicts;
  }
  rv64_cache_free(&core->icache);
  rv64_cache_free(&core->dcache);
  free(core->code);
  free(core);
  return status;
}
