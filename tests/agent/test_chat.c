/* test_chat.c - language models are asked, and whatever a server does ends in a reply or in one line of a kind. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/files.h"
#include "chat/chat.h"
#include "chat_server.h"

#define SECRET "sk-very-secret-0123456789"
static const tw_chat_options QUICK = {.seconds = 2, .attempts = 3, .pause_first = 0.01, .reply_limit = 1 << 20};

#define GOOD(text)                                                                                                     \
  "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"" text "\"},\"finish_reason\":\"stop\"}],"         \
  "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}"

/* Asks a server that plays these scenes; `path` is what follows the port. */
typedef struct asked {
  tw_status status;
  tw_error error;
  tw_chat_reply reply;
  chat_server *server;
} asked;

static asked ask_at(const char *path, const scene *scenes, size_t n, const tw_chat_options *options,
                    tw_chat_request request) {
  asked a = {.server = chat_server_start(scenes, n)};
  char specification[200];
  snprintf(specification, sizeof specification, "llm:m1@http://127.0.0.1:%d%s", a.server->port, path);
  tw_chat *chat;
  assert_int_equal(tw_chat_open(specification, options, &chat, &a.error), TW_OK);
  a.status = tw_chat_ask(chat, &request, &a.reply, &a.error);
  if (a.status == TW_OK) assert_non_null(a.reply.text);
  if (a.status != TW_OK) assert_null(a.reply.text);
  assert_null(strstr(a.error.text, SECRET));
  assert_null(strchr(a.error.text, '\n'));
  tw_chat_close(chat);
  return a;
}

static void done(asked *a) {
  free(a->reply.text);
  chat_server_stop(a->server);
}

#define ASK(...)                                                                                                       \
  ask_at("/v1", (const scene[]){__VA_ARGS__}, sizeof((const scene[]){__VA_ARGS__}) / sizeof(scene), &QUICK,            \
         (tw_chat_request){.system = "be brief", .prompt = "say \"hi\"\n", .temperature = 1})

static json_t *body_of(const chat_server *server, size_t i) {
  const char *body = strstr(server->request[i], "\r\n\r\n");
  json_t *object = json_loads(body + 4, 0, NULL);
  assert_non_null(object);
  return object;
}

/* ---- good answers ---- */

static void openai_speaks_chat_completions(void **state) {
  setenv("TILEWRIGHT_API_KEY", SECRET, 1);
  asked a = ASK({.status = 200, .body = GOOD("h\\u00e9llo\\n")});
  assert_int_equal(a.status, TW_OK);
  assert_string_equal(a.reply.text, "h\xc3\xa9llo\n");
  assert_int_equal(a.reply.tokens_in, 12);
  assert_int_equal(a.reply.tokens_out, 5);
  assert_int_equal(a.reply.attempts, 1);
  assert_true(strstr(a.server->request[0], "POST /v1/chat/completions HTTP/1.1\r\n") == a.server->request[0]);
  assert_non_null(strstr(a.server->request[0], "Authorization: Bearer " SECRET "\r\n"));
  json_t *body = body_of(a.server, 0);
  const char *model, *role[2], *content[2];
  double temperature;
  assert_int_equal(json_unpack(body, "{s:s, s:F, s:[{s:s, s:s}, {s:s, s:s}]}", "model", &model, "temperature",
                               &temperature, "messages", "role", &role[0], "content", &content[0], "role", &role[1],
                               "content", &content[1]),
                   0);
  assert_string_equal(model, "m1");
  assert_string_equal(role[0], "system");
  assert_string_equal(content[0], "be brief");
  assert_string_equal(role[1], "user");
  assert_string_equal(content[1], "say \"hi\"\n");
  json_decref(body);
  done(&a);
  unsetenv("TILEWRIGHT_API_KEY");
}

static void anthropic_speaks_messages(void **state) {
  setenv("TILEWRIGHT_API_KEY", SECRET, 1);
  const scene scenes[] = {{.status = 200,
                           .body =
                               "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},"
                               "{\"type\":\"text\",\"text\":\"hel\"},{\"type\":\"text\",\"text\":\"lo\"}],"
                               "\"stop_reason\":\"max_tokens\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}"}};
  asked a =
      ask_at("/v1/messages", scenes, 1, &QUICK, (tw_chat_request){.system = "s", .prompt = "p", .temperature = -1});
  assert_int_equal(a.status, TW_OK);
  assert_string_equal(a.reply.text, "hello");
  assert_true(a.reply.cut);
  assert_int_equal(a.reply.tokens_in, 7);
  assert_int_equal(a.reply.tokens_out, 3);
  assert_true(strstr(a.server->request[0], "POST /v1/messages HTTP/1.1\r\n") == a.server->request[0]);
  assert_non_null(strstr(a.server->request[0], "x-api-key: " SECRET "\r\n"));
  assert_non_null(strstr(a.server->request[0], "anthropic-version: 2023-06-01\r\n"));
  json_t *body = body_of(a.server, 0);
  assert_string_equal(json_string_value(json_object_get(body, "system")), "s");
  assert_int_equal(json_integer_value(json_object_get(body, "max_tokens")), 16384);
  assert_null(json_object_get(body, "temperature"));
  json_decref(body);
  done(&a);
  unsetenv("TILEWRIGHT_API_KEY");
}

static void odd_forms_of_an_answer_are_read(void **state) {
  const struct {
    const char *body, *text;
  } forms[] = {
      {"{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]"
       "}}]}",
       "ab"},
      {"{\"choices\":[{\"text\":\"old style\"}]}", "old style"},
      {"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
       "data: {\"choices\":[{\"delta\":{\"content\":\"str\"}}]}\r\n\r\n"
       ": keep-alive\n\ndata:{\"choices\":[{\"delta\":{\"content\":\"eam\"},\"finish_reason\":\"stop\"}]}\n\ndata: "
       "[DONE]\n\n",
       "stream"},
      {"event: content_block_delta\ndata: {\"choices\":[],\"error\":null}\n\n"
       "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
       "x"},
      {GOOD("<think>first 2+2\\n</think>four"), "four"},
      {GOOD("was thinking</think>four"), "four"},
      {GOOD("a\\u0000b"), "a\xef\xbf\xbd"
                          "b"},
      {"{\"choices\":[{\"message\":{\"content\":\"bad \xff\xc0\x80 bytes\"}}]}",
       "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd bytes"},
      {"{\"choices\":[{\"message\":{\"content\":\"I'd rather not, but: x\",\"refusal\":\"no\"}}]}",
       "I'd rather not, but: x"},
  };
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    asked a = ASK({.status = 200, .body = forms[i].body});
    assert_int_equal(a.status, TW_OK);
    assert_string_equal(a.reply.text, forms[i].text);
    done(&a);
  }
}

/* ---- bad answers ---- */

static void each_bad_answer_is_of_a_kind(void **state) {
  setenv("TILEWRIGHT_API_KEY", SECRET, 1);
  const struct {
    scene scene;
    tw_chat_trouble trouble;
    const char *says;
    int attempts;
  } bad[] = {
      {{.status = 200, .body = ""}, TW_CHAT_MALFORMED, "its answer is not JSON", 1},
      {{.status = 200, .body = "<html>welcome</html>"}, TW_CHAT_MALFORMED, "its answer is not JSON", 1},
      {{.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":\"cut off"},
       TW_CHAT_MALFORMED,
       "its answer is not JSON",
       1},
      {{.status = 200, .body = "[1,2,3]"}, TW_CHAT_MALFORMED, "its answer is not JSON", 1},
      {{.status = 200, .body = "{\"result\":\"ok\"}"},
       TW_CHAT_MALFORMED,
       "its JSON is not a chat completion; is this the URL of the API?",
       1},
      {{.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":null}}]}"},
       TW_CHAT_EMPTY,
       "its answer has no text",
       1},
      {{.status = 200, .body = GOOD(" \\n\\t")}, TW_CHAT_EMPTY, "its answer has no text", 1},
      {{.status = 200, .body = GOOD("<think>and so on for ever")}, TW_CHAT_EMPTY, "its answer has no text", 1},
      {{.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"length\"}]}"},
       TW_CHAT_EMPTY,
       "limit on tokens",
       1},
      {{.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I cannot help\"}}]}"},
       TW_CHAT_DECLINED,
       "declined",
       1},
      {{.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{\"id\":\"1\"}]}}]}"},
       TW_CHAT_DECLINED,
       "tools",
       1},
      {{.status = 200, .body = "{\"error\":{\"message\":\"model\\nnot loaded, key " SECRET "\"}}"},
       TW_CHAT_REFUSED,
       "model not loaded, key ***",
       1},
      {{.status = 401, .body = "{\"error\":{\"message\":\"Incorrect API key provided: " SECRET "\"}}"},
       TW_CHAT_REFUSED,
       "HTTP 401: Incorrect API key provided: ***",
       1},
      {{.status = 404, .body = "<html>nothing here " SECRET "</html>"}, TW_CHAT_REFUSED, "HTTP 404", 1},
      {{.status = 302, .headers = "Location: http://127.0.0.1:1/steal\r\n", .body = ""},
       TW_CHAT_REFUSED,
       "a redirect",
       1},
      {{.status = 500, .body = "oh no " SECRET}, TW_CHAT_OVERLOADED, "HTTP 500: oh no ***", 3},
      {{.status = 503, .body = "{\"detail\":1}"}, TW_CHAT_OVERLOADED, "HTTP 503", 3},
      {{.status = 501, .body = ""}, TW_CHAT_OVERLOADED, "HTTP 501", 1},
      {{.status = 429, .headers = "Retry-After: 3600\r\n", .body = ""}, TW_CHAT_OVERLOADED, "asks to wait 3600 s", 1},
      {{.status = 200, .body = "0123456789", .times = 5000000},
       TW_CHAT_TOO_LONG,
       "its answer exceeds 1048576 bytes",
       1},
      {{.status = 200, .body = "{\"choices\":[{\"mess", .break_off = true}, TW_CHAT_UNREACHABLE, "", 3},
      {{.status = 0, .body = ""}, TW_CHAT_UNREACHABLE, "", 3},
      {{.status = 0, .body = "SSH-2.0-OpenSSH_9.2\r\n"}, TW_CHAT_UNREACHABLE, "", 1},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    asked a = ASK(bad[i].scene);
    if (a.reply.trouble != bad[i].trouble || !strstr(a.error.text, bad[i].says) || a.reply.attempts != bad[i].attempts)
      fail_msg("case %zu: %s after %d attempts: %s", i, tw_chat_trouble_name(a.reply.trouble), a.reply.attempts,
               a.error.text);
    assert_int_equal(a.status, bad[i].trouble == TW_CHAT_UNREACHABLE ? TW_MISSING : TW_FAILED);
    assert_int_equal(a.server->n, (size_t)bad[i].attempts);
    done(&a);
  }
  unsetenv("TILEWRIGHT_API_KEY");
}

static void a_trickle_and_silence_end_in_time(void **state) {
  const tw_chat_options options = {.seconds = 0.4, .attempts = 3};
  const scene scenes[][1] = {{{.status = 200, .body = GOOD("slow"), .delay_ms = 50}}, {{.hold = true}}};
  for (size_t i = 0; i < 2; i++) {
    double begun = tw_now();
    asked a = ask_at("/v1", scenes[i], 1, &options, (tw_chat_request){.prompt = "p"});
    assert_int_equal(a.reply.trouble, TW_CHAT_LATE);
    assert_true(tw_now() - begun < 5);
    done(&a);
  }
}

static void what_passes_is_tried_again_and_retry_after_honoured(void **state) {
  asked a = ASK({.status = 429, .headers = "Retry-After: 1\r\n", .body = ""}, {.status = 503, .body = ""},
                {.status = 200, .body = GOOD("at last")});
  assert_int_equal(a.status, TW_OK);
  assert_int_equal(a.reply.attempts, 3);
  const struct timespec *t = a.server->at;
  double waited = (double)(t[1].tv_sec - t[0].tv_sec) + 1e-9 * (double)(t[1].tv_nsec - t[0].tv_nsec);
  assert_true(waited > 0.95);
  done(&a);
}

static void a_parameter_that_is_not_taken_is_left_out(void **state) {
  const scene scenes[] = {
      {.status = 400,
       .body = "{\"error\":{\"message\":\"'max_tokens' is not supported, use 'max_completion_tokens'\"}}"},
      {.status = 400, .body = "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support 0.5\"}}"},
      {.status = 200, .body = GOOD("fine")}};
  asked a = ask_at("/v1", scenes, 3, &QUICK, (tw_chat_request){.prompt = "p", .temperature = 0.5, .tokens_most = 99});
  assert_int_equal(a.status, TW_OK);
  json_t *body = body_of(a.server, 2);
  assert_null(json_object_get(body, "temperature"));
  assert_null(json_object_get(body, "max_tokens"));
  assert_int_equal(json_integer_value(json_object_get(body, "max_completion_tokens")), 99);
  json_decref(body);
  done(&a);
}

static void a_reasoning_effort_is_sent_and_left_out_where_it_is_rejected(void **state) {
  const scene scenes[] = {
      {.status = 400, .body = "{\"error\":{\"message\":\"Unrecognized request argument: reasoning_effort\"}}"},
      {.status = 200, .body = GOOD("fine")}};
  asked a = ask_at("/v1", scenes, 2, &QUICK, (tw_chat_request){.prompt = "p", .temperature = -1, .effort = "low"});
  assert_int_equal(a.status, TW_OK);
  json_t *first = body_of(a.server, 0), *second = body_of(a.server, 1);
  assert_string_equal(json_string_value(json_object_get(first, "reasoning_effort")), "low");
  assert_null(json_object_get(second, "reasoning_effort"));
  json_decref(first);
  json_decref(second);
  done(&a);
}

static void *ask_with_temperature(void *context) {
  tw_chat_reply reply;
  tw_error error = {0};
  const tw_chat_request request = {.prompt = "p", .temperature = 0.5};
  const tw_status status = tw_chat_ask(context, &request, &reply, &error);
  free(reply.text);
  return (void *)(uintptr_t)status;
}

/* Requests that were sent before the server's first complaint get another attempt, too. */
static void all_requests_in_flight_outlive_a_parameter(void **state) {
  static const char complaint[] = "{\"error\":{\"message\":\"Unsupported parameter: Temperature\"}}";
  const scene scenes[] = {{.status = 400, .body = complaint, .delay_ms = 6},
                          {.status = 400, .body = complaint, .delay_ms = 6},
                          {.status = 400, .body = complaint, .delay_ms = 6},
                          {.status = 200, .body = GOOD("fine")}};
  chat_server *server = chat_server_start(scenes, 4);
  char name[100];
  snprintf(name, sizeof name, "llm:m@http://127.0.0.1:%d", server->port);
  tw_chat *chat;
  assert_int_equal(tw_chat_open(name, &QUICK, &chat, NULL), TW_OK);
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, ask_with_temperature, chat);
  for (int i = 0; i < 3; i++) {
    void *status;
    pthread_join(thread[i], &status);
    assert_int_equal((tw_status)(uintptr_t)status, TW_OK);
  }
  assert_int_equal(server->n, 6);
  tw_chat_close(chat);
  chat_server_stop(server);
}

static volatile int interrupt_flag;
static void *interrupt_soon(void *context) {
  (void)context;
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  __atomic_store_n(&interrupt_flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void an_interrupt_ends_it_at_once(void **state) {
  const tw_chat_options patient = {.seconds = 60, .pause_first = 60, .pause_most = 60};
  const scene scenes[][1] = {{{.hold = true}}, {{.status = 503, .body = ""}}};
  for (size_t i = 0; i < 2; i++) {
    pthread_t thread;
    double begun = tw_now();
    interrupt_flag = 0;
    pthread_create(&thread, NULL, interrupt_soon, NULL);
    asked a = ask_at("/v1", scenes[i], 1, &patient, (tw_chat_request){.prompt = "p", .interrupt = &interrupt_flag});
    pthread_join(thread, NULL);
    assert_int_equal(a.status, TW_INTERRUPTED);
    assert_int_equal(a.reply.trouble, TW_CHAT_STOPPED);
    assert_true(tw_now() - begun < 10);
    done(&a);
  }
}

static void *ask_once(void *chat) {
  tw_chat_reply reply;
  tw_chat_request request = {.prompt = "p"};
  tw_status status = tw_chat_ask(chat, &request, &reply, NULL);
  free(reply.text);
  return (void *)(intptr_t)status;
}

/* Of six requests two are on their way at a time: each answer takes 0.2 s and more, so that three rounds take 0.6. */
static void only_so_many_are_served_at_once(void **state) {
  const scene scenes[] = {{.status = 200, .body = GOOD("x"), .delay_ms = 2}};
  chat_server *server = chat_server_start(scenes, 1);
  char specification[100];
  snprintf(specification, sizeof specification, "llm:m@http://127.0.0.1:%d", server->port);
  tw_chat *chat;
  assert_int_equal(tw_chat_open(specification, &(tw_chat_options){.at_once = 2}, &chat, NULL), TW_OK);
  pthread_t thread[6];
  double begun = tw_now();
  for (int i = 0; i < 6; i++) pthread_create(&thread[i], NULL, ask_once, chat);
  for (int i = 0; i < 6; i++) {
    void *status;
    pthread_join(thread[i], &status);
    assert_int_equal((intptr_t)status, TW_OK);
  }
  assert_true(tw_now() - begun > 3 * 0.002 * (double)strlen(GOOD("x")));
  assert_true(strstr(server->request[0], "POST /v1/chat/completions ") == server->request[0]);
  tw_chat_close(chat);
  chat_server_stop(server);
}

/* ---- where, and with which key ---- */

static tw_status open_only(const char *specification, char name[200], tw_error *error) {
  tw_chat *chat;
  tw_status status = tw_chat_open(specification, NULL, &chat, error);
  if (status == TW_OK && name) snprintf(name, 200, "%s", tw_chat_name(chat));
  tw_chat_close(chat);
  return status;
}

static void bad_specifications_are_refused_in_a_line(void **state) {
  const char *const bad[] = {
      "",      "gpt-4o",  "llm:",           "llm:@http://x/v1",         "llm:m@ftp://x/", "llm:m@http://",
      "exec:", "exec:  ", "llm:m@https://", "http://user:" SECRET "@x/"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tw_error error = {0};
    assert_int_equal(open_only(bad[i], NULL, &error), TW_USAGE);
    assert_null(strstr(error.text, SECRET));
  }
}

static void an_address_is_no_name_of_a_model(void **state) {
  const char *const bad[] = {"llm:m@localhost:8000/v1",
                             "llm:m@",
                             "llm:m@host",
                             "llm:m@//host/v1",
                             "llm:m@/v1",
                             "llm:m@FTP://host/v1",
                             "llm:m@ftp://host/http://host",
                             "llm:m@https:/host",
                             "llm:m@http:host",
                             "llm:m @ http://host/v1",
                             "llm:m@ http://host/v1",
                             "llm:m@\thttps://host/v1",
                             "llm:claude-x@20240620",
                             "llm:m@user:" SECRET "@host/v1?key=" SECRET,
                             "llm:@host",
                             "llm: @http://host/v1",
                             "llm: ",
                             "llm:http://localhost:8000/v1",
                             "llm:localhost:8000/v1",
                             "llm:localhost:8000",
                             "llm:org/model",
                             "llm:m then llm:n@host",
                             "llm:m THEN exec:x",
                             "LLM:m@http://host/v1",
                             "llm:m@http://host/v1 "};
  setenv("TILEWRIGHT_API_KEY", SECRET, 1);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tw_error error = {0};
    if (open_only(bad[i], NULL, &error) != TW_USAGE) fail_msg("'%s' is taken", bad[i]);
    assert_null(strstr(error.text, SECRET));
  }
  const char *const good[] = {
      "llm:gpt-4o", "llm:claude-sonnet-4.5",        "llm:ft:gpt-4o:org::id", "llm:ada:ft-org-2023",
      "llm:o1_x",   "llm:org/m:8b@https://host/v1", "llm:m@HTTPS://HOST/v1"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    tw_error error = {0};
    if (open_only(good[i], NULL, &error) != TW_OK) fail_msg("'%s': %s", good[i], error.text);
  }
  unsetenv("TILEWRIGHT_API_KEY");
}

static void base_urls_of_the_environment_are_used_or_refused(void **state) {
  char name[200];
  tw_error error;
  setenv("OPENAI_API_KEY", SECRET, 1);
  const char *const bad[] = {"localhost:8000/v1", "//localhost/v1", "ftp://localhost/v1", "localhost", " "};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    setenv("OPENAI_BASE_URL", bad[i], 1);
    if (open_only("llm:gpt-x", NULL, &error) != TW_USAGE) fail_msg("'%s' is taken", bad[i]);
    assert_non_null(strstr(error.text, "OPENAI_BASE_URL"));
  }
  setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1", 1);
  assert_int_equal(open_only("llm:gpt-x", name, &error), TW_OK);
  assert_string_equal(name, "llm:gpt-x@http://127.0.0.1:9/v1/chat/completions");
  assert_int_equal(open_only("llm:claude-x", NULL, &error), TW_MISSING); /* it is not Anthropic's */
  setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9", 1);
  assert_int_equal(open_only("llm:claude-x", name, &error), TW_OK);
  assert_string_equal(name, "llm:claude-x@http://127.0.0.1:9/v1/messages");
  setenv("OPENAI_BASE_URL", "http://far.example/v1", 1); /* the key would go there in the clear */
  assert_int_equal(open_only("llm:gpt-x", NULL, &error), TW_USAGE);
  setenv("OPENAI_BASE_URL", "", 1);
  assert_int_equal(open_only("llm:gpt-x", name, &error), TW_OK);
  assert_string_equal(name, "llm:gpt-x");
  unsetenv("OPENAI_BASE_URL"), unsetenv("ANTHROPIC_BASE_URL"), unsetenv("OPENAI_API_KEY");
}

static void names_hold_no_secrets(void **state) {
  char name[200];
  assert_int_equal(open_only("llm:a@b@http://me:" SECRET "@127.0.0.1:9/v1?key=" SECRET, name, NULL), TW_OK);
  assert_string_equal(name, "llm:a@b@http://127.0.0.1:9/v1/chat/completions");
}

static void keys_come_from_the_environment_or_a_private_file(void **state) {
  char *folder, *path, *below;
  tw_error error;
  assert_int_equal(tw_directory_temporary(&folder, NULL), TW_OK);
  setenv("XDG_CONFIG_HOME", folder, 1);
  below = tw_path_join(folder, "tilewright");
  path = tw_path_join(below, "keys");
  assert_int_equal(tw_directory_make(below, NULL), TW_OK);

  assert_int_equal(open_only("llm:claude-x", NULL, &error), TW_MISSING);
  assert_non_null(strstr(error.text, "ANTHROPIC_API_KEY"));
  assert_int_equal(open_only("llm:gpt-x", NULL, &error), TW_MISSING);
  assert_non_null(strstr(error.text, "OPENAI_API_KEY"));
  setenv("OPENAI_API_KEY", SECRET, 1);
  assert_int_equal(open_only("llm:gpt-x", NULL, &error), TW_OK);
  assert_int_equal(open_only("llm:claude-x", NULL, &error), TW_MISSING); /* not its key */
  setenv("OPENAI_API_KEY", "two words", 1);
  assert_int_equal(open_only("llm:gpt-x", NULL, &error), TW_USAGE);
  unsetenv("OPENAI_API_KEY");

  const char lines[] = "# mine\napi.openai.com " SECRET "\n127.0.0.1\t" SECRET "9\nbare.example\n";
  assert_int_equal(tw_file_write(path, lines, strlen(lines), NULL), TW_OK);
  chmod(path, 0644);
  assert_int_equal(open_only("llm:gpt-x", NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "chmod 600"));
  chmod(path, 0600);
  assert_int_equal(open_only("llm:gpt-x", NULL, &error), TW_OK);
  assert_int_equal(open_only("llm:m@https://bare.example/v1", NULL, &error), TW_USAGE);
  asked a = ASK({.status = 200, .body = GOOD("x")});
  assert_non_null(strstr(a.server->request[0], "Authorization: Bearer " SECRET "9\r\n"));
  done(&a);

  setenv("TILEWRIGHT_API_KEY", SECRET, 1); /* not in the clear over a network */
  assert_int_equal(open_only("llm:m@http://bare.example/v1", NULL, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "https"));
  unsetenv("TILEWRIGHT_API_KEY");
  unsetenv("XDG_CONFIG_HOME");
  tw_directory_remove(folder);
  free(path), free(below), free(folder);
}

/* ---- commands ---- */

static asked run_command(const char *specification, const char *prompt) {
  asked a = {0};
  tw_chat *chat;
  assert_int_equal(tw_chat_open(specification, &QUICK, &chat, &a.error), TW_OK);
  tw_chat_request request = {.system = "rules", .prompt = prompt};
  a.status = tw_chat_ask(chat, &request, &a.reply, &a.error);
  tw_chat_close(chat);
  return a;
}

static void a_command_is_a_model(void **state) {
  asked a = run_command("exec:echo progress >&2; cat; echo end", "the prompt\n");
  assert_int_equal(a.status, TW_OK);
  assert_string_equal(a.reply.text, "rules\n\nthe prompt\nend\n");
  free(a.reply.text);
  const struct {
    const char *command, *says;
    tw_chat_trouble trouble;
  } bad[] = {
      {"exec:true", "it returned no output", TW_CHAT_EMPTY},
      {"exec:echo one >&2; echo why >&2; exit 7", "status 7: why", TW_CHAT_BROKEN},
      {"exec:kill -9 $$", "signal 9", TW_CHAT_BROKEN},
      {"exec:sleep 60", "it did not end within 2 seconds", TW_CHAT_LATE},
      {"exec:yes", "its answer exceeds 1048576 bytes", TW_CHAT_TOO_LONG},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    a = run_command(bad[i].command, "p");
    assert_int_equal(a.reply.trouble, bad[i].trouble);
    assert_int_equal(a.reply.attempts, bad[i].trouble == TW_CHAT_BROKEN ? 2 : 1);
    assert_non_null(strstr(a.error.text, bad[i].says));
  }
}

static void a_command_without_its_program_is_rejected(void **state) {
  const char *const bad[] = {"exec:/nonexistent/program -v", "exec:no-such-program", "exec: no-such-program | cat",
                             "exec:/etc/passwd", "exec:no-such-program; cat"};
  const char *const good[] = {"exec:cat",      "exec:/bin/cat -", "exec:if true; then cat; fi",
                              "exec:$HOME/x",  "exec:A=1 x",      "exec:(cat)",
                              "exec:cd /; cat"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tw_error error = {0};
    if (open_only(bad[i], NULL, &error) != TW_USAGE) fail_msg("'%s' was accepted", bad[i]);
    assert_non_null(strstr(error.text, "no program '"));
  }
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    tw_error error = {0};
    if (open_only(good[i], NULL, &error) != TW_OK) fail_msg("'%s': %s", good[i], error.text);
  }
}

static void a_command_that_fails_once_is_run_again(void **state) {
  char *folder, *command;
  assert_int_equal(tw_directory_temporary(&folder, NULL), TW_OK);
  assert_true(asprintf(&command, "exec:if test -e %s/once; then cat; else touch %s/once; exit 1; fi", folder, folder) >
              0);
  asked a = run_command(command, "p");
  assert_int_equal(a.status, TW_OK);
  assert_string_equal(a.reply.text, "rules\n\np");
  assert_int_equal(a.reply.attempts, 2);
  free(a.reply.text);
  tw_directory_remove(folder);
  free(folder), free(command);
}

int main(void) {
  static const char *const clear[] = {"TILEWRIGHT_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL",
                                      "ANTHROPIC_BASE_URL", "http_proxy",     "https_proxy",       "all_proxy",
                                      "ALL_PROXY",          "HTTPS_PROXY"};
  for (size_t i = 0; i < sizeof clear / sizeof clear[0]; i++) unsetenv(clear[i]);
  setenv("HOME", "/nonexistent", 1);
  unsetenv("XDG_CONFIG_HOME");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(openai_speaks_chat_completions),
      cmocka_unit_test(anthropic_speaks_messages),
      cmocka_unit_test(odd_forms_of_an_answer_are_read),
      cmocka_unit_test(each_bad_answer_is_of_a_kind),
      cmocka_unit_test(a_trickle_and_silence_end_in_time),
      cmocka_unit_test(what_passes_is_tried_again_and_retry_after_honoured),
      cmocka_unit_test(a_parameter_that_is_not_taken_is_left_out),
      cmocka_unit_test(a_reasoning_effort_is_sent_and_left_out_where_it_is_rejected),
      cmocka_unit_test(all_requests_in_flight_outlive_a_parameter),
      cmocka_unit_test(an_interrupt_ends_it_at_once),
      cmocka_unit_test(only_so_many_are_served_at_once),
      cmocka_unit_test(bad_specifications_are_refused_in_a_line),
      cmocka_unit_test(an_address_is_no_name_of_a_model),
      cmocka_unit_test(base_urls_of_the_environment_are_used_or_refused),
      cmocka_unit_test(names_hold_no_secrets),
      cmocka_unit_test(keys_come_from_the_environment_or_a_private_file),
      cmocka_unit_test(a_command_is_a_model),
      cmocka_unit_test(a_command_without_its_program_is_rejected),
      cmocka_unit_test(a_command_that_fails_once_is_run_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
