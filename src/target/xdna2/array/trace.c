/* trace.c - see trace.h. */
#include "target/xdna2/array/trace.h"

/* Cores of a column in rows first .. last. */
static void add_cores(tw_trace *l, const xd_program *p, int column, int first, int last) {
  for (size_t i = 0; i < p->cores.n; i++) {
    const xd_place t = p->cores.at[i].tile;
    if (t.column == column && t.row >= first && t.row <= last) tw_trace_lane(l, xd_core_lane(t).text);
  }
}

static void add_channels(tw_trace *l, const xd_program *p, int column, xd_tile_kind kind) {
  for (size_t i = 0; i < p->channels.n; i++) {
    const xd_channel *c = &p->channels.at[i];
    if (c->tile.column == column && xd_kind_of(c->tile) == kind) tw_trace_lane(l, xd_channel_lane(c).text);
  }
}

tw_trace xd_trace_begin(FILE *f, const xd_config *c, const xd_program *p) {
  tw_trace t = tw_trace_begin(f, c->clock_mhz);
  for (int column = 0; column < c->columns; column++) {
    add_cores(&t, p, column, 2, 2);
    add_channels(&t, p, column, XD_SHIM);
    add_channels(&t, p, column, XD_MEMORY);
    add_cores(&t, p, column, 3, c->rows + 1);
    add_channels(&t, p, column, XD_COMPUTE);
  }
  return t;
}

void xd_trace_span(void *trace, const char *lane, const char *name, double from, double to) {
  tw_trace_span(trace, lane, name, from, to);
}
