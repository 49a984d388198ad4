/* conv.c - writes the kernels of a convolution of tiles; conv_kernel.h has their structure. One group copies, the others
 * multiply, as in gemm.c; a stage holds all parts of its factors, so that each is copied once for all products.
 *
 * Written images are [part][image][z][y][x][channel], channel ((f_z F_y + f_y) F_x + f_x) c + channel of the input: the place
 * x * stride + f_x - pad of the input. What the last rectangles have beyond the image arrives as zeros and is not stored. */
#include "tile/conv_kernel.h"

#include <inttypes.h>

#include "base/strings.h"
#include "tile/gemm_warp_specialized.h"

typedef struct writer {
  const tw_tile_machine *machine;
  tw_conv v;
  tw_tile_conv_plan p;
  tw_text text;
} writer;

static void write_constants(writer *w) {
  const tw_conv *v = &w->v;
  const tw_tile_conv_plan *p = &w->p;
  const tw_tile_parts x = p->products ? tw_tile_parts_of(p->products) : (tw_tile_parts){1, 0, 0};
  tw_text *t = &w->text;
  static const char axis[] = "ZYX";
  tw_text_add(t, "//: let       X = %d, Y = %d, BN = %d, BK = %d, GROUPS = %d, STAGES = %d\n", p->x, p->y, p->n, p->k,
              p->groups, p->stages);
  tw_text_add(t, "//: let       PRODUCTS = %d, PLANES = %d, A_PLANES = %d, B_PLANES = %d\n",
              p->products ? p->products : 1, x.planes, x.a, x.b);
  if (p->promote) tw_text_add(t, "//: let       TOGETHER = %d\n", p->promote / p->k);
  if (v->images_first) tw_text_add(t, "//: let       WIDTH = %d\n", p->width);
  tw_text_add(t,
              "//: let       IMAGES = %" PRId64 ", CHANNELS = %" PRId64 ", OUTPUTS = %" PRId64 ", STRIDE = %" PRId64
              ", DEEP = %d, PADDED = %d\n",
              v->n, v->c, v->k, v->stride, p->channels, p->padded);
  for (int d = 0; d < TW_CONV_DIMS; d++)
    tw_text_add(t,
                "//: let       IN_%c = %" PRId64 ", OUT_%c = %" PRId64 ", WINDOW_%c = %" PRId64 ", PAD_%c = %" PRId64
                ", F_%c = %d, T_%c = %d, WIDE_%c = %" PRId64 "\n",
                axis[d], v->in[d], axis[d], v->out[d], axis[d], v->window[d], axis[d], v->pad[d], axis[d], p->folded[d],
                axis[d], p->taps[d], axis[d], v->out[d] + p->taps[d] - 1);
  tw_text_add(
      t, "//: let       IMAGE = WIDE_Z * WIDE_Y * WIDE_X * PADDED * 2, WEIGHT = T_Z * T_Y * T_X * PADDED * 2\n"
         "//: let       W_AT = PLANES * IMAGES * IMAGE, BLOCKS_X = ceildiv(OUT_X, X), BLOCKS_Y = ceildiv(OUT_Y, Y)\n"
         "//: let       BLOCKS = IMAGES * OUT_Z * BLOCKS_Y * BLOCKS_X, COLUMNS = ceildiv(OUTPUTS, BN)\n"
         "//: let       TILES = ceildiv(BLOCKS, GROUPS) * COLUMNS\n");
}

static void write_launch(writer *w) {
  const tw_conv *v = &w->v;
  const tw_tile_conv_plan *p = &w->p;
  tw_text *t = &w->text;
  const char *type = tw_type_name(p->products ? TW_BF16 : v->input);
  if (v->in[0] > 1 || v->window[0] > 1) tw_text_add(t, "//: require   d == IN_Z && t == WINDOW_Z\n");
  tw_text_add(
      t, "//: require   n == IMAGES && c == CHANNELS && k == OUTPUTS && h == IN_Y && w == IN_X && stride == STRIDE\n"
         "//: require   r == WINDOW_Y && s == WINDOW_X && pad == PAD_X\n"
         "//: workspace W_AT + PLANES * OUTPUTS * WEIGHT\n");
  tw_text_add(
      t,
      "//: map       a = workspace(%s, 0) dims(PADDED, WIDE_X, WIDE_Y, WIDE_Z, IMAGES * PLANES) pitch(PADDED * 2, "
      "WIDE_X * PADDED * 2, WIDE_Y * WIDE_X * PADDED * 2, IMAGE) box(BK, X, Y, 1, 1) swizzle(BK * 2) l2(256)\n"
      "//: map       b = workspace(%s, W_AT) dims(T_Z * T_Y * T_X * PADDED, OUTPUTS, PLANES) pitch(WEIGHT, OUTPUTS * "
      "WEIGHT) box(BK, BN, 1) swizzle(BK * 2) l2(256)\n",
      type, type);
  tw_text_add(t, "//: before    gather\n"
                 "//: grid      ceildiv(IMAGES * WIDE_Z * WIDE_Y * WIDE_X * (PADDED / 8), 256)\n//: block     256\n"
                 "//: args      input, workspace\n"
                 "//: before    turn\n//: grid      ceildiv(OUTPUTS * T_Z * T_Y * T_X * (PADDED / 8), 256)\n"
                 "//: block     256\n//: args      weights, workspace(W_AT)\n");
  tw_text_add(
      t,
      "//: kernel    conv\n//: grid      min(sms, TILES)\n//: block     (GROUPS + 1) * %d\n//: shared    %" PRId64
      "\n//: args      a, b, output%s%s\n",
      w->machine->group_threads, p->shared_bytes, v->bias ? ", bias" : "", v->scale == 1.0f ? "" : ", f32(scale)");
}

/* Offsets of an element of images and weights, as their layout has it. */
static void write_offsets(writer *w) {
  const tw_conv *v = &w->v;
  tw_text *t = &w->text;
  tw_text_add(t,
              "TW_FN i64 at_input(int n, int z, int y, int x, int c) {\n  return %s;\n}\n"
              "TW_FN i64 at_output(int n, int z, int y, int x, int k) {\n  return %s;\n}\n",
              v->images_first ? "((((i64)n * CHANNELS + c) * IN_Z + z) * IN_Y + y) * IN_X + x"
                              : "((((i64)n * IN_Z + z) * IN_Y + y) * IN_X + x) * CHANNELS + c",
              v->images_first ? "((((i64)n * OUTPUTS + k) * OUT_Z + z) * OUT_Y + y) * OUT_X + x"
                              : "((((i64)n * OUT_Z + z) * OUT_Y + y) * OUT_X + x) * OUTPUTS + k");
  static const char *const weights[] = {
      [TW_CONV_WINDOW_FIRST] = "(((z * WINDOW_Y + y) * WINDOW_X + x) * CHANNELS + c) * OUTPUTS + k",
      [TW_CONV_CHANNELS_LAST] = "(((k * WINDOW_Z + z) * WINDOW_Y + y) * WINDOW_X + x) * CHANNELS + c",
      [TW_CONV_CHANNELS_FIRST] = "(((k * CHANNELS + c) * WINDOW_Z + z) * WINDOW_Y + y) * WINDOW_X + x"};
  tw_text_add(t, "TW_FN int at_weights(int k, int z, int y, int x, int c) {\n  return %s;\n}\n\n", weights[v->layout]);
}

static const char before[] =
    "/* Which channel of the input, and which place of a stride or a window, is the i-th of what is written. */\n"
    "struct source {\n"
    "  int z, y, x, c;\n"
    "  TW_FN source(int i) : c(i % CHANNELS) {\n"
    "    i /= CHANNELS;\n"
    "    x = i % F_X;\n"
    "    y = i / F_X % F_Y;\n"
    "    z = i / F_X / F_Y;\n"
    "  }\n"
    "  TW_FN void next() {\n"
    "    if (++c < CHANNELS) return;\n"
    "    c = 0;\n"
    "    if (++x < F_X) return;\n"
    "    x = 0;\n"
    "    if (++y < F_Y) return;\n"
    "    y = 0;\n"
    "    z++;\n"
    "  }\n"
    "};\n"
    "\n"
    "/* Eight channels of a place; neighbouring threads write up to 128 bytes that follow one another. */\n"
    "TW_KERNEL(256, 4) gather(const element *from, type *to) {\n"
    "  constexpr int low = PADDED / 8 < 8 ? PADDED / 8 : 8, high = PADDED / 8 / low;\n"
    "  const i64 id = (i64)block_of_grid() * 256 + thread_of_block(), id_x = id / low, id_y = id_x / WIDE_X, line = "
    "id_y / "
    "high;\n"
    "  const int x = (int)(id_x % WIDE_X), group = (int)(id_y % high) * low + (int)(id % low);\n"
    "  const int y = (int)(line % WIDE_Y), z = (int)(line / WIDE_Y % WIDE_Z), n = (int)(line / WIDE_Y / WIDE_Z);\n"
    "  if (n >= IMAGES) return;\n"
    "  float value[8];\n"
    "  source s(group * 8);\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < 8; i++, s.next()) {\n"
    "    const int at_x = x * STRIDE + s.x - PAD_X, at_y = y * STRIDE + s.y - PAD_Y, at_z = z * STRIDE + s.z - PAD_Z;\n"
    "    const bool inside = group * 8 + i < DEEP && at_x >= 0 && at_x < IN_X && at_y >= 0 && at_y < IN_Y && at_z >= 0 "
    "&& "
    "at_z < IN_Z;\n"
    "    value[i] = inside ? number(from[at_input(n, at_z, at_y, at_x, s.c)]) : 0.f;\n"
    "  }\n"
    "  store_parts<PLANES>(to + (line * WIDE_X + x) * PADDED + group * 8, (i64)IMAGES * (IMAGE / 2), value);\n"
    "}\n"
    "\n"
    "TW_KERNEL(256, 4) turn(const element *from, type *to) {\n"
    "  const i64 id = (i64)block_of_grid() * 256 + thread_of_block();\n"
    "  const int group = (int)(id % (PADDED / 8)), tap = (int)(id / (PADDED / 8) % (T_Z * T_Y * T_X));\n"
    "  const int k = (int)(id / (PADDED / 8) / (T_Z * T_Y * T_X));\n"
    "  if (k >= OUTPUTS) return;\n"
    "  float value[8];\n"
    "  source s(group * 8);\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < 8; i++, s.next()) {\n"
    "    const int x = tap % T_X * STRIDE + s.x, y = tap / T_X % T_Y * STRIDE + s.y, z = tap / T_X / T_Y * STRIDE + "
    "s.z;\n"
    "    const bool inside = group * 8 + i < DEEP && x < WINDOW_X && y < WINDOW_Y && z < WINDOW_Z;\n"
    "    value[i] = inside ? number(from[at_weights(k, z, y, x, s.c)]) : 0.f;\n"
    "  }\n"
    "  store_parts<PLANES>(to + (i64)k * (WEIGHT / 2) + tap * PADDED + group * 8, (i64)OUTPUTS * (WEIGHT / 2), "
    "value);\n"
    "}\n"
    "\n"
    "using a_tile = shared<type, GROUPS * 64, BK>;\n"
    "using b_tile = shared<type, BN, BK>;\n"
    "constexpr int CHUNKS = PADDED / BK, STEPS = T_Z * T_Y * T_X * CHUNKS;\n"
    "\n"
    "/* The first place of a rectangle. */\n"
    "struct corner {\n"
    "  int n, z, y, x;\n"
    "  TW_FN corner(int block)\n"
    "      : n(block / (BLOCKS_X * BLOCKS_Y * OUT_Z)), z(block / (BLOCKS_X * BLOCKS_Y) % OUT_Z), y(block / BLOCKS_X % "
    "BLOCKS_Y * Y), x(block % BLOCKS_X * X) {}\n"
    "};\n\n";

static const char copies[] =
    "    if (thread_of_block() == 0) {\n"
    "      ring<STAGES> at;\n"
    "      for (int t = block_of_grid(); t < TILES; t += blocks_of_grid()) {\n"
    "        const int column = t % COLUMNS * BN, block = t / COLUMNS * GROUPS;\n"
    "        for (int s = 0; s < STEPS; s++, at.next()) {\n"
    "          const int channel = s % CHUNKS * BK, tap = s / CHUNKS;\n"
    "          const int tx = tap % T_X, ty = tap / T_X % T_Y, tz = tap / T_X / T_Y;\n"
    "          empty[at.slot].wait(at.parity ^ 1);\n"
    "          full[at.slot].expect(PLANES * (a_tile::bytes + b_tile::bytes));\n"
    "#pragma unroll\n"
    "          for (int p = 0; p < PLANES; p++) {\n"
    "#pragma unroll\n"
    "            for (int g = 0; g < GROUPS; g++) {\n"
    "              const corner o(block + g);\n"
    "              copy_box(part(as[at.slot * PLANES + p], 0, g * 64), a, p * IMAGES + o.n, o.z + tz, o.y + ty, o.x + "
    "tx, "
    "channel, full[at.slot]);\n"
    "            }\n"
    "            copy_plane(bs[at.slot * PLANES + p], b, p, column, tap * PADDED + channel, full[at.slot]);\n"
    "          }\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "  } else { /* multiply */\n";

static void write_multiply(writer *w) {
  const tw_tile_conv_plan *p = &w->p;
  tw_text *t = &w->text;
  const bool promote = p->promote;
  tw_text_add_string(t, "    const int worker = group - 1, thread = thread_of_group();\n    ring<STAGES> at;\n"
                        "    acc<64, BN> sums;\n");
  if (promote) tw_text_add_string(t, "    acc<64, BN> some; /* of TOGETHER steps */\n");
  tw_text_add_string(t, "    for (int t = block_of_grid(); t < TILES; t += blocks_of_grid()) {\n"
                        "      int before = 0;\n");
  tw_text_add_string(t, promote ? "      clear(sums);\n      for (int s = 0; s < STEPS;) {\n"
                                  "        const int first = s, end = min(s + TOGETHER, STEPS);\n"
                                  "        for (; s < end; s++, at.next()) {\n"
                                : "      const int first = 0;\n      {\n"
                                  "        for (int s = 0; s < STEPS; s++, at.next()) {\n");
  tw_text_add(
      t,
      "          full[at.slot].wait(at.parity);\n          mma_begin();\n#pragma unroll\n"
      "          for (int i = 0; i < PRODUCTS; i++)\n"
      "            mma_abt(%s, as[at.slot * PLANES + (A_PLANES >> 4 * i & 15)], bs[at.slot * PLANES + (B_PLANES >> 4 * "
      "i & 15)], i > 0 || s > first, worker * 64);\n"
      "          mma_commit();\n          if (s > first) {\n            mma_wait<1>();\n"
      "            if (thread == 0) empty[before].arrive();\n          }\n          before = at.slot;\n        }\n"
      "        mma_wait<0>();\n        mma_settle(%s);\n        if (thread == 0) empty[before].arrive();\n%s      }\n",
      promote ? "some" : "sums", promote ? "some" : "sums", promote ? "        add(sums, some);\n" : "");
}

static void write_value(writer *w) {
  const tw_conv *v = &w->v;
  tw_text *t = &w->text;
  if (v->bias) tw_text_add(t, "          v += bias[k];\n");
  if (v->scale != 1.0f) tw_text_add(t, "          v *= scale;\n");
  if (v->relu) tw_text_add(t, "          v = v < 0 ? 0 : v;\n");
}

/* Channels last: as threads hold them, two neighbours each. */
static void write_store_last(writer *w) {
  tw_text *t = &w->text;
  tw_text_add_string(
      t, "#pragma unroll\n"
         "      for (int h = 0; h < 2; h++) {\n"
         "        const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * h, y = o.y + row / X, x = o.x + row % X;\n"
         "        if (block >= BLOCKS || y >= OUT_Y || x >= OUT_X) continue;\n"
         "#pragma unroll\n"
         "        for (int i = 0; i < BN / 4; i++) {\n"
         "          const int k = column + i / 2 * 8 + thread % 4 * 2 + i % 2;\n"
         "          if (k >= OUTPUTS) continue;\n"
         "          float v = sums.value[0][i / 2 * 4 + 2 * h + i % 2];\n");
  write_value(w);
  tw_text_add_string(t, "          set(output[at_output(o.n, o.z, y, x, k)], v);\n        }\n      }\n    }\n  }\n}\n");
}

/* Images first: turned in shared memory, some channels at a time, so that neighbouring threads store neighbouring places. */
static void write_store_first(writer *w) {
  tw_text *t = &w->text;
  tw_text_add_string(t, "      const int place = thread % 64, y = o.y + place / X, x = o.x + place % X;\n"
                        "      const bool inside = block < BLOCKS && y < OUT_Y && x < OUT_X;\n"
                        "      const auto to = output + (inside ? at_output(o.n, o.z, y, x, 0) : 0);\n"
                        "#pragma unroll\n"
                        "      for (int j = 0; j < BN / WIDTH; j++) {\n"
                        "        sync(1 + worker, group_threads); /* all have read what was here */\n"
                        "        turned.lay(worker, sums.value[0], j * WIDTH);\n"
                        "        sync(1 + worker, group_threads);\n"
                        "#pragma unroll\n"
                        "        for (int i = 0; i < WIDTH; i += 2) {\n"
                        "          const int c = i + thread / 64, k = column + j * WIDTH + c;\n"
                        "          if (!inside || k >= OUTPUTS) continue;\n"
                        "          float v = turned.at(worker, c, place);\n");
  write_value(w);
  tw_text_add_string(t, "          set(to[(i64)k * (OUT_Z * OUT_Y * OUT_X)], v);\n        }\n      }\n    }\n  }\n}\n");
}

static void write_store(writer *w) {
  tw_text_add_string(&w->text, "      const int column = t % COLUMNS * BN, block = t / COLUMNS * GROUPS + worker;\n"
                               "      const corner o(block);\n");
  if (w->v.images_first)
    write_store_first(w);
  else
    write_store_last(w);
}

tw_status tw_tile_conv_write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *out,
                             tw_error *error) {
  (void)error;
  writer w = {.machine = machine, .v = tw_tile_conv_of(problem), .p = *(const tw_tile_conv_plan *)plan};
  tw_text *t = &w.text;
  write_constants(&w);
  write_launch(&w);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\nusing element = %s;\nusing type = %s;\n\n", machine->header,
              tw_tile_type_word(w.v.input), tw_tile_type_word(w.p.products ? TW_BF16 : w.v.input));
  write_offsets(&w);
  tw_text_add_string(t, before);
  tw_text_add(
      t,
      "TW_KERNEL((GROUPS + 1) * group_threads, 1) conv(TW_TENSOR a, TW_TENSOR b, %s *output%s%s) {\n"
      "  arena memory;\n  const auto as = memory.take<many<a_tile, STAGES * PLANES>>();\n"
      "  const auto bs = memory.take<many<b_tile, STAGES * PLANES>>();\n"
      "%s"
      "  const auto full = memory.take<barriers<STAGES>>(), empty = memory.take<barriers<STAGES>>();\n"
      "  const int group = group_of_block();\n  if (thread_of_block() == 0) {\n    prefetch(a);\n    prefetch(b);\n"
      "    for (int i = 0; i < STAGES; i++) {\n      full[i].init(1);\n      empty[i].init(GROUPS);\n    }\n"
      "    barriers_ready();\n  }\n  sync_block();\n  if (group == 0) { /* copies */\n",
      tw_tile_type_word(w.v.output), w.v.bias ? ", const float *bias" : "", w.v.scale == 1.0f ? "" : ", float scale",
      w.v.images_first ? "  const auto turned = memory.take<turned_sums<GROUPS, WIDTH>>();\n" : "");
  if (w.p.registers_copy) tw_text_add(t, "    give_registers<%d>();\n", w.p.registers_copy);
  tw_text_add_string(t, copies);
  if (w.p.registers_multiply) tw_text_add(t, "    take_registers<%d>();\n", w.p.registers_multiply);
  write_multiply(&w);
  write_store(&w);
  *out = w.text;
  return TW_OK;
}
