/* run.c - the interpreter: executes instructions in program order and advances the clock of core.h.
 *
 * Instructions are decoded once, into one slot for each halfword of code (code is never writable). The clock `t`
 * is the earliest cycle at which the next instruction can leave decode; every case below first raises it to the
 * cycle at which its operands are ready (a pending write to rd waits too: Core 833-871), then computes, then says
 * when the result is ready if later than the next cycle. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "target/gemmini/core/access.h"
#include "target/gemmini/core/fetch.h"

enum { CHECK_INTERVAL = 1 << 16 }; /* cycles between two checks of the limits and the interrupt */

/* ---- Limits ---------------------------------------------------------------------------------------------- */

static int check_limits(rv64_core *core, uint64_t pc, uint64_t t, uint64_t instructions) {
  const rv64_options *o = core->options;
  uint64_t ran = t - core->start_cycle, executed = instructions - core->start_instructions;
  rv64_finish(core, t, instructions);
  if (o->max_cycles && t > o->max_cycles) {
    rv64_fault(core, pc, "still running after %" PRIu64 " cycles, the limit (%" PRIu64 " timed)", t, ran);
    return RV64_CYCLE_LIMIT;
  }
  if (o->max_instructions && instructions > o->max_instructions) {
    rv64_fault(core, pc, "still running after %" PRIu64 " instructions, the limit (%" PRIu64 " timed)", instructions,
               executed);
    return RV64_CYCLE_LIMIT;
  }
  if (tw_is_set(o->interrupt) || tw_is_stop_asked()) {
    rv64_fault(core, pc, "interrupted after %" PRIu64 " cycles", t);
    return RV64_INTERRUPTED;
  }
  /* at most one instruction issues in a cycle, so the limit on instructions is not missed either */
  uint64_t interval = CHECK_INTERVAL;
  if (o->max_instructions && o->max_instructions - instructions < interval)
    interval = o->max_instructions - instructions + 1;
  core->checkpoint = t + interval;
  if (o->max_cycles && core->checkpoint > o->max_cycles) core->checkpoint = o->max_cycles + 1;
  return RV64_CONTINUE;
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

/* The issue cycle of an instruction of the multiply-divide unit, which handles one at a time. */
static inline uint64_t unit_busy(rv64_core *core, uint64_t t, unsigned rd, unsigned latency) {
  core->divider_free = core->x_ready[rd] = t + latency;
  core->divider_rd = (uint8_t)rd;
  core->divider_waits = true;
  return t;
}

static inline void loads_before_a_fence(rv64_core *core, uint64_t pc, uint64_t address, unsigned size) {
  if (core->ports->load) core->ports->load(core->ports->context, pc, address, size);
}

/* Does the instruction take the integer registers' write port in WB (wb_ctrl.wxd: also with x0 as its target)? */
static bool writes_integer(const rv64_insn *in) {
  switch ((rv64_op)in->op) {
  case OP_BEQ ... OP_BGEU:
  case OP_SB ... OP_SD:
  case OP_FENCE ... OP_EBREAK:
  case OP_FSW ... OP_FMAX: return false;
  case OP_CUSTOM: return (uint32_t)in->imm >> 14 & 1;
  default: return true;
  }
}

/* The unit's result waits for a cycle in which the instruction in WB does not use the write port (Core:
 * div.io.resp.ready := !wb_wxd). `in` was issued at t. If it is in WB when the result is due, the result is one
 * cycle later. */
static void divider_meets(rv64_core *core, const rv64_insn *in, uint64_t t) {
  const uint64_t write_back = t + STAGES_TO_WRITE_BACK;
  if (write_back < core->divider_free) return;
  if (write_back == core->divider_free && writes_integer(in))
    core->x_ready[core->divider_rd] = ++core->divider_free;
  else
    core->divider_waits = false;
}

static rv64_stop run(rv64_core *core, uint64_t pc) {
  uint64_t *x = core->x, *ready = core->x_ready;
  rv64_insn *code = core->code;
  const uint64_t base = core->code_base;
  uint64_t t = 0, n = 0; /* clock; instructions retired */
  uint64_t address, next = 0;
  uint8_t *p;
  int stop = RV64_CONTINUE;
  bool refetch;

/* An instruction's end: it left decode at t. */
#define DONE                                                                                                           \
  do {                                                                                                                 \
    dequeue(&core->fetch, t);                                                                                          \
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
    dequeue(&core->fetch, t);                                                                                          \
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
    if (unlikely(core->unfenced)) loads_before_a_fence(core, pc, address, sizeof value);                               \
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
  rv64_insn *in = code; /* the previous instruction: none yet, and the divider does not wait */

next_instruction:
  if (unlikely(core->divider_waits)) divider_meets(core, in, t - 1);
  in = &code[(pc - base) >> 1];
  if (unlikely(!in->length)) rv64_decode_slot(core, in, pc);
  uint64_t packet = (pc + in->length - 1) >> 2;
  if (packet != core->fetch.packet) {
    /* the target of a jump that straddles two packets: the first only fills the instruction buffer (IBuf.scala) */
    if (unlikely(pc >> 2 == core->fetch.entered_late)) {
      t = later(t, core->fetch.available);
      dequeue(&core->fetch, t - core->fetch.entered_free);
      t += !core->fetch.entered_free;
    }
    fetch_packet(core, pc, packet, core->fetch.available + 1, t - 1);
  }
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
    if (unlikely(core->unfenced)) loads_before_a_fence(core, pc, address, bytes);
    t = data_load(core, pc, address, bytes, t);
    core->f[in->rd] = value;
    core->f_ready[in->rd] = t + FLOAT_LOAD_READY;
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
    dequeue(&core->fetch, t);
    next = pc + (uint64_t)(int64_t)in->imm;
    x[in->rd] = pc + in->length;
    if (in->rd & 1) push_return(core, pc + in->length, core->fetch.available);
    if (likely(rv64_is_code(core, next))) jump(core, in, pc, next, t);
    t++;
    JUMPED(next);
  case OP_JALR:
    WAIT1;
    dequeue(&core->fetch, t);
    next = (x[in->rs1] + (uint64_t)(int64_t)in->imm) & ~1ull;
    x[in->rd] = pc + in->length;
    ready[in->rd] = t + LINK_READY;
    if (likely(rv64_is_code(core, next))) jump_register(core, in, pc, next, t);
    t++;
    JUMPED(next);

  case OP_CUSTOM:
    if (!rv64_command(core, in, pc, &t)) goto faulted;
    DONE;
  case OP_FENCE:
    if (!rv64_fence(core, pc, &t)) goto faulted;
    DONE;
  case OP_FENCE_I:
    rv64_cache_clear(&core->icache);
    rv64_forget_lines(core);
    t = later(t, core->last_memory + STAGES_TO_WRITE_BACK + 1) + REPLAY_REFETCH - 1;
    DONE;
  case OP_CSRRW ... OP_CSRRCI:
    if ((stop = rv64_csr(core, in, pc, &t, n, &refetch)) != RV64_CONTINUE) goto stopped;
    if (refetch) {
      rv64_fetch_again(core, pc, t);
      if (rv64_is_code(core, pc + in->length)) redirect(core, pc + in->length, t + REPLAY_REFETCH, t);
    }
    DONE;
  case OP_LR ... OP_AMOMAXU:
    if (!rv64_atomic(core, in, pc, &t)) {
      stop = (int)rv64_fault_access(core, pc, x[in->rs1], 1u << in->format, in->op == OP_LR ? RV64_READ : RV64_WRITE);
      goto stopped;
    }
    DONE;

  case OP_FMADD ... OP_FMV_X_F:
    if (!rv64_float(core, in, pc, &t)) {
      stop = (int)rv64_fault(core, pc, "illegal rounding mode %u in frm", core->frm);
      goto stopped;
    }
    DONE;

  case OP_ECALL:
    stop = (int)rv64_fault(core, pc, "system call (ecall): unsupported; programs run without an operating system");
    goto stopped;
  case OP_EBREAK: stop = (int)rv64_fault(core, pc, "breakpoint (ebreak): the program aborted here"); goto stopped;
  case OP_OUTSIDE: stop = (int)rv64_fault(core, pc, "ran past the end of the code"); goto stopped;
  case OP_ILLEGAL:
  case OP_COUNT:
    stop = (int)rv64_fault(core, pc, "illegal instruction 0x%0*" PRIx32, in->length * 2, (uint32_t)in->imm);
    goto stopped;
  default: __builtin_unreachable();
  }

jumped: /* t and n already count the jump; pc is still the address of the jump */
  if (unlikely(!rv64_is_code(core, next))) {
    stop = (int)rv64_fault_jump(core, pc, next);
    goto stopped;
  }
  pc = next;
  if (likely(t < core->checkpoint) || (stop = check_limits(core, pc, t, n)) == RV64_CONTINUE) goto next_instruction;
  goto stopped;

faulted:
  stop = RV64_FAULT;
stopped:
  core->result->pc = pc;
  if (stop == RV64_FAULT) rv64_finish(core, t, n);
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
    return tw_fail(error, TW_USAGE, "the program's code sections are more than %llu bytes apart", RV64_MEMORY_LIMIT);
  core->code = calloc(core->code_size / 2 + 3, sizeof *core->code); /* a few entries more, for reads past the end */
  return core->code ? TW_OK : tw_fail(error, TW_NO_MEMORY, "not enough host memory to decode the program");
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
  if (!core) return tw_fail(error, TW_NO_MEMORY, "not enough host memory for the core");
  core->memory = memory;
  core->ports = ports;
  core->options = options ? options : &defaults;
  core->result = result;
  core->x[2] = memory->stack_top;
  rv64_predictor_make(&core->predictor);
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
