/* machine_files.c - finds and reads users' machine files: see machine.h. Machines that were read stay in a list. */
#include "tilewright/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/machine_name.h"
#include "base/strings.h"
#include "target/cdna/target.h"
#include "target/cuda/target.h"
#include "target/gemmini/params.h"
#include "target/gemmini/target.h"
#include "target/machine_text.h"
#include "target/machines.h"
#include "target/trainium/target.h"
#include "target/xdna2/target.h"
#include "tilewright/extend/target.h"

enum { SIZE_LIMIT = 1 << 20, FILES_MAX = 1000, READ_MAX = 10000 };
static const char ENDING[] = ".machine";

static tw_machine_list *const lists[] = {&gm_machine_list, &xd_machine_list, &cdna_machine_list, &cuda_machine_list,
                                         &trn_machine_list};
enum { LISTS = sizeof lists / sizeof *lists };

/* ---- machines that were read ---- */

static struct {
  pthread_mutex_t lock;
  size_t n;
  tw_machine *machine[READ_MAX];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static tw_machine *find_known(const char *name) {
  for (size_t i = 0; i < known.n; i++)
    if (strcmp(known.machine[i]->name, name) == 0) return known.machine[i];
  return NULL;
}

/* The same machine under another name, if its file was renamed. */
static const tw_machine *find_renamed(const char *name) {
  const tw_machine *found = NULL;
  pthread_mutex_lock(&known.lock);
  for (size_t i = 0; i < known.n && !found; i++)
    if (tw_same_machine(known.machine[i]->name, name)) found = known.machine[i];
  pthread_mutex_unlock(&known.lock);
  return found;
}

/* Keeps the machine, or frees it and returns an equal one. */
static const tw_machine *register_machine(tw_machine *m, tw_error *error) {
  pthread_mutex_lock(&known.lock);
  tw_machine *same = find_known(m->name);
  const bool fits = known.n < READ_MAX;
  if (!same && fits) known.machine[known.n++] = m;
  pthread_mutex_unlock(&known.lock);
  if (!same && fits) return m;
  if (!same) tw_fail(error, TW_MISSING, "one process read more than %d machine files", READ_MAX);
  tw_machine_free(m);
  return same;
}

static const tw_machine *user_machine(const tw_target *t) {
  const tw_machine *found = NULL;
  pthread_mutex_lock(&known.lock);
  for (size_t i = 0; i < known.n && !found; i++)
    if (&known.machine[i]->target == t) found = known.machine[i];
  pthread_mutex_unlock(&known.lock);
  return found;
}

static const tw_machine *built_in_machine(const tw_target *t) {
  const tw_machine *m = NULL;
  for (size_t i = 0; i < LISTS && !m; i++) m = tw_machines_find(lists[i], t);
  return m;
}

/* ---- a text ---- */

static const tw_target *built_in(const char *name) {
  const tw_target *t;
  for (size_t l = 0; l < LISTS; l++)
    for (size_t i = 0; (t = tw_machines_at(lists[l], i)); i++)
      if (strcmp(t->name, name) == 0) return t;
  return NULL;
}

static const char *nearest_base(const char *name) {
  const char *names[LISTS * TW_MACHINES_MAX];
  const tw_target *t;
  size_t n = 0;
  for (size_t l = 0; l < LISTS; l++)
    for (size_t i = 0; (t = tw_machines_at(lists[l], i)); i++) names[n++] = t->name;
  return tw_nearest_word(name, names, n);
}

static tw_status find_base(const char *text, const char *origin, const tw_machine **out, tw_error *error) {
  int line = 0;
  char *name = tw_config_base(text, &line);
  if (!name)
    return tw_fail(error, TW_USAGE,
                   "%s:%d: a machine file begins with `base = NAME`, the machine that it modifies; `tilewright targets "
                   "--write NAME` prints one to start from",
                   origin, line);
  const tw_target *t = built_in(name);
  const char *near = t ? NULL : nearest_base(name);
  tw_status status = TW_OK;
  if (near)
    status =
        tw_fail(error, TW_USAGE, "%s:%d: base = %.60s: unknown machine; did you mean %s?", origin, line, name, near);
  else if (!t)
    status = tw_fail(
        error, TW_USAGE,
        "%s:%d: base = %.60s: unknown machine, or a machine without a file; `tilewright targets` lists the machines",
        origin, line, name);
  free(name);
  if (status == TW_OK) *out = built_in_machine(t);
  return status;
}

static tw_status read_text(const char *text, const char *origin, const char *stem, const tw_machine **out,
                           char **problems, tw_error *error) {
  const tw_machine *base = NULL;
  tw_machine *m = NULL;
  tw_status status = find_base(text, origin, &base, error);
  if (status == TW_OK) status = tw_machine_make(base, text, origin, stem, &m, problems, error);
  if (status != TW_OK) return status;
  return (*out = register_machine(m, error)) ? TW_OK : TW_MISSING;
}

/* "dir/my.machine" -> "my" */
static char *stem_of(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return strndup(name, strlen(name) - (tw_ends_with(name, ENDING) ? strlen(ENDING) : 0));
}

static tw_status read_file(const char *path, const tw_machine **out, char **problems, tw_error *error) {
  char *text = NULL, *stem = stem_of(path);
  size_t length;
  if (!stem) return tw_no_memory(error, path);
  tw_status status = tw_file_read(path, SIZE_LIMIT, &text, &length, error);
  if (status == TW_OK && strlen(text) != length)
    status = tw_fail(error, TW_USAGE, "%s: a machine file is text, but it has a zero byte at %zu", path, strlen(text));
  if (status == TW_OK) status = read_text(text, path, stem, out, problems, error);
  free(stem);
  free(text);
  return status;
}

/* ---- where files are ---- */

/* Directory number `index`, or NULL. */
static char *directory_at(size_t index) {
  const char *list = getenv("TILEWRIGHT_MACHINES"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  for (; list && *list; list += strspn(list, ":")) {
    const size_t n = strcspn(list, ":");
    if (n && index-- == 0) return strndup(list, n);
    list += n;
  }
  if (index) return NULL;
  if (config && *config == '/') return tw_path_join(config, "tilewright/machines"); /* a relative one is ignored: XDG */
  return home && *home == '/' ? tw_path_join(home, ".config/tilewright/machines") : NULL;
}

/* The file NAME.machine in the first directory that contains it; `length` is the name's length. */
static char *search_file(const char *name, size_t length) {
  char *directory, *found = NULL;
  tw_text file = {0};
  if (!length || memchr(name, '/', length)) return NULL;
  tw_text_add(&file, "%.*s%s", (int)length, name, ENDING);
  char *own = tw_text_take(&file);
  for (size_t i = 0; own && !found && (directory = directory_at(i)); i++) {
    char *path = tw_path_join(directory, own);
    if (path && tw_file_exists(path))
      found = path;
    else
      free(path);
    free(directory);
  }
  free(own);
  return found;
}

static int is_machine_file(const struct dirent *e) { return e->d_name[0] != '.' && tw_ends_with(e->d_name, ENDING); }

char *tw_machine_file_at(size_t index) {
  char *directory, *found = NULL;
  for (size_t i = 0; !found && (directory = directory_at(i)); i++) {
    struct dirent **entry = NULL;
    const int n = scandir(directory, &entry, is_machine_file, alphasort);
    for (int e = 0; e < n; e++) {
      if (index-- == 0) found = tw_path_join(directory, entry[e]->d_name);
      const bool done = found != NULL;
      free(entry[e]);
      for (int rest = e + 1; done && rest < n; rest++) free(entry[rest]);
      if (done) break;
    }
    free(entry);
    free(directory);
  }
  return found;
}

/* ---- names ---- */

static tw_status add_count(tw_status status, char *problems, tw_error *error) {
  size_t n = 0;
  for (const char *p = problems; p && (p = strchr(p, '\n')); p++) n++;
  if (n > 1 && error) {
    char more[80];
    snprintf(more, sizeof more, " (%zu more problem%s; `tilewright targets FILE` lists all)", n - 1, n > 2 ? "s" : "");
    tw_append_cut(error->text, sizeof error->text, more);
  }
  free(problems);
  return status;
}

static tw_status open_file(const char *path, const tw_machine **out, tw_error *error) {
  char *problems = NULL;
  const tw_status status = read_file(path, out, &problems, error);
  return add_count(status, problems, error);
}

static tw_status fail_unknown(const char *name, tw_error *error) {
  const char *names[64], *near = NULL;
  size_t n = 0;
  for (const tw_target *t; n < 64 && (t = tw_target_at(n)); n++) names[n] = t->name;
  if (!strchr(name, '@')) near = tw_nearest_word(name, names, n);
  if (near) return tw_fail(error, TW_USAGE, "unknown target '%.80s'; did you mean '%s'?", name, near);
  return tw_fail(error, TW_USAGE, "unknown target '%.80s'; `tilewright targets` lists the targets", name);
}

tw_status tw_target_open(const char *name, const tw_target **out, tw_error *error) {
  const tw_target *t;
  const tw_machine *m = NULL;
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    if (strcmp(t->name, name) == 0) return *out = t, TW_OK;
  pthread_mutex_lock(&known.lock);
  m = find_known(name);
  pthread_mutex_unlock(&known.lock);
  if (m) return *out = &m->target, TW_OK;
  const char *at = strchr(name, '@');
  tw_status status = TW_OK;
  if (strchr(name, '/') || tw_ends_with(name, ENDING)) {
    status = open_file(name, &m, error);
  } else {
    char *path = search_file(name, at ? (size_t)(at - name) : strlen(name));
    if (!path && (m = find_renamed(name))) return *out = &m->target, TW_OK;
    if (!path) return fail_unknown(name, error);
    status = open_file(path, &m, error);
    if (status == TW_OK && m && at && strcmp(m->name, name) != 0)
      status = tw_fail(error, TW_USAGE, "%s is now %s, not %.80s; its values have changed", path, m->name, name);
    free(path);
  }
  if (status == TW_OK) *out = &m->target;
  return status;
}

/* Names may come from other people's files, so no path is opened. */
const tw_target *tw_target_find(const char *name) {
  const tw_target *t;
  return !strchr(name, '/') && tw_target_open(name, &t, NULL) == TW_OK ? t : NULL;
}

tw_status tw_machine_check(const char *path, const tw_target **target, char **problems, tw_error *error) {
  const tw_machine *m = NULL;
  *problems = NULL;
  const tw_status status = read_file(path, &m, problems, error);
  if (status == TW_OK && target) *target = &m->target;
  return status;
}

/* ---- texts ---- */

tw_status tw_machine_read(const char *text, const char *name, const char *origin, const tw_target **out,
                          tw_error *error) {
  char *stem = strndup(name, strcspn(name, "@")), *problems = NULL;
  const tw_machine *m = NULL;
  if (!stem) return tw_no_memory(error, origin);
  tw_status status = read_text(text, origin, stem, &m, &problems, error);
  status = add_count(status, problems, error); /* on its own: arguments have no order */
  free(stem);
  if (status == TW_OK && m && strcmp(m->name, name) != 0)
    status = tw_fail(error, TW_USAGE, "%s: its values make it %s, not %.80s; is it from another version?", origin,
                     m->name, name);
  if (status == TW_OK) *out = &m->target;
  return status;
}

static char *text_with_base(const tw_machine *m, const void *base_values) {
  tw_text t = {0};
  char *values = tw_config_print(m->kind->schema, m->values, base_values, false);
  tw_text_add(&t, "base = %s\n%s", m->base->name, values ? values : "");
  free(values);
  return tw_text_take(&t);
}

char *tw_machine_text(const tw_target *t) {
  const tw_machine *m = user_machine(t);
  return m ? text_with_base(m, NULL) : NULL;
}

char *tw_machine_changes(const tw_target *t) {
  const tw_machine *m = user_machine(t), *base = m ? built_in_machine(m->base) : NULL;
  return base ? text_with_base(m, base->values) : NULL;
}

tw_status tw_machine_template(const tw_target *t, char **text, tw_error *error) {
  const tw_machine *m = built_in_machine(t);
  if (!m && user_machine(t)) return tw_fail(error, TW_USAGE, "%s is already from a file; copy the file", t->name);
  if (!m) return tw_fail(error, TW_USAGE, "%s is not described by a file", t->name);
  *text = tw_machine_print_template(m, "", NULL, 0);
  return *text ? TW_OK : tw_no_memory(error, t->name);
}

tw_status tw_machine_from(const char *path, char **text, tw_error *error) {
  static const char head[] =
      "# Made of a gemmini_params.h. The header says nothing of the lines with a '#' before their key: they are the "
      "defaults of\n"
      "# the generator. Times depend on them; results do not. Set them as in the configuration of your SoC.\n";
  char *header = NULL;
  gm_params p;
  size_t length;
  tw_status status = tw_file_read(path, SIZE_LIMIT, &header, &length, error);
  if (status == TW_OK && strlen(header) != length)
    status = tw_fail(error, TW_USAGE, "%s: a header is text, but it has a zero byte at %zu", path, strlen(header));
  if (status == TW_OK) status = gm_params_read(header, path, &p, error);
  free(header);
  if (status != TW_OK) return status;
  tw_machine_value value[GM_PARAMS_MAX];
  for (size_t i = 0; i < p.n; i++) value[i] = (tw_machine_value){p.param[i].key, p.param[i].value, p.param[i].from};
  *text = tw_machine_print_template(built_in_machine(built_in(p.base)), head, value, p.n);
  return *text ? TW_OK : tw_no_memory(error, path);
}
