/* schedule.c - instruction sets and arithmetics by name, and the names of kernels. */
#include "target/x86/schedule.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  int lanes, registers;
} isas[X86_ISAS] = {
    [X86_PORTABLE] = {"portable", 4, 16},      [X86_AVX2] = {"avx2", 8, 16},
    [X86_AVXVNNI] = {"avxvnni", 8, 16},        [X86_AVX512] = {"avx512", 16, 32},
    [X86_AVX512VNNI] = {"avx512vnni", 16, 32}, [X86_AVX512BF16] = {"avx512bf16", 16, 32},
};

static const struct {
  const char *name;
  int group;
} arithmetics[X86_ARITHMETICS] = {
    [X86_F32] = {"f32", 1}, [X86_BF16] = {"bf16", 2}, [X86_S16] = {"s16", 2}, [X86_U8S8] = {"u8s8", 4}};

const char *x86_isa_name(x86_isa isa) { return isas[isa].name; }
const char *x86_arithmetic_name(x86_arithmetic a) { return arithmetics[a].name; }
int x86_isa_lanes(x86_isa isa) { return isas[isa].lanes; }
int x86_isa_registers(x86_isa isa) { return isas[isa].registers; }
int x86_group(x86_arithmetic a) { return arithmetics[a].group; }

bool x86_isa_parse(const char *name, x86_isa *out) {
  for (int i = 0; i < X86_ISAS; i++)
    if (strcmp(name, isas[i].name) == 0) return *out = (x86_isa)i, true;
  return false;
}

bool x86_arithmetic_parse(const char *name, x86_arithmetic *out) {
  for (int i = 0; i < X86_ARITHMETICS; i++)
    if (strcmp(name, arithmetics[i].name) == 0) return *out = (x86_arithmetic)i, true;
  return false;
}

char *x86_kernel_name(const x86_schedule *s, char buffer[X86_NAME]) {
  snprintf(buffer, X86_NAME, "%s-gemm-%dx%d-%s", arithmetics[s->arithmetic].name, s->rows,
           s->vectors * isas[s->isa].lanes, isas[s->isa].name);
  return buffer;
}

char *x86_kernel_symbol(const x86_schedule *s, char buffer[X86_NAME]) {
  x86_kernel_name(s, buffer);
  for (char *p = buffer; *p; p++)
    if (*p == '-') *p = '_';
  return buffer;
}
