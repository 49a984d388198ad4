/* front.c - the queues between the core's RoCC port and the reservation station (Controller.scala:237-269): router,
 * raw_cmd, LoopConv's, LoopMatmul's, unrolled_cmd; two entries each, one command a cycle through each. A queue accepts
 * by its length at the start of the cycle, so a full chain moves one gap a cycle.
 *
 * Without a hardware loop, commands only pass, and their times are computed without stepping. Command k moves from
 * queue i-1 to queue i in the first cycle in which it has arrived, command k-1 has left, and k-2 has left queue i:
 *     there(k, i) = max(there(k, i-1), there(k-1, i), there(k-2, i+1)) + 1.
 * At either end at most one command passes per cycle. So the time is the maximum of two chains: one cycle for each
 * queue from the command's own arrival, or from the departure of the command that makes room for it. With loops the
 * queues are stepped cycle by cycle. */
#include "target/gemmini/machine/internal.h"

static bool is_plain(const gm_command *c) {
  return c->funct <= GM_FLUSH || c->funct == GM_MVIN3 || c->funct == GM_COUNTER;
}

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
  case GM_COUNTER: return true;
  case GM_LOOP_WS:
  case GM_LOOP_WS_BOUNDS:
  case GM_LOOP_WS_ADDRS_AB:
  case GM_LOOP_WS_ADDRS_DC:
  case GM_LOOP_WS_STRIDES_AB:
  case GM_LOOP_WS_STRIDES_DC:
    if (m->config.has_loop_matmul) return true;
    snprintf(m->why, sizeof m->why, "Gemmini command %d: loop_ws is not in this machine (has_loop_matmul = 0)",
             c->funct);
    return false;
  case GM_LOOP_CONV:
  case GM_LOOP_CONV_CONFIG_1:
  case GM_LOOP_CONV_CONFIG_2:
  case GM_LOOP_CONV_CONFIG_3:
  case GM_LOOP_CONV_CONFIG_4:
  case GM_LOOP_CONV_CONFIG_5:
  case GM_LOOP_CONV_CONFIG_6:
    if (m->config.has_loop_conv) return true;
    snprintf(m->why, sizeof m->why, "Gemmini command %d: loop_conv is not in this machine (has_loop_conv = 0)",
             c->funct);
    return false;
  }
  const char *what = c->funct == GM_MVOUT_SPAD ? "mvout_spad" : "this command";
  snprintf(
      m->why, sizeof m->why,
      "Gemmini command %d: %s is not modelled; use mvin, preload, compute, mvout, config, fence, loop_ws or loop_conv",
      c->funct, what);
  return false;
}

void gm_front_init(gm_machine *m) {
  m->front.free = (1u << GM_FRONT_SLOTS) - 1;
  m->front.head_from = GM_NEVER;
}

/* The storer decides GM_STORE_AHEAD cycles ahead which rows of the accumulator it can read. A load that adds to the
 * accumulator could conflict. Such a load does so at the earliest five cycles from here (station, load queue,
 * controller, zero writer, write). From here on the storer checks in each cycle. */
static int allocate_slot(gm_machine *m, const gm_command *c, enum gm_origin origin) {
  gm_front *f = &m->front;
  const bool loads = c->funct == GM_MVIN || c->funct == GM_MVIN2 || c->funct == GM_MVIN3;
  if (loads && gm_is_acc(gm_local(c->rs2)) && gm_accumulates(gm_local(c->rs2))) m->loads_accumulate = true;
  int slot = __builtin_ctz(f->free);
  f->free &= f->free - 1;
  f->slot[slot].command = *c;
  f->slot[slot].origin = (uint8_t)origin;
  f->slot[slot].station_queue = (uint8_t)gm_station_queue(c);
  f->count++;
  return slot;
}

static void release(gm_front *f, int slot) {
  f->free |= 1u << slot;
  f->count--;
}

/* ---- by times ---- */

/* The first cycle in which the queue shows command k, if that is known: command k - 2 * (GM_FRONT - queue), which
 * makes the room for it, must have left. */
static uint64_t there(const gm_front *f, uint32_t k, unsigned queue) {
  const unsigned behind = GM_FRONT - queue;
  return later(f->came[k % GM_FRONT_SLOTS] + queue, f->left[(k - 2 * behind) % GM_FRONT_SLOTS] + behind);
}

static void look_at_ends(gm_front *f) {
  const uint32_t oldest = f->oldest, next = f->next;
  f->head = f->slot_of[oldest % GM_FRONT_SLOTS];
  f->head_from = oldest == next ? GM_NEVER : there(f, oldest, GM_FRONT - 1);
  f->room = next - oldest == 2 * GM_FRONT ? GM_NEVER : there(f, next - 2, 1);
}

/* The command is in a slot, and queue `queue` shows it in `cycle`: as if it had arrived at the first queue this many
 * cycles earlier, but after the previous command. */
static void begin_way(gm_front *f, int slot, unsigned queue, uint64_t cycle) {
  const uint32_t k = f->next++;
  f->slot_of[k % GM_FRONT_SLOTS] = (uint8_t)slot;
  f->came[k % GM_FRONT_SLOTS] = later(cycle - queue, f->came[(k - 1) % GM_FRONT_SLOTS] + 1);
}

/* ---- step by step ---- */

static void push(gm_front *f, int queue, int slot) {
  f->queue[queue].slot[f->queue[queue].count++] = (uint8_t)slot;
  f->moved |= 1u << queue;
}

static int pop(gm_front *f, int queue) {
  int slot = f->queue[queue].slot[0];
  f->queue[queue].slot[0] = f->queue[queue].slot[1];
  f->queue[queue].count--;
  f->moved |= 1u << queue;
  return slot;
}

/* Reconstructs the queues at the start of this cycle. */
static void start_stepping(gm_machine *m) {
  gm_front *f = &m->front;
  f->stepped = true;
  for (uint32_t k = f->oldest; k != f->next; k++) {
    const unsigned known = GM_FRONT - 1 - (k - f->oldest) / 2; /* the last queue for which the content is known */
    unsigned queue = 0;
    while (queue < known && there(f, k, queue + 1) <= m->now) queue++;
    push(f, (int)queue, f->slot_of[k % GM_FRONT_SLOTS]);
  }
  f->oldest = f->next;
}

/* Computes the commands' ways from the queues as they will be at the start of the next cycle. */
static void stop_stepping(gm_machine *m) {
  gm_front *f = &m->front;
  const uint64_t next = m->now + 1;
  f->stepped = false;
  memset(f->came, 0, sizeof f->came); /* all earlier commands have left */
  memset(f->left, 0, sizeof f->left);
  for (int queue = GM_FRONT - 1; queue >= 0; queue--)
    while (f->queue[queue].count) begin_way(f, pop(f, queue), (unsigned)queue, next);
  look_at_ends(f);
  gm_wake(m, GM_UNIT_STATION, f->head_from);
}

/* Records both ends of the queues at the start of the next step. */
static void look_at_queues(gm_front *f) {
  f->head = f->queue[GM_FRONT - 1].slot[0];
  f->head_from = f->queue[GM_FRONT - 1].count ? 0 : GM_NEVER;
  f->room = f->queue[0].count < 2 ? 0 : GM_NEVER;
}

static void take_stepped(gm_machine *m) {
  gm_front *f = &m->front;
  if (m->wake[GM_UNIT_FRONT] <= m->now) {
    f->taken = true; /* gm_front_step removes it */
    f->head_from = GM_NEVER;
    return;
  }
  /* Nothing else happens in the queues in this cycle. Nothing happens in the next one either, if the loop that fills
   * this queue has no command for it. */
  release(f, pop(f, GM_FRONT - 1));
  look_at_queues(f);
  if (!gm_loop_ws_busy(&m->loop) || !gm_loop_ws_waiting(&m->loop, true)) gm_wake(m, GM_UNIT_FRONT, m->now + 1);
}

void gm_front_take(gm_machine *m) {
  gm_front *f = &m->front;
  if (f->stepped) {
    take_stepped(m);
    return;
  }
  f->left[f->oldest++ % GM_FRONT_SLOTS] = m->now + 1;
  release(f, f->head);
  look_at_ends(f);
}

void gm_front_push(gm_machine *m, const gm_command *c) {
  gm_front *f = &m->front;
  const bool plain = is_plain(c);
  if (!plain && !f->stepped) start_stepping(m);
  f->loops += !plain;
  const int slot = allocate_slot(m, c, GM_BY_CORE);
  if (f->stepped) {
    push(f, 0, slot);
    look_at_queues(f);
    gm_wake(m, GM_UNIT_FRONT, m->now);
  } else {
    begin_way(f, slot, 0, m->now);
    look_at_ends(f);
    if (f->next - f->oldest == 1) gm_wake(m, GM_UNIT_STATION, f->head_from);
  }
}

/* One edge of the loop unit of this origin. */
static bool step_loop(gm_machine *m, enum gm_origin loop, const gm_command *in, bool *take, bool room, gm_command *out,
                      bool *from_loop) {
  char why[256]; /* a separate buffer, because the loop clears it and another unit may have failed in this cycle */
  int *done = m->rs.loop_completed[loop];
  bool sent =
      loop == GM_BY_LOOP_WS
          ? gm_loop_ws_step(&m->loop, in, take, room, done[GM_LD], done[GM_EX], done[GM_ST], out, from_loop, why)
          : gm_loop_conv_step(&m->conv, in, take, room, done[GM_LD], done[GM_EX], done[GM_ST], out, from_loop, why);
  if (why[0] && !m->why[0]) memcpy(m->why, why, sizeof why);
  done[GM_LD] = done[GM_EX] = done[GM_ST] = 0;
  return sent;
}

/* A loop unit sits between its own queue, `queue`, and the next one. Its commands stay; other commands pass while it
 * is idle. */
static void pass_loop(gm_machine *m, enum gm_origin loop, int queue, const int before[GM_FRONT]) {
  gm_front *f = &m->front;
  bool busy = loop == GM_BY_LOOP_WS ? gm_loop_ws_busy(&m->loop) : gm_loop_conv_busy(&m->conv);
  const gm_command *in = before[queue] ? &f->slot[f->queue[queue].slot[0]].command : NULL;
  bool room = before[queue + 1] < 2, own = in && (loop == GM_BY_LOOP_WS ? !is_plain(in) : gm_is_loop_conv(in->funct));
  if (!in && !busy) return;
  if (!busy && !own) {
    if (room) push(f, queue + 1, pop(f, queue));
    return;
  }
  if (in && !known(m, in)) return;
  gm_command out;
  bool take = false, from_loop = false;
  if (step_loop(m, loop, in, &take, room, &out, &from_loop))
    push(f, queue + 1, allocate_slot(m, &out, from_loop ? loop : GM_BY_CORE));
  if (!take) return;
  int slot = pop(f, queue);
  if (own) f->loops--;
  release(f, slot);
}

void gm_front_completed(gm_machine *m, enum gm_origin loop, int queue) {
  static const uint8_t kind[GM_QUEUES] = {
      [GM_LD] = GM_LOOP_LOADS, [GM_EX] = GM_LOOP_EXECUTES, [GM_ST] = GM_LOOP_STORES};
  const bool room = m->front.queue[loop == GM_BY_LOOP_WS ? GM_FRONT - 1 : GM_FRONT - 2].count < 2;
  if (loop == GM_BY_LOOP_WS && m->wake[GM_UNIT_FRONT] > m->now && gm_loop_ws_busy(&m->loop)) {
    gm_loop_ws_complete(&m->loop, kind[queue]);
    if (room) gm_wake(m, GM_UNIT_FRONT, m->now + 1);
    return;
  }
  m->rs.loop_completed[loop][queue]++;
  if (room) gm_wake(m, GM_UNIT_FRONT, m->now);
}

/* Would another step change nothing? Only the matrix loop sees a change of the last queue. */
static bool waits(const gm_machine *m) {
  const gm_front *f = &m->front;
  const bool loop = gm_loop_ws_busy(&m->loop), room = f->queue[GM_FRONT - 1].count < 2;
  const uint32_t moved = f->moved & ((1u << (GM_FRONT - !!loop)) - 1);
  return !moved && (!loop || gm_loop_ws_waiting(&m->loop, room)) &&
         (!gm_loop_conv_busy(&m->conv) || gm_loop_conv_waiting(&m->conv));
}

void gm_front_step(gm_machine *m) {
  gm_front *f = &m->front;
  if (!f->stepped) return;
  const int last = GM_FRONT - 1;
  int before[GM_FRONT];
  bool taken = f->taken;
  f->taken = false;
  f->moved = 0;
  for (int i = 0; i < GM_FRONT; i++) before[i] = f->queue[i].count;
  if (taken) release(f, pop(f, last));
  pass_loop(m, GM_BY_LOOP_WS, last - 1, before);
  pass_loop(m, GM_BY_LOOP_CONV, last - 2, before);
  for (int i = last - 3; i >= 0; i--)
    if (before[i] && before[i + 1] < 2) push(f, i + 1, pop(f, i));
  if (f->queue[last].count && (taken || !before[last])) gm_wake(m, GM_UNIT_STATION, m->now + 1); /* a new head */
  look_at_queues(f);
  if (!f->loops && !gm_loops_busy(m))
    stop_stepping(m);
  else if (!waits(m)) /* a command arrives, is taken or completes */
    gm_wake(m, GM_UNIT_FRONT, m->now + 1);
}
