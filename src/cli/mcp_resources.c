/* mcp_resources.c - texts about machines for an assistant that writes source: tilewright://TARGET/TOPIC, and for an
 * op tilewright://TARGET/OP/TOPIC. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp.h"
#include "tilewright/extend/extend.h"

static const char SCHEME[] = "tilewright://";
static const struct topic {
  const char *name, *what;
  bool of_op;
} topics[] = {
    {"machine", "memories, rates, peak", false},
    {"architecture", "how the machine works and what costs what", false},
    {"isa", "the language of its kernels", false},
    {"rules", "what a kernel must and must not do", false},
    {"kernel", "what the source of a kernel for this op looks like", true},
    {"menu", "what can be done to make it faster", true},
};
enum { TOPICS = sizeof topics / sizeof topics[0] };

/* malloc'ed; NULL if there is none. */
static char *text_of(const tw_target *target, const tw_op *op, const char *topic) {
  if (!strcmp(topic, "machine")) return target->describe(target);
  const tw_problem problem = {.op = op};
  const char *text = tw_target_topic(target, &problem, topic);
  return text ? strdup(text) : NULL;
}

/* The first op that the target runs: topics that are only about the machine do not depend on it. */
static const tw_op *any_op(const tw_target *target) {
  const tw_op *op;
  for (size_t i = 0; (op = tw_op_at(i)); i++)
    if (tw_family_of(target, op)) return op;
  return NULL;
}

static void add(json_t *list, const tw_target *target, const tw_op *op, const struct topic *topic) {
  char *text = text_of(target, op, topic->name), *uri, *name;
  if (text && asprintf(&uri, topic->of_op ? "%s%s/%s/%s" : "%s%s/%s%s", SCHEME, target->name,
                       topic->of_op ? op->name : topic->name, topic->of_op ? topic->name : "") > 0) {
    if (asprintf(&name, "%s: %s%s%s", target->name, topic->of_op ? op->name : "", topic->of_op ? ", " : "",
                 topic->what) > 0) {
      json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "uri", uri, "name", name, "mimeType", "text/plain"));
      free(name);
    }
    free(uri);
  }
  free(text);
}

json_t *mcp_resources_list(void) {
  json_t *list = json_array();
  const tw_target *target;
  for (size_t i = 0; (target = tw_target_at(i)); i++) {
    const tw_op *op, *any = any_op(target);
    for (int t = 0; t < TOPICS; t++) {
      if (!topics[t].of_op && any) add(list, target, any, &topics[t]);
      for (size_t k = 0; topics[t].of_op && (op = tw_op_at(k)); k++)
        if (tw_family_of(target, op)) add(list, target, op, &topics[t]);
    }
  }
  return json_pack("{s:o}", "resources", list);
}

json_t *mcp_resource_read(const char *uri) {
  char copy[300], *words[3] = {NULL}, *rest = copy;
  size_t n = 0;
  if (strncmp(uri, SCHEME, sizeof SCHEME - 1) != 0 || strlen(uri) >= sizeof copy) return NULL;
  strcpy(copy, uri + sizeof SCHEME - 1);
  for (char *word; n < 3 && (word = strsep(&rest, "/"));) words[n++] = word;
  const tw_target *target = n >= 2 && !rest ? tw_target_find(words[0]) : NULL;
  const tw_op *op = !target ? NULL : n == 3 ? tw_op_find(words[1]) : any_op(target);
  if (!op || !tw_family_of(target, op)) return NULL;
  char *text = NULL;
  for (int t = 0; t < TOPICS && !text; t++)
    if (!strcmp(topics[t].name, words[n - 1]) && topics[t].of_op == (n == 3))
      text = text_of(target, op, topics[t].name);
  json_t *result =
      text ? json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "text/plain", "text", text) : NULL;
  free(text);
  return result;
}
