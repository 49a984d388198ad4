/* generate.c - writes the kernels of kernels.txt while the library is built.
 *
 *   generate kernels.txt DIR    DIR/ARITHMETIC_ISA_ROWSxVECTORS.c for each, and DIR/x86_table.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/x86/emit.h"

static int write_text(const char *directory, const char *name, tw_text *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.c", directory, name);
  char *data = tw_text_take(text);
  FILE *file = data ? fopen(path, "w") : NULL;
  int failed = !file || fputs(data, file) < 0;
  if (file && fclose(file) != 0) failed = 1;
  if (failed) fprintf(stderr, "generate: cannot write %s\n", path);
  free(data);
  return failed;
}

/* A line "kernel ARITHMETIC ISA ROWS VECTORS UNROLL PREFETCH". */
static bool parse_kernel(const char *line, x86_variant *out) {
  char arithmetic[16], isa[16];
  *out = (x86_variant){0};
  return sscanf(line, "kernel %15s %15s %d %d %d %d", arithmetic, isa, &out->rows, &out->vectors, &out->unroll,
                &out->prefetch) == 6 &&
         x86_arithmetic_parse(arithmetic, &out->arithmetic) && x86_isa_parse(isa, &out->isa);
}

static int write_kernel(const char *directory, const x86_variant *s) {
  char file[X86_NAME];
  tw_text text = {0};
  snprintf(file, sizeof file, "%s_%s_%dx%d", x86_arithmetic_name(s->arithmetic), x86_isa_name(s->isa), s->rows,
           s->vectors);
  x86_emit_kernel(s, &text);
  return write_text(directory, file, &text);
}

static int write_table(const char *directory, const x86_variant *kernel, size_t n) {
  tw_text text = {0};
  char name[X86_NAME];
  tw_text_add(&text, "/* The default kernels, made by src/target/x86/generate. */\n#include <stddef.h>\n\n"
                     "#include \"target/x86/variant.h\"\n\n");
  for (size_t i = 0; i < n; i++)
    tw_text_add(&text, "extern const x86_kernel %s;\n", x86_kernel_symbol(&kernel[i], name));
  tw_text_add(&text, "\nstatic const x86_kernel *const kernels[] = {");
  for (size_t i = 0; i < n; i++) tw_text_add(&text, "\n    &%s,", x86_kernel_symbol(&kernel[i], name));
  tw_text_add(&text,
              "\n};\n\nconst x86_kernel *x86_kernel_at(int index) {\n"
              "  return index >= 0 && (size_t)index < sizeof kernels / sizeof *kernels ? kernels[index] : NULL;\n}\n\n"
              "bool x86_variant_of(const x86_kernel *kernel, x86_variant *out) {\n"
              "  static const struct {\n    int unroll, prefetch;\n  } loop[] = {");
  for (size_t i = 0; i < n; i++) tw_text_add(&text, "%s{%d, %d}", i ? ", " : "", kernel[i].unroll, kernel[i].prefetch);
  tw_text_add(&text, "};\n  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {\n"
                     "    if (kernels[i] != kernel) continue;\n"
                     "    *out = (x86_variant){.isa = kernel->isa, .arithmetic = kernel->arithmetic,\n"
                     "                         .rows = kernel->rows,\n"
                     "                         .vectors = kernel->columns / x86_isa_lanes(kernel->isa),\n"
                     "                         .unroll = loop[i].unroll, .prefetch = loop[i].prefetch};\n"
                     "    return true;\n  }\n  return false;\n}\n");
  return write_text(directory, "x86_table", &text);
}

/* False for kernels of another machine's instruction sets. */
static bool compiles_here(const x86_variant *s) {
#if defined __x86_64__
  (void)s;
  return true;
#else
  return s->isa == X86_PORTABLE;
#endif
}

int main(int argc, char *argv[]) {
  static x86_variant kernel[X86_KERNELS_MAX];
  char line[512];
  size_t n = 0;
  if (argc != 3) return fprintf(stderr, "usage: generate kernels.txt DIR\n"), 2;
  FILE *list = fopen(argv[1], "r");
  if (!list) return fprintf(stderr, "generate: cannot read %s\n", argv[1]), 1;
  while (fgets(line, sizeof line, list)) {
    if (strncmp(line, "kernel ", 7) != 0) continue;
    if (n == X86_KERNELS_MAX || !parse_kernel(line, &kernel[n])) {
      fclose(list);
      return fprintf(stderr, "generate: %s: invalid line %s", argv[1], line), 1;
    }
    if (!compiles_here(&kernel[n])) continue;
    if (write_kernel(argv[2], &kernel[n++])) {
      fclose(list);
      return 1;
    }
  }
  fclose(list);
  return write_table(argv[2], kernel, n);
}
