/* trace.c - see trace.h. Times are cycles. */
#include "target/xdna2/array/trace.h"

static void add_lane(FILE *f, const char *name, int at) {
  fprintf(f, "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":\"%s\",\"args\":{\"sort_index\":%d}},\n",
          name, at);
}

void xd_trace_begin(FILE *f, const xd_program *p) {
  static const xd_tile_kind order[] = {XD_MEMORY, XD_SHIM, XD_COMPUTE};
  int at = 0;
  fprintf(f, "[\n");
  for (size_t i = 0; i < p->cores.n; i++) add_lane(f, xd_place_label(p->cores.at[i].tile).text, at++);
  for (int k = 0; k < XD_TILE_KINDS; k++)
    for (size_t i = 0; i < p->channels.n; i++)
      if (xd_kind_of(p->channels.at[i].tile) == order[k]) add_lane(f, xd_channel_label(&p->channels.at[i]).text, at++);
}

void xd_trace_span(void *file, const char *lane, const char *name, double from, double to) {
  fprintf(file, "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":\"%s\",\"ts\":%.2f,\"dur\":%.2f},\n", name, lane, from,
          to - from);
}

void xd_trace_end(FILE *f, double cycles) {
  fprintf(f, "{\"name\":\"kernel\",\"ph\":\"X\",\"pid\":1,\"tid\":\"array\",\"ts\":0,\"dur\":%.2f}\n]\n", cycles);
}
