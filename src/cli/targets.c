/* targets.c - `tilewright targets [NAME]`: the machines, and which can be used here. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* What a machine has beside the core. */
typedef struct table {
  const char *name, *what;
  bool is_there;
} table;
enum { TABLES = 7 };

static void list_tables(const tw_target *t, table out[TABLES]) {
  const table all[TABLES] = {
      {"quick", "kernels without a chance are not measured", t->quick},
      {"explainer", "`model` explains tiles and shows the innermost kernel", t->explainer},
      {"exporter", "`emit` writes files for the machine's own tools, and floor plans", t->exporter},
      {"library", "`bench` times a library, which learns what `tune` finds", t->library},
      {"rewriter", "`tune --from` rewrites a program of yours", t->rewriter},
      {"views", "`view` answers questions about the machine", t->machine_views},
      {"launcher", "`run FILE --kernel NAME` launches a kernel without an op", t->launcher},
  };
  memcpy(out, all, sizeof all);
}

static json_t *as_json(const tw_target *target) {
  tw_error error = {0};
  bool available = target->available(target, &error) == TW_OK;
  json_t *object = json_object();
  json_object_set_new(object, "name", tw_json_text(target->name));
  json_object_set_new(object, "summary", tw_json_text(target->summary));
  json_object_set_new(object, "unit", tw_json_text(target->unit));
  json_object_set_new(object, "simulated", json_boolean(target->traits.simulated));
  json_object_set_new(object, "deterministic", json_boolean(target->traits.deterministic));
  json_object_set_new(object, "language", tw_json_text(target->traits.language));
  json_object_set_new(object, "source_name", tw_json_text(target->traits.source_name));
  json_object_set_new(object, "available", json_boolean(available));
  if (!available) json_object_set_new(object, "missing", tw_json_text(error.text));
  json_t *ops = json_object(), *also = json_array();
  for (const tw_family *f = target->family; f < target->family + target->n_families; f++)
    json_object_set_new(ops, f->op, tw_json_text(f->keys));
  table tables[TABLES];
  list_tables(target, tables);
  for (int i = 0; i < TABLES; i++)
    if (tables[i].is_there) json_array_append_new(also, tw_json_text(tables[i].name));
  json_object_set_new(object, "ops", ops);
  json_object_set_new(object, "also", also);
  char *description = target->describe(target);
  if (description) json_object_set_new(object, "description", tw_json_text(description));
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
  printf("\n");
  for (const tw_family *f = target->family; f < target->family + target->n_families; f++)
    printf("%-12s %s: %s\n", f == target->family ? "ops" : "", strcmp(f->op, "*") ? f->op : "any",
           strcmp(f->keys, "*") ? f->keys : "all of its keys");
  table tables[TABLES];
  list_tables(target, tables);
  for (int i = 0; i < TABLES; i++)
    if (tables[i].is_there) printf("%-12s %s\n", tables[i].name, tables[i].what);
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
