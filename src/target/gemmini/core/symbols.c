/* symbols.c - addresses to words: symbols, source lines, and why an access is not allowed.
 *
 * Symbols are read with libelf on demand: a run that does not fault never opens them. */
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "target/gemmini/core/internal.h"
#include "target/gemmini/core/rv64.h"
#include "toolchain/source_line.h"

/* ---- The symbol table ------------------------------------------------------------------------------------ */

/* Calls visit for each named symbol until it returns true. */
static bool each_symbol(const rv64_memory *memory, bool (*visit)(const GElf_Sym *, const char *name, void *),
                        void *context) {
  const rv64_image *image = memory->image;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
    GElf_Shdr s;
    if (!gelf_getshdr(scn, &s) || s.sh_type != SHT_SYMTAB) continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    for (size_t i = 0; i < n; i++) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF) continue;
      const char *name = elf_strptr(image->elf, s.sh_link, symbol.st_name);
      if (name && name[0] && visit(&symbol, name, context)) return true;
    }
  }
  return false;
}

typedef struct symbol_query {
  const char *name; /* by name */
  uint64_t address; /* by address: the symbol of this type that contains it */
  unsigned type;
  const char *found;
  GElf_Sym symbol;
} symbol_query;

static bool has_name(const GElf_Sym *symbol, const char *name, void *context) {
  symbol_query *q = context;
  if (strcmp(name, q->name)) return false;
  q->symbol = *symbol;
  return true;
}

static bool contains_address(const GElf_Sym *symbol, const char *name, void *context) {
  symbol_query *q = context;
  if (GELF_ST_TYPE(symbol->st_info) != q->type || q->address - symbol->st_value >= symbol->st_size) return false;
  q->symbol = *symbol;
  q->found = name;
  return true;
}

bool rv64_symbol(const rv64_memory *memory, const char *name, uint64_t *address, uint64_t *size) {
  symbol_query q = {.name = name};
  if (!each_symbol(memory, has_name, &q)) return false;
  if (address) *address = q.symbol.st_value;
  if (size) *size = q.symbol.st_size;
  return true;
}

/* ---- Code addresses --------------------------------------------------------------------------------------- */

static void function_offset(const rv64_memory *memory, uint64_t pc, char *text, size_t size) {
  symbol_query q = {.address = pc, .type = STT_FUNC};
  if (each_symbol(memory, contains_address, &q))
    snprintf(text, size, "%s+0x%" PRIx64, q.found, pc - q.symbol.st_value);
  else
    snprintf(text, size, "0x%" PRIx64, pc);
}

void rv64_describe_code(const rv64_memory *memory, uint64_t pc, char *text, size_t size) {
  const rv64_image *image = memory->image;
  if (!tw_source_line(image->elf, pc, text, size)) function_offset(memory, pc, text, size);
  rv64_make_printable(text);
}

/* ---- Data addresses -------------------------------------------------------------------------------------- */

/* The largest distance from a region at which an address is reported as next to it. */
#define NEAR_BYTES (1ull << 20)

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

void rv64_describe_address(const rv64_memory *memory, uint64_t address, char *text, size_t size) {
  const rv64_region *r = rv64_region_find(memory, address, 1);
  if (r) {
    symbol_query q = {.address = address, .type = STT_OBJECT};
    if (r->name[0] == '.' && each_symbol(memory, contains_address, &q))
      snprintf(text, size, "byte %" PRIu64 " of %s", address - q.symbol.st_value, q.found);
    else
      snprintf(text, size, "byte %" PRIu64 " of %s", address - r->base, r->name);
    rv64_make_printable(text);
    return;
  }
  const rv64_region *below = NULL, *above = NULL;
  for (size_t i = 0; i < memory->n_regions; i++) {
    r = &memory->region[i];
    if (r->base <= address)
      below = r;
    else if (!above)
      above = r;
  }
  uint64_t past = below ? address - (below->base + below->size) : NEAR_BYTES;
  uint64_t before = above ? above->base - address : NEAR_BYTES;
  if (address < 4096)
    snprintf(text, size, "through a null pointer");
  else if (past < NEAR_BYTES && past <= before)
    snprintf(text, size, "%" PRIu64 " byte%s past the end of %s (%" PRIu64 " bytes)", past, plural(past), below->name,
             below->size);
  else if (before < NEAR_BYTES)
    snprintf(text, size, "%" PRIu64 " byte%s before %s", before, plural(before), above->name);
  else
    snprintf(text, size, "which is not mapped");
}

void rv64_describe_access(const rv64_memory *memory, uint64_t address, uint64_t length, unsigned rights, char *text,
                          size_t size) {
  char place[160];
  rv64_describe_address(memory, address, place, sizeof place);
  const rv64_region *r = rv64_region_find(memory, address, 1);
  const char *name = r ? r->name : "";
  int n = snprintf(text, size, "%" PRIu64 " byte%s at 0x%" PRIx64 ", %s", length, plural(length), address, place);
  if (!r || n < 0 || (size_t)n >= size) return;
  text += n;
  size -= (size_t)n;
  if (!rv64_region_find(memory, address, length))
    snprintf(text, size, ", reach past the end of %s (%" PRIu64 " bytes)", name, r->size);
  else if ((rights & RV64_WRITE) && !(r->rights & RV64_WRITE))
    snprintf(text, size, ", which is read-only");
  else if ((rights & RV64_EXECUTE) && !(r->rights & RV64_EXECUTE))
    snprintf(text, size, ", which is not code");
}
