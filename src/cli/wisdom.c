/* wisdom.c - `tilewright wisdom list | show OP key=value... -t TARGET | export [FILE] | import FILE`. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/cli.h"

enum { WISDOM_LIMIT = 64 << 20 };

static json_t *as_json(const tw_wisdom_entry *e) {
  json_t *object = json_object();
  json_object_set_new(object, "target", tw_json_text(e->target));
  json_object_set_new(object, "problem", tw_json_text(e->problem));
  json_object_set_new(object, *e->unit ? e->unit : "cost", cli_json_number(e->cost));
  json_object_set_new(object, "utilization", json_real(e->utilization));
  json_object_set_new(object, e->source ? "source" : "schedule",
                      e->source ? tw_json_text(e->source) : cli_json_schedule(&e->schedule));
  return object;
}

static void print_entry(const tw_wisdom_entry *e) {
  char cost[CLI_NUMBER];
  printf("%-24s %6.1f%%  %16s %-8s %s\n", e->target, 100 * e->utilization, cli_print_number(e->cost, cost), e->unit,
         e->problem);
}

static tw_status list(const cli *c, const tw_wisdom *wisdom, tw_error *error) {
  json_t *all = c->options.json ? json_array() : NULL;
  for (size_t i = 0; i < wisdom->n; i++) {
    if (all)
      json_array_append_new(all, as_json(&wisdom->entry[i]));
    else
      print_entry(&wisdom->entry[i]);
  }
  return all ? cli_print_json(c, json_pack("{s:o}", "wisdom", all), error) : TW_OK;
}

static tw_status show(const cli *c, const tw_wisdom *wisdom, tw_error *error) {
  cli_subject subject;
  bool exact;
  tw_status status = cli_subject_of(c, 1, &subject, error);
  if (status != TW_OK) return status;
  const tw_wisdom_entry *source = tw_wisdom_find_source(wisdom, subject.target->name, &subject.problem);
  const tw_wisdom_entry *entry =
      source ? source : tw_wisdom_find(wisdom, subject.target->name, &subject.problem, &exact);
  if (!entry)
    return tw_fail(error, TW_FAILED, "nothing is known for this yet; `tilewright tune` with the same words finds it");
  if (c->options.json) return cli_print_json(c, as_json(entry), error);
  if (source) {
    fputs(source->source, stdout);
    return TW_OK;
  }
  char *text = cli_schedule_text(&entry->schedule);
  printf("# %s%s\n%s", exact ? "" : "of the nearest shape: ", entry->problem, text ? text : "");
  free(text);
  return TW_OK;
}

static tw_status copy(const tw_wisdom *wisdom, const char *to, tw_error *error) {
  return tw_wisdom_keep_all(to, wisdom->entry, wisdom->n, NULL, NULL, error);
}

/* To a file: merged with what it holds. To standard output: by way of a temporary file. */
static tw_status export(const cli *c, const tw_wisdom *wisdom, tw_error *error) {
  if (c->n_words > 1) {
    const tw_status copied = copy(wisdom, c->words[1], error);
    return copied == TW_OK && c->options.json
               ? cli_print_json(c, json_pack("{s:I, s:s}", "exported", (json_int_t)wisdom->n, "file", c->words[1]),
                                error)
               : copied;
  }
  char *directory, *text = NULL;
  tw_status status = tw_directory_temporary(&directory, error);
  if (status != TW_OK) return status;
  char *path = tw_path_join(directory, "wisdom.json");
  status = path ? copy(wisdom, path, error) : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK && wisdom->n) status = tw_file_read(path, WISDOM_LIMIT, &text, NULL, error);
  if (text) fputs(text, stdout);
  *c->printed = true;
  tw_directory_remove(directory);
  free(text);
  free(path);
  free(directory);
  return status;
}

static tw_status import(const cli *c, tw_error *error) {
  tw_wisdom wisdom = {0};
  if (c->n_words < 2) return tw_fail(error, TW_USAGE, "say which file to import: `tilewright wisdom import FILE`");
  if (!tw_file_exists(c->words[1]))
    return tw_fail(error, TW_USAGE, "cannot read '%s': there is no such file", c->words[1]);
  tw_status status = tw_wisdom_load(c->words[1], &wisdom, error);
  size_t refused = 0;
  tw_error why = {0};
  if (status == TW_OK) status = tw_wisdom_keep_all(NULL, wisdom.entry, wisdom.n, &refused, &why, error);
  if (status == TW_OK && refused)
    fprintf(stderr, "tilewright: %zu of %zu entries are not taken: %s\n", refused, wisdom.n, why.text);
  const size_t taken = wisdom.n - refused;
  if (status == TW_OK && c->options.json)
    status = cli_print_json(c, json_pack("{s:I, s:I}", "imported", (json_int_t)taken, "refused", (json_int_t)refused),
                            error);
  else if (status == TW_OK)
    printf("%zu entries from %s\n", taken, c->words[1]);
  tw_wisdom_free(&wisdom);
  return status;
}

tw_status cli_wisdom(const cli *c, tw_error *error) {
  tw_wisdom wisdom = {0};
  const char *verb = c->n_words ? c->words[0] : "";
  tw_status status = strcmp(verb, "show") == 0 ? TW_OK : cli_no_words(c, strcmp(verb, "list") == 0 ? 1 : 2, error);
  if (status != TW_OK) return status;
  if (strcmp(verb, "import") == 0) return import(c, error);
  status = tw_wisdom_load(NULL, &wisdom, error);
  if (status != TW_OK) return status;
  if (strcmp(verb, "list") == 0)
    status = list(c, &wisdom, error);
  else if (strcmp(verb, "show") == 0)
    status = show(c, &wisdom, error);
  else if (strcmp(verb, "export") == 0)
    status = export(c, &wisdom, error);
  else
    status = tw_fail(error, TW_USAGE, "say what to do with wisdom: list, show, export or import");
  tw_wisdom_free(&wisdom);
  return status;
}
