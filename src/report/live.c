/* live.c - see live.h. The server is GNU libmicrohttpd's.
 *
 * Protection of the user: the socket is bound to 127.0.0.1; the path begins with 128 random bits, which are compared in
 * constant time; the Host header must name this server, so that no other site's name leads here (DNS rebinding); GET
 * and HEAD alone are answered; no other origin may read answers, and the page may run no script but its own. Each
 * request reads the journal anew, without writing. */
#include "report/live.h"

#ifndef TW_HAVE_MICROHTTPD

tw_status report_live_start(const char *directory, report_live **out, tw_error *error) {
  (void)directory, (void)out;
  return tw_fail(
      error, TW_MISSING,
      "this build has no --watch: the package libmicrohttpd-dev was missing when it was built; install it, run "
      "cmake again and build");
}
const char *report_live_address(const report_live *l) { return (void)l, ""; }
void report_live_stop(report_live *l) { (void)l; }

#else

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strings.h"
#include "report/report.h"
#include "tilewright/extend/extend.h"

enum { CONNECTIONS = 16, TIMEOUT_SECONDS = 20 };
static const double LOOKS_SECONDS = 15, GRACE_SECONDS = 4; /* an open page polls at least this often */

struct report_live {
  struct MHD_Daemon *daemon;
  char *directory;
  char token[REPORT_NONCE], host[2][40], address[120];
  pthread_mutex_t lock;     /* guards the following fields, which the server's thread writes */
  double asked;             /* by tw_now: time of the last request for data */
  char given[REPORT_STAMP]; /* stamp of the last data that was sent */
};

/* A search that has written nothing yet counts as a run, too. */
static json_t *read_data(const char *directory, const char *stamp) {
  json_t *run = NULL;
  tw_error error;
  if (report_read_run(directory, &run, &error) != TW_OK)
    run = json_pack("{s:o, s:s, s:[], s:{}}", "directory", tw_json_text(directory), "state", "running", "candidates",
                    "facts");
  return json_pack("{s:[o], s:s, s:b, s:s}", "runs", run, "tilewright", TILEWRIGHT_VERSION, "live", 1, "stamp", stamp);
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type, char *text) {
  static const char *const headers[][2] = {{"Cache-Control", "no-store"},
                                           {"X-Content-Type-Options", "nosniff"},
                                           {"Referrer-Policy", "no-referrer"},
                                           {"X-Frame-Options", "DENY"},
                                           {"Cross-Origin-Resource-Policy", "same-origin"}};
  struct MHD_Response *r = text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE)
                                : MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
  if (!r) return MHD_NO;
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    MHD_add_response_header(r, headers[i][0], headers[i][1]);
  if (type) MHD_add_response_header(r, "Content-Type", type);
  const enum MHD_Result result = MHD_queue_response(c, status, r);
  MHD_destroy_response(r);
  return result;
}

static enum MHD_Result answer_json(struct MHD_Connection *c, json_t *object) {
  char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
  json_decref(object);
  return answer(c, text ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR, "application/json", text);
}

static enum MHD_Result give_page(report_live *l, struct MHD_Connection *c, const char *stamp) {
  char nonce[REPORT_NONCE], *page = NULL;
  json_t *data = read_data(l->directory, stamp), *none = json_object(); /* sources are requested one by one */
  report_make_nonce(nonce);
  const tw_status status = data ? report_make_page(data, none, nonce, &page, NULL) : TW_MISSING;
  json_decref(data);
  json_decref(none);
  return answer(c, status == TW_OK ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR, "text/html; charset=utf-8", page);
}

static enum MHD_Result give_data(report_live *l, struct MHD_Connection *c, const char *stamp) {
  const char *after = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "after");
  pthread_mutex_lock(&l->lock);
  snprintf(l->given, sizeof l->given, "%s", stamp);
  pthread_mutex_unlock(&l->lock);
  if (after && !strcmp(after, stamp)) return answer(c, MHD_HTTP_NO_CONTENT, NULL, NULL);
  return answer_json(c, read_data(l->directory, stamp));
}

static enum MHD_Result give_source(const report_live *l, struct MHD_Connection *c) {
  const char *n = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "n");
  int64_t number;
  json_t *sources = NULL;
  if (!n || !tw_parse_int(n, &number) || report_read_source(l->directory, number, &sources, NULL) != TW_OK)
    return answer(c, MHD_HTTP_NOT_FOUND, NULL, NULL);
  return answer_json(c, sources);
}

/* Compares in constant time. */
static bool is_token(const char *text, const char token[REPORT_NONCE]) {
  unsigned char difference = 0;
  if (strlen(text) < REPORT_NONCE - 1) return false;
  for (int i = 0; i < REPORT_NONCE - 1; i++) difference |= (unsigned char)(text[i] ^ token[i]);
  return difference == 0;
}

static enum MHD_Result serve(void *live, struct MHD_Connection *c, const char *url, const char *method,
                             const char *version, const char *body, size_t *body_size, void **context) {
  report_live *l = live;
  (void)version, (void)body, (void)context;
  const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"), *rest = url + REPORT_NONCE;
  if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    *body_size = 0;
    return answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, NULL);
  }
  if (!host || (strcmp(host, l->host[0]) != 0 && strcmp(host, l->host[1]) != 0))
    return answer(c, MHD_HTTP_FORBIDDEN, NULL, NULL);
  if (url[0] != '/' || !is_token(url + 1, l->token)) return answer(c, MHD_HTTP_NOT_FOUND, NULL, NULL);
  char stamp[REPORT_STAMP];
  report_read_stamp(l->directory, stamp);
  pthread_mutex_lock(&l->lock);
  l->asked = tw_now();
  pthread_mutex_unlock(&l->lock);
  if (!strcmp(rest, "/")) return give_page(l, c, stamp);
  if (!strcmp(rest, "/data")) return give_data(l, c, stamp);
  if (!strcmp(rest, "/source")) return give_source(l, c);
  return answer(c, MHD_HTTP_NOT_FOUND, NULL, NULL);
}

tw_status report_live_start(const char *directory, report_live **out, tw_error *error) {
  report_live *l = tw_new(1, sizeof *l);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char *page = NULL;
  if (!l || !(l->directory = strdup(directory))) {
    free(l);
    return tw_no_memory(error, "the live report");
  }
  pthread_mutex_init(&l->lock, NULL);
  json_t *data = read_data(directory, "");
  tw_status status = report_make_page(data, data, "", &page, error); /* a build without pages reports this now */
  json_decref(data);
  free(page);
  report_make_nonce(l->token);
  if (status == TW_OK) {
    l->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, serve, l, MHD_OPTION_SOCK_ADDR,
                                 (struct sockaddr *)&here, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS, MHD_OPTION_END);
    if (!l->daemon) status = tw_fail(error, TW_MISSING, "--watch: no port of 127.0.0.1 is free for the live report");
  }
  if (status != TW_OK) {
    report_live_stop(l);
    return status;
  }
  const unsigned port = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
  snprintf(l->host[0], sizeof l->host[0], "127.0.0.1:%u", port);
  snprintf(l->host[1], sizeof l->host[1], "localhost:%u", port);
  snprintf(l->address, sizeof l->address, "http://%s/%s/", l->host[0], l->token);
  *out = l;
  return TW_OK;
}

const char *report_live_address(const report_live *l) { return l->address; }

/* Is a browser open that has not received the end of the search? */
static bool is_awaited(report_live *l, double now, const char *stamp) {
  pthread_mutex_lock(&l->lock);
  const bool awaited = l->asked > 0 && now - l->asked < LOOKS_SECONDS && strcmp(l->given, stamp) != 0;
  pthread_mutex_unlock(&l->lock);
  return awaited;
}

void report_live_stop(report_live *l) {
  if (!l) return;
  const double now = tw_now();
  char stamp[REPORT_STAMP];
  if (l->daemon) {
    report_read_stamp(l->directory, stamp);
    while (tw_now() < now + GRACE_SECONDS && is_awaited(l, now, stamp)) usleep(50 * 1000);
    MHD_stop_daemon(l->daemon);
  }
  pthread_mutex_destroy(&l->lock);
  free(l->directory);
  free(l);
}

#endif
