/* test_rv64_timing.c - the core's clock, claim by claim. Each figure follows from rocket-chip's RTL, as cited in
 * src/target/gemmini/core/core.h; none is measured from the simulator. */
#include "rv64_program.h"

/* Cycles from the instruction before `body` to the one behind it, less one: what the body costs where the code is
 * in the cache and the branches are trained. The body runs six times; the last time counts. `setup` runs once. */
static const char timed_program[] = ".globl main\n"
                                    "main:\n"
                                    "  li s11, 6\n"
                                    "  la s10, C\n"
                                    "  %s\n"
                                    "  .p2align 6\n"
                                    "again:\n"
                                    "  .option push; .option norvc\n"
                                    "  nop; nop; nop; nop; nop\n"
                                    "  csrr s8, cycle\n"
                                    "  .option pop\n"
                                    "  %s\n"
                                    "  csrr s9, cycle\n"
                                    "  sub s9, s9, s8\n"
                                    "  sd s9, 0(s10)\n"
                                    "  addi s11, s11, -1\n"
                                    "  bnez s11, again\n"
                                    "  li a0, 0\n"
                                    "  ret\n"
                                    "  .section .operand.out.C, \"aw\", @nobits\n"
                                    "  .globl C\n"
                                    "C: .skip 4096\n"
                                    "  .text\n";

static uint64_t cycles_with(const char *setup, const char *body, const rv64_ports *ports) {
  rv64_memory memory;
  char text[8192];
  uint64_t cycles;
  assert_true((size_t)snprintf(text, sizeof text, timed_program, setup, body) < sizeof text);
  rv64_build_text("S", text, NULL, &memory);
  rv64_run_well(&memory, ports);
  memcpy(&cycles, rv64_region_named(&memory, "C")->host, sizeof cycles);
  rv64_memory_free(&memory);
  return cycles - 1;
}

static uint64_t cycles(const char *setup, const char *body) { return cycles_with(setup, body, NULL); }

#define X4(text) text text text text
#define X16(text) X4(X4(text))

static void integer_instructions_take_one_cycle(void **state) {
  assert_int_equal(cycles("", ""), 0);
  assert_int_equal(cycles("", X16("addi a0, a0, 1\n")), 16);
  assert_int_equal(cycles("", X16("slli a0, a1, 40\n xor a2, a0, a0\n")), 32);
  assert_int_equal(cycles("", ".option push\n.option norvc\n" X16("add a0, a0, a0\n") ".option pop\n"), 16);
}

/* The reader of a word waits one cycle, of a byte two. */
static void dependent_loads(void **state) {
  const char *setup = "la a1, C+64; sd a1, 0(a1)\n";
  assert_int_equal(cycles(setup, X16("ld a1, 0(a1)\n") "mv a2, a1\n"), 33);
  assert_int_equal(cycles(setup, X4("ld a2, 0(a1)\n ld a3, 0(a1)\n ld a4, 0(a1)\n ld a5, 0(a1)\n") "mv a6, a5\n"), 18);
  assert_int_equal(cycles(setup, X4("ld a2, 0(a1)\n")), 7); /* a second write of the same register waits too */
  assert_int_equal(cycles(setup, "lbu a2, 0(a1)\n mv a3, a2\n"), 4);
  assert_int_equal(cycles(setup, "lh a2, 0(a1)\n mv a3, a2\n"), 4);
  assert_int_equal(cycles(setup, "lw a2, 0(a1)\n nop\n mv a3, a2\n"), 3);
  assert_int_equal(cycles(setup, "lbu a2, 0(a1)\n nop\n nop\n mv a3, a2\n"), 4);
}

/* A load of bytes that a store has just written is replayed, unless the store had time to leave the buffer. */
static void loads_behind_stores(void **state) {
  const char *setup = "la a1, C+64; ld a2, 0(a1)\n";
  assert_int_equal(cycles(setup, "sd a3, 0(a1)\n ld a4, 0(a1)\n"), 2 + 5);
  assert_int_equal(cycles(setup, "sd a3, 0(a1)\n nop\n lw a4, 4(a1)\n"), 3 + 5);
  assert_int_equal(cycles(setup, "sd a3, 0(a1)\n nop\n nop\n ld a4, 0(a1)\n"), 4);
  assert_int_equal(cycles(setup, "sd a3, 0(a1)\n ld a4, 8(a1)\n"), 2);
  assert_int_equal(cycles(setup, "sw a3, 0(a1)\n lw a4, 4(a1)\n"), 2);
  assert_int_equal(cycles(setup, X16("sd a3, 0(a1)\n")), 16);
  /* what reads before it writes is there a cycle longer; sc counts as what reads */
  assert_int_equal(cycles(setup, "amoadd.d a2, a3, (a1)\n nop\n nop\n ld a4, 0(a1)\n"), 4 + 5);
  assert_int_equal(cycles(setup, "amoadd.d a2, a3, (a1)\n nop\n nop\n nop\n ld a4, 0(a1)\n"), 5);
  assert_int_equal(cycles(setup, "lr.d a5, (a1)\n sd a3, 8(a1)\n sc.d a4, a3, (a1)\n"), 3);
  assert_int_equal(cycles(setup, ".option norvc\n lr.d a5, (a1)\n sd a3, 0(a1)\n sc.d a4, a3, (a1)\n"), 3 + 5);
}

/* Eight bits a cycle, early out when the rest of rs1 is zero; the unit takes one operation at a time. */
static void multiplies(void **state) {
  assert_int_equal(cycles("li a1, 200; li a2, -1", "mul a3, a1, a2\n mv a4, a3\n"), 4 + 1);
  assert_int_equal(cycles("li a1, 0x1234; li a2, 7", "mul a3, a1, a2\n mv a4, a3\n"), 5 + 1);
  assert_int_equal(cycles("li a1, -1; li a2, 7", "mul a3, a1, a2\n mv a4, a3\n"), 10 + 1);
  assert_int_equal(cycles("li a1, 1; li a2, 7", "mulh a3, a1, a2\n mv a4, a3\n"), 10 + 1);
  assert_int_equal(cycles("li a1, -1; li a2, 7", "mulw a3, a1, a2\n mv a4, a3\n"), 6 + 1);
  assert_int_equal(cycles("li a1, 0; li a2, 7", "mulw a3, a1, a2\n mv a4, a3\n"), 3 + 1 + 1); /* behind itself */
  assert_int_equal(cycles("li a1, 200; li a2, 7", "mul a3, a1, a2\n nop\n nop\n nop\n"), 4);
  assert_int_equal(cycles("li a1, 200; li a2, 7", "mul a3, a1, a2\n mul a4, a1, a2\n"), 4 + 1);
}

/* The result waits while those in write-back write registers themselves: two instructions behind the multiply, WB two
 * and three cycles later, take the port that it wants in the fourth. */
static void results_of_multiplies_wait_for_the_write_port(void **state) {
  const char *setup = "li a1, 200; li a2, 7";
  assert_int_equal(cycles(setup, "mul a3, a1, a2\n sd a2, 8(s10)\n sd a2, 16(s10)\n mv a4, a3\n"), 4 + 1);
  assert_int_equal(cycles(setup, "mul a3, a1, a2\n nop\n sd a2, 8(s10)\n mv a4, a3\n"), 5 + 1);
  assert_int_equal(cycles(setup, "mul a3, a1, a2\n nop\n nop\n mv a4, a3\n"), 6 + 1);
  assert_int_equal(cycles(setup, "mul a3, a1, a2\n nop\n nop\n mul a4, a1, a1\n"), 6 + 1);
  assert_int_equal(cycles(setup, "mul a3, a1, a2\n sd a2, 8(s10)\n nop\n mv a4, a3\n"), 4 + 1);
}

/* A bit a cycle from the top bit of the dividend down to that of the divisor, and three more steps. */
static void divisions(void **state) {
  assert_int_equal(cycles("li a1, 1000; li a2, 7", "divu a3, a1, a2\n mv a4, a3\n"), 2 + 3 + (9 - 2) + 1);
  assert_int_equal(cycles("li a1, 1000; li a2, 7", "div a3, a1, a2\n mv a4, a3\n"), 2 + 3 + (9 - 2) + 1);
  assert_int_equal(cycles("li a1, -1000; li a2, 7", "div a3, a1, a2\n mv a4, a3\n"), 2 + 3 + (9 - 2) + 2 + 1);
  assert_int_equal(cycles("li a1, -1000; li a2, -7", "div a3, a1, a2\n mv a4, a3\n"), 2 + 3 + (9 - 2) + 1 + 1);
  assert_int_equal(cycles("li a1, -1; li a2, 1", "divu a3, a1, a2\n mv a4, a3\n"), 2 + 65 + 1);
  assert_int_equal(cycles("li a1, 5; li a2, 0", "divu a3, a1, a2\n mv a4, a3\n"), 2 + 65 + 1);
}

static void floating_point(void **state) {
  const char *setup = "li a1, 3; fcvt.d.l fa1, a1; fcvt.s.l fa2, a1; la a2, C+64; fsd fa1, 0(a2)\n";
  assert_int_equal(cycles(setup, "fadd.s fa3, fa2, fa2\n fadd.s fa4, fa3, fa2\n"), 4 + 1);
  assert_int_equal(cycles(setup, "fadd.d fa3, fa1, fa1\n fadd.d fa4, fa3, fa1\n"), 6 + 1);
  assert_int_equal(cycles(setup, "fmadd.d fa3, fa1, fa1, fa1\n fsd fa3, 0(a2)\n"), 6 + 1);
  assert_int_equal(cycles(setup, "fmv.x.d a3, fa1\n mv a4, a3\n"), 3 + 1);
  assert_int_equal(cycles(setup, "fld fa3, 0(a2)\n fsgnj.d fa4, fa3, fa3\n"), 4 + 1);
  assert_int_equal(cycles(setup, X16("fmul.s fa3, fa1, fa2\n nop\n nop\n nop\n")), 64);
  assert_int_equal(cycles(setup, "fdiv.d fa3, fa1, fa1\n fmv.x.d a3, fa3\n"), 58 + 1);
  assert_int_equal(cycles(setup, "fdiv.s fa3, fa2, fa2\n" X16("nop\n nop\n")), 33);
}

static void predicted_branches_are_free(void **state) {
  assert_int_equal(cycles("", "li a0, 50\n .p2align 2\n1: addi a0, a0, -1\n nop\n bnez a0, 1b\n nop\n") / 10,
                   (1 + 150 + 3 + 1) / 10); /* and one misprediction at the end */
  assert_int_equal(cycles("", ".option norvc\n j 1f\n nop\n1: j 2f\n nop\n2: nop\n"), 3);
  assert_int_equal(cycles("", ".option norvc\n beqz zero, 1f\n nop\n1: nop\n"), 2);
  assert_int_equal(cycles("", ".option norvc\n bnez zero, 1f\n nop\n1: nop\n"), 3);
}

/* A return goes where the stack of return addresses says; the link register of a jump-and-link is bypassed. */
static void calls_and_returns_are_free(void **state) {
  assert_int_equal(cycles("j 9f\n.option norvc\n.p2align 2\nf: nop\n ret\n9: mv s7, ra\n",
                          ".option norvc\n call f\n nop\n mv ra, s7\n"),
                   2 + 2 + 2);
}

/* Found in MEM, two cycles behind decode, and two cycles more to fetch: three bubbles. */
static void mispredictions_cost_three_cycles(void **state) {
  /* an indirect jump that goes somewhere else each time */
  assert_int_equal(cycles("la a1, 1f; la a2, 2f\n",
                          ".option norvc\n xor a3, a1, a2\n xor a1, a1, a3\n xor a2, a2, a3\n jr a1\n"
                          "1: nop\n j 3f\n2: nop\n nop\n3: nop\n"),
                   4 + 3 + 3);
}

/* A function whose return is in the first word is fetched before the call pushes its return address. So the predictor takes
 * the return address of the call before it. */
static void returns_of_one_word_functions_go_wrong(void **state) {
  const char *setup = "j 9f\n.p2align 2\nf: c.nop\n ret\n.option norvc\n9: mv s7, ra\n";
  assert_int_equal(cycles(setup, ".option norvc\n call f\n nop\n call f\n nop\n mv ra, s7\n"), 2 * 4 + 1 + 2 * 3);
}

/* A packet for which the queue has no room is in s2 with the data of the one before it: where those begin an
 * instruction of 32 bits and the target buffer knows a jump, it forgets all targets. Nearly all of twenty jumps to the
 * next word then cost a cycle. */
static void a_full_queue_can_forget_all_targets(void **state) {
  /* the last time through, decode waits ten cycles for the product, with five packets behind it */
  static const char text[] =
      ".option push\n.option norvc\n addi a3, s11, -1\n seqz a3, a3\n slli a3, a3, 62\n mul a2, a3, a4\n"
      " mv a6, a2\n nop\n nop\n nop\n %s\n .option rvc\n c.j 1f\n c.nop\n .option norvc\n"
      "1: .rept 20\n j .+4\n .endr\n .option pop\n";
  enum { INSTRUCTIONS = 10 + 20, WAIT = 9 };
  char body[512];
  snprintf(body, sizeof body, text, ".option rvc\n c.nop\n c.nop");
  assert_int_equal(cycles("li a4, 1\n", body), INSTRUCTIONS + 1 + WAIT);
  snprintf(body, sizeof body, text, "nop");
  assert_in_range(cycles("li a4, 1\n", body), INSTRUCTIONS + WAIT + 15, INSTRUCTIONS + WAIT + 20);
}

/* Results of an addition (3 cycles) and of a sign injection (2) behind it want the one port in the same cycle: the
 * second is fetched again. */
static void floating_point_results_take_turns(void **state) {
  const char *setup = ".option norvc\n fmv.w.x fa0, zero\n fmv.w.x fa1, zero\n";
  assert_int_equal(cycles(setup, ".option norvc\n fadd.s fa2, fa0, fa1\n nop\n fmv.s fa3, fa0\n nop\n"), 4);
  assert_int_equal(cycles(setup, ".option norvc\n fadd.s fa2, fa0, fa1\n fmv.s fa3, fa0\n nop\n nop\n"), 4 + 5);
}

static void writes_of_csrs_flush_the_pipeline(void **state) {
  assert_int_equal(cycles("", "csrr a1, instret\n mv a2, a1\n"), 3 + 1);
  assert_int_equal(cycles("", "csrwi fflags, 0\n nop\n"), 5 + 1);
  assert_int_equal(cycles("", "csrwi 0x8c2, 0\n nop\n"), 1 + 1);
}

/* A four-byte instruction that straddles two fetch words at the target of a jump comes a cycle later. */
static void straddling_targets_cost_a_bubble(void **state) {
  assert_int_equal(cycles("", ".option norvc\n j 1f\n .p2align 2\n .option rvc\n c.nop\n .option norvc\n1: lui a0, 1\n "
                              "nop\n .option rvc\n c.nop\n"),
                   1 + 1 + 3);
}

/* However far fetch is ahead: the buffer in front of decode takes one packet a cycle, and the first half of such an
 * instruction is alone in its packet. It moves up unseen only beside a compressed jump that is in the buffer. */
static void straddling_loops_lose_a_cycle_each_time(void **state) {
  static const char loop[] = "li a0, 50\n .option norvc\n .p2align 2\n .option rvc\n c.nop\n"
                             "1: .option norvc\n addi a0, a0, -1\n .option rvc\n c.nop\n c.nop\n c.nop\n c.nop\n";
  char body[256];
  snprintf(body, sizeof body, "%s .option norvc\n bnez a0, 1b\n nop\n", loop);
  assert_in_range(cycles("", body), 50 * 7, 50 * 7 + 10);
  snprintf(body, sizeof body, "%s c.bnez a0, 1b\n nop\n", loop);
  assert_in_range(cycles("", body), 50 * 6, 50 * 6 + 10);
}

/* ---- What leaves the core -------------------------------------------------------------------------------- */

enum { MAX_EVENTS = 4096 };
typedef struct machine {
  uint64_t latency;    /* of refills, to the last beat */
  uint64_t busy_until; /* the second command is taken from here on */
  int commands, events;
  bool stays; /* what is lost may still be read */
  struct {
    char kind;
    uint64_t cycle, line;
  } event[MAX_EVENTS];
} machine;

static void record(machine *m, char kind, uint64_t cycle, uint64_t line) {
  assert_true(m->events < MAX_EVENTS);
  m->event[m->events].kind = kind;
  m->event[m->events].cycle = cycle;
  m->event[m->events++].line = line;
}
static uint64_t refill(void *context, uint64_t cycle, uint64_t line, rv64_miss why) {
  machine *m = context;
  record(m, why == RV64_FETCH_MISS ? 'I' : why == RV64_RIGHT_MISS ? 'R' : 'D', cycle, line);
  return cycle + m->latency;
}
static void writeback(void *context, uint64_t cycle, uint64_t line) { record(context, 'W', cycle, line); }
static uint64_t command(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                        rv64_answer *answer, char why[256]) {
  machine *m = context;
  (void)instruction;
  if (rs1 == 99) {
    snprintf(why, 256, "unknown command %llu", (unsigned long long)rs2);
    return UINT64_MAX;
  }
  answer->value = rs1 + rs2;
  record(m, 'C', cycle, 0);
  return ++m->commands == 2 && cycle < m->busy_until ? m->busy_until : cycle;
}
static uint64_t fence(void *context, uint64_t cycle, char why[256]) {
  (void)why;
  record(context, 'F', cycle, 0);
  return cycle + 20;
}

static const machine idle = {.latency = 30};
#define PORTS(m)                                                                                                       \
  { .context = &(m), .command = command, .fence = fence, .refill = refill, .writeback = writeback }

#define COMMAND ".insn r 0x7b, 3, 5, x0, a1, a2\n"

static void commands_leave_one_a_cycle(void **state) {
  machine m = idle;
  rv64_ports ports = PORTS(m);
  assert_int_equal(cycles_with("li a1, 1; li a2, 2", X16(COMMAND), &ports), 16);
  int n = 0;
  for (int i = m.events - 1; i > 0 && n < 15; i--) {
    if (m.event[i].kind != 'C') continue;
    n++;
    assert_int_equal(m.event[i].cycle, m.event[i - 1].cycle + 1);
  }
  assert_int_equal(n, 15);
}

/* A fence waits until the last command has left the pipeline, then for the coprocessor. */
static void fences_wait(void **state) {
  machine m = idle;
  rv64_ports ports = PORTS(m);
  assert_int_equal(cycles_with("li a1, 1; li a2, 2", COMMAND "fence\n", &ports), 1 + 3 + 20 + 1);
  assert_int_equal(cycles_with("", "fence\n", &ports), 20 + 1);
}

static void a_command_that_waits_is_replayed(void **state) {
  static const char program[] =
      ".globl main\nmain: li a1, 1; li a2, 2\n .p2align 6\n li t0, 2\n1: csrr s8, cycle\n" COMMAND "csrr s9, cycle\n"
      "addi t0, t0, -1; bnez t0, 1b\n sub a0, s9, s8; la a1, C; sd a0, 0(a1); sd s8, 8(a1); li a0, 0; ret\n"
      ".section .operand.out.C, \"aw\", @nobits\nC: .skip 16\n";
  for (uint64_t wait = 0; wait < 20; wait++) {
    rv64_memory memory, first;
    machine m = idle;
    rv64_ports ports = PORTS(m);
    rv64_build_text("S", program, NULL, &memory);
    assert_true(rv64_memory_fork(&memory, &first));
    rv64_run_well(&first, &ports);
    uint64_t out[2];
    memcpy(out, rv64_region_named(&first, "C")->host, sizeof out);
    rv64_memory_free_fork(&first);
    /* the second command reaches write-back one cycle behind the csrr, whose value is its own write-back */
    m = idle;
    m.busy_until = out[1] + 1 + wait;
    rv64_run_well(&memory, &ports);
    memcpy(out, rv64_region_named(&memory, "C")->host, sizeof out);
    /* ready at c: issues at c + 1, but not before the replay is fetched, 5 cycles after it issued first, and one more
     * as it straddles two fetch words */
    uint64_t reissue = wait == 0 ? 0 : wait + 4 < 6 ? 6 : wait + 4;
    assert_int_equal(out[0], 2 + reissue);
    rv64_memory_free(&memory);
  }
}

static void a_refused_command_is_a_fault(void **state) {
  machine m = idle;
  rv64_ports ports = PORTS(m);
  rv64_memory memory;
  rv64_result result;
  rv64_build_text(
      "c",
      "int main(void) {\n __asm__ volatile(\".insn r 0x7b, 3, 5, x0, %0, %1\" :: \"r\"(99L), \"r\"(5L)); return 0; }",
      NULL, &memory);
  assert_int_equal(rv64_run(&memory, &ports, NULL, &result, NULL), TW_OK);
  assert_int_equal(result.stop, RV64_FAULT);
  assert_string_equal(result.why, "program.c:2: unknown command 5");
  rv64_memory_free(&memory);
}

static void results_of_commands_are_written(void **state) {
  machine m = idle;
  rv64_ports ports = PORTS(m);
  rv64_memory memory;
  rv64_build_text("c",
                  "int main(void) { long r; __asm__ volatile(\".insn r 0x7b, 7, 5, %0, %1, %2\" : \"=r\"(r) : "
                  "\"r\"(40L), \"r\"(2L));\n return r != 42; }",
                  NULL, &memory);
  rv64_run_well(&memory, &ports);
  rv64_memory_free(&memory);
}

/* Straight code asks for each line once, as soon as fetch comes to it (speculative refills are on). With the last
 * beat after 30 cycles, and 3 from there to s2, where the next line's miss shows after 16 packets, a line of 16
 * instructions takes 16 + 30 + 3 or one more. */
static void cold_code_fetches_line_by_line(void **state) {
  rv64_memory memory;
  machine m = idle;
  rv64_ports ports = PORTS(m);
  rv64_build_text("S", ".option norvc\n.globl main\nmain: .p2align 6\n" X16(X16("addi a1, a1, 1\n")) "li a0, 0\n ret\n",
                  NULL, &memory);
  rv64_result r = rv64_run_well(&memory, &ports);
  uint64_t last = 0;
  int lines = 0;
  for (int i = 2; i < m.events; i++) { /* the first is that of _start, the second of main */
    assert_int_equal(m.event[i].kind, 'I');
    assert_int_equal(m.event[i].line, m.event[1].line + 64 * (uint64_t)(i - 1));
    if (last) assert_in_range(m.event[i].cycle - last, 16 + 5 + 30 + 3, 16 + 5 + 30 + 4);
    last = m.event[i].cycle;
    lines++;
  }
  assert_int_equal(lines, 16); /* 15 more of 16 instructions and that of the return */
  assert_int_equal(r.instruction_cache_misses, (uint64_t)m.events);
  rv64_memory_free(&memory);
}

/* A load miss is asked for in WB and issues again with the last beat; a dirty line must leave first. */
static void data_misses_block(void **state) {
  rv64_memory memory;
  machine m = idle;
  rv64_ports ports = PORTS(m);
  rv64_build_text("S",
                  ".globl main\nmain: la a1, A; li a3, 0; li a2, 2\n .p2align 6\n"
                  "1: csrr s8, cycle; ld a0, 0(a1); csrr s9, cycle; li a1, 0; la a1, A; addi a1, a1, 8; addi a2, a2, "
                  "-1; bnez a2, 1b\n"
                  "la a1, C; sub s9, s9, s8; sd s9, 0(a1); csrr s8, cycle; ld a0, 64(a1); csrr s9, cycle; sub s9, s9, "
                  "s8; sd s9, 8(a1)\n"
                  "li a0, 0; ret\n"
                  ".section .operand.A, \"aw\", @nobits\n.p2align 6\nA: .skip 64\n"
                  ".section .operand.out.C, \"aw\", @nobits\n.p2align 6\nC: .skip 128\n",
                  NULL, &memory);
  rv64_run_well(&memory, &ports);
  uint64_t out[2];
  memcpy(out, rv64_region_named(&memory, "C")->host, sizeof out);
  assert_int_equal(out[0], 2);          /* a hit: the second pass */
  assert_int_equal(out[1], 2 + 3 + 30); /* WB, last beat */
  rv64_memory_free(&memory);
}

/* The first line that was refilled is taken away, once. */
static bool takes_the_first(void *context, uint64_t cycle, uint64_t *line, bool *stays) {
  machine *m = context;
  if (cycle < m->busy_until) return false;
  for (int i = 0; i < m->events; i++)
    if (m->event[i].kind == 'L') return false;
  for (int i = 0; i < m->events; i++) {
    if (m->event[i].kind != 'D') continue;
    *line = m->event[i].line;
    *stays = m->stays;
    record(m, 'L', cycle, *line);
    return true;
  }
  return false;
}
/* A line that the memory system takes away is missed again; of one that may only be read the right to write is asked
 * for. */
static void data_lines_can_be_taken_away(void **state) {
  static const struct {
    const char *body;
    bool stays;
    int again, rights;
  } of[] = {{COMMAND "ld a0, 0(sp); ld a0, 0(sp); ld a0, 0(sp)\n", false, 1, 0},
            {COMMAND "fence; ld a0, 0(sp); ld a0, 0(sp)\n", false, 1, 0},
            {COMMAND "ld a0, 0(sp); ld a0, 0(sp); ld a0, 0(sp)\n", true, 0, 0},
            {COMMAND "ld a0, 0(sp); sd a0, 0(sp); sd a0, 0(sp)\n", true, 0, 1},
            {COMMAND "fence; sd a0, 0(sp); ld a0, 0(sp)\n", true, 0, 1}};
  for (size_t b = 0; b < sizeof of / sizeof *of; b++) {
    machine m = idle;
    rv64_ports ports = PORTS(m);
    ports.lost = takes_the_first;
    m.busy_until = 300; /* behind what comes before the body */
    m.stays = of[b].stays;
    cycles_with("li a1, 1; li a2, 2; addi sp, sp, -64; sd zero, 0(sp); li s6, 400\n1: addi s6, s6, -1; bnez s6, 1b",
                of[b].body, &ports);
    uint64_t line = 0;
    int again = 0, rights = 0;
    for (int i = 0; i < m.events; i++) {
      if (m.event[i].kind == 'L') line = m.event[i].line;
      again += m.event[i].kind == 'D' && line && m.event[i].line == line;
      rights += m.event[i].kind == 'R' && m.event[i].line == line;
    }
    assert_int_equal(again, of[b].again);
    assert_int_equal(rights, of[b].rights);
  }
}

/* An access waits until the data cache has lost what was taken from it, here fifty cycles from the first one behind a
 * command. */
static uint64_t loses_for_50_cycles(void *context, uint64_t cycle) {
  machine *m = context;
  if (cycle >= m->busy_until + 20) m->busy_until = cycle + 50;
  return cycle < m->busy_until ? m->busy_until : 0;
}
static bool loses_nothing(void *context, uint64_t cycle, uint64_t *line, bool *stays) {
  (void)context, (void)cycle, (void)line, (void)stays;
  return false;
}
static void accesses_wait_while_lines_are_taken_away(void **state) {
  static const char *const body[] = {COMMAND "ld a0, 0(sp); nop; nop; nop; nop; fence\n",
                                     COMMAND "sd a0, 0(sp); nop; nop; nop; nop; fence\n"};
  const char *setup = "li a1, 1; li a2, 2; addi sp, sp, -64; sd zero, 0(sp)";
  for (int i = 0; i < 2; i++) {
    machine m = idle, slow = idle;
    rv64_ports ports = PORTS(m);
    const uint64_t at_once = cycles_with(setup, body[i], &ports);
    ports = (rv64_ports)PORTS(slow);
    ports.lost = loses_nothing;
    ports.loses_until = loses_for_50_cycles;
    assert_int_equal(cycles_with(setup, body[i], &ports), at_once + 50 + 2);
  }
}

/* Twelve instructions, then `tail`, at the start of a line of cold code; the next line begins behind 16. Returns the
 * difference of s9 and s8 at the end. */
static uint64_t at_the_end_of_a_line(const char *tail, machine *m) {
  rv64_memory memory;
  char text[4096];
  uint64_t cycles;
  snprintf(
      text, sizeof text,
      ".option norvc\n.globl main\nmain: la a1, C; li a2, 2\n .p2align 6\n" X4(
          "nop\n nop\n nop\n") "%s next: csrr s9, cycle\n sub s9, s9, s8; la a1, C; sd s9, 64(a1)\n li a0, 0\n ret\n"
                               ".section .operand.out.C, \"aw\", @nobits\n.p2align 6\nC: .skip 128\n",
      tail);
  rv64_ports ports = PORTS(*m);
  rv64_build_text("S", text, NULL, &memory);
  rv64_run_well(&memory, &ports);
  memcpy(&cycles, rv64_region_named(&memory, "C")->host + 64, sizeof cycles);
  rv64_memory_free(&memory);
  return cycles;
}

/* The load waits from its write-back on, csrr + 4, for 30 cycles, and goes on; only when the instruction behind the
 * line has been through the pipeline (5 cycles to its second fetch) is the next line asked for, had 3 cycles after its
 * last beat or one more. Were fetch to refill on speculation, both would be on their way at the same time. */
static void fetch_does_not_refill_ahead_of_a_load_that_waits(void **state) {
  machine m = idle;
  assert_in_range(at_the_end_of_a_line("csrr s8, cycle\n ld a0, 0(a1)\n nop\n nop\n", &m), 4 + 30 + 3 + 5 + 30 + 3 - 1,
                  4 + 30 + 3 + 5 + 30 + 4);
}

/* Until a misprediction is found, fetch goes the wrong way, here to the line behind a loop, and asks for nothing there:
 * the last pass, whose branch is predicted, finds it missing: csrr + 1 is the branch, + 2 the nop, + 3 the instruction
 * there. */
static void fetch_on_the_wrong_path_does_not_refill(void **state) {
  machine m = idle;
  assert_in_range(at_the_end_of_a_line("1: addi a2, a2, -1\n csrr s8, cycle\n bnez a2, 1b\n nop\n", &m), 3 + 5 + 30 + 3,
                  3 + 5 + 30 + 4);
}

/* A cache of four ways of one line each: five stores to lines of one set write back at least one. */
static void dirty_lines_are_written_back(void **state) {
  rv64_memory memory;
  machine m = idle;
  rv64_ports ports = PORTS(m);
  rv64_options options = {.dcache_bytes = 256, .dcache_ways = 4};
  rv64_result result;
  rv64_build_text("S",
                  ".globl main\nmain: la a1, C; li a2, 64\n1: sd a2, 0(a1); addi a1, a1, 64; addi a2, a2, -1; bnez a2, "
                  "1b; li a0, 0; ret\n"
                  ".section .operand.out.C, \"aw\", @nobits\n.p2align 6\nC: .skip 4096\n",
                  NULL, &memory);
  assert_int_equal(rv64_run(&memory, &ports, &options, &result, NULL), TW_OK);
  assert_int_equal(result.data_cache_misses, 64);
  int written = 0;
  for (int i = 0; i < m.events; i++) written += m.event[i].kind == 'W';
  assert_in_range(written, 60, 63);
  rv64_memory_free(&memory);
}

/* A direct-mapped cache of four lines: the load takes the place of the line that was just written, 12 cycles later than
 * the place of a clean one. */
static void a_dirty_line_leaves_first(void **state) {
  static const uint64_t expected[] = {2 + 3 + 30, 2 + 3 + 30 + 12}; /* a hit, WB, last beat; the dirty line */
  for (int dirty = 0; dirty < 2; dirty++) {
    rv64_memory memory;
    machine m = idle;
    rv64_ports ports = PORTS(m);
    rv64_options options = {.dcache_bytes = 256, .dcache_ways = 1};
    rv64_result result;
    char text[1024];
    uint64_t out;
    snprintf(text, sizeof text,
             ".globl main\nmain: la a1, C; li a2, 2\n .p2align 6\n"
             "1: %s a0, 0(a1); addi a2, a2, -1; csrr s8, cycle; ld a0, 256(a1); csrr s9, cycle; bnez a2, 1b\n"
             "sub s9, s9, s8; sd s9, 64(a1); li a0, 0; ret\n"
             ".section .operand.out.C, \"aw\", @nobits\n.p2align 8\nC: .skip 512\n",
             dirty ? "sd" : "ld");
    rv64_build_text("S", text, NULL, &memory);
    assert_int_equal(rv64_run(&memory, &ports, &options, &result, NULL), TW_OK);
    memcpy(&out, rv64_region_named(&memory, "C")->host + 64, sizeof out);
    assert_int_equal(out, expected[dirty]);
    rv64_memory_free(&memory);
  }
}

static void impossible_caches_are_refused(void **state) {
  rv64_memory memory;
  rv64_result result;
  tw_error error;
  static const rv64_ports none = {0};
  rv64_build_text("c", "int main(void) { return 0; }", NULL, &memory);
  static const rv64_options bad[] = {
      {.dcache_bytes = 1000}, {.icache_ways = 3}, {.icache_bytes = -1}, {.dcache_ways = -4}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(rv64_run(&memory, &none, &bad[i], &result, &error), TW_USAGE);
  rv64_memory_free(&memory);
}

static void the_same_program_takes_the_same_time(void **state) {
  rv64_result first = {0};
  for (int i = 0; i < 3; i++) {
    rv64_memory memory;
    machine m = idle;
    rv64_ports ports = PORTS(m);
    rv64_build_file("algorithms.c", NULL, &memory);
    rv64_result r = rv64_run_well(&memory, &ports);
    if (i) assert_memory_equal(&r, &first, sizeof r);
    first = r;
    rv64_memory_free(&memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integer_instructions_take_one_cycle),
      cmocka_unit_test(dependent_loads),
      cmocka_unit_test(loads_behind_stores),
      cmocka_unit_test(multiplies),
      cmocka_unit_test(results_of_multiplies_wait_for_the_write_port),
      cmocka_unit_test(divisions),
      cmocka_unit_test(floating_point),
      cmocka_unit_test(predicted_branches_are_free),
      cmocka_unit_test(calls_and_returns_are_free),
      cmocka_unit_test(mispredictions_cost_three_cycles),
      cmocka_unit_test(returns_of_one_word_functions_go_wrong),
      cmocka_unit_test(a_full_queue_can_forget_all_targets),
      cmocka_unit_test(floating_point_results_take_turns),
      cmocka_unit_test(writes_of_csrs_flush_the_pipeline),
      cmocka_unit_test(straddling_targets_cost_a_bubble),
      cmocka_unit_test(straddling_loops_lose_a_cycle_each_time),
      cmocka_unit_test(commands_leave_one_a_cycle),
      cmocka_unit_test(fences_wait),
      cmocka_unit_test(a_command_that_waits_is_replayed),
      cmocka_unit_test(a_refused_command_is_a_fault),
      cmocka_unit_test(results_of_commands_are_written),
      cmocka_unit_test(cold_code_fetches_line_by_line),
      cmocka_unit_test(data_misses_block),
      cmocka_unit_test(data_lines_can_be_taken_away),
      cmocka_unit_test(accesses_wait_while_lines_are_taken_away),
      cmocka_unit_test(fetch_does_not_refill_ahead_of_a_load_that_waits),
      cmocka_unit_test(fetch_on_the_wrong_path_does_not_refill),
      cmocka_unit_test(dirty_lines_are_written_back),
      cmocka_unit_test(a_dirty_line_leaves_first),
      cmocka_unit_test(impossible_caches_are_refused),
      cmocka_unit_test(the_same_program_takes_the_same_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
