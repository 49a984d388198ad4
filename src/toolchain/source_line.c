/* source_line.c - lines by libdw, read on demand: a run without findings never opens them. */
#include "toolchain/source_line.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <string.h>

bool tw_source_line(Elf *elf, uint64_t address, char *text, size_t size) {
  Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
  if (!dwarf) return false;
  bool found = false;
  Dwarf_CU *unit = NULL;
  Dwarf_Die die;
  while (!found && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
    int line = 0;
    Dwarf_Line *row = dwarf_getsrc_die(&die, address);
    const char *path = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
    if (!path || dwarf_lineno(row, &line) || !line) continue;
    const char *slash = strrchr(path, '/');
    snprintf(text, size, "%s:%d", slash ? slash + 1 : path, line);
    found = true;
  }
  dwarf_end(dwarf);
  return found;
}
