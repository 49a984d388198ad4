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

/* The name of the symbol of this type that contains the address, and where it begins; NULL if there is none. */
static const char *symbol_at(const rv64_memory *memory, uint64_t address, unsigned type, uint64_t *begin) {
  const rv64_image *image = memory->image;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
    GElf_Shdr s;
    if (!gelf_getshdr(scn, &s) || s.sh_type != SHT_SYMTAB) continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    for (size_t i = 0; i < n; i++) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != type ||
          address - symbol.st_value >= symbol.st_size)
        continue;
      const char *name = elf_strptr(image->elf, s.sh_link, symbol.st_name);
      *begin = symbol.st_value;
      if (name && name[0]) return name;
    }
  }
  return NULL;
}

/* ---- Code addresses --------------------------------------------------------------------------------------- */

static void function_offset(const rv64_memory *memory, uint64_t pc, char *text, size_t size) {
  uint64_t begin;
  const char *name = symbol_at(memory, pc, STT_FUNC, &begin);
  if (name)
    snprintf(text, size, "%s+0x%" PRIx64, name, pc - begin);
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
    uint64_t begin = r->base;
    const char *name = r->name[0] == '.' ? symbol_at(memory, address, STT_OBJECT, &begin) : NULL;
    snprintf(text, size, "byte %" PRIu64 " of %s", address - (name ? begin : r->base), name ? name : r->name);
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
