/* The unrolled command stream of the hardware convolution loop computes the convolution, keeps the RTL's order and its
 * limits on commands in flight, and comes out in the RTL's cycles.
 *
 * The stream is fed to the functional machine, which executes each command whole when it comes out, so that a command
 * that comes too early finds rows without their data and spoils the output. Completions come after random delays. */
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/conv2d.h"
#include "subject.h"
#include "target/gemmini/machine/functional.h"
#include "target/gemmini/machine/loop_conv.h"

static gm_config config(void) {
  char path[4096], *text = calloc(1, 65536);
  gm_config c;
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/../../src/target/gemmini/configs/gemmini-16x16-int8.txt", TW_TEST_DATA);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_non_null(text);
  assert_true(fread(text, 1, 65535, file) > 0);
  fclose(file);
  if (gm_config_parse(text, path, &c, &error) != TW_OK) fail_msg("%s", error.text);
  free(text);
  return c;
}

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * n >> 32);
}

/* ---- A driver: feeds commands, executes and completes what comes out, keeps the trace ---- */

typedef struct traced {
  long cycle;
  gm_command command;
} traced;

enum { LOADS, EXECUTES, STORES };

typedef struct driver {
  gm_loop_conv loop;
  gm_arch *arch; /* or NULL */
  gm_command input[8192];
  int inputs, next;
  traced trace[65536];
  int traces;
  struct {
    long due;
    int kind;
  } in_flight[64];
  int flights, used[3], most_used[3];
  int delay[3];        /* largest delay of a completion */
  uint32_t ready_of_8; /* the output is ready in so many of 8 cycles */
} driver;

static driver *driver_new(void) {
  driver *d = calloc(1, sizeof *d);
  gm_config c = config();
  assert_non_null(d);
  gm_loop_conv_init(&d->loop, &c);
  d->ready_of_8 = 8;
  d->delay[0] = d->delay[1] = d->delay[2] = 1;
  return d;
}

static void feed(driver *d, uint8_t funct, uint64_t rs1, uint64_t rs2) {
  assert_true(d->inputs < (int)(sizeof d->input / sizeof *d->input));
  d->input[d->inputs++] = (gm_command){.funct = funct, .rs1 = rs1, .rs2 = rs2};
}

static int kind_of(const gm_command *c) {
  switch (c->funct) {
  case GM_CONFIG: return (c->rs1 & 3) == GM_CONFIG_LD ? LOADS : STORES;
  case GM_MVOUT: return STORES;
  case GM_PRELOAD:
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED: return EXECUTES;
  default: return LOADS;
  }
}

static void complete_due(driver *d, long cycle, int completed[3]) {
  int left = 0;
  for (int i = 0; i < d->flights; i++)
    if (d->in_flight[i].due <= cycle && completed[d->in_flight[i].kind] < 2)
      completed[d->in_flight[i].kind]++;
    else
      d->in_flight[left++] = d->in_flight[i];
  d->flights = left;
}

static void came_out(driver *d, long cycle, const gm_command *c) {
  int kind = kind_of(c);
  char why[256] = "";
  assert_true(d->flights < 64 && d->traces < (int)(sizeof d->trace / sizeof *d->trace));
  d->in_flight[d->flights].kind = kind;
  d->in_flight[d->flights++].due = cycle + 1 + random_below((uint32_t)d->delay[kind]);
  if (++d->used[kind] > d->most_used[kind]) d->most_used[kind] = d->used[kind];
  d->trace[d->traces++] = (traced){cycle, *c};
  if (d->arch && !gm_arch_apply(d->arch, c, why)) fail_msg("%s", why);
}

/* Runs until all input is consumed, the loops are done and all commands completed. */
static void run(driver *d) {
  for (long cycle = 0; d->next < d->inputs || gm_loop_conv_busy(&d->loop) || d->flights; cycle++) {
    const gm_command *in = d->next < d->inputs ? &d->input[d->next] : NULL;
    bool ready = random_below(8) < d->ready_of_8, take = false, from_loop = false;
    int completed[3] = {0};
    gm_command out;
    char why[256];
    assert_true(cycle < 2000000);
    complete_due(d, cycle, completed);
    if (gm_loop_conv_step(&d->loop, in, &take, ready, completed[0], completed[1], completed[2], &out, &from_loop,
                          why)) {
      assert_true(ready);
      if (from_loop)
        came_out(d, cycle, &out);
      else if (d->arch && !gm_arch_apply(d->arch, &out, why))
        fail_msg("%s", why);
    }
    if (why[0]) fail_msg("%s", why);
    for (int i = 0; i < 3; i++) d->used[i] -= completed[i];
    d->next += take;
  }
}

/* ---- Loops of a convolution ---- */

static uint64_t quarters(int64_t a, int64_t b, int64_t c, int64_t d) {
  return (uint64_t)a << 48 | (uint64_t)b << 32 | (uint64_t)c << 16 | (uint64_t)d;
}

typedef struct tile {
  int64_t batches, porows, pocols, pochs, krows, kcols, kchs, orows, ocols;
  int64_t lpad, rpad, upad, dpad, plpad, prpad, pupad, pdpad;
  uint64_t weights, output, bias, input;
} tile;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t outside(int64_t x) { return x > 0 ? x : 0; }

/* As many columns of the kernel in a row of the array as have room. */
static void feed_loop(driver *d, const tw_conv2d *v, const tile *t) {
  bool downsample = v->stride == 2 && v->r == 1 && !v->pad && !v->pool && v->h % 2 == 0;
  const uint64_t pixels = t->kchs < 1 || t->kchs > d->loop.dim ? 1 : (uint64_t)least(d->loop.dim / t->kchs, t->kcols);
  feed(d, GM_LOOP_CONV_CONFIG_1, quarters(v->k, v->c, v->h, v->n), quarters(v->pad, v->stride, v->out_h, v->p));
  feed(d, GM_LOOP_CONV_CONFIG_2, quarters(v->r, v->pool ? v->pool : 1, v->pool_stride, v->pool_pad),
       quarters(t->batches, t->porows, t->pocols, t->pochs));
  feed(d, GM_LOOP_CONV_CONFIG_3, quarters(t->krows, t->kcols, t->kchs, t->lpad),
       quarters(t->rpad, t->upad, t->dpad, t->plpad));
  feed(d, GM_LOOP_CONV_CONFIG_4, quarters(t->orows, t->prpad, t->pupad, t->pdpad), quarters(0, 0, 1, t->ocols));
  feed(d, GM_LOOP_CONV_CONFIG_5, t->weights, t->output);
  feed(d, GM_LOOP_CONV_CONFIG_6, t->bias, t->input);
  feed(d, GM_LOOP_CONV, pixels << 8 | !v->bias, (uint64_t)v->relu << 3 | (uint64_t)downsample << 1 | !v->pool);
}

enum { INPUT_BASE = 0x80010000, WEIGHTS_BASE = 0x80100000, BIAS_BASE = 0x80200000, OUTPUT_BASE = 0x80210000 };

/* The tile of at most `size` that begins at image at[0], pooled pixel (at[1], at[2]), channel at[3], kernel (at[4],
 * at[5]), input channel at[6]. */
static tile tile_at(const tw_conv2d *v, const int64_t size[7], const int64_t at[7]) {
  const int64_t pool = v->pool ? v->pool : 1;
  tile t = {.batches = least(size[0], v->n - at[0]),
            .porows = least(size[1], v->out_h - at[1]),
            .pocols = least(size[2], v->out_w - at[2]),
            .pochs = least(size[3], v->k - at[3]),
            .krows = least(size[4], v->r - at[4]),
            .kcols = least(size[5], v->s - at[5]),
            .kchs = least(size[6], v->c - at[6])};
  int64_t row = at[1] * v->pool_stride - v->pool_pad, col = at[2] * v->pool_stride - v->pool_pad;
  int64_t rows = t.porows * v->pool_stride + pool - 1, cols = t.pocols * v->pool_stride + pool - 1;
  t.pupad = outside(-row), t.pdpad = outside(row + rows - v->p);
  t.plpad = outside(-col), t.prpad = outside(col + cols - v->q);
  t.orows = rows - t.pupad - t.pdpad, t.ocols = cols - t.plpad - t.prpad;
  int64_t y = outside(row) * v->stride + at[4] - v->pad, x = outside(col) * v->stride + at[5] - v->pad;
  t.upad = outside(-y), t.dpad = outside(y + t.orows * v->stride + t.krows - 1 - v->h);
  t.lpad = outside(-x), t.rpad = outside(x + t.ocols * v->stride + t.kcols - 1 - v->w);
  bool first = !at[4] && !at[5] && !at[6];
  bool last = at[4] + t.krows == v->r && at[5] + t.kcols == v->s && at[6] + t.kchs == v->c;
  t.bias = first ? BIAS_BASE + (uint64_t)at[3] * 4 : 0;
  t.output = last ? OUTPUT_BASE + (uint64_t)(((at[0] * v->out_h + at[1]) * v->out_w + at[2]) * v->k + at[3]) : 0;
  t.weights = WEIGHTS_BASE + (uint64_t)(((at[4] * v->s + at[5]) * v->c + at[6]) * v->k + at[3]);
  t.input = INPUT_BASE + (uint64_t)(((at[0] * v->h + y + t.upad) * v->w + x + t.lpad) * v->c + at[6]);
  return t;
}

static void feed_loops(driver *d, const tw_conv2d *v, const int64_t size[7]) {
  const int64_t end[7] = {v->n, v->out_h, v->out_w, v->k, v->r, v->s, v->c};
  int64_t at[7] = {0};
  for (int i = 0; i >= 0;) {
    tile t = tile_at(v, size, at);
    feed_loop(d, v, &t);
    for (i = 6; i >= 0; i--) { /* the next: the last dimension is the innermost */
      at[i] += size[i];
      if (at[i] < end[i]) break;
      at[i] = 0;
    }
  }
}

static tw_problem parse(const char *text) { return problem_from(NULL, "conv2d a=i8 b=i8 out=i8 acc=i32 %s", text); }

typedef struct convolution {
  const char *problem;
  int64_t size[7]; /* of a tile: images, pooled rows and columns, channels; kernel rows, columns; input channels */
} convolution;

static void expect_right(const convolution *x, const int delay[3], uint32_t ready_of_8) {
  tw_problem p = parse(x->problem);
  const tw_conv2d v = tw_conv2d_of(&p);
  tw_case c;
  tw_error error;
  if (tw_case_make(&p, 11, 1, &c, &error) != TW_OK) fail_msg("%s", error.text);
  size_t output = c.n_operands - 1, bytes = c.operand[output].bytes;
  uint8_t *actual = malloc(bytes);
  memset(actual, TW_POISON, bytes);
  rv64_region region[4] = {
      {.name = "input", .base = INPUT_BASE, .size = c.operand[0].bytes, .rights = RV64_READ, .host = c.buffer[0]},
      {.name = "weights", .base = WEIGHTS_BASE, .size = c.operand[1].bytes, .rights = RV64_READ, .host = c.buffer[1]},
      {.name = "output", .base = OUTPUT_BASE, .size = bytes, .rights = RV64_READ | RV64_WRITE, .host = actual},
      {.name = "bias",
       .base = BIAS_BASE,
       .size = v.bias ? c.operand[2].bytes : 0,
       .rights = RV64_READ,
       .host = c.buffer[2]}};
  rv64_memory memory = {.n_regions = v.bias ? 4 : 3, .region = region};
  gm_config machine = config();
  driver *d = driver_new();
  float scale = v.scale;
  uint32_t scale_bits;
  memcpy(&scale_bits, &scale, 4);
  memcpy(d->delay, delay, sizeof d->delay);
  d->ready_of_8 = ready_of_8;
  d->arch = gm_arch_new(&machine, &memory);
  assert_non_null(d->arch);
  bool downsample = v.stride == 2 && v.r == 1 && !v.pad && !v.pool && v.h % 2 == 0;
  feed(d, GM_CONFIG, (uint64_t)v.relu << 2 | GM_CONFIG_ST, (uint64_t)scale_bits << 32 | (uint64_t)v.k);
  feed(d, GM_CONFIG, (uint64_t)(downsample ? 1 : v.stride) << 16 | 1 << 2 | GM_CONFIG_EX, UINT64_C(1) << 48);
  feed_loops(d, &v, x->size);
  run(d);
  void *got[TW_OPERANDS_MAX] = {c.buffer[0], c.buffer[1], c.buffer[2]};
  got[output] = actual;
  if (p.op->compare(&p, c.buffer, got, &error) != TW_OK) fail_msg("%s: %s", x->problem, error.text);
  assert_true(d->most_used[LOADS] <= machine.rs_load);
  assert_true(d->most_used[EXECUTES] <= machine.rs_execute);
  assert_true(d->most_used[STORES] <= machine.rs_store);
  gm_arch_free(d->arch);
  free(d);
  free(actual);
  tw_case_free(&c);
}

static void the_stream_computes_the_convolution(void **state) {
  static const convolution all[] = {
      {"n=1 h=6 w=6 c=16 k=16 r=3 s=3", {1, 4, 4, 16, 3, 3, 16}},
      {"n=2 h=9 w=9 c=20 k=37 r=3 s=3 pad=1 bias=row relu=1", {2, 9, 9, 37, 3, 3, 20}},
      {"n=3 h=9 w=9 c=20 k=37 r=3 s=3 pad=1 bias=row scale=0.3", {2, 4, 5, 16, 2, 2, 16}}, /* tiles of all */
      {"n=1 h=40 w=40 c=5 k=6 r=3 s=3 pad=2 bias=row", {1, 6, 40, 6, 3, 3, 5}},            /* wide rows */
      {"n=1 h=23 w=23 c=3 k=20 r=7 s=7 stride=2 pad=3 bias=row", {1, 5, 12, 20, 7, 7, 3}},
      {"n=1 h=27 w=27 c=3 k=16 r=11 s=11 stride=4 pad=2", {1, 6, 6, 16, 4, 11, 3}},
      {"n=2 h=20 w=20 c=1 k=17 r=3 s=3 pad=1 bias=row", {1, 8, 20, 17, 3, 3, 1}}, /* whole kernel rows in a row */
      {"n=1 h=19 w=19 c=8 k=16 r=5 s=5 stride=2 pad=2", {1, 3, 10, 16, 5, 5, 8}},
      {"n=1 h=12 w=12 c=90 k=80 r=1 s=1 bias=row", {1, 3, 12, 80, 1, 1, 90}},
      {"n=2 h=10 w=10 c=18 k=16 r=1 s=1 stride=2", {1, 5, 3, 16, 1, 1, 18}}, /* downsampled */
      {"n=1 h=70 w=70 c=4 k=8 r=1 s=1 stride=2 bias=row", {1, 5, 35, 8, 1, 1, 4}},
      {"n=1 h=11 w=11 c=7 k=9 r=3 s=3 stride=3 pad=1", {1, 2, 3, 9, 3, 3, 7}},
      {"n=2 h=9 w=9 c=16 k=20 r=3 s=3 pad=1 bias=row relu=1 pool=3 pool_stride=2 pool_pad=1", {1, 5, 5, 20, 3, 3, 16}},
      {"n=1 h=14 w=14 c=16 k=40 r=3 s=3 pad=1 bias=row relu=1 pool=3 pool_stride=2 pool_pad=1",
       {1, 3, 4, 32, 3, 3, 16}},
      {"n=1 h=8 w=8 c=8 k=8 r=1 s=1 pool=2 pool_stride=2", {1, 2, 4, 8, 1, 1, 8}},
  };
  static const int quick[3] = {1, 1, 1}, slow[3] = {40, 20, 90};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    expect_right(&all[i], quick, 8);
    expect_right(&all[i], slow, 3);
  }
}

/* ---- Order and time of single loops ---- */

/* One row of four pixels, one block of channels in and out, kernel 1 x 1. */
static tile small_tile(void) {
  return (tile){.batches = 1,
                .porows = 1,
                .pocols = 4,
                .pochs = 16,
                .krows = 1,
                .kcols = 1,
                .kchs = 16,
                .orows = 1,
                .ocols = 4,
                .weights = 0x2000,
                .output = 0x4000,
                .bias = 0x3000,
                .input = 0x1000};
}

static tw_conv2d small_convolution(void) {
  return (tw_conv2d){.n = 1,
                     .h = 4,
                     .w = 4,
                     .c = 16,
                     .k = 16,
                     .r = 1,
                     .s = 1,
                     .stride = 1,
                     .pool_stride = 1,
                     .p = 4,
                     .q = 4,
                     .out_h = 4,
                     .out_w = 4,
                     .bias = true};
}

/* Worked out from LoopConv.scala and Pipeline.scala: the run command is taken in cycle 6; 7: the load units start;
 * 8: their first commands enter two registers; 10: the first of them comes out. Then one a cycle, the bias first, the
 * input last. Execute begins when the last load has left the registers (16), store when the last compute has (20). */
static void a_loop_of_one_tile_takes_the_cycles_of_the_rtl(void **state) {
  static const struct {
    int cycle;
    uint8_t funct;
  } expected[] = {{10, GM_CONFIG}, {11, GM_MVIN3}, {12, GM_CONFIG},  {13, GM_MVIN2},
                  {14, GM_CONFIG}, {15, GM_MVIN},  {18, GM_PRELOAD}, {19, GM_COMPUTE_PRELOADED},
                  {22, GM_MVOUT}};
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  const tile t = small_tile();
  feed_loop(d, &v, &t);
  run(d);
  assert_int_equal(d->traces, 9);
  for (int i = 0; i < 9; i++) {
    assert_int_equal(d->trace[i].cycle, expected[i].cycle);
    assert_int_equal(d->trace[i].command.funct, expected[i].funct);
  }
  assert_int_equal(d->trace[1].command.rs1, 0x3000);
  assert_int_equal(d->trace[1].command.rs2, UINT64_C(4) << 48 | UINT64_C(16) << 32 | 1u << 31);
  assert_int_equal(d->trace[3].command.rs2, UINT64_C(16) << 48 | UINT64_C(16) << 32 | (8192 - 16));
  assert_int_equal(d->trace[5].command.rs2, UINT64_C(4) << 48 | UINT64_C(16) << 32);
  assert_int_equal(d->trace[6].command.rs2, UINT64_C(4) << 48 | UINT64_C(16) << 32 | 3u << 30);
  free(d);
}

/* Without a bias address the bias unit starts and leaves, and the others come a cycle apart from the beginning. */
static void no_bias_and_no_output_make_no_commands(void **state) {
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  tile t = small_tile();
  t.bias = t.output = 0;
  feed_loop(d, &v, &t);
  run(d);
  assert_int_equal(d->traces, 6);
  assert_int_equal(d->trace[0].command.funct, GM_CONFIG);
  assert_int_equal(d->trace[0].cycle, 10);
  assert_int_equal(d->trace[1].command.funct, GM_MVIN2);
  assert_int_equal(d->trace[5].command.funct, GM_COMPUTE_PRELOADED);
  free(d);
}

static void weights_are_preloaded_once_for_all_pixels(void **state) {
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  tile t = small_tile();
  int preloaded = 0, accumulated = 0;
  t.batches = 2, t.orows = 3, t.kchs = 32;
  feed_loop(d, &v, &t);
  run(d);
  for (int i = 0; i < d->traces; i++) {
    const gm_command *c = &d->trace[i].command;
    preloaded += c->funct == GM_COMPUTE_PRELOADED;
    accumulated += c->funct == GM_COMPUTE_ACCUMULATED;
    if (c->funct != GM_PRELOAD) continue;
    bool new_weights = d->trace[i + 1].command.funct == GM_COMPUTE_PRELOADED;
    assert_int_equal(gm_is_garbage(gm_local(c->rs1)), !new_weights);
    assert_true(gm_accumulates(gm_local(c->rs2)));
  }
  assert_int_equal(preloaded, 2);
  assert_int_equal(accumulated, 2 * 5);
  free(d);
}

static bool is_load(const gm_command *c) { return kind_of(c) == LOADS && c->funct != GM_CONFIG; }
static bool in_upper_half(const gm_command *c) { return (gm_local(c->rs2) & 0x3fff) >= 8192; }

/* The next loop's loads go to the other half of the scratchpad as soon as the first loop's are all out, not before. */
static void the_next_loop_loads_while_the_first_computes(void **state) {
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  tile t = small_tile();
  int last_of_first = -1, first_of_second = -1, last_compute_of_first = -1;
  t.bias = 0, t.orows = 20;
  d->delay[EXECUTES] = 60;
  feed_loop(d, &v, &t);
  feed_loop(d, &v, &t);
  run(d);
  for (int i = 0; i < d->traces; i++) {
    const gm_command *c = &d->trace[i].command;
    if (is_load(c) && !in_upper_half(c)) last_of_first = i;
    if (is_load(c) && in_upper_half(c) && first_of_second < 0) first_of_second = i;
    if (kind_of(c) == EXECUTES && c->funct != GM_PRELOAD && (gm_local(c->rs1) & 0x3fff) < 8192)
      last_compute_of_first = i;
  }
  assert_true(last_of_first < first_of_second);
  assert_true(first_of_second < last_compute_of_first);
  free(d);
}

static uint32_t result_row(const driver *d, int nth) {
  for (int i = 0; i < d->traces; i++)
    if (d->trace[i].command.funct == GM_PRELOAD && nth-- == 0) return gm_local(d->trace[i].command.rs2) & 0x3fff;
  return UINT32_MAX;
}

/* The accumulator's halves alternate with loops that store; one that does not leaves its sums to the next. */
static void sums_stay_in_their_half_until_they_are_stored(void **state) {
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  tile whole = small_tile(), part = small_tile();
  part.output = 0;
  feed_loop(d, &v, &part);
  feed_loop(d, &v, &whole);
  feed_loop(d, &v, &whole);
  feed_loop(d, &v, &whole);
  run(d);
  const uint32_t expected[] = {0, 0, 512, 0};
  for (int i = 0; i < 4; i++) assert_int_equal(result_row(d, i), expected[i]);
  free(d);
}

static void commands_in_flight_reach_the_limits_and_never_pass_them(void **state) {
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  tile t = small_tile();
  t.orows = 20, t.batches = 2;
  d->delay[LOADS] = d->delay[EXECUTES] = d->delay[STORES] = 500;
  feed_loop(d, &v, &t);
  run(d);
  assert_int_equal(d->most_used[LOADS], 8);
  assert_int_equal(d->most_used[EXECUTES], 16);
  assert_int_equal(d->most_used[STORES], 4);
  free(d);
}

static void other_commands_pass_only_between_loops(void **state) {
  driver *d = driver_new();
  const tw_conv2d v = small_convolution();
  const tile t = small_tile();
  gm_command mvin = {.funct = GM_MVIN, .rs1 = 1, .rs2 = 2}, out;
  bool take, from_loop;
  char why[256];
  assert_false(gm_loop_conv_step(&d->loop, &mvin, &take, false, 0, 0, 0, &out, &from_loop, why));
  assert_false(take);
  assert_true(gm_loop_conv_step(&d->loop, &mvin, &take, true, 0, 0, 0, &out, &from_loop, why));
  assert_true(take && !from_loop && out.funct == GM_MVIN && out.rs1 == 1 && out.rs2 == 2);
  feed_loop(d, &v, &t);
  for (int i = 0; i < 7; i++) { /* configuration needs no room behind it */
    assert_false(gm_loop_conv_step(&d->loop, &d->input[i], &take, false, 0, 0, 0, &out, &from_loop, why));
    assert_true(take);
  }
  for (int i = 0; i < 16; i++) {
    assert_true(gm_loop_conv_busy(&d->loop));
    if (gm_loop_conv_step(&d->loop, &mvin, &take, true, 0, 0, 0, &out, &from_loop, why)) assert_true(from_loop);
    assert_false(take);
  }
  free(d);
}

/* ---- Refusals ---- */

static void refused(driver *d, const tile *t, uint64_t rs1, uint64_t rs2, const char *message) {
  const tw_conv2d v = small_convolution();
  gm_command out;
  bool take, from_loop;
  char why[256] = "";
  feed_loop(d, &v, t);
  for (int i = 0; i < 6; i++) {
    gm_loop_conv_step(&d->loop, &d->input[i], &take, true, 0, 0, 0, &out, &from_loop, why);
    assert_string_equal(why, "");
  }
  d->input[6].rs1 |= rs1, d->input[6].rs2 |= rs2;
  assert_false(gm_loop_conv_step(&d->loop, &d->input[6], &take, true, 0, 0, 0, &out, &from_loop, why));
  assert_false(take);
  if (!strstr(why, message)) fail_msg("\"%s\" does not say \"%s\"", why, message);
  free(d);
}

static driver *lean_driver(void) {
  driver *d = driver_new();
  gm_config c = config();
  c.has_training_convs = c.has_dw_convs = false;
  gm_loop_conv_init(&d->loop, &c);
  return d;
}

static void what_is_not_modelled_is_refused_by_name(void **state) {
  tile t = small_tile();
  refused(driver_new(), &t, 1 << 6, 0, "dw with kchs=16 and pochs=16");
  refused(driver_new(), &t, 5 << 8, 0, "max_pixels_per_row=5 of kchs=16");
  refused(driver_new(), &t, 0, 2 << 3, "activation 2");
  t.ocols = 0;
  refused(driver_new(), &t, 0, 0, "ocols is 0");
  t = small_tile(), t.kchs = 0;
  refused(driver_new(), &t, 0, 0, "kchs is 0");
  t = small_tile(), t.lpad = 3, t.rpad = 2;
  refused(driver_new(), &t, 0, 0, "4 columns with 5");
}

static void absent_parts_are_refused_by_their_key(void **state) {
  tile t = small_tile();
  refused(lean_driver(), &t, 1 << 1, 0, "wrot180 is not in this machine (has_training_convs = 0)");
  refused(lean_driver(), &t, 1 << 2, 0, "trans_output_1203");
  refused(lean_driver(), &t, 1 << 3, 0, "trans_weight_1203");
  refused(lean_driver(), &t, 1 << 4, 0, "trans_weight_0132");
  refused(lean_driver(), &t, 1 << 5, 0, "trans_input_3120");
  refused(lean_driver(), &t, 0, 1 << 2, "input_dilated");
  refused(lean_driver(), &t, 1 << 6, 0, "dw is not in this machine (has_dw_convs = 0)");
}

static void completions_without_commands_are_an_error(void **state) {
  driver *d = driver_new();
  gm_command out;
  bool take, from_loop;
  char why[256];
  assert_false(gm_loop_conv_step(&d->loop, NULL, &take, true, 0, 0, 1, &out, &from_loop, why));
  assert_non_null(strstr(why, "more commands completed"));
  free(d);
}

/* Whatever the registers hold: a refusal, or commands, for as long as one cares to watch. */
static void any_registers_are_survived(void **state) {
  for (int loop = 0; loop < 300; loop++) {
    driver *d = driver_new();
    uint16_t mask = random_below(2) ? 0xffff : 0x0f;
    for (int i = 0; i < 14; i++) {
      uint64_t field[8];
      for (int f = 0; f < 8; f++) field[f] = random_below(0x10000) & mask;
      uint8_t funct = (uint8_t)(i % 7 == 6 ? GM_LOOP_CONV : GM_LOOP_CONV_CONFIG_1 + i % 7);
      uint64_t rs1 = quarters((int64_t)field[0], (int64_t)field[1], (int64_t)field[2], (int64_t)field[3]);
      uint64_t rs2 = quarters((int64_t)field[4], (int64_t)field[5], (int64_t)field[6], (int64_t)field[7]);
      if (funct == GM_LOOP_CONV) rs1 &= 0x7f, rs2 &= 7;
      if (funct == GM_LOOP_CONV_CONFIG_4 && loop % 2) rs2 = (rs2 & ~UINT64_C(0xffff0000)) | 1 << 16;
      feed(d, funct, rs1, rs2);
    }
    for (int step = 0; step < 3000; step++) {
      gm_command out;
      bool take = false, from_loop;
      char why[256];
      const int *used = d->loop.pair.used;
      gm_loop_conv_step(&d->loop, d->next < d->inputs ? &d->input[d->next] : NULL, &take, true, used[LOADS] > 0,
                        used[EXECUTES] > 0, used[STORES] > 0, &out, &from_loop, why);
      if (why[0]) break;
      d->next += take;
    }
    free(d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_stream_computes_the_convolution),
      cmocka_unit_test(a_loop_of_one_tile_takes_the_cycles_of_the_rtl),
      cmocka_unit_test(no_bias_and_no_output_make_no_commands),
      cmocka_unit_test(weights_are_preloaded_once_for_all_pixels),
      cmocka_unit_test(the_next_loop_loads_while_the_first_computes),
      cmocka_unit_test(sums_stay_in_their_half_until_they_are_stored),
      cmocka_unit_test(commands_in_flight_reach_the_limits_and_never_pass_them),
      cmocka_unit_test(other_commands_pass_only_between_loops),
      cmocka_unit_test(what_is_not_modelled_is_refused_by_name),
      cmocka_unit_test(absent_parts_are_refused_by_their_key),
      cmocka_unit_test(completions_without_commands_are_an_error),
      cmocka_unit_test(any_registers_are_survived),
  };
  return cmocka_run_group_tests_name("gemmini loop_conv", tests, NULL, NULL);
}
