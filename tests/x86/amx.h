/* amx.h - an emulator of AMX, so that its kernels are tested on CPUs without it.
 *
 * Their instructions raise SIGILL there; the handler computes what they would and goes on behind them. Encodings,
 * checks and arithmetic: Intel's manual, volume 2 (LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDPBF16PS,
 * TDPBSSD, TDPBUSD). What the machine would refuse with a fault ends the test with a line. */
#ifndef TW_TEST_AMX_H
#define TW_TEST_AMX_H

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "target/x86/cpu.h"

#if defined __x86_64__

enum { AMX_TILES = 8, AMX_ROWS = 16, AMX_BYTES = 64 };

typedef struct amx_tile {
  int rows, bytes;
  union {
    uint8_t u8[AMX_ROWS][AMX_BYTES];
    int8_t i8[AMX_ROWS][AMX_BYTES];
    uint16_t u16[AMX_ROWS][AMX_BYTES / 2];
    int32_t i32[AMX_ROWS][AMX_BYTES / 4];
    float f32[AMX_ROWS][AMX_BYTES / 4];
  } at;
} amx_tile;

static _Thread_local struct {
  bool configured;
  amx_tile tile[AMX_TILES];
} amx;

static _Noreturn void amx_fault(const char *what) {
  (void)!write(STDERR_FILENO, "AMX: ", 5);
  (void)!write(STDERR_FILENO, what, strlen(what));
  (void)!write(STDERR_FILENO, "\n", 1);
  abort();
}

static amx_tile *amx_at(int i) {
  if (i < 0 || i >= AMX_TILES) amx_fault("there is no such tile");
  if (!amx.configured) amx_fault("tiles are used before LDTILECFG");
  if (!amx.tile[i].rows || !amx.tile[i].bytes) amx_fault("a tile without shape is used");
  return &amx.tile[i];
}

static void amx_configure(const uint8_t *from) {
  memset(&amx, 0, sizeof amx);
  if (from[0] != 1) amx_fault("a palette other than 1");
  for (int i = 1; i < 16; i++)
    if (from[i]) amx_fault("a start row, or something reserved");
  for (int i = 0; i < AMX_TILES; i++) {
    uint16_t bytes;
    memcpy(&bytes, from + 16 + 2 * i, sizeof bytes);
    if (from[48 + i] > AMX_ROWS || bytes > AMX_BYTES || !from[48 + i] != !bytes) amx_fault("a shape that no tile has");
    amx.tile[i].rows = from[48 + i];
    amx.tile[i].bytes = bytes;
  }
  amx.configured = true;
}

static void amx_load(amx_tile *t, const uint8_t *from, int64_t stride) {
  memset(&t->at, 0, sizeof t->at);
  for (int r = 0; r < t->rows; r++) memcpy(t->at.u8[r], from + r * stride, (size_t)t->bytes);
}

static void amx_store(const amx_tile *t, uint8_t *to, int64_t stride) {
  for (int r = 0; r < t->rows; r++) memcpy(to + r * stride, t->at.u8[r], (size_t)t->bytes);
}

/* Subnormal numbers count as zero, and become zero. */
static float amx_flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static float amx_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float x;
  memcpy(&x, &wide, sizeof x);
  return amx_flushed(x);
}

/* What the manual's pseudo-code does to a sum for a unit of k: first the even products are added to each other over all
 * of k, and the odd ones, then both. */
static void amx_multiply_bf16(amx_tile *c, const amx_tile *a, const amx_tile *b) {
  for (int m = 0; m < c->rows; m++)
    for (int n = 0; n < c->bytes / 4; n++) {
      float even = 0, odd = 0;
      for (int k = 0; k < a->bytes / 4; k++) {
        even = amx_flushed(fmaf(amx_bf16(a->at.u16[m][2 * k]), amx_bf16(b->at.u16[k][2 * n]), even));
        odd = amx_flushed(fmaf(amx_bf16(a->at.u16[m][2 * k + 1]), amx_bf16(b->at.u16[k][2 * n + 1]), odd));
      }
      c->at.f32[m][n] = amx_flushed(amx_flushed(c->at.f32[m][n]) + amx_flushed(even + odd));
    }
}

static void amx_multiply_bytes(amx_tile *c, const amx_tile *a, const amx_tile *b, bool a_is_signed) {
  for (int m = 0; m < c->rows; m++)
    for (int k = 0; k < a->bytes / 4; k++)
      for (int n = 0; n < c->bytes / 4; n++) {
        uint32_t sum = (uint32_t)c->at.i32[m][n]; /* wraps around, as the machine's does */
        for (int i = 0; i < 4; i++) {
          const int x = a_is_signed ? a->at.i8[m][4 * k + i] : a->at.u8[m][4 * k + i];
          sum += (uint32_t)(x * b->at.i8[k][4 * n + i]);
        }
        c->at.i32[m][n] = (int32_t)sum;
      }
}

static void amx_multiply(int opcode, int prefix, int c_index, int a_index, int b_index) {
  enum { NONE, P66, PF3, PF2 };
  amx_tile *c = amx_at(c_index);
  const amx_tile *a = amx_at(a_index), *b = amx_at(b_index);
  if (c_index == a_index || c_index == b_index || a_index == b_index) amx_fault("a multiplication of one tile twice");
  if (a->rows != c->rows || a->bytes / 4 != b->rows || b->bytes != c->bytes) amx_fault("shapes that do not match");
  if (opcode == 0x5c && prefix == PF3)
    amx_multiply_bf16(c, a, b);
  else if (opcode == 0x5e && (prefix == P66 || prefix == PF2))
    amx_multiply_bytes(c, a, b, prefix == PF2);
  else
    amx_fault("a multiplication that is not emulated");
}

/* An instruction with three bytes of VEX: which registers and memory it names. */
typedef struct amx_instruction {
  int opcode, prefix, v, reg, rm; /* v: the tile in VEX.vvvv */
  bool in_memory;
  uint8_t *address;
  int64_t stride;
  size_t length;
} amx_instruction;

static int64_t amx_register(const greg_t *r, int i) {
  static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return r[order[i]];
}

static bool amx_decode(const uint8_t *at, const greg_t *r, amx_instruction *out) {
  const uint8_t *p = at;
  if (p[0] != 0xc4 || (p[1] & 31) != 2 || p[2] & 0x84) return false; /* VEX.128.0F38.W0 */
  const int x = p[1] & 0x40 ? 0 : 8, b = p[1] & 0x20 ? 0 : 8;
  *out =
      (amx_instruction){.opcode = p[3], .prefix = p[2] & 3, .v = ~p[2] >> 3 & 15, .reg = p[4] >> 3 & 7, .rm = p[4] & 7};
  const int mode = p[4] >> 6;
  p += 5;
  if (mode == 3) return out->length = (size_t)(p - at), true;
  out->in_memory = true;
  int64_t address = 0;
  int base = out->rm;
  if (out->rm == 4) {
    const int sib = *p++, index = (sib >> 3 & 7) + x;
    base = sib & 7;
    if (index != 4) out->stride = amx_register(r, index) << (sib >> 6);
  }
  const bool no_base = base == 5 && mode == 0;
  if (no_base && out->rm != 4) return false; /* relative to the instruction: not emulated */
  if (!no_base) address = amx_register(r, base + b);
  if (mode == 1) address += (int8_t)*p++;
  if (mode == 2 || no_base) {
    int32_t displacement;
    memcpy(&displacement, p, sizeof displacement);
    address += displacement;
    p += sizeof displacement;
  }
  out->address = (uint8_t *)(uintptr_t)address;
  out->length = (size_t)(p - at);
  return true;
}

static bool amx_run(const amx_instruction *i) {
  enum { NONE, P66, PF3, PF2 };
  if (i->opcode == 0x49 && i->prefix == NONE && i->in_memory)
    amx_configure(i->address + i->stride); /* an index is part of the address here */
  else if (i->opcode == 0x49 && i->prefix == NONE && i->reg == 0)
    memset(&amx, 0, sizeof amx);
  else if (i->opcode == 0x49 && i->prefix == PF2 && !i->in_memory)
    memset(&amx_at(i->reg)->at, 0, sizeof amx.tile[0].at);
  else if (i->opcode == 0x4b && (i->prefix == PF2 || i->prefix == P66) && i->in_memory && i->rm == 4)
    amx_load(amx_at(i->reg), i->address, i->stride);
  else if (i->opcode == 0x4b && i->prefix == PF3 && i->in_memory && i->rm == 4)
    amx_store(amx_at(i->reg), i->address, i->stride);
  else if ((i->opcode == 0x5c || i->opcode == 0x5e) && !i->in_memory)
    amx_multiply(i->opcode, i->prefix, i->reg, i->rm, i->v);
  else
    return false;
  return true;
}

static void amx_on_illegal(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  amx_instruction i;
  if (!amx_decode((const uint8_t *)(uintptr_t)r[REG_RIP], r, &i) || !amx_run(&i))
    amx_fault("not an instruction of AMX");
  r[REG_RIP] += (greg_t)i.length;
}

static bool amx_is_emulated;

/* cmocka sets a handler of its own before each test, with this function, which stands before the system's. */
__attribute__((visibility("default"))) void (*signal(int number, void (*handler)(int)))(int) {
  if (amx_is_emulated && number == SIGILL) return SIG_DFL;
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART}, old = {.sa_handler = SIG_DFL};
  return sigaction(number, &a, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* From main, before anything else: if TILEWRIGHT_TEST_EMULATE is "amx". Exit status 77, a skipped test, where the CPU
 * lacks the sets of vectors that the kernels need besides. (On a CPU with AMX nothing is illegal, and it computes
 * itself.) */
static void emulate_what_is_asked(void) {
  const char *what = getenv("TILEWRIGHT_TEST_EMULATE");
  if (!what || strcmp(what, "amx") != 0) return;
  const struct sigaction a = {.sa_sigaction = amx_on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGILL, &a, NULL);
  amx_is_emulated = true;
  x86_emulate_amx();
  if (!x86_this_cpu()->has[X86_AMX]) {
    puts("skipped: kernels of AMX also need AVX512-BF16, -VNNI and -VBMI");
    exit(77);
  }
}

#else
static void emulate_what_is_asked(void) {}
#endif

#endif
