/* object.c - see object.h. ELF as libelf reads it: System V gABI 4.1; the file is as hostile as its source. */
#include "toolchain/object.h"

#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT_MAX = 1 << 16, SYMBOLS_MAX = 1 << 20 };

typedef struct checker {
  const tw_object_rules *rules;
  Elf *elf;
  size_t names; /* index of the section with the names of sections */
  uint64_t data, zero;
  tw_error *error;
} checker;

/* `advice` continues the line: "; rename it". */
static tw_status refuse_with_advice(const checker *c, const char *what, const char *name, const char *advice) {
  char clean[120];
  snprintf(clean, sizeof clean, "%s", name ? name : "?");
  for (char *p = clean; *p; p++)
    if ((unsigned char)*p < ' ' || (unsigned char)*p > '~') *p = '?';
  return tw_fail(c->error, TW_FAILED, "kernel.c: error: %s: %s%s", what, clean, advice);
}

static tw_status refuse(const checker *c, const char *what, const char *name) {
  return refuse_with_advice(c, what, name, "");
}

static bool is_allowed(const checker *c, const char *name) {
  for (const char *const *s = c->rules->section; *s; s++) {
    const size_t n = strlen(*s);
    if (!strncmp(name, *s, n) && (name[n] == '\0' || name[n] == '.')) return true;
  }
  return false;
}

static bool is_reserved(const checker *c, const char *name) {
  for (const char *const *r = c->rules->reserved; *r; r++) {
    const size_t n = strlen(*r);
    if ((*r)[n - 1] == '*' ? !strncmp(name, *r, n - 1) : !strcmp(name, *r)) return true;
  }
  return false;
}

/* ---- sections ---- */

enum { LLVM_ADDRSIG = 0x6fff4c03 }; /* a table of clang for its linker only */

static bool is_kind(const checker *c, GElf_Word type) {
  enum { X86_64_UNWIND = 0x70000001, RISCV_ATTRIBUTES = 0x70000003 };
  return type == LLVM_ADDRSIG || type == SHT_PROGBITS || type == SHT_NOBITS || type == SHT_NOTE || type == SHT_SYMTAB ||
         type == SHT_STRTAB || type == SHT_RELA || (type == SHT_GROUP && c->rules->groups) || type == X86_64_UNWIND ||
         type == RISCV_ATTRIBUTES;
}

static tw_status check_section(checker *c, const GElf_Shdr *s, const char *name) {
  const GElf_Xword flags = SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS | SHF_INFO_LINK |
                           (c->rules->threads ? SHF_TLS : 0) | (c->rules->groups ? SHF_GROUP : 0) |
                           (s->sh_type == LLVM_ADDRSIG ? SHF_EXCLUDE : 0);
  if (s->sh_type == SHT_INIT_ARRAY || s->sh_type == SHT_FINI_ARRAY || s->sh_type == SHT_PREINIT_ARRAY)
    return refuse(c, "functions that run by themselves (constructors, destructors) are not allowed", name);
  if (s->sh_type == SHT_NULL) return TW_OK;
  if (s->sh_flags & SHF_TLS && !c->rules->threads) return refuse(c, "thread-local variables are not allowed", name);
  const char *own = s->sh_type == SHT_RELA && name && !strncmp(name, ".rela", 5) ? name + 5 : name;
  if (!own || !is_allowed(c, own)) return refuse(c, "this section is not allowed", name);
  if (!is_kind(c, s->sh_type)) return refuse(c, "this section is of a type that is not allowed", name);
  if (s->sh_flags & ~flags) return refuse(c, "this section has flags that are not allowed", name);
  if ((s->sh_flags & SHF_WRITE && s->sh_flags & SHF_EXECINSTR) ||
      (s->sh_flags & SHF_EXECINSTR && !(s->sh_flags & SHF_ALLOC)))
    return refuse(c, "this section may not be executable", name);
  if (s->sh_addralign > ALIGNMENT_MAX) return refuse(c, "this section is aligned to more than 64 KiB", name);
  if (s->sh_type == SHT_NOBITS)
    c->zero += s->sh_size < UINT32_MAX ? s->sh_size : UINT32_MAX;
  else
    c->data += s->sh_size < UINT32_MAX ? s->sh_size : UINT32_MAX;
  if (c->data > c->rules->data_bytes)
    return tw_fail(c->error, TW_FAILED, "kernel.c: error: more than %zu MiB of code and initialised data",
                   c->rules->data_bytes >> 20);
  if (c->zero > c->rules->zero_bytes)
    return tw_fail(c->error, TW_FAILED, "kernel.c: error: more than %zu MiB of variables", c->rules->zero_bytes >> 20);
  return TW_OK;
}

/* ---- symbols ---- */

static tw_status check_symbol(const checker *c, const GElf_Sym *s, const char *name) {
  const int type = GELF_ST_TYPE(s->st_info), binding = GELF_ST_BIND(s->st_info);
  if (type == STT_GNU_IFUNC) return refuse(c, "indirect functions (ifunc) are not allowed", name);
  if (type == STT_TLS && !c->rules->threads) return refuse(c, "thread-local variables are not allowed", name);
  if (type > STT_TLS) return refuse(c, "a symbol of this type is not allowed", name);
  if (binding != STB_LOCAL && binding != STB_GLOBAL && binding != STB_WEAK)
    return refuse(c, "symbols of this binding are not allowed", name);
  if (binding == STB_LOCAL) return TW_OK;
  if (!name) return refuse(c, "a symbol has no name", name);
  if (strchr(name, '@')) return refuse(c, "symbol versions are not allowed", name);
  if (is_reserved(c, name)) {
    const bool used = s->st_shndx == SHN_UNDEF;
    return refuse_with_advice(c,
                              used ? "this name is reserved for the harness and may not be used"
                                   : "this name is reserved for the harness and may not be defined",
                              name, used ? "; remove the reference" : "; choose another name");
  }
  if (s->st_shndx >= SHN_LORESERVE && s->st_shndx != SHN_COMMON && s->st_shndx != SHN_XINDEX &&
      (!c->rules->section_of_machine || s->st_shndx != c->rules->section_of_machine))
    return refuse(c, "a symbol without a section is not allowed", name);
  return TW_OK;
}

static tw_status check_symbols(checker *c, Elf_Scn *section, const GElf_Shdr *s) {
  Elf_Data *data = elf_getdata(section, NULL);
  if (!data || s->sh_entsize != sizeof(Elf64_Sym)) return refuse(c, "its symbol table is damaged", "");
  const size_t n = data->d_size / sizeof(Elf64_Sym);
  if (n > SYMBOLS_MAX) return refuse(c, "it has too many symbols", "");
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, (int)i, &symbol)) return refuse(c, "its symbol table is damaged", "");
    if (symbol.st_shndx == SHN_COMMON) c->zero += symbol.st_size < UINT32_MAX ? symbol.st_size : UINT32_MAX;
    if (c->zero > c->rules->zero_bytes)
      return tw_fail(c->error, TW_FAILED, "kernel.c: error: more than %zu MiB of variables",
                     c->rules->zero_bytes >> 20);
    status = check_symbol(c, &symbol, elf_strptr(c->elf, s->sh_link, symbol.st_name));
  }
  return status;
}

/* ---- the whole object ---- */

static tw_status check_all(checker *c) {
  GElf_Ehdr header;
  if (!c->elf || elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &header) || header.e_type != ET_REL ||
      header.e_machine != c->rules->machine || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(c->elf, &c->names))
    return refuse(c, "the compiler produced no object for this machine", "");
  tw_status status = TW_OK;
  for (Elf_Scn *section = NULL; status == TW_OK && (section = elf_nextscn(c->elf, section));) {
    GElf_Shdr s;
    if (!gelf_getshdr(section, &s)) return refuse(c, "its section table is damaged", "");
    status = check_section(c, &s, elf_strptr(c->elf, c->names, s.sh_name));
    if (status == TW_OK && s.sh_type == SHT_SYMTAB) status = check_symbols(c, section, &s);
  }
  return status;
}

tw_status tw_object_check(const void *object, size_t size, const tw_object_rules *rules, tw_error *error) {
  elf_version(EV_CURRENT);
  checker c = {.rules = rules, .elf = elf_memory((char *)(uintptr_t)object, size), .error = error};
  const tw_status status = check_all(&c);
  if (c.elf) elf_end(c.elf);
  return status;
}
