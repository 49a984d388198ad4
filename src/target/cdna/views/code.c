/* code.c - the view `code`: a kernel's instructions as llvm-objdump prints them, with source lines, and the counts of a
 * run (`tilewright run ... --counts --json`). In a picture, a bar for each line shows how often it was executed. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/object/object.h"
#include "target/cdna/toolchain.h"
#include "target/cdna/views/views.h"

enum { FILE_KEY, KERNEL, COUNTS, FILE_LIMIT = 256 << 20 };
const tw_view_key cdna_code_keys[] = {
    {"file", "", "a code object, or source for clang [default: only the executed instructions of counts]"},
    {"kernel", "", "name of the kernel, if the file has several"},
    {"counts", "", "file with the output of `run --counts --json`"},
    {0},
};

/* The list of executed instructions, by address. NULL: not given. */
static tw_status read_counts(const char *path, json_t **out, tw_error *error) {
  char *text = NULL;
  size_t size = 0;
  *out = NULL;
  if (!*path) return TW_OK;
  const tw_status status = tw_file_read(path, FILE_LIMIT, &text, &size, error);
  if (status != TW_OK) return status;
  json_t *whole = json_loadb(text, size, 0, NULL);
  json_t *list = json_object_get(json_object_get(whole, "counts"), "instructions");
  if (json_is_array(list)) *out = json_incref(list);
  json_decref(whole);
  free(text);
  return *out
             ? TW_OK
             : tw_fail(error, TW_USAGE, "counts=%s: expected the output of `tilewright run ... --counts --json`", path);
}

typedef struct listing {
  const cdna_object *object;
  const cdna_kernel *kernel;
  const cdna_segment *code;
  const json_t *counts;
  size_t next; /* counts are sorted by address */
} listing;

static const json_t *count_at(listing *l, uint64_t address) {
  for (; l->counts && l->next < json_array_size(l->counts); l->next++) {
    const json_t *one = json_array_get(l->counts, l->next);
    const char *text = json_string_value(json_object_get(one, "address"));
    const uint64_t at = text ? strtoull(text, NULL, 16) : 0;
    if (at == address) return one;
    if (at > address) return NULL;
  }
  return NULL;
}

static long long number(const json_t *object, const char *key) {
  return (long long)json_integer_value(json_object_get(object, key));
}

/* ---- lines, as text or as a picture ---- */

typedef struct sheet {
  bool picture;
  tw_text *out;
  const json_t *counts;
  long long most; /* executions of the most frequent instruction */
  int lines, columns;
} sheet;

enum { LINE = 12 };
static const double LETTER = 5.42; /* width of a letter in a picture's text of 9 points */

static sheet sheet_open(tw_view_form form, const json_t *counts, tw_text *out) {
  sheet s = {.picture = form == TW_VIEW_SVG, .out = out, .counts = counts};
  for (size_t i = 0; i < json_array_size(counts); i++) {
    const long long n = number(json_array_get(counts, i), "executions");
    if (n > s.most) s.most = n;
  }
  return s;
}

static void add_line(sheet *s, const char *text, long long executions, const char *fill) {
  if (!s->picture) {
    tw_text_add(s->out, "%s\n", text);
    return;
  }
  const int y = CDNA_SVG_TOP + s->lines++ * LINE, columns = (int)strlen(text);
  if (columns > s->columns) s->columns = columns;
  if (executions)
    tw_text_add(s->out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" fill-opacity=\".3\"/>\n",
                CDNA_SVG_LEFT, y - LINE + 3, 12 * LETTER * (double)executions / (double)s->most, LINE - 1,
                cdna_colour[0]);
  tw_text_add(s->out, "<text x=\"%d\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">", CDNA_SVG_LEFT, y, fill);
  for (; *text; text++) tw_text_add(s->out, *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : "%c", *text);
  tw_text_add_string(s->out, "</text>\n");
}

static void add_heading(sheet *s) {
  char line[80];
  snprintf(line, sizeof line, "%12s %6s %14s %10s", "executions", "lanes", "turns/phases", "lines");
  if (s->counts) add_line(s, line, 0, "#555");
}

/* One instruction, with its place in the source if that differs from the previous one. */
static void add_instruction(sheet *s, const char *place, char previous[200], const char *address, const char *text,
                            const json_t *one) {
  const long long executions = number(one, "executions"), turns = number(one, "lds_turns"),
                  lines = number(one, "lines");
  char lds[24] = "", memory[24] = "", lanes[24] = "", times[24] = "", line[400], head[80] = "";
  if (strchr(place, ':') && strcmp(place, previous) != 0) add_line(s, place, 0, cdna_colour[5]);
  snprintf(previous, 200, "%s", place);
  if (one) snprintf(times, sizeof times, "%lld", executions);
  if (turns) snprintf(lds, sizeof lds, "%lld/%lld", turns, number(one, "lds_phases"));
  if (lines) snprintf(memory, sizeof memory, "%lld", lines);
  if (number(one, "vector"))
    snprintf(lanes, sizeof lanes, "%.1f", (double)number(one, "lanes") / (double)number(one, "vector"));
  if (s->counts) snprintf(head, sizeof head, "%12s %6s %14s %10s  ", times, lanes, lds, memory);
  snprintf(line, sizeof line, "%s%6s  %s", head, address, text);
  add_line(s, line, executions, "#000");
}

/* Writes a picture's frame, after its size is known. */
static void sheet_close(sheet *s, const char *name) {
  if (!s->picture) return;
  char *lines = tw_text_take(s->out);
  const int width = (int)(LETTER * s->columns) + 2 * CDNA_SVG_LEFT;
  cdna_svg_open(s->out, width > 480 ? width : 480, CDNA_SVG_TOP + s->lines * LINE, name,
                s->counts ? "a bar: how often it was executed; turns/phases: of LDS; lines: of memory"
                          : "instructions by address");
  tw_text_add_string(s->out, "<g text-anchor=\"start\" font-family=\"monospace\">\n");
  tw_text_add_string(s->out, lines ? lines : "");
  tw_text_add_string(s->out, "</g>\n");
  cdna_svg_close(s->out);
  free(lines);
}

/* A kernel extends to the last s_endpgm before the start of the next kernel. */
static uint64_t end_of(const listing *l) {
  uint64_t end = l->code->address + l->code->file_size;
  for (size_t k = 0; k < l->object->n_kernels; k++)
    if (l->object->kernel[k].entry > l->kernel->entry && l->object->kernel[k].entry < end)
      end = l->object->kernel[k].entry;
  uint64_t last = end;
  for (uint64_t at = l->kernel->entry; at + 4 <= end;) {
    cdna_code c;
    uint32_t word[4] = {0};
    const size_t left = (size_t)(end - at) / 4;
    memcpy(word, l->code->data + (at - l->code->address), 4 * (left < 4 ? left : 4));
    if (cdna_decode(l->object->arch, word, left < 4 ? left : 4, &c)) {
      at += 4;
      continue;
    }
    at += 4u * c.dwords;
    if (!strcmp(c.instruction->name, "s_endpgm")) last = at;
  }
  return last;
}

static void list(listing *l, tw_view_form form, tw_text *t) {
  char previous[200] = "", place[200], address[24];
  bool first = true;
  const uint64_t end = end_of(l);
  sheet s = sheet_open(form, l->counts, t);
  if (form == TW_VIEW_JSON)
    tw_text_add_string(t, "{\"instructions\": [");
  else
    add_heading(&s);
  for (uint64_t at = l->kernel->entry; at + 4 <= end;) {
    cdna_code c;
    uint32_t word[4] = {0};
    const size_t left = (size_t)(end - at) / 4;
    memcpy(word, l->code->data + (at - l->code->address), 4 * (left < 4 ? left : 4));
    const bool known = !cdna_decode(l->object->arch, word, left < 4 ? left : 4, &c);
    const json_t *one = count_at(l, at);
    cdna_object_place(l->object, at, place, sizeof place);
    tw_text line = {0};
    if (known)
      cdna_print(&c, &line);
    else
      tw_text_add(&line, ".long 0x%08" PRIx32, word[0]);
    char *text = tw_text_take(&line);
    if (form == TW_VIEW_JSON) {
      snprintf(address, sizeof address, "0x%" PRIx64, at);
      json_t *object = json_pack("{ss ss ss}", "address", address, "place", place, "text", text ? text : "");
      if (one) json_object_set(object, "counts", (json_t *)(uintptr_t)one);
      char *data = json_dumps(object, 0);
      tw_text_add(t, "%s%s", first ? "" : ", ", data ? data : "null");
      free(data);
      json_decref(object);
    } else {
      snprintf(address, sizeof address, "%" PRIx64, at);
      add_instruction(&s, place, previous, address, text ? text : "", one);
    }
    first = false;
    free(text);
    at += known ? 4u * c.dwords : 4;
  }
  if (form == TW_VIEW_JSON)
    tw_text_add_string(t, "]}");
  else
    sheet_close(&s, l->kernel->name);
}

/* Without a file, lists only the counts. */
static void list_counted(const json_t *counts, tw_view_form form, tw_text *t) {
  char previous[200] = "";
  if (form == TW_VIEW_JSON) {
    char *all = json_dumps(counts, JSON_COMPACT);
    tw_text_add(t, "{\"instructions\": %s}", all ? all : "[]");
    free(all);
    return;
  }
  sheet s = sheet_open(form, counts, t);
  add_heading(&s);
  for (size_t i = 0; i < json_array_size(counts); i++) {
    const json_t *one = json_array_get(counts, i);
    const char *place = json_string_value(json_object_get(one, "place")),
               *text = json_string_value(json_object_get(one, "text")),
               *address = json_string_value(json_object_get(one, "address"));
    if (place && text && address)
      add_instruction(&s, place, previous, address + (strncmp(address, "0x", 2) ? 0 : 2), text, one);
  }
  sheet_close(&s, "what was executed");
}

tw_status cdna_show_code(const tw_target *t, const char *const value[], tw_view_form form, char **out,
                         tw_error *error) {
  char *data = NULL, *compiled = NULL;
  size_t size = 0;
  cdna_object object = {0};
  json_t *counts = NULL;
  tw_text text = {0};
  listing l = {.object = &object};
  tw_status status = read_counts(value[COUNTS], &counts, error);
  if (status != TW_OK) return status;
  if (!*value[FILE_KEY]) {
    if (!counts) return tw_fail(error, TW_USAGE, "expected file=, counts= or both");
    list_counted(counts, form, &text);
    json_decref(counts);
    return tw_text_finish(&text, out, error);
  }
  status = tw_file_read(value[FILE_KEY], FILE_LIMIT, &data, &size, error);
  if (status == TW_OK && !cdna_object_is(data, size))
    status = cdna_compile(cdna_arch_of(t), data, size, &(tw_evaluation){0}, NULL, &compiled, &size, error);
  if (status == TW_OK) status = cdna_object_read(compiled ? compiled : data, size, value[FILE_KEY], &object, error);
  if (status == TW_OK && object.arch != cdna_arch_of(t))
    status = tw_fail(error, TW_USAGE, "%s is for %s; use -t %s", value[FILE_KEY], cdna_processor(object.arch),
                     cdna_machine_of_arch(object.arch)->name);
  if (status == TW_OK) status = cdna_object_kernel(&object, *value[KERNEL] ? value[KERNEL] : NULL, &l.kernel, error);
  if (status == TW_OK) {
    for (size_t i = 0; i < object.n_segments && !l.code; i++)
      if (object.segment[i].executable && l.kernel->entry - object.segment[i].address < object.segment[i].file_size)
        l.code = &object.segment[i];
    l.counts = counts;
    if (l.code) list(&l, form, &text);
    status = tw_text_finish(&text, out, error);
  }
  json_decref(counts);
  cdna_object_free(&object);
  free(compiled);
  free(data);
  return status;
}
