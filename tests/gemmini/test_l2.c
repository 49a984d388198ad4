/* test_l2.c - the memory system on random requests: its answers do not depend on how far it lags behind the clock. The
 * one that is run in every cycle goes through what is on its way in, scheduled or sent one edge at a time; the other
 * one, as in the machine, only when an answer may be on its way or a client that is full asks for room, and settles all
 * that came before at once. */
#include "test.h"

#include "base/random.h"
#include "target/gemmini/l2/l2.h"

typedef struct answers {
  uint64_t n, hash; /* of all: cycle, which, beats, the cycles between them */
} answers;

static void add(answers *a, uint64_t x) { a->hash = (a->hash ^ x) * UINT64_C(0x100000001b3) + ++a->n; }

typedef struct client {
  l2_cache l2;
  uint64_t wake, next_take;
  bool lags;
  answers answers;
  uint64_t probes;
  /* a put of several beats that is under way */
  uint64_t put_address;
  int put_bytes, beats_left;
  bool put_first, put_partial;
} client;

static void look(client *c) {
  const uint64_t next = l2_next_answer(&c->l2);
  c->wake = next == UINT64_MAX ? next : next + (unsigned)c->l2.p.answer_latency - 1;
}
static void catch_up(client *c, uint64_t cycle) {
  if (l2_run(&c->l2, cycle)) look(c);
}
static void sent(client *c) {
  c->wake = earlier(c->wake, l2_next_new_answer(&c->l2) + (unsigned)c->l2.p.answer_latency - 1);
}

static void take(client *c, uint64_t now, unsigned pause) {
  const l2_response *r = l2_next(&c->l2);
  if (now < c->next_take || !r || r->ready > now) return;
  add(&c->answers, now);
  add(&c->answers, r->cookie);
  add(&c->answers, (uint64_t)(r->kind << 16 | r->beats << 8 | r->interval));
  c->next_take = now + (uint64_t)(r->beats * r->interval) + pause;
  l2_pop(&c->l2, now);
}

/* What the traffic is like for a while. */
typedef struct phase {
  uint64_t one_in, writes, partial, lines, core_in; /* a request every so many cycles; percent; lines they go to */
  bool in_order, whole; /* one line after the other; put at once where the way in is clear */
} phase;

static phase any_phase(tw_random *r) {
  return (phase){1 + tw_random_below(r, tw_random_below(r, 3) ? 6 : 40),
                 tw_random_below(r, 101),
                 tw_random_below(r, 2) ? 10 : 0,
                 UINT64_C(1) << (6 + tw_random_below(r, 10)),
                 10 + tw_random_below(r, tw_random_below(r, 2) ? 2000 : 100),
                 tw_random_below(r, 2),
                 tw_random_below(r, 2)};
}

static void request(client *c, tw_random *r, const phase *p, uint64_t *line, uint64_t now) {
  const int bytes = 16 << tw_random_below(r, 3);
  *line = p->in_order ? *line + 1 : tw_random_below(r, p->lines);
  const uint64_t address = *line * 64 + tw_random_below(r, (uint64_t)(64 / bytes)) * (uint64_t)bytes;
  const bool writes = tw_random_below(r, 100) < p->writes, partial = tw_random_below(r, 100) < p->partial;
  if (p->whole && !l2_is_clear(&c->l2, now)) catch_up(c, now);
  if (p->whole && l2_is_clear(&c->l2, now)) {
    l2_send_clear(&c->l2, now + 2, writes ? L2_WRITE : L2_READ, address, bytes, writes && partial, (uint32_t)now);
    sent(c);
    c->beats_left = -(writes ? bytes / 16 : 1) - 2; /* nothing else enters before them */
  } else if (writes) {
    c->put_address = address, c->put_bytes = bytes, c->put_partial = partial;
    c->put_first = true;
    c->beats_left = bytes / 16;
  } else {
    if (l2_reader_is_full(&c->l2)) catch_up(c, now - 1);
    if (!l2_read_has_room(&c->l2, now)) return;
    l2_send(&c->l2, L2_READER, now, L2_READ, address, bytes, (uint32_t)now);
    sent(c);
  }
}

static void put_beat(client *c, uint64_t now) {
  if (l2_writer_is_full(&c->l2)) catch_up(c, now - 1);
  if (!l2_put_has_room(&c->l2, now)) return;
  l2_put(&c->l2, now, c->put_address, c->put_bytes, c->put_partial, c->put_first, c->beats_left == 1);
  sent(c);
  c->put_first = false;
  c->beats_left--;
}

/* The core writes to a line, if it has it, and sees what it has lost. */
static void write_and_lose(client *c, uint64_t address, uint64_t now) {
  bool stays = false;
  catch_up(c, now - 1);
  l2_note_write(&c->l2, now - 1, address);
  for (uint64_t line; (line = l2_take_probe(&c->l2, now - 1, &stays)); c->probes++) add(&c->answers, line << 1 | stays);
}

static answers run(uint64_t seed, bool lags, l2_cache *end, uint64_t *probes) {
  enum { CYCLES = 20000, DRAINED = 3000 };
  tw_random r;
  tw_random_seed(&r, seed);
  const l2_parameters p = {.line_bytes = 64,
                           .beat_bytes = 16,
                           .port_bytes = 8,
                           .bytes = seed % 3 ? 524288 : 32768,
                           .ways = seed % 7 ? 8 : 4,
                           .request_latency = 3 + (int)(seed % 2),
                           .answer_latency = 3,
                           .answer_buffer = 6,
                           .misses = seed % 4 ? 10 : 1 + (int)(seed % 16),
                           .fill_latency = 18,
                           .llc_bytes = 1 << 18,
                           .llc_miss_extra = 34,
                           .write_interval = 11,
                           .write_latency = 18};
  static client c;
  c = (client){.lags = lags};
  tw_error e;
  assert_int_equal(l2_init(&c.l2, &p, &e), TW_OK);
  l2_warm_llc(&c.l2, 0, 1 << 17);
  phase now_is = any_phase(&r);
  uint64_t line = 0;
  for (uint64_t now = 1; now < CYCLES; now++) {
    if (!tw_random_below(&r, 2000)) now_is = any_phase(&r);
    if (!c.lags || c.wake <= now) {
      catch_up(&c, now);
      look(&c);
    }
    take(&c, now, tw_random_below(&r, 8) ? 0 : (unsigned)tw_random_below(&r, 12));
    if (!c.beats_left && !tw_random_below(&r, now_is.one_in)) request(&c, &r, &now_is, &line, now);
    if (c.beats_left < 0)
      c.beats_left++;
    else if (c.beats_left)
      put_beat(&c, now);
    if (!tw_random_below(&r, now_is.core_in)) {
      const enum l2_kind kind = tw_random_below(&r, 4) ? L2_REFILL : L2_WRITEBACK;
      const uint32_t cookie = (uint32_t)tw_random_below(&r, 4);
      l2_send(&c.l2, L2_CORE, now + tw_random_below(&r, 4), kind, tw_random_below(&r, now_is.lines) * 64, 64, cookie);
      sent(&c);
    }
    if (!tw_random_below(&r, now_is.core_in)) write_and_lose(&c, tw_random_below(&r, now_is.lines) * 64, now);
  }
  l2_run(&c.l2, CYCLES + DRAINED);
  *probes += c.probes;
  *end = c.l2; /* of which only the counters are looked at */
  l2_free(&c.l2);
  return c.answers;
}

static void lag_is_not_seen(void **state) {
  static l2_cache stepped, lagging;
  uint64_t answered = 0, replaced = 0, missed = 0, probed = 0, probed_stepped = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    const answers a = run(seed, false, &stepped, &probed_stepped), b = run(seed, true, &lagging, &probed);
    assert_int_equal(a.n, b.n);
    assert_int_equal(a.hash, b.hash);
    assert_int_equal(stepped.hits, lagging.hits);
    assert_int_equal(stepped.fills, lagging.fills);
    assert_int_equal(stepped.llc_misses, lagging.llc_misses);
    assert_int_equal(stepped.writebacks, lagging.writebacks);
    answered += a.n / 3, replaced += stepped.writebacks, missed += stepped.llc_misses;
  }
  assert_in_range(answered, 40000, 400000); /* the traffic is no toy: misses of all kinds happen often */
  assert_in_range(replaced, 2000, 400000);
  assert_in_range(missed, 1000, 400000);
  assert_in_range(probed, 1000, 400000);
  assert_int_equal(probed, probed_stepped);
}

/* Cycles from a request to its answer's first beat, in an L2 where nothing else goes on. */
static uint64_t answered_after(l2_cache *c, enum l2_client from, enum l2_kind kind, uint64_t address, int bytes,
                               uint32_t cookie, uint64_t now) {
  l2_send(c, from, now, kind, address, bytes, cookie);
  l2_run(c, now + 200);
  const l2_response *r = l2_next(c);
  assert_non_null(r);
  const uint64_t cycles = r->ready - now;
  l2_pop(c, now + 200);
  return cycles;
}

/* What the core's data cache has costs the DMA as many cycles as seen in the RTL (accepted -> scheduled: 2, of a line
 * that the core has 8, has written 11, or 14 for data that is not its first), and the core the line, or the right to
 * write it. */
static void lines_that_the_core_has(void **state) {
  enum { NOTHING, LOADED, WRITTEN, STATES };
  static const uint64_t cycles_more[STATES] = {0, 6, 9};
  static l2_cache c;
  const l2_parameters p = {.line_bytes = 64,
                           .beat_bytes = 16,
                           .port_bytes = 8,
                           .bytes = 32768,
                           .ways = 8,
                           .request_latency = 4,
                           .answer_latency = 3,
                           .answer_buffer = 6,
                           .misses = 10,
                           .fill_latency = 18,
                           .llc_bytes = 1 << 18,
                           .write_interval = 11,
                           .write_latency = 18};
  tw_error e;
  bool stays = false;
  assert_int_equal(l2_init(&c, &p, &e), TW_OK);
  uint64_t now = 1000;
  answered_after(&c, L2_READER, L2_READ, 0, 16, 0, now);
  const uint64_t hit = answered_after(&c, L2_READER, L2_READ, 0, 16, 0, now += 1000);
  for (int has = NOTHING; has < STATES; has++) {
    for (int writes = 0; writes < 2; writes++) {
      for (uint64_t at = 0; at < 64; at += 16) {
        const uint64_t line = (uint64_t)(has * 8 + writes * 4) * 64 + at * 4;
        answered_after(&c, L2_READER, L2_READ, line, 16, 0, now += 1000);
        if (has != NOTHING) answered_after(&c, L2_CORE, L2_REFILL, line, 64, 0, now += 1000);
        if (has == WRITTEN) l2_note_write(&c, now + 500, line);
        const uint64_t more = cycles_more[has] + (has == WRITTEN && at ? 3 : 0);
        now += 1000;
        if (writes)
          l2_send_clear(&c, now, L2_WRITE, line + at, 16, true, 0);
        else
          assert_int_equal(answered_after(&c, L2_READER, L2_READ, line + at, 16, 0, now), hit + more);
        l2_run(&c, now + 500);
        if (writes) l2_pop(&c, now + 500);
        assert_int_equal(l2_take_probe(&c, now + 500, &stays), has == NOTHING ? 0 : line / 64 + 1);
        if (has != NOTHING) assert_int_equal(stays, !writes);
        assert_int_equal(l2_take_probe(&c, now + 500, &stays), 0);
        assert_int_equal(answered_after(&c, L2_READER, L2_READ, line, 16, 0, now += 1000), hit); /* asked once */
      }
    }
  }
  l2_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lag_is_not_seen), cmocka_unit_test(lines_that_the_core_has)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
