/* steps.c - the menu: the possible next steps of a schedule. */
#include <inttypes.h>

#include "target/x86/bench.h"
#include "target/x86/choose.h"
#include "target/x86/cpu.h"
#include "target/x86/tune/tuning.h"

typedef struct menu {
  tw_menu_builder base;
  const tw_gemm_spec *spec;
  const x86_variant *kernel; /* unchanged */
  bool on_codes;             /* tiles work on codes */
} menu;

static double judge(const void *spec, const void *tuning) {
  return x86_tuning_check(spec, tuning, NULL) == TW_OK ? x86_model_seconds(spec, tuning) : 0;
}

static void offer_sets(menu *m) {
  for (int i = 0; i < X86_ISAS; i++) {
    const x86_isa isa = (x86_isa)i;
    if (x86_arithmetic_of(m->spec, isa) == m->kernel->arithmetic && x86_isa_lanes(isa) == x86_isa_lanes(m->kernel->isa))
      continue; /* the same words */
    tw_menu_offer(&m->base, "instruction set", "wider vectors, or more elements in each multiply-add", "isa %s",
                  x86_isa_name(isa));
  }
}

static void offer_tiles(menu *m) {
  const int registers = x86_isa_registers(m->kernel->isa);
  for (int vectors = 1; vectors <= 4; vectors++)
    for (int rows = 1; rows <= X86_TILE_ROWS_MAX; rows++) {
      /* too few sums to hide the latency of a multiply-add */
      if (4 * rows * vectors < registers && !m->on_codes) continue;
      if (m->on_codes && (rows > x86_coded_rows(&(x86_variant){.isa = m->kernel->isa,
                                                               .arithmetic = m->kernel->arithmetic,
                                                               .rows = X86_TILE_ROWS_MAX,
                                                               .vectors = vectors}) ||
                          rows > m->spec->m))
        continue;
      tw_menu_offer(&m->base, "register tile",
                    "larger register tiles need fewer loads; their sums must fit the registers",
                    "tile rows=%d vectors=%d", rows, vectors);
    }
}

static void offer_fixed(menu *m) {
  static const char unroll[] = "the instructions of the loop itself are shared by more steps of k",
                    prefetch[] = "packed A is prefetched into L1 before its use",
                    panels[] = "lower tiles over two panels: unpacked rows of A fit one set of L1",
                    chains[] = "parts of a sum do not wait for one another, and are added at the end of a group",
                    packing[] = "packed rows are read in order; rows in place cost no copy";
  static const tw_offer kernel[] = {
      {"unroll", "unroll k=1", unroll},
      {"unroll", "unroll k=2", unroll},
      {"unroll", "unroll k=4", unroll},
      {"unroll", "unroll k=8", unroll},
      {"prefetch", "prefetch bytes=0", prefetch},
      {"prefetch", "prefetch bytes=128", prefetch},
      {"prefetch", "prefetch bytes=256", prefetch},
      {"prefetch", "prefetch bytes=512", prefetch},
      {"prefetch", "prefetch bytes=1024", prefetch},
      {"prefetch", "prefetch bytes=2048", prefetch},
      {"panels", "panels n=1", panels},
      {"panels", "panels n=2", panels},
  };
  static const tw_offer codes[] = {
      {"chains", "chains n=1", chains},
      {"chains", "chains n=2", chains},
      {"chains", "chains n=4", chains},
      {"chains", "chains n=8", chains},
  };
  static const tw_offer both[] = {
      {"packing of A", "a in_place", packing},
      {"packing of A", "a packed", packing},
  };
  if (m->on_codes)
    tw_menu_offer_all(&m->base, sizeof codes / sizeof *codes, codes);
  else
    tw_menu_offer_all(&m->base, sizeof kernel / sizeof *kernel, kernel);
  tw_menu_offer_all(&m->base, sizeof both / sizeof *both, both);
}

/* The next size in steps of 1.5 and 1.33; the last is the whole dimension. */
static int64_t next_size(int64_t size) { return (size & (size - 1)) == 0 ? size / 2 * 3 : size / 3 * 4; }

static void offer_blocks(menu *m) {
  const tw_gemm_spec *s = m->spec;
  const int group = x86_group(m->kernel->arithmetic), rows = m->kernel->rows;
  for (int bytes = 1024; bytes <= 1 << 15 && s->m <= rows; bytes *= 2)
    tw_menu_offer(&m->base, "distance", "weights are prefetched from memory into L1 before their use",
                  "prefetch_b bytes=%d", bytes);
  for (int64_t k = 64 * group; k < 2 * s->k && k <= 4096 * group; k = next_size(k))
    tw_menu_offer(&m->base, "block of k", "long blocks of k access C less often; short blocks keep a strip of A in L1",
                  "block k=%" PRId64, k < s->k ? k : s->k);
  for (int64_t size = 4 * rows; size < s->m; size *= 2)
    tw_menu_offer(&m->base, "block of m", "a block of A must fit L2", "block m=%" PRId64, size);
  for (int64_t size = 256; size < s->n; size *= 2)
    tw_menu_offer(&m->base, "block of n", "a block of C must fit the cache during the loop over k", "block n=%" PRId64,
                  size);
  for (int rho = 1; rho <= 8 && s->m >= rho * rows; rho *= 2)
    tw_menu_offer(&m->base, "asymmetric buffering", "a lower buffer of A leaves more of L2 for B and C", "atb rho=%d",
                  rho);
}

static void offer_partition(menu *m) {
  const int threads = m->spec->threads ? m->spec->threads : x86_this_cpu()->cores;
  for (int parts = threads; parts <= 8 * threads && threads > 1; parts *= 2)
    for (int rows = 1; rows <= parts; rows++)
      if (parts % rows == 0)
        tw_menu_offer(&m->base, "threads",
                      "parts of C for threads: parts of rows read all of B, parts of columns all of A; several parts "
                      "for each thread balance cores of different speed",
                      "threads m=%d n=%d", rows, parts / rows);
}

tw_status x86_steps(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                    tw_error *error) {
  x86_tuning now, next;
  const tw_gemm_spec s = x86_spec_of(p);
  (void)target;
  const tw_status status = x86_tuning_of(p, schedule, &now, error);
  if (status != TW_OK) return status;
  menu m = {.base = {.language = &x86_language,
                     .context = &s,
                     .schedule = schedule,
                     .now = &now,
                     .next = &next,
                     .plan_size = sizeof now,
                     .judge = judge},
            .spec = &s,
            .kernel = &now.kernel,
            .on_codes = x86_runs_on_codes(&s, x86_coded_rows(&now.kernel))};
  offer_sets(&m);
  offer_tiles(&m);
  offer_fixed(&m);
  offer_blocks(&m);
  offer_partition(&m);
  return tw_menu_finish(&m.base, out, error);
}
