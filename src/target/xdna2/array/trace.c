/* trace.c - see trace.h. */
#include "target/xdna2/array/trace.h"

typedef struct lanes {
  FILE *f;
  int n;
} lanes;

static void add_lane(lanes *l, const char *name) {
  fprintf(l->f,
          "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":\"%s\",\"args\":{\"sort_index\":%d}},\n",
          name, l->n++);
}

/* Cores of a column in rows first .. last. */
static void add_cores(lanes *l, const xd_program *p, int column, int first, int last) {
  for (size_t i = 0; i < p->cores.n; i++) {
    const xd_place t = p->cores.at[i].tile;
    if (t.column == column && t.row >= first && t.row <= last) add_lane(l, xd_core_lane(t).text);
  }
}

static void add_channels(lanes *l, const xd_program *p, int column, xd_tile_kind kind) {
  for (size_t i = 0; i < p->channels.n; i++) {
    const xd_channel *c = &p->channels.at[i];
    if (c->tile.column == column && xd_kind_of(c->tile) == kind) add_lane(l, xd_channel_lane(c).text);
  }
}

xd_trace xd_trace_begin(FILE *f, const xd_config *c, const xd_program *p) {
  lanes l = {f, 0};
  fprintf(f, "[\n");
  for (int column = 0; column < c->columns; column++) {
    add_cores(&l, p, column, 2, 2);
    add_channels(&l, p, column, XD_SHIM);
    add_channels(&l, p, column, XD_MEMORY);
    add_cores(&l, p, column, 3, c->rows + 1);
    add_channels(&l, p, column, XD_COMPUTE);
  }
  return (xd_trace){f, c->clock_mhz};
}

static void write_span(const xd_trace *t, const char *lane, const char *name, double from, double to) {
  fprintf(t->file, "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":\"%s\",\"ts\":%.4f,\"dur\":%.4f}", name, lane,
          from / t->cycles_per_us, (to - from) / t->cycles_per_us);
}

void xd_trace_span(void *trace, const char *lane, const char *name, double from, double to) {
  const xd_trace *t = trace;
  write_span(t, lane, name, from, to);
  fprintf(t->file, ",\n");
}

void xd_trace_end(const xd_trace *t, double cycles) {
  write_span(t, "array", "kernel", 0, cycles);
  fprintf(t->file, "\n]\n");
}
