/* A small array program for tests: one core multiplies int8 16 x 32 by 32 x 16 in two steps of K, through its memory
 * tile. */
#ifndef TW_TESTS_XDNA2_ARRAY_H
#define TW_TESTS_XDNA2_ARRAY_H

#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "target/xdna2/array/check.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/lower.h"
#include "target/xdna2/array/run.h"
#include "target/xdna2/design.h"
#include "xdna2_cost.h"

static const xd_place small_shim = {0, 0}, small_memory = {0, 1}, small_core = {0, 2};
enum { SMALL_M = 16, SMALL_K = 32, SMALL_N = 16, SMALL_STEP = 16 };
enum { SMALL_A = SMALL_M * SMALL_K, SMALL_B = SMALL_K * SMALL_N, SMALL_C = SMALL_M * SMALL_N * 4 };

static inline xd_config machine_config(void) {
  static xd_config c;
  const tw_embedded *file = tw_embedded_find("xdna2/configs/xdna2.txt");
  tw_error error;
  if (!file || xd_config_parse((const char *)file->data, "xdna2.txt", &c, &error) != TW_OK) abort();
  return c;
}

static inline int add_external(xd_program *p, const char *name, int64_t bytes) {
  xd_buffer b = {.bytes = bytes, .external = true};
  strcpy(b.name, name);
  return XD_ADD(p, buffers, &b);
}

static inline int add_fifo(xd_program *p, const char *name, int64_t bytes, xd_place from, xd_place to, int depth) {
  xd_fifo f = {
      .bytes = bytes, .n_consumers = 1, .producer = {from, depth, 0, {{0}}}, .consumer = {{to, depth, 0, {{0}}}}};
  strcpy(f.name, name);
  return XD_ADD(p, fifos, &f);
}

static inline void add_forward(xd_program *p, int in, int out) {
  const xd_link l = {.n_in = 1, .in = {in}, .n_out = 1, .out = {out}};
  XD_ADD(p, links, &l);
}

/* Blocks of 8x8 out of a row-major matrix with rows of `pitch` bytes: rows/8 x columns/8 blocks. */
static inline void set_blocks(xd_fifo_end *end, int64_t rows, int64_t columns, int64_t pitch, int64_t element) {
  end->n_dims = 4;
  end->dim[0] = (xd_dim){8 * element, 1, 0, 0};
  end->dim[1] = (xd_dim){8, pitch, 0, 0};
  end->dim[2] = (xd_dim){columns / 8, 8 * element, 0, 0};
  end->dim[3] = (xd_dim){rows / 8, 8 * pitch, 0, 0};
}

/* Back: blocks in memory, rows in the stream. */
static inline void set_rows(xd_fifo_end *end, int64_t rows, int64_t columns, int64_t element) {
  end->n_dims = 4;
  end->dim[0] = (xd_dim){8 * element, 1, 0, 0};
  end->dim[1] = (xd_dim){columns / 8, 64 * element, 0, 0};
  end->dim[2] = (xd_dim){8, 8 * element, 0, 0};
  end->dim[3] = (xd_dim){rows / 8, 8 * columns * element, 0, 0};
}

static inline void add_op(xd_core *core, xd_op_kind kind, int port, int64_t count) {
  bool failed = false;
  const xd_op op = {.kind = kind, .count = count, .port = port, .parameter = -1};
  xd_append(&core->ops, sizeof op, &op, &failed);
}

static inline void add_task(xd_program *p, int channel, int buffer, xd_pattern pattern, bool token) {
  const xd_descriptor d = {.channel = channel,
                           .id = -1,
                           .buffer = buffer,
                           .pattern = pattern,
                           .iterations = 1,
                           .acquire.lock = -1,
                           .release.lock = -1,
                           .next = -1};
  const int at = XD_ADD(p, descriptors, &d);
  const xd_command start = {.kind = XD_START, .channel = channel, .descriptor = at, .repeat = 1, .token = token};
  XD_ADD(p, sequence, &start);
}

static inline void add_await(xd_program *p, int channel) {
  const xd_command await = {.kind = XD_AWAIT, .channel = channel};
  XD_ADD(p, sequence, &await);
}

/* The core's program, with the ports of A, B and C. */
static inline xd_core small_program(const xd_config *c, int a, int b, int out) {
  xd_core core = {.tile = small_core};
  bool failed = false;
  add_op(&core, XD_LOOP, 0, -1);
  add_op(&core, XD_ACQUIRE, out, 1);
  const xd_op zero = {.kind = XD_CALL,
                      .call = {.function = xd_function_find("zero"), .n = SMALL_C},
                      .n_arguments = 1,
                      .argument = {{out, 0, 0}},
                      .parameter = -1};
  xd_append(&core.ops, sizeof zero, &zero, &failed);
  add_op(&core, XD_LOOP, 0, SMALL_K / SMALL_STEP);
  add_op(&core, XD_ACQUIRE, a, 1);
  add_op(&core, XD_ACQUIRE, b, 1);
  const xd_op matmul = {
      .kind = XD_CALL,
      .call = {.function = xd_function_find("matmul_i8"),
               .m = SMALL_M,
               .k = SMALL_STEP,
               .n = SMALL_N,
               .micro = xd_find_kernel(c, "int8", TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE)},
      .n_arguments = 3,
      .argument = {{a, 0, 0}, {b, 0, 0}, {out, 0, 0}},
      .parameter = -1};
  xd_append(&core.ops, sizeof matmul, &matmul, &failed);
  add_op(&core, XD_RELEASE, a, 1);
  add_op(&core, XD_RELEASE, b, 1);
  add_op(&core, XD_END, 0, 0);
  add_op(&core, XD_RELEASE, out, 1);
  add_op(&core, XD_END, 0, 0);
  return core;
}

/* FIFOs in order: A to memory, A to core, B to memory, B to core, C to memory, C to shim. Not lowered yet. */
static inline xd_program small_gemm(const xd_config *c) {
  xd_program p = {0};
  for (int i = 0; i < 3; i++)
    add_external(&p, (const char *[]){"A", "B", "C"}[i], (int[]){SMALL_A, SMALL_B, SMALL_C}[i]);
  add_fifo(&p, "a_in", SMALL_M * SMALL_STEP, small_shim, small_memory, 2);
  add_fifo(&p, "a", SMALL_M * SMALL_STEP, small_memory, small_core, 2);
  add_fifo(&p, "b_in", SMALL_STEP * SMALL_N, small_shim, small_memory, 2);
  add_fifo(&p, "b", SMALL_STEP * SMALL_N, small_memory, small_core, 2);
  add_fifo(&p, "c", SMALL_C, small_core, small_memory, 2);
  add_fifo(&p, "c_out", SMALL_C, small_memory, small_shim, 2);
  set_blocks(&p.fifos.at[1].producer, SMALL_M, SMALL_STEP, SMALL_STEP, 1);
  set_blocks(&p.fifos.at[3].producer, SMALL_STEP, SMALL_N, SMALL_N, 1);
  set_rows(&p.fifos.at[5].producer, SMALL_M, SMALL_N, 4);
  for (int i = 0; i < 6; i += 2) add_forward(&p, i, i + 1);
  const int a = xd_fifo_port(&p, 1, small_core), b = xd_fifo_port(&p, 3, small_core),
            out = xd_fifo_port(&p, 4, small_core);
  const xd_core core = small_program(c, a, b, out);
  XD_ADD(&p, cores, &core);
  return p;
}

/* Lowers, and moves the operands once: A by columns of SMALL_STEP, B by rows, C whole. */
static inline tw_status small_lower(const xd_config *c, xd_program *p, tw_error *error) {
  tw_status status = xd_lower(c, p, error);
  if (status != TW_OK) return status;
  const xd_pattern a = {
      0, 3, {{SMALL_STEP, 1, 0, 0}, {SMALL_M, SMALL_K, 0, 0}, {SMALL_K / SMALL_STEP, SMALL_STEP, 0, 0}}};
  add_task(p, p->fifos.at[5].sink[0], 2, xd_linear(0, SMALL_C), true);
  add_task(p, p->fifos.at[0].source, 0, a, false);
  add_task(p, p->fifos.at[2].source, 1, xd_linear(0, SMALL_B), false);
  add_await(p, p->fifos.at[5].sink[0]);
  status = xd_number_descriptors(c, p, error);
  return status == TW_OK ? xd_check(c, p, error) : status;
}

#endif
