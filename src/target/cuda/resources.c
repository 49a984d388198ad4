/* resources.c - see resources.h. The log is that of ptxas of CUDA 12 and 13, whose lines are
 *
 *   ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in the function 'k'
 *   ptxas info    : Compiling entry function 'k' for 'sm_90a'
 *   ptxas info    : Function properties for k
 *       1520 bytes stack frame, 528 bytes spill stores, 320 bytes spill loads
 *   ptxas info    : Used 255 registers, used 1 barriers, 1520 bytes cumulative stack size, 1024 bytes smem */
#define _GNU_SOURCE
#include "target/cuda/resources.h"

#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number before `words` in a line; 0 if they are not in it. */
static int number_before(const char *line, size_t length, const char *words) {
  const char *at = memmem(line, length, words, strlen(words));
  if (!at) return 0;
  while (at > line && at[-1] == ' ') at--;
  while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
  return atoi(at);
}

bool cuda_resources_read(const char *log, const char *kernel, cuda_resources *out) {
  char entry[160], properties[160];
  bool in_entry = false, in_properties = false, found = false;
  *out = (cuda_resources){0};
  snprintf(entry, sizeof entry, "Compiling entry function '%.100s'", kernel);
  snprintf(properties, sizeof properties, "Function properties for %.100s", kernel);
  for (const char *line = log; *line;) {
    const size_t n = strcspn(line, "\n");
#define HAS(words) (memmem(line, n, words, strlen(words)) != NULL)
    if (HAS("wgmma.mma_async instructions are serialized")) out->wgmma_serialized = 1;
    if (HAS("(C7508)")) out->setmaxnreg_ignored = 1;
    if (HAS("Compiling entry function")) in_entry = HAS(entry);
    if (HAS("Function properties for")) {
      const char *name = memmem(line, n, properties, strlen(properties));
      in_properties = name && name + strlen(properties) == line + n;
    }
    if (in_properties && HAS("bytes stack frame")) {
      out->stack = number_before(line, n, "bytes stack frame");
      out->spill_stores = number_before(line, n, "bytes spill stores");
      out->spill_loads = number_before(line, n, "bytes spill loads");
    }
    if (in_entry && HAS("Used ")) {
      found = true;
      out->registers = number_before(line, n, "registers");
      out->barriers = number_before(line, n, "barriers");
      out->shared = number_before(line, n, "bytes smem");
      in_entry = false;
    }
#undef HAS
    line += n + (line[n] == '\n');
  }
  return found;
}

/* ---- the cubin ---- */

static void use_libelf(void) { elf_version(EV_CURRENT); }

static bool begins(const char *text, const char *with);

/* The largest device variable, for messages. */
static const char *largest_variable(Elf *elf, size_t names) {
  const char *largest = NULL;
  GElf_Xword size = 0;
  Elf_Scn *s = NULL;
  while ((s = elf_nextscn(elf, s))) {
    GElf_Shdr header, home;
    Elf_Data *data;
    if (!gelf_getshdr(s, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize ||
        !(data = elf_getdata(s, NULL)))
      continue;
    for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_size <= size) continue;
      Elf_Scn *in = elf_getscn(elf, symbol.st_shndx);
      const char *name = in && gelf_getshdr(in, &home) ? elf_strptr(elf, names, home.sh_name) : NULL;
      if (!name || !begins(name, ".nv.global")) continue;
      size = symbol.st_size;
      largest = elf_strptr(elf, header.sh_link, symbol.st_name);
    }
  }
  return largest;
}

/* The device's heap outlives a launch: with a pointer in a few bytes of variables a kernel could keep any amount of
 * data there. */
static bool uses_heap(Elf *elf) {
  Elf_Scn *s = NULL;
  while ((s = elf_nextscn(elf, s))) {
    GElf_Shdr header;
    Elf_Data *data;
    if (!gelf_getshdr(s, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize ||
        !(data = elf_getdata(s, NULL)))
      continue;
    for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
      GElf_Sym symbol;
      const char *name = gelf_getsym(data, (int)i, &symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : NULL;
      if (name && symbol.st_shndx == SHN_UNDEF && (!strcmp(name, "malloc") || !strcmp(name, "free"))) return true;
    }
  }
  return false;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static tw_status check_sections(Elf *elf, const char *kernel, tw_error *error) {
  size_t names, variables = 0;
  Elf_Scn *s = NULL;
  char code[160];
  bool found = false;
  if (elf_getshdrstrndx(elf, &names) != 0) return tw_fail(error, TW_FAILED, "the compiler's cubin has no sections");
  snprintf(code, sizeof code, ".text.%.120s", kernel);
  while ((s = elf_nextscn(elf, s))) {
    GElf_Shdr header;
    const char *name = gelf_getshdr(s, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
    if (!name) continue;
    found |= strcmp(name, code) == 0;
    if (begins(name, ".nv.global")) variables += header.sh_size;
  }
  if (!found)
    return tw_fail(error, TW_FAILED, "the source has no kernel '%.80s': define extern \"C\" __global__ void %.80s(...)",
                   kernel, kernel);
  if (uses_heap(elf))
    return tw_fail(
        error, TW_FAILED,
        "malloc and free are unsupported: a launch must not use memory that outlives it; ask for a workspace");
  if (variables <= CUDA_VARIABLES_MAX) return TW_OK;
  const char *largest = largest_variable(elf, names);
  return tw_fail(error, TW_FAILED,
                 "the kernel can keep %zu bytes between launches in device variables such as '%.80s'; %d are allowed; "
                 "use a workspace",
                 variables, largest ? largest : "?", CUDA_VARIABLES_MAX);
}

tw_status cuda_cubin_check(const char *cubin, size_t bytes, const char *kernel, tw_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, use_libelf);
  char *copy = malloc(bytes ? bytes : 1); /* libelf may write to it */
  if (!copy) return tw_no_memory(error, NULL);
  memcpy(copy, cubin, bytes);
  Elf *elf = elf_memory(copy, bytes);
  const tw_status status = elf && elf_kind(elf) == ELF_K_ELF
                               ? check_sections(elf, kernel, error)
                               : tw_fail(error, TW_FAILED, "the compiler produced no readable cubin");
  if (elf) elf_end(elf);
  free(copy);
  return status;
}
