/* protocol.c - requests and answers in JSON: OpenAI's chat completions and Anthropic's messages, whole or as a stream
 * of events, which some servers send unasked. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "chat/internal.h"

enum { ANTHROPIC_TOKENS = 16384 };

/* ---- requests ---- */

/* A prompt may quote a source that is not UTF-8. */
static json_t *text_of(const char *text) {
  char *clean = tw_utf8_clean(text, strlen(text));
  json_t *string = clean ? json_string(clean) : NULL;
  free(clean);
  return string;
}

static json_t *message(const char *role, const char *text) {
  return json_pack("{s:s, s:o}", "role", role, "content", text_of(text));
}

char *tw_chat_write(const tw_chat *chat, const tw_chat_request *request) {
  bool anthropic = chat->place.way == TW_CHAT_ANTHROPIC;
  long most = request->tokens_most ? request->tokens_most : anthropic ? ANTHROPIC_TOKENS : 0;
  json_t *messages = json_array(), *body = json_object();
  if (request->system && anthropic) json_object_set_new(body, "system", text_of(request->system));
  if (request->system && !anthropic) json_array_append_new(messages, message("system", request->system));
  bool whole = json_array_append_new(messages, message("user", request->prompt)) == 0;
  json_object_set_new(body, "model", json_string(chat->place.model));
  json_object_set_new(body, "messages", messages);
  json_object_set_new(body, "stream", json_false());
  if (most && (anthropic || !chat->no_max_tokens)) json_object_set_new(body, "max_tokens", json_integer(most));
  if (most && !anthropic && chat->no_max_tokens) json_object_set_new(body, "max_completion_tokens", json_integer(most));
  if (request->temperature >= 0 && !chat->no_temperature)
    json_object_set_new(body, "temperature", json_real(request->temperature));
  if (request->effort && !chat->no_effort && anthropic)
    json_object_set_new(body, "output_config", json_pack("{s:s}", "effort", request->effort));
  if (request->effort && !chat->no_effort && !anthropic)
    json_object_set_new(body, "reasoning_effort", json_string(request->effort));
  char *text = whole ? json_dumps(body, JSON_COMPACT) : NULL;
  json_decref(body);
  return text;
}

/* ---- answers ---- */

typedef struct answer {
  tw_chat_reply *reply;
  tw_text text;
  bool tools, declined, any; /* any: something in the protocol's form was found */
  char error[300];
} answer;

static const char *string_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static void add_string(answer *a, const json_t *text) {
  if (json_is_string(text)) tw_text_add_bytes(&a->text, json_string_value(text), json_string_length(text));
}

/* Content is a text, or parts with a type. Reasoning of the model is not part of the answer. */
static void add_content(answer *a, const json_t *content) {
  size_t i;
  json_t *part;
  if (json_is_string(content)) a->any = true, add_string(a, content);
  json_array_foreach(content, i, part) {
    const char *type = string_of(part, "type");
    a->any = true;
    if (!strcmp(type, "text") || !strcmp(type, "output_text")) add_string(a, json_object_get(part, "text"));
    if (!strcmp(type, "tool_use")) a->tools = true;
    if (!strcmp(type, "refusal")) a->declined = true;
  }
}

static void take_usage(answer *a, const json_t *usage) {
  static const char *const in[] = {"prompt_tokens", "input_tokens"}, *const out[] = {"completion_tokens",
                                                                                     "output_tokens"};
  for (int i = 0; i < 2; i++) {
    const json_t *tokens_in = json_object_get(usage, in[i]), *tokens_out = json_object_get(usage, out[i]);
    if (json_is_integer(tokens_in) && json_integer_value(tokens_in) > 0)
      a->reply->tokens_in = json_integer_value(tokens_in);
    if (json_is_integer(tokens_out) && json_integer_value(tokens_out) > 0)
      a->reply->tokens_out = json_integer_value(tokens_out);
  }
}

static void take_end(answer *a, const char *reason) {
  if (!strcmp(reason, "length") || !strcmp(reason, "max_tokens")) a->reply->cut = true;
  if (!strcmp(reason, "content_filter") || !strcmp(reason, "refusal")) a->declined = true;
  if (!strcmp(reason, "tool_calls") || !strcmp(reason, "tool_use")) a->tools = true;
}

static void one_line(const char *text, char *out, size_t size) {
  size_t n = 0;
  for (; *text && n + 1 < size; text++) {
    bool blank = (unsigned char)*text <= ' ' || *text == 0x7f;
    if (!blank || (n > 0 && out[n - 1] != ' ')) out[n++] = blank ? ' ' : *text;
  }
  while (n > 0 && ((out[n - 1] & 0xc0) == 0x80 || (unsigned char)out[n - 1] >= 0xc0) && *text)
    n--; /* does not cut a character */
  while (n > 0 && out[n - 1] == ' ') n--;
  out[n] = '\0';
}

static void take_error(answer *a, const json_t *object) {
  const json_t *error = json_object_get(object, "error");
  const char *text = json_is_string(error) ? json_string_value(error) : string_of(error, "message");
  if (!*text && error) text = string_of(object, "message");
  if (!*text && json_is_object(error)) text = "an error without a message";
  if (*text) one_line(text, a->error, sizeof a->error);
}

/* An answer, or an event of one. */
static void take_openai(answer *a, const json_t *object) {
  const json_t *choice = json_array_get(json_object_get(object, "choices"), 0);
  const json_t *said = json_object_get(choice, "message");
  if (!said) said = json_object_get(choice, "delta");
  if (choice) a->any = true;
  add_content(a, json_object_get(said, "content"));
  if (!said) add_string(a, json_object_get(choice, "text"));
  if (json_array_size(json_object_get(said, "tool_calls")) > 0 ||
      json_is_object(json_object_get(said, "function_call")))
    a->tools = true;
  if (*string_of(said, "refusal")) a->declined = true;
  take_end(a, string_of(choice, "finish_reason"));
  take_usage(a, json_object_get(object, "usage"));
}

static void take_anthropic(answer *a, const json_t *object) {
  const json_t *delta = json_object_get(object, "delta"), *start = json_object_get(object, "message");
  if (json_object_get(object, "content") || delta || start) a->any = true;
  add_content(a, json_object_get(object, "content"));
  if (!strcmp(string_of(delta, "type"), "text_delta")) add_string(a, json_object_get(delta, "text"));
  if (!strcmp(string_of(json_object_get(object, "content_block"), "type"), "tool_use")) a->tools = true;
  take_end(a, string_of(object, "stop_reason"));
  take_end(a, string_of(delta, "stop_reason"));
  take_usage(a, json_object_get(object, "usage"));
  take_usage(a, json_object_get(start, "usage"));
}

static bool take_object(answer *a, tw_chat_way way, const char *text, size_t length) {
  json_t *object = json_loadb(text, length, JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, NULL);
  if (!json_is_object(object)) {
    json_decref(object);
    return false;
  }
  take_error(a, object);
  way == TW_CHAT_ANTHROPIC ? take_anthropic(a, object) : take_openai(a, object);
  json_decref(object);
  return true;
}

static bool is_stream(const char *body) {
  body += strspn(body, " \t\r\n");
  return !strncmp(body, "data:", 5) || !strncmp(body, "event:", 6) || *body == ':';
}

/* Reads lines "data: {...}"; OpenAI's last line is "data: [DONE]". False if a line is not JSON. */
static bool take_stream(answer *a, tw_chat_way way, const char *body) {
  bool fine = true;
  for (const char *line = body; *line;) {
    size_t length = strcspn(line, "\r\n");
    if (length > 5 && !strncmp(line, "data:", 5)) {
      const char *data = line + 5 + strspn(line + 5, " ");
      size_t n = length - (size_t)(data - line);
      if (n > 0 && *data != '[') fine &= take_object(a, way, data, n);
    }
    line += length;
    line += strspn(line, "\r\n");
  }
  return fine;
}

static void set(answer *a, tw_chat_trouble trouble, char *what, size_t size, const char *text) {
  a->reply->trouble = trouble;
  snprintf(what, size, "%s", text);
}

/* Removes a model's reasoning around the answer. An end without a beginning closes a part that a template opened. */
static void drop_thoughts(char *text) {
  static const char *const begin[] = {"<think>", "<thinking>", "<|begin_of_thought|>"}, *const end[] = {
                                                                                            "</think>", "</thinking>",
                                                                                            "<|end_of_thought|>"};
  for (int i = 0; i < 3; i++) {
    const char *close = strstr(text, end[i]), *open = strstr(text, begin[i]);
    if (close && (!open || close < open)) { /* all before it */
      close += strlen(end[i]);
      memmove(text, close, strlen(close) + 1);
    }
    for (char *at = text; (at = strstr(at, begin[i]));) {
      close = strstr(at, end[i]);
      if (!close) { /* never closed: all of it is reasoning */
        *at = '\0';
        break;
      }
      close += strlen(end[i]);
      memmove(at, close, strlen(close) + 1);
    }
  }
}

static bool is_blank(const char *text) { return text[strspn(text, " \t\r\n")] == '\0'; }

void tw_chat_read(tw_chat_way way, const char *body, size_t length, tw_chat_reply *reply, char *what, size_t size) {
  answer a = {.reply = reply};
  char *clean = tw_utf8_clean(body, length); /* jansson rejects a text with one bad byte */
  bool fine = clean != NULL;
  if (clean && is_stream(clean))
    fine = take_stream(&a, way, clean);
  else if (clean)
    fine = take_object(&a, way, clean, strlen(clean));
  free(clean);
  size_t n = a.text.length;
  char *raw = tw_text_take(&a.text), *text = raw ? tw_utf8_clean(raw, n) : NULL; /* "\u0000" in JSON is a NUL */
  free(raw);
  if (text) drop_thoughts(text);
  if (!text)
    set(&a, TW_CHAT_MALFORMED, what, size, "no memory for its answer");
  else if (*a.error && is_blank(text))
    set(&a, TW_CHAT_REFUSED, what, size, a.error);
  else if (is_blank(text) && a.declined)
    set(&a, TW_CHAT_DECLINED, what, size, "the model declined to answer");
  else if (is_blank(text) && a.tools)
    set(&a, TW_CHAT_DECLINED, what, size, "the model asked for tools; none are offered");
  else if (is_blank(text) && a.any)
    set(&a, TW_CHAT_EMPTY, what, size,
        reply->cut ? "the limit on tokens was used up before an answer began" : "its answer has no text");
  else if (is_blank(text))
    set(&a, TW_CHAT_MALFORMED, what, size,
        fine ? "its JSON is not a chat completion; is this the URL of the API?"
             : "its answer is not JSON; is this the URL of the API?");
  if (reply->trouble == TW_CHAT_FINE)
    reply->text = text;
  else
    free(text);
}

void tw_chat_read_error(const char *body, size_t length, char *out, size_t size) {
  *out = '\0';
  if (!body) return;
  char *clean = tw_utf8_clean(body, length < 4096 ? length : 4096);
  json_t *object = clean ? json_loads(clean, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
  tw_chat_reply none = {0};
  answer a = {.reply = &none};
  if (json_is_object(object)) take_error(&a, object);
  if (json_is_object(object) && !*a.error) one_line(string_of(object, "message"), a.error, sizeof a.error);
  if (!object && clean && *clean != '<') one_line(clean, a.error, sizeof a.error); /* unless it is an HTML page */
  snprintf(out, size, "%s", a.error);
  json_decref(object);
  free(clean);
}
