/* front.c - the queues between the core's RoCC port and the reservation station (Controller.scala:237-269):
 * router, raw_cmd, LoopConv's, LoopMatmul's, unrolled_cmd; two entries each, one command a cycle through each.
 * A queue accepts by its length at the start of the cycle, so a full chain moves one gap a cycle. */
#include "target/gemmini/machine/internal.h"

static bool is_plain(const gm_command *c) { return c->funct <= GM_FLUSH || c->funct == GM_MVIN3; }

static bool known(gm_machine *m, const gm_command *c) {
  switch (c->funct) {
  case GM_CONFIG:
  case GM_MVIN:
  case GM_MVIN2:
  case GM_MVIN3:
  case GM_MVOUT:
  case GM_PRELOAD:
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED:
  case GM_FLUSH:
  case GM_LOOP_WS:
  case GM_LOOP_WS_BOUNDS:
  case GM_LOOP_WS_ADDRS_AB:
  case GM_LOOP_WS_ADDRS_DC:
  case GM_LOOP_WS_STRIDES_AB:
  case GM_LOOP_WS_STRIDES_DC:
  case GM_LOOP_CONV:
  case GM_LOOP_CONV_CONFIG_1:
  case GM_LOOP_CONV_CONFIG_2:
  case GM_LOOP_CONV_CONFIG_3:
  case GM_LOOP_CONV_CONFIG_4:
  case GM_LOOP_CONV_CONFIG_5:
  case GM_LOOP_CONV_CONFIG_6: return true;
  }
  const char *what = c->funct == GM_MVOUT_SPAD ? "mvout_spad"
                     : c->funct == GM_COUNTER  ? "the performance counters"
                                               : "this command";
  snprintf(
      m->why, sizeof m->why,
      "Gemmini command %d: %s is not modelled; use mvin, preload, compute, mvout, config, fence, loop_ws or loop_conv",
      c->funct, what);
  return false;
}

static void push(gm_machine *m, int queue, int slot) { m->front[queue].slot[m->front[queue].count++] = (uint8_t)slot; }

static int pop(gm_machine *m, int queue) {
  int slot = m->front[queue].slot[0];
  m->front[queue].slot[0] = m->front[queue].slot[1];
  m->front[queue].count--;
  return slot;
}

static int place(gm_machine *m, const gm_command *c, enum gm_origin origin) {
  int slot = __builtin_ctz(m->front_free);
  m->front_free &= m->front_free - 1;
  m->front_command[slot] = *c;
  m->front_origin[slot] = (uint8_t)origin;
  m->front_count++;
  return slot;
}

static void release(gm_machine *m, int slot) {
  m->front_free |= 1u << slot;
  m->front_count--;
}

void gm_front_push(gm_machine *m, const gm_command *c) {
  m->front_loops += !is_plain(c);
  push(m, 0, place(m, c, GM_BY_CORE));
}

/* One edge of the loop unit of this origin. */
static bool step_loop(gm_machine *m, enum gm_origin loop, const gm_command *in, bool *take, bool room, gm_command *out,
                      bool *from_loop) {
  char why[256]; /* its own: the loop empties it, and another unit may have failed in this cycle */
  int *done = m->rs.loop_completed[loop];
  bool sent =
      loop == GM_BY_LOOP_WS
          ? gm_loop_ws_step(&m->loop, in, take, room, done[GM_LD], done[GM_EX], done[GM_ST], out, from_loop, why)
          : gm_loop_conv_step(&m->conv, in, take, room, done[GM_LD], done[GM_EX], done[GM_ST], out, from_loop, why);
  if (why[0] && !m->why[0]) memcpy(m->why, why, sizeof why);
  done[GM_LD] = done[GM_EX] = done[GM_ST] = 0;
  return sent;
}

/* A loop unit sits between `queue`, its own, and the next: its commands stay, others pass by while it is idle. */
static void pass_loop(gm_machine *m, enum gm_origin loop, int queue, const int before[GM_FRONT]) {
  bool busy = loop == GM_BY_LOOP_WS ? gm_loop_ws_busy(&m->loop) : gm_loop_conv_busy(&m->conv);
  const gm_command *in = before[queue] ? &m->front_command[m->front[queue].slot[0]] : NULL;
  bool room = before[queue + 1] < 2, own = in && (loop == GM_BY_LOOP_WS ? !is_plain(in) : gm_is_loop_conv(in->funct));
  if (!in && !busy) return;
  if (!busy && !own) {
    if (room) push(m, queue + 1, pop(m, queue));
    return;
  }
  if (in && !known(m, in)) return;
  gm_command out;
  bool take = false, from_loop = false;
  if (step_loop(m, loop, in, &take, room, &out, &from_loop))
    push(m, queue + 1, place(m, &out, from_loop ? loop : GM_BY_CORE));
  if (!take) return;
  int slot = pop(m, queue);
  if (own) m->front_loops--;
  release(m, slot);
}

void gm_front_step(gm_machine *m) {
  const int last = GM_FRONT - 1;
  int before[GM_FRONT];
  bool taken = m->front_taken, moved = taken, loops = m->front_loops || gm_loops_busy(m);
  m->front_taken = false;
  for (int i = 0; i < GM_FRONT; i++) before[i] = m->front[i].count;
  if (taken) release(m, pop(m, last));
  if (loops) {
    pass_loop(m, GM_BY_LOOP_WS, last - 1, before);
    pass_loop(m, GM_BY_LOOP_CONV, last - 2, before);
  }
  for (int i = loops ? last - 3 : last - 1; i >= 0; i--)
    if (before[i] && before[i + 1] < 2) {
      push(m, i + 1, pop(m, i));
      moved = true;
    }
  if (m->front[last].count && (taken || !before[last])) gm_wake(m, GM_UNIT_STATION, m->now + 1); /* a new head */
  if (moved || loops) gm_wake(m, GM_UNIT_FRONT, m->now + 1);
}
