/* code.c - the view `code`: a kernel's instructions as llvm-objdump prints them, with source lines, and beside them what a
 * run counted (`tilewright run ... --counts --json`). */
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
    {"file", "", "a code object, or source for clang; if not given, what was executed alone"},
    {"kernel", "", "its name, if there are several"},
    {"counts", "", "what `run --counts --json` printed"},
    {0},
};

/* The list of instructions that were executed, by address; NULL: none is given. */
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
  return *out ? TW_OK
              : tw_fail(error, TW_USAGE, "counts=%s: give it what `tilewright run ... --counts --json` printed", path);
}

typedef struct listing {
  const cdna_object *object;
  const cdna_kernel *kernel;
  const cdna_segment *code;
  const json_t *counts;
  size_t next; /* of counts: they are by ascending address */
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

static void print_heading(tw_text *t) {
  tw_text_add(t, "%12s %6s %14s %10s\n", "executions", "lanes", "turns/phases", "lines");
}

static void print_counts(tw_text *t, const json_t *one) {
  const long long executions = number(one, "executions"), turns = number(one, "lds_turns"),
                  lines = number(one, "lines");
  char lds[24] = "", memory[24] = "", lanes[24] = "";
  if (!one) {
    tw_text_add(t, "%12s %6s %14s %10s  ", "", "", "", "");
    return;
  }
  if (turns) snprintf(lds, sizeof lds, "%lld/%lld", turns, number(one, "lds_phases"));
  if (lines) snprintf(memory, sizeof memory, "%lld", lines);
  if (number(one, "vector"))
    snprintf(lanes, sizeof lanes, "%.1f", (double)number(one, "lanes") / (double)number(one, "vector"));
  tw_text_add(t, "%12lld %6s %14s %10s  ", executions, lanes, lds, memory);
}

/* A kernel goes to the last s_endpgm that begins before the next kernel does. */
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
  char previous[200] = "", place[200];
  bool first = true;
  const uint64_t end = end_of(l);
  if (form == TW_VIEW_JSON) tw_text_add_string(t, "{\"instructions\": [");
  if (form == TW_VIEW_TEXT && l->counts) print_heading(t);
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
      tw_text_add(t, "%s{\"address\": \"0x%" PRIx64 "\", \"place\": \"%s\", \"text\": \"%s\"", first ? "" : ", ", at,
                  place, text);
      char *counts = one ? json_dumps(one, JSON_COMPACT) : NULL;
      if (counts) tw_text_add(t, ", \"counts\": %s", counts);
      tw_text_add_string(t, "}");
      free(counts);
    } else {
      if (strchr(place, ':') && strcmp(place, previous) != 0) tw_text_add(t, "%s\n", place);
      snprintf(previous, sizeof previous, "%s", place);
      if (l->counts) print_counts(t, one);
      tw_text_add(t, "%6" PRIx64 "  %s\n", at, text);
    }
    first = false;
    free(text);
    at += known ? 4u * c.dwords : 4;
  }
  if (form == TW_VIEW_JSON) tw_text_add_string(t, "]}");
}

/* Without a file: what the counts say. */
static void list_counted(const json_t *counts, tw_view_form form, tw_text *t) {
  const char *previous = "";
  if (form == TW_VIEW_JSON) {
    char *all = json_dumps(counts, JSON_COMPACT);
    tw_text_add(t, "{\"instructions\": %s}", all ? all : "[]");
    free(all);
    return;
  }
  print_heading(t);
  for (size_t i = 0; i < json_array_size(counts); i++) {
    const json_t *one = json_array_get(counts, i);
    const char *place = json_string_value(json_object_get(one, "place")),
               *text = json_string_value(json_object_get(one, "text")),
               *address = json_string_value(json_object_get(one, "address"));
    if (!place || !text || !address) continue;
    if (strcmp(place, previous) != 0) tw_text_add(t, "%s\n", place);
    previous = place;
    print_counts(t, one);
    tw_text_add(t, "%6s  %s\n", address + (strncmp(address, "0x", 2) ? 0 : 2), text);
  }
}

tw_status cdna_show_code(const tw_target *t, const char *const value[], tw_view_form form, char **out,
                         tw_error *error) {
  char *data = NULL, *compiled = NULL;
  size_t size = 0;
  cdna_object object = {0};
  json_t *counts = NULL;
  tw_text text = {0};
  listing l = {.object = &object};
  if (form == TW_VIEW_SVG) return tw_fail(error, TW_USAGE, "code is shown as text or with --json: leave --svg out");
  tw_status status = read_counts(value[COUNTS], &counts, error);
  if (status != TW_OK) return status;
  if (!*value[FILE_KEY]) {
    if (!counts) return tw_fail(error, TW_USAGE, "give file=, counts=, or both");
    list_counted(counts, form, &text);
    json_decref(counts);
    return cdna_view_finish(&text, out, error);
  }
  status = tw_file_read(value[FILE_KEY], FILE_LIMIT, &data, &size, error);
  if (status == TW_OK && !cdna_object_is(data, size))
    status = cdna_compile(cdna_arch_of(t), data, size, false, NULL, &compiled, &size, error);
  if (status == TW_OK) status = cdna_object_read(compiled ? compiled : data, size, value[FILE_KEY], &object, error);
  if (status == TW_OK && object.arch != cdna_arch_of(t))
    status = tw_fail(error, TW_USAGE, "%s is for %s: ask with -t %s", value[FILE_KEY],
                     cdna_machines[object.arch].processor, cdna_machines[object.arch].name);
  if (status == TW_OK) status = cdna_object_kernel(&object, *value[KERNEL] ? value[KERNEL] : NULL, &l.kernel, error);
  if (status == TW_OK) {
    for (size_t i = 0; i < object.n_segments && !l.code; i++)
      if (object.segment[i].executable && l.kernel->entry - object.segment[i].address < object.segment[i].file_size)
        l.code = &object.segment[i];
    l.counts = counts;
    if (l.code) list(&l, form, &text);
    status = cdna_view_finish(&text, out, error);
  }
  json_decref(counts);
  cdna_object_free(&object);
  free(compiled);
  free(data);
  return status;
}
