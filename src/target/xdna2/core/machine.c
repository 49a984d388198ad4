/* machine.c - reads the core from its text: "key = value" lines, and one line for each instruction. */
#include "target/xdna2/core/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"

typedef struct place {
  const char *origin;
  int line;
} place;

#define NUMBER(field, low, high)                                                                                       \
  { #field, offsetof(xc_machine, field), low, high }
static const struct number_key {
  const char *name;
  size_t offset;
  int low, high;
} number_keys[] = {
    NUMBER(bundle_bytes, 1, 64),  NUMBER(program_bytes, 1024, 1 << 20),
    NUMBER(loop_bundles, 0, 64),  NUMBER(vectors, 1, 64),
    NUMBER(accumulators, 1, 32),  NUMBER(accumulator_parts, 1, 8),
    NUMBER(load_fifos, 1, 8),     NUMBER(store_fifos, 1, 8),
    NUMBER(pops_per_fill, 1, 64), NUMBER(pushes_per_flush, 1, 64),
    NUMBER(banks, 1, 32),
};
#undef NUMBER
static const char *const text_keys[] = {"name", "slots", "write_ports"};
enum { NUMBERS = sizeof number_keys / sizeof *number_keys, TEXTS = sizeof text_keys / sizeof *text_keys };

#define CYCLE(field)                                                                                                   \
  { #field, offsetof(xc_instruction, field) }
static const struct cycle_key {
  const char *name;
  size_t offset;
} cycle_keys[] = {CYCLE(operands), CYCLE(accumulator), CYCLE(result), CYCLE(memory), CYCLE(position)};
#undef CYCLE
enum { CYCLES = sizeof cycle_keys / sizeof *cycle_keys, CYCLE_MAX = 16 };

typedef struct reader {
  xc_machine *out;
  bool seen_number[NUMBERS], seen_text[TEXTS];
} reader;

static int find_slot(const xc_machine *m, const char *name, size_t length) {
  for (int i = 0; i < m->n_slots; i++)
    if (strlen(m->slot[i]) == length && !strncmp(m->slot[i], name, length)) return i;
  return -1;
}

static tw_status parse_slots(xc_machine *m, char *value, place at, tw_error *error) {
  char *rest = value;
  for (char *word; (word = strtok_r(NULL, " ", &rest));) {
    if (m->n_slots == XC_SLOTS_MAX || strlen(word) >= sizeof m->slot[0])
      return tw_fail(error, TW_USAGE, "%s:%d: at most %d slots, of names of at most %zu letters", at.origin, at.line,
                     XC_SLOTS_MAX, sizeof m->slot[0] - 1);
    strcpy(m->slot[m->n_slots++], word);
  }
  return TW_OK;
}

static tw_status parse_ports(xc_machine *m, char *value, place at, tw_error *error) {
  char *rest = value;
  for (char *word; (word = strtok_r(NULL, " ", &rest));) {
    int slot = find_slot(m, word, strlen(word));
    if (slot < 0) return tw_fail(error, TW_USAGE, "%s:%d: no slot %s", at.origin, at.line, word);
    m->write_port[slot] = true;
  }
  return TW_OK;
}

static tw_status parse_text(reader *r, int key, char *value, place at, tw_error *error) {
  if (key == 1) return parse_slots(r->out, value, at, error);
  if (key == 2) return parse_ports(r->out, value, at, error);
  if (strlen(value) >= sizeof r->out->name) return tw_fail(error, TW_USAGE, "%s:%d: name too long", at.origin, at.line);
  strcpy(r->out->name, value);
  return TW_OK;
}

static tw_status parse_key(reader *r, const char *name, char *value, place at, tw_error *error) {
  for (int i = 0; i < TEXTS; i++) {
    if (strcmp(name, text_keys[i])) continue;
    if (r->seen_text[i]) return tw_fail(error, TW_USAGE, "%s:%d: %s is given twice", at.origin, at.line, name);
    r->seen_text[i] = true;
    return parse_text(r, i, value, at, error);
  }
  for (int i = 0; i < NUMBERS; i++) {
    const struct number_key *k = &number_keys[i];
    int64_t number;
    if (strcmp(name, k->name)) continue;
    if (r->seen_number[i]) return tw_fail(error, TW_USAGE, "%s:%d: %s is given twice", at.origin, at.line, name);
    if (!tw_parse_int(value, &number) || number < k->low || number > k->high)
      return tw_fail(error, TW_USAGE, "%s:%d: %s = %s: not an integer from %d to %d", at.origin, at.line, name, value,
                     k->low, k->high);
    r->seen_number[i] = true;
    *(int *)((char *)r->out + k->offset) = (int)number;
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s:%d: unknown key \"%s\"", at.origin, at.line, name);
}

static tw_status parse_attribute(xc_instruction *out, char *word, place at, tw_error *error) {
  char *value = strchr(word, '=');
  int64_t number;
  if (!value) return tw_fail(error, TW_USAGE, "%s:%d: %s: expected KEY=VALUE", at.origin, at.line, word);
  *value++ = '\0';
  if (!strcmp(word, "bypass")) {
    out->bypass = !strcmp(value, "vec") ? XC_BYPASS_VEC : !strcmp(value, "mv") ? XC_BYPASS_MV : XC_BYPASS_NONE;
    if (out->bypass != XC_BYPASS_NONE) return TW_OK;
    return tw_fail(error, TW_USAGE, "%s:%d: bypass=%s is neither vec nor mv", at.origin, at.line, value);
  }
  for (int i = 0; i < CYCLES; i++) {
    if (strcmp(word, cycle_keys[i].name)) continue;
    if (!tw_parse_int(value, &number) || number < 1 || number > CYCLE_MAX)
      return tw_fail(error, TW_USAGE, "%s:%d: %s=%s: not a cycle from 1 to %d", at.origin, at.line, word, value,
                     CYCLE_MAX);
    *(int *)((char *)out + cycle_keys[i].offset) = (int)number;
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s:%d: unknown %s of an instruction", at.origin, at.line, word);
}

static tw_status parse_instruction(xc_machine *m, char *line, place at, tw_error *error) {
  char *rest = line, *name = strtok_r(NULL, " ", &rest), *slots = strtok_r(NULL, " ", &rest);
  xc_instruction *out = &m->instruction[m->n_instructions];
  if (m->n_instructions == XC_INSTRUCTIONS_MAX)
    return tw_fail(error, TW_USAGE, "%s:%d: more than %d instructions", at.origin, at.line, XC_INSTRUCTIONS_MAX);
  if (!name || !slots || strlen(name) >= sizeof out->name)
    return tw_fail(error, TW_USAGE, "%s:%d: expected \"instruction NAME SLOT,... KEY=CYCLE...\"", at.origin, at.line);
  if (xc_find_instruction(m, name) >= 0)
    return tw_fail(error, TW_USAGE, "%s:%d: instruction %s is given twice", at.origin, at.line, name);
  *out = (xc_instruction){0};
  strcpy(out->name, name);
  for (size_t length; *slots; slots += length + (slots[length] == ',')) {
    length = strcspn(slots, ",");
    int slot = find_slot(m, slots, length);
    if (slot < 0 || out->n_slots == (int)(sizeof out->slot / sizeof *out->slot))
      return tw_fail(error, TW_USAGE, "%s:%d: no slot %.*s", at.origin, at.line, (int)length, slots);
    out->slot[out->n_slots++] = slot;
  }
  for (char *word; (word = strtok_r(NULL, " ", &rest));) {
    tw_status status = parse_attribute(out, word, at, error);
    if (status != TW_OK) return status;
  }
  m->n_instructions++;
  return TW_OK;
}

static tw_status parse_line(reader *r, char *text, place at, tw_error *error) {
  static const char instruction[] = "instruction ";
  char *line = tw_strip(text), *equals;
  if (!*line) return TW_OK;
  if (!strncmp(line, instruction, sizeof instruction - 1))
    return parse_instruction(r->out, line + sizeof instruction - 1, at, error);
  if (!(equals = strchr(line, '='))) return tw_fail(error, TW_USAGE, "%s:%d: expected key = value", at.origin, at.line);
  *equals = '\0';
  return parse_key(r, tw_strip(line), tw_strip(equals + 1), at, error);
}

static tw_status check_whole(const reader *r, place at, tw_error *error) {
  for (int i = 0; i < TEXTS; i++)
    if (!r->seen_text[i]) return tw_fail(error, TW_USAGE, "%s: lacks the key %s", at.origin, text_keys[i]);
  for (int i = 0; i < NUMBERS; i++)
    if (!r->seen_number[i]) return tw_fail(error, TW_USAGE, "%s: lacks the key %s", at.origin, number_keys[i].name);
  return TW_OK;
}

tw_status xc_machine_parse(const char *text, const char *origin, xc_machine *out, tw_error *error) {
  reader r = {.out = out};
  place at = {origin, 0};
  char *copy = strdup(text), *rest = copy, *line;
  tw_status status = copy ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  *out = (xc_machine){0};
  while (status == TW_OK && (line = strsep(&rest, "\n"))) {
    at.line++;
    status = parse_line(&r, line, at, error);
  }
  free(copy);
  return status == TW_OK ? check_whole(&r, at, error) : status;
}

int xc_find_instruction(const xc_machine *m, const char *name) {
  for (int i = 0; i < m->n_instructions; i++)
    if (!strcmp(m->instruction[i].name, name)) return i;
  return -1;
}

/* ---- the machine of the program ---- */

static xc_machine aie2p;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_aie2p(void) {
  const tw_embedded *file = tw_embedded_find("xdna2/configs/aie2p.core.txt");
  if (file) xc_machine_parse((const char *)file->data, file->name, &aie2p, NULL);
}

const xc_machine *xc_machine_aie2p(void) {
  pthread_once(&once, read_aie2p);
  return &aie2p;
}
