/* http.c - one POST with libcurl. The answer is limited in size and time, and failures are classified by their
 * remedy. */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strings.h"
#include "chat/internal.h"
#include "tilewright/extend/extend.h"

typedef struct receiver {
  tw_text body;
  size_t limit;
  bool over;
  const volatile int *interrupt;
} receiver;

static size_t receive(char *data, size_t one, size_t n, void *context) {
  receiver *r = context;
  if (n > r->limit - r->body.length) {
    r->over = true;
    return 0;
  }
  tw_text_add_bytes(&r->body, data, n * one);
  return r->body.failed ? 0 : n;
}

static int look_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  (void)a, (void)b, (void)c, (void)d;
  return tw_is_set(((receiver *)context)->interrupt);
}

static struct curl_slist *add(struct curl_slist *list, const char *format, const char *value) {
  char *line = NULL;
  if (asprintf(&line, format, value) < 0) return list;
  struct curl_slist *longer = curl_slist_append(list, line);
  explicit_bzero(line, strlen(line));
  free(line);
  return longer ? longer : list;
}

static struct curl_slist *write_headers(const tw_chat_place *place) {
  struct curl_slist *list = add(NULL, "%s", "Content-Type: application/json");
  list = add(list, "%s", "Accept: application/json");
  list = add(list, "%s", "Expect:"); /* avoids a round trip before the body */
  if (place->way == TW_CHAT_ANTHROPIC) {
    list = add(list, "%s", "anthropic-version: 2023-06-01");
    if (place->key) list = add(list, "x-api-key: %s", place->key);
  } else if (place->key) {
    list = add(list, "Authorization: Bearer %s", place->key);
  }
  return list;
}

/* libcurl itself reads the variables for proxies, but not for certificates. */
static void set_authorities(CURL *curl) {
  const char *file = getenv("CURL_CA_BUNDLE"), *folder = getenv("SSL_CERT_DIR");
  if (!file || !*file) file = getenv("SSL_CERT_FILE");
  if (file && *file) curl_easy_setopt(curl, CURLOPT_CAINFO, file);
  if (folder && *folder) curl_easy_setopt(curl, CURLOPT_CAPATH, folder);
}

static void fail(tw_chat_exchange *out, tw_chat_trouble trouble, bool may_pass) {
  out->trouble = trouble, out->may_pass = may_pass;
}

/* The failure of a transfer. */
static void judge_transfer(CURLcode code, const receiver *r, const tw_chat *chat, const char *detail,
                           tw_chat_exchange *out) {
  if (code == CURLE_OK) return;
  if (tw_is_set(r->interrupt)) {
    fail(out, TW_CHAT_STOPPED, false);
    snprintf(out->text, sizeof out->text, "stopped");
  } else if (r->over) {
    fail(out, TW_CHAT_TOO_LONG, false);
    snprintf(out->text, sizeof out->text, "its answer exceeds %zu bytes", r->limit);
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    fail(out, TW_CHAT_LATE, false);
    snprintf(out->text, sizeof out->text, "no complete answer within %g seconds", chat->options.seconds);
  } else {
    bool certain = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
                   code == CURLE_URL_MALFORMAT || code == CURLE_COULDNT_RESOLVE_PROXY ||
                   code == CURLE_UNSUPPORTED_PROTOCOL;
    fail(out, TW_CHAT_UNREACHABLE, !certain);
    snprintf(out->text, sizeof out->text, "%s", *detail ? detail : curl_easy_strerror(code));
  }
}

/* The failure of a status other than 200. */
static void judge_status(CURL *curl, tw_chat_exchange *out) {
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->http_status);
  curl_off_t after = 0;
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &after);
  out->retry_after = after > 0 ? (double)after : -1;
  long s = out->http_status;
  if (s >= 200 && s < 300) return;
  bool passing = s == 408 || s == 425 || s == 429 || s >= 500;
  fail(out, passing ? TW_CHAT_OVERLOADED : TW_CHAT_REFUSED, passing && s != 501 && s != 505);
  char said[300];
  tw_chat_read_error(out->body, out->length, said, sizeof said);
  if (s >= 300 && s < 400)
    snprintf(out->text, sizeof out->text, "HTTP %ld: a redirect, which is not followed; give the final URL", s);
  else
    snprintf(out->text, sizeof out->text, "HTTP %ld%s%s", s, *said ? ": " : "", said);
}

void tw_chat_post(const tw_chat *chat, const char *body, const volatile int *interrupt, tw_chat_exchange *out) {
  const tw_chat_place *place = &chat->place;
  *out = (tw_chat_exchange){.retry_after = -1};
  receiver r = {.limit = chat->options.reply_limit, .interrupt = interrupt};
  char detail[CURL_ERROR_SIZE] = "";
  CURL *curl = curl_easy_init();
  struct curl_slist *headers = write_headers(place);
  if (!curl || !headers) {
    fail(out, TW_CHAT_UNREACHABLE, false);
    snprintf(out->text, sizeof out->text, "no memory for a request");
    curl_slist_free_all(headers);
    if (curl) curl_easy_cleanup(curl);
    return;
  }
  curl_easy_setopt(curl, CURLOPT_URL, place->url);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_USERPWD, place->userpwd);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L); /* a redirect would carry the key elsewhere */
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(1e3 * chat->options.seconds));
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &r);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &r);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tilewright/" TILEWRIGHT_VERSION);
  set_authorities(curl);
  CURLcode code = curl_easy_perform(curl);
  out->length = r.body.length;
  out->body = tw_text_take(&r.body);
  judge_transfer(code, &r, chat, detail, out);
  if (code == CURLE_OK) judge_status(curl, out);
  tw_chat_hide_secrets(place, out->text);
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
}
