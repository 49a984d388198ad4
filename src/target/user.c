/* user.c - functions with which programs query a target, whose struct they do not see:
 * ../../include/tilewright/target.h. */
#include <stdlib.h>

#include "tilewright/extend/target.h"

const char *tw_target_name(const tw_target *t) { return t->name; }
const char *tw_target_summary(const tw_target *t) { return t->summary; }
const char *tw_target_unit(const tw_target *t) { return t->unit; }
bool tw_target_is_simulated(const tw_target *t) { return t->traits.simulated; }
tw_status tw_target_available(const tw_target *t, tw_error *error) { return t->available(t, error); }

tw_status tw_target_export(const tw_target *t, const tw_problem *p, const tw_schedule *s, const char *source,
                           tw_files *out, tw_error *error) {
  *out = (tw_files){0};
  if (!t->exporter)
    return tw_fail(error, TW_UNSUPPORTED, "%s has no files for the tools of a real machine; use the kernel's source",
                   t->name);
  return t->exporter->sources(t, p, s, source, out, error);
}

void tw_files_free(tw_files *files) {
  for (size_t i = 0; i < files->n; i++) free(files->file[i].text);
  *files = (tw_files){0};
}
