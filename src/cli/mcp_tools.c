/* mcp_tools.c - the tools of `tilewright mcp`. Each is a subcommand with --json, run as a separate process: a call that
 * is cancelled, or fails, ends alone, and an assistant gets the same result as a user. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/strings.h"
#include "cli/cli.h"
#include "cli/mcp_command.h"

enum { OUTPUT_LIMIT = 16 << 20 };

#define SOURCE                                                                                                         \
  { "source", "string", "the kernel's whole source text", true }
#define SCHEDULE                                                                                                       \
  { "schedule", "string", "a schedule, one step a line; the baseline without it", false }
#define SEED                                                                                                           \
  { "seed", "integer", "of the random inputs", false }

enum { PARAMETERS_MAX = 9, RESULTS_MAX = 11 };
typedef struct tool {
  const char *name, *title, *help;
  mcp_parameter parameter[PARAMETERS_MAX]; /* ended by one without a name */
  json_t *(*call)(const json_t *arguments, const mcp_listener *);
  mcp_parameter result[RESULTS_MAX]; /* members of the result, ended by one without a name */
} tool;

/* ---- the tools ---- */

static json_t *call_targets(const json_t *a, const mcp_listener *listener) {
  mcp_command c = mcp_begin("targets");
  if (mcp_text_of(a, "target")) mcp_add(&c, mcp_text_of(a, "target"));
  return mcp_finish(&c, TW_OK, NULL, listener);
}

static json_t *call_ops(const json_t *a, const mcp_listener *listener) {
  mcp_command c = mcp_begin("ops");
  if (mcp_text_of(a, "op")) mcp_add(&c, mcp_text_of(a, "op"));
  return mcp_finish(&c, TW_OK, NULL, listener);
}

/* Runs the kernel in the argument `source`. With `timeline` the result has a picture of the run. */
static json_t *measure(const json_t *a, const char *source, bool timeline, const mcp_listener *listener) {
  mcp_command c = mcp_begin("run");
  tw_error error = {0};
  tw_status status = mcp_add_file(&c, a, source, NULL, &error);
  timeline = timeline && status == TW_OK;
  char *path = timeline ? tw_path_join(c.folder, "timeline.svg") : NULL, *picture = NULL;
  size_t length;
  if (timeline && !path) status = tw_no_memory(&error, "a file");
  mcp_add_problem(&c, a);
  mcp_add_target(&c, a);
  mcp_add_number(&c, a, "seed", "--seed");
  if (path) {
    mcp_add(&c, "--timeline");
    mcp_add_owned(&c, path);
  }
  json_t *object = status == TW_OK ? mcp_run(&c, listener) : mcp_failure(&error);
  if (object && path && tw_file_read(path, OUTPUT_LIMIT, &picture, &length, NULL) == TW_OK)
    json_object_set_new(object, "timeline", tw_json_text(picture));
  free(picture);
  mcp_clean(&c);
  return object;
}

/* Diagnoses the program in the argument `source`, and rewrites it. `seconds`: NULL, or the limit as text. */
static json_t *diagnose(const json_t *a, const char *seconds, const mcp_listener *listener) {
  mcp_command c = mcp_begin("tune");
  tw_error error = {0};
  tw_status status = mcp_add_file(&c, a, "source", "--from", &error);
  mcp_add_problem(&c, a);
  mcp_add_target(&c, a);
  mcp_add(&c, "--rewrites-only");
  mcp_add(&c, "--no-wisdom");
  mcp_add(&c, "--progress");
  if (seconds) mcp_add(&c, "--seconds");
  if (seconds) mcp_add(&c, seconds);
  mcp_add_number(&c, a, "seconds", "--seconds");
  return mcp_finish(&c, status, &error, listener);
}

static json_t *call_diagnose(const json_t *a, const mcp_listener *listener) { return diagnose(a, NULL, listener); }

/* So short that nothing is rewritten. */
static const char NO_REWRITES[] = "0.01";

/* The compiled inner loop of the argument `source`, for machines whose kernels are compiled to loops. */
static json_t *inner_loop(const tw_target *target, const json_t *a) {
  tw_problem problem;
  char *text = NULL;
  const char *source = mcp_text_of(a, "source");
  if (tw_problem_parse(target, mcp_text_of(a, "problem"), &problem, NULL) == TW_OK)
    target->inner_loop(target, &problem, source, strlen(source), false, &text, NULL); /* on failure, text stays NULL */
  json_t *found = text ? tw_json_text(text) : NULL;
  free(text);
  return found;
}

/* With `diagnose` the result has findings, or the reason why the machine has none. */
static json_t *call_run(const json_t *a, const mcp_listener *listener) {
  json_t *object = measure(a, "source", json_is_true(json_object_get(a, "timeline")), listener);
  const bool correct = object && json_is_true(json_object_get(object, "correct"));
  if (!correct || !json_is_true(json_object_get(a, "diagnose"))) return object;
  const tw_target *target;
  if (cli_find_target(mcp_text_of(a, "target"), &target, NULL) == TW_OK && !target->rewriter) {
    json_t *loop = target->inner_loop ? inner_loop(target, a) : NULL;
    if (loop) json_object_set_new(object, "inner_loop", loop);
    json_object_set_new(object, "no_diagnosis", json_string("this machine has no diagnosis; Gemmini and Trainium do"));
    return object;
  }
  json_t *more = diagnose(a, NO_REWRITES, listener), *found = json_object_get(more, "diagnosis");
  if (!more) {
    json_decref(object);
    return NULL;
  }
  json_object_set(object, found ? "diagnosis" : "no_diagnosis", found ? found : json_object_get(more, "error"));
  json_decref(more);
  return object;
}

static double cost_of(const json_t *o) {
  const json_t *cost = json_object_get(o, "cycles");
  if (!cost) cost = json_object_get(o, "seconds");
  return json_is_true(json_object_get(o, "correct")) ? json_number_value(cost) : 0;
}

static json_t *call_compare(const json_t *arguments, const mcp_listener *listener) {
  json_t *a = measure(arguments, "source_a", false, listener),
         *b = a ? measure(arguments, "source_b", false, listener) : NULL;
  if (!b) {
    json_decref(a);
    return NULL;
  }
  const double cost_a = cost_of(a), cost_b = cost_of(b);
  json_t *object = json_pack("{s:o, s:o}", "a", a, "b", b);
  if (cost_a > 0 && cost_b > 0) json_object_set_new(object, "speedup_of_b", json_real(cost_a / cost_b));
  return object;
}

static json_t *with_schedule(const char *command, const json_t *a, const mcp_listener *listener) {
  mcp_command c = mcp_begin(command);
  tw_error error = {0};
  mcp_add_problem(&c, a);
  mcp_add_target(&c, a);
  return mcp_finish(&c, mcp_add_file(&c, a, "schedule", "--schedule", &error), &error, listener);
}

static json_t *call_model(const json_t *a, const mcp_listener *listener) { return with_schedule("model", a, listener); }

static json_t *call_emit(const json_t *a, const mcp_listener *listener) { return with_schedule("emit", a, listener); }

/* `--reuse` leaves out steps that are illegal here; a schedule of this problem must be legal as a whole. */
static json_t *call_tune(const json_t *a, const mcp_listener *listener) {
  if (json_object_get(a, "schedule")) {
    json_t *emitted = call_emit(a, listener);
    if (!emitted || json_object_get(emitted, "error")) return emitted;
    json_decref(emitted);
  }
  mcp_command c = mcp_begin("tune");
  tw_error error = {0};
  tw_status status = mcp_add_file(&c, a, "source", "--from", &error);
  if (status == TW_OK) status = mcp_add_file(&c, a, "schedule", "--reuse", &error);
  mcp_add_problem(&c, a);
  mcp_add_target(&c, a);
  mcp_add(&c, "--progress");
  mcp_add_number(&c, a, "seconds", "--seconds");
  mcp_add_number(&c, a, "iterations", "--iterations");
  mcp_add_number(&c, a, "seed", "--seed");
  if (json_is_false(json_object_get(a, "wisdom"))) mcp_add(&c, "--no-wisdom");
  return mcp_finish(&c, status, &error, listener);
}

static json_t *call_wisdom(const json_t *a, const mcp_listener *listener) {
  mcp_command c = mcp_begin("wisdom");
  const bool one = mcp_text_of(a, "problem") && mcp_text_of(a, "target");
  mcp_add(&c, one ? "show" : "list");
  if (one) mcp_add_problem(&c, a);
  if (mcp_text_of(a, "target")) mcp_add_target(&c, a);
  return mcp_finish(&c, TW_OK, NULL, listener);
}

#define ERROR                                                                                                          \
  { "error", "string", "the reason, if there is no result or the kernel is wrong", false }
#define CORRECT                                                                                                        \
  { "correct", "boolean", "whether every checked element is right", false }
#define CYCLES                                                                                                         \
  { "cycles", "number", "the cost, on machines that count cycles", false }
#define SECONDS                                                                                                        \
  { "seconds", "number", "the cost, on machines that measure time", false }
static const tool tools[] = {
    {"targets",
     "List machines",
     "List the machines and which are available here; with a target, its memories, rates and peak.",
     {{"target", "string", "one of them", false}},
     call_targets,
     {{"targets", "array", "all machines", false}, ERROR}},
    {"ops",
     "List operations",
     "List the operations; with an op, its keys.",
     {{"op", "string", "one of them", false}},
     call_ops,
     {{"ops", "array", "operations with their keys", false}, ERROR}},
    {"run",
     "Check and measure a kernel",
     "Build, check and measure the source of a kernel: correct or the first wrong element, the cost, counters with "
     "units, the lower bound.",
     {MCP_TARGET,
      MCP_PROBLEM,
      SOURCE,
      SEED,
      {"timeline", "boolean", "add a picture of the run (SVG)", false},
      {"diagnose", "boolean",
       "add where the time goes: causes with their cost (Gemmini and Trainium), or the inner loop's assembly (x86)",
       false}},
     call_run,
     {CORRECT,
      CYCLES,
      SECONDS,
      {"counters", "object", "counters by name", false},
      {"counter_help", "object", "unit and meaning of each counter", false},
      {"bound", "object", "the lower bound of the problem", false},
      {"timeline", "string", "the picture (SVG)", false},
      {"diagnosis", "array", "causes: what, cost, count, an example", false},
      {"inner_loop", "string", "the loop with the most multiplications, as compiled, and its spilled registers", false},
      {"no_diagnosis", "string", "why there is no diagnosis", false}}},
    {"compare",
     "Compare two kernels",
     "Build, check and measure two kernels for the same problem.",
     {MCP_TARGET,
      MCP_PROBLEM,
      {"source_a", "string", "the first kernel", true},
      {"source_b", "string", "the second", true},
      SEED},
     call_compare,
     {{"a", "object", "the result of run for the first kernel", false},
      {"b", "object", "the result of run for the second", false},
      {"speedup_of_b", "number", "cost of a / cost of b, if both are correct", false}}},
    {"diagnose",
     "Diagnose a program",
     "Report where the time of a program goes, and rewrite it where that is safe and faster (Gemmini and Trainium).",
     {MCP_TARGET, MCP_PROBLEM, SOURCE, {"seconds", "number", "stop rewriting after this long", false}},
     call_diagnose,
     {ERROR}},
    {"model",
     "Predict a schedule",
     "Give the lower bound, the analytic model's prediction for a schedule and for each next step of it, and a list of "
     "all schedule steps.",
     {MCP_TARGET, MCP_PROBLEM, SCHEDULE},
     call_model,
     {{"steps", "array", "next steps that are legal, with predictions", false},
      {"step_list", "array", "all schedule steps of the operation on this machine: usage and help", false},
      ERROR}},
    {"emit",
     "Emit a kernel",
     "Emit the source of a schedule.",
     {MCP_TARGET, MCP_PROBLEM, SCHEDULE},
     call_emit,
     {{"source", "string", "the kernel's source text", false}, ERROR}},
    {"tune",
     "Search for a kernel",
     "Search for the best kernel with the built-in rules, starting from a program or a schedule if one is given; "
     "report "
     "progress.",
     {MCP_TARGET,
      MCP_PROBLEM,
      {"source", "string", "start from this program", false},
      {"schedule", "string", "first try this schedule, one step a line", false},
      {"seconds", "number", "stop starting candidates after this long", false},
      {"iterations", "integer", "of the beam search", false},
      SEED,
      {"wisdom", "boolean", "start from what is known and keep what is found; true if not given", false}},
     call_tune,
     {{"best", "object", "the fastest correct kernel", false}, ERROR}},
    {"wisdom",
     "Look up known schedules",
     "List the best schedules known; with target and problem, the one for it.",
     {{"target", "string", "a machine", false}, {"problem", "string", "op and keys in one line", false}},
     call_wisdom,
     {ERROR}},
};
enum { TOOLS = sizeof tools / sizeof tools[0] };

static const tool *find(const char *name) {
  for (int i = 0; i < TOOLS; i++)
    if (!strcmp(tools[i].name, name)) return &tools[i];
  return NULL;
}

bool mcp_tool_exists(const char *name) { return find(name) != NULL; }

static json_t *schema_of(const mcp_parameter *p, bool closed) {
  json_t *properties = json_object(), *required = json_array();
  for (; p->name; p++) {
    json_object_set_new(properties, p->name, json_pack("{s:s, s:s}", "type", p->type, "description", p->help));
    if (p->required) json_array_append_new(required, json_string(p->name));
  }
  return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
                   "additionalProperties", !closed);
}

json_t *mcp_tools_list(void) {
  json_t *list = json_array();
  for (int i = 0; i < TOOLS; i++) {
    const tool *t = &tools[i];
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b}}", "name", t->name, "title", t->title,
                                    "description", t->help, "inputSchema", schema_of(t->parameter, true),
                                    "outputSchema", schema_of(t->result, false), "annotations", "readOnlyHint",
                                    t->call != call_tune, "destructiveHint", 0, "openWorldHint", 0));
  }
  return json_pack("{s:o}", "tools", list);
}

static bool is_of_type(const json_t *value, const char *type) {
  if (!strcmp(type, "string"))
    return json_is_string(value) && !memchr(json_string_value(value), '\0', json_string_length(value));
  if (!strcmp(type, "integer")) return json_is_integer(value);
  if (!strcmp(type, "number")) return json_is_number(value);
  return json_is_boolean(value);
}

tw_status mcp_check_value(const char *name, const char *key, const json_t *value, const mcp_parameter *p,
                          tw_error *error) {
  if (!is_of_type(value, p->type))
    return tw_fail(error, TW_USAGE, "argument '%s' of %s must be a %s", key, name, p->type);
  /* values become arguments of a command, so none may look like an option */
  if ((!strcmp(key, "problem") || !strcmp(key, "target") || !strcmp(key, "op")) &&
      (*json_string_value(value) == '-' || strstr(json_string_value(value), " -")))
    return tw_fail(error, TW_USAGE, "argument '%s' of %s must not contain options", key, name);
  return TW_OK;
}

tw_status mcp_tool_check(const char *name, const json_t *arguments, tw_error *error) {
  const tool *t = find(name);
  const char *key;
  json_t *value;
  if (arguments && !json_is_object(arguments)) return tw_fail(error, TW_USAGE, "arguments must be an object");
  for (const mcp_parameter *p = t->parameter; p->name; p++)
    if (p->required && !json_object_get(arguments, p->name))
      return tw_fail(error, TW_USAGE, "%s needs '%s': %s", name, p->name, p->help);
  json_object_foreach((json_t *)(uintptr_t)arguments, key, value) {
    const mcp_parameter *p = t->parameter;
    while (p->name && strcmp(p->name, key) != 0) p++;
    if (!p->name) return tw_fail(error, TW_USAGE, "%s has no argument '%.100s'", name, key);
    tw_status status = mcp_check_value(name, key, value, p, error);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

/* ---- calls ---- */

json_t *mcp_tool_call(const char *name, const json_t *arguments, const mcp_listener *listener) {
  json_t *object = find(name)->call(arguments, listener);
  if (!object) return NULL;
  char *text = json_dumps(object, JSON_INDENT(1));
  /* a wrong kernel is a result; a request that could not be answered is an error */
  const bool failed = json_object_get(object, "error") && !json_object_get(object, "correct");
  json_t *result = json_pack("{s:[{s:s, s:s}], s:o, s:b}", "content", "type", "text", "text", text ? text : "",
                             "structuredContent", object, "isError", failed);
  free(text);
  return result;
}
