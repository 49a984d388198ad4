/* timing.c - the stages in turn. */
#include "target/trainium/timing/timing.h"

#include <stdlib.h>

#include "target/trainium/timing/compiler.h"
#include "target/trainium/timing/machine.h"

tw_status trn_time(const trn_config *config, const trn_program *p, const trn_compiler *compiler, trn_timing *out,
                   tw_error *error) {
  trn_compiled c;
  trn_hazards h = {0};
  *out = (trn_timing){0};
  tw_status status = trn_compile(config, p, compiler, &c, error);
  if (status != TW_OK) return status;
  status = trn_find_hazards(&c, &h, error);
  if (status == TW_OK) status = trn_run_machine(config, &c, &h, out, error);
  out->sbuf_used = c.sbuf_used;
  out->psum_used = c.psum_used;
  out->copies_removed = c.copies_removed;
  out->loads_removed = c.loads_removed;
  out->total = out->device + config->launch_ns;
  trn_hazards_free(&h);
  trn_compiled_free(&c);
  if (status != TW_OK) trn_timing_free(out);
  return status;
}

void trn_timing_free(trn_timing *t) {
  free(t->span);
  free(t->start);
  free(t->end);
  *t = (trn_timing){0};
}
