/* mcp.c - `tilewright mcp`: a server of the Model Context Protocol on standard input and output, one JSON-RPC message
 * per line, so that an assistant can look machines up, check and measure kernels, and tune.
 *
 * Each tools/call runs on its own thread; each answer is sent when it is ready. A cancelled call ends without an
 * answer. At the end of the input running calls are stopped; their answer is an error. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "cli/cli.h"
#include "cli/mcp.h"
#include "tilewright/extend/extend.h"

enum { LINE_LIMIT = 32 << 20, CALLS_MOST = 16 };
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602, INTERNAL = -32603 };
enum { NO_RESOURCE = -32002 };
static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"}; /* the newest first */

typedef struct call {
  struct call *next;
  struct server *server;
  json_t *id, *params;
  json_t *token;  /* for progress; NULL if it was not requested */
  double done;    /* last reported value */
  bool cancelled; /* the client cancelled the call and waits for no answer */
  volatile int interrupt;
} call;

typedef struct server {
  pthread_mutex_t lock; /* lock of the following fields, and of standard output */
  pthread_cond_t ended;
  call *calls;
  int running;
  bool ending; /* the input has ended */
  bool broken; /* the reader of the output is gone */
} server;

/* ---- out ---- */

static void send_locked(server *s, json_t *message) {
  char *text = json_dumps(message, JSON_COMPACT);
  if (!text || s->broken || printf("%s\n", text) < 0 || fflush(stdout) != 0) s->broken = true;
  free(text);
  json_decref(message);
}

static void send_message(server *s, json_t *message) {
  pthread_mutex_lock(&s->lock);
  send_locked(s, message);
  pthread_mutex_unlock(&s->lock);
}

static void answer(server *s, const json_t *id, json_t *result) {
  send_message(s, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

static void refuse(server *s, const json_t *id, int code, const char *text) {
  send_message(s, json_pack("{s:s, s:o, s:{s:i, s:o}}", "jsonrpc", "2.0", "id",
                            id ? json_incref((json_t *)(uintptr_t)id) : json_null(), "error", "code", code, "message",
                            tw_json_text(text)));
}

/* ---- calls ---- */

static void tell(void *context, double done, double total, const char *line) {
  call *c = context;
  if (c->interrupt || done <= c->done) return; /* the protocol requires that it grows */
  c->done = done;
  json_t *params = json_pack("{s:O, s:f, s:s}", "progressToken", c->token, "progress", done, "message", line);
  if (total > 0) json_object_set_new(params, "total", json_real(total));
  send_message(c->server,
               json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", "notifications/progress", "params", params));
}

static void forget(server *s, call *c) {
  for (call **at = &s->calls; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  json_decref(c->id), json_decref(c->params), json_decref(c->token);
  free(c);
  s->running--;
  pthread_cond_broadcast(&s->ended);
}

static void *run_call(void *context) {
  call *c = context;
  server *s = c->server;
  const char *name = json_string_value(json_object_get(c->params, "name"));
  const mcp_listener listener = {.interrupt = &c->interrupt, .progress = c->token ? tell : NULL, .context = c};
  json_t *result = mcp_tool_call(name, json_object_get(c->params, "arguments"), &listener);
  pthread_mutex_lock(&s->lock);
  if (result && !c->interrupt)
    send_locked(s, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", c->id, "result", result));
  else
    json_decref(result);
  if (s->ending && c->interrupt && !c->cancelled)
    send_locked(s, json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", c->id, "error", "code", INTERNAL,
                             "message", "the input ended before the call; keep it open until the answer"));
  forget(s, c);
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

static void start_call(server *s, const json_t *id, json_t *params) {
  const char *name = json_string_value(json_object_get(params, "name"));
  tw_error error = {0};
  if (!name || !mcp_tool_exists(name)) {
    refuse(s, id, INVALID_PARAMS, "unknown tool; tools/list lists them");
    return;
  }
  if (mcp_tool_check(name, json_object_get(params, "arguments"), &error) != TW_OK) {
    refuse(s, id, INVALID_PARAMS, error.text);
    return;
  }
  call *c = calloc(1, sizeof *c);
  if (!c) {
    refuse(s, id, INTERNAL, "no memory for a call");
    return;
  }
  const json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
  *c = (call){.server = s,
              .id = json_deep_copy(id),
              .params = json_deep_copy(params),
              .token = token ? json_deep_copy(token) : NULL};
  pthread_t thread;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_mutex_lock(&s->lock);
  const bool room = s->running < CALLS_MOST;
  c->next = s->calls;
  s->calls = c;
  s->running++;
  const bool started = room && pthread_create(&thread, &detached, run_call, c) == 0;
  if (!started) forget(s, c);
  pthread_mutex_unlock(&s->lock);
  pthread_attr_destroy(&detached);
  if (!started)
    refuse(s, id, INTERNAL, room ? "cannot start a thread for a call" : "too many calls at once; wait for one to end");
}

static void cancel(server *s, const json_t *params) {
  const json_t *id = json_object_get(params, "requestId");
  pthread_mutex_lock(&s->lock);
  for (call *c = s->calls; c; c = c->next)
    if (json_equal(c->id, id)) {
      c->cancelled = true;
      __atomic_store_n(&c->interrupt, 1, __ATOMIC_RELAXED);
    }
  pthread_mutex_unlock(&s->lock);
}

/* ---- methods ---- */

static json_t *initialize(const json_t *params) {
  const char *wanted = json_string_value(json_object_get(params, "protocolVersion")), *version = versions[0];
  for (size_t i = 0; wanted && i < sizeof versions / sizeof versions[0]; i++)
    if (!strcmp(versions[i], wanted)) version = versions[i];
  return json_pack("{s:s, s:{s:{}, s:{}, s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version, "capabilities",
                   "tools", "resources", "prompts", "serverInfo", "name", "tilewright", "version", TILEWRIGHT_VERSION,
                   "instructions",
                   "Finds, checks and measures tiled kernels for tensor accelerators. Read the resources of a machine "
                   "before you write a "
                   "kernel for it; start from what `emit` gives; `run` checks and measures what you write.");
}

static void handle_request(server *s, const char *method, const json_t *id, json_t *params) {
  if (!strcmp(method, "initialize")) {
    answer(s, id, initialize(params));
  } else if (!strcmp(method, "ping")) {
    answer(s, id, json_object());
  } else if (!strcmp(method, "tools/list")) {
    answer(s, id, mcp_tools_list());
  } else if (!strcmp(method, "tools/call")) {
    start_call(s, id, params);
  } else if (!strcmp(method, "prompts/list")) {
    answer(s, id, mcp_prompts_list());
  } else if (!strcmp(method, "prompts/get")) {
    const char *name = json_string_value(json_object_get(params, "name"));
    tw_error error = {0};
    json_t *result = mcp_prompt_get(name ? name : "", json_object_get(params, "arguments"), &error);
    if (result)
      answer(s, id, result);
    else
      refuse(s, id, INVALID_PARAMS, error.text);
  } else if (!strcmp(method, "resources/list")) {
    answer(s, id, mcp_resources_list());
  } else if (!strcmp(method, "resources/templates/list")) {
    answer(s, id, json_pack("{s:[]}", "resourceTemplates"));
  } else if (!strcmp(method, "resources/read")) {
    const char *uri = json_string_value(json_object_get(params, "uri"));
    json_t *result = uri ? mcp_resource_read(uri) : NULL;
    if (result)
      answer(s, id, result);
    else
      refuse(s, id, uri ? NO_RESOURCE : INVALID_PARAMS, "unknown resource; resources/list lists them");
  } else {
    refuse(s, id, NO_METHOD, "unknown method");
  }
}

static void handle(server *s, const char *line, size_t length) {
  json_error_t why;
  json_t *message = json_loadb(line, length, 0, &why);
  const json_t *id = json_object_get(message, "id");
  const char *method = json_string_value(json_object_get(message, "method"));
  json_t *params = json_object_get(message, "params");
  if (!message)
    refuse(s, NULL, PARSE_ERROR, "expected one line of JSON");
  else if (method && id && (json_is_string(id) || json_is_integer(id)) && (!params || json_is_object(params)))
    handle_request(s, method, id, params);
  else if (method && !id && !strcmp(method, "notifications/cancelled"))
    cancel(s, params);
  else if (!(method && !id) &&
           !(json_is_object(message) && id && !method)) /* ignores neither notifications nor answers */
    refuse(s, json_is_string(id) || json_is_integer(id) ? id : NULL, INVALID_REQUEST,
           "expected a request with a method, an id and params");
  json_decref(message);
}

/* ---- the loop ---- */

static void end_calls(server *s) {
  pthread_mutex_lock(&s->lock);
  s->ending = true;
  for (call *c = s->calls; c; c = c->next) __atomic_store_n(&c->interrupt, 1, __ATOMIC_RELAXED);
  while (s->running > 0) pthread_cond_wait(&s->ended, &s->lock);
  pthread_mutex_unlock(&s->lock);
}

tw_status cli_mcp(const cli *c, tw_error *error) {
  if (c->n_words) return tw_fail(error, TW_USAGE, "mcp has no arguments; it reads requests from standard input");
  server s = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
  char *line = NULL;
  size_t room = 0;
  signal(SIGPIPE, SIG_IGN);
  tw_status status = TW_OK;
  for (ssize_t n; !s.broken && (n = getline(&line, &room, stdin)) >= 0;) {
    if (n > LINE_LIMIT)
      refuse(&s, NULL, INVALID_REQUEST, "the message is too long");
    else if (line[strspn(line, " \t\r\n")])
      handle(&s, line, (size_t)n);
  }
  end_calls(&s);
  free(line);
  if (s.broken) status = tw_fail(error, TW_MISSING, "the client closed the connection");
  return status;
}
