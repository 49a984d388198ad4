/* mcp_prompts.c - the prompts of `tilewright mcp`: the same prompts as the subcommand `prompt` writes. */
#include <stdint.h>
#include <string.h>

#include "cli/mcp_command.h"

static const struct prompt {
  const char *name, *help;
  mcp_parameter argument[4];
} prompts[] = {
    {"plan",
     "Ask for a plan to make a program faster.",
     {MCP_TARGET, MCP_PROBLEM, {"source", "string", "the program; the plainest kernel if not given", false}}},
    {"implement",
     "Ask for the program that a plan describes.",
     {MCP_TARGET,
      MCP_PROBLEM,
      {"plan", "string", "the plan", true},
      {"source", "string", "the program to change; the plainest kernel if not given", false}}},
};
enum { PROMPTS = sizeof prompts / sizeof prompts[0] };

json_t *mcp_prompts_list(void) {
  json_t *list = json_array();
  for (int i = 0; i < PROMPTS; i++) {
    json_t *arguments = json_array();
    for (int a = 0; a < 4 && prompts[i].argument[a].name; a++) {
      const mcp_parameter *p = &prompts[i].argument[a];
      json_array_append_new(
          arguments, json_pack("{s:s, s:s, s:b}", "name", p->name, "description", p->help, "required", p->required));
    }
    json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", prompts[i].name, "description", prompts[i].help,
                                          "arguments", arguments));
  }
  return json_pack("{s:o}", "prompts", list);
}

json_t *mcp_prompt_get(const char *name, const json_t *arguments, tw_error *error) {
  const struct prompt *p = NULL;
  const char *key;
  json_t *value;
  for (int i = 0; i < PROMPTS; i++)
    if (!strcmp(prompts[i].name, name)) p = &prompts[i];
  if (!p) return tw_fail(error, TW_USAGE, "unknown prompt; prompts/list lists them"), NULL;
  for (int i = 0; i < 4 && p->argument[i].name; i++)
    if (p->argument[i].required && !mcp_text_of(arguments, p->argument[i].name))
      return tw_fail(error, TW_USAGE, "%s needs '%s': %s", name, p->argument[i].name, p->argument[i].help), NULL;
  json_object_foreach((json_t *)(uintptr_t)arguments, key, value) {
    int i = 0;
    while (i < 4 && p->argument[i].name && strcmp(p->argument[i].name, key) != 0) i++;
    if (i == 4 || !p->argument[i].name) return tw_fail(error, TW_USAGE, "%s has no argument '%.100s'", name, key), NULL;
    if (mcp_check_value(name, key, value, &p->argument[i], error) != TW_OK) return NULL;
  }
  mcp_command c = mcp_begin("prompt");
  const volatile int never = 0;
  const mcp_listener listener = {.interrupt = &never};
  mcp_add(&c, name);
  mcp_add_problem(&c, arguments);
  tw_status status = mcp_add_file(&c, arguments, "source", NULL, error);
  mcp_add_target(&c, arguments);
  if (status == TW_OK) status = mcp_add_file(&c, arguments, "plan", "--plan", error);
  mcp_add(&c, "--no-run");
  json_t *object = status == TW_OK ? mcp_run(&c, &listener) : NULL, *result = NULL;
  mcp_clean(&c);
  json_t *text = json_object_get(object, "prompt");
  if (json_is_string(text))
    result = json_pack("{s:s, s:[{s:s, s:{s:s, s:O}}]}", "description", p->help, "messages", "role", "user", "content",
                       "type", "text", "text", text);
  else if (status == TW_OK)
    tw_fail(error, TW_USAGE, "%s", mcp_text_of(object, "error") ? mcp_text_of(object, "error") : "there is no prompt");
  json_decref(object);
  return result;
}
