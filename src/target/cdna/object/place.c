/* place.c - converts code addresses to text: source lines, or else symbols with libelf. Opened on demand: a run
 * without findings never reads them. */
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "target/cdna/object/object.h"
#include "toolchain/source_line.h"

static bool symbol_offset(Elf *elf, uint64_t address, char *text, size_t size) {
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    if (!gelf_getshdr(scn, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    const size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    for (size_t i = 0; i < n; i++) {
      GElf_Sym s;
      if (!gelf_getsym(data, (int)i, &s) || GELF_ST_TYPE(s.st_info) != STT_FUNC || address - s.st_value >= s.st_size)
        continue;
      const char *name = elf_strptr(elf, header.sh_link, s.st_name);
      if (!name) continue;
      snprintf(text, size, "%.200s+0x%" PRIx64, name, address - s.st_value);
      return true;
    }
  }
  return false;
}

void cdna_object_place(const cdna_object *o, uint64_t address, char *text, size_t size) {
  snprintf(text, size, "0x%" PRIx64, address);
  elf_version(EV_CURRENT);
  /* libelf requires writable bytes, but does not write them */
  Elf *elf = elf_memory((char *)(uintptr_t)o->file, o->file_size);
  if (!elf) return;
  if (!tw_source_line(elf, address, text, size)) symbol_offset(elf, address, text, size);
  elf_end(elf);
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7F) *c = '?';
}
