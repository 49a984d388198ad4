/* cache.c - `tilewright cache [clear]`: lists the cache of built objects; empties it. */
#include <string.h>

#include "base/cache.h"
#include "cli/cli.h"

enum { KINDS_MAX = 64 };

static tw_status print_json(const cli *c, const tw_cache_kind *kind, size_t n, tw_error *error) {
  json_t *kinds = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(kinds, json_pack("{s:s, s:I, s:I}", "kind", kind[i].name, "entries",
                                           (json_int_t)kind[i].entries, "bytes", (json_int_t)kind[i].bytes));
  char *path = tw_cache_directory("");
  json_t *object =
      json_pack("{s:s*, s:I, s:o}", "directory", path, "limit", (json_int_t)TW_CACHE_BYTES, "kinds", kinds);
  free(path);
  return cli_print_json(c, object, error);
}

tw_status cli_cache(const cli *c, tw_error *error) {
  tw_cache_kind kind[KINDS_MAX];
  const bool clear = c->n_words && strcmp(c->words[0], "clear") == 0;
  if (clear && cli_no_words(c, 1, error) != TW_OK) return TW_USAGE;
  if (c->n_words && !clear)
    return tw_fail(
        error, TW_USAGE,
        "unknown argument '%s'; use `tilewright cache` to list the cache, `tilewright cache clear` to empty it",
        c->words[0]);
  size_t n = tw_cache_kinds(kind, KINDS_MAX);
  if (clear)
    for (size_t i = 0; i < n; i++)
      if (!strstr(kind[i].name, "-locks")) tw_cache_trim(kind[i].name, 0); /* locks are held */
  if (clear) n = tw_cache_kinds(kind, KINDS_MAX);
  if (c->options.json) return print_json(c, kind, n, error);
  char *path = tw_cache_directory("");
  if (!path) return tw_fail(error, TW_MISSING, "no writable cache directory; set HOME or XDG_CACHE_HOME");
  unsigned long long total = 0;
  for (size_t i = 0; i < n; i++) {
    printf("%-24s %8zu entries %10.1f MB\n", kind[i].name, kind[i].entries, (double)kind[i].bytes * 1e-6);
    total += kind[i].bytes;
  }
  printf("%s: %.1f MB in all; each kind keeps at most %.0f MB: the oldest entries by last use are removed\n", path,
         (double)total * 1e-6, (double)TW_CACHE_BYTES * 1e-6);
  free(path);
  return TW_OK;
}
