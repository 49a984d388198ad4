/* scripted.h - searches on a machine that is a formula, whose agent is a shell script in the place of a language
 * model. */
#ifndef TW_SCRIPTED_H
#define TW_SCRIPTED_H

#include "test.h"

#include "base/files.h"
#include "search/result.h"
#include "search_fixture.h"

static char *folder;

static inline int start(void **state) {
  memset(&fake, 0, sizeof fake);
  return tw_directory_temporary(&folder, NULL) == TW_OK ? 0 : -1;
}
static inline int end(void **state) {
  tw_directory_remove(folder);
  free(folder);
  return 0;
}

static inline char *path_of(const char *name) { return tw_path_join(folder, name); }

static inline void write_file(const char *name, const char *text) {
  char *path = path_of(name);
  assert_int_equal(tw_file_write(path, text, strlen(text), NULL), TW_OK);
  free(path);
}

static inline char *read_text(const char *name) {
  char *path = path_of(name), *text = NULL;
  if (tw_file_read(path, 1 << 24, &text, NULL, NULL) != TW_OK) text = NULL;
  free(path);
  return text;
}

static inline int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = text; at && (at = strstr(at, what)); at++) n++;
  return n;
}

/* An agent that runs this script with sh; the prompt is in $p, and each is added to the file `log`. */
static inline const char *model(const char *script) {
  static char name[8192];
  snprintf(name, sizeof name, "exec:cd %s; p=$(cat); echo \"$p\" >> log; %s", folder, script);
  return name;
}

static const tw_model_options hurried = {.size = sizeof hurried, .at_once = 1, .seconds = 20};

static inline tw_search_options options_of(const char *const *agents, size_t n) {
  return (tw_search_options){.size = sizeof(tw_search_options),
                             .iterations = 3,
                             .plans = 2,
                             .kernels = 2,
                             .beam = 2,
                             .dropout = 0.5,
                             .seed = 1,
                             .jobs = 2,
                             .agents = agents,
                             .n_agents = n,
                             .model = &hurried};
}

static inline tw_search_result search(const char *agent, tw_search_options o) {
  const char *agents[] = {agent};
  tw_problem problem = fake_problem(64);
  tw_search_result r = {0};
  tw_error error = {0};
  o.agents = agents, o.n_agents = 1;
  if (tw_search_into(&fake_target, &problem, &o, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r;
}

/* A script that answers the planning prompt, and the other with `code`. */
#define PLAN_OR(code)                                                                                                  \
  "case \"$p\" in *'Now you plan'*) echo 'OPTION: tile'; echo 'WHY: larger tiles'; echo 'PLAN:'; echo 'the plan "      \
  "text';; *) " code ";; esac"

/* As the fixture's kernels are written. */
static inline char *source_of(const fake_state *k) {
  tw_text t = {0};
  tw_text_add(&t, "kernel");
  for (int i = 0; i < LEVERS; i++) tw_text_add(&t, " %d", k->value[i]);
  tw_text_add(&t, "\n");
  return tw_text_take(&t);
}

#endif
