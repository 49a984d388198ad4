/* caches.c - the model of caches.h, line by line in L2, a piece of a panel at a time in the LLC. */
#include "target/cdna/grid/caches.h"

#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "target/cdna/grid/lru.h"

enum { CUS_MAX = 64 };

/* ---- L2s ---- */

enum { PIECES = 4 }; /* a workgroup reads a quarter of its panels at a time */

/* A or B: panels of `rows` rows, K along them. */
typedef struct operand {
  int64_t base, stride; /* bytes: its start, in a row */
  int64_t all;          /* rows */
  int rows;
} operand;

typedef struct launch {
  const cdna_cache_machine *machine;
  operand operand[2];
  int64_t step_bytes; /* bytes of a row in a K-step */
  uint32_t sets;      /* of an L2 */
  uint32_t left_out;  /* a line with one of these bits is in a set that is not simulated */
  int skip;           /* of this number of rows, one has lines in simulated sets; 1: any row may have some */
  uint32_t *tag;      /* [(xcd * sets + set) * ways + age]: line + 1, the newest first; 0: empty */
  cdna_lru llc;
  int64_t asked, l2_missed, llc_missed; /* lines */
} launch;

/* True if the line was present. In any case it is the newest of its set afterwards. Channels and their sets are numbered
 * along memory: the interleaving permutes them, which changes no rate. */
static bool l2_touch(const launch *s, int xcd, uint32_t line) {
  const int ways = s->machine->ways;
  uint32_t *way = s->tag + ((size_t)xcd * s->sets + line % s->sets) * (size_t)ways;
  const uint32_t wanted = line + 1;
  uint32_t newer = wanted;
  for (int at = 0; at < ways; at++) {
    const uint32_t here = way[at];
    way[at] = newer;
    if (here == wanted) return true;
    newer = here;
  }
  return false;
}

static void read_piece(launch *s, int which, int xcd, int panel, int step, int piece) {
  const operand *o = &s->operand[which];
  const int line_bytes = s->machine->line_bytes, line_bits = __builtin_ctz((unsigned)line_bytes);
  const int64_t first = (int64_t)panel * o->rows, left = o->all - first, rows = left < o->rows ? left : o->rows;
  int64_t asked = 0, missed = 0;
  bool has_lines = true;
  for (int64_t row = first + rows * piece / PIECES; row < first + rows * (piece + 1) / PIECES;
       row += has_lines ? s->skip : 1) {
    const int64_t begin = (int64_t)step * s->step_bytes, end = begin + s->step_bytes;
    const int64_t at = o->base + row * o->stride;
    const int64_t last = (at + (end < o->stride ? end : o->stride) - 1) >> line_bits;
    has_lines = false;
    for (int64_t line = (at + begin) >> line_bits; line <= last; line++) {
      if (line & s->left_out) continue;
      has_lines = true;
      asked++;
      missed += !l2_touch(s, xcd, (uint32_t)line);
    }
  }
  s->asked += asked;
  s->l2_missed += missed;
  const uint64_t key = (((uint64_t)panel << 24 | (uint64_t)step) * 2 + (uint64_t)which) * PIECES + (uint64_t)piece;
  if (missed && !cdna_lru_touch(&s->llc, key, (int)asked * line_bytes)) s->llc_missed += missed;
}

/* ---- the grid ---- */

/* Time advances in parts of a K-step; their number is the number of CUs. CU f is f parts later than CU 0. */
static void run_launch(launch *s, const cdna_order *order, int rows, int columns, int steps) {
  const int xcds = s->machine->xcds, cus = s->machine->cus, blocks = rows * columns;
  const int rounds = (blocks + xcds * cus - 1) / (xcds * cus);
  int piece_at[CUS_MAX]; /* the part of its step in which a workgroup reads each piece; -1: none */
  for (int slice = 0; slice < cus; slice++) piece_at[slice] = -1;
  for (int piece = 0; piece < PIECES; piece++) piece_at[piece * cus / PIECES] = piece;
  for (int64_t time = 0; time < (int64_t)(rounds * steps + 1) * cus; time++)
    for (int cu = 0; cu < cus && cu <= time; cu++) {
      const int64_t step = (time - cu) / cus, round = step / steps;
      const int piece = piece_at[(time - cu) % cus];
      for (int xcd = 0; xcd < xcds && piece >= 0 && round < rounds; xcd++) {
        const int64_t id = (round * cus + cu) * xcds + xcd;
        if (id >= blocks) continue;
        const cdna_cell cell = cdna_order_cell(order, rows, columns, xcds, (int)id);
        read_piece(s, 0, xcd, cell.row, (int)(step % steps), piece);
        read_piece(s, 1, xcd, cell.column, (int)(step % steps), piece);
      }
    }
}

static tw_status check(const cdna_cache_machine *m, const cdna_grid *g, const cdna_order *o, tw_error *error) {
  static const int64_t most = 1 << 24;
  if (g->m < 1 || g->n < 1 || g->k < 1 || g->m > most || g->n > most || g->k > most || g->tile_m < 1 || g->tile_n < 1 ||
      g->tile_k < 1)
    return tw_fail(error, TW_USAGE, "expected sizes from 1 to %lld and tiles of at least 1", (long long)most);
  if ((g->m + g->tile_m - 1) / g->tile_m * ((g->n + g->tile_n - 1) / g->tile_n) > 1 << 18)
    return tw_fail(error, TW_USAGE, "the grid has more than 2^18 workgroups; choose larger tiles");
  if ((o->window == 0) != (o->chunk == 0) || o->window < 0 || o->chunk < 0 || o->chunk > 1 << 18)
    return tw_fail(error, TW_USAGE, "window and chunk must both be at least 1, or both 0 for row by row");
  if (g->k * g->bits % 8 || (int64_t)g->tile_k * g->bits % 8)
    return tw_fail(error, TW_USAGE, "rows of k=%lld elements of %d bits, and K-steps of %d, must be whole bytes",
                   (long long)g->k, g->bits, g->tile_k);
  if ((g->m + g->n) * (g->k * g->bits / 8) / m->line_bytes >= UINT32_MAX)
    return tw_fail(error, TW_USAGE, "A and B together are limited to %lld GiB",
                   (long long)UINT32_MAX * m->line_bytes >> 30);
  return m->cus <= CUS_MAX ? TW_OK : tw_fail(error, TW_USAGE, "an XCD has at most %d CUs", CUS_MAX);
}

/* The number of different panels that an XCD's CUs read in a K-step is least when their tiles form a square. */
static int enough_steps(const cdna_cache_machine *m, const cdna_grid *g) {
  const double rows = 2 * sqrt((double)m->cus * g->tile_m * g->tile_n), bytes = rows * g->tile_k * g->bits / 8;
  return (int)(2.5 * (double)m->l2_bytes / bytes) + 1;
}

/* Chooses the sets to simulate: one of `every`, or of a smaller power of two if there are too few sets or rows. Returns
 * that number. Rows are a multiple of `group` sets apart, so whole groups are simulated or left out: a piece of a panel
 * then has as many simulated lines in each K-step, at least one because it has `every` rows. */
static int sample_sets(launch *s, int every) {
  const int line_bytes = s->machine->line_bytes;
  const int64_t stride = s->operand[0].stride;
  if (s->sets & (s->sets - 1)) return 1;
  uint32_t group = s->sets; /* the greatest power of two that divides the distance of rows in lines */
  while (group > 1 && stride % ((int64_t)group * line_bytes)) group /= 2;
  while (every > 1 && group * (uint32_t)every > s->sets) every /= 2;
  for (int i = 0; i < 2; i++)
    while (every > 1 && every * PIECES > s->operand[i].rows) every /= 2;
  s->left_out = group * (uint32_t)(every - 1);
  const bool is_whole = stride % line_bytes == 0 && s->step_bytes % line_bytes == 0;
  s->skip = is_whole && group % (uint32_t)(s->step_bytes / line_bytes) == 0 ? every : 1;
  return every;
}

tw_status cdna_grid_hits(const cdna_cache_machine *m, const cdna_grid *g, const cdna_order *o, int steps, int every,
                         cdna_hits *out, tw_error *error) {
  const tw_status status = check(m, g, o, error);
  if (status != TW_OK) return status;
  const int all = (int)((g->k + g->tile_k - 1) / g->tile_k);
  if (steps == 0) steps = enough_steps(m, g);
  if (steps < 0 || steps > all) steps = all;
  const int64_t stride = g->k * g->bits / 8, page = 4096, a_end = (g->m * stride + page - 1) / page * page;
  launch s = {.machine = m,
              .operand = {{0, stride, g->m, g->tile_m}, {a_end, stride, g->n, g->tile_n}},
              .step_bytes = (int64_t)g->tile_k * g->bits / 8,
              .sets = (uint32_t)(m->l2_bytes / m->line_bytes / m->ways)};
  every = sample_sets(&s, every);
  s.tag = tw_new((size_t)(m->l2_bytes / m->line_bytes) * (size_t)m->xcds, sizeof *s.tag);
  const bool has_room = s.tag && cdna_lru_open(&s.llc, m->llc_bytes * steps / all / every, m->line_bytes);
  for (int i = 0; i < 2 && has_room; i++) {
    s.asked = s.l2_missed = s.llc_missed = 0;
    run_launch(&s, o, cdna_grid_rows(g), cdna_grid_columns(g), steps);
  }
  free(s.tag);
  cdna_lru_close(&s.llc);
  if (!has_room) return tw_fail(error, TW_NO_MEMORY, "no memory for the caches");
  const double whole = (double)m->line_bytes * all / steps * every;
  *out = (cdna_hits){.l2 = 1 - (double)s.l2_missed / (double)s.asked,
                     .llc = s.l2_missed ? 1 - (double)s.llc_missed / (double)s.l2_missed : 1,
                     .llc_bytes = (double)s.l2_missed * whole,
                     .memory_bytes = (double)s.llc_missed * whole};
  out->bandwidth_tbs = out->l2 * m->l2_tbs + out->llc * m->llc_tbs;
  return TW_OK;
}
