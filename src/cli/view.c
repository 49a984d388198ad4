/* view.c - `tilewright view [NAME key=value...] -t TARGET`: views of a machine (tilewright/view.h), as text, with --svg
 * FILE as a picture, with --json as data. Without NAME: lists the views. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/watch.h"
#include "cli/cli.h"

static json_t *list_json(const tw_target *t) {
  json_t *views = json_array();
  for (const tw_view *v = t->machine_views; v && v->name; v++) {
    json_t *keys = json_array();
    for (const tw_view_key *k = v->keys; k->name; k++)
      json_array_append_new(keys, json_pack("{s:s, s:o, s:s}", "key", k->name, "usual",
                                            k->usual ? json_string(k->usual) : json_null(), "help", k->help));
    json_array_append_new(views, json_pack("{s:s, s:s, s:o}", "name", v->name, "summary", v->summary, "keys", keys));
  }
  return json_pack("{s:s, s:o}", "target", t->name, "views", views);
}

static void list(const tw_target *t) {
  for (const tw_view *v = t->machine_views; v && v->name; v++) {
    printf("%s%s: %s\n", v == t->machine_views ? "" : "\n", v->name, v->summary);
    for (const tw_view_key *k = v->keys; k->name; k++)
      printf("  %-10s %s%s%s%s\n", k->name, k->help, k->usual && *k->usual ? " [default: " : "",
             k->usual && *k->usual ? k->usual : "",
             k->usual && *k->usual ? "]"
             : k->usual            ? ""
                                   : " [required]");
  }
}

/* Targets that have views, for commands without a target. */
static tw_status list_targets(const cli *c, tw_error *error) {
  const tw_target *t;
  json_t *all = json_array();
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    if (!t->machine_views) continue;
    if (c->options.json) {
      json_array_append_new(all, list_json(t));
      continue;
    }
    printf("%-16s", t->name);
    for (const tw_view *v = t->machine_views; v->name; v++) printf(" %s", v->name);
    putchar('\n');
  }
  if (c->options.json) return cli_print_json(c, json_pack("{s:o}", "targets", all), error);
  json_decref(all);
  printf("\n`tilewright view -t TARGET` lists the keys of each view\n");
  return TW_OK;
}

static tw_status show(const cli *c, const tw_target *t, tw_view_form form, char **out, tw_error *error) {
  return tw_view_show(t, c->words[0], c->n_words - 1, c->words + 1, form, out, error);
}

static tw_status print(const cli *c, const tw_target *t, tw_error *error) {
  char *text = NULL;
  json_error_t why;
  tw_status status = show(c, t, c->options.json ? TW_VIEW_JSON : TW_VIEW_TEXT, &text, error);
  if (status == TW_OK && c->options.json) {
    json_t *object = json_loads(text, 0, &why);
    status = object ? cli_print_json(c, object, error)
                    : tw_fail(error, TW_FAILED, "the view is not valid JSON: %s at %d", why.text, why.position);
  } else if (status == TW_OK)
    fputs(text, stdout);
  free(text);
  return status;
}

tw_status cli_view(const cli *c, tw_error *error) {
  const tw_target *t;
  char *svg = NULL;
  if (!c->n_words && !c->options.json) cli_wrap_output();
  if (!c->n_words && !c->options.target) return list_targets(c, error);
  tw_status status = cli_find_target(c->options.target, &t, error);
  if (status != TW_OK) return status;
  if (!t->machine_views)
    return tw_fail(error, TW_UNSUPPORTED, "%s has no views; `tilewright view` lists the targets with views", t->name);
  if (!c->n_words) {
    if (c->options.json) return cli_print_json(c, list_json(t), error);
    list(t);
    return TW_OK;
  }
  tw_watch(cli_show_parts);
  if (c->options.svg) {
    status = show(c, t, TW_VIEW_SVG, &svg, error);
    if (status == TW_OK) status = tw_file_write(c->options.svg, svg, strlen(svg), error);
    free(svg);
    if (status != TW_OK) return status;
  }
  return print(c, t, error);
}
