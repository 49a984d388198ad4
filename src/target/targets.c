/* targets.c - the list of targets. A new machine is a folder here and a line below; a program adds its own. */
#include <string.h>

#include "base/registry.h"
#include "base/sized.h"
#include "tilewright/extend/target.h"

#include "target/cdna/target.h"
#include "target/cuda/target.h"
#include "target/gemmini/target.h"
#include "target/trainium/target.h"
#include "target/x86/target.h"
#include "target/xdna2/target.h"

/* Each machine's own list: its targets by position, NULL past the last. */
static const tw_target *(*const machines[])(size_t index) = {
    gm_target_at, x86_target_at, xd_target_at, cdna_target_at, cuda_target_at, trn_target_at,
};

static tw_registry added = {.lock = PTHREAD_MUTEX_INITIALIZER};

const tw_target *tw_target_at(size_t index) {
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    const tw_target *target;
    for (size_t i = 0; (target = machines[m](i)); i++) {
      if (index-- == 0) return target;
    }
  }
  return tw_registry_at(&added, index);
}

static const void *find(const char *name) {
  const tw_target *target;
  for (size_t i = 0; (target = tw_target_at(i)); i++) {
    if (strcmp(target->name, name) == 0) return target;
  }
  return NULL;
}

/* What a family lacks, or NULL. */
static const char *missing_in(const tw_family *f) {
  const bool some = f->steps || f->emit || f->predict, all = f->steps && f->emit && f->predict;
  if (!f->op) return "the name of an op";
  if (!f->keys) return "keys";
  if (!f->settle) return "settle";
  return !f->bound ? "bound" : some && !all ? "steps, emit and predict together" : NULL;
}

tw_status tw_target_register(const tw_target *given, tw_error *error) {
  tw_target full;
  const tw_target *t = &full;
  const tw_status status = tw_sized_take("tw_target", given, &full, sizeof full, error);
  if (status != TW_OK) return status;
  const struct {
    const char *name;
    bool is_there;
  } needed[] = {{"name", t->name && *t->name},
                {"summary", t->summary},
                {"unit", t->unit},
                {"traits.language", t->traits.language},
                {"traits.source_name", t->traits.source_name},
                {"family", t->family && t->n_families > 0},
                {"available", t->available},
                {"describe", t->describe},
                {"build", t->build},
                {"check", t->check},
                {"measure", t->measure},
                {"release", t->release}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].is_there)
      return tw_fail(error, TW_USAGE, "the target %s lacks %s", t->name ? t->name : "without a name", needed[i].name);
  for (size_t i = 0; i < t->n_families; i++) {
    const char *lacks = missing_in(&t->family[i]);
    if (lacks) return tw_fail(error, TW_USAGE, "family %zu of the target %s lacks %s", i, t->name, lacks);
    if (t->family[i].n_options > TW_OPTIONS_MAX)
      return tw_fail(error, TW_USAGE, "family %zu of the target %s has more than %d options", i, t->name,
                     TW_OPTIONS_MAX);
  }
  t = tw_sized_keep(given, &full, sizeof full);
  return t ? tw_registry_add(&added, full.name, t, find, "target", error)
           : tw_fail(error, TW_NO_MEMORY, "no memory for the target %s", full.name);
}
