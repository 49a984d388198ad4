/* normalize.c - writes kernels for layernorm and softmax (op/layernorm.c, op/softmax.c): `warps` warps read a row once, keep
 * it in registers as floats, and write it once. */
#include "tile/rows_language.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 64, ROWS_USUAL_WARPS = 8 }; /* floats of a row that a thread keeps; warps of a block */

static tw_status settle(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  const int64_t cols = tw_problem_int(p, "cols"), rows = tw_problem_int(p, "rows");
  const int64_t chunk = TW_TILE_CHUNK / tw_tile_type_bytes(tw_problem_type(p, "a"));
  if (cols % chunk)
    return tw_fail(error, TW_USAGE,
                   "unsupported cols=%lld; rows are read 16 bytes at a time, so expected a multiple of %lld",
                   (long long)cols, (long long)chunk);
  if (!plan->warps)
    for (plan->warps = 1; plan->warps < 32 && cols > (int64_t)plan->warps * machine->warp_threads * 16;)
      plan->warps *= 2;
  if (!plan->rows) plan->rows = plan->warps < ROWS_USUAL_WARPS ? ROWS_USUAL_WARPS / plan->warps : 1;
  const int64_t threads = (int64_t)plan->warps * machine->warp_threads;
  if (threads * plan->rows > machine->block_threads)
    return tw_fail(error, TW_USAGE, "%d rows of %d warps exceed the %d threads of a block; use fewer", plan->rows,
                   plan->warps, machine->block_threads);
  const int64_t each = (cols / chunk + threads - 1) / threads;
  if (each * chunk > VALUES_MAX)
    return tw_fail(error, TW_USAGE, "row warps=%d: %lld elements per thread exceed its registers; use more warps",
                   plan->warps, (long long)(each * chunk));
  plan->chunks = each * (strcmp(p->op->name, "layernorm") == 0 && tw_problem_int(p, "residual") ? 2 : 1);
  plan->block_threads = threads * plan->rows;
  plan->blocks = (rows + plan->rows - 1) / plan->rows;
  return TW_OK;
}

typedef struct writer {
  tw_tile_rows_plan plan;
  const tw_problem *problem;
  const char *once;
  bool whole; /* every thread has as many chunks */
  int warp;   /* its threads */
  tw_text text;
} writer;

static writer begin(const tw_tile_machine *machine, const tw_problem *p, const void *plan) {
  writer of = {.plan = *(const tw_tile_rows_plan *)plan, .problem = p, .warp = machine->warp_threads}, *w = &of;
  const tw_type type = tw_problem_type(p, "a");
  const int64_t chunk = TW_TILE_CHUNK / tw_tile_type_bytes(type), chunks = tw_problem_int(p, "cols") / chunk;
  const int64_t threads = (int64_t)w->plan.warps * w->warp;
  w->once = w->plan.once ? "_once" : "";
  w->whole = chunks % threads == 0;
  tw_text_add(&w->text, "//: kernel    %s\n//: let       COLS = %lld, WARPS = %d, ROWS = %d, EACH = %lld\n",
              p->op->name, (long long)(chunks * chunk), w->plan.warps, w->plan.rows,
              (long long)((chunks + threads - 1) / threads));
  tw_text_add(&w->text,
              "//: require   cols == COLS\n//: grid      ceildiv(rows, ROWS)\n//: block     ROWS * WARPS * %d\n",
              w->warp);
  return of;
}

static void write_head(writer *w, const tw_tile_machine *machine) {
  tw_text_add(&w->text, "#include \"%s\"\nusing namespace tw;\nusing type = %s;\n\n", machine->header,
              tw_tile_type_word(tw_problem_type(w->problem, "a")));
}

/* Which row and which chunks are the thread's. Threads without a row work on the last one and store nothing: all of a block
 * meet at its reductions. */
static void write_place(writer *w, int scratches) {
  tw_text *t = &w->text;
  if (w->plan.warps > 1)
    tw_text_add(t, "  __shared__ float scratch[%d][ROWS * WARPS];\n", scratches);
  else
    tw_text_add(t, "  float *const scratch[%d] = {};\n", scratches);
  tw_text_add(t,
              "  const int thread = thread_of_block() %% (WARPS * %d), own = block_of_grid() * ROWS + "
              "thread_of_block() / (WARPS * %d);\n",
              w->warp, w->warp);
  tw_text_add(t, "  const int row = own < rows ? own : rows - 1;\n  const i64 at = (i64)row * COLS;\n");
}

/* The loop over the thread's chunks: `c` is the chunk's first column. */
static void write_each(writer *w, const char *body) {
  tw_text_add(&w->text, "#pragma unroll\n  for (int i = 0; i < EACH; i++) {\n");
  if (!w->whole || strstr(body, "+ c") || strstr(body, "(c + "))
    tw_text_add(&w->text, "    const int c = (i * WARPS * %d + thread) * chunk<type>::count;\n", w->warp);
  tw_text_add(&w->text, "%s%s  }\n", w->whole ? "" : "    if (c >= COLS) continue;\n", body);
}

static const char ZERO[] =
    "  chunk<type> value[EACH];\n#pragma unroll\n  for (int i = 0; i < EACH; i++)\n#pragma unroll\n"
    "    for (int j = 0; j < chunk<type>::count; j++) value[i].value[j] = %s;\n";

static void write_layernorm(const tw_tile_machine *machine, const tw_problem *p, const void *plan, tw_text *out) {
  writer w = begin(machine, p, plan);
  tw_text *t = &w.text;
  const bool residual = tw_problem_int(p, "residual"), rms = tw_problem_int(p, "norm") == 1;
  const double dropout = tw_problem_real(p, "dropout");
  char body[900];
  tw_text_add(t, "//: args      x, %sweight, %s%sy, %srows, f32(eps)%s\n", residual ? "residual, " : "",
              rms ? "" : "bias, ", dropout > 0 ? "seed, " : "", residual ? "sum, " : "",
              dropout > 0 ? ", f32(dropout)" : "");
  write_head(&w, machine);
  tw_text_add(t,
              "TW_KERNEL(ROWS * WARPS * %d, 1) layernorm(const type *x, %sconst type *weight, %s%stype *y, %sint rows, "
              "float eps%s) {\n",
              w.warp, residual ? "const type *residual, " : "", rms ? "" : "const type *bias, ",
              dropout > 0 ? "const u32 *seed, " : "", residual ? "type *sum, " : "",
              dropout > 0 ? ", float dropout" : "");
  write_place(&w, 2);
  tw_text_add(t, "  vec16 in[EACH]%s;\n", residual ? ", more[EACH]" : "");
  snprintf(body, sizeof body, "    in[i] = load16%s(x + at + c);\n%s%s%s", w.once,
           residual ? "    more[i] = load16" : "", residual ? w.once : "", residual ? "(residual + at + c);\n" : "");
  write_each(&w, body);
  if (dropout > 0)
    tw_text_add(
        t,
        "  /* Drawn again on the host: op/layernorm.c. */\n"
        "  const u32 threshold = %uu, key0 = seed[0], key1 = seed[1];\n  const float factor = 1.f / (1.f - dropout);\n",
        (unsigned)(dropout * 0x1p32));
  tw_text_add(t, ZERO, "0");
  tw_text_add(t, "  float total = 0;\n");
  snprintf(
      body, sizeof body,
      "    value[i].unpack(in[i]);\n%s%s%s    for (int j = 0; j < chunk<type>::count; j++) total += "
      "value[i].value[j]%s;\n",
      dropout > 0
          ? "#pragma unroll\n    for (int j = 0; j < chunk<type>::count; j += 4) {\n"
            "      const philox draw((u32)(c + j) / 4, (u32)row, key0, key1);\n#pragma unroll\n"
            "      for (int l = 0; l < 4; l++)\n"
            "        value[i].value[j + l] = draw.word[l] >= threshold ? value[i].value[j + l] * factor : 0.f;\n    }\n"
          : "",
      residual ? "    chunk<type> added;\n    added.unpack(more[i]);\n#pragma unroll\n"
                 "    for (int j = 0; j < chunk<type>::count; j++) value[i].value[j] += added.value[j];\n"
               : "",
      "#pragma unroll\n", rms ? " * value[i].value[j]" : "");
  write_each(&w, body);
  if (residual) {
    snprintf(body, sizeof body, "    if (own < rows) store16%s(sum + at + c, value[i].packed());\n", w.once);
    write_each(&w, body);
  }
  if (rms) {
    tw_text_add(
        t, "  const float scale = rsqrt_fast(over_warps<sum_of, WARPS>(total, scratch[0]) / COLS + eps), mean = 0;\n");
  } else {
    tw_text_add(t, "  const float mean = over_warps<sum_of, WARPS>(total, scratch[0]) / COLS;\n  float square = 0;\n");
    write_each(&w, "#pragma unroll\n    for (int j = 0; j < chunk<type>::count; j++)\n"
                   "      square += (value[i].value[j] - mean) * (value[i].value[j] - mean);\n");
    tw_text_add(t, "  const float scale = rsqrt_fast(over_warps<sum_of, WARPS>(square, scratch[1]) / COLS + eps);\n");
  }
  snprintf(body, sizeof body,
           "    chunk<type> factor_of%s, out;\n    factor_of.unpack(load16(weight + c));\n%s#pragma unroll\n"
           "    for (int j = 0; j < chunk<type>::count; j++)\n"
           "      out.value[j] = (value[i].value[j] - mean) * scale * factor_of.value[j]%s;\n"
           "    if (own < rows) store16%s(y + at + c, out.packed());\n",
           rms ? "" : ", offset", rms ? "" : "    offset.unpack(load16(bias + c));\n", rms ? "" : " + offset.value[j]",
           w.once);
  write_each(&w, body);
  tw_text_add(t, "}\n");
  *out = w.text;
}

static void write_softmax(const tw_tile_machine *machine, const tw_problem *p, const void *plan, tw_text *out) {
  writer w = begin(machine, p, plan);
  tw_text *t = &w.text;
  char body[400];
  tw_text_add(t, "//: args      x, y, rows\n");
  write_head(&w, machine);
  tw_text_add(t, "TW_KERNEL(ROWS * WARPS * %d, 1) softmax(const type *x, type *y, int rows) {\n", w.warp);
  write_place(&w, 2);
  tw_text_add(t, "  vec16 in[EACH];\n");
  snprintf(body, sizeof body, "    in[i] = load16%s(x + at + c);\n", w.once);
  write_each(&w, body);
  tw_text_add(t, ZERO, "-infinity()");
  tw_text_add(t, "  float most = value[0].value[0];\n");
  write_each(&w, "    value[i].unpack(in[i]);\n#pragma unroll\n"
                 "    for (int j = 0; j < chunk<type>::count; j++) most = fmaxf(most, value[i].value[j]);\n");
  tw_text_add(t,
              "  most = over_warps<max_of, WARPS>(most, scratch[0]);\n  float total = 0;\n#pragma unroll\n"
              "  for (int i = 0; i < EACH; i++)\n#pragma unroll\n    for (int j = 0; j < chunk<type>::count; j++) {\n"
              "      value[i].value[j] = exp2_fast((value[i].value[j] - most) * 1.44269504f);\n"
              "      total += value[i].value[j];\n    }\n"
              "  const float factor = 1.f / over_warps<sum_of, WARPS>(total, scratch[1]);\n");
  snprintf(body, sizeof body,
           "#pragma unroll\n    for (int j = 0; j < chunk<type>::count; j++) value[i].value[j] *= factor;\n"
           "    if (own < rows) store16%s(y + at + c, value[i].packed());\n",
           w.once);
  write_each(&w, body);
  tw_text_add(t, "}\n");
  *out = w.text;
}

const tw_tile_family tw_tile_layernorm = {.language = &tw_tile_row_language,
                                          .plan_size = sizeof(tw_tile_rows_plan),
                                          .settle = settle,
                                          .offers = tw_tile_rows_offers,
                                          .write = write_layernorm};

const tw_tile_family tw_tile_softmax = {.language = &tw_tile_row_language,
                                        .plan_size = sizeof(tw_tile_rows_plan),
                                        .settle = settle,
                                        .offers = tw_tile_rows_offers,
                                        .write = write_softmax};
