/* The unrolled command stream of the hardware matmul loop computes the matrix product, keeps the RTL's order and its
 * limits on commands in flight, and comes out in the RTL's cycles.
 *
 * The stream is fed to a machine written here for this purpose: it executes each command whole when it comes out,
 * so that a command that comes too early uses poisoned rows and spoils C. Elements are integers in both
 * configurations; the unroller does not look at them. Completions come after random delays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/gemmini/machine/loop_ws.h"

static gm_config config(const char *name) {
  char path[4096], *text = calloc(1, 65536);
  gm_config c;
  tw_error error = {0};
  snprintf(path, sizeof path, "%s/../../src/target/gemmini/configs/%s.txt", TW_TEST_DATA, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_non_null(text);
  assert_true(fread(text, 1, 65535, file) > 0);
  fclose(file);
  if (gm_config_parse(text, name, &c, &error) != TW_OK) fail_msg("%s", error.text);
  free(text);
  return c;
}

static uint32_t random_state;
static uint32_t random_below(uint32_t n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * n >> 32);
}

/* ---- A machine that executes the stream ---- */

enum { MEMORY = 1 << 21, BASE = 0x1000, MAX_DIM = 16 };

typedef struct machine {
  gm_config c;
  bool a_transposed, b_transposed;
  uint64_t stride[3], c_stride; /* bytes: of A, B, D; of C */
  bool low_d;
  uint8_t *memory;     /* addresses BASE .. BASE + MEMORY */
  int32_t *spad, *acc; /* dim elements a row */
  int32_t weights[MAX_DIM][MAX_DIM];
  gm_command preload;
} machine;

static machine machine_new(const gm_config *c) {
  machine m = {.c = *c};
  size_t spad = (size_t)gm_spad_rows(c) * (size_t)c->dim, acc = (size_t)gm_acc_rows(c) * (size_t)c->dim;
  m.memory = malloc(MEMORY);
  m.spad = malloc(spad * sizeof *m.spad);
  m.acc = malloc(acc * sizeof *m.acc);
  assert_true(m.memory && m.spad && m.acc);
  for (size_t i = 0; i < MEMORY; i++) m.memory[i] = 0x55;
  for (size_t i = 0; i < spad; i++) m.spad[i] = 7777777;
  for (size_t i = 0; i < acc; i++) m.acc[i] = 7777777;
  return m;
}

static void machine_free(machine *m) {
  free(m->memory);
  free(m->spad);
  free(m->acc);
}

static int32_t get(const machine *m, uint64_t address, int bytes) {
  int32_t word;
  assert_true(address >= BASE && address + (uint64_t)bytes <= BASE + MEMORY);
  if (bytes == 1) return (int8_t)m->memory[address - BASE];
  memcpy(&word, &m->memory[address - BASE], sizeof word);
  return word;
}

static void put(machine *m, uint64_t address, int bytes, int32_t value) {
  assert_true(address >= BASE && address + (uint64_t)bytes <= BASE + MEMORY);
  if (bytes == 1)
    m->memory[address - BASE] = (uint8_t)value;
  else
    memcpy(&m->memory[address - BASE], &value, sizeof value);
}

static int32_t *element(machine *m, uint32_t address, int row, int col) {
  uint32_t at = (address & 0x1fffffff) + (uint32_t)row;
  assert_true(at < (uint32_t)(gm_is_acc(address) ? gm_acc_rows(&m->c) : gm_spad_rows(&m->c)));
  assert_true(col < m->c.dim);
  return &(gm_is_acc(address) ? m->acc : m->spad)[at * (uint32_t)m->c.dim + (uint32_t)col];
}

static void machine_move(machine *m, const gm_command *c) {
  int dim = m->c.dim, load = c->funct == GM_MVIN ? 0 : c->funct == GM_MVIN2 ? 1 : 2;
  bool out = c->funct == GM_MVOUT;
  int bytes = out ? (gm_is_full_width(gm_local(c->rs2)) ? gm_acc_bytes(&m->c) : gm_input_bytes(&m->c))
              : load == 2 && !m->low_d ? gm_acc_bytes(&m->c)
                                       : gm_input_bytes(&m->c);
  assert_true(gm_cols(c->rs2) * gm_input_bytes(&m->c) <= m->c.dma_max_bytes);
  for (int r = 0; r < gm_rows(c->rs2); r++)
    for (int col = 0; col < gm_cols(c->rs2); col++) {
      uint64_t address = c->rs1 + (uint64_t)r * (out ? m->c_stride : m->stride[load]) + (uint64_t)(col * bytes);
      int32_t *local = element(m, gm_local(c->rs2), col / dim * dim + r, col % dim);
      if (out)
        put(m, address, bytes, *local);
      else
        *local = get(m, address, bytes);
    }
}

static void machine_compute(machine *m, const gm_command *c) {
  uint32_t a = gm_local(c->rs1), b = gm_local(m->preload.rs1), to = gm_local(m->preload.rs2);
  int depth = gm_cols(c->rs1);
  assert_true(gm_is_garbage(gm_local(c->rs2)));
  assert_int_equal(gm_rows(c->rs1), gm_rows(m->preload.rs2));
  assert_int_equal(depth, gm_rows(m->preload.rs1));
  if (c->funct == GM_COMPUTE_PRELOADED) {
    assert_false(gm_is_garbage(b));
    for (int k = 0; k < depth; k++)
      for (int j = 0; j < gm_cols(m->preload.rs1); j++)
        m->weights[k][j] = m->b_transposed ? *element(m, b, j, k) : *element(m, b, k, j);
  } else {
    assert_true(gm_is_garbage(b));
  }
  for (int i = 0; i < gm_rows(m->preload.rs2); i++)
    for (int j = 0; j < gm_cols(m->preload.rs2); j++) {
      int32_t *sum = element(m, to, i, j);
      if (!gm_accumulates(to)) *sum = 0;
      for (int k = 0; k < depth; k++)
        *sum += (m->a_transposed ? *element(m, a, k, i) : *element(m, a, i, k)) * m->weights[k][j];
    }
}

static void machine_apply(machine *m, const gm_command *c) {
  switch (c->funct) {
  case GM_MVIN:
  case GM_MVIN2:
  case GM_MVIN3:
  case GM_MVOUT: machine_move(m, c); break;
  case GM_PRELOAD: m->preload = *c; break;
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED: machine_compute(m, c); break;
  default: fail_msg("the loop made a command of funct %d", c->funct);
  }
}

/* ---- A driver: feeds commands, completes what comes out, keeps the trace ---- */

typedef struct traced {
  long cycle;
  gm_command command;
} traced;

typedef struct driver {
  gm_loop_ws loop;
  machine *machine; /* or NULL */
  gm_command input[4096];
  int inputs, next;
  traced trace[32768];
  int traces;
  struct {
    long due;
    int kind;
  } in_flight[64];
  int flights, used[3], most_used[3]; /* loads, executes, stores */
  int delay[3];                       /* largest delay of a completion */
  bool skip;                          /* call the step only when something may happen */
  uint32_t ready_of_8;                /* the output is ready in so many of 8 cycles */
  long cycles, steps;
} driver;

static driver *driver_new(const gm_config *c, machine *m) {
  driver *d = calloc(1, sizeof *d);
  assert_non_null(d);
  gm_loop_ws_init(&d->loop, c);
  d->machine = m;
  d->ready_of_8 = 8;
  d->delay[0] = d->delay[1] = d->delay[2] = 1;
  return d;
}

static void feed(driver *d, uint8_t funct, uint64_t rs1, uint64_t rs2) {
  assert_true(d->inputs < (int)(sizeof d->input / sizeof *d->input));
  d->input[d->inputs++] = (gm_command){.funct = funct, .rs1 = rs1, .rs2 = rs2};
}

static int kind_of(uint8_t funct) {
  return funct == GM_MVOUT                                                                         ? 2
         : funct == GM_PRELOAD || funct == GM_COMPUTE_PRELOADED || funct == GM_COMPUTE_ACCUMULATED ? 1
                                                                                                   : 0;
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
  int kind = kind_of(c->funct), most = (int)(sizeof d->in_flight / sizeof *d->in_flight);
  assert_true(d->flights < most && d->traces < (int)(sizeof d->trace / sizeof *d->trace));
  d->in_flight[d->flights].kind = kind;
  d->in_flight[d->flights++].due = cycle + 1 + random_below((uint32_t)d->delay[kind]);
  if (++d->used[kind] > d->most_used[kind]) d->most_used[kind] = d->used[kind];
  d->trace[d->traces++] = (traced){cycle, *c};
  if (d->machine) machine_apply(d->machine, c);
}

/* Runs until all input is consumed, the loops are done and all commands completed. */
static void run(driver *d) {
  int last_next = -1;
  for (long cycle = 0; d->next < d->inputs || gm_loop_ws_busy(&d->loop) || d->flights; cycle++) {
    const gm_command *in = d->next < d->inputs ? &d->input[d->next] : NULL;
    bool ready = random_below(8) < d->ready_of_8, take = false, from_loop = false;
    int completed[3] = {0};
    gm_command out;
    char why[256];
    assert_true(cycle < 1000000);
    complete_due(d, cycle, completed);
    d->cycles = cycle + 1;
    if (d->skip && gm_loop_ws_waiting(&d->loop, ready) && d->next == last_next &&
        !(completed[0] | completed[1] | completed[2]))
      continue;
    last_next = d->next;
    d->steps++;
    if (gm_loop_ws_step(&d->loop, in, &take, ready, completed[0], completed[1], completed[2], &out, &from_loop, why)) {
      assert_true(ready);
      if (from_loop) came_out(d, cycle, &out);
    }
    if (why[0]) fail_msg("%s", why);
    for (int i = 0; i < 3; i++) d->used[i] -= completed[i];
    d->next += take;
  }
}

/* ---- Whole matrix products ---- */

typedef struct product {
  const char *config;
  int m, n, k;                   /* elements */
  int tiles_i, tiles_j, tiles_k; /* of one loop */
  bool a_transposed, b_transposed;
  enum { NO_BIAS, ROW_BIAS, FULL_BIAS } bias;
  bool low_d, full_c;
} product;

typedef struct matrices {
  uint64_t a, b, d, c, a_ld, b_ld, d_ld, c_ld;
} matrices; /* ld: elements between rows */

static uint64_t place(machine *m, uint64_t *at, int rows, int cols, uint64_t ld, int bytes, int32_t range) {
  uint64_t begin = *at;
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++)
      put(m, begin + ((uint64_t)r * ld + (uint64_t)c) * (uint64_t)bytes, bytes,
          (int32_t)random_below((uint32_t)range) - range / 2);
  /* Load B takes whole tiles of rows, also past the end of the matrix. */
  *at += (uint64_t)(rows + m->c.dim) * ld * (uint64_t)bytes;
  return begin;
}

static int min_int(int a, int b) { return a < b ? a : b; }

/* Feeds one loop for the block (i0, j0, k0), in the manner of the software library: the bias comes with the first k, C
 * leaves with the last. */
static void feed_loop(driver *d, const product *p, const matrices *x, int i0, int j0, int k0) {
  int dim = d->machine->c.dim, in = gm_input_bytes(&d->machine->c), acc = gm_acc_bytes(&d->machine->c);
  uint64_t i = (uint64_t)min_int(p->tiles_i, (p->m - i0 + dim - 1) / dim),
           j = (uint64_t)min_int(p->tiles_j, (p->n - j0 + dim - 1) / dim);
  uint64_t k = (uint64_t)min_int(p->tiles_k, (p->k - k0 + dim - 1) / dim);
  uint64_t m = (uint64_t)min_int(p->m - i0, p->tiles_i * dim), n = (uint64_t)min_int(p->n - j0, p->tiles_j * dim);
  uint64_t depth = (uint64_t)min_int(p->k - k0, p->tiles_k * dim), u = (uint64_t)dim;
  uint64_t a_at = p->a_transposed ? (uint64_t)k0 * x->a_ld + (uint64_t)i0 : (uint64_t)i0 * x->a_ld + (uint64_t)k0;
  uint64_t b_at = p->b_transposed ? (uint64_t)j0 * x->b_ld + (uint64_t)k0 : (uint64_t)k0 * x->b_ld + (uint64_t)j0;
  bool with_d = k0 == 0 && p->bias, with_c = k0 + p->tiles_k * dim >= p->k;
  uint64_t d_at = x->d + ((uint64_t)i0 * x->d_ld + (uint64_t)j0) * (uint64_t)(p->low_d ? in : acc);
  uint64_t c_at = x->c + ((uint64_t)i0 * x->c_ld + (uint64_t)j0) * (uint64_t)(p->full_c ? acc : in);
  feed(d, GM_LOOP_WS_BOUNDS, (k * u - depth) << 32 | (j * u - n) << 16 | (i * u - m), k << 32 | j << 16 | i);
  feed(d, GM_LOOP_WS_ADDRS_AB, x->a + a_at * (uint64_t)in, x->b + b_at * (uint64_t)in);
  feed(d, GM_LOOP_WS_ADDRS_DC, with_d ? d_at : 0, with_c ? c_at : 0);
  feed(d, GM_LOOP_WS_STRIDES_AB, x->a_ld, x->b_ld);
  feed(d, GM_LOOP_WS_STRIDES_DC, x->d_ld, x->c_ld);
  feed(d, GM_LOOP_WS, (uint64_t)(p->low_d << 2 | p->full_c << 1 | (with_d || k0 > 0)),
       (uint64_t)(p->b_transposed << 1 | p->a_transposed));
}

static matrices feed_product(driver *d, const product *p) {
  machine *m = d->machine;
  int in = gm_input_bytes(&m->c), acc = gm_acc_bytes(&m->c), dim = m->c.dim;
  int d_bytes = p->low_d ? in : acc, c_bytes = p->full_c ? acc : in;
  uint64_t at = BASE + 64;
  matrices x = {.a_ld = (uint64_t)(p->a_transposed ? p->m : p->k) + 3,
                .b_ld = (uint64_t)(p->b_transposed ? p->k : p->n) + 5,
                .d_ld = p->bias == ROW_BIAS ? 0 : (uint64_t)p->n + 1,
                .c_ld = (uint64_t)p->n + 2};
  x.a = place(m, &at, p->a_transposed ? p->k : p->m, p->a_transposed ? p->m : p->k, x.a_ld, in, 5);
  x.b = place(m, &at, p->b_transposed ? p->n : p->k, p->b_transposed ? p->k : p->n, x.b_ld, in, 5);
  x.c = place(m, &at, p->m, p->n, x.c_ld, c_bytes, 100);
  if (p->bias) x.d = place(m, &at, p->bias == ROW_BIAS ? 1 : p->m, p->n, x.d_ld, d_bytes, 50);
  m->a_transposed = p->a_transposed;
  m->b_transposed = p->b_transposed;
  m->low_d = p->low_d;
  m->stride[0] = x.a_ld * (uint64_t)in, m->stride[1] = x.b_ld * (uint64_t)in, m->stride[2] = x.d_ld * (uint64_t)d_bytes;
  m->c_stride = x.c_ld * (uint64_t)c_bytes;
  for (int i = 0; i < p->m; i += p->tiles_i * dim)
    for (int j = 0; j < p->n; j += p->tiles_j * dim)
      for (int k = 0; k < p->k; k += p->tiles_k * dim) feed_loop(d, p, &x, i, j, k);
  return x;
}

static void check_product(machine *m, const product *p, const matrices *x) {
  int in = gm_input_bytes(&m->c), acc = gm_acc_bytes(&m->c), d_bytes = p->low_d ? in : acc,
      c_bytes = p->full_c ? acc : in;
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) {
      uint64_t ui = (uint64_t)i, uj = (uint64_t)j;
      int32_t sum = p->bias ? get(m, x->d + (ui * x->d_ld + uj) * (uint64_t)d_bytes, d_bytes) : 0;
      for (uint64_t k = 0; k < (uint64_t)p->k; k++)
        sum += get(m, x->a + (p->a_transposed ? k * x->a_ld + ui : ui * x->a_ld + k) * (uint64_t)in, in) *
               get(m, x->b + (p->b_transposed ? uj * x->b_ld + k : k * x->b_ld + uj) * (uint64_t)in, in);
      if (c_bytes == 1) sum = (int8_t)sum;
      int32_t c = get(m, x->c + (ui * x->c_ld + uj) * (uint64_t)c_bytes, c_bytes);
      if (c != sum) fail_msg("%s %dx%dx%d: C[%d][%d] is %d, not %d", p->config, p->m, p->n, p->k, i, j, c, sum);
    }
}

static const product products[] = {
    {"gemmini-16x16-int8", 16, 16, 16, 1, 1, 1, .bias = NO_BIAS},
    {"gemmini-16x16-int8", 1, 1, 1, 4, 4, 4, .bias = NO_BIAS},
    {"gemmini-16x16-int8", 64, 64, 64, 4, 4, 4, .bias = NO_BIAS},
    {"gemmini-16x16-int8", 100, 37, 129, 3, 2, 5, .bias = NO_BIAS},
    {"gemmini-16x16-int8", 100, 37, 129, 3, 2, 5, .bias = FULL_BIAS},
    {"gemmini-16x16-int8", 100, 37, 129, 3, 2, 5, .bias = ROW_BIAS, .full_c = true},
    {"gemmini-16x16-int8", 50, 150, 70, 2, 6, 3, .bias = FULL_BIAS, .low_d = true},
    {"gemmini-16x16-int8", 33, 95, 47, 3, 6, 3, .bias = NO_BIAS, .full_c = true},
    {"gemmini-16x16-int8", 90, 61, 83, 5, 3, 4, .a_transposed = true},
    {"gemmini-16x16-int8", 90, 61, 83, 5, 3, 4, .b_transposed = true},
    {"gemmini-16x16-int8", 130, 70, 150, 9, 2, 3, .a_transposed = true, .bias = FULL_BIAS, .low_d = true,
     .full_c = true},
    {"gemmini-16x16-int8", 20, 97, 150, 1, 7, 9, .b_transposed = true, .bias = ROW_BIAS},
    {"gemmini-16x16-int8", 128, 128, 64, 4, 8, 2, .bias = NO_BIAS},
    {"gemmini-4x4-fp32", 4, 4, 4, 1, 1, 1, .bias = NO_BIAS},
    {"gemmini-4x4-fp32", 33, 47, 29, 3, 5, 4, .bias = FULL_BIAS},
    {"gemmini-4x4-fp32", 33, 47, 29, 8, 5, 7, .bias = ROW_BIAS, .low_d = true, .full_c = true},
    {"gemmini-4x4-fp32", 33, 47, 29, 5, 5, 6, .a_transposed = true},
    {"gemmini-4x4-fp32", 33, 47, 29, 5, 5, 6, .b_transposed = true, .full_c = true},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static void check_limits(const driver *d, const gm_config *c) {
  assert_true(d->most_used[0] <= c->rs_load);
  assert_true(d->most_used[1] <= c->rs_execute);
  assert_true(d->most_used[2] <= c->rs_store);
}

static void the_stream_computes_the_product(void **state) {
  static const int delays[][3] = {{1, 1, 1}, {120, 40, 60}, {5, 300, 5}, {5, 5, 300}};
  for (int i = 0; i < PRODUCTS; i++)
    for (int j = 0; j < 4; j++) {
      gm_config c = config(products[i].config);
      machine m = machine_new(&c);
      driver *d = driver_new(&c, &m);
      random_state = (uint32_t)(i * 4 + j);
      memcpy(d->delay, delays[j], sizeof d->delay);
      d->ready_of_8 = j == 3 ? 5 : 8;
      matrices x = feed_product(d, &products[i]);
      run(d);
      check_product(&m, &products[i], &x);
      check_limits(d, &c);
      free(d);
      machine_free(&m);
    }
}

static void skipping_idle_cycles_changes_nothing(void **state) {
  for (int i = 0; i < PRODUCTS; i++) {
    gm_config c = config(products[i].config);
    driver *d[2];
    for (int j = 0; j < 2; j++) {
      machine m = machine_new(&c);
      d[j] = driver_new(&c, &m);
      random_state = (uint32_t)i;
      d[j]->delay[0] = 100, d[j]->delay[1] = 50, d[j]->delay[2] = 100;
      d[j]->skip = j == 1;
      feed_product(d[j], &products[i]);
      random_state = (uint32_t)i;
      run(d[j]);
      machine_free(&m);
    }
    assert_int_equal(d[0]->traces, d[1]->traces);
    assert_int_equal(d[0]->cycles, d[1]->cycles);
    assert_true(d[1]->steps < d[0]->steps);
    for (int t = 0; t < d[0]->traces; t++) {
      assert_int_equal(d[0]->trace[t].cycle, d[1]->trace[t].cycle);
      assert_true(d[0]->trace[t].command.rs2 == d[1]->trace[t].command.rs2);
    }
    free(d[0]);
    free(d[1]);
  }
}

/* ---- Order and time of single loops ---- */

static void feed_bounds(driver *d, uint64_t i, uint64_t j, uint64_t k, uint64_t bias, uint64_t c) {
  feed(d, GM_LOOP_WS_BOUNDS, 0, k << 32 | j << 16 | i);
  feed(d, GM_LOOP_WS_ADDRS_AB, 0x100000, 0x200000);
  feed(d, GM_LOOP_WS_ADDRS_DC, bias, c);
  feed(d, GM_LOOP_WS_STRIDES_AB, k * 16, j * 16);
  feed(d, GM_LOOP_WS_STRIDES_DC, j * 16, j * 16);
  feed(d, GM_LOOP_WS, bias != 0, 0);
}

static void check_trace(const driver *d, int at, long cycle, uint8_t funct, uint64_t rs1, uint64_t rs2) {
  assert_true(at < d->traces);
  const traced *t = &d->trace[at];
  if (t->cycle != cycle || t->command.funct != funct || t->command.rs1 != rs1 || t->command.rs2 != rs2)
    fail_msg("command %d: cycle %ld funct %u rs1 %llx rs2 %llx, not cycle %ld funct %u rs1 %llx rs2 %llx", at, t->cycle,
             t->command.funct, (unsigned long long)t->command.rs1, (unsigned long long)t->command.rs2, cycle, funct,
             (unsigned long long)rs1, (unsigned long long)rs2);
}

static uint64_t operand(uint64_t rows, uint64_t cols, uint64_t address) { return rows << 48 | cols << 32 | address; }

/* Followed through the RTL's registers by hand: the run command is taken in cycle 5; all three loads start in 6; B goes
 * first; execute starts in 7, store C in 8; the loads are idle in 9, execute in 11, store C in 12; the loop is all
 * completed in 13 and gone in 14. */
static void a_loop_of_one_tile_takes_the_cycles_of_the_rtl(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  feed_bounds(d, 1, 1, 1, 0, 0x300000);
  run(d);
  assert_int_equal(d->traces, 5);
  check_trace(d, 0, 7, GM_MVIN2, 0x200000, operand(16, 16, 8192 - 16));
  check_trace(d, 1, 8, GM_MVIN, 0x100000, operand(16, 16, 0));
  check_trace(d, 2, 9, GM_PRELOAD, operand(16, 16, 8192 - 16), operand(16, 16, 0x80000000));
  check_trace(d, 3, 10, GM_COMPUTE_PRELOADED, operand(16, 16, 0), operand(16, 16, GM_GARBAGE));
  check_trace(d, 4, 11, GM_MVOUT, 0x300000, operand(16, 16, 0x80000000));
  assert_int_equal(d->cycles, 14);
  free(d);
}

static void execute_walks_k_then_j_then_i_and_preloads_weights_once(void **state) {
  enum { I = 3, J = 2, K = 4 };
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  uint32_t b_start = 8192 - K * J * 16;
  int at = 0;
  feed_bounds(d, I, J, K, 0, 0x300000);
  run(d);
  for (uint32_t k = 0; k < K; k++)
    for (uint32_t j = 0; j < J; j++)
      for (uint32_t i = 0; i < I; i++) {
        while (kind_of(d->trace[at].command.funct) != 1) at++;
        check_trace(d, at, d->trace[at].cycle, GM_PRELOAD, operand(16, 16, i ? GM_GARBAGE : b_start + (k * J + j) * 16),
                    operand(16, 16, 0x80000000 | (k > 0) << 30 | (i * J + j) * 16));
        for (at++; kind_of(d->trace[at].command.funct) != 1;) at++;
        check_trace(d, at, d->trace[at].cycle, i ? GM_COMPUTE_ACCUMULATED : GM_COMPUTE_PRELOADED,
                    operand(16, 16, (i * K + k) * 16), operand(16, 16, GM_GARBAGE));
        at++;
      }
  free(d);
}

/* Load A moves 4 tiles of k at once, so its k jumps 0 -> 4; load B is asked to catch up after every such jump. */
static void loads_of_a_and_b_take_turns_by_k(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  char order[64] = "";
  feed_bounds(d, 2, 2, 8, 0, 0);
  run(d);
  for (int i = 0; i < d->traces; i++)
    if (kind_of(d->trace[i].command.funct) == 0) strcat(order, d->trace[i].command.funct == GM_MVIN ? "A" : "B");
  assert_string_equal(order, "BAABBBAABBBB");
  free(d);
}

static void wide_stores_leave_when_their_last_tile_is_computed(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  int stores = 0;
  feed_bounds(d, 2, 6, 3, 0, 0x300000);
  run(d);
  for (int t = 0, computed = 0; t < d->traces; t++) {
    uint8_t funct = d->trace[t].command.funct;
    computed += funct == GM_COMPUTE_PRELOADED || funct == GM_COMPUTE_ACCUMULATED;
    if (funct != GM_MVOUT) continue;
    int j = stores / 2 * 4, i = stores % 2, last_j = j ? 5 : 3; /* columns 0..3, then 4..5; rows innermost */
    assert_int_equal(gm_cols(d->trace[t].command.rs2), j ? 32 : 64);
    assert_int_equal(d->trace[t].command.rs1, 0x300000 + (i * 96 + j) * 16);
    assert_int_equal(computed, 2 * 12 + last_j * 2 + i + 1); /* no sooner; at once, as stores go first */
    stores++;
  }
  assert_int_equal(stores, 4);
  free(d);
}

static void commands_in_flight_reach_the_limits_and_never_pass_them(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  for (int i = 0; i < 4; i++) feed_bounds(d, 8, 8, 4, 0x400000, 0x300000);
  d->delay[0] = 300, d->delay[1] = 100, d->delay[2] = 2000;
  run(d);
  assert_int_equal(d->most_used[0], 8);
  assert_int_equal(d->most_used[1], 16);
  assert_int_equal(d->most_used[2], 4);
  free(d);
}

static void the_next_loop_loads_into_the_other_half_while_the_first_computes(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  int first_load_of_second = -1, last_compute_of_first = -1, executes = 0;
  feed_bounds(d, 4, 4, 4, 0, 0x300000);
  feed_bounds(d, 4, 4, 4, 0, 0x380000);
  d->delay[1] = 100; /* a consumer that is always ready for execute would leave no cycle to the loads */
  run(d);
  for (int t = 0; t < d->traces; t++) {
    const gm_command *m = &d->trace[t].command;
    if (m->funct == GM_MVIN && gm_local(m->rs2) >= 8192 && first_load_of_second < 0) first_load_of_second = t;
    if (m->funct == GM_PRELOAD)
      assert_int_equal(gm_local(m->rs2) & 0x1fffffff, (executes < 64 ? 0 : 512) + gm_local(m->rs2) % 512);
    if (kind_of(m->funct) == 1 && m->funct != GM_PRELOAD && ++executes == 64) last_compute_of_first = t;
  }
  assert_true(first_load_of_second >= 0 && first_load_of_second < last_compute_of_first);
  assert_int_equal(executes, 128);
  free(d);
}

static void a_third_loop_waits_for_the_first_to_end(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  bool take, from_loop;
  gm_command out;
  char why[256];
  for (int i = 0; i < 3; i++) feed_bounds(d, 1, 1, 1, 0, 0x300000);
  for (int i = 0; i < 12; i++) {
    gm_loop_ws_step(&d->loop, &d->input[i], &take, false, 0, 0, 0, &out, &from_loop, why);
    assert_true(take);
  }
  for (int i = 0; i < 20; i++) { /* nothing leaves while the output is not ready */
    assert_false(gm_loop_ws_step(&d->loop, &d->input[12], &take, false, 0, 0, 0, &out, &from_loop, why));
    assert_false(take);
  }
  assert_true(gm_loop_ws_waiting(&d->loop, false));
  free(d);
}

static void other_commands_pass_only_between_loops(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  driver *d = driver_new(&c, NULL);
  gm_command mvin = {.funct = GM_MVIN, .rs1 = 1, .rs2 = 2}, out = {0};
  bool take, from_loop;
  char why[256];
  assert_false(gm_loop_ws_step(&d->loop, &mvin, &take, false, 0, 0, 0, &out, &from_loop, why));
  assert_false(take);
  assert_true(gm_loop_ws_step(&d->loop, &mvin, &take, true, 0, 0, 0, &out, &from_loop, why));
  assert_true(take && !from_loop && out.funct == GM_MVIN && out.rs1 == 1 && out.rs2 == 2);
  feed_bounds(d, 1, 1, 1, 0, 0);
  for (int i = 0; i < 5; i++) { /* configuration needs no room behind it */
    assert_false(gm_loop_ws_step(&d->loop, &d->input[i], &take, false, 0, 0, 0, &out, &from_loop, why));
    assert_true(take);
  }
  assert_true(
      gm_loop_ws_step(&d->loop, &mvin, &take, true, 0, 0, 0, &out, &from_loop, why)); /* configured, not started */
  assert_false(gm_loop_ws_step(&d->loop, &d->input[5], &take, true, 0, 0, 0, &out, &from_loop, why));
  for (int i = 0; i < 5; i++) {
    assert_true(gm_loop_ws_busy(&d->loop));
    if (gm_loop_ws_step(&d->loop, &mvin, &take, true, 0, 0, 0, &out, &from_loop, why)) assert_true(from_loop);
    assert_false(take);
  }
  free(d);
}

/* ---- Refusals ---- */

static void refused(uint64_t bounds, uint64_t rs1, uint64_t rs2, const char *message) {
  gm_config c = config("gemmini-16x16-int8");
  gm_loop_ws l;
  gm_command bound = {.funct = GM_LOOP_WS_BOUNDS, .rs2 = bounds}, start = {.funct = GM_LOOP_WS, .rs1 = rs1, .rs2 = rs2},
             out;
  bool take, from_loop;
  char why[256];
  gm_loop_ws_init(&l, &c);
  gm_loop_ws_step(&l, &bound, &take, true, 0, 0, 0, &out, &from_loop, why);
  assert_string_equal(why, "");
  assert_false(gm_loop_ws_step(&l, &start, &take, true, 0, 0, 0, &out, &from_loop, why));
  assert_false(take);
  if (!strstr(why, message)) fail_msg("\"%s\" does not say \"%s\"", why, message);
}

static void what_this_machine_does_not_have_is_refused_by_name(void **state) {
  uint64_t one = 1ull << 32 | 1 << 16 | 1;
  refused(one, 3 << 18, 0, "a_spad_id=3");
  refused(one, 3 << 16, 0, "b_spad_id=3");
  refused(one, 0, 4, "is_resadd");
  refused(one, 2 << 8, 0, "layernorm");
  refused(one, 4 << 8, 0, "softmax");
  refused(one, 0, 3, "both be transposed");
  refused(0, 0, 0, "I=0, J=0, K=0");
  refused(1 << 16 | 1, 0, 0, "K=0");
}

static void completions_without_commands_are_an_error(void **state) {
  gm_config c = config("gemmini-16x16-int8");
  gm_loop_ws l;
  gm_command out;
  bool take, from_loop;
  char why[256];
  gm_loop_ws_init(&l, &c);
  assert_false(gm_loop_ws_step(&l, NULL, &take, true, 1, 0, 0, &out, &from_loop, why));
  assert_non_null(strstr(why, "more commands completed"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_stream_computes_the_product),
      cmocka_unit_test(skipping_idle_cycles_changes_nothing),
      cmocka_unit_test(a_loop_of_one_tile_takes_the_cycles_of_the_rtl),
      cmocka_unit_test(execute_walks_k_then_j_then_i_and_preloads_weights_once),
      cmocka_unit_test(loads_of_a_and_b_take_turns_by_k),
      cmocka_unit_test(wide_stores_leave_when_their_last_tile_is_computed),
      cmocka_unit_test(commands_in_flight_reach_the_limits_and_never_pass_them),
      cmocka_unit_test(the_next_loop_loads_into_the_other_half_while_the_first_computes),
      cmocka_unit_test(a_third_loop_waits_for_the_first_to_end),
      cmocka_unit_test(other_commands_pass_only_between_loops),
      cmocka_unit_test(what_this_machine_does_not_have_is_refused_by_name),
      cmocka_unit_test(completions_without_commands_are_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
