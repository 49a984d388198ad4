/* text.c - see text.h. Names that are read are interned, as measurements hold static text. */
#include "evaluate/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/json.h"
#include "base/status.h"
#include "base/strings.h"
#include "tilewright/extend/target.h"
#include "tilewright/machine.h"

enum { INTERRUPTED = 130 }; /* in outcomes: 128 + SIGINT */
enum { VERSION = 1, PROBLEM_MAX = 4096, MORE_CASES_MAX = 16 };
static const char MARK[] = "tilewright";

/* ---- reading ---- */

static tw_status parse(const char *text, const char *what, json_t **out, tw_error *error) {
  json_error_t why;
  *out = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
  if (!*out) return tw_fail(error, TW_USAGE, "invalid %s: %s", what, why.text);
  const char *mark = json_string_value(json_object_get(*out, MARK));
  const json_t *version = json_object_get(*out, "version");
  tw_status status = TW_OK;
  if (!mark || strcmp(mark, what) != 0)
    status = tw_fail(error, TW_USAGE, "invalid %s: \"%s\": \"%s\" is missing", what, MARK, what);
  else if (!json_is_integer(version) || json_integer_value(version) != VERSION)
    status = tw_fail(error, TW_USAGE,
                     "unsupported version of this %s; expected %d: install one version of tilewright on both sides",
                     what, VERSION);
  if (status != TW_OK) json_decref(*out);
  return status;
}

/* A number, or null for NaN and infinity. False if it is something else. */
static bool read_real(const json_t *object, const char *key, double *out) {
  const json_t *value = json_object_get(object, key);
  *out = json_is_null(value) ? NAN : json_number_value(value);
  return json_is_number(value) || json_is_null(value);
}

static bool read_finite(const json_t *object, const char *key, double *out) {
  return read_real(object, key, out) && isfinite(*out) && *out >= 0;
}

/* A text without a zero byte. */
static const char *read_text(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  const char *text = json_string_value(value);
  return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static bool copy_text(const json_t *object, const char *key, char *out, size_t size) {
  const char *text = read_text(object, key);
  if (!text || strlen(text) >= size) return false;
  memcpy(out, text, strlen(text) + 1);
  return true;
}

static bool read_name(const json_t *object, const char *key, const char **out) {
  const char *text = read_text(object, key);
  *out = text ? tw_intern(text) : NULL;
  return *out;
}

/* ---- trials ---- */

static char *hexadecimal(const char *bytes, size_t length) {
  static const char digit[] = "0123456789abcdef";
  char *text = tw_new(2 * length + 1, 1);
  for (size_t i = 0; text && i < length; i++) {
    text[2 * i] = digit[(unsigned char)bytes[i] >> 4];
    text[2 * i + 1] = digit[bytes[i] & 15];
  }
  return text;
}

static bool add_source(json_t *object, const tw_trial *t) {
  json_t *source = json_stringn(t->source, t->length);
  if (source) return json_object_set_new(object, "source", source) == 0;
  char *text = hexadecimal(t->source, t->length);
  const bool done = text && json_object_set_new(object, "source_hex", json_string(text)) == 0;
  free(text);
  return done;
}

static int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool read_source(const json_t *object, tw_read_trial *out) {
  const json_t *plain = json_object_get(object, "source"), *hex = json_object_get(object, "source_hex");
  const size_t length = json_string_length(plain ? plain : hex);
  const char *text = json_string_value(plain ? plain : hex);
  if (!text || (plain && hex) || (hex && length % 2)) return false;
  out->trial.length = plain ? length : length / 2;
  if (!(out->source = tw_new(out->trial.length + 1, 1))) return false;
  if (plain) memcpy(out->source, text, length);
  for (size_t i = 0; hex && i < out->trial.length; i++) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out->source[i] = (char)(high << 4 | low);
  }
  out->trial.source = out->source;
  return true;
}

char *tw_trial_print(const tw_trial *t) {
  char problem[PROBLEM_MAX];
  if (tw_problem_print(t->problem, problem, sizeof problem) >= sizeof problem) return NULL;
  json_t *object =
      json_pack("{s:s, s:i, s:s, s:s, s:I, s:f, s:b, s:b, s:f, s:i}", MARK, "trial", "version", VERSION, "target",
                t->target->name, "problem", problem, "seed", (json_int_t)t->seed, "limit", t->limit, "trust", t->trust,
                "check_only", t->check_only, "seconds", t->seconds, "more_cases", t->more_cases);
  char *machine = tw_machine_text(t->target); /* for a user's machine file, which the runner need not have */
  if (object && machine) json_object_set_new(object, "machine", json_string(machine));
  free(machine);
  char *text = object && add_source(object, t) ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  return text;
}

static tw_status fill_trial(const json_t *object, const tw_target *(*find)(const char *), tw_read_trial *out,
                            tw_error *error) {
  tw_trial *t = &out->trial;
  const char *target = read_text(object, "target"), *problem = read_text(object, "problem");
  const json_t *seed = json_object_get(object, "seed"), *check_only = json_object_get(object, "check_only"),
               *trust = json_object_get(object, "trust");
  if (!target || !problem || !json_is_integer(seed) || !json_is_boolean(check_only) || !json_is_boolean(trust) ||
      !read_finite(object, "limit", &t->limit) || !read_finite(object, "seconds", &t->seconds) ||
      !read_source(object, out))
    return tw_fail(error, TW_USAGE,
                   "a field of the trial is missing or malformed; expected target, problem, source, seed, limit, "
                   "trust, check_only and seconds");
  t->seed = (uint64_t)json_integer_value(seed);
  t->check_only = json_is_true(check_only);
  t->trust = json_is_true(trust);
  const json_t *more = json_object_get(object, "more_cases"); /* trials of earlier versions have none */
  const json_int_t cases = more ? json_integer_value(more) : 0;
  if ((more && !json_is_integer(more)) || cases < 0 || cases > MORE_CASES_MAX)
    return tw_fail(error, TW_USAGE, "the trial's more_cases must be a whole number from 0 to %d", MORE_CASES_MAX);
  t->more_cases = (int)cases;
  const char *machine = read_text(object, "machine");
  t->target = find ? find(target) : tw_target_find(target);
  if (!t->target && machine) {
    const tw_status read = tw_machine_read(machine, target, "the trial's machine", &t->target, error);
    if (read != TW_OK) return read;
  }
  if (!t->target)
    return tw_fail(error, TW_USAGE, "unknown target '%.60s'; `tilewright targets` lists the targets", target);
  const tw_status status = tw_problem_parse(t->target, problem, &out->problem, error);
  if (status != TW_OK) return status;
  t->problem = &out->problem;
  return tw_target_supports(t->target, &out->problem, error);
}

tw_status tw_trial_read(const char *text, const tw_target *(*find)(const char *), tw_read_trial *out, tw_error *error) {
  json_t *object;
  *out = (tw_read_trial){0};
  tw_status status = parse(text, "trial", &object, error);
  if (status != TW_OK) return status;
  status = fill_trial(object, find, out, error);
  json_decref(object);
  if (status != TW_OK) tw_read_trial_free(out);
  return status;
}

void tw_read_trial_free(tw_read_trial *t) {
  free(t->source);
  *t = (tw_read_trial){0};
}

/* ---- measurements ---- */

json_t *tw_counters_object(const tw_measurement *m) {
  json_t *object = json_object();
  for (size_t i = 0; i < m->n_counters; i++)
    json_object_set_new(object, m->counter[i].name, tw_json_real(m->counter[i].value));
  return object;
}

static json_t *memory_use(const tw_memory_use *m) {
  return json_pack("{s:I, s:I}", "used", (json_int_t)m->used, "size", (json_int_t)m->size);
}

json_t *tw_memories_object(const tw_measurement *m) {
  json_t *object = json_object();
  for (size_t i = 0; i < m->n_memories; i++) json_object_set_new(object, m->memory[i].name, memory_use(&m->memory[i]));
  return object;
}

json_t *tw_spread_object(const tw_spread *s) {
  return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "rounds", (json_int_t)s->rounds, "least", tw_json_real(s->least),
                   "lower_quartile", tw_json_real(s->lower), "median", tw_json_real(s->median), "upper_quartile",
                   tw_json_real(s->upper), "most", tw_json_real(s->most));
}

static bool read_spread(const json_t *object, tw_spread *s) {
  const json_t *rounds = json_object_get(object, "rounds");
  if (!object) return true;
  if (!json_is_integer(rounds) || json_integer_value(rounds) < 1) return false;
  s->rounds = (size_t)json_integer_value(rounds);
  return read_finite(object, "least", &s->least) && read_finite(object, "lower_quartile", &s->lower) &&
         read_finite(object, "median", &s->median) && read_finite(object, "upper_quartile", &s->upper) &&
         read_finite(object, "most", &s->most);
}

bool tw_counters_read(const json_t *object, tw_measurement *m) {
  const char *name;
  json_t *value;
  m->n_counters = 0;
  if (!json_is_object(object) || json_object_size(object) > TW_COUNTERS_MAX) return false;
  json_object_foreach((json_t *)object, name, value) {
    tw_counter *c = &m->counter[m->n_counters++];
    *c = (tw_counter){.name = tw_intern(name), .unit = "", .help = ""};
    if (!c->name || !read_real(object, name, &c->value)) return false;
  }
  return true;
}

static bool read_memory_use(const json_t *value, tw_memory_use *out) {
  const json_t *used = json_object_get(value, "used"), *size = json_object_get(value, "size");
  if (!json_is_integer(used) || !json_is_integer(size) || json_integer_value(used) < 0 || json_integer_value(size) < 0)
    return false;
  out->used = (size_t)json_integer_value(used);
  out->size = (size_t)json_integer_value(size);
  return true;
}

bool tw_memories_read(const json_t *object, tw_measurement *m) {
  const char *name;
  json_t *value;
  m->n_memories = 0;
  if (!json_is_object(object) || json_object_size(object) > TW_MEMORIES_MAX) return false;
  json_object_foreach((json_t *)object, name, value) {
    tw_memory_use *use = &m->memory[m->n_memories++];
    if (!(use->name = tw_intern(name)) || !read_memory_use(value, use)) return false;
  }
  return true;
}

/* ---- outcomes ---- */

static json_t *list_counters(const tw_measurement *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < m->n_counters; i++) {
    const tw_counter *c = &m->counter[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "name", c->name, "unit", c->unit, "help", c->help,
                                          "value", tw_json_real(c->value)));
  }
  return list;
}

static json_t *list_memories(const tw_measurement *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < m->n_memories; i++) {
    json_t *use = memory_use(&m->memory[i]);
    json_object_set_new(use, "name", json_string(m->memory[i].name));
    json_array_append_new(list, use);
  }
  return list;
}

static bool read_counters(const json_t *list, tw_measurement *m) {
  if (!json_is_array(list) || json_array_size(list) > TW_COUNTERS_MAX) return false;
  for (m->n_counters = 0; m->n_counters < json_array_size(list); m->n_counters++) {
    const json_t *object = json_array_get(list, m->n_counters);
    tw_counter *c = &m->counter[m->n_counters];
    if (!read_name(object, "name", &c->name) || !read_name(object, "unit", &c->unit) ||
        !read_name(object, "help", &c->help) || !read_real(object, "value", &c->value))
      return false;
  }
  return true;
}

static bool read_memories(const json_t *list, tw_measurement *m) {
  if (!json_is_array(list) || json_array_size(list) > TW_MEMORIES_MAX) return false;
  for (m->n_memories = 0; m->n_memories < json_array_size(list); m->n_memories++) {
    const json_t *object = json_array_get(list, m->n_memories);
    tw_memory_use *use = &m->memory[m->n_memories];
    if (!read_name(object, "name", &use->name) || !read_memory_use(object, use)) return false;
  }
  return true;
}

/* The number of a status in outcomes: of its group, as versions without names know it. */
static int number_of(tw_status s) { return s == TW_INTERRUPTED ? INTERRUPTED : (int)tw_status_group(s); }

char *tw_outcome_print(const tw_outcome *o) {
  const tw_measurement *m = &o->measured;
  json_t *object = json_pack(
      "{s:s, s:i, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", MARK, "outcome", "version",
      VERSION, "verdict", tw_verdict_name(o->verdict), "status", number_of(o->error.status), "reason",
      tw_status_name(o->error.status), "message", tw_json_text(o->error.text), "coverage", tw_json_text(o->coverage),
      "took", tw_json_real(o->seconds), "cost", tw_json_real(m->cost), "cycles", tw_json_real(m->cycles), "seconds",
      tw_json_real(m->seconds), "instructions", tw_json_real(m->instructions), "utilization",
      tw_json_real(m->utilization), "counters", list_counters(m), "memory", list_memories(m));
  if (object && m->spread.rounds) json_object_set_new(object, "spread", tw_spread_object(&m->spread));
  if (object && o->evaluator[0]) json_object_set_new(object, "evaluator", json_string(o->evaluator));
  char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  return text;
}

/* The status of an outcome: its group by number and, from this version on, the status itself by name. */
static bool read_status(const json_t *object, tw_status *out) {
  const json_t *number = json_object_get(object, "status");
  const char *name = read_text(object, "reason");
  if (!json_is_integer(number)) return false;
  const json_int_t group = json_integer_value(number);
  if (group != INTERRUPTED && (group < TW_OK || group > TW_MISSING)) return false;
  *out = group == INTERRUPTED ? TW_INTERRUPTED : (tw_status)group;
  tw_status named;
  if (name && tw_status_parse(name, &named) && tw_status_group(named) == *out) *out = named;
  return true;
}

/* Returns the first field that is missing or malformed; NULL if there is none. */
static const char *fill_outcome(const json_t *object, tw_outcome *o) {
  tw_measurement *m = &o->measured;
  const char *verdict = read_text(object, "verdict");
  const struct {
    const char *name;
    double *to;
  } number[] = {{"took", &o->seconds},
                {"cost", &m->cost},
                {"cycles", &m->cycles},
                {"seconds", &m->seconds},
                {"instructions", &m->instructions},
                {"utilization", &m->utilization}};
  if (!verdict || !tw_verdict_parse(verdict, &o->verdict)) return "verdict";
  if (!read_status(object, &o->error.status)) return "status";
  if (o->verdict == TW_CORRECT && o->error.status != TW_OK) return "status";
  if (!copy_text(object, "message", o->error.text, sizeof o->error.text)) return "message";
  if (!copy_text(object, "coverage", o->coverage, sizeof o->coverage)) return "coverage";
  for (size_t i = 0; i < sizeof number / sizeof *number; i++)
    if (!read_finite(object, number[i].name, number[i].to)) return number[i].name;
  if (!read_counters(json_object_get(object, "counters"), m)) return "counters";
  if (!read_memories(json_object_get(object, "memory"), m)) return "memory";
  if (!read_spread(json_object_get(object, "spread"), &m->spread)) return "spread";
  if (json_object_get(object, "evaluator") && !copy_text(object, "evaluator", o->evaluator, sizeof o->evaluator))
    return "evaluator";
  return NULL;
}

tw_status tw_outcome_read(const char *text, tw_outcome *out, tw_error *error) {
  json_t *object;
  *out = (tw_outcome){0};
  tw_status status = parse(text, "outcome", &object, error);
  if (status != TW_OK) return status;
  const char *field = fill_outcome(object, out);
  if (field) {
    *out = (tw_outcome){0};
    status = tw_fail(error, TW_USAGE, "the outcome's field \"%s\" is missing or malformed", field);
  }
  json_decref(object);
  return status;
}
