/* elf.c - see object.h. */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/object/object.h"

enum {
  EM_AMDGPU_ = 224,
  OSABI_HSA = 64,
  MACH_MASK = 0xFF,
  MACH_GFX942 = 0x4C,
  MACH_GFX950 = 0x4F,
  NOTE_METADATA = 32,
  DESCRIPTOR_BYTES = 64
};
enum { /* "User Guide for AMDGPU Backend", Relocation Records: the types that a linked object keeps */
       R_NONE = 0,
       R_ABS32_LO = 1,
       R_ABS32_HI = 2,
       R_ABS64 = 3,
       R_ABS32 = 6,
       R_RELATIVE64 = 13
};
static const uint64_t SIZE_LIMIT = 1ull << 30; /* all segments, in memory */

bool cdna_object_is(const void *data, size_t size) { return size >= 4 && !memcmp(data, ELFMAG, 4); }

/* n bytes at `offset` of the file; NULL if the file does not have all of them. */
static const void *at(const cdna_object *o, uint64_t offset, uint64_t n) {
  return offset <= o->file_size && n <= o->file_size - offset ? o->file + offset : NULL;
}

/* n bytes at an address of the loaded object; NULL if the file does not have them. */
static const void *at_address(const cdna_object *o, uint64_t address, uint64_t n) {
  for (size_t i = 0; i < o->n_segments; i++) {
    const cdna_segment *s = &o->segment[i];
    if (address >= s->address && address - s->address <= s->file_size && n <= s->file_size - (address - s->address))
      return s->data + (address - s->address);
  }
  return NULL;
}

static uint32_t u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static tw_status read_header(const cdna_object *o, const char *name, Elf64_Ehdr *h, tw_error *error) {
  const void *p = at(o, 0, sizeof *h);
  if (!p || !cdna_object_is(o->file, o->file_size))
    return tw_fail(error, TW_USAGE, "%s: not an ELF file; expected a code object of clang or Triton", name);
  memcpy(h, p, sizeof *h);
  if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_AMDGPU_)
    return tw_fail(error, TW_USAGE, "%s: an ELF file for another machine (%u); expected one for AMD GPUs (224)", name,
                   h->e_machine);
  if (h->e_ident[EI_OSABI] != OSABI_HSA)
    return tw_fail(error, TW_USAGE, "%s: made for another system (OS ABI %u); compile with --target=amdgcn-amd-amdhsa",
                   name, h->e_ident[EI_OSABI]);
  if (h->e_type != ET_DYN)
    return tw_fail(error, TW_USAGE, "%s: not linked; make a code object with ld.lld -shared", name);
  return TW_OK;
}

static tw_status read_segments(cdna_object *o, const Elf64_Ehdr *h, const char *name, tw_error *error) {
  const uint8_t *table = at(o, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr));
  if (!table || h->e_phentsize != sizeof(Elf64_Phdr))
    return tw_fail(error, TW_USAGE, "%s: the ELF file is truncated or damaged: its program headers are missing", name);
  for (size_t i = 0; i < h->e_phnum; i++) {
    Elf64_Phdr p;
    memcpy(&p, table + i * sizeof p, sizeof p);
    if (p.p_type != PT_LOAD || !p.p_memsz) continue;
    const uint8_t *data = at(o, p.p_offset, p.p_filesz);
    if (!data || p.p_filesz > p.p_memsz || p.p_vaddr > SIZE_LIMIT || p.p_memsz > SIZE_LIMIT)
      return tw_fail(error, TW_USAGE, "%s: the ELF file is truncated or damaged: a part of segment %zu is missing",
                     name, i);
    if (o->n_segments == CDNA_SEGMENTS_MAX)
      return tw_fail(error, TW_USAGE, "%s: more than %d loaded segments", name, CDNA_SEGMENTS_MAX);
    o->segment[o->n_segments++] = (cdna_segment){.address = p.p_vaddr,
                                                 .size = p.p_memsz,
                                                 .data = data,
                                                 .file_size = p.p_filesz,
                                                 .writable = p.p_flags & PF_W,
                                                 .executable = p.p_flags & PF_X};
    if (p.p_vaddr + p.p_memsz > o->size) o->size = p.p_vaddr + p.p_memsz;
  }
  return TW_OK;
}

static tw_status add_kernel(cdna_object *o, const char *symbol, size_t length, uint64_t address, const char *name,
                            tw_error *error) {
  const uint8_t *d = at_address(o, address, DESCRIPTOR_BYTES);
  if (!d)
    return tw_fail(error, TW_USAGE, "%s: the descriptor of kernel %.*s is not in the file", name, (int)length, symbol);
  for (size_t i = 0; i < o->n_kernels; i++)
    if (o->kernel[i].descriptor == address) return TW_OK; /* a kernel is in both symbol tables */
  if (o->n_kernels == CDNA_KERNELS_MAX)
    return tw_fail(error, TW_USAGE, "%s: more than %d kernels", name, CDNA_KERNELS_MAX);
  int64_t entry;
  memcpy(&entry, d + 16, sizeof entry);
  cdna_kernel k = {.name = strndup(symbol, length),
                   .descriptor = address,
                   .entry = address + (uint64_t)entry,
                   .lds = u32(d),
                   .scratch = u32(d + 4),
                   .kernarg_size = u32(d + 8),
                   .rsrc3 = u32(d + 44),
                   .rsrc1 = u32(d + 48),
                   .rsrc2 = u32(d + 52),
                   .properties = (uint16_t)u32(d + 56),
                   .preload = (uint16_t)(u32(d + 56) >> 16)};
  cdna_kernel *grown = tw_resize(o->kernel, o->n_kernels + 1, sizeof *grown);
  if (grown) o->kernel = grown;
  if (!k.name || !grown) {
    free(k.name);
    return tw_no_memory(error, NULL);
  }
  o->kernel[o->n_kernels++] = k;
  if (k.entry & 3 || !at_address(o, k.entry, 4))
    return tw_fail(error, TW_USAGE, "%s: kernel %s begins at 0x%" PRIx64 ", which is not code", name, k.name, k.entry);
  return TW_OK;
}

typedef struct section {
  Elf64_Shdr header;
  const uint8_t *data;
} section;

static bool read_section(const cdna_object *o, const Elf64_Ehdr *h, size_t index, section *out) {
  const uint8_t *p = index < h->e_shnum && h->e_shentsize == sizeof out->header
                         ? at(o, h->e_shoff + index * sizeof out->header, sizeof out->header)
                         : NULL;
  if (!p || h->e_shoff > o->file_size) return false;
  memcpy(&out->header, p, sizeof out->header);
  out->data = out->header.sh_type == SHT_NOBITS ? NULL : at(o, out->header.sh_offset, out->header.sh_size);
  return out->data || out->header.sh_type == SHT_NOBITS;
}

/* The text of a symbol; NULL if it does not end within its table. */
static const char *string_at(const section *s, uint32_t offset) {
  if (!s->data || offset >= s->header.sh_size || !memchr(s->data + offset, '\0', s->header.sh_size - offset))
    return NULL;
  return (const char *)s->data + offset;
}

static tw_status read_symbols(cdna_object *o, const Elf64_Ehdr *h, const char *name, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; i < h->e_shnum && status == TW_OK; i++) {
    section symbols, strings;
    if (!read_section(o, h, i, &symbols))
      return tw_fail(error, TW_USAGE, "%s: the ELF file is truncated or damaged: section %zu is missing", name, i);
    if ((symbols.header.sh_type != SHT_SYMTAB && symbols.header.sh_type != SHT_DYNSYM) ||
        !read_section(o, h, symbols.header.sh_link, &strings))
      continue;
    for (uint64_t n = 0; n < symbols.header.sh_size / sizeof(Elf64_Sym) && status == TW_OK; n++) {
      Elf64_Sym s;
      memcpy(&s, symbols.data + n * sizeof s, sizeof s);
      const char *text = string_at(&strings, s.st_name);
      const size_t length = text ? strlen(text) : 0;
      if (length > 3 && !strcmp(text + length - 3, ".kd") && s.st_shndx != SHN_UNDEF)
        status = add_kernel(o, text, length - 3, s.st_value, name, error);
    }
  }
  return status;
}

/* S + A, or B + A: pointers to functions and variables in data. */
static tw_status add_relocation(cdna_object *o, const Elf64_Rela *r, const section *symbols, const section *strings,
                                const char *name, tw_error *error) {
  const uint32_t type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);
  cdna_relocation *to = &o->relocation[o->n_relocations];
  *to = (cdna_relocation){.address = r->r_offset,
                          .value = (uint64_t)r->r_addend,
                          .bytes = type == R_ABS64 || type == R_RELATIVE64 ? 8 : 4,
                          .shift = type == R_ABS32_HI ? 32 : 0,
                          .based = true};
  if (type == R_NONE) return TW_OK;
  if (type > R_ABS64 && type != R_ABS32 && type != R_RELATIVE64)
    return tw_fail(error, TW_USAGE, "%s: unsupported relocation type %u", name, type);
  if (r->r_offset > o->size || to->bytes > o->size - r->r_offset)
    return tw_fail(error, TW_USAGE, "%s: a relocation at 0x%" PRIx64 ", which is outside of the loaded segments", name,
                   (uint64_t)r->r_offset);
  for (size_t i = 0; i < o->n_segments; i++)
    if (o->segment[i].executable && r->r_offset - o->segment[i].address < o->segment[i].size)
      return tw_fail(error, TW_USAGE, "%s: a relocation in code; link with ld.lld -shared, without -z notext", name);
  if (type != R_RELATIVE64) {
    Elf64_Sym s;
    if (!symbols->data || index >= symbols->header.sh_size / sizeof s)
      return tw_fail(error, TW_USAGE, "%s: a relocation of symbol %u, which does not exist", name, index);
    memcpy(&s, symbols->data + index * sizeof s, sizeof s);
    const char *text = string_at(strings, s.st_name);
    if (s.st_shndx == SHN_UNDEF && ELF64_ST_BIND(s.st_info) != STB_WEAK)
      return tw_fail(error, TW_USAGE, "%s: undefined symbol %s; link all objects into one", name, text ? text : "?");
    to->value += s.st_value;
    to->based = s.st_shndx != SHN_UNDEF && s.st_shndx != SHN_ABS;
  }
  o->n_relocations++;
  return TW_OK;
}

static tw_status read_relocations(cdna_object *o, const Elf64_Ehdr *h, const char *name, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; i < h->e_shnum && status == TW_OK; i++) {
    section s, symbols = {.data = NULL}, strings = {.data = NULL};
    if (!read_section(o, h, i, &s) || s.header.sh_type != SHT_RELA || !s.data || !(s.header.sh_flags & SHF_ALLOC))
      continue;
    if (read_section(o, h, s.header.sh_link, &symbols)) read_section(o, h, symbols.header.sh_link, &strings);
    const size_t n = s.header.sh_size / sizeof(Elf64_Rela);
    cdna_relocation *grown = tw_resize(o->relocation, o->n_relocations + n + 1, sizeof *grown);
    if (!grown) return tw_no_memory(error, NULL);
    o->relocation = grown;
    for (size_t k = 0; k < n && status == TW_OK; k++) {
      Elf64_Rela r;
      memcpy(&r, s.data + k * sizeof r, sizeof r);
      status = add_relocation(o, &r, &symbols, &strings, name, error);
    }
  }
  return status;
}

void cdna_object_load(const cdna_object *o, uint64_t base, uint8_t *image) {
  for (size_t i = 0; i < o->n_segments; i++)
    memcpy(image + o->segment[i].address, o->segment[i].data, o->segment[i].file_size);
  for (size_t i = 0; i < o->n_relocations; i++) {
    const cdna_relocation *r = &o->relocation[i];
    const uint64_t value = (r->value + (r->based ? base : 0)) >> r->shift;
    memcpy(image + r->address, &value, r->bytes);
  }
}

static tw_status read_notes(cdna_object *o, const Elf64_Ehdr *h, const char *name, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; i < h->e_shnum && status == TW_OK; i++) {
    section s;
    if (!read_section(o, h, i, &s) || s.header.sh_type != SHT_NOTE || !s.data) continue;
    for (uint64_t p = 0; status == TW_OK && s.header.sh_size - p >= 12;) {
      const uint64_t name_size = u32(s.data + p), size = u32(s.data + p + 4), type = u32(s.data + p + 8);
      const uint64_t text = p + 12, begin = text + ((name_size + 3) & ~3ull);
      if (begin > s.header.sh_size || size > s.header.sh_size - begin)
        return tw_fail(error, TW_USAGE, "%s: a note of the ELF file is truncated", name);
      if (type == NOTE_METADATA && name_size == 7 && !memcmp(s.data + text, "AMDGPU", 7))
        status = cdna_metadata_read(s.data + begin, size, name, o, error);
      p = begin + ((size + 3) & ~3ull);
      if (p > s.header.sh_size) break;
    }
  }
  return status;
}

tw_status cdna_object_read(const void *data, size_t size, const char *name, cdna_object *out, tw_error *error) {
  Elf64_Ehdr h;
  *out = (cdna_object){.file = data, .file_size = size};
  tw_status status = read_header(out, name, &h, error);
  if (status != TW_OK) return status;
  const uint32_t mach = h.e_flags & MACH_MASK;
  if (mach != MACH_GFX942 && mach != MACH_GFX950)
    return tw_fail(error, TW_USAGE, "%s: for another GPU (machine 0x%x of LLVM's list); expected gfx942 or gfx950",
                   name, mach);
  out->arch = mach == MACH_GFX942 ? CDNA3 : CDNA4;
  status = read_segments(out, &h, name, error);
  if (status == TW_OK) status = read_symbols(out, &h, name, error);
  if (status == TW_OK) status = read_notes(out, &h, name, error);
  if (status == TW_OK) status = read_relocations(out, &h, name, error);
  if (status == TW_OK && !out->n_kernels)
    status = tw_fail(error, TW_USAGE, "%s: has no kernel: no symbol ends in .kd", name);
  if (status != TW_OK) cdna_object_free(out);
  return status;
}

void cdna_object_free(cdna_object *o) {
  for (size_t i = 0; i < o->n_kernels; i++) {
    free(o->kernel[i].name);
    free(o->kernel[i].parameter);
  }
  for (size_t i = 0; i < o->n_prints; i++) free(o->print[i]);
  free(o->print);
  free(o->relocation);
  free(o->kernel);
  free(o->owned);
  *o = (cdna_object){0};
}

/* _Z5saxpyIfEvPT_ and _ZN1a1b5saxpyEPf are mangled names of saxpy: C++ writes the length before a name. */
static bool is_mangled(const char *symbol, const char *name) {
  char part[300];
  if (strncmp(symbol, "_Z", 2) != 0) return false;
  const int length = snprintf(part, sizeof part, "%zu%s", strlen(name), name);
  const char *at = symbol + 2 + (symbol[2] == 'N');
  while (length < (int)sizeof part && *at >= '1' && *at <= '9') {
    if (!strncmp(at, part, (size_t)length)) return true;
    char *behind;
    const size_t skip = strtoul(at, &behind, 10);
    if (skip > strlen(behind)) return false;
    at = behind + skip;
  }
  return false;
}

tw_status cdna_object_kernel(const cdna_object *o, const char *name, const cdna_kernel **out, tw_error *error) {
  if (!name && o->n_kernels == 1) {
    *out = &o->kernel[0];
    return TW_OK;
  }
  if (!o->n_kernels) return tw_fail(error, TW_USAGE, "the code object has no kernel");
  tw_text names = {0};
  size_t n = 0;
  for (size_t i = 0; i < o->n_kernels; i++) {
    if (name && !strcmp(o->kernel[i].name, name)) {
      *out = &o->kernel[i];
      tw_text_free(&names);
      return TW_OK;
    }
    if (name && is_mangled(o->kernel[i].name, name) && !n++) *out = &o->kernel[i];
    if (i < 8) tw_text_add(&names, "%s%.100s", i ? ", " : "", o->kernel[i].name);
  }
  tw_status status =
      n == 1 ? TW_OK
      : n    ? tw_fail(error, TW_USAGE, "%zu kernels are named '%s'; choose one of %s", n, name, names.data)
      : name ? tw_fail(error, TW_USAGE, "unknown kernel '%s'; expected %s", name, names.data)
             : tw_fail(error, TW_USAGE, "the code object has several kernels; choose one with --kernel NAME: %s",
                       names.data);
  tw_text_free(&names);
  return status;
}
