/* test_rv64_hostile.c - nothing in a program image or its code harms the host: damaged ELF files are refused or
 * run into a fault, and random instructions end in a fault or at a limit. Meant for the sanitizer build. */
#include "rv64_program.h"

#include <elf.h>

#include "base/files.h"
#include "base/random.h"

static uint64_t command(void *context, uint64_t cycle, uint32_t instruction, uint64_t rs1, uint64_t rs2,
                        rv64_answer *answer, char why[256]) {
  (void)context;
  answer->value = rs1 ^ rs2 ^ instruction;
  if (instruction >> 25 == 1) snprintf(why, 256, "no such command");
  return instruction >> 25 == 1 ? UINT64_MAX : cycle + (rs1 & 31);
}
static uint64_t refill(void *context, uint64_t cycle, uint64_t line, rv64_miss why) {
  (void)context;
  return cycle + (line >> 6 & 31) + (why == RV64_FETCH_MISS);
}
static const rv64_ports ports = {.command = command, .refill = refill};

static const char source[] = "__attribute__((section(\".operand.A,\\\"aw\\\",@nobits#\"))) long A[64];\n"
                             "__attribute__((section(\".operand.out.C,\\\"aw\\\",@nobits#\"))) long C[64];\n"
                             "static int table[4] = { 1, 2, 3, 4 };\n"
                             "int main(void) { for (int i = 0; i < 64; i++) C[i] = A[i] + table[i & 3]; return 0; }\n";

static void build(char **elf, size_t *size) {
  char *directory;
  tw_error error;
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  char *path = tw_path_join(directory, "program.c");
  assert_int_equal(tw_file_write(path, source, sizeof source - 1, &error), TW_OK);
  const char *const arguments[] = {RV64_DATA "/crt0.S", path, NULL};
  rv64_compile(arguments, elf, size);
  tw_directory_remove(directory);
  free(directory);
  free(path);
}

static bool is_one_line(const char *text) { return text[0] && !strchr(text, '\n'); }

/* Loads and, if that worked, runs a little. */
static bool survives(const void *elf, size_t size) {
  rv64_memory memory;
  tw_error error;
  rv64_options options = {.max_instructions = 2000};
  rv64_result result;
  tw_status status = rv64_memory_load(elf, size, "damaged.elf", &memory, &error);
  if (status) {
    assert_true(status == TW_USAGE || status == TW_NO_MEMORY);
    if (!is_one_line(error.text)) fail_msg("not one line: %s", error.text);
    return false;
  }
  status = rv64_run(&memory, &ports, &options, &result, &error);
  assert_true(status == TW_OK || status == TW_NO_MEMORY || status == TW_USAGE);
  if (!status && result.stop != RV64_EXITED && !is_one_line(result.why)) fail_msg("not one line: %s", result.why);
  rv64_memory_free(&memory);
  return true;
}

static void damaged_files_are_refused_or_run(void **state) {
  char *elf;
  size_t size;
  build(&elf, &size);
  assert_true(survives(elf, size));
  for (size_t cut = 0; cut < size; cut += 1 + cut / 16) { /* a file of exactly that size, so that reading on is seen */
    char *part = malloc(cut + !cut);
    memcpy(part, elf, cut);
    survives(part, cut);
    free(part);
  }
  Elf64_Ehdr header;
  memcpy(&header, elf, sizeof header);
  tw_random random;
  tw_random_seed(&random, 3);
  char *damaged = malloc(size);
  int loaded = 0;
  for (int i = 0; i < 1500; i++) {
    memcpy(damaged, elf, size);
    for (uint64_t n = 1 + tw_random_below(&random, 3); n; n--) {
      size_t tables = header.e_shnum * sizeof(Elf64_Shdr), at = 0;
      switch (tw_random_below(&random, 4)) {
      case 0: at = tw_random_below(&random, sizeof header); break;
      case 1:
      case 2: at = header.e_shoff + tw_random_below(&random, tables); break;
      default: at = tw_random_below(&random, size); break;
      }
      if (at < size) damaged[at] = (char)tw_random_next(&random);
    }
    loaded += survives(damaged, size);
  }
  assert_in_range(loaded, 100, 1400); /* both kinds were tried */
  free(damaged);
  free(elf);
}

static void a_program_larger_than_the_memory_is_refused(void **state) {
  char *elf;
  size_t size;
  build(&elf, &size);
  Elf64_Ehdr header;
  memcpy(&header, elf, sizeof header);
  Elf64_Shdr *sections = (Elf64_Shdr *)(elf + header.e_shoff), *last = NULL;
  for (int i = 0; i < header.e_shnum; i++)
    if ((sections[i].sh_flags & SHF_ALLOC) && (!last || sections[i].sh_addr > last->sh_addr)) last = &sections[i];
  assert_non_null(last);
  last->sh_size = RV64_MEMORY_LIMIT - (2 << 20);
  assert_true(survives(elf, size)); /* costs nothing until it is touched */
  last->sh_size = RV64_MEMORY_LIMIT;
  rv64_memory memory;
  tw_error error;
  assert_int_equal(rv64_memory_load(elf, size, "large.elf", &memory, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "large.elf needs"));
  last->sh_size = UINT64_MAX;
  assert_int_equal(rv64_memory_load(elf, size, "large.elf", &memory, &error), TW_USAGE);
  free(elf);
}

static void what_is_no_program_is_refused_in_a_line(void **state) {
  rv64_memory memory;
  tw_error error;
  assert_int_equal(rv64_memory_load("", 0, "empty", &memory, &error), TW_USAGE);
  assert_string_equal(error.text, "empty is not an ELF file");
  char *own;
  size_t size;
  assert_int_equal(tw_file_read("/proc/self/exe", RV64_MEMORY_LIMIT, &own, &size, &error), TW_OK);
  assert_int_equal(rv64_memory_load(own, size, "own", &memory, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "is not for RISC-V"));
  free(own);
}

/* A random instruction that is mostly legal: a random opcode with random fields, or half of one. */
static uint32_t random_instruction(tw_random *random) {
  static const uint8_t opcodes[] = {0x03, 0x07, 0x0b, 0x0f, 0x13, 0x13, 0x17, 0x1b, 0x23, 0x27, 0x2f, 0x33, 0x33, 0x37,
                                    0x3b, 0x43, 0x47, 0x4b, 0x4f, 0x53, 0x53, 0x63, 0x63, 0x67, 0x6f, 0x73, 0x7b};
  uint32_t word = (uint32_t)tw_random_next(random);
  if (tw_random_below(random, 4) == 0) return word; /* often compressed */
  word = (word & ~0x7fu) | opcodes[tw_random_below(random, sizeof opcodes)];
  switch (word & 0x7f) {
  case 0x33:
  case 0x3b: word &= tw_random_below(random, 2) ? 0x01ffffff : 0x43ffffff; break;
  case 0x03:
  case 0x23:
  case 0x07:
  case 0x27: word &= 0x03f0ffff | 3u << 15; break; /* small offset from x0 to x3 */
  case 0x63: word &= 0x00fff2ff; break;            /* short forwards and backwards */
  case 0x73: word = (word & 0x000fffff) | (uint32_t)tw_random_below(random, 4) << 20; break;
  default: break;
  }
  return word;
}

static void random_instructions_end_in_a_fault_or_at_a_limit(void **state) {
  char *elf;
  size_t size;
  tw_error error;
  build(&elf, &size);
  rv64_memory loaded;
  assert_int_equal(rv64_memory_load(elf, size, "random.elf", &loaded, &error), TW_OK);
  rv64_region *text = rv64_region_named(&loaded, ".text"); /* not writable, so forks share it */
  tw_random random;
  tw_random_seed(&random, 11);
  uint64_t executed = 0;
  int stops[4] = {0};
  for (int i = 0; i < 4000; i++) {
    rv64_memory memory;
    assert_true(rv64_memory_fork(&loaded, &memory));
    for (uint64_t at = 4; at + 4 <= text->size; at += 4) { /* keeps the auipc that sets gp, which points to data */
      uint32_t word = random_instruction(&random);
      memcpy(text->host + at, &word, 4);
    }
    rv64_options options = {
        .max_cycles = 20000, .icache_bytes = 256, .icache_ways = 2, .dcache_bytes = 128, .dcache_ways = 1};
    rv64_result result;
    assert_int_equal(rv64_run(&memory, &ports, &options, &result, &error), TW_OK);
    stops[result.stop]++;
    executed += result.instructions;
    if (result.stop != RV64_EXITED && !is_one_line(result.why)) fail_msg("not one line: %s", result.why);
    rv64_memory_free_fork(&memory);
  }
  assert_true(stops[RV64_FAULT] > 1000);
  assert_true(executed > 20000);
  rv64_memory_free(&loaded);
  free(elf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_files_are_refused_or_run),
      cmocka_unit_test(a_program_larger_than_the_memory_is_refused),
      cmocka_unit_test(what_is_no_program_is_refused_in_a_line),
      cmocka_unit_test(random_instructions_end_in_a_fault_or_at_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
