/* distill.c - see distill.h. */
#define _GNU_SOURCE
#include "agent/distill.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/prompt_texts.h"
#include "base/files.h"
#include "base/status.h"

enum {
  DOCUMENT_MOST = 16 << 20,
  PART = 48000, /* bytes of a document in a request: about 12,000 tokens */
  REQUESTS_MOST = 4000
};

/* Topics that documentation can improve, where the machine has a text for all ops. */
static const struct {
  const char *topic, *wanted;
} TOPICS[] = {
    {"architecture", "facts about the machine that decide how fast a program is: units, memories with their sizes and "
                     "bandwidths, latencies, what runs at the same time and what waits. One fact in each line, with "
                     "its number and unit"},
    {"isa",
     "instructions, intrinsics or functions that a program can use. Begin each in the first column with its name "
     "and parameters, NAME(...), alone in the line; then say in lines indented by two spaces what it does, what "
     "its parameters are and what limits them"},
    {"rules", "rules that a program must keep to be correct: alignment, limits, hazards, order, synchronization. Begin "
              "each line with \"- \""},
    {"menu", "optimizations that the documentation recommends for programs. Each in one line: name: what to do"},
};
enum { N_TOPICS = sizeof TOPICS / sizeof *TOPICS };

typedef struct distiller {
  const tw_target *target;
  const tw_model_options *options;
  const tw_stop *stop;
  tw_chat *chat;
  tw_account account;
  size_t n_topics, topic[N_TOPICS]; /* places in TOPICS */
  char *text[N_TOPICS];             /* built-in, by place in `topic` */
  size_t n;
  tw_question *question; /* part by part, with all topics of each */
} distiller;

/* The end of a part that begins at `text`: after a blank line or at least a line, if there is one. */
static const char *end_of_part(const char *text) {
  const size_t left = strnlen(text, PART + 1);
  if (left <= PART) return text + left;
  const char *end = text + PART, *paragraph = memrchr(text, '\n', PART);
  while (paragraph && paragraph > text && paragraph[-1] != '\n')
    paragraph = memrchr(text, '\n', (size_t)(paragraph - text));
  if (paragraph && paragraph > text) return paragraph + 1;
  const char *line = memrchr(text, '\n', PART);
  if (line) return line + 1;
  for (int i = 0; i < 3 && ((unsigned char)*end & 0xc0) == 0x80; i++) end--; /* no half a character */
  return end;
}

static char *path_of_topic(const distiller *d, const char *folder, const char *topic) {
  char *path = NULL;
  return asprintf(&path, "%s/%s/%s.txt", folder, d->target->traits.prompts, topic) < 0 ? NULL : path;
}

static tw_status read_topics(distiller *d, const char *folder, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < N_TOPICS; i++) {
    char *path = path_of_topic(d, folder, TOPICS[i].topic);
    if (!path) status = tw_no_memory(error, "a path");
    if (status == TW_OK && tw_file_exists(path)) {
      d->topic[d->n_topics] = i;
      status = tw_file_read(path, DOCUMENT_MOST, &d->text[d->n_topics++], NULL, error);
    }
    free(path);
  }
  return status;
}

static char *write_question(const distiller *d, size_t i, const char *name, const char *part, size_t length) {
  tw_text t = {0};
  tw_text_add(&t,
              "Authors of programs for %s get the notes below. You read a part of the machine's documentation and add "
              "what the notes lack.\n\n# The notes\n\n%s\n# The documentation, from %s\n\n%.*s\n\n"
              "# The answer\n\nWanted: %s. Take only what the documentation says; guess nothing. Do not repeat "
              "the notes. Answer with the new lines alone, without a heading. If the part has nothing new, answer "
              "NONE.\n",
              d->target->name, d->text[i], name, (int)length, part, TOPICS[d->topic[i]].wanted);
  return tw_text_take(&t);
}

static tw_status add_questions(distiller *d, const char *name, const char *document, tw_error *error) {
  for (const char *part = document, *end; *part; part = end) {
    end = end_of_part(part);
    if (d->n + d->n_topics > REQUESTS_MOST)
      return tw_fail(error, TW_USAGE, "%s: the documents need more than %d requests; choose the chapters that matter",
                     name, REQUESTS_MOST);
    for (size_t i = 0; i < d->n_topics; i++) {
      char *prompt = write_question(d, i, name, part, (size_t)(end - part));
      if (!prompt) return tw_no_memory(error, "a question");
      d->question[d->n] = (tw_question){.chat = d->chat, .place = d->n, .prompt = prompt, .stop = d->stop};
      d->n++;
    }
  }
  return TW_OK;
}

static tw_status read_document(distiller *d, const char *path, tw_error *error) {
  char *document = NULL;
  size_t length;
  tw_status status = tw_file_read(path, DOCUMENT_MOST, &document, &length, error);
  if (status == TW_OK && (strlen(document) != length || strspn(document, " \t\r\n") == length))
    status = tw_fail(error, TW_USAGE, "%s: empty or no text; convert the document to plain text or Markdown", path);
  if (status == TW_OK) status = add_questions(d, path, document, error);
  free(document);
  return status;
}

/* An answer without the fence around it and blank lines; "" if it says that there is nothing. */
static const char *trim(char *answer) {
  char *begin = answer + strspn(answer, " \t\r\n");
  if (!strncmp(begin, "```", 3)) {
    begin += strcspn(begin, "\n");
    begin += *begin == '\n';
    char *fence = strstr(begin, "```");
    if (fence) *fence = '\0';
  }
  size_t n = strlen(begin);
  while (n > 0 && isspace((unsigned char)begin[n - 1])) begin[--n] = '\0';
  const bool none = !strncasecmp(begin, "none", 4) && strspn(begin + 4, ". \n") == strlen(begin + 4);
  return none ? "" : begin;
}

static bool has_line(const char *text, const char *line, size_t n) {
  for (const char *at = text; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
    if (strcspn(at, "\n") == n && !strncmp(at, line, n)) return true;
  return false;
}

/* Several parts of a document may say the same: unindented lines that the text has already are not repeated. */
static void add_new_lines(tw_text *text, const char *answer) {
  bool repeated = false;
  for (const char *line = answer; *line;) {
    const size_t n = strcspn(line, "\n");
    if (n > 0 && *line != ' ' && *line != '\t') repeated = has_line(text->data, line, n);
    if (n > 0 && !repeated) tw_text_add(text, "%.*s\n", (int)n, line);
    line += n + (line[n] == '\n');
  }
}

/* The option "other" is the last one of a menu. */
static char *merge(const distiller *d, size_t i) {
  const char *text = d->text[i];
  const bool menu = !strcmp(TOPICS[d->topic[i]].topic, "menu");
  const char *last = text + strlen(text);
  if (menu && last > text) {
    while (last > text && last[-1] == '\n') last--;
    while (last > text && last[-1] != '\n') last--;
  }
  tw_text t = {0};
  tw_text_add_bytes(&t, text, (size_t)(last - text));
  if (t.length && t.data[t.length - 1] != '\n') tw_text_add_string(&t, "\n");
  for (size_t k = i; k < d->n; k += d->n_topics) add_new_lines(&t, trim(d->question[k].answer));
  tw_text_add_string(&t, last);
  return tw_text_take(&t);
}

static tw_status write_topic(const distiller *d, const char *folder, size_t i, tw_distillation *out, tw_error *error) {
  char *merged = merge(d, i), *path = path_of_topic(d, folder, TOPICS[d->topic[i]].topic);
  tw_status status = merged && path ? TW_OK : tw_no_memory(error, "a text");
  if (status == TW_OK && strcmp(merged, d->text[i]) != 0) {
    out->added++;
    status = tw_file_write(path, merged, strlen(merged), error);
  }
  free(merged);
  free(path);
  return status;
}

static tw_status ask(distiller *d, const char *agent, tw_error *error) {
  tw_ask(d->options, &d->account, agent, d->n, d->question);
  for (size_t i = 0; i < d->n; i++)
    if (!d->question[i].answer)
      return tw_fail(error, d->question[i].status, "request %zu of %zu has no answer, so nothing was added: %s", i + 1,
                     d->n, d->question[i].error.text);
  return TW_OK;
}

tw_status tw_distill(const tw_target *target, const char *agent, const tw_model_options *options, size_t n,
                     const char *const document[], const char *folder, const tw_stop *stop, tw_distillation *out,
                     tw_error *error) {
  const tw_chat_options chat = {.seconds = options->seconds, .at_once = options->at_once};
  distiller d = {.target = target, .options = options, .stop = stop};
  *out = (tw_distillation){0};
  tw_status status = tw_chat_open(agent, &chat, &d.chat, error);
  if (status != TW_OK) return status;
  tw_account_open(&d.account);
  d.question = tw_new(REQUESTS_MOST, sizeof *d.question);
  if (!d.question) status = tw_no_memory(error, "questions");
  if (status == TW_OK) status = tw_prompt_texts_write(folder, target, &out->files, error);
  if (status == TW_OK) status = read_topics(&d, folder, error);
  for (size_t i = 0; status == TW_OK && i < n; i++) status = read_document(&d, document[i], error);
  if (status == TW_OK) status = ask(&d, tw_chat_name(d.chat), error);
  for (size_t i = 0; status == TW_OK && i < d.n_topics; i++) status = write_topic(&d, folder, i, out, error);
  out->requests = d.account.asked;
  tw_account_print(&d.account, tw_chat_name(d.chat), &out->notes);
  for (size_t i = 0; i < d.n; i++) free(d.question[i].prompt), free(d.question[i].answer);
  for (size_t i = 0; i < d.n_topics; i++) free(d.text[i]);
  free(d.question);
  tw_account_close(&d.account);
  tw_chat_close(d.chat);
  return status;
}
