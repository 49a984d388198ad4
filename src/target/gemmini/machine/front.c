/* front.c - the queues between the core's RoCC port and the reservation station (Controller.scala:237-269):
 * router, raw_cmd, LoopConv's, LoopMatmul's, unrolled_cmd; two entries each, one command a cycle through each.
 * A queue accepts by its length at the start of the cycle, so a full chain moves one gap a cycle. */
#include "target/gemmini/machine/internal.h"

static bool is_plain(const gm_command *c) {
  return c->funct <= GM_FLUSH || c->funct == GM_MVIN3;
}

static bool known(gm_machine *m, const gm_command *c) {
  switch (c->funct) {
  case GM_CONFIG: case GM_MVIN: case GM_MVIN2: case GM_MVIN3: case GM_MVOUT:
  case GM_PRELOAD: case GM_COMPUTE_PRELOADED: case GM_COMPUTE_ACCUMULATED: case GM_FLUSH:
  case GM_LOOP_WS: case GM_LOOP_WS_BOUNDS: case GM_LOOP_WS_ADDRS_AB: case GM_LOOP_WS_ADDRS_DC:
  case GM_LOOP_WS_STRIDES_AB: case GM_LOOP_WS_STRIDES_DC:
    return true;
  }
  const char *what = c->funct >= GM_LOOP_CONV && c->funct <= GM_LOOP_CONV_CONFIG_6 ? "the hardware convolution loop (loop_conv)"
                     : c->funct == GM_MVOUT_SPAD ? "mvout_spad" : c->funct == GM_COUNTER ? "the performance counters" : "this command";
  snprintf(m->why, sizeof m->why, "Gemmini command %d: %s is not modelled; use mvin, preload, compute, mvout, config, fence or loop_ws",
           c->funct, what);
  return false;
}

static void push(gm_machine *m, int queue, const gm_command *c, bool from_loop) {
  int n = m->front[queue].count++;
  m->front_count++;
  m->front[queue].command[n] = *c;
  m->front[queue].from_loop[n] = from_loop;
}

static void drop(gm_machine *m, int queue) {
  m->front[queue].command[0] = m->front[queue].command[1];
  m->front[queue].from_loop[0] = m->front[queue].from_loop[1];
  m->front[queue].count--;
  m->front_count--;
}

void gm_front_step(gm_machine *m) {
  if (!m->front_count && !gm_loop_ws_busy(&m->loop)) return;
  int last = GM_FRONT - 1, before[GM_FRONT];
  bool taken = m->front[last].count & 0x100;
  m->front[last].count &= 0xff;
  for (int i = 0; i < GM_FRONT; i++) before[i] = m->front[i].count;
  if (taken) drop(m, last);
  /* LoopMatmul sits between its own queue and the last one. */
  if (before[last - 1] || gm_loop_ws_busy(&m->loop)) {
    gm_command out;
    bool take = false, from_loop = false;
    int *done = m->rs.loop_completed;
    const gm_command *in = before[last - 1] ? &m->front[last - 1].command[0] : NULL;
    if (!gm_loop_ws_busy(&m->loop) && is_plain(in)) { /* passes the loop unit by */
      if (before[last] < 2) {
        push(m, last, in, false);
        drop(m, last - 1);
      }
    } else if (in && !known(m, in)) {
      return;
    } else {
      char why[256]; /* its own: the loop empties it, and another unit may have failed in this cycle */
      if (gm_loop_ws_step(&m->loop, in, &take, before[last] < 2, done[GM_LD], done[GM_EX], done[GM_ST], &out, &from_loop, why))
        push(m, last, &out, from_loop);
      if (why[0] && !m->why[0]) memcpy(m->why, why, sizeof why);
    }
    if (take) drop(m, last - 1);
    done[GM_LD] = done[GM_EX] = done[GM_ST] = 0;
  }
  for (int i = last - 2; i >= 0; i--)
    if (before[i] && before[i + 1] < 2) {
      push(m, i + 1, &m->front[i].command[0], false);
      drop(m, i);
    }
}
