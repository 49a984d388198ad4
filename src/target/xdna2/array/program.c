/* program.c - see program.h. */
#include "target/xdna2/array/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

typedef XD_LIST(char) any_list; /* the common beginning of every list */

int xd_append(void *to, size_t size, const void *item, bool *failed) {
  any_list *list = to;
  if (list->n == list->room) {
    const size_t room = list->room ? list->room * 2 : 16;
    char *grown = tw_resize(list->at, room, size);
    if (!grown) {
      *failed = true;
      return -1;
    }
    list->at = grown;
    list->room = room;
  }
  memcpy(list->at + list->n * size, item, size);
  return (int)list->n++;
}

void xd_program_free(xd_program *p) {
  for (size_t i = 0; i < p->cores.n; i++) free(p->cores.at[i].ops.at);
  for (size_t i = 0; i < p->buffers.n; i++) free(p->buffers.at[i].initial);
  for (size_t i = 0; i < p->fifos.n; i++) free(p->fifos.at[i].initial);
  void *const lists[] = {p->buffers.at, p->locks.at, p->descriptors.at, p->channels.at, p->routes.at, p->steps.at,
                         p->ports.at,   p->cores.at, p->sequence.at,    p->fifos.at,    p->links.at};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
  *p = (xd_program){0};
}

xd_label xd_place_label(xd_place t) {
  static const char *const kind[] = {"shim", "memory", "core"};
  xd_label l;
  snprintf(l.text, sizeof l.text, "%s (%d,%d)", kind[xd_kind_of(t)], t.column, t.row);
  return l;
}

xd_label xd_channel_label(const xd_channel *c) {
  xd_label l, tile = xd_place_label(c->tile);
  snprintf(l.text, sizeof l.text, "%.40s %s %d", tile.text, c->direction == XD_S2MM ? "S2MM" : "MM2S", c->id);
  return l;
}

xd_label xd_core_lane(xd_place t) {
  xd_label l;
  snprintf(l.text, sizeof l.text, "core%d.%d", t.column, t.row);
  return l;
}

xd_label xd_channel_lane(const xd_channel *c) {
  const char *way = c->direction == XD_S2MM ? "in" : "out";
  xd_label l;
  if (xd_kind_of(c->tile) == XD_COMPUTE)
    snprintf(l.text, sizeof l.text, "%.20s %s %d", xd_core_lane(c->tile).text, way, c->id);
  else
    snprintf(l.text, sizeof l.text, "%s%d %s %d", xd_kind_of(c->tile) == XD_SHIM ? "shim" : "mem", c->tile.column, way,
             c->id);
  return l;
}

bool xd_end_pads(const xd_fifo_end *e) {
  for (int d = 0; d < e->n_dims; d++)
    if (e->dim[d].before || e->dim[d].after) return true;
  return false;
}

int64_t xd_pattern_bytes(const xd_pattern *p) {
  int64_t bytes = 1;
  for (int d = 0; d < p->n_dims; d++) bytes *= p->dim[d].before + p->dim[d].size + p->dim[d].after;
  return bytes;
}

void xd_pattern_span(const xd_pattern *p, int64_t *first, int64_t *end) {
  *first = p->offset;
  *end = p->offset + 1;
  for (int d = 0; d < p->n_dims; d++) {
    const int64_t reach = (p->dim[d].size - 1) * p->dim[d].stride;
    *(reach < 0 ? first : end) += reach;
  }
}
