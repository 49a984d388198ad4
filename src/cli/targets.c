/* targets.c - `tilewright targets`: lists the machines and their availability here; checks a user's machine file. */
#define _GNU_SOURCE /* strsep */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "tilewright/extend/target.h"
#include "tilewright/machine.h"

/* What commands can do for a target, in addition to its ops. `name` is for --json. */
typedef struct feature {
  const char *name, *what;
  bool is_there;
} feature;
enum { FEATURES = 8 };

static void list_features(const tw_target *t, feature out[FEATURES]) {
  const feature all[FEATURES] = {
      {"quick", "`tune` does not measure kernels that a quick estimate rules out", t->traits.bounds_builds},
      {"explainer", "`model` explains tiles and prints the micro-kernel", t->explainer},
      {"exporter", "`emit --out DIR` also writes files for the machine's own tools", t->exporter},
      {"floorplan", "`emit --floorplan FILE` draws the placement of buffers and routes",
       t->exporter && t->exporter->floorplan},
      {"library", "`bench` times the target's library, which uses the kernels that `tune` found", t->library},
      {"rewriter", "`tune --from FILE` rewrites your own program", t->rewriter},
      {"views", "`view` shows layouts, banks and other properties of the machine", t->machine_views},
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
  feature features[FEATURES];
  list_features(target, features);
  for (int i = 0; i < FEATURES; i++)
    if (features[i].is_there) json_array_append_new(also, tw_json_text(features[i].name));
  json_object_set_new(object, "ops", ops);
  json_object_set_new(object, "also", also);
  cli_json_accuracy(object, target, NULL);
  char *description = target->describe(target);
  if (description) json_object_set_new(object, "description", tw_json_text(description));
  free(description);
  return object;
}

/* In a list, the names are in the first column: completions read it. `reason` is why the previous target of the list is
 * not available, if it is not. The GPUs of a driver that is missing have one reason, which is printed once. */
static void print_line(const tw_target *target, tw_error *reason) {
  tw_error error = {0};
  printf("%-24s %s\n", target->name, target->summary);
  const bool available = target->available(target, &error) == TW_OK, is_known = !strcmp(error.text, reason->text);
  if (!available) printf("%-24s not available here%s%s\n", "", is_known ? "" : ": ", is_known ? "" : error.text);
  *reason = error;
}

static void print_target(const tw_target *target) {
  print_line(target, &(tw_error){0});
  char *description = target->describe(target);
  if (description) printf("\n%s", description);
  free(description);
  printf("\n");
  for (const tw_family *f = target->family; f < target->family + target->n_families; f++)
    printf("%-12s %s: %s\n", f == target->family ? "ops" : "",
           strcmp(f->op, "*")    ? f->op
           : f == target->family ? "any op"
                                 : "any other op",
           strcmp(f->keys, "*") ? f->keys : "every key that `tilewright ops` lists");
  feature features[FEATURES];
  list_features(target, features);
  const char *title = "commands";
  for (int i = 0; i < FEATURES; i++)
    if (features[i].is_there) printf("%-12s %s\n", title, features[i].what), title = "";
  if (target->traits.simulated && target->traits.error > 0)
    printf("%-12s %.2g%%: %s\n", "error", 100 * target->traits.error, target->traits.error_of);
  else if (target->traits.simulated && target->traits.error_of)
    printf("%-12s unknown: %s\n", "error", target->traits.error_of);
}

/* ---- machine files ---- */

static bool names_file(const char *name) {
  const size_t n = strlen(name), ending = strlen(".machine");
  return strchr(name, '/') || (n > ending && !strcmp(name + n - ending, ".machine"));
}

/* Prints "base = ..." and one line for each changed value. */
static void print_changes(const tw_target *t) {
  char *changes = tw_machine_changes(t), *rest = changes;
  const char *title = "file";
  for (char *line; rest && (line = strsep(&rest, "\n"));)
    if (*line) printf("%-12s %s\n", title, line), title = "";
  free(changes);
}

static json_t *json_lines(char *text) {
  json_t *list = json_array();
  char *rest = text;
  for (char *line; rest && (line = strsep(&rest, "\n"));)
    if (*line) json_array_append_new(list, tw_json_text(line));
  free(text);
  return list;
}

/* Prints every problem of a file on a line. The error gives their number. */
static tw_status refuse_file(const cli *c, const char *path, tw_status status, char *problems, tw_error *error) {
  size_t n = 0;
  for (const char *p = problems; p && (p = strchr(p, '\n')); p++) n++;
  if (c->options.json) {
    tw_error ignored;
    json_t *object = cli_json_error(error->text, status);
    json_object_set_new(object, "problems", json_lines(problems));
    cli_print_json(c, object, &ignored);
    return status;
  }
  if (n > 1) {
    char *rest = problems;
    for (char *line; (line = strsep(&rest, "\n"));)
      if (*line) cli_put_line(stderr, line);
    tw_fail(error, status, "%s has %zu problems; `tilewright targets --write NAME` prints a valid machine file", path,
            n);
  }
  free(problems);
  return status;
}

static tw_status check_file(const cli *c, const char *path, tw_error *error) {
  const tw_target *target = NULL;
  char *problems = NULL;
  const tw_status status = tw_machine_check(path, &target, &problems, error);
  if (status != TW_OK) return problems ? refuse_file(c, path, status, problems, error) : status;
  if (c->options.json) {
    json_t *object = as_json(target);
    json_object_set_new(object, "file", tw_json_text(path));
    json_object_set_new(object, "changes", json_lines(tw_machine_changes(target)));
    return cli_print_json(c, json_pack("{s:[o]}", "targets", object), error);
  }
  print_target(target);
  print_changes(target);
  return TW_OK;
}

static tw_status write_file(const cli *c, tw_error *error) {
  const tw_target *target = NULL;
  char *text = NULL;
  tw_status status = TW_OK;
  if (c->n_words)
    return tw_fail(error, TW_USAGE, "--write NAME and --from FILE print a machine file; leave out '%s'", c->words[0]);
  if (c->options.write && c->options.from)
    return tw_fail(error, TW_USAGE, "--write starts from a machine, --from from a gemmini_params.h; give one of them");
  if (c->options.from) {
    status = tw_machine_from(c->options.from, &text, error);
  } else {
    status = cli_find_target(c->options.write, &target, error);
    if (status == TW_OK) status = tw_machine_template(target, &text, error);
  }
  if (status != TW_OK) return status;
  if (c->options.json)
    status = cli_print_json(c, json_pack("{s:o}", "machine", tw_json_text(text)), error);
  else
    fputs(text, stdout);
  free(text);
  return status;
}

/* Machines in the user's directories; an invalid one is listed with its first problem. */
static void list_files(json_t *all) {
  char *path;
  for (size_t i = 0; (path = tw_machine_file_at(i)); i++, free(path)) {
    const tw_target *target = NULL;
    char *problems = NULL;
    tw_error error = {0};
    const bool right = tw_machine_check(path, &target, &problems, &error) == TW_OK;
    json_t *object = !all ? NULL : right ? as_json(target) : json_pack("{s:s}", "error", error.text);
    if (all) json_object_set_new(object, "file", tw_json_text(path)), json_array_append_new(all, object);
    if (!all && right) printf("%-24s %s\n%-24s file %s\n", target->name, target->summary, "", path);
    if (!all && !right) printf("%-24s file with a problem: %s\n", "", error.text);
    free(problems);
  }
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
  if (!name) list_files(all);
  return cli_print_json(c, json_pack("{s:o}", "targets", all), error);
}

tw_status cli_targets(const cli *c, tw_error *error) {
  tw_status status = cli_no_words(c, 1, error);
  if (status != TW_OK) return status;
  if (c->options.write || c->options.from) return write_file(c, error);
  if (!c->options.json) cli_wrap_output();
  const char *name = c->n_words ? c->words[0] : NULL;
  const tw_target *target;
  if (name && names_file(name)) return check_file(c, name, error);
  if (c->options.json) return print_all_json(c, name, error);
  if (name) {
    status = cli_find_target(name, &target, error);
    if (status == TW_OK) print_target(target), print_changes(target);
    return status;
  }
  tw_error reason = {0};
  for (size_t i = 0; (target = tw_target_at(i)); i++) print_line(target, &reason);
  list_files(NULL);
  return TW_OK;
}
