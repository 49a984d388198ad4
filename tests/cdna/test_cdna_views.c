/* The views of CDNA3 and CDNA4: what they say in words, as data that is read back, as pictures that are whole;
 * refusals. */
#include "test.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/views/views.h"

enum { WORDS = 8 };

static tw_target target(cdna_arch arch) {
  return (tw_target){.name = cdna_processor(arch), .config = cdna_machine_of_arch(arch), .machine_views = cdna_views};
}

/* `words`: the view's name and key=value, blanks between. */
static tw_status ask(cdna_arch arch, const char *words, tw_view_form form, char **out, tw_error *error) {
  const tw_target t = target(arch);
  const char *word[WORDS];
  char *copy = strdup(words), *rest = NULL;
  size_t n = 0;
  for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) word[n++] = w;
  const tw_status status = tw_view_show(&t, word[0], n - 1, word + 1, form, out, error);
  free(copy);
  return status;
}

static char *show(const char *words, tw_view_form form) {
  char *out;
  tw_error error;
  if (ask(CDNA4, words, form, &out, &error) != TW_OK) fail_msg("%s: %s", words, error.text);
  return out;
}

static void expect(const char *words, const char *part) {
  char *text = show(words, TW_VIEW_TEXT);
  if (!strstr(text, part)) fail_msg("%s does not say '%s': %s", words, part, text);
  free(text);
}

static void refuse(cdna_arch arch, const char *words, const char *part) {
  char *out;
  tw_error error = {0};
  assert_int_equal(ask(arch, words, TW_VIEW_TEXT, &out, &error), TW_USAGE);
  if (!strstr(error.text, part) || strchr(error.text, '\n')) fail_msg("%s: %s", words, error.text);
}

static json_t *data(const char *words) {
  char *text = show(words, TW_VIEW_JSON);
  json_error_t why;
  json_t *object = json_loads(text, 0, &why);
  if (!json_is_object(object)) fail_msg("%s: %s: %.200s", words, why.text, text);
  free(text);
  return object;
}

static int64_t integer(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static void words_say_what_was_computed(void **state) {
  expect("layout", "v_mfma_f32_16x16x128_f8f6f4         16  16 128      1      8   4096");
  expect("layout mfma=v_mfma_f32_16x16x32_bf16", "  17 [1][8..9]       [1][10..11]");
  expect("layout mfma=v_mfma_f32_32x32x16_bf16 operand=c lane=37 item=9", "C[21][5]: lane 37, item 9: register v9");
  expect("layout mfma=v_mfma_f32_32x32x16_bf16 operand=c row=21 column=5", "C[21][5]: lane 37, item 9: register v9");
  expect("layout mfma=v_mfma_f32_4x4x4_16b_f16 cbsz=2 abid=1 lane=0", "lane 4 is read in its place");
  expect("layout mfma=v_mfma_f32_16x16x128_f8f6f4 type=fp6 lane=0 item=5", "register v0, bits 30 to 35");
  expect("banks access=ds_read_b128:row16x32s8", "2-way conflicts: 8 turns instead of 4");
  expect("banks access=ds_read_b128:row16x32s8 swizzle=st_16x32", "no conflicts: 4 turns");
  expect("banks access=ds_read_b128:row16x32s8", "lanes 0-3, 12-15, 20-27");
  expect("banks access=ds_write_b32:stride256", "32-way conflicts: 64 turns instead of 2");
  expect("banks access=ds_write_b32:linear", "not measured");
  expect("banks tile=16x32 pad=16 access=ds_read_b128:row16x32s8", "80 bytes a row");
  expect("swizzle access=ds_read_b128:row16x32s8,ds_write_b64:row16x32s4", "none found: pieces of 16 bytes");
  expect("swizzle tile=16x16 access=ds_write_b64:row16x16s4", "the simplest without conflicts: 512:7:3");
  expect("swizzle access=ds_read_b128:row16x32s8", "torn"); /* by swizzles of 8 bytes */
  expect("grid m=9216 n=9216 k=1024 tile=192x256x64", "48 x 36 tiles");
  expect("occupancy vgprs=236 lds=131072 work_items=512", "2 of 8 waves a SIMD");
}

static void data_is_what_the_layouts_are(void **state) {
  json_t *o = data("layout mfma=v_smfmac_f32_16x16x32_f16 operand=index abid=2");
  json_t *elements = json_object_get(o, "elements");
  assert_int_equal(json_array_size(elements), 16 * 16);
  for (size_t i = 0; i < json_array_size(elements); i++) {
    int64_t v[7];
    for (size_t f = 0; f < 7; f++) v[f] = json_integer_value(json_array_get(json_array_get(elements, i), f));
    cdna_fragment index;
    assert_true(cdna_fragment_of(cdna_mfma_find("v_smfmac_f32_16x16x32_f16"), CDNA_INDEX, CDNA_F16, &index));
    const cdna_slot s = cdna_fragment_slot(&index, (cdna_position){(int)v[0], (int)v[1], (int)v[2]});
    assert_int_equal(v[3], s.lane);
    assert_int_equal(v[4], s.item);
    assert_int_equal(v[5], 0);
    assert_int_equal(v[6], 16 + 2 * s.item); /* the third set of 8 bits */
  }
  json_decref(o);
  o = data("banks access=ds_read_b128:row16x32s8");
  assert_int_equal(integer(o, "turns"), 8);
  assert_int_equal(integer(o, "ways"), 2);
  assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(o, "instructions"), 0), "phases")),
                   4);
  json_decref(o);
  o = data("swizzle access=ds_read_b128:row16x32s8,ds_write_b64:row16x32s4");
  assert_string_equal(json_string_value(json_object_get(o, "answer")), "impossible");
  assert_true(json_is_null(json_object_get(o, "swizzle")));
  json_decref(o);
  o = data("grid m=768 n=1024 k=512 tile=192x256x64 search=1");
  assert_int_equal(json_array_size(json_object_get(o, "workgroups")), 16);
  assert_true(json_array_size(json_object_get(o, "best")) > 0);
  json_decref(o);
  o = data("occupancy vgprs=64 lds=81920");
  assert_int_equal(integer(o, "workgroups"), 2);
  json_decref(o);
  o = data("layout");
  assert_int_equal(json_array_size(json_object_get(o, "instructions")), 66);
  json_decref(o);
}

/* Every tag that opens closes, and quotes pair up. */
static void check_svg(const char *words) {
  char *svg = show(words, TW_VIEW_SVG);
  int depth = 0, quotes = 0;
  assert_int_equal(strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39), 0);
  for (const char *p = svg; *p; p++) {
    quotes += *p == '"';
    if (*p != '<') continue;
    const char *end = strchr(p, '>');
    assert_non_null(end);
    depth += p[1] == '/' ? -1 : end[-1] == '/' ? 0 : 1;
    assert_true(depth >= 0);
  }
  assert_int_equal(depth, 0);
  assert_int_equal(quotes % 2, 0);
  free(svg);
}

static void pictures_are_whole(void **state) {
  check_svg("layout mfma=v_mfma_f32_16x16x32_bf16");
  check_svg("layout mfma=v_mfma_f32_4x4x4_16b_f16 operand=c");
  check_svg("layout mfma=v_mfma_f32_16x16x128_f8f6f4 operand=b");
  check_svg("banks access=ds_read_b128:row16x32s8 phase=3");
  check_svg("banks access=ds_read_b64:stride4096");
  check_svg("swizzle access=ds_read_b128:row16x32s8,ds_read_b64_tr_b16:col16x32s8");
  check_svg("swizzle access=ds_read_b128:row16x32s8,ds_write_b64:row16x32s4");
  check_svg("grid m=9216 n=9216 k=256 tile=192x256x64 window=5 chunk=25");
  check_svg("occupancy vgprs=128 agprs=100 lds=30000");
  char *svg = show("banks access=ds_read_b128:row16x32s8", TW_VIEW_SVG);
  assert_non_null(strstr(svg, "#ee6677")); /* conflicts are red */
  free(svg);
  svg = show("banks access=ds_read_b128:row16x32s8 swizzle=st_16x32", TW_VIEW_SVG);
  assert_null(strstr(svg, "#ee6677"));
  free(svg);
}

static void what_cannot_be_asked_is_refused_in_a_line(void **state) {
  refuse(CDNA4, "bank access=ds_read_b32:linear", "did you mean 'banks'");
  refuse(CDNA4, "colours", "it has layout, banks, swizzle, grid, occupancy");
  refuse(CDNA4, "banks", "requires access=");
  refuse(CDNA4, "banks acces=x", "did you mean 'access'");
  refuse(CDNA4, "banks access", "is not key=value");
  refuse(CDNA4, "banks access=a access=b", "given twice");
  refuse(CDNA4, "banks tile=0x32 access=ds_read_b32:linear", "tile=0x32");
  refuse(CDNA4, "banks tile=16x32x access=ds_read_b32:linear", "such as 16x32");
  refuse(CDNA4, "banks tile=9999x9999 access=ds_read_b32:linear", "256 KiB");
  refuse(CDNA4, "banks type=bf17 access=ds_read_b32:linear", "expected one of");
  refuse(CDNA4, "banks access=ds_read_b128:row16x32s8 phase=4", "from 0 to 3");
  refuse(CDNA4, "banks access=ds_read_b128:row16x32s8 swizzle=512:7:3", "would split");
  refuse(CDNA4, "banks tile=9x8 access=ds_read_b32:linear swizzle=st_16x32", "does not fit a tile");
  refuse(CDNA3, "banks access=ds_read_b64_tr_b16:col16x32s8", "has no ds_read_b64_tr_b16");
  refuse(CDNA3, "layout mfma=v_mfma_f32_16x16x32_bf16", "no matrix instruction");
  refuse(CDNA4, "layout mfma=v_mfma_f32_16x16x8_xf32", "no matrix instruction");
  refuse(CDNA4, "layout mfma=v_mfma_f32_16x16x32_bf16 operand=scale_a", "no operand");
  refuse(CDNA4, "layout mfma=v_mfma_f32_4x4x4_16b_f16 cbsz=2 abid=4", "below 2^cbsz");
  refuse(CDNA4, "layout mfma=v_mfma_f32_16x16x32_bf16 lane=64", "from 0 to 63");
  refuse(CDNA4, "swizzle access=ds_read_b32:stride4096", "exceeds the tile");
  refuse(CDNA4, "swizzle access=,", "empty");
  refuse(CDNA4, "grid m=1 n=1 k=0", "k=0");
  refuse(CDNA4, "grid m=64 n=64 k=64 window=8", "window and chunk must both");
  refuse(CDNA4, "occupancy vgprs=300", "0 to 256 VGPRs");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_say_what_was_computed),
      cmocka_unit_test(data_is_what_the_layouts_are),
      cmocka_unit_test(pictures_are_whole),
      cmocka_unit_test(what_cannot_be_asked_is_refused_in_a_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
