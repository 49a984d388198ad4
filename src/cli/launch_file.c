/* launch_file.c - `run FILE.co --args LAUNCH.json`: a launch without an op, whose arguments are named as in the metadata of
 * the code object.
 *
 *   {"kernel": "scale", "grid": [64], "block": [256, 1, 1], "lds": 0,
 *    "args": {"out": "out=y.bin:4096", "x": "in=x.bin", "n": "u32=1024"}}
 *
 * Metadata without names (Triton) needs a list of arguments, in order. An argument is written as in --arg. Options of the
 * command line override the file, except that --arg is rejected. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "cli/launch_file.h"

enum { SIZE_LIMIT = 1 << 20 };

static tw_status wrong(const char *path, const char *key, const char *expected, tw_error *error) {
  return tw_fail(error, TW_USAGE, "%s: unsupported %s; expected %s", path, key, expected);
}

/* "4,2" of [4, 2]. */
static tw_status read_three(const char *path, const char *key, const json_t *list, char out[CLI_LAUNCH_THREE],
                            tw_error *error) {
  static const char expected[] = "a list of one to three whole numbers, as in [16, 4]";
  const size_t n = json_array_size(list);
  *out = '\0';
  if (!list) return TW_OK;
  if (n < 1 || n > 3) return wrong(path, key, expected, error);
  for (size_t i = 0, used = 0; i < n; i++) {
    const json_t *v = json_array_get(list, i);
    if (!json_is_integer(v)) return wrong(path, key, expected, error);
    used += (size_t)snprintf(out + used, CLI_LAUNCH_THREE - used, "%s%lld", i ? "," : "", json_integer_value(v));
  }
  return TW_OK;
}

static tw_status add_argument(const char *path, const char *name, const json_t *spec, cli_launch_file *f,
                              tw_error *error) {
  if (!json_is_string(spec)) return wrong(path, "argument", "a text, as in \"u32=1024\" or \"in=x.bin\"", error);
  if (f->n == CLI_LIST_MAX) return tw_fail(error, TW_USAGE, "%s: more than %d arguments", path, CLI_LIST_MAX);
  if (snprintf(f->name[f->n], sizeof f->name[f->n], "%s", name) >= (int)sizeof f->name[f->n])
    return tw_fail(error, TW_USAGE, "%s: the name %.20s... is longer than %zu characters; give a list of arguments",
                   path, name, sizeof f->name[f->n] - 1);
  f->spec[f->n++] = json_string_value(spec);
  return TW_OK;
}

tw_status cli_launch_file_read(const char *path, cli_launch_file *f, tw_error *error) {
  static const char *const keys[] = {"kernel", "grid", "block", "lds", "args"};
  json_error_t at;
  char *text = NULL;
  size_t size = 0;
  *f = (cli_launch_file){0};
  const tw_status read = tw_file_read(path, SIZE_LIMIT, &text, &size, error);
  if (read != TW_OK) return read;
  f->root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);
  free(text);
  if (!f->root) return tw_fail(error, TW_USAGE, "%s:%d: %s; expected a JSON object", path, at.line, at.text);
  const char *key;
  json_t *value;
  if (!json_is_object(f->root)) return wrong(path, "content", "a JSON object with args", error);
  json_object_foreach(f->root, key, value) {
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) known = known || !strcmp(key, keys[i]);
    if (!known)
      return tw_fail(error, TW_USAGE, "%s: unknown key %s; expected kernel, grid, block, lds or args", path, key);
  }
  const json_t *kernel = json_object_get(f->root, "kernel"), *lds = json_object_get(f->root, "lds"),
               *args = json_object_get(f->root, "args");
  if (kernel && !json_is_string(kernel)) return wrong(path, "kernel", "a name", error);
  if (lds && (!json_is_integer(lds) || json_integer_value(lds) < 0)) return wrong(path, "lds", "bytes", error);
  if (!json_is_object(args) && !json_is_array(args))
    return wrong(path, "args", "an object with the names of arguments, or a list of arguments", error);
  f->kernel = json_string_value(kernel);
  f->lds = lds ? json_integer_value(lds) : 0;
  tw_status status = read_three(path, "grid", json_object_get(f->root, "grid"), f->grid, error);
  if (status == TW_OK) status = read_three(path, "block", json_object_get(f->root, "block"), f->block, error);
  json_t *list = (json_t *)args;
  if (json_is_object(args)) {
    json_object_foreach(list, key, value) {
      if (status == TW_OK) status = add_argument(path, key, value, f, error);
    }
  }
  for (size_t i = 0; i < json_array_size(args) && status == TW_OK; i++) {
    char number[24];
    snprintf(number, sizeof number, "%zu", i);
    status = add_argument(path, number, json_array_get(args, i), f, error);
  }
  return status;
}

void cli_launch_file_free(cli_launch_file *f) { json_decref(f->root); }
