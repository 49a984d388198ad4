/* targets.c - `tilewright targets [NAME]`: the machines, and which can be used here. */
#include <stdlib.h>

#include "cli/cli.h"

static json_t *as_json(const tw_target *target) {
  tw_error error = {0};
  bool available = target->available(target, &error) == TW_OK;
  json_t *object = json_object();
  json_object_set_new(object, "name", cli_json_text(target->name));
  json_object_set_new(object, "summary", cli_json_text(target->summary));
  json_object_set_new(object, "unit", cli_json_text(target->unit));
  json_object_set_new(object, "simulated", json_boolean(target->traits.simulated));
  json_object_set_new(object, "deterministic", json_boolean(target->traits.deterministic));
  json_object_set_new(object, "language", cli_json_text(target->traits.language));
  json_object_set_new(object, "source_name", cli_json_text(target->traits.source_name));
  json_object_set_new(object, "available", json_boolean(available));
  if (!available) json_object_set_new(object, "missing", cli_json_text(error.text));
  char *description = target->describe(target);
  if (description) json_object_set_new(object, "description", cli_json_text(description));
  free(description);
  return object;
}

static void print_line(const tw_target *target) {
  tw_error error = {0};
  printf("%-24s %s\n", target->name, target->summary);
  if (target->available(target, &error) != TW_OK) printf("%-24s not usable here: %s\n", "", error.text);
}

static tw_status print_one(const char *name, tw_error *error) {
  const tw_target *target;
  tw_status status = cli_find_target(name, &target, error);
  if (status != TW_OK) return status;
  print_line(target);
  char *description = target->describe(target);
  if (description) printf("\n%s", description);
  free(description);
  return TW_OK;
}

static tw_status print_all_json(const cli *c, const char *name, tw_error *error) {
  json_t *all = json_array();
  const tw_target *target;
  if (name) {
    tw_status status = cli_find_target(name, &target, error);
    if (status != TW_OK) {
      json_decref(all);
      return status;
    }
    json_array_append_new(all, as_json(target));
  }
  for (size_t i = 0; !name && (target = tw_target_at(i)); i++) json_array_append_new(all, as_json(target));
  return cli_print_json(c, json_pack("{s:o}", "targets", all), error);
}

tw_status cli_targets(const cli *c, tw_error *error) {
  tw_status status = cli_no_words(c, 1, error);
  if (status != TW_OK) return status;
  const char *name = c->n_words ? c->words[0] : NULL;
  if (c->options.json) return print_all_json(c, name, error);
  if (name) return print_one(name, error);
  const tw_target *target;
  for (size_t i = 0; (target = tw_target_at(i)); i++) print_line(target);
  return TW_OK;
}
