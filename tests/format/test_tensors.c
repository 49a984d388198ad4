/* test_tensors.c - the public reader and writer of tensor files: what is written is read back, what does not fit is
 * refused. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensors/convert.h"
#include "tilewright/tensors.h"

static char folder[] = "/tmp/tilewright-tensors-XXXXXX", path[128];

static const char *in_folder(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) { return mkdtemp(folder) ? 0 : -1; }

static int remove_folder(void **state) {
  char command[160];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static const float matrix[2][3] = {{1, -2, 3.5f}, {0, 1e30f, -0.0f}};
static const uint16_t halves[4] = {0x3f80, 0, 0xbf80, 0x7f80};

static void what_is_written_is_read_back(void **state) {
  const tw_tensor t[] = {{.name = "a.weight", .dtype = "F32", .rank = 2, .shape = {2, 3}, .bytes = sizeof matrix},
                         {.name = "none", .dtype = "I64", .rank = 1, .shape = {0}, .bytes = 0},
                         {.name = "b", .dtype = "BF16", .rank = 1, .shape = {4}, .bytes = sizeof halves}};
  const void *const data[] = {matrix, "", halves};
  tw_error error = {0};
  tw_tensors *file;
  tw_tensor found;
  if (tw_tensors_write(in_folder("x.safetensors"), 3, t, data, &error) != TW_OK) fail_msg("%s", error.text);
  if (tw_tensors_open(in_folder("x.safetensors"), &file, &error) != TW_OK) fail_msg("%s", error.text);
  size_t n = 0;
  while (tw_tensors_at(file, n, &found)) n++;
  assert_int_equal(n, 3);
  assert_true(tw_tensors_find(file, "a.weight", &found));
  assert_string_equal(found.dtype, "F32");
  assert_int_equal(found.rank, 2);
  assert_int_equal(found.shape[0], 2);
  assert_int_equal(found.shape[1], 3);
  float row[3];
  assert_int_equal(tw_tensors_read(file, "a.weight", sizeof row, row, sizeof row, &error), TW_OK);
  assert_memory_equal(row, matrix[1], sizeof row);
  uint16_t back[4];
  assert_int_equal(tw_tensors_read(file, "b", 0, back, sizeof back, &error), TW_OK);
  assert_memory_equal(back, halves, sizeof back);
  assert_int_equal(tw_tensors_read(file, "b", 2, back, sizeof back, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "exceed it"));
  assert_int_equal(tw_tensors_read(file, "c", 0, back, 1, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "no tensor 'c'"));
  assert_false(tw_tensors_find(file, "c", &found));
  tw_tensors_close(file);
  tw_tensors_close(NULL);
}

static void npy_holds_one_array(void **state) {
  const tw_tensor t[] = {{.name = "", .dtype = "F32", .rank = 2, .shape = {2, 3}, .bytes = sizeof matrix}};
  const void *const data[] = {matrix};
  tw_error error = {0};
  tw_tensors *file;
  tw_tensor found;
  if (tw_tensors_write(in_folder("x.npy"), 1, t, data, &error) != TW_OK) fail_msg("%s", error.text);
  if (tw_tensors_open(in_folder("x.npy"), &file, &error) != TW_OK) fail_msg("%s", error.text);
  assert_true(tw_tensors_find(file, "", &found));
  float back[2][3];
  assert_int_equal(tw_tensors_read(file, "", 0, back, sizeof back, &error), TW_OK);
  assert_memory_equal(back, matrix, sizeof back);
  tw_tensors_close(file);
}

static void refuse(const char *name, size_t n, const tw_tensor *t, const char *words) {
  const void *const data[] = {matrix, matrix};
  tw_error error = {0};
  assert_int_equal(tw_tensors_write(in_folder(name), n, t, data, &error), TW_USAGE);
  if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
  assert_int_not_equal(access(path, F_OK), 0);
}

static void what_does_not_fit_is_refused(void **state) {
  tw_tensor t[2] = {{.name = "a", .dtype = "F32", .rank = 2, .shape = {2, 3}, .bytes = sizeof matrix}};
  t[1] = t[0];
  refuse("y.txt", 1, t, "expected NAME.npy or NAME.safetensors");
  refuse("y.npy", 2, t, "holds one array");
  refuse("y.safetensors", 2, t, "two tensors are called 'a'");
  t[0].bytes--;
  refuse("y.safetensors", 1, t, "dtype and shape");
  t[0] = t[1];
  t[0].dtype = "BF16", t[0].bytes /= 2;
  refuse("y.npy", 1, t, "unsupported dtype in a .npy file: 'BF16'");
  t[0].dtype = "F31";
  refuse("y.safetensors", 1, t, "unsupported dtype in a .safetensors file: 'F31'");
  t[0] = t[1];
  t[0].shape[0] = UINT64_MAX;
  refuse("y.safetensors", 1, t, "dtype and shape");
  t[0].rank = 33;
  refuse("y.safetensors", 1, t, "33 dimensions");
  tw_tensors *file;
  tw_error error = {0};
  assert_int_equal(tw_tensors_open("/nonexistent/x.npy", &file, &error), TW_USAGE);
}

static void quantized_tensors_tell_their_packing(void **state) {
  static float w[5][64];
  for (int i = 0; i < 5 * 64; i++) w[i / 64][i % 64] = (float)(i % 17 - 8);
  const tw_tensor t[] = {{.name = "w", .dtype = "F32", .rank = 2, .shape = {5, 64}, .bytes = sizeof w}};
  const void *const data[] = {w};
  tw_error error = {0};
  tw_tensors *file;
  char in[128];
  assert_int_equal(tw_tensors_write(in_folder("w.safetensors"), 1, t, data, &error), TW_OK);
  snprintf(in, sizeof in, "%s", path);
  const convert_options options = {.to = {.format = tw_format_find("mxfp4")}};
  conversion made;
  if (convert_file(in, in_folder("q.safetensors"), &options, NULL, NULL, &made, &error) != TW_OK)
    fail_msg("%s", error.text);
  conversion_free(&made);
  assert_int_equal(tw_tensors_open(path, &file, &error), TW_OK);
  tw_packing packing;
  tw_packed_size size;
  size_t rows, columns;
  assert_false(tw_tensors_packing(file, "w.scales", &packing, &rows, &columns, &size));
  assert_true(tw_tensors_packing(file, "w", &packing, &rows, &columns, &size));
  assert_string_equal(packing.format->name, "mxfp4");
  assert_int_equal(rows, 5);
  assert_int_equal(columns, 64);
  uint8_t codes[5 * 32], scales[5 * 2];
  assert_int_equal(size.codes, sizeof codes);
  assert_int_equal(size.scales, sizeof scales);
  assert_int_equal(tw_tensors_read(file, "w", 0, codes, sizeof codes, &error), TW_OK);
  assert_int_equal(tw_tensors_read(file, "w.scales", 0, scales, sizeof scales, &error), TW_OK);
  static float back[5][64];
  assert_int_equal(tw_format_decode(&packing, 5, 64, codes, scales, back[0], 64, &error), TW_OK);
  for (int i = 0; i < 5 * 64; i++)
    assert_true(back[i / 64][i % 64] - w[i / 64][i % 64] <= 1 && w[i / 64][i % 64] - back[i / 64][i % 64] <= 1);
  tw_tensors_close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read_back),
      cmocka_unit_test(npy_holds_one_array),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(quantized_tensors_tell_their_packing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
