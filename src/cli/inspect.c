/* inspect.c - `run --checks LIST --counts --known FILE --write-known FILE`: the checks of a run, and their findings in
 * the output and in files.
 *
 * A file of known findings has the key of one accepted finding in each line. A key names the check, kernel,
 * instruction and source line, but neither workgroup, wave nor values: one run's findings are known in runs on other
 * inputs. Empty lines and lines that begin with '#' are ignored. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/cli.h"

enum { KNOWN_LIMIT = 16 << 20 };

/* ---- files of known findings ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const char *find(const cli_accepted *k, const char *key) {
  char **at = k->n ? bsearch(&key, k->key, k->n, sizeof *k->key, by_text) : NULL;
  return at ? *at : NULL;
}

static bool is_key(const char *line) {
  int words = 0;
  for (const char *w = line; *w; words++) {
    w += strcspn(w, " ");
    w += strspn(w, " ");
  }
  return words >= 4;
}

static tw_status read_known(const char *path, cli_accepted *out, tw_error *error) {
  *out = (cli_accepted){0};
  size_t length, line_number = 0;
  tw_status status = tw_file_read(path, KNOWN_LIMIT, &out->text, &length, error);
  if (status != TW_OK) return status;
  if (memchr(out->text, '\0', length))
    status = tw_fail(error, TW_USAGE, "%s: expected a text file, as --write-known writes it; found a zero byte", path);
  char *rest = out->text, *line;
  while (status == TW_OK && (line = strsep(&rest, "\n"))) {
    line_number++;
    line += strspn(line, " \t");
    size_t n = strlen(line);
    while (n && strchr(" \t\r", line[n - 1])) line[--n] = '\0';
    if (!n || *line == '#') continue;
    if (!is_key(line)) {
      status = tw_fail(error, TW_USAGE,
                       "%s:%zu: expected CHECK KERNEL INSTRUCTION PLACE, as --write-known writes it; "
                       "found '%.100s'",
                       path, line_number, line);
      break;
    }
    char **more = tw_resize(out->key, out->n + 1, sizeof *more);
    if (!more) status = tw_no_memory(error, NULL);
    if (more) (out->key = more)[out->n++] = line;
  }
  if (out->n) qsort(out->key, out->n, sizeof *out->key, by_text);
  size_t different = 0;
  for (size_t i = 0; i < out->n; i++)
    if (!i || strcmp(out->key[different - 1], out->key[i]) != 0) out->key[different++] = out->key[i];
  out->n = different;
  return status;
}

static tw_status write_known(const char *path, const tw_inspection *i, tw_error *error) {
  tw_text t = {0};
  char **key = tw_new(i->n_findings + 1, sizeof *key);
  if (!key) return tw_no_memory(error, NULL);
  for (size_t f = 0; f < i->n_findings; f++) key[f] = i->finding[f].key;
  qsort(key, i->n_findings, sizeof *key, by_text);
  tw_text_add_string(&t, "# known findings of `tilewright run --known`: CHECK KERNEL INSTRUCTION PLACE\n");
  for (size_t f = 0; f < i->n_findings; f++)
    if (!f || strcmp(key[f - 1], key[f]) != 0) tw_text_add(&t, "%s\n", key[f]);
  free(key);
  const size_t length = t.length;
  char *text = tw_text_take(&t);
  const tw_status status = text ? tw_file_write(path, text, length, error) : tw_no_memory(error, NULL);
  free(text);
  return status;
}

/* ---- requests of the command line ---- */

tw_status cli_inspection_of(const cli *c, const tw_target *t, const char *usual, cli_inspection *out, tw_error *error) {
  const cli_options *o = &c->options;
  const bool can = t->traits.inspects;
  *out = (cli_inspection){.by = {.checks = o->checks ? o->checks
                                           : can     ? usual
                                                     : "none",
                                 .counts = o->counts},
                          .known_file = o->known};
  const bool checked = strcmp(out->by.checks, "none") != 0;
  out->wanted = can && (o->checks || o->counts || checked);
  if (!can && (o->checks || o->counts || o->known || o->write_known))
    return tw_fail(error, TW_USAGE, "%s does not inspect kernels; leave out --%s", t->name,
                   o->checks   ? "checks"
                   : o->counts ? "counts"
                   : o->known  ? "known"
                               : "write-known");
  if (!checked && (o->known || o->write_known))
    return tw_fail(error, TW_USAGE, "--known and --write-known require checks; add --checks all");
  return o->known ? read_known(o->known, &out->known, error) : TW_OK;
}

/* ---- output ---- */

/* Names the user's file in places at any depth of the value. Works on the parsed value, because a file name may contain
 * characters that JSON escapes. */
static void name_places(const cli *c, json_t *value) {
  const char *key;
  json_t *inner;
  size_t i;
  json_array_foreach(value, i, inner) { name_places(c, inner); }
  json_object_foreach(value, key, inner) {
    if (!strcmp(key, "place") && json_is_string(inner)) {
      char *named = cli_name_source(c, json_string_value(inner));
      json_string_set(inner, named ? named : "");
      free(named);
    } else {
      name_places(c, inner);
    }
  }
}

/* Keys name the user's file without its folder, so that they do not depend on the directory of the command. */
void cli_name_findings(const cli *c, cli_inspection *i) {
  for (size_t f = 0; f < i->by.n_findings; f++) {
    cli_name_source_in(c, &i->by.finding[f].text);
    cli_name_source_in(c, &i->by.finding[f].key);
    char *place = i->by.finding[f].key;
    for (int word = 0; word < 3; word++) place += strcspn(place, " ") + 1;
    const char *slash = strrchr(place, '/');
    if (slash) memmove(place, slash + 1, strlen(slash + 1) + 1);
  }
  cli_name_source_in(c, &i->by.counted);
  i->counts = i->by.json ? json_loads(i->by.json, 0, NULL) : NULL;
  name_places(c, i->counts);
}

static bool is_known(const cli_inspection *i, size_t f) { return find(&i->known, i->by.finding[f].key); }

static const char *level_of(const cli_inspection *i, size_t f) {
  return is_known(i, f) ? "known" : i->by.finding[f].is_warning ? "warning" : "error";
}

static size_t count_level(const cli_inspection *i, const char *level) {
  size_t n = 0;
  for (size_t f = 0; f < i->by.n_findings; f++) n += !strcmp(level_of(i, f), level);
  return n;
}

static bool was_seen(const cli_inspection *i, const char *key) {
  for (size_t f = 0; f < i->by.n_findings; f++)
    if (!strcmp(i->by.finding[f].key, key)) return true;
  return false;
}

static void print_known(const cli_inspection *i) {
  size_t unseen = 0;
  for (size_t k = 0; k < i->known.n; k++) unseen += !was_seen(i, i->known.key[k]);
  printf("  known         %zu of the findings are in %s", count_level(i, "known"), i->known_file);
  if (unseen) printf("; %zu of its %zu findings did not occur in this run", unseen, i->known.n);
  printf("\n");
}

void cli_print_inspection(const cli_inspection *i) {
  if (i->by.counted) printf("\n%s", i->by.counted);
  if (!i->by.n_findings && strcmp(i->by.checks, "none") != 0) printf("  checks        nothing found\n");
  if (i->by.n_findings) printf("\n");
  for (size_t f = 0; f < i->by.n_findings; f++) {
    const char *level = level_of(i, f);
    if (strcmp(level, "error") != 0) printf("%s: ", level);
    cli_put_text(stdout, i->by.finding[f].text, strlen(i->by.finding[f].text));
    printf("\n");
  }
  if (i->known_file) print_known(i);
  fflush(stdout); /* before the error that may follow */
}

/* "findings": a list of objects; "counts". */
void cli_json_inspection(const cli_inspection *i, json_t *object) {
  json_t *list = json_array();
  for (size_t f = 0; f < i->by.n_findings; f++)
    json_array_append_new(list, json_pack("{s:o, s:o, s:s}", "text", tw_json_text(i->by.finding[f].text), "key",
                                          tw_json_text(i->by.finding[f].key), "level", level_of(i, f)));
  json_object_set_new(object, "findings", list);
  if (i->known_file) {
    json_t *unseen = json_array();
    for (size_t k = 0; k < i->known.n; k++)
      if (!was_seen(i, i->known.key[k])) json_array_append_new(unseen, tw_json_text(i->known.key[k]));
    json_object_set_new(object, "known_but_not_found", unseen);
  }
  if (i->counts) json_object_set(object, "counts", i->counts);
}

tw_status cli_judge_inspection(const cli *c, const cli_inspection *i, tw_error *error) {
  if (c->options.write_known) return write_known(c->options.write_known, &i->by, error);
  const size_t n = count_level(i, "error");
  if (!n) return TW_OK;
  if (i->known_file)
    return tw_fail(error, TW_FAILED, "%zu new finding%s, listed above, not in %s; --write-known FILE accepts all", n,
                   n == 1 ? "" : "s", i->known_file);
  return tw_fail(error, TW_FAILED, "%zu finding%s, listed above; --checks chooses the checks", n, n == 1 ? "" : "s");
}

void cli_inspection_free(cli_inspection *i) {
  tw_inspection_free(&i->by);
  json_decref(i->counts);
  free(i->known.text);
  free(i->known.key);
}
