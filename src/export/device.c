/* device.c - parts of programs for GPUs: see export.h. */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "export/export.h"

enum { HEADERS_MAX = 16 };

typedef struct expansion {
  tw_text *text;
  tw_export_header *name_of;
  const tw_embedded *seen[HEADERS_MAX];
  size_t n;
} expansion;

/* The library's header that a line includes; NULL: none. */
static const tw_embedded *included(const expansion *x, const char *line, size_t length) {
  static const char word[] = "#include \"";
  const size_t begin = strlen(word);
  const char *end = length > begin ? memchr(line + begin, '"', length - begin) : NULL;
  const tw_embedded *e;
  if (!end || strncmp(line, word, begin) != 0) return NULL;
  for (size_t i = 0; (e = tw_embedded_at(i)); i++) {
    const char *name = x->name_of(e);
    if (name && strlen(name) == (size_t)(end - line) - begin && strncmp(name, line + begin, strlen(name)) == 0)
      return e;
  }
  return NULL;
}

static bool is_first(expansion *x, const tw_embedded *e) {
  for (size_t i = 0; i < x->n; i++)
    if (x->seen[i] == e) return false;
  if (x->n < HEADERS_MAX) x->seen[x->n++] = e;
  return true;
}

static void expand(expansion *x, const char *data, size_t size) {
  for (const char *at = data, *end = data + size; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t n = (size_t)((newline ? newline + 1 : end) - at);
    const tw_embedded *header = included(x, at, n);
    if (header && is_first(x, header)) expand(x, (const char *)header->data, header->size);
    if (!header && strncmp(at, "#pragma once", 12) != 0) tw_text_add_bytes(x->text, at, n);
    at += n;
  }
}

void tw_export_source(tw_text *t, const char *source, tw_export_header *name_of) {
  expand(&(expansion){.text = t, .name_of = name_of}, source, strlen(source));
}

void tw_export_lets(tw_text *t, const tw_launch *l) {
  for (size_t i = 0; i < l->n_lets; i++) {
    const int64_t x = l->let[i].value;
    tw_text_add(t, "enum : %s { %s = %" PRId64 " };\n", x >= INT32_MIN && x <= INT32_MAX ? "int" : "long long",
                l->let[i].name, x);
  }
}

void tw_export_operands(tw_text *t, const tw_export *e, const tw_launch *l) {
  tw_text_add_string(t, "struct tilewright_operands {\n");
  for (size_t i = 0; i < e->data.n_operands; i++) {
    const tw_operand *o = &e->data.operand[i];
    tw_text_add(t, "  %svoid *%s; // %zu bytes of %s\n", o->is_output ? "" : "const ", o->name, o->bytes,
                tw_type_name(o->type));
  }
  tw_text_add(
      t,
      "};\n\n// Bytes of device memory that a launch needs for itself; launches at the same time need one each.\n"
      "static const size_t tilewright_workspace = %" PRId64 "ull;\n\n",
      l->workspace);
}

void tw_export_arguments(tw_text *t, const tw_export *e, const tw_launch *l, const tw_launch_kernel *k) {
  for (size_t i = 0; i < k->n_arguments; i++) {
    const tw_launch_argument *a = &k->argument[i];
    switch (a->kind) {
    case TW_LAUNCH_OPERAND: tw_text_add(t, "    const void *a%zu = o.%s;\n", i, e->data.operand[a->index].name); break;
    case TW_LAUNCH_WORKSPACE:
      tw_text_add(t, "    void *a%zu = (char *)workspace + %" PRId64 "ll;\n", i, a->integer);
      break;
    case TW_LAUNCH_MAP: tw_text_add(t, "    CUtensorMap &a%zu = map_%s;\n", i, l->map[a->index].name); break;
    case TW_LAUNCH_I32: tw_text_add(t, "    int a%zu = %" PRId64 ";\n", i, a->integer); break;
    case TW_LAUNCH_I64: tw_text_add(t, "    long long a%zu = %" PRId64 "ll;\n", i, a->integer); break;
    case TW_LAUNCH_F32: tw_text_add(t, "    float a%zu = (float)%.9g;\n", i, a->real); break;
    case TW_LAUNCH_F64: tw_text_add(t, "    double a%zu = %.17g;\n", i, a->real); break;
    }
  }
  tw_text_add_string(t, "    void *arguments[] = {");
  for (size_t i = 0; i < k->n_arguments; i++) tw_text_add(t, "%s(void *)&a%zu", i ? ", " : "", i);
  tw_text_add_string(t, "};\n");
}

void tw_export_program(tw_text *t, const tw_export *e, const char *gpu, const char *prepare) {
  tw_export_embed(t, "export/runtime/check.h");
  tw_text_add_string(t, "\n");
  tw_export_table(e, t);
  tw_text_add(t,
              "\n#define CHECKED \"%s\"\n#define GPU(name) %s##name\n#define PREPARE %s\n"
              "#define START(device, workspace) tilewright_start({",
              e->checked, gpu, *prepare ? prepare : "(void)0");
  for (size_t i = 0; i < e->data.n_operands; i++) tw_text_add(t, "%sdevice[%zu]", i ? ", " : "", i);
  tw_text_add_string(t, "}, workspace, 0)\n");
  tw_export_embed(t, "export/runtime/device.hpp");
}
