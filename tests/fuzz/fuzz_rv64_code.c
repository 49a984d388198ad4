/* fuzz_rv64_code.c - any bytes as code: runs until it faults, exits or meets a limit, and harms nothing.
 *
 * The bytes become the code of an ELF file that has an input and an output operand beside it. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/core/rv64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CODE_LIMIT = 4096, CODE = 0x10000, INPUT = 0x20000, OUTPUT = 0x21000, OPERAND_BYTES = 100 };

static const char names[] = "\0.text\0.operand.A\0.operand.out.C\0.names";

typedef struct image {
  Elf64_Ehdr header;
  Elf64_Shdr section[5];
  char names[sizeof names];
  uint8_t code[CODE_LIMIT];
} image;

static Elf64_Shdr section(unsigned name, unsigned type, uint64_t flags, uint64_t address, uint64_t offset,
                          uint64_t size) {
  return (Elf64_Shdr){.sh_name = name,
                      .sh_type = type,
                      .sh_flags = flags,
                      .sh_addr = address,
                      .sh_offset = offset,
                      .sh_size = size,
                      .sh_addralign = 1};
}

static void make_image(image *im, const uint8_t *data, size_t size) {
  memset(im, 0, sizeof *im);
  memcpy(im->header.e_ident, ELFMAG, SELFMAG);
  im->header.e_ident[EI_CLASS] = ELFCLASS64;
  im->header.e_ident[EI_DATA] = ELFDATA2LSB;
  im->header.e_ident[EI_VERSION] = EV_CURRENT;
  im->header.e_type = ET_EXEC;
  im->header.e_machine = EM_RISCV;
  im->header.e_version = EV_CURRENT;
  im->header.e_entry = CODE;
  im->header.e_shoff = offsetof(image, section);
  im->header.e_ehsize = sizeof im->header;
  im->header.e_shentsize = sizeof *im->section;
  im->header.e_shnum = 5;
  im->header.e_shstrndx = 4;
  im->section[1] = section(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE, offsetof(image, code), size);
  im->section[2] = section(7, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, INPUT, 0, OPERAND_BYTES);
  im->section[3] = section(18, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, OUTPUT, 0, OPERAND_BYTES);
  im->section[4] = section(33, SHT_STRTAB, 0, 0, offsetof(image, names), sizeof names);
  memcpy(im->names, names, sizeof names);
  memcpy(im->code, data, size);
}

static uint64_t command(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                        rv64_answer *answer, char why[256]) {
  (void)context, (void)why;
  answer->value = rs1 ^ rs2 ^ instruction;
  return cycle + (rs1 & 15);
}
static uint64_t refill(void *context, uint64_t cycle, uint64_t line, rv64_miss why) {
  (void)context, (void)why;
  return cycle + (line >> 6 & 31);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const rv64_ports ports = {.command = command, .refill = refill};
  static const rv64_options options = {
      .max_cycles = 50000, .icache_bytes = 256, .icache_ways = 2, .dcache_bytes = 256, .dcache_ways = 2};
  static image im;
  rv64_memory memory;
  rv64_result result;
  tw_error error = {0};
  if (size < 2 || size > CODE_LIMIT) return 0;
  make_image(&im, data, size);
  if (rv64_memory_load(&im, sizeof im, "code", &memory, &error)) abort();
  if (!rv64_region_named(&memory, "A") || !rv64_region_named(&memory, "C")) abort();
  if (rv64_run(&memory, &ports, &options, &result, &error)) abort();
  if (result.stop != RV64_EXITED && (!result.why[0] || strchr(result.why, '\n'))) abort();
  for (int i = 0; i < OPERAND_BYTES; i++) /* the program cannot write its input */
    if (rv64_region_named(&memory, "A")->host[i]) abort();
  rv64_memory_free(&memory);
  return 0;
}
