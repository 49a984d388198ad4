/* machines.c - see machines.h. */
#include "target/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/hash.h"
#include "base/strings.h"

static const char NOT_MEASURED[] = "this machine has not been measured";

/* ---- in the program ---- */

static char *format(const char *a, const char *b) {
  tw_text t = {0};
  tw_text_add(&t, "%s%s", a, b);
  return tw_text_take(&t);
}

static const tw_embedded *file_of(const tw_machine_kind *k, const char *name) {
  char path[160];
  const size_t prefix = strlen(k->prefix);
  if (strncmp(name, k->prefix, prefix) != 0) return NULL;
  snprintf(path, sizeof path, "%s%s.txt", k->folder, name + prefix);
  return tw_embedded_find(path);
}

/* The values of an embedded file, with its base; `base` gets the base's name, or NULL. */
static tw_status read_embedded(const tw_machine_kind *k, const tw_embedded *file, void *values, char **base,
                               tw_error *error) {
  const char *text = (const char *)file->data;
  *base = tw_config_base(text, NULL);
  if (!*base) return tw_config_read(k->schema, text, file->name, NULL, values, NULL, error);
  const tw_embedded *other = file_of(k, *base);
  void *below = calloc(1, k->schema->bytes);
  char *further = NULL;
  tw_status status = TW_OK;
  if (!other || other == file) status = tw_fail(error, TW_USAGE, "%s: base = %s: unknown machine", file->name, *base);
  if (status == TW_OK && !below) status = tw_no_memory(error, file->name);
  if (status == TW_OK) status = read_embedded(k, other, below, &further, error);
  if (status == TW_OK) status = tw_config_read(k->schema, text, file->name, below, values, NULL, error);
  free(further);
  free(below);
  return status;
}

static void fill_target(tw_machine *m) {
  m->target = (tw_target){.size = sizeof(tw_target)};
  m->kind->fill(m->values, &m->target);
  m->target.name = m->name;
  m->target.summary = tw_config_text(m->kind->schema, m->values, "summary");
}

/* The stated error belongs to the measured machine. Another machine has it only if nothing that takes time differs. */
static bool inherits_error(const tw_machine *m, const void *base_values) {
  return !m->target.traits.simulated || !tw_config_times_differ(m->kind->schema, m->values, base_values);
}

static void state_error(tw_machine *m, const void *base_values, const char *text) {
  if (tw_config_gives(text, "error") || inherits_error(m, base_values)) return;
  m->target.traits.error = 0;
  m->target.traits.error_of = NOT_MEASURED;
}

static tw_status add_embedded(tw_machine_list *l, const tw_embedded *file, tw_error *error) {
  tw_machine *m = &l->machine[l->n];
  char *base = NULL;
  *m = (tw_machine){.kind = &l->kind, .text = (const char *)file->data, .values = calloc(1, l->kind.schema->bytes)};
  if (!m->values) return tw_no_memory(error, file->name);
  tw_status status = read_embedded(&l->kind, file, m->values, &base, error);
  if (status == TW_OK) m->name = format(l->kind.prefix, tw_config_text(l->kind.schema, m->values, "name"));
  if (status == TW_OK && !m->name) status = tw_no_memory(error, file->name);
  if (status == TW_OK && file_of(&l->kind, m->name) != file)
    status = tw_fail(error, TW_USAGE, "%s: its machine is called %s", file->name, m->name);
  if (status == TW_OK) fill_target(m), l->n++;
  if (status == TW_OK && base) {
    const tw_embedded *other = file_of(&l->kind, base);
    void *below = calloc(1, l->kind.schema->bytes);
    char *further = NULL;
    if (below && read_embedded(&l->kind, other, below, &further, NULL) == TW_OK) state_error(m, below, m->text);
    free(further);
    free(below);
  }
  free(base);
  return status;
}

/* Is it a machine's file? "x.core.txt" is read elsewhere. */
static bool is_machine(const tw_machine_list *l, const tw_embedded *file) {
  const char *own = tw_embedded_below(file, l->kind.folder), *end = own ? strchr(own, '.') : NULL;
  return end && strcmp(end, ".txt") == 0;
}

/* The machines with a base, or those without one, which come first. */
static void fill_list(tw_machine_list *l, bool with_base) {
  const tw_embedded *file;
  tw_error error = {0};
  for (size_t i = 0; (file = tw_embedded_at(i)); i++) {
    char *base = is_machine(l, file) ? tw_config_base((const char *)file->data, NULL) : NULL;
    const bool belongs = is_machine(l, file) && with_base == (base != NULL);
    free(base);
    if (!belongs || (l->n < TW_MACHINES_MAX && add_embedded(l, file, &error) == TW_OK)) continue;
    fprintf(stderr, "tilewright: %s: %s\n", file->name,
            error.text[0] ? error.text : "more machines than the list can hold");
    abort(); /* the program itself is broken; a test reads each file */
  }
}

const tw_target *tw_machines_at(tw_machine_list *l, size_t index) {
  pthread_mutex_lock(&l->lock);
  if (!l->is_filled) fill_list(l, false), fill_list(l, true);
  l->is_filled = true;
  pthread_mutex_unlock(&l->lock);
  return index < l->n ? &l->machine[index].target : NULL;
}

const tw_machine *tw_machines_find(tw_machine_list *l, const tw_target *t) {
  for (size_t i = 0; tw_machines_at(l, i); i++)
    if (&l->machine[i].target == t) return &l->machine[i];
  return NULL;
}

/* ---- of a user ---- */

/* Measurements depend on the values of the machine, not on its names. A separately stated error counts, too, because
 * it decides which costs a search treats as equal. */
static void digits_of(const tw_machine *m, bool has_own_error, char out[9]) {
  tw_hash h;
  char digits[TW_HASH_TEXT], *values = tw_config_print(m->kind->schema, m->values, NULL, false);
  tw_hash_start(&h);
  tw_hash_add_string(&h, m->kind->folder);
  tw_hash_add_string(&h, values ? values : "");
  if (has_own_error) tw_hash_add(&h, &m->target.traits.error, sizeof(double));
  tw_hash_finish_text(&h, digits);
  memcpy(out, digits, 8);
  out[8] = '\0';
  free(values);
}

/* Sets a TEXT of the values. */
static void set_text(tw_machine *m, const char *key, const char *text) {
  char *values = m->values;
  const tw_config_section *s = &m->kind->schema->section[0];
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->key[i].name, key) == 0)
      snprintf(values + s->offset + s->key[i].offset, (size_t)s->key[i].high, "%s", text);
}

/* Does the file state an error that the machine would not have without it? Calls fill_target. */
static bool states_new_error(tw_machine *m, const tw_machine *base, const char *text) {
  fill_target(m);
  const double inherited = inherits_error(m, base->values) ? base->target.traits.error : 0;
  return tw_config_gives(text, "error") && m->target.traits.error != inherited;
}

static tw_status name_machine(tw_machine *m, const tw_machine *base, const char *text, const char *origin,
                              const char *stem, tw_error *error) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
  enum { MOST = 31 }; /* the room for a name in every kind */
  char digits[9];
  tw_text full = {0};
  char name[MOST + 2], summary[120];
  snprintf(name, sizeof name, "%s",
           tw_config_gives(text, "name") ? tw_config_text(m->kind->schema, m->values, "name") : stem);
  if (!*name || strlen(name) > MOST || name[strspn(name, letters)])
    return tw_fail(
        error, TW_USAGE,
        "%s: the name \"%.60s\" must have 1 to %d letters, digits or -_.+; rename the file or add `name = ...`", origin,
        name, MOST);
  digits_of(m, states_new_error(m, base, text), digits);
  tw_text_add(&full, "%s@%s", name, digits);
  m->name = tw_text_take(&full);
  set_text(m, "name", name);
  snprintf(summary, sizeof summary, "a machine of your own, based on %s", m->base->name);
  if (!tw_config_gives(text, "summary")) set_text(m, "summary", summary);
  return m->name ? TW_OK : tw_no_memory(error, origin);
}

/* A user who measured the machine may state the simulator's error. */
static void state_own_error(tw_machine *m, const tw_machine *base, const char *text, const char *origin) {
  m->target.traits.error = base->target.traits.error;
  m->target.traits.error_of = base->target.traits.error_of;
  if (tw_config_gives(text, "error")) fill_target(m);
  state_error(m, base->values, text);
  if (!tw_config_gives(text, "error") || tw_config_gives(text, "error_of")) return;
  tw_text t = {0};
  tw_text_add(&t, "the simulator's error: stated in %s", origin);
  m->error_of = tw_text_take(&t);
  if (m->error_of) m->target.traits.error_of = m->error_of;
}

tw_status tw_machine_make(const tw_machine *base, const char *text, const char *origin, const char *stem,
                          tw_machine **out, char **problems, tw_error *error) {
  tw_machine *m = calloc(1, sizeof *m);
  if (problems) *problems = NULL;
  if (m) m->values = calloc(1, base->kind->schema->bytes);
  if (!m || !m->values) {
    free(m);
    return tw_no_memory(error, origin);
  }
  m->kind = base->kind;
  m->base = &base->target;
  tw_status status = tw_config_read(m->kind->schema, text, origin, base->values, m->values, problems, error);
  if (status == TW_OK) status = name_machine(m, base, text, origin, stem, error);
  if (status != TW_OK) {
    tw_machine_free(m);
    return status;
  }
  fill_target(m);
  state_own_error(m, base, text, origin);
  *out = m;
  return TW_OK;
}

void tw_machine_free(tw_machine *m) {
  if (!m) return;
  free(m->values);
  free(m->name);
  free(m->error_of);
  free(m);
}
