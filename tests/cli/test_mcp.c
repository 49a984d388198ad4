/* test_mcp.c - `tilewright mcp` and messages that the official client never sends (tests/mcp/ has what it does). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/strings.h"

/* What the server writes when its input is this; the end of the input ends it. */
static char *serve(const char *input, size_t length) {
  const char *const argv[] = {TW_COMMAND, "mcp", NULL};
  const tw_process_options options = {.argv = argv,
                                      .input = input,
                                      .input_length = length,
                                      .output_limit = 1 << 20,
                                      .errors_apart = true,
                                      .seconds = 60};
  tw_process_result result;
  tw_error error = {0};
  if (tw_process_run(&options, &result, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(result.exit_status, 0);
  assert_false(result.timed_out);
  free(result.errors);
  return result.output;
}

/* One line in, one answer out. */
static json_t *exchange(const char *line) {
  char *output = serve(line, strlen(line));
  json_error_t why;
  json_t *answer = json_loads(output, JSON_DISABLE_EOF_CHECK, &why);
  if (!answer) fail_msg("%s: %s", line, output);
  assert_string_equal(json_string_value(json_object_get(answer, "jsonrpc")), "2.0");
  free(output);
  return answer;
}

/* The same of a call: its input ends when it was answered. */
static json_t *exchange_slowly(const char *line) {
  static const char script[] = "d=$(mktemp -d) && trap 'rm -rf $d' EXIT; : >$d/out\n"
                               "{ cat; until [ -s $d/out ]; do sleep 0.02; done; } | $0 mcp >$d/out; s=$?\n"
                               "cat $d/out; exit $s";
  const char *const argv[] = {"sh", "-c", script, TW_COMMAND, NULL};
  const tw_process_options options = {.argv = argv,
                                      .input = line,
                                      .input_length = strlen(line),
                                      .output_limit = 1 << 20,
                                      .errors_apart = true,
                                      .seconds = 60};
  tw_process_result result;
  assert_int_equal(tw_process_run(&options, &result, NULL), TW_OK);
  if (result.exit_status != 0) fail_msg("%s: %s", line, result.errors);
  json_t *answer = json_loads(result.output, JSON_DISABLE_EOF_CHECK, NULL);
  assert_non_null(answer);
  tw_process_result_free(&result);
  return answer;
}

static void refused(const char *line, int code, const char *says) {
  json_t *answer = exchange(line), *error = json_object_get(answer, "error");
  assert_int_equal(json_integer_value(json_object_get(error, "code")), code);
  if (!strstr(json_string_value(json_object_get(error, "message")), says))
    fail_msg("%s: %s", line, json_string_value(json_object_get(error, "message")));
  json_decref(answer);
}

static void what_is_no_request_is_refused(void **state) {
  refused("{", -32700, "JSON");
  refused("\xff\xfe\n", -32700, "JSON");
  refused("[1]", -32600, "method");
  refused("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, "method");
  refused("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600, "method");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":3}", -32600, "params");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\"}", -32601, "unknown method");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", -32602, "unknown tool");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"run\",\"arguments\":[]}}",
          -32602, "object");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "call\",\"params\":{\"name\":\"targets\",\"arguments\":{\"target\":\"a\\u0000b\"}}}",
          -32700, "JSON");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "call\",\"params\":{\"name\":\"tune\",\"arguments\":{\"target\":\"x\","
          "\"problem\":\"gemm m=8 --out /tmp/x\"}}}",
          -32602, "must not contain options");
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///etc/passwd\"}}",
          -32002, "unknown resource");
  refused(
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"tilewright://x86/../rules\"}}",
      -32002, "unknown resource");
}

/* A name is a resource as a whole or not at all. */
static void a_name_with_more_words_is_no_resource(void **state) {
  static const char *const names[] = {"x86/gemm/kernel/../../../x",
                                      "x86/gemm/kernel/",
                                      "x86/gemm/kernel/x",
                                      "x86/rules/",
                                      "x86//rules",
                                      "/x86/rules",
                                      "x86/gemm//kernel",
                                      "x86/../x86/gemm/kernel",
                                      "x86",
                                      "",
                                      "x86/gemm/rules",
                                      "x86/kernel"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char line[300];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"tilewright://%s\"}}",
             names[i]);
    refused(line, -32002, "unknown resource");
  }
}

/* Calls that fail are answered; with AddressSanitizer the server also ends with an error if it lost memory. */
static void calls_that_fail_are_answered_and_cost_no_memory(void **state) {
  static const char *const calls[] = {
      "{\"name\":\"targets\",\"arguments\":{\"target\":\"nothing\"}}",
      "{\"name\":\"ops\",\"arguments\":{\"op\":\"nothing\"}}",
      "{\"name\":\"run\",\"arguments\":{\"target\":\"gemmini-16x16-int8\",\"problem\":\"gemm m=0\",\"source\":\"x\"}}",
      "{\"name\":\"emit\",\"arguments\":{\"target\":\"x\",\"problem\":\"gemm\",\"schedule\":\"nonsense\"}}",
      "{\"name\":\"model\",\"arguments\":{\"target\":\"x86\",\"problem\":\"nonsense\"}}",
      "{\"name\":\"wisdom\",\"arguments\":{\"target\":\"x86\",\"problem\":\"nonsense\"}}",
      "{\"name\":\"compare\",\"arguments\":{\"target\":\"x\",\"problem\":\"y\",\"source_a\":\"\",\"source_b\":\"\"}}",
      "{\"name\":\"tune\",\"arguments\":{\"target\":\"x\",\"problem\":\"y\",\"seconds\":1}}",
      "{\"name\":\"run\",\"arguments\":{\"target\":\"x\"}}",
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    tw_text line = {0};
    tw_text_add(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}\n", calls[i]);
    json_t *answer = exchange_slowly(line.data);
    json_t *result = json_object_get(answer, "result");
    assert_true(json_is_true(json_object_get(result, "isError")) || json_object_get(answer, "error") ||
                json_object_get(json_object_get(json_object_get(result, "structuredContent"), "a"), "error"));
    json_decref(answer);
    tw_text_free(&line);
  }
}

static void notifications_and_answers_are_not_answered(void **state) {
  const char input[] = "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}\n"
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\"}\n"
                       "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n";
  char *output = serve(input, strlen(input));
  assert_string_equal(output, "");
  free(output);
}

static void versions_are_agreed_on(void **state) {
  const char *const cases[][2] = {
      {"2024-11-05", "2024-11-05"}, {"2025-06-18", "2025-06-18"}, {"1999-01-01", "2025-06-18"}};
  for (size_t i = 0; i < 3; i++) {
    char line[200];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\"}}",
             cases[i][0]);
    json_t *answer = exchange(line);
    assert_string_equal(json_string_value(json_object_get(answer, "id")), "x");
    assert_string_equal(json_string_value(json_object_get(json_object_get(answer, "result"), "protocolVersion")),
                        cases[i][1]);
    json_decref(answer);
  }
}

/* A search of minutes: the client goes, and so does it. */
static void the_end_of_the_input_ends_what_runs(void **state) {
  const char line[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tune\",\"arguments\":"
      "{\"target\":\"gemmini-16x16-int8\",\"problem\":\"gemm m=4096 n=4096 k=4096\",\"wisdom\":false}}}\n";
  const double begun = tw_now();
  char *output = serve(line, strlen(line));
  json_t *answer = json_loads(output, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(answer, "id")), 1);
  const char *says = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
  assert_true(says && strstr(says, "input ended"));
  assert_true(tw_now() - begun < 30);
  json_decref(answer);
  free(output);
}

/* The client waits for no answer of a call that it cancelled, at the end of the input neither. */
static void a_cancelled_call_has_no_answer_at_the_end(void **state) {
  const char lines[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tune\",\"arguments\":"
      "{\"target\":\"gemmini-16x16-int8\",\"problem\":\"gemm m=4096 n=4096 k=4096\",\"wisdom\":false}}}\n"
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
  char *output = serve(lines, strlen(lines));
  assert_string_equal(output, "");
  free(output);
}

static json_t *called(const char *name, const char *arguments) {
  tw_text line = {0};
  tw_text_add(
      &line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}\n",
      name, arguments);
  json_t *answer = exchange_slowly(line.data);
  json_t *object = json_deep_copy(json_object_get(json_object_get(answer, "result"), "structuredContent"));
  if (!object) fail_msg("%s: %s", name, json_dumps(answer, 0));
  json_decref(answer);
  tw_text_free(&line);
  return object;
}

/* Each tool states what it returns and whether it changes anything. */
static void tools_have_schemas_and_annotations(void **state) {
  json_t *answer = exchange("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"), *t;
  json_t *list = json_object_get(json_object_get(answer, "result"), "tools");
  size_t i;
  assert_int_equal(json_array_size(list), 9);
  json_array_foreach(list, i, t) {
    const char *name = json_string_value(json_object_get(t, "name"));
    const json_t *output = json_object_get(t, "outputSchema"), *hints = json_object_get(t, "annotations");
    assert_string_equal(json_string_value(json_object_get(output, "type")), "object");
    assert_true(json_object_size(json_object_get(output, "properties")) > 0);
    assert_true(json_is_true(json_object_get(hints, "readOnlyHint")) == (strcmp(name, "tune") != 0));
    assert_true(json_is_string(json_object_get(t, "title")));
  }
  json_decref(answer);
}

static void prompts_are_listed_and_filled(void **state) {
  json_t *answer = exchange("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}");
  assert_int_equal(json_array_size(json_object_get(json_object_get(answer, "result"), "prompts")), 2);
  json_decref(answer);
  answer = exchange(
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"implement\",\"arguments\":"
      "{\"target\":\"gemmini-16x16-int8\",\"problem\":\"gemm m=64 n=64 k=64\",\"plan\":\"Use bank 77.\"}}}");
  json_t *messages = json_object_get(json_object_get(answer, "result"), "messages");
  const char *text =
      json_string_value(json_object_get(json_object_get(json_array_get(messages, 0), "content"), "text"));
  assert_true(text && strstr(text, "Use bank 77.") && strstr(text, "int8_t C[64][64]"));
  json_decref(answer);
#define GET "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":"
  refused(GET "{\"name\":\"nothing\"}}", -32602, "unknown prompt");
  refused(GET "{\"name\":\"plan\",\"arguments\":{\"target\":\"x86\"}}}", -32602, "needs 'problem'");
  refused(GET "{\"name\":\"plan\",\"arguments\":{\"target\":\"x86\",\"problem\":\"gemm --trust\"}}}", -32602,
          "must not contain options");
  refused(GET "{\"name\":\"plan\",\"arguments\":{\"target\":\"nothing\",\"problem\":\"gemm m=8 n=8 k=8\"}}}", -32602,
          "nothing");
#undef GET
}

/* A run with its picture and the units of its counters; searches from a schedule and from a source; all steps of a
 * language. */
static void calls_say_more_than_a_cost(void **state) {
#define SMALL "\"target\":\"gemmini-16x16-int8\",\"problem\":\"gemm m=32 n=32 k=32\""
  json_t *o = called("model", "{" SMALL "}");
  assert_true(json_array_size(json_object_get(o, "step_list")) > 10);
  json_decref(o);
  json_t *emitted = called("emit", "{" SMALL "}");
  char *source = json_dumps(json_object_get(emitted, "source"), JSON_ENCODE_ANY);
  tw_text arguments = {0};
  tw_text_add(&arguments, "{" SMALL ",\"timeline\":true,\"diagnose\":true,\"source\":%s}", source);
  o = called("run", arguments.data);
  const json_t *causes = json_object_get(o, "diagnosis"), *first = json_array_get(causes, 0);
  assert_true(json_array_size(causes) > 1);
  assert_true(json_number_value(json_object_get(first, "cycles")) > 0);
  assert_non_null(json_string_value(json_object_get(first, "what")));
  assert_true(json_is_true(json_object_get(o, "correct")));
  assert_non_null(strstr(json_string_value(json_object_get(o, "timeline")), "<svg"));
  assert_int_equal(json_object_size(json_object_get(o, "counters")),
                   json_object_size(json_object_get(o, "counter_help")));
  json_decref(o);
  o = called("tune", "{" SMALL ",\"wisdom\":false,\"iterations\":1,\"schedule\":\"no such step\"}");
  assert_non_null(json_object_get(o, "error"));
  json_decref(o);
  o = called("tune", "{" SMALL ",\"wisdom\":false,\"iterations\":1,\"schedule\":\"overwrite\\n\"}");
  assert_true(json_number_value(json_object_get(json_object_get(o, "best"), "cycles")) > 0);
  json_decref(o), json_decref(emitted);
  tw_text_free(&arguments);
  arguments = (tw_text){0};
  tw_text_add(&arguments, "{" SMALL ",\"wisdom\":false,\"iterations\":1,\"source\":%s}", source);
  o = called("tune", arguments.data);
  const char *best = json_string_value(json_object_get(json_object_get(o, "best"), "source"));
  assert_true(best && strstr(best, "A program rewritten by tilewright")); /* as only the user's program is */
  json_decref(o);
  tw_text_free(&arguments);
  free(source);
#undef SMALL
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_no_request_is_refused),
      cmocka_unit_test(a_name_with_more_words_is_no_resource),
      cmocka_unit_test(calls_that_fail_are_answered_and_cost_no_memory),
      cmocka_unit_test(notifications_and_answers_are_not_answered),
      cmocka_unit_test(versions_are_agreed_on),
      cmocka_unit_test(the_end_of_the_input_ends_what_runs),
      cmocka_unit_test(a_cancelled_call_has_no_answer_at_the_end),
      cmocka_unit_test(tools_have_schemas_and_annotations),
      cmocka_unit_test(prompts_are_listed_and_filled),
      cmocka_unit_test(calls_say_more_than_a_cost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
