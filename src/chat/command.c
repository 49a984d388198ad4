/* command.c - a command as the model: the prompt on its standard input, the reply on its standard output. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/strings.h"
#include "chat/internal.h"

/* A program on $PATH, or a command of the shell itself; true if the shell does not answer. */
static bool shell_knows(const char *word) {
  const char *const argv[] = {"/bin/sh", "-c", "command -v \"$1\" >/dev/null", "sh", word, NULL};
  const tw_process_options options = {.argv = argv, .output_limit = 4096, .seconds = 10};
  tw_process_result result;
  const bool answered = tw_process_run(&options, &result, NULL) == TW_OK && !result.timed_out;
  const int exit_status = result.exit_status;
  tw_process_result_free(&result);
  return !answered || exit_status == 0;
}

tw_status tw_chat_command_check(const char *command, tw_error *error) {
  char word[256];
  command += strspn(command, " \t\n");
  const size_t n = strcspn(command, " \t\n;|&<>()");
  if (!n || n >= sizeof word) return TW_OK;
  memcpy(word, command, n);
  word[n] = '\0';
  if (strpbrk(word, "=$`\"'\\*?[]{}~#!")) return TW_OK; /* the shell makes the program's name from such a word */
  if (strchr(word, '/') ? access(word, X_OK) == 0 : shell_knows(word)) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "exec:%.200s: no program '%s' that can be executed; give its path or a command on $PATH", command,
                 word);
}

/* The last line of standard error, which is the command's error message. */
static void last_line(char *text, char *out, size_t size) {
  size_t n = strlen(text);
  while (n > 0 && (unsigned char)text[n - 1] <= ' ') text[--n] = '\0';
  char *line = strrchr(text, '\n');
  snprintf(out, size, "%s", line ? line + 1 : text);
}

static void fail(tw_chat_exchange *out, tw_chat_trouble trouble) {
  out->trouble = trouble;
  out->may_pass = trouble == TW_CHAT_BROKEN; /* the command may have met a busy server */
}

void tw_chat_command(const tw_chat *chat, const tw_chat_request *request, tw_chat_exchange *out) {
  *out = (tw_chat_exchange){.retry_after = -1};
  tw_text prompt = {0};
  if (request->system) tw_text_add(&prompt, "%s\n\n", request->system);
  tw_text_add_string(&prompt, request->prompt);
  size_t length = prompt.length;
  char *input = tw_text_take(&prompt);
  const char *const argv[] = {"/bin/sh", "-c", chat->place.model, NULL};
  tw_process_options options = {.argv = argv,
                                .input = input,
                                .input_length = length,
                                .output_limit = chat->options.reply_limit,
                                .errors_apart = true,
                                .seconds = chat->options.seconds,
                                .interrupt = request->interrupt};
  tw_process_result result = {0};
  tw_error error = {0};
  if (!input || tw_process_run(&options, &result, &error) != TW_OK) {
    fail(out, TW_CHAT_BROKEN);
    snprintf(out->text, sizeof out->text, "%.390s", input ? error.text : "no memory for the prompt");
  } else if (result.interrupted) {
    fail(out, TW_CHAT_STOPPED);
    snprintf(out->text, sizeof out->text, "stopped");
  } else if (result.truncated) {
    fail(out, TW_CHAT_TOO_LONG);
    snprintf(out->text, sizeof out->text, "its answer exceeds %zu bytes", chat->options.reply_limit);
  } else if (result.timed_out) {
    fail(out, TW_CHAT_LATE);
    snprintf(out->text, sizeof out->text, "it did not end within %g seconds", chat->options.seconds);
  } else if (result.exit_status != 0) {
    char line[300];
    last_line(result.errors, line, sizeof line);
    fail(out, TW_CHAT_BROKEN);
    snprintf(out->text, sizeof out->text, "%s %d%s%s", result.signal ? "signal" : "status",
             result.signal ? result.signal : result.exit_status, *line ? ": " : "", line);
  } else {
    out->body = result.output, out->length = result.length;
    result.output = NULL;
  }
  tw_process_result_free(&result);
  free(input);
}
