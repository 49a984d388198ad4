/* rotary.c - writes a kernel for rotary position embedding (op/rotary.c). A thread keeps 16 bytes of cos and sin and turns
 * that part of `heads` neighbouring heads: all loads are under way before the first is used. */
#include "tile/rows_language.h"

enum { THREADS_USUAL = 256 };

static tw_status settle(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  const int64_t d = tw_problem_int(p, "d"), h = tw_problem_int(p, "h"),
                size = tw_tile_type_bytes(tw_problem_type(p, "a"));
  const int64_t chunk = TW_TILE_CHUNK / size, chunks = d / 2 / chunk;
  if (d % (2 * chunk))
    return tw_fail(error, TW_USAGE,
                   "unsupported d=%lld; a thread rotates 16 bytes of each half of a head, %lld elements", (long long)d,
                   (long long)chunk);
  if (!plan->heads) plan->heads = 1;
  if (!plan->threads) plan->threads = THREADS_USUAL;
  if (h % plan->heads)
    return tw_fail(error, TW_USAGE, "unsupported heads %d; it must divide h=%lld", plan->heads, (long long)h);
  if (plan->threads % machine->warp_threads || plan->threads > machine->block_threads)
    return tw_fail(error, TW_USAGE, "unsupported threads %d; expected a multiple of %d up to %d", plan->threads,
                   machine->warp_threads, machine->block_threads);
  const int64_t items = tw_problem_int(p, "b") * tw_problem_int(p, "s") * (h / plan->heads) * chunks;
  plan->chunks = 2 * plan->heads;
  plan->block_threads = plan->threads;
  plan->blocks = (items + plan->threads - 1) / plan->threads;
  return plan->blocks < INT32_MAX ? TW_OK
                                  : tw_fail(error, TW_USAGE, "more than 2^31 blocks; use more heads or threads");
}

/* Where a pair's elements are among those that the thread has: halves apart, or neighbours in what lies one after the
 * other. */
static void write_turn(tw_text *t, bool interleaved) {
  tw_text_add(t,
              "    chunk<type> low, high, cosine, sine;\n    low.unpack(first[j]);\n    high.unpack(second[j]);\n"
              "    cosine.unpack(cosines);\n    sine.unpack(sines);\n    chunk<type> to_low, to_high;\n#pragma unroll\n"
              "    for (int i = 0; i < chunk<type>::count; i++) {\n");
  if (interleaved)
    tw_text_add(
        t,
        "      constexpr int half = chunk<type>::count / 2;\n"
        "      const float x = i < half ? low.value[2 * i %% chunk<type>::count] : high.value[2 * (i - half) %% "
        "chunk<type>::count];\n"
        "      const float y = i < half ? low.value[(2 * i + 1) %% chunk<type>::count] : high.value[(2 * (i - half) + "
        "1) %% chunk<type>::count];\n"
        "      const float a = x * cosine.value[i] - y * sine.value[i], b = y * cosine.value[i] + x * sine.value[i];\n"
        "      if (i < half) {\n        to_low.value[2 * i %% chunk<type>::count] = a;\n        to_low.value[(2 * i + "
        "1) %% chunk<type>::count] = b;\n"
        "      } else {\n        to_high.value[2 * (i - half) %% chunk<type>::count] = a;\n        to_high.value[(2 * "
        "(i - half) + 1) %% chunk<type>::count] = b;\n      }\n    }\n");
  else
    tw_text_add(t, "      to_low.value[i] = low.value[i] * cosine.value[i] - high.value[i] * sine.value[i];\n"
                   "      to_high.value[i] = high.value[i] * cosine.value[i] + low.value[i] * sine.value[i];\n    }\n");
}

static void write(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_text *t) {
  const tw_tile_rows_plan *plan = settled;
  const tw_type type = tw_problem_type(p, "a");
  const bool interleaved = tw_problem_int(p, "interleaved");
  const char *once = plan->once ? "_once" : "";
  tw_text_add(t, "//: kernel    rotary\n//: let       HEADS = %d, THREADS = %d\n", plan->heads, plan->threads);
  tw_text_add(t, "//: grid      ceildiv(b * s * (h / HEADS) * (d / %d), THREADS)\n//: block     THREADS\n",
              2 * TW_TILE_CHUNK / tw_tile_type_bytes(type));
  tw_text_add(t, "//: args      x, cos, sin, y, i64(b * s * (h / HEADS) * (d / %d)), s, h / HEADS, d\n",
              2 * TW_TILE_CHUNK / tw_tile_type_bytes(type));
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\nusing type = %s;\n\n", machine->header,
              tw_tile_type_word(type));
  tw_text_add(
      t,
      "TW_KERNEL(THREADS, 1) rotary(const type *x, const type *cos, const type *sin, type *y, i64 items, int s, int "
      "h, int d) {\n"
      "  const int chunks = d / 2 / chunk<type>::count; /* of half a head */\n"
      "  const i64 item = (i64)block_of_grid() * THREADS + thread_of_block();\n  if (item >= items) return;\n"
      "  const i64 row = item / chunks;\n  const int c = (int)(item %% chunks) * chunk<type>::count;\n"
      "  const i64 angle = row / h %% s * (d / 2) + c, from = row * HEADS * d + %s;\n"
      "  const int apart = %s;\n",
      interleaved ? "2 * c" : "c", interleaved ? "chunk<type>::count" : "d / 2");
  tw_text_add(t,
              "  const vec16 cosines = load16(cos + angle), sines = load16(sin + angle);\n"
              "  vec16 first[HEADS], second[HEADS];\n#pragma unroll\n  for (int j = 0; j < HEADS; j++) {\n"
              "    first[j] = load16%s(x + from + j * d);\n    second[j] = load16%s(x + from + j * d + apart);\n  }\n"
              "#pragma unroll\n  for (int j = 0; j < HEADS; j++) {\n",
              once, once);
  write_turn(t, interleaved);
  tw_text_add(t,
              "    store16%s(y + from + j * d, to_low.packed());\n    store16%s(y + from + j * d + apart, "
              "to_high.packed());\n  }\n}\n",
              once, once);
}

const tw_tile_family tw_tile_rotary = {.language = &tw_tile_rotary_language,
                                       .plan_size = sizeof(tw_tile_rows_plan),
                                       .settle = settle,
                                       .offers = tw_tile_rows_offers,
                                       .write = write};
