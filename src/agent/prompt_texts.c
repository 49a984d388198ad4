/* prompt_texts.c - see prompt_texts.h. Built-in files and a folder's files are looked up by the same name: "plan.txt",
 * "gemmini/isa.txt". */
#define _GNU_SOURCE
#include "agent/prompt_texts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/template.h"
#include "tilewright/extend/op.h"

enum {
  FILE_MOST = 1 << 20,
  FILES_MOST = 500,
  NAME_MOST = 200,
  EXAMPLES_SHOWN = 2,
  NAMED = 100 /* exceeds a plan's words */
};

typedef struct text_file {
  char name[NAME_MOST]; /* below the folder */
  char *text;
} text_file;

struct tw_prompt_texts {
  size_t n;
  text_file file[FILES_MOST];
};

static const char *const TEMPLATES[] = {"plan", "implement"};
enum { N_TEMPLATES = sizeof TEMPLATES / sizeof *TEMPLATES };
static const char *const TOPICS[] = {"architecture", "isa", "kernel", "reference", "rules", "menu"};
enum { N_TOPICS = sizeof TOPICS / sizeof *TOPICS };

/* The slots that prompt.c fills: a template may use no other slot. */
#define COMMON                                                                                                         \
  "machine", "architecture", "isa", "kernel", "reference", "rules", "problem", "summary", "operands", "context",       \
      "other", "other_cost", "language", "source", "vocabulary"
static const char *const PLAN_SLOTS[] = {COMMON,      "feedback",  "findings",   "inner_loop", "history",   "attempts",
                                         "ancestors", "invent",    "direct",     "two_steps",  "translate", "complete",
                                         "menu",      "iteration", "iterations", NULL};
static const char *const IMPLEMENT_SLOTS[] = {COMMON,  "plan",    "example", "failed",    "failure",
                                              "reply", "trouble", "earlier", "translate", NULL};

const char *const *tw_prompt_slots(const char *template_name) {
  return !strcmp(template_name, "plan") ? PLAN_SLOTS : IMPLEMENT_SLOTS;
}

/* ---- built-in files ---- */

/* The machine's folder; NULL: the target has texts in tables only, or none. */
static const char *machine_of(const tw_target *t) { return t->traits.prompts; }

/* The name that a folder has for a built-in file of this machine: "plan.txt", "gemmini/isa.txt"; false: it is another
 * file. */
static bool name_of(const tw_embedded *file, const char *machine, char name[NAME_MOST]) {
  char folder[NAME_MOST];
  const char *below = tw_embedded_below(file, "agent/prompts/");
  if (below) return snprintf(name, NAME_MOST, "%s", below), true;
  snprintf(folder, sizeof folder, "%s/prompts/", machine);
  below = tw_embedded_below(file, folder);
  return below && snprintf(name, NAME_MOST, "%s/%s", machine, below) < NAME_MOST;
}

/* ---- one lookup for both ---- */

static const char *text_named(const tw_prompt_texts *texts, const char *name) {
  for (size_t i = 0; i < texts->n; i++)
    if (!strcmp(texts->file[i].name, name)) return texts->file[i].text;
  return NULL;
}

const char *tw_prompt_template(const tw_prompt_texts *texts, const char *name) {
  char path[NAME_MOST];
  snprintf(path, sizeof path, "%s%s.txt", texts ? "" : "agent/prompts/", name);
  if (texts) return text_named(texts, path);
  const tw_embedded *file = tw_embedded_find(path);
  return file ? (const char *)file->data : NULL;
}

/* OP.TOPIC.txt, then A.TOPIC.txt of an op A_B, then TOPIC.txt. */
const char *tw_prompt_topic(const tw_prompt_texts *texts, const tw_target *t, const tw_problem *p, const char *topic) {
  if (!texts) return tw_target_topic(t, p, topic);
  const char *op = p->op->name, *underline = strrchr(op, '_');
  const int length[] = {(int)strlen(op), underline ? (int)(underline - op) : 0, 0};
  const char *text = NULL;
  for (size_t i = 0; i < 3 && !text; i++) {
    char name[NAME_MOST];
    snprintf(name, sizeof name, "%s/%.*s%s%s.txt", machine_of(t), length[i], op, length[i] ? "." : "", topic);
    text = text_named(texts, name);
  }
  return text;
}

/* ---- examples ---- */

typedef struct example {
  const char *text; /* after its head */
  int fit;
} example;

/* How well an example fits: its line "for:" has the option that the plan chose, or words that the plan has. */
static int fit_of(const char *list, const char *option, const char *plan) {
  int fit = 0;
  const char *end = list + strcspn(list, "\n");
  while (list < end) {
    char item[64];
    list += strspn(list, " ,");
    const size_t n = strcspn(list, ",\n");
    snprintf(item, sizeof item, "%.*s", (int)n, list);
    if (*item) fit += !strcasecmp(item, option) ? NAMED : strcasestr(plan, item) != NULL;
    list += n;
  }
  return fit;
}

/* The lines "for: OPTION, ..." and "run: TARGET OP KEY=VALUE..." in front are not shown. */
static example read_example(const char *text, const char *option, const char *plan) {
  example e = {0};
  for (size_t n; (n = strcspn(text, "\n")) > 0 && text[n]; text += n + 1)
    if (!strncmp(text, "for:", 4)) e.fit = fit_of(text + 4, option, plan);
  e.text = text + strspn(text, "\n");
  return e;
}

/* "MACHINE/OP.example.NAME.txt"; of an op A_B, A's serve, too. */
static bool is_example(const char *name, const char *machine, const char *op) {
  const size_t folder = strlen(machine);
  if (strncmp(name, machine, folder) != 0 || name[folder] != '/') return false;
  name += folder + 1;
  const char *mark = strstr(name, ".example.");
  const size_t n = mark ? (size_t)(mark - name) : 0;
  return n > 0 && !strncmp(name, op, n) && (op[n] == '\0' || op[n] == '_');
}

static void insert_example(example best[EXAMPLES_SHOWN], example now) {
  for (size_t k = 0; k < EXAMPLES_SHOWN; k++) {
    if (now.fit <= best[k].fit) continue;
    const example worse = best[k];
    best[k] = now;
    now = worse;
  }
}

char *tw_prompt_examples(const tw_prompt_texts *texts, const tw_target *target, const char *op, const char *option,
                         const char *plan) {
  const char *machine = machine_of(target);
  example best[EXAMPLES_SHOWN] = {{0}};
  const tw_embedded *file;
  char name[NAME_MOST];
  tw_text t = {0};
  for (size_t i = 0; texts && i < texts->n; i++)
    if (is_example(texts->file[i].name, machine, op))
      insert_example(best, read_example(texts->file[i].text, option, plan));
  for (size_t i = 0; !texts && machine && (file = tw_embedded_at(i)); i++)
    if (name_of(file, machine, name) && is_example(name, machine, op))
      insert_example(best, read_example((const char *)file->data, option, plan));
  for (size_t k = 0; k < EXAMPLES_SHOWN && best[k].text; k++)
    tw_text_add(&t, "%s%s", t.length ? "\n" : "", best[k].text);
  return tw_text_take(&t);
}

/* ---- a folder ---- */

static bool is_op(const char *name, size_t n) {
  const tw_op *op;
  for (size_t i = 0; (op = tw_op_at(i)); i++) {
    const size_t length = strlen(op->name);
    if (length >= n && !strncmp(op->name, name, n) && (op->name[n] == '\0' || op->name[n] == '_')) return true;
  }
  return false;
}

/* "TOPIC.txt", "OP.TOPIC.txt" or "OP.example.NAME.txt". */
static bool is_machine_file(const char *name) {
  const char *end = strrchr(name, '.'), *dot = strchr(name, '.');
  if (!end || strcmp(end, ".txt") != 0) return false;
  const char *topic = dot == end ? name : dot + 1;
  if (topic != name && !is_op(name, (size_t)(dot - name))) return false;
  if (topic != name && !strncmp(topic, "example.", 8)) return end > topic + 8;
  for (size_t i = 0; i < N_TOPICS; i++)
    if ((size_t)(end - topic) == strlen(TOPICS[i]) && !strncmp(topic, TOPICS[i], strlen(TOPICS[i]))) return true;
  return false;
}

static bool is_template_file(const char *name) {
  for (size_t i = 0; i < N_TEMPLATES; i++)
    if (!strncmp(name, TEMPLATES[i], strlen(TEMPLATES[i])) && !strcmp(name + strlen(TEMPLATES[i]), ".txt")) return true;
  return false;
}

static tw_status read_text(const char *path, const char *name, tw_prompt_texts *texts, tw_error *error) {
  size_t length;
  if (texts->n == FILES_MOST || strlen(name) >= NAME_MOST)
    return tw_fail(error, TW_USAGE, "%s: more than %d files, or a name above %d bytes", path, FILES_MOST,
                   NAME_MOST - 1);
  text_file *f = &texts->file[texts->n];
  const tw_status status = tw_file_read(path, FILE_MOST, &f->text, &length, error);
  if (status != TW_OK) return status;
  snprintf(f->name, sizeof f->name, "%s", name);
  texts->n++;
  return strlen(f->text) == length ? TW_OK : tw_fail(error, TW_USAGE, "%s: contains a zero byte; expected text", path);
}

/* Names that begin with a dot are an editor's. */
static int is_visible(const struct dirent *e) { return e->d_name[0] != '.'; }

/* The files of FOLDER, or of FOLDER/MACHINE. */
static tw_status read_files(const char *folder, const char *machine, tw_prompt_texts *texts, tw_error *error) {
  char *below = machine ? tw_path_join(folder, machine) : strdup(folder);
  struct dirent **entry = NULL;
  const int n = below ? scandir(below, &entry, is_visible, alphasort) : 0;
  tw_status status = TW_OK;
  if (!below) status = tw_no_memory(error, "prompts");
  if (n < 0)
    status = tw_fail(error, TW_USAGE, "%s: %m; write the built-in prompts with `tilewright prompt --write DIR`", below);
  for (int i = 0; i < n; i++) {
    const char *file = entry[i]->d_name;
    char name[NAME_MOST + 300];
    char *path = tw_path_join(below, file);
    const bool known = machine ? is_machine_file(file) : is_template_file(file);
    snprintf(name, sizeof name, "%s%s%s", machine ? machine : "", machine ? "/" : "", file);
    if (status == TW_OK && !path) status = tw_no_memory(error, "prompts");
    if (status == TW_OK && known) status = read_text(path, name, texts, error);
    if (status == TW_OK && !known && machine)
      status =
          tw_fail(error, TW_USAGE,
                  "%s: unknown prompt file; expected TOPIC.txt, OP.TOPIC.txt or OP.example.NAME.txt, where TOPIC is "
                  "architecture, isa, kernel, reference, rules or menu",
                  path);
    free(path);
    free(entry[i]);
  }
  free(entry);
  free(below);
  return status;
}

static tw_status check_missing(const char *folder, const char *machine, const tw_prompt_texts *texts, tw_error *error) {
  const tw_embedded *file;
  char name[NAME_MOST], first[NAME_MOST];
  size_t missing = 0;
  for (size_t i = 0; (file = tw_embedded_at(i)); i++)
    if (name_of(file, machine, name) && !strstr(name, ".example.") && !text_named(texts, name) && !missing++)
      snprintf(first, sizeof first, "%s", name);
  if (!missing) return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "%s: %zu prompt file%s missing, for instance %s; write the built-in ones with `tilewright prompt --write "
      "DIR`, and leave a file empty to omit its text",
      folder, missing, missing == 1 ? " is" : "s are", first);
}

/* Fills the template once: that finds unknown slots, and marks that do not close. */
static tw_status check_template(const char *folder, const char *name, const char *text, tw_error *error) {
  tw_slot slot[TW_SLOTS_MAX];
  tw_error why = {0};
  char *out = NULL;
  size_t n = 0;
  for (const char *const *s = tw_prompt_slots(name); *s; s++) slot[n++] = (tw_slot){*s, "text"};
  const tw_status status = tw_template_fill(text, n, slot, &out, &why);
  free(out);
  return status == TW_OK ? TW_OK : tw_fail(error, status, "%s/%s.txt, %s", folder, name, why.text);
}

tw_status tw_prompt_texts_read(const char *folder, const tw_target *target, tw_prompt_texts **out, tw_error *error) {
  const char *machine = machine_of(target);
  *out = NULL;
  if (!machine)
    return tw_fail(error, TW_UNSUPPORTED, "%s has no prompts for language models, so a folder cannot replace them",
                   target->name);
  tw_prompt_texts *texts = calloc(1, sizeof *texts);
  if (!texts) return tw_no_memory(error, "prompts");
  tw_status status = read_files(folder, NULL, texts, error);
  if (status == TW_OK) status = read_files(folder, machine, texts, error);
  if (status == TW_OK) status = check_missing(folder, machine, texts, error);
  for (size_t i = 0; status == TW_OK && i < N_TEMPLATES; i++)
    status = check_template(folder, TEMPLATES[i], tw_prompt_template(texts, TEMPLATES[i]), error);
  if (status == TW_OK)
    *out = texts;
  else
    tw_prompt_texts_free(texts);
  return status;
}

void tw_prompt_texts_free(tw_prompt_texts *texts) {
  for (size_t i = 0; texts && i < texts->n; i++) free(texts->file[i].text);
  free(texts);
}

/* ---- writing ---- */

/* Writes the file, or with `only_look` fails if it exists. Templates are shared by machines: an equal one may exist. */
static tw_status write_text(const char *folder, const char *name, const tw_embedded *file, bool only_look,
                            tw_error *error) {
  char *path = tw_path_join(folder, name), *text = NULL;
  size_t length;
  if (!path) return tw_no_memory(error, "a path");
  tw_status status = TW_OK;
  if (!only_look) {
    status = tw_file_write(path, file->data, file->size, error);
  } else if (tw_file_exists(path)) {
    status = tw_file_read(path, FILE_MOST, &text, &length, error);
    if (status == TW_OK && (length != file->size || memcmp(text, file->data, length) != 0))
      status = tw_fail(error, TW_USAGE,
                       "%s exists and differs from the built-in text; choose another folder, or remove it", path);
  }
  free(text);
  free(path);
  return status;
}

tw_status tw_prompt_texts_write(const char *folder, const tw_target *target, size_t *files, tw_error *error) {
  const char *machine = machine_of(target);
  const tw_embedded *file;
  char name[NAME_MOST];
  *files = 0;
  if (!machine) return tw_fail(error, TW_UNSUPPORTED, "%s has no prompts for language models", target->name);
  char *below = tw_path_join(folder, machine);
  tw_status status = below ? tw_directory_make(below, error) : tw_no_memory(error, "a path");
  free(below);
  for (int only_look = 1; only_look >= 0; only_look--)
    for (size_t i = 0; status == TW_OK && (file = tw_embedded_at(i)); i++) {
      if (!name_of(file, machine, name)) continue;
      status = write_text(folder, name, file, only_look, error);
      *files += status == TW_OK && !only_look;
    }
  return status;
}
