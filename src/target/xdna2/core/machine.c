/* machine.c - reads the core from its text: "key = value" lines, and one line for each instruction. */
#include "target/xdna2/core/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/embedded.h"
#include "base/strings.h"

static bool parse_slots(const char *value, void *field, void *out);
static bool parse_ports(const char *value, void *field, void *out);

#define NUMBER(field, low, high)                                                                                       \
  { #field, TW_CONFIG_INT, offsetof(xc_machine, field), low, high, 1, NULL, NULL }
static const tw_config_key keys[] = {
    {"name", TW_CONFIG_TEXT, offsetof(xc_machine, name), 0, sizeof((xc_machine *)0)->name, 1, NULL, NULL},
    {"slots", TW_CONFIG_OTHER, 0, 0, 0, 1, parse_slots, "at most 8 slots, of names of at most 7 letters"},
    {"write_ports", TW_CONFIG_OTHER, 0, 0, 0, 1, parse_ports, "slots that were given above"},
    NUMBER(bundle_bytes, 1, 64),
    NUMBER(program_bytes, 1024, 1 << 20),
    NUMBER(loop_bundles, 0, 64),
    NUMBER(vectors, 1, 64),
    NUMBER(accumulators, 1, 32),
    NUMBER(accumulator_parts, 1, 8),
    NUMBER(load_fifos, 1, 8),
    NUMBER(store_fifos, 1, 8),
    NUMBER(pops_per_fill, 1, 64),
    NUMBER(pushes_per_flush, 1, 64),
    NUMBER(banks, 1, 32),
};
#undef NUMBER

#define CYCLE(field)                                                                                                   \
  { #field, offsetof(xc_instruction, field) }
static const struct cycle_key {
  const char *name;
  size_t offset;
} cycle_keys[] = {CYCLE(operands), CYCLE(accumulator), CYCLE(result), CYCLE(memory), CYCLE(position)};
#undef CYCLE
enum { CYCLES = sizeof cycle_keys / sizeof *cycle_keys, CYCLE_MAX = 16 };

static int find_slot(const xc_machine *m, const char *name, size_t length) {
  for (int i = 0; i < m->n_slots; i++)
    if (strlen(m->slot[i]) == length && !strncmp(m->slot[i], name, length)) return i;
  return -1;
}

/* The next word of a text, at most `size` - 1 letters long; NULL at the end of the text, or if the word is longer. */
static const char *next_word(const char **text, char *word, size_t size) {
  *text += strspn(*text, " ");
  const size_t length = strcspn(*text, " ");
  if (length == 0 || length >= size) return NULL;
  memcpy(word, *text, length);
  word[length] = '\0';
  *text += length;
  return word;
}

static bool parse_slots(const char *value, void *field, void *out) {
  (void)field;
  xc_machine *m = out;
  while (m->n_slots < XC_SLOTS_MAX && next_word(&value, m->slot[m->n_slots], sizeof m->slot[0])) m->n_slots++;
  return !*value;
}
_Static_assert((int)XC_SLOTS_MAX == 8 && sizeof((xc_machine *)0)->slot[0] == 8, "the words of `slots` above");

static bool parse_ports(const char *value, void *field, void *out) {
  (void)field;
  xc_machine *m = out;
  char word[sizeof m->slot[0]];
  for (int slot; next_word(&value, word, sizeof word); m->write_port[slot] = true)
    if ((slot = find_slot(m, word, strlen(word))) < 0) return false;
  return !*value;
}

static tw_status parse_attribute(xc_instruction *out, char *word, tw_config_place at, tw_error *error) {
  char *value = strchr(word, '=');
  int64_t number;
  if (!value) return tw_fail(error, TW_USAGE, "%s:%d: %s: expected KEY=VALUE", at.origin, at.line, word);
  *value++ = '\0';
  if (!strcmp(word, "bypass")) {
    out->bypass = !strcmp(value, "vec") ? XC_BYPASS_VEC : !strcmp(value, "mv") ? XC_BYPASS_MV : XC_BYPASS_NONE;
    if (out->bypass != XC_BYPASS_NONE) return TW_OK;
    return tw_fail(error, TW_USAGE, "%s:%d: bypass=%s; expected vec or mv", at.origin, at.line, value);
  }
  for (int i = 0; i < CYCLES; i++) {
    if (strcmp(word, cycle_keys[i].name)) continue;
    if (!tw_parse_int(value, &number) || number < 1 || number > CYCLE_MAX)
      return tw_fail(error, TW_USAGE, "%s:%d: %s=%s: expected a cycle from 1 to %d", at.origin, at.line, word, value,
                     CYCLE_MAX);
    *(int *)((char *)out + cycle_keys[i].offset) = (int)number;
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s:%d: unknown %s of an instruction", at.origin, at.line, word);
}

static tw_status parse_instruction(xc_machine *m, char *line, tw_config_place at, tw_error *error) {
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
      return tw_fail(error, TW_USAGE, "%s:%d: unknown slot %.*s", at.origin, at.line, (int)length, slots);
    out->slot[out->n_slots++] = slot;
  }
  for (char *word; (word = strtok_r(NULL, " ", &rest));) {
    tw_status status = parse_attribute(out, word, at, error);
    if (status != TW_OK) return status;
  }
  m->n_instructions++;
  return TW_OK;
}

static tw_status parse_line(void *context, char *line, tw_config_place at, tw_error *error) {
  static const char instruction[] = "instruction ";
  tw_config_record *record = context;
  const char *key = NULL;
  char *value = NULL;
  if (!strncmp(line, instruction, sizeof instruction - 1))
    return parse_instruction(record->out, line + sizeof instruction - 1, at, error);
  const tw_status status = tw_config_split(line, &key, &value, at, error);
  return status == TW_OK ? tw_config_set(record, key, value, at, error) : status;
}

tw_status xc_machine_parse(const char *text, const char *origin, xc_machine *out, tw_error *error) {
  tw_config_record record = {.what = "core", TW_CONFIG_KEYS(keys), .out = out};
  *out = (xc_machine){0};
  const tw_status status = tw_config_lines(text, origin, parse_line, &record, error);
  return status == TW_OK ? tw_config_complete(&record, (tw_config_place){origin, 0}, error) : status;
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
