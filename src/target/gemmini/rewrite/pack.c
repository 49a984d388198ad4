/* pack.c - renames rows and moves loads and stores; see pack.h. */
#include "target/gemmini/rewrite/pack.h"

#include <stdlib.h>

#include "base/strings.h"
#include "target/gemmini/rewrite/pack_private.h"

static bool rename_and_move(gm_pack_state *p) {
  gm_value **order = tw_new(p->n_values + 1, sizeof *order);
  size_t n = 0;
  bool ok = order ? true : gm_pack_refuse(p, 0, "no memory");
  if (ok && p->options.spread && (p->acc_rows > (uint32_t)gm_acc_bank_rows(p->config) || p->n_windows < 2))
    ok = gm_pack_refuse(p, 0, "a window's results do not fit one bank of the accumulator");
  ok = ok && gm_pack_place(p, order, &n) && gm_pack_write(p, order, n);
  free(order);
  return ok;
}

tw_status gm_pack(gm_stream *s, const gm_pack_options *options, tw_error *error) {
  gm_pack_state p = {.stream = s, .config = s->config, .options = *options};
  p.value = tw_new(s->n + 1, sizeof *p.value);
  p.product = tw_new(s->n + 1, sizeof *p.product);
  p.transfer = tw_new(s->n + 1, sizeof *p.transfer);
  p.setup = tw_new(s->n + 1, sizeof *p.setup);
  p.window_start = tw_new(s->n + 3, sizeof *p.window_start);
  p.group_start = tw_new(s->n + 3, sizeof *p.group_start);
  p.cut = tw_new(s->n + 3, sizeof *p.cut);
  p.window_acc = tw_new(s->n + 3, sizeof *p.window_acc);
  p.window_end = tw_new(s->n + 3, sizeof *p.window_end);
  bool room = p.value && p.product && p.transfer && p.setup && p.window_start && p.group_start && p.cut &&
              p.window_acc && p.window_end;
  bool ok = room && gm_pack_read(&p) && rename_and_move(&p);
  tw_status status = TW_OK;
  if (!room) status = tw_no_memory(error, "the analysis");
  if (room && !ok) status = tw_fail(error, TW_FAILED, "command %zu: %s", p.where, p.why);
  free(p.value), free(p.product), free(p.transfer), free(p.setup);
  free(p.window_start), free(p.group_start), free(p.cut), free(p.window_acc), free(p.window_end);
  return status;
}
