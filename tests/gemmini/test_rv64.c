/* test_rv64.c - the RV64GC core: every instruction against its definition, faults, and the harness CSRs. */
#include "rv64_program.h"

#include <fenv.h>
#include <math.h>

#include "base/random.h"

/* ---- Integer instructions -------------------------------------------------------------------------------- */

typedef unsigned __int128 u128;
typedef uint64_t (*binary)(uint64_t, uint64_t);

static uint64_t sext(uint64_t x) { return (uint64_t)(int64_t)(int32_t)x; }
#define OPERATION(name, value)                                                                                         \
  static uint64_t name(uint64_t a, uint64_t b) {                                                                       \
    (void)a;                                                                                                           \
    (void)b;                                                                                                           \
    return (uint64_t)(value);                                                                                          \
  }
// clang-format off
OPERATION(op_add, a + b)
OPERATION(op_sub, a - b)
OPERATION(op_sll, a << (b % 64))
OPERATION(op_slt, (int64_t)a < (int64_t)b)
OPERATION(op_sltu, a < b)
OPERATION(op_xor, a ^ b)
OPERATION(op_srl, a >> (b % 64))
OPERATION(op_sra, (int64_t)a >> (b % 64))
OPERATION(op_or, a | b)
OPERATION(op_and, a & b)
OPERATION(op_addw, sext(a + b))
OPERATION(op_subw, sext(a - b))
OPERATION(op_sllw, sext((uint32_t)a << (b % 32)))
OPERATION(op_srlw, sext((uint32_t)a >> (b % 32)))
OPERATION(op_sraw, (int32_t)a >> (b % 32))
OPERATION(op_mul, a * b)
OPERATION(op_mulh, (u128)((__int128)(int64_t)a * (__int128)(int64_t)b) >> 64)
OPERATION(op_mulhsu, (u128)((__int128)(int64_t)a * (__int128)(u128)b) >> 64)
OPERATION(op_mulhu, (u128)a * b >> 64)
OPERATION(op_mulw, sext(a * b))
OPERATION(op_div, !b ? UINT64_MAX : a == 1ull << 63 && b == UINT64_MAX ? a : (uint64_t)((int64_t)a / (int64_t)b))
OPERATION(op_divu, !b ? UINT64_MAX : a / b)
OPERATION(op_rem, !b ? a : a == 1ull << 63 && b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b))
OPERATION(op_remu, !b ? a : a % b)
OPERATION(op_divw, !(uint32_t)b ? UINT64_MAX : sext((uint64_t)((int64_t)(int32_t)a / (int32_t)b)))
OPERATION(op_divuw, !(uint32_t)b ? UINT64_MAX : sext((uint32_t)a / (uint32_t)b))
OPERATION(op_remw, !(uint32_t)b ? sext(a) : sext((uint64_t)((int64_t)(int32_t)a % (int32_t)b)))
OPERATION(op_remuw, !(uint32_t)b ? sext(a) : sext((uint32_t)a % (uint32_t)b))
OPERATION(op_addi, a - 2048)
OPERATION(op_slti, (int64_t)a < -1)
OPERATION(op_sltiu, a < UINT64_MAX)
OPERATION(op_xori, ~a)
OPERATION(op_ori, a | 0x555)
OPERATION(op_andi, a & ~255ull)
OPERATION(op_slli, a << 63)
OPERATION(op_srli, a >> 63)
OPERATION(op_srai, (int64_t)a >> 63)
OPERATION(op_addiw, sext(a + 2047))
OPERATION(op_slliw, sext((uint32_t)a << 31))
OPERATION(op_srliw, (uint32_t)a >> 31)
OPERATION(op_sraiw, (int32_t)a >> 31)
OPERATION(op_lui, 0xffffffff80000000ull)

/* In the order of arithmetic.S. */
static const struct { const char *name; binary reference; } operations[] = {
#define ROW(name) { #name, op_##name }
  ROW(add), ROW(sub), ROW(sll), ROW(slt), ROW(sltu), ROW(xor), ROW(srl), ROW(sra), ROW(or), ROW(and), ROW(addw), ROW(subw),
  ROW(sllw), ROW(srlw), ROW(sraw), ROW(mul), ROW(mulh), ROW(mulhsu), ROW(mulhu), ROW(mulw), ROW(div), ROW(divu), ROW(rem),
  ROW(remu), ROW(divw), ROW(divuw), ROW(remw), ROW(remuw), ROW(addi), ROW(slti), ROW(sltiu), ROW(xori), ROW(ori), ROW(andi),
  ROW(slli), ROW(srli), ROW(srai), ROW(addiw), ROW(slliw), ROW(srliw), ROW(sraiw), ROW(lui),
};
// clang-format on
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

static const uint64_t corners[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   31,
                                   32,
                                   63,
                                   64,
                                   255,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xfffffffffffffffe,
                                   0xffffffffffffffff,
                                   0xffffffff80000000,
                                   0xffffffff7fffffff,
                                   0x123456789abcdef0};
enum { N_CORNERS = sizeof corners / sizeof *corners, PAIRS = N_CORNERS * N_CORNERS + 100 };

static void integer_instructions_agree_with_their_definition(void **state) {
  rv64_memory memory;
  char option[32];
  snprintf(option, sizeof option, "-DPAIRS=%d", PAIRS);
  rv64_build_file("arithmetic.S", option, &memory);
  uint64_t(*a)[2] = (void *)rv64_region_named(&memory, "A")->host;
  tw_random random;
  tw_random_seed(&random, 1);
  for (int i = 0; i < PAIRS; i++) {
    bool corner = i < N_CORNERS * N_CORNERS;
    a[i][0] = corner ? corners[i / N_CORNERS] : tw_random_next(&random) >> (i % 64);
    a[i][1] = corner ? corners[i % N_CORNERS] : tw_random_next(&random) >> (i * 7 % 64);
  }
  rv64_run_well(&memory, NULL);
  const uint64_t *c = (const uint64_t *)rv64_region_named(&memory, "C")->host;
  for (int op = 0; op < N_OPERATIONS; op++) {
    for (int i = 0; i < PAIRS; i++) {
      uint64_t want = operations[op].reference(a[i][0], a[i][1]), got = c[op * PAIRS + i];
      if (got != want)
        fail_msg("%s of 0x%llx and 0x%llx is 0x%llx, not 0x%llx", operations[op].name, (unsigned long long)a[i][0],
                 (unsigned long long)a[i][1], (unsigned long long)got, (unsigned long long)want);
    }
  }
  rv64_memory_free(&memory);
}

/* The same C, compiled for the host and for the core with and without compressed instructions. */
#include "data/rv64/algorithms.c"

static void compiled_programs_compute_what_the_host_computes(void **state) {
  static const char *const options[] = {"-march=rv64gc", "-march=rv64g", "-O0", "-O3", "-Os"};
  uint64_t want[ALGORITHM_RESULTS] = {0};
  algorithms(want);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    rv64_memory memory;
    rv64_build_file("algorithms.c", options[i], &memory);
    rv64_run_well(&memory, NULL);
    assert_memory_equal(rv64_region_named(&memory, "C")->host, want, sizeof want);
    rv64_memory_free(&memory);
  }
}

static void loads_and_stores_extend_and_truncate(void **state) {
  rv64_memory memory;
  rv64_build_text("S",
                  ".globl main\n"
                  "main: la a0, A; la a1, C\n"
                  "lb t0, 0(a0); sd t0, 0(a1); lbu t0, 0(a0); sd t0, 8(a1)\n"
                  "lh t0, 0(a0); sd t0, 16(a1); lhu t0, 0(a0); sd t0, 24(a1)\n"
                  "lw t0, 0(a0); sd t0, 32(a1); lwu t0, 0(a0); sd t0, 40(a1)\n"
                  "ld t0, 0(a0); sd t0, 48(a1); flw fa0, 0(a0); fsd fa0, 56(a1); fsw fa0, 64(a1)\n"
                  "sb t0, 72(a1); sh t0, 80(a1); sw t0, 88(a1)\n"
                  "addi a2, a0, 2000; lh t0, -2000(a2); sh t0, 96(a1)\n"
                  "li a0, 0; ret\n"
                  ".section .operand.A, \"aw\", @nobits\nA: .skip 8\n"
                  ".section .operand.out.C, \"aw\", @nobits\nC: .skip 104\n",
                  NULL, &memory);
  uint64_t a = 0x8182838485868788;
  memcpy(rv64_region_named(&memory, "A")->host, &a, 8);
  rv64_run_well(&memory, NULL);
  static const uint64_t want[] = {0xffffffffffffff88,
                                  0x88,
                                  0xffffffffffff8788,
                                  0x8788,
                                  0xffffffff85868788,
                                  0x85868788,
                                  0x8182838485868788,
                                  0xffffffff85868788,
                                  0x85868788,
                                  0x88,
                                  0x8788,
                                  0x85868788,
                                  0x8788};
  assert_memory_equal(rv64_region_named(&memory, "C")->host, want, sizeof want);
  rv64_memory_free(&memory);
}

static void atomics_return_the_old_value_and_store_the_new(void **state) {
  rv64_memory memory;
  rv64_build_text(
      "S",
      ".macro amo op, old, operand\n"
      "li t0, \\old; sd t0, 0(a1); li t1, \\operand; \\op t2, t1, (a1); sd t2, 8(a1); addi a1, a1, 16\n"
      ".endm\n"
      ".globl main\n"
      "main: la a1, C\n"
      "amo amoswap.d, 5, 7\namo amoadd.d, 5, -7\namo amoxor.d, 6, 3\namo amoand.d, 6, 3\namo amoor.d, 6, 3\n"
      "amo amomin.d, -1, 1\namo amomax.d, -1, 1\namo amominu.d, -1, 1\namo amomaxu.d, -1, 1\n"
      "amo amoadd.w, 0x1ffffffff, 1\namo amomin.w, 0x80000000, 1\namo amomaxu.w, 0x80000000, 1\n"
      "li t0, 9; sd t0, 0(a1); lr.d t1, (a1); addi t1, t1, 1; sc.d t2, t1, (a1); sd t2, 8(a1)\n"
      "sc.d t2, x0, (a1); sd t2, 16(a1)\n"
      "lr.w t1, (a1); addi a2, a1, 8; sc.w t2, x0, (a2); sd t2, 24(a1)\n"
      "li a0, 0; ret\n"
      ".section .operand.out.C, \"aw\", @nobits\nC: .skip 224\n",
      NULL, &memory);
  rv64_run_well(&memory, NULL);
  static const int64_t want[] = {7,           5,
                                 -2,          5,
                                 5,           6,
                                 2,           6,
                                 7,           6,
                                 -1,          -1,
                                 1,           -1,
                                 1,           -1,
                                 -1,          -1,
                                 0x100000000, -1,
                                 0x80000000,  -0x80000000ll,
                                 0x80000000,  -0x80000000ll,
                                 10,          0,
                                 1,           1};
  assert_memory_equal(rv64_region_named(&memory, "C")->host, want, sizeof want);
  rv64_memory_free(&memory);
}

/* ---- Floating-point instructions ------------------------------------------------------------------------- */

#define BOX 0xffffffff00000000ull
enum { NX = 1, UF = 2, OF = 4, DZ = 8, NV = 16, TRIPLES = 400, N_FLOAT_OPERATIONS = 58, PER_FORMAT = 26 };

static unsigned host_flags(void) {
  int e = fetestexcept(FE_ALL_EXCEPT);
  return (e & FE_INEXACT ? NX : 0u) | (e & FE_UNDERFLOW ? UF : 0u) | (e & FE_OVERFLOW ? OF : 0u) |
         (e & FE_DIVBYZERO ? DZ : 0u) | (e & FE_INVALID ? NV : 0u);
}

/* The reference: the host's IEEE arithmetic in the same rounding mode, NaNs replaced by the canonical one.
 * Volatile, so that nothing is computed at compile time. Only the instructions whose result the host's C can
 * produce with its flags; the others are in softfloat's own test. */
typedef struct outcome {
  uint64_t bits;
  unsigned flags;
  bool known;
} outcome;

static double as_double(uint64_t x) {
  double d;
  memcpy(&d, &x, 8);
  return d;
}
static float as_float(uint64_t x) {
  float f;
  uint32_t w = x >> 32 == 0xffffffff ? (uint32_t)x : 0x7fc00000;
  memcpy(&f, &w, 4);
  return f;
}
static uint64_t double_bits(double d) {
  uint64_t x;
  memcpy(&x, &d, 8);
  return isnan(d) ? 0x7ff8000000000000 : x;
}
static uint64_t float_bits(float f) {
  uint32_t x;
  memcpy(&x, &f, 4);
  return BOX | (isnan(f) ? 0x7fc00000 : x);
}

static outcome host_double(int op, const uint64_t *t) {
  volatile double a = as_double(t[0]), b = as_double(t[1]), c = as_double(t[2]), r;
  feclearexcept(FE_ALL_EXCEPT);
  switch (op) {
  case 0: r = a + b; break;
  case 1: r = a - b; break;
  case 2: r = a * b; break;
  case 3: r = a / b; break;
  case 4: r = sqrt(a); break;
  case 5: r = fma(a, b, c); break;
  case 6: r = fma(a, b, -c); break;
  case 7: r = fma(-a, b, -c); break;
  case 8: r = fma(-a, b, c); break;
  case 14: return (outcome){a == b, host_flags(), true};
  case 15: return (outcome){a < b, host_flags(), true};
  case 16: return (outcome){a <= b, host_flags(), true};
  case 24: r = (double)(int64_t)t[0]; break;
  case 22: r = (double)(int32_t)t[0]; break;
  case 23: r = (double)(uint32_t)t[0]; break;
  default: return (outcome){0, 0, false};
  }
  unsigned flags = host_flags();
  return (outcome){double_bits(r), flags, true};
}

static outcome host_float(int op, const uint64_t *t) {
  volatile float a = as_float(t[0]), b = as_float(t[1]), c = as_float(t[2]), r;
  feclearexcept(FE_ALL_EXCEPT);
  switch (op) {
  case 0: r = a + b; break;
  case 1: r = a - b; break;
  case 2: r = a * b; break;
  case 3: r = a / b; break;
  case 4: r = sqrtf(a); break;
  case 5: r = fmaf(a, b, c); break;
  case 6: r = fmaf(a, b, -c); break;
  case 7: r = fmaf(-a, b, -c); break;
  case 8: r = fmaf(-a, b, c); break;
  case 14: return (outcome){a == b, host_flags(), true};
  case 15: return (outcome){a < b, host_flags(), true};
  case 16: return (outcome){a <= b, host_flags(), true};
  case 24: r = (float)(int64_t)t[0]; break;
  default: return (outcome){0, 0, false};
  }
  unsigned flags = host_flags();
  return (outcome){float_bits(r), flags, true};
}

static uint64_t random_double(tw_random *random) {
  static const uint64_t special[] = {0,
                                     1ull << 63,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x7ff8000000000000,
                                     0x7ff0000000000001,
                                     1,
                                     0x000fffffffffffff,
                                     0x0010000000000000,
                                     0x7fefffffffffffff,
                                     0x3ff0000000000000,
                                     0xbff0000000000000,
                                     0x3ff0000000000001,
                                     0x4330000000000001};
  uint64_t bits = tw_random_next(random);
  switch (tw_random_below(random, 4)) {
  case 0: return special[tw_random_below(random, sizeof special / sizeof *special)];
  case 1: return (bits & ~(0x7ffull << 52)) | (1023 - 2 + tw_random_below(random, 5)) << 52; /* near one */
  case 2: return bits & ~((1ull << tw_random_below(random, 52)) - 1);                        /* few bits */
  default: return bits;
  }
}

static uint64_t random_float(tw_random *random) {
  uint64_t d = random_double(random);
  if (tw_random_below(random, 20) == 0) return d >> 1; /* not boxed */
  uint32_t sign = (uint32_t)(d >> 32) & 0x80000000, fraction = (uint32_t)(d >> 29) & 0x7fffff;
  uint32_t exponent = (uint32_t)(d >> 52) & 0x7ff;
  uint32_t e = exponent == 0x7ff ? 255 : exponent == 0 ? 0 : (exponent - 1023 + 127) & 255;
  if (e == 255 && exponent != 0x7ff) e = 254;
  if (exponent == 0x7ff && d & 0xfffffffffffff && !fraction) fraction = 1;
  return BOX | sign | e << 23 | fraction;
}

static void floating_point_agrees_with_the_host_in_every_rounding_mode(void **state) {
  static const struct {
    uint64_t riscv;
    int host;
  } modes[] = {{0, FE_TONEAREST}, {1, FE_TOWARDZERO}, {2, FE_DOWNWARD}, {3, FE_UPWARD}};
  rv64_memory memory;
  char option[32];
  snprintf(option, sizeof option, "-DTRIPLES=%d", TRIPLES);
  rv64_build_file("float.S", option, &memory);
  uint64_t(*a)[3] = (void *)rv64_region_named(&memory, "A")->host;
  const uint64_t(*c)[3] = (const void *)rv64_region_named(&memory, "C")->host;
  tw_random random;
  tw_random_seed(&random, 7);
  int compared = 0;
  for (int m = 0; m < 4; m++) {
    for (int i = 0; i < TRIPLES; i++)
      for (int j = 0; j < 3; j++) a[i][j] = i % 2 ? random_double(&random) : random_float(&random);
    memcpy(rv64_region_named(&memory, "ROUNDING")->host, &modes[m].riscv, 8);
    rv64_run_well(&memory, NULL);
    for (int op = 0; op < 2 * PER_FORMAT; op++) {
      for (int i = 0; i < TRIPLES; i++) {
        fesetround(modes[m].host);
        outcome want = op < PER_FORMAT ? host_float(op, a[i]) : host_double(op - PER_FORMAT, a[i]);
        fesetround(FE_TONEAREST);
        if (!want.known) continue;
        const uint64_t *got = c[op * TRIPLES + i];
        uint64_t bits = got[0] | got[1];
        if (bits != want.bits || got[2] != want.flags)
          fail_msg("operation %d of 0x%llx 0x%llx 0x%llx, mode %d: 0x%llx flags %d, not 0x%llx flags %u", op,
                   (unsigned long long)a[i][0], (unsigned long long)a[i][1], (unsigned long long)a[i][2], m,
                   (unsigned long long)bits, (int)got[2], (unsigned long long)want.bits, want.flags);
        compared++;
      }
    }
  }
  assert_int_equal(compared, 4 * TRIPLES * (13 + 15));
  rv64_memory_free(&memory);
}

/* ---- The harness CSRs ------------------------------------------------------------------------------------ */

static rv64_result run_c(const char *text, const rv64_options *options) {
  static const rv64_ports none = {0};
  rv64_memory memory;
  rv64_result result;
  tw_error error;
  rv64_build_text("c", text, NULL, &memory);
  assert_int_equal(rv64_run(&memory, &none, options, &result, &error), TW_OK);
  rv64_memory_free(&memory);
  return result;
}

#define CSR_WRITE "#define put(csr, value) __asm__ volatile(\"csrw \" #csr \", %0\" :: \"r\"(value))\n"

static void marks_time_what_is_between_them(void **state) {
  rv64_result r = run_c(CSR_WRITE "int main(void) { put(0x8c0, 0);\n"
                                  "__asm__ volatile(\".rept 10\\n nop\\n .endr\");\n put(0x8c1, 0); return 1; }",
                        NULL);
  assert_int_equal(r.stop, RV64_EXITED);
  assert_int_equal(r.instructions, 11); /* the first mark and ten nops */
  assert_true(r.cycles >= 11);
  assert_true(r.start_cycle > 0);
}

static void the_console_prints_escaped_and_cut(void **state) {
  rv64_result r = run_c(
      CSR_WRITE "int main(void) { const char *s = \"hi\\n\\\\\\001\"; while (*s) put(0x8c2, *s++); return 0; }", NULL);
  assert_string_equal(r.console, "hi\n\\\\\\x01");
  r = run_c(CSR_WRITE "int main(void) { for (int i = 0; i < 100000; i++) put(0x8c2, 'x'); return 0; }", NULL);
  assert_int_equal(r.stop, RV64_EXITED);
  assert_true(strlen(r.console) < sizeof r.console);
  assert_non_null(strstr(r.console, "xxx... (cut)"));
}

/* ---- Faults ---------------------------------------------------------------------------------------------- */

#define OPERANDS                                                                                                       \
  "__attribute__((section(\".operand.A,\\\"aw\\\",@nobits#\"))) int A[16];\n"                                          \
  "__attribute__((section(\".operand.out.C,\\\"aw\\\",@nobits#\"))) char C[100];\n"

static void every_fault_is_one_line_with_its_place(void **state) {
  static const struct {
    const char *program, *why;
  } cases[] = {
      {OPERANDS "int main(void) {\n C[0] = 1;\n *(volatile char *)&C[100] = 1;\n return A[0]; }",
       "program.c:5: store of 1 byte at 0x801000a4, 0 bytes past the end of C (100 bytes)"},
      {OPERANDS "int main(void) {\n *(volatile int *)(C + 96) = 1;\n return *(volatile int *)(A - 1); }",
       "program.c:5: load of 4 bytes at 0x800ffffc, 4 bytes before A"},
      {OPERANDS "int main(void) {\n A[3] = 7;\n return C[0]; }",
       "program.c:4: store of 4 bytes at 0x8010000c, byte 12 of A, which is read-only"},
      {OPERANDS "int main(void) {\n char *volatile p = C + 2; return *(volatile int *)p + A[0]; }",
       "program.c:4: misaligned load of 4 bytes at 0x80100042 (byte 2 of C)"},
      {"int main(void) {\n volatile int *p = 0;\n return *p; }",
       "program.c:3: load of 4 bytes at 0x0, through a null pointer"},
      {"const int table[4] = {1};\nint main(void) {\n *(volatile int *)table = 1;\n return 0; }", "which is read-only"},
      {"int main(void) {\n *(volatile int *)main = 1;\n return 0; }", ".text, which is read-only"},
      {"int f(int n) {\n volatile char a[1000]; a[0] = (char)n;\n return n ? f(n + 1) + a[0] : 0; }\nint main(void) { "
       "return f(1); }",
       "program.c:2: stack overflow: store at "},
      {"int main(void) {\n __asm__ volatile(\"unimp\"); return 0; }", "program.c:2: illegal instruction 0x0000"},
      {"int main(void) {\n __asm__ volatile(\".insn r 0x33, 7, 0x7f, x0, x0, x0\"); return 0; }",
       "program.c:2: illegal instruction 0xfe007033"},
      {"int main(void) {\n __asm__ volatile(\".insn r 0x7b, 0, 0, x0, x0, x0\"); return 0; }",
       "this machine has no coprocessor"},
      {"int main(void) {\n __builtin_trap(); }", "program.c:2: breakpoint (ebreak)"},
      {"int main(void) {\n __asm__ volatile(\"ecall\"); return 0; }", "program.c:2: system call (ecall)"},
      {"int main(void) {\n ((void (*)(void))0x1000)();\n return 0; }",
       "program.c:2: jump to 0x1000, which is not mapped, "},
      {"int data[4];\nint main(void) {\n ((void (*)(void))data)();\n return 0; }", "byte 0 of data, which is not code"},
      {"int main(void) {\n __asm__ volatile(\"csrr a0, mstatus\"); return 0; }", "read of CSR 0x300"},
      {"int main(void) {\n __asm__ volatile(\"csrwi cycle, 1\"); return 0; }", "write of CSR 0xc00"},
      {"int main(void) {\n __asm__ volatile(\"fsrmi 5\\n fadd.s fa0, fa0, fa0\"); return 0; }",
       "illegal rounding mode 5"},
      {"int main(void) {\n return 3; }", "the program ended with code 3"},
      {CSR_WRITE "int main(void) {\n put(0x8c0, 0);\n put(0x8c0, 0);\n return 0; }",
       "program.c:4: the kernel started the timer again"},
      {CSR_WRITE "int main(void) {\n put(0x8c1, 0);\n return 0; }",
       "program.c:3: the timer was stopped before it was started"},
      {CSR_WRITE "int main(void) {\n put(0x8c0, 0);\n return 0; }", "the program ended between the timing marks"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rv64_result r = run_c(cases[i].program, NULL);
    if (r.stop != RV64_FAULT || !strstr(r.why, cases[i].why) || strchr(r.why, '\n'))
      fail_msg("case %zu: stop %d, \"%s\", not \"%s\"", i, (int)r.stop, r.why, cases[i].why);
  }
}

static void endless_programs_are_stopped(void **state) {
  static const char endless[] = "int main(void) {\n for (volatile int i = 0;; i++) ; }";
  rv64_options options = {.max_cycles = 1000000};
  rv64_result r = run_c(endless, &options);
  assert_int_equal(r.stop, RV64_CYCLE_LIMIT);
  assert_non_null(strstr(r.why, "program.c:2: still running after"));
  assert_true(r.cycles > 1000000 && r.cycles < 1001000);

  options = (rv64_options){.max_instructions = 1000000};
  r = run_c(endless, &options);
  assert_int_equal(r.stop, RV64_CYCLE_LIMIT);
  assert_true(r.instructions > 1000000 && r.instructions < 1001000);

  volatile int interrupt = 1;
  options = (rv64_options){.interrupt = &interrupt};
  r = run_c(endless, &options);
  assert_int_equal(r.stop, RV64_INTERRUPTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integer_instructions_agree_with_their_definition),
      cmocka_unit_test(compiled_programs_compute_what_the_host_computes),
      cmocka_unit_test(loads_and_stores_extend_and_truncate),
      cmocka_unit_test(atomics_return_the_old_value_and_store_the_new),
      cmocka_unit_test(floating_point_agrees_with_the_host_in_every_rounding_mode),
      cmocka_unit_test(marks_time_what_is_between_them),
      cmocka_unit_test(the_console_prints_escaped_and_cut),
      cmocka_unit_test(every_fault_is_one_line_with_its_place),
      cmocka_unit_test(endless_programs_are_stopped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
