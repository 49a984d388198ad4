/* mcp_command.c - see mcp_command.h. */
#define _GNU_SOURCE
#include "cli/mcp_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/process.h"
#include "base/program.h"
#include "base/strings.h"
#include "cli/cli.h"

enum { OUTPUT_LIMIT = 16 << 20 };
static const double SECONDS_MOST = 24 * 3600;

void mcp_add(mcp_command *c, const char *word) {
  if (c->n < MCP_WORDS_MAX) c->word[c->n++] = word;
}

void mcp_add_owned(mcp_command *c, char *word) {
  if (word && c->n_owned < MCP_WORDS_MAX) c->owned[c->n_owned++] = word;
  if (word) mcp_add(c, word);
}

const char *mcp_text_of(const json_t *arguments, const char *name) {
  return json_string_value(json_object_get(arguments, name));
}

void mcp_add_problem(mcp_command *c, const json_t *arguments) {
  char *copy = strdup(mcp_text_of(arguments, "problem"));
  if (copy) c->owned[c->n_owned++] = copy;
  for (char *rest = copy, *word; rest && (word = strsep(&rest, " \t\r\n"));)
    if (*word) mcp_add(c, word);
}

void mcp_add_target(mcp_command *c, const json_t *arguments) {
  mcp_add(c, "-t");
  mcp_add(c, mcp_text_of(arguments, "target"));
}

tw_status mcp_add_file(mcp_command *c, const json_t *arguments, const char *name, const char *option, tw_error *error) {
  const json_t *text = json_object_get(arguments, name);
  if (!text) return TW_OK;
  tw_status status = c->folder ? TW_OK : tw_directory_temporary(&c->folder, error);
  char *path = status == TW_OK ? tw_path_join(c->folder, name) : NULL;
  if (status == TW_OK && !path) status = tw_no_memory(error, "a file");
  if (status == TW_OK) status = tw_file_write(path, json_string_value(text), json_string_length(text), error);
  if (status == TW_OK && option) mcp_add(c, option);
  if (status == TW_OK)
    mcp_add_owned(c, path);
  else
    free(path);
  return status;
}

void mcp_add_number(mcp_command *c, const json_t *arguments, const char *name, const char *option) {
  const json_t *number = json_object_get(arguments, name);
  char *text = NULL;
  if (!number) return;
  mcp_add(c, option);
  if (json_is_integer(number) ? asprintf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(number)) >= 0
                              : asprintf(&text, "%.17g", json_number_value(number)) >= 0)
    mcp_add_owned(c, text);
}

void mcp_clean(mcp_command *c) {
  for (size_t i = 0; i < c->n_owned; i++) free(c->owned[i]);
  if (c->folder) tw_directory_remove(c->folder);
  free(c->folder);
}

/* Progress as `tune --progress` prints it: one JSON object a line. */
static void hear(void *context, const char *line) {
  const mcp_listener *listener = context;
  json_t *object = *line == '{' ? json_loads(line, 0, NULL) : NULL;
  double done = 0, planned = 0, best = 0;
  if (listener->progress && object &&
      json_unpack(object, "{s:F, s:F, s:F}", "done", &done, "planned", &planned, "best", &best) == 0) {
    char text[100];
    snprintf(text, sizeof text, "%.0f candidates, the best at a utilization of %.1f%%", done, 100 * best);
    listener->progress(listener->context, done, planned, text);
  }
  json_decref(object);
}

/* `errors`: the output of a command that ended without a result, in any bytes. NULL: the command could not be run,
 * and `why` is the reason. */
static json_t *no_result(const char *errors, const char *why) {
  tw_text text = {0};
  tw_text_add(&text, "%s%s", errors ? "the command ended without a result: " : "", errors ? errors : why);
  char *line = tw_text_take(&text);
  json_t *object = cli_json_error(line ? line : why, TW_MISSING);
  free(line);
  return object;
}

json_t *mcp_run(mcp_command *c, const mcp_listener *listener) {
  tw_process_result result = {0};
  tw_error error = {0};
  json_t *object = NULL;
  mcp_add(c, "--json");
  const tw_process_options options = {.argv = c->word,
                                      .output_limit = OUTPUT_LIMIT,
                                      .errors_apart = true,
                                      .seconds = SECONDS_MOST,
                                      .hear_errors = hear,
                                      .hearer = (void *)(uintptr_t)listener,
                                      .interrupt = listener->interrupt};
  tw_status status = c->n >= MCP_WORDS_MAX ? tw_fail(&error, TW_USAGE, "the problem has too many words")
                                           : tw_process_run(&options, &result, &error);
  if (status == TW_OK && result.interrupted) {
    tw_process_result_free(&result);
    return NULL;
  }
  if (status == TW_OK) object = json_loadb(result.output, result.length, 0, NULL);
  if (!object) object = no_result(status == TW_OK ? result.errors : NULL, error.text);
  tw_process_result_free(&result);
  return object;
}

json_t *mcp_failure(const tw_error *error) { return cli_json_error(error->text, error->status); }

json_t *mcp_finish(mcp_command *c, tw_status status, const tw_error *error, const mcp_listener *listener) {
  json_t *object = status == TW_OK || !error ? mcp_run(c, listener) : mcp_failure(error);
  mcp_clean(c);
  return object;
}

mcp_command mcp_begin(const char *subcommand) {
  char self[4096];
  tw_own_path("tilewright", self, sizeof self);
  mcp_command c = {0};
  mcp_add_owned(&c, strdup(self));
  mcp_add(&c, subcommand);
  return c;
}
