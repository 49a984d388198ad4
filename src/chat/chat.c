/* chat.c - one request: waits for a free connection, repeats attempts until it has an answer or has failed
 * permanently, and is accounted for. */
#define _GNU_SOURCE
#include "chat/chat.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "chat/internal.h"

const char *tw_chat_trouble_name(tw_chat_trouble trouble) {
  static const char *const names[TW_CHAT_TROUBLES] = {
      [TW_CHAT_FINE] = "fine",           [TW_CHAT_UNREACHABLE] = "unreachable",
      [TW_CHAT_REFUSED] = "refused",     [TW_CHAT_OVERLOADED] = "overloaded",
      [TW_CHAT_LATE] = "late",           [TW_CHAT_TOO_LONG] = "too long",
      [TW_CHAT_MALFORMED] = "malformed", [TW_CHAT_EMPTY] = "empty",
      [TW_CHAT_DECLINED] = "declined",   [TW_CHAT_BROKEN] = "broken",
      [TW_CHAT_STOPPED] = "stopped",
  };
  return trouble < TW_CHAT_TROUBLES ? names[trouble] : "?";
}

static void start_curl(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

static void set_defaults(tw_chat_options *o) {
  if (!(o->seconds > 0)) o->seconds = 600;
  if (o->attempts <= 0) o->attempts = 6;
  if (!(o->pause_first > 0)) o->pause_first = 1;
  if (!(o->pause_most > 0)) o->pause_most = 120;
  if (o->at_once <= 0) o->at_once = 4;
  if (o->reply_limit == 0) o->reply_limit = (size_t)8 << 20;
}

tw_status tw_chat_open(const char *specification, const tw_chat_options *options, tw_chat **out, tw_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_curl);
  tw_chat *chat = calloc(1, sizeof *chat);
  *out = NULL;
  if (!chat) return tw_fail(error, TW_NO_MEMORY, "no memory for a model");
  tw_status status = tw_chat_place_parse(specification, &chat->place, error);
  if (status == TW_OK && chat->place.way == TW_CHAT_COMMAND) {
    status = tw_chat_command_check(chat->place.model, error);
    if (status != TW_OK) tw_chat_place_free(&chat->place);
  }
  if (status != TW_OK) {
    free(chat);
    return status;
  }
  if (options) chat->options = *options;
  set_defaults(&chat->options);
  pthread_mutex_init(&chat->lock, NULL);
  pthread_cond_init(&chat->turn, NULL);
  *out = chat;
  return TW_OK;
}

void tw_chat_close(tw_chat *chat) {
  if (!chat) return;
  tw_chat_place_free(&chat->place);
  pthread_mutex_destroy(&chat->lock);
  pthread_cond_destroy(&chat->turn);
  free(chat);
}

const char *tw_chat_name(const tw_chat *chat) { return chat->place.name; }

const char *tw_chat_dropped(tw_chat *chat) {
  pthread_mutex_lock(&chat->lock);
  const char *dropped = chat->no_effort ? "reasoning effort" : chat->no_temperature ? "temperature" : NULL;
  pthread_mutex_unlock(&chat->lock);
  return dropped;
}

/* ---- turns and pauses ---- */

static void sleep_until(double end, const volatile int *interrupt) {
  for (double left; (left = end - tw_now()) > 0 && !tw_is_set(interrupt);) {
    double slice = left < 0.05 ? left : 0.05;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * slice)}, NULL);
  }
}

/* False if it was interrupted while waiting. */
static bool take_turn(tw_chat *chat, const volatile int *interrupt) {
  pthread_mutex_lock(&chat->lock);
  while (chat->running >= chat->options.at_once && !tw_is_set(interrupt)) {
    struct timespec soon; /* an interrupt is a flag and wakes no thread */
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 50000000;
    if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&chat->turn, &chat->lock, &soon);
  }
  bool mine = !tw_is_set(interrupt);
  if (mine) chat->running++;
  pthread_mutex_unlock(&chat->lock);
  return mine;
}

static void end_turn(tw_chat *chat) {
  pthread_mutex_lock(&chat->lock);
  chat->running--;
  pthread_cond_signal(&chat->turn);
  pthread_mutex_unlock(&chat->lock);
}

/* ---- attempts ---- */

/* A server that rejects a parameter does so for each request that was sent before its first answer. From then on the
 * parameter is left out. True if this request had the parameter and should be sent again without it. */
static bool drop_parameter(tw_chat *chat, const tw_chat_exchange *e) {
  if (e->http_status != 400 && e->http_status != 422) return false;
  const bool temperature = e->sent_temperature && strcasestr(e->text, "temperature");
  const bool max_tokens = e->sent_max_tokens && strcasestr(e->text, "max_tokens");
  const bool effort = e->sent_effort && (strcasestr(e->text, "effort") || strcasestr(e->text, "output_config"));
  pthread_mutex_lock(&chat->lock);
  chat->no_temperature |= temperature;
  chat->no_max_tokens |= max_tokens;
  chat->no_effort |= effort;
  pthread_mutex_unlock(&chat->lock);
  return temperature || max_tokens || effort;
}

static void exchange(tw_chat *chat, const tw_chat_request *request, tw_chat_exchange *e) {
  if (chat->place.way == TW_CHAT_COMMAND) {
    tw_chat_command(chat, request, e);
    return;
  }
  pthread_mutex_lock(&chat->lock);
  char *body = tw_chat_write(chat, request);
  const bool temperature = request->temperature >= 0 && !chat->no_temperature;
  const bool max_tokens = request->tokens_most > 0 && !chat->no_max_tokens && chat->place.way == TW_CHAT_OPENAI;
  const bool effort = request->effort && !chat->no_effort;
  pthread_mutex_unlock(&chat->lock);
  if (body) {
    tw_chat_post(chat, body, request->interrupt, e);
    e->sent_temperature = temperature, e->sent_max_tokens = max_tokens, e->sent_effort = effort;
  } else {
    *e = (tw_chat_exchange){.trouble = TW_CHAT_MALFORMED};
    snprintf(e->text, sizeof e->text, "no memory for the request");
  }
  free(body);
}

/* The answer of a good exchange. */
static void read_answer(const tw_chat *chat, tw_chat_exchange *e, tw_chat_reply *out) {
  if (chat->place.way == TW_CHAT_COMMAND) {
    out->text = tw_utf8_clean(e->body, e->length);
    if (out->text && out->text[strspn(out->text, " \t\r\n")]) return;
    free(out->text);
    out->text = NULL;
    out->trouble = TW_CHAT_EMPTY;
    snprintf(e->text, sizeof e->text, "it returned no output");
    return;
  }
  tw_chat_read(chat->place.way, e->body, e->length, out, e->text, sizeof e->text);
  tw_chat_hide_secrets(&chat->place, e->text);
}

enum { COMMAND_ATTEMPTS = 2 };

/* Repeats the request until it has an answer or has failed permanently; the error is in e->text. */
static void attempt(tw_chat *chat, const tw_chat_request *request, tw_chat_reply *out, tw_chat_exchange *e) {
  double pause = chat->options.pause_first;
  const int most = chat->place.way == TW_CHAT_COMMAND && chat->options.attempts > COMMAND_ATTEMPTS
                       ? COMMAND_ATTEMPTS
                       : chat->options.attempts;
  for (out->attempts = 1;; out->attempts++) {
    exchange(chat, request, e);
    out->trouble = e->trouble;
    if (e->trouble == TW_CHAT_FINE) read_answer(chat, e, out);
    free(e->body);
    e->body = NULL;
    if (out->trouble == TW_CHAT_FINE) return;
    if (drop_parameter(chat, e)) continue;
    if (e->trouble == TW_CHAT_FINE || !e->may_pass || out->attempts >= most) return;
    double wait = e->retry_after >= 0 ? e->retry_after : pause;
    if (wait > chat->options.pause_most && e->retry_after >= 0) {
      size_t n = strlen(e->text);
      snprintf(e->text + n, sizeof e->text - n, " (it asks to wait %.0f s)", wait);
      return;
    }
    if (wait > chat->options.pause_most) wait = chat->options.pause_most;
    sleep_until(tw_now() + wait, request->interrupt);
    pause *= 2;
    if (tw_is_set(request->interrupt)) {
      out->trouble = TW_CHAT_STOPPED;
      return;
    }
  }
}

tw_status tw_chat_ask(tw_chat *chat, const tw_chat_request *request, tw_chat_reply *out, tw_error *error) {
  double begun = tw_now();
  tw_chat_exchange e = {0};
  *out = (tw_chat_reply){.trouble = TW_CHAT_STOPPED};
  if (take_turn(chat, request->interrupt)) {
    out->trouble = TW_CHAT_FINE;
    attempt(chat, request, out, &e);
    end_turn(chat);
  }
  out->seconds = tw_now() - begun;
  if (out->trouble == TW_CHAT_FINE) return TW_OK;
  if (out->trouble == TW_CHAT_STOPPED)
    return tw_fail(error, TW_INTERRUPTED, "stopped during a request to %s", chat->place.name);
  char times[40] = "";
  if (out->attempts > 1) snprintf(times, sizeof times, " (%d attempts)", out->attempts);
  bool missing = out->trouble == TW_CHAT_UNREACHABLE;
  return tw_fail(error, missing ? TW_MISSING : TW_FAILED, "%.200s: %s: %s%s", chat->place.name,
                 tw_chat_trouble_name(out->trouble), e.text, times);
}
