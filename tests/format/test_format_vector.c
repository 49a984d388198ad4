/* test_format_vector.c - every instruction set gives the reference's bits: on random and adversarial numbers, at every
 * alignment and tail, with guard pages around all buffers. Sets that this CPU lacks are said to be left out. */
#define _GNU_SOURCE
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "format/internal.h"

/* ---- memory with an unmapped page right before and right behind it ---- */

enum { PAGES_BYTES = 1 << 17 };

typedef struct guarded {
  uint8_t *base, *first, *end; /* [first, end) may be used */
} guarded;

static guarded guard(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *base = mmap(NULL, PAGES_BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(base != MAP_FAILED);
  assert_int_equal(mprotect(base + page, PAGES_BYTES, PROT_READ | PROT_WRITE), 0);
  return (guarded){base, base + page, base + page + PAGES_BYTES};
}

static guarded in, in_codes, in_scales, out_codes, out_scales, out;

static int map_all(void **state) {
  in = guard(), in_codes = guard(), in_scales = guard(), out_codes = guard(), out_scales = guard(), out = guard();
  return 0;
}

/* At the end of its memory, or at the start: what lies behind or before faults. */
static uint8_t *place(guarded g, size_t bytes, bool at_end) { return at_end ? g.end - bytes : g.first; }

/* ---- numbers that hurt ---- */

static uint32_t hurtful(tw_random *random, int kind) {
  uint32_t bits = (uint32_t)tw_random_next(random), sign = bits & 0x80000000;
  static const uint32_t list[] = {0,          1,          0x007FFFFF, 0x00800000, 0x00400000, 0x7F7FFFFF, 0x3F800000,
                                  0x477FE000, 0x477FF000, 0x477FEFFF, 0x43E00000, 0x43E80000, 0x43E80001, 0x47600000,
                                  0x47700000, 0x476FFFFF, 0x33000000, 0x33000001, 0x38800000, 0x387FFFFF, 0x40C00000};
  switch (kind) {
  case 0: return sign | (0x3F000000 + (bits & 0x03FFFFFF));                        /* near 1 */
  case 1: return bits % 0x7F800000 | sign;                                         /* any finite magnitude */
  case 2: return sign | list[tw_random_below(random, sizeof list / sizeof *list)]; /* boundaries */
  case 3: return sign | (bits & 0x00FFFFFF);                                       /* subnormals */
  case 4: return sign | (0x3F800000 + (bits & 15) * 0x00080000);                   /* ties of few bits */
  case 5: return bits % 8 ? sign : sign | 0x3F800000;                              /* zeros of both signs */
  case 6: return sign | (0x3E000000 + (bits & 7) * 0x00800000);                    /* powers of two */
  case 7:
    return tw_random_below(random, 40) ? sign | (0x3F000000 + (bits & 0x01FFFFFF)) : bits | 0x7F800000; /* faults */
  default: return bits; /* anything, NaN payloads too */
  }
}

enum { KINDS = 9 };

static void fill(tw_random *random, float *x, size_t n, int kind) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = hurtful(random, kind);
    memcpy((uint8_t *)x + 4 * i, &bits, 4);
  }
}

/* ---- all packings ---- */

static size_t packings_of(const tw_format *f, tw_packing list[64]) {
  size_t n = 0;
  static const int64_t groups[] = {TW_GROUP_ROW, TW_GROUP_TENSOR, 2, 6, 16, 32, 48, 64, 80, 128, 256, 320};
  for (int rule = 0; rule < TW_RULE_COUNT; rule++) {
    for (int other = 0; other < 2; other++) {
      for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        tw_packing p = {.format = f, .rule = (tw_scale_rule)rule, .group = groups[g]};
        if (other && f->id == TW_FORMAT_BFP16)
          p.rounding = TW_ROUND_FLOOR;
        else if (other)
          p.overflow = TW_OVERFLOW_SPECIAL;
        if (tw_packing_check(&p, NULL) == TW_OK) list[n++] = p;
      }
    }
  }
  assert_true(n >= 1 && n <= 64);
  return n;
}

static const format_kernels *kernels_under_test(const char *isa) {
  const format_kernels *k = format_kernels_named(isa);
  if (!k) print_message("           this CPU has no %s: not compared\n", isa);
  return k;
}

static void compare(const format_kernels *k, const tw_packing *p, size_t rows, size_t columns, const float *x,
                    bool at_end) {
  tw_packed_size size;
  assert_int_equal(tw_format_sizes(p, rows, columns, &size, NULL), TW_OK);
  uint8_t *codes = place(in_codes, size.codes, at_end), *scales = place(in_scales, size.scales, at_end);
  uint8_t *codes_too = place(out_codes, size.codes, at_end), *scales_too = place(out_scales, size.scales, at_end);
  memset(codes_too, 0xA5, size.codes);
  memset(scales_too, 0xA5, size.scales);
  assert_int_equal(format_encode_with(&format_reference, p, rows, columns, x, columns, codes, scales, NULL), TW_OK);
  assert_int_equal(format_encode_with(k, p, rows, columns, x, columns, codes_too, scales_too, NULL), TW_OK);
  if (memcmp(codes, codes_too, size.codes) || memcmp(scales, scales_too, size.scales))
    fail_msg("%s %s: encoding %zu x %zu, group %lld, rule %s differs", k->isa, p->format->name, rows, columns,
             (long long)p->group, tw_scale_rule_name(p->rule));
}

static void compare_back(const format_kernels *k, const tw_packing *p, size_t rows, size_t columns, bool at_end) {
  tw_packed_size size;
  assert_int_equal(tw_format_sizes(p, rows, columns, &size, NULL), TW_OK);
  uint8_t *codes = place(in_codes, size.codes, at_end), *scales = place(in_scales, size.scales, at_end);
  size_t bytes = rows * columns * sizeof(float);
  float *x = (float *)(void *)place(in, bytes, at_end), *x_too = (float *)(void *)place(out, bytes, at_end);
  assert_int_equal(format_decode_with(&format_reference, p, rows, columns, codes, scales, x, columns, NULL), TW_OK);
  assert_int_equal(format_decode_with(k, p, rows, columns, codes, scales, x_too, columns, NULL), TW_OK);
  if (memcmp(x, x_too, bytes))
    fail_msg("%s %s: decoding %zu x %zu, group %lld differs", k->isa, p->format->name, rows, columns,
             (long long)p->group);
}

static void check_isa(const char *isa) {
  const format_kernels *k = kernels_under_test(isa);
  tw_random random;
  tw_packing list[64];
  tw_random_seed(&random, 31);
  const int rounds = !getenv("TW_TEST_EMULATED") ? 120 : is_thorough() ? 20 : 5; /* QEMU takes about 40 times as long */
  for (int id = 0; k && id < TW_FORMAT_COUNT; id++) {
    size_t n = packings_of(tw_format_at((tw_format_id)id), list);
    for (size_t i = 0; i < n; i++) {
      for (int round = 0; round < rounds; round++) {
        size_t rows = 1 + tw_random_below(&random, 3), columns = 1 + tw_random_below(&random, round % 4 ? 300 : 2500);
        if (round % 3 == 0) columns = (columns + 95) / 96 * 96; /* rows that lie side by side */
        bool at_end = round % 2;
        float *x = (float *)(void *)place(in, rows * columns * sizeof *x, at_end);
        fill(&random, x, rows * columns, round % KINDS);
        compare(k, &list[i], rows, columns, x, at_end);
        compare_back(k, &list[i], rows, columns, at_end);
        /* codes and scales that no encoder made; f32 scales stay what they are */
        for (uint8_t *c = in_codes.first; c < in_codes.end; c += 8) {
          uint64_t word = tw_random_next(&random);
          memcpy(c, &word, 8);
        }
        for (uint8_t *c = in_scales.first; c < in_scales.end && list[i].format->scale == TW_SCALE_E8M0; c++)
          *c = (uint8_t)tw_random_next(&random);
        compare_back(k, &list[i], rows, columns, at_end);
      }
    }
  }
}

static void avx2_gives_the_bits_of_the_reference(void **state) { check_isa("avx2"); }

static void avx512_gives_the_bits_of_the_reference(void **state) { check_isa("avx512"); }

static void errors_are_summed_to_the_same_bits(void **state) {
  enum { VALUES = 4096 };
  static const char *const isas[] = {"avx2", "avx512"};
  float *x = (float *)(void *)place(in, VALUES * 4, true), *y = (float *)(void *)place(in_codes, VALUES * 4, true);
  float *limit = (float *)(void *)place(in_scales, VALUES * 4, true);
  float *error = (float *)(void *)place(out_codes, VALUES * 4, true);
  float *error_too = (float *)(void *)place(out_scales, VALUES * 4, true);
  tw_random random;
  tw_random_seed(&random, 43);
  for (int kind = 0; kind < KINDS; kind++) {
    fill(&random, x, VALUES, kind);
    fill(&random, limit, VALUES, kind);
    for (size_t i = 0; i < VALUES; i++) y[i] = i % 3 ? x[i] : x[i] * 0.75f;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
      const format_kernels *k = kernels_under_test(isas[i]);
      format_errors sums = {0}, sums_too = {0};
      if (!k) continue;
      for (int times = 0; times < 2; times++) {
        format_reference.compare(x, y, limit, VALUES, error, &sums);
        k->compare(x, y, limit, VALUES, error_too, &sums_too);
      }
      assert_memory_equal(&sums, &sums_too, sizeof sums);
      assert_memory_equal(error, error_too, VALUES * sizeof *error);
    }
  }
}

/* By the definition of a histogram of exponent fields, one by one; any number of values, few or all fields in use. */
static void errors_are_counted_by_their_exponents(void **state) {
  static const char *const isas[] = {"reference", "avx2", "avx512"};
  static const size_t lengths[] = {0, 1, 15, 16, 63, 64, 1000, COUNT_MOST - 1, COUNT_MOST};
  tw_random random;
  tw_random_seed(&random, 47);
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
    const size_t n = lengths[l];
    float *error = (float *)(void *)place(in, n * 4, true);
    for (int kind = 0; kind < KINDS; kind++) {
      uint32_t expected[256] = {7}; /* counts are added */
      fill(&random, error, n, kind);
      for (size_t i = 0; i < n; i++) {
        error[i] = tw_float_of(tw_bits_of(error[i]) & F32_MAGNITUDE);
        expected[tw_bits_of(error[i]) >> 23]++;
      }
      for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        const format_kernels *k = format_kernels_named(isas[i]);
        uint32_t bin[256] = {7};
        if (!k) continue;
        k->count(error, n, bin);
        assert_memory_equal(bin, expected, sizeof bin);
      }
    }
  }
}

static void every_tail_and_every_alignment(void **state) {
  static const char *const isas[] = {"avx2", "avx512"};
  tw_random random;
  tw_packing list[64];
  tw_random_seed(&random, 37);
  for (int i = 0; i < 2; i++) {
    const format_kernels *k = kernels_under_test(isas[i]);
    for (int id = 0; k && id < TW_FORMAT_COUNT; id++) {
      packings_of(tw_format_at((tw_format_id)id), list);
      for (size_t columns = 1; columns <= 1100; columns += columns < 300 ? 1 : 37) {
        fill(&random, (float *)(void *)place(in, columns * 4, true), columns, (int)(columns % KINDS));
        compare(k, list, 1, columns, (float *)(void *)place(in, columns * 4, true), columns % 2);
        compare_back(k, list, 1, columns, columns % 3);
      }
    }
  }
}

/* Outputs beyond STREAM_BYTES of encode.c take another way; so do strides. */
static void large_outputs_and_strides_give_the_same(void **state) {
  enum { ROWS = 3, COLUMNS = 3 << 20, STRIDE = COLUMNS + 5 };
  static const tw_format_id ids[] = {TW_FORMAT_F16, TW_FORMAT_E4M3, TW_FORMAT_MXFP4, TW_FORMAT_BFP16,
                                     TW_FORMAT_I8,  TW_FORMAT_TL2,  TW_FORMAT_TQ1_0};
  const format_kernels *k = format_kernels_chosen();
  float *x = malloc((size_t)ROWS * STRIDE * 4), *back = malloc((size_t)ROWS * STRIDE * 4),
        *back_too = malloc((size_t)ROWS * STRIDE * 4);
  uint8_t *codes = malloc((size_t)ROWS * COLUMNS * 2 + 64), *codes_too = malloc((size_t)ROWS * COLUMNS * 2 + 64);
  uint8_t *scales = malloc((size_t)ROWS * COLUMNS), *scales_too = malloc((size_t)ROWS * COLUMNS);
  assert_true(x && back && back_too && codes && codes_too && scales && scales_too);
  tw_random random;
  tw_random_seed(&random, 41);
  fill(&random, x, (size_t)ROWS * STRIDE, 7);
  memset(back, 0, (size_t)ROWS * STRIDE * 4);
  memset(back_too, 0, (size_t)ROWS * STRIDE * 4);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    tw_packing p = {.format = tw_format_at(ids[i]), .group = ids[i] == TW_FORMAT_I8 ? 96 : 0};
    tw_packed_size size;
    for (size_t stride = COLUMNS; stride <= STRIDE; stride += STRIDE - COLUMNS) {
      assert_int_equal(tw_format_sizes(&p, ROWS, COLUMNS, &size, NULL), TW_OK);
      format_encode_with(&format_reference, &p, ROWS, COLUMNS, x, stride, codes, scales, NULL);
      format_encode_with(k, &p, ROWS, COLUMNS, x, stride, codes_too + 1, scales_too, NULL);
      assert_memory_equal(codes, codes_too + 1, size.codes);
      if (size.scales) assert_memory_equal(scales, scales_too, size.scales);
      format_decode_with(&format_reference, &p, ROWS, COLUMNS, codes, scales, back, stride, NULL);
      format_decode_with(k, &p, ROWS, COLUMNS, codes, scales, back_too, stride, NULL);
      assert_memory_equal(back, back_too, (size_t)ROWS * stride * 4);
    }
  }
  free(x), free(back), free(back_too), free(codes), free(codes_too), free(scales), free(scales_too);
}

/* Kernels that send codes around the caches themselves give the same codes so: at every place in a line, and nothing
 * behind or before. */
static void streamed_codes_are_the_same(void **state) {
  tw_random random;
  tw_random_seed(&random, 43);
  for (int id = 0; id < TW_FORMAT_COUNT; id++) {
    const tw_packing p = {.format = tw_format_at((tw_format_id)id)};
    const format_kernels *k = format_kernels_chosen();
    if (!k->format[id].streams) continue;
    for (size_t blocks = 1, offset = 0; blocks < 70; blocks++, offset = (offset + 29) % 64) {
      const size_t n = blocks * p.format->block, bytes = blocks * p.format->block_bytes;
      float *x = (float *)(void *)place(in, n * 4, true);
      fill(&random, x, n, (int)(blocks % 9));
      format_job job = format_job_of(&p);
      uint8_t *codes = out_codes.first + 64 + offset, *at_end = place(in_codes, bytes, true);
      memset(out_codes.first, 0xA5, offset + bytes + 128);
      uint8_t *scales = place(out_scales, blocks, true), *scales_too = place(in_scales, blocks, true);
      format_reference.format[id].encode(&job, x, n, at_end, scales_too);
      job.streamed = true;
      k->format[id].encode(&job, x, n, codes, scales);
      k->fence();
      assert_memory_equal(codes, at_end, bytes);
      assert_memory_equal(scales, scales_too, blocks);
      for (size_t i = 0; i < 64; i++) assert_true(codes[-1 - (ptrdiff_t)i] == 0xA5 && codes[bytes + i] == 0xA5);
      k->format[id].encode(&job, x, n, at_end, scales);
      k->fence();
      assert_memory_equal(codes, at_end, bytes);
    }
  }
}

static void the_environment_chooses_the_instruction_set(void **state) {
  const char *wanted = getenv("TILEWRIGHT_FORMAT_ISA");
  if (wanted && format_kernels_named(wanted)) assert_string_equal(tw_format_isa(), wanted);
  assert_ptr_equal(format_kernels_named("reference"), &format_reference);
  assert_null(format_kernels_named("mmx"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(avx2_gives_the_bits_of_the_reference),
      cmocka_unit_test(avx512_gives_the_bits_of_the_reference),
      cmocka_unit_test(errors_are_summed_to_the_same_bits),
      cmocka_unit_test(errors_are_counted_by_their_exponents),
      cmocka_unit_test(every_tail_and_every_alignment),
      cmocka_unit_test(large_outputs_and_strides_give_the_same),
      cmocka_unit_test(streamed_codes_are_the_same),
      cmocka_unit_test(the_environment_chooses_the_instruction_set),
  };
  return cmocka_run_group_tests(tests, map_all, NULL);
}
