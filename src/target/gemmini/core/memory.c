/* memory.c - a program image: from an ELF executable to regions of host memory.
 *
 * Regions are made from the sections, not from the program headers: a section ends at its last byte, a segment at a
 * page, and an access one byte beyond an array must fault. The file is untrusted (its source may be); every number from
 * it is checked before use, and an error is one line. ELF: System V gABI 4.1 and the RISC-V psABI 1.0. */
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/strings.h"
#include "target/gemmini/core/internal.h"
#include "target/gemmini/core/rv64.h"

#define OPERAND_PREFIX ".operand."
#define OUTPUT_PREFIX ".operand.out."
#define HARNESS_PREFIX ".harness" /* its table follows the outputs: a store past the end of an output must fault */
/* Addresses above this are refused: the machine's physical address space is far smaller, and sums of two such
 * addresses cannot wrap. */
#define ADDRESS_LIMIT (1ull << 40)
/* Unmapped space below the stack; a local array of up to this size is still reported as a stack overflow. */
#define STACK_GUARD_BYTES (64ull << 20)
/* Data sections other than operands are read by whole words (strlen of the C library reads aligned 8 bytes), so
 * their regions end at a multiple of this. */
#define WORD_ROUNDING 16ull

static bool starts_with(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

static int by_address(const void *a, const void *b) {
  const rv64_region *x = a, *y = b;
  return x->base < y->base ? -1 : x->base > y->base;
}

/* Rejects files that are not ELF64 little-endian RISC-V executables. */
static const char *check_header(Elf *elf, GElf_Ehdr *header) {
  if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, header)) return "is not an ELF file";
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return "is not a 64-bit little-endian ELF file";
  if (header->e_machine != EM_RISCV) return "is not for RISC-V";
  if (header->e_type != ET_EXEC) return "is not an executable linked at a fixed address (link with -static -no-pie)";
  return NULL;
}

static rv64_region *append_region(rv64_memory *memory, const char *name, uint64_t base, uint64_t size,
                                  unsigned rights) {
  rv64_region *grown = realloc(memory->region, (memory->n_regions + 1) * sizeof *grown);
  if (!grown) return NULL;
  memory->region = grown;
  rv64_region *r = &grown[memory->n_regions];
  *r = (rv64_region){.name = strdup(name), .base = base, .size = size, .rights = rights};
  if (!r->name) return NULL;
  memory->n_regions++;
  return r;
}

static tw_status refuse(const rv64_image *image, tw_error *error, const char *why) {
  return tw_fail(error, TW_USAGE, "%s %s", image->name, why);
}

static tw_status no_memory(const rv64_image *image, tw_error *error) {
  return tw_fail(error, TW_NO_MEMORY, "%s: not enough host memory for the program's memory", image->name);
}

static bool is_loaded(const GElf_Shdr *s) {
  bool is_tls_zero = (s->sh_flags & SHF_TLS) && s->sh_type == SHT_NOBITS; /* has no place of its own */
  return (s->sh_flags & SHF_ALLOC) && s->sh_size && !is_tls_zero;
}

static tw_status add_section(rv64_memory *memory, const char *name, const GElf_Shdr *s, tw_error *error) {
  rv64_image *image = memory->image;
  if (s->sh_addr > ADDRESS_LIMIT || s->sh_size > ADDRESS_LIMIT)
    return tw_fail(error, TW_USAGE, "%s: section %s is outside of the machine's address space", image->name, name);
  if (s->sh_size > RV64_MEMORY_LIMIT)
    return tw_fail(error, TW_USAGE, "%s: section %s needs %" PRIu64 " bytes; the simulated memory ends at %llu",
                   image->name, name, (uint64_t)s->sh_size, RV64_MEMORY_LIMIT);
  if (s->sh_type != SHT_NOBITS && (s->sh_offset > image->size || s->sh_size > image->size - s->sh_offset))
    return tw_fail(error, TW_USAGE, "%s: section %s reaches beyond the end of the file", image->name, name);
  unsigned rights = RV64_READ;
  uint64_t size = s->sh_size;
  if (starts_with(name, OUTPUT_PREFIX)) {
    rights |= RV64_WRITE;
    name += strlen(OUTPUT_PREFIX);
  } else if (starts_with(name, OPERAND_PREFIX)) {
    name += strlen(OPERAND_PREFIX);
  } else {
    if (s->sh_flags & SHF_WRITE && !starts_with(name, HARNESS_PREFIX)) rights |= RV64_WRITE;
    if (s->sh_flags & SHF_EXECINSTR) rights |= RV64_EXECUTE;
    if ((rights & RV64_WRITE) && (rights & RV64_EXECUTE))
      return tw_fail(error, TW_USAGE, "%s: section %s is writable and executable; self-modifying code is not supported",
                     image->name, name);
    if (!(rights & RV64_EXECUTE)) size = (size + WORD_ROUNDING - 1) & ~(WORD_ROUNDING - 1);
  }
  return append_region(memory, name, s->sh_addr, size, rights) ? TW_OK : no_memory(image, error);
}

void rv64_make_printable(char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < ' ' || *text == 127) *text = '?';
}

static tw_status add_sections(rv64_memory *memory, tw_error *error) {
  rv64_image *image = memory->image;
  size_t names;
  if (elf_getshdrstrndx(image->elf, &names)) return refuse(image, error, "has no section names");
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
    GElf_Shdr s;
    if (!gelf_getshdr(scn, &s)) return refuse(image, error, "has a damaged section table");
    if (!is_loaded(&s)) continue;
    const char *name = elf_strptr(image->elf, names, s.sh_name);
    char clean[256];
    snprintf(clean, sizeof clean, "%s", name ? name : "?");
    rv64_make_printable(clean);
    tw_status status = add_section(memory, clean, &s, error);
    if (status) return status;
  }
  return memory->n_regions ? TW_OK : refuse(image, error, "has no sections to load");
}

/* Undoes overlaps that rounding made and rejects other overlaps. Counts all bytes. */
static tw_status check_layout(rv64_memory *memory, tw_error *error) {
  rv64_image *image = memory->image;
  uint64_t total = RV64_STACK_BYTES;
  for (size_t i = 0; i < memory->n_regions; i++) {
    rv64_region *r = &memory->region[i];
    if (i + 1 < memory->n_regions && r->base + r->size > r[1].base) {
      uint64_t room = r[1].base - r->base;
      if (r->size - room >= WORD_ROUNDING || room == 0)
        return tw_fail(error, TW_USAGE, "%s: sections %s and %s overlap", image->name, r->name, r[1].name);
      r->size = room;
    }
    total += r->size;
  }
  if (total > RV64_MEMORY_LIMIT)
    return tw_fail(error, TW_USAGE, "%s needs %" PRIu64 " bytes of memory; the simulated machine has %llu", image->name,
                   total, RV64_MEMORY_LIMIT);
  return TW_OK;
}

static tw_status add_stack(rv64_memory *memory, tw_error *error) {
  rv64_region *last = &memory->region[memory->n_regions - 1];
  uint64_t base = (last->base + last->size + STACK_GUARD_BYTES + 4095) & ~4095ull;
  memory->stack_top = base + RV64_STACK_BYTES;
  return append_region(memory, "stack", base, RV64_STACK_BYTES, RV64_READ | RV64_WRITE)
             ? TW_OK
             : no_memory(memory->image, error);
}

/* Copies the initialized data of the file. `regions` may have been cut by check_layout, hence the minimum. */
static void copy_contents(rv64_memory *memory) {
  rv64_image *image = memory->image;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
    GElf_Shdr s;
    if (!gelf_getshdr(scn, &s) || !is_loaded(&s) || s.sh_type == SHT_NOBITS) continue;
    const rv64_region *r = rv64_region_find(memory, s.sh_addr, 1);
    if (r) memcpy(r->host, image->bytes + s.sh_offset, s.sh_size < r->size ? s.sh_size : r->size);
  }
}

static tw_status build(rv64_memory *memory, tw_error *error) {
  rv64_image *image = memory->image;
  GElf_Ehdr header;
  elf_version(EV_CURRENT);
  image->elf = elf_memory((char *)image->bytes, image->size);
  const char *wrong = image->elf ? check_header(image->elf, &header) : "is not an ELF file";
  if (wrong) return refuse(image, error, wrong);
  memory->entry = header.e_entry;

  tw_status status = add_sections(memory, error);
  if (status) return status;
  qsort(memory->region, memory->n_regions, sizeof *memory->region, by_address);
  if ((status = check_layout(memory, error))) return status;
  if ((status = add_stack(memory, error))) return status;
  const rv64_region *start = rv64_region_find(memory, memory->entry, 2);
  if (!start || !(start->rights & RV64_EXECUTE)) return refuse(image, error, "has no code at its entry point");
  for (size_t i = 0; i < memory->n_regions; i++) {
    memory->region[i].host = calloc(1, memory->region[i].size);
    if (!memory->region[i].host) return no_memory(image, error);
  }
  copy_contents(memory);
  return TW_OK;
}

tw_status rv64_memory_load(const void *elf, size_t size, const char *name, rv64_memory *out, tw_error *error) {
  *out = (rv64_memory){0};
  if (size < EI_NIDENT) return tw_fail(error, TW_USAGE, "%s is not an ELF file", name);
  rv64_image *image = calloc(1, sizeof *image);
  if (image) {
    image->name = strdup(name);
    image->bytes = malloc(size);
    image->size = size;
  }
  out->image = image;
  if (!image || !image->name || !image->bytes) {
    rv64_memory_free(out);
    return tw_fail(error, TW_NO_MEMORY, "%s: not enough host memory to load it", name);
  }
  memcpy(image->bytes, elf, size);
  tw_status status = build(out, error);
  if (status) rv64_memory_free(out);
  return status;
}

void rv64_memory_free(rv64_memory *memory) {
  for (size_t i = 0; i < memory->n_regions; i++) {
    free((char *)memory->region[i].name);
    free(memory->region[i].host);
    free(memory->region[i].in_flight);
  }
  free(memory->region);
  rv64_image *image = memory->image;
  if (image) {
    if (image->elf) elf_end(image->elf);
    free(image->bytes);
    free(image->name);
    free(image);
  }
  *memory = (rv64_memory){0};
}

bool rv64_memory_fork(const rv64_memory *from, rv64_memory *out) {
  *out = *from;
  out->region = tw_new(from->n_regions, sizeof *out->region);
  for (out->n_regions = 0; out->region && out->n_regions < from->n_regions; out->n_regions++) {
    rv64_region *r = &out->region[out->n_regions];
    *r = from->region[out->n_regions];
    r->in_flight = NULL;
    r->from = r->to = 0;
    if (!(r->rights & RV64_WRITE)) continue;
    r->host = malloc(r->size);
    if (!r->host) break;
    memcpy(r->host, from->region[out->n_regions].host, r->size);
  }
  if (out->n_regions == from->n_regions) return true;
  rv64_memory_free_fork(out);
  return false;
}

void rv64_memory_free_fork(rv64_memory *fork) {
  for (size_t i = 0; i < fork->n_regions; i++) {
    if (fork->region[i].rights & RV64_WRITE) free(fork->region[i].host);
    free(fork->region[i].in_flight);
  }
  free(fork->region);
  *fork = (rv64_memory){0};
}

uint64_t rv64_writer_of(const rv64_region *r, uint64_t offset, uint64_t length) {
  if (!r->in_flight) return 0;
  for (uint64_t i = offset; i < offset + length; i++)
    if (r->in_flight[i]) return r->writer[r->in_flight[i]];
  return 0;
}

bool rv64_write_in_flight(rv64_region *r, uint64_t offset, uint64_t length, uint64_t pc) {
  if (!r->in_flight && !(r->in_flight = calloc(1, r->size))) return false;
  if (r->from == r->to) r->from = offset, r->to = offset + length;
  if (offset < r->from) r->from = offset;
  if (offset + length > r->to) r->to = offset + length;
  if (!r->last_writer || r->writer[r->last_writer] != pc) {
    r->last_writer = r->last_writer == UINT8_MAX ? 1 : (uint8_t)(r->last_writer + 1);
    r->writer[r->last_writer] = pc;
  }
  memset(r->in_flight + offset, r->last_writer, length);
  return true;
}

void rv64_writes_done(const rv64_memory *memory) {
  for (size_t i = 0; i < memory->n_regions; i++) {
    rv64_region *r = &memory->region[i];
    if (r->from == r->to) continue;
    memset(r->in_flight + r->from, 0, r->to - r->from);
    r->from = r->to = 0;
  }
}

rv64_region *rv64_region_named(const rv64_memory *memory, const char *name) {
  for (size_t i = 0; i < memory->n_regions; i++)
    if (!strcmp(memory->region[i].name, name)) return &memory->region[i];
  return NULL;
}

const rv64_region *rv64_region_find(const rv64_memory *memory, uint64_t address, uint64_t length) {
  size_t low = 0, high = memory->n_regions; /* the last region whose base <= address is in [low - 1, high - 1] */
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (memory->region[middle].base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (!low) return NULL;
  const rv64_region *r = &memory->region[low - 1];
  uint64_t offset = address - r->base;
  return offset < r->size && length <= r->size - offset ? r : NULL;
}
