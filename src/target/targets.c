/* targets.c - the list of targets. A new machine is a folder here and a line below. */
#include <stdlib.h>
#include <string.h>

#include "tilewright/target.h"

#include "target/cuda/target.h"
#include "target/gemmini/target.h"
#include "target/x86/target.h"
#include "target/xdna2/target.h"

/* Each machine's own list: its targets by position, NULL past the last. */
static const tw_target *(*const families[])(size_t index) = {
    gm_target_at,
    x86_target_at,
    xd_target_at,
    cuda_target_at,
};

const tw_target *tw_target_at(size_t index) {
  for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
    const tw_target *target;
    for (size_t i = 0; (target = families[f](i)); i++) {
      if (index-- == 0) return target;
    }
  }
  return NULL;
}

const tw_target *tw_target_find(const char *name) {
  const tw_target *target;
  for (size_t i = 0; (target = tw_target_at(i)); i++) {
    if (strcmp(target->name, name) == 0) return target;
  }
  return NULL;
}

void tw_files_free(tw_files *files) {
  for (size_t i = 0; i < files->n; i++) free(files->file[i].text);
  *files = (tw_files){0};
}

tw_status tw_target_case(const tw_target *t, const tw_problem *problem, uint64_t seed, int threads, tw_case *out,
                         tw_error *error) {
  return t->own_reference ? tw_case_make_inputs(problem, seed, out, error)
                          : tw_case_make(problem, seed, threads, out, error);
}
