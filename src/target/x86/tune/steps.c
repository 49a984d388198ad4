/* steps.c - the menu: what may come next after a schedule. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/x86/bench.h"
#include "target/x86/choose.h"
#include "target/x86/cpu.h"
#include "target/x86/tune/tuning.h"

typedef struct list {
  tw_menu menu;
  size_t room;
  bool failed;
  const tw_gemm_spec *spec;
  const x86_tuning *now;
  bool on_codes; /* tiles work on codes */
} list;

static bool same(const x86_tuning *x, const x86_tuning *y) {
  const x86_schedule *p = &x->kernel, *q = &y->kernel;
  const x86_blocks *a = &x->blocks, *b = &y->blocks;
  return p->isa == q->isa && p->rows == q->rows && p->vectors == q->vectors && p->unroll == q->unroll &&
         p->prefetch == q->prefetch && p->chains == q->chains && a->ahead == b->ahead && a->mc == b->mc &&
         a->nc == b->nc && a->kc == b->kc && a->rho == b->rho && a->a == b->a && a->panels == b->panels &&
         a->threads_m == b->threads_m && a->threads_n == b->threads_n;
}

/* Adds the step that makes `next` of what is now, unless that is illegal or nothing new. */
static void add(list *l, const x86_tuning *next, const char *lever, const char *why, const char *step, ...)
    __attribute__((format(printf, 5, 6)));

static void add(list *l, const x86_tuning *next, const char *lever, const char *why, const char *step, ...) {
  va_list arguments;
  if (same(next, l->now) || x86_tuning_check(l->spec, next, NULL) != TW_OK) return;
  if (l->menu.n == l->room) {
    const size_t room = l->room ? 2 * l->room : 64;
    tw_menu_item *larger = tw_resize(l->menu.item, room, sizeof *larger);
    if (!larger) {
      l->failed = true;
      return;
    }
    l->menu.item = larger;
    l->room = room;
  }
  tw_menu_item *item = &l->menu.item[l->menu.n++];
  *item = (tw_menu_item){.predicted_cost = x86_model_seconds(l->spec, next)};
  snprintf(item->lever, sizeof item->lever, "%s", lever);
  va_start(arguments, step);
  vsnprintf(item->step, sizeof item->step, step, arguments);
  va_end(arguments);
  snprintf(item->why, sizeof item->why, "%s", why);
}

static void add_sets(list *l) {
  for (int i = 0; i < X86_ISAS; i++) {
    x86_tuning t = *l->now;
    t.kernel.isa = (x86_isa)i;
    t.kernel.arithmetic = x86_arithmetic_of(l->spec, t.kernel.isa);
    x86_settle_tile(l->spec, &t);
    if (t.kernel.arithmetic == l->now->kernel.arithmetic &&
        x86_isa_lanes(t.kernel.isa) == x86_isa_lanes(l->now->kernel.isa))
      continue; /* the same words */
    add(l, &t, "instruction set", "wider vectors, or more elements in one multiply-add", "isa %s",
        x86_isa_name(t.kernel.isa));
  }
}

static void add_tiles(list *l) {
  const int registers = x86_isa_registers(l->now->kernel.isa);
  for (int vectors = 1; vectors <= 4; vectors++)
    for (int rows = 1; rows <= X86_TILE_ROWS_MAX; rows++) {
      x86_tuning t = *l->now;
      if (4 * rows * vectors < registers && !l->on_codes) continue; /* too few sums to hide the latency of one */
      if (l->on_codes && (rows > x86_coded_rows(&(x86_schedule){.isa = l->now->kernel.isa,
                                                                .arithmetic = l->now->kernel.arithmetic,
                                                                .rows = X86_TILE_ROWS_MAX,
                                                                .vectors = vectors}) ||
                          rows > l->spec->m))
        continue;
      t.tiled = true;
      t.kernel.rows = rows;
      t.kernel.vectors = vectors;
      add(l, &t, "register tile", "more multiply-adds for each load, as long as the sums fit the registers",
          "tile rows=%d vectors=%d", rows, vectors);
    }
}

static void add_kernel_options(list *l) {
  static const int unrolls[] = {1, 2, 4, 8}, distances[] = {0, 128, 256, 512, 1024, 2048};
  for (size_t i = 0; i < sizeof unrolls / sizeof *unrolls; i++) {
    x86_tuning t = *l->now;
    t.kernel.unroll = unrolls[i];
    add(l, &t, "unroll", "the instructions of the loop itself are shared by more steps of k", "unroll k=%d",
        unrolls[i]);
  }
  for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
    x86_tuning t = *l->now;
    t.kernel.prefetch = distances[i];
    add(l, &t, "prefetch", "packed A is in L1 when it is needed", "prefetch bytes=%d", distances[i]);
  }
}

static void add_panels(list *l) {
  for (int n = 1; n <= 2; n++) {
    x86_tuning t = *l->now;
    t.blocks.panels = n;
    add(l, &t, "panels", "lower tiles on two panels at once: rows of A in place find room in one set of L1",
        "panels n=%d", n);
  }
}

static void add_code_options(list *l) {
  for (int n = 1; n <= 8; n *= 2) {
    x86_tuning t = *l->now;
    t.kernel.chains = n;
    add(l, &t, "chains", "parts of a sum do not wait for one another, and are added at the end of a group",
        "chains n=%d", n);
  }
}

static void add_distances(list *l) {
  for (int bytes = 1024; bytes <= 1 << 15; bytes *= 2) {
    x86_tuning t = *l->now;
    t.blocks.ahead = bytes;
    if (l->spec->m <= l->now->kernel.rows)
      add(l, &t, "distance", "weights from memory are in L1 when they are needed", "ahead bytes=%d", bytes);
  }
}

/* Sizes in steps of 1.5 and 1.33, up to the whole. */
static int64_t next_size(int64_t size) { return (size & (size - 1)) == 0 ? size / 2 * 3 : size / 3 * 4; }

static void add_blocks(list *l) {
  const tw_gemm_spec *s = l->spec;
  const int group = x86_group(l->now->kernel.arithmetic), rows = l->now->kernel.rows;
  for (int64_t k = 64 * group; k < 2 * s->k && k <= 4096 * group; k = next_size(k)) {
    x86_tuning t = *l->now;
    t.blocks.kc = k < s->k ? k : s->k;
    add(l, &t, "block of k", "longer blocks touch C less often, shorter ones keep their strip of A in L1",
        "block k=%" PRId64, t.blocks.kc);
  }
  for (int64_t m = 4 * rows; m < s->m; m *= 2) {
    x86_tuning t = *l->now;
    t.blocks.mc = m;
    add(l, &t, "block of m", "the block of A stays in L2", "block m=%" PRId64, m);
  }
  for (int64_t n = 256; n < s->n; n *= 2) {
    x86_tuning t = *l->now;
    t.blocks.nc = n;
    add(l, &t, "block of n", "the block of C stays in the cache while k goes on", "block n=%" PRId64, n);
  }
  for (int rho = 1; rho <= 8; rho *= 2) {
    x86_tuning t = *l->now;
    t.blocks.rho = rho;
    if (s->m >= rho * rows)
      add(l, &t, "asymmetric buffering", "a lower buffer of A leaves more of L2 to B and C", "atb rho=%d", rho);
  }
}

static void add_partition(list *l) {
  static const char *const names[] = {"", "in_place", "packed"};
  for (int a = X86_READ_A_IN_PLACE; a <= X86_PACK_A; a++) {
    x86_tuning t = *l->now;
    t.blocks.a = (x86_a_choice)a;
    add(l, &t, "packing of A", "packed rows are read in order; rows in place cost no copy", "a %s", names[a]);
  }
  const int threads = l->spec->threads ? l->spec->threads : x86_this_cpu()->cores;
  for (int m = 1; m <= threads; m++) {
    x86_tuning t = *l->now;
    t.blocks.threads_m = m;
    t.blocks.threads_n = threads / m;
    if (threads % m == 0 && threads > 1)
      add(l, &t, "threads", "how C is dealt to threads: by rows each reads all of B, by columns all of A",
          "threads m=%d n=%d", m, threads / m);
  }
}

tw_status x86_steps(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                    tw_error *error) {
  x86_tuning now;
  const tw_gemm_spec s = x86_spec_of(p);
  (void)target;
  const tw_status status = x86_tuning_of(p, schedule, &now, error);
  if (status != TW_OK) return status;
  list l = {.spec = &s, .now = &now, .on_codes = x86_runs_on_codes(&s, x86_coded_rows(&now.kernel))};
  add_sets(&l);
  add_tiles(&l);
  if (l.on_codes)
    add_code_options(&l);
  else
    add_kernel_options(&l), add_panels(&l);
  add_distances(&l);
  add_blocks(&l);
  add_partition(&l);
  if (l.failed) {
    tw_menu_free(&l.menu);
    return tw_fail(error, TW_MISSING, "out of memory");
  }
  *out = l.menu;
  return TW_OK;
}
