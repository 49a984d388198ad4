/* test_quantize.c - files of tensors in, files of tensors out: what is written equals what the library encodes; bad
 * files are refused in one line; nothing is left behind by a failure. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/random.h"
#include "base/strings.h"
#include "tensors/convert.h"

static char *folder;

static int make_folder(void **state) { return tw_directory_temporary(&folder, NULL) != TW_OK; }

static int remove_folder(void **state) {
  tw_directory_remove(folder);
  free(folder);
  return 0;
}

static const char *at(const char *name) { /* its path in the folder; the last four stay valid */
  static char path[4][600];
  static int next;
  char *p = path[next++ % 4];
  snprintf(p, sizeof path[0], "%s/%s", folder, name);
  return p;
}

static void write_bytes(const char *name, const void *data, size_t n) {
  assert_int_equal(tw_file_write(at(name), data, n, NULL), TW_OK);
}

/* A .safetensors file of a header and data. */
static void write_safetensors(const char *name, const char *header, const void *data, size_t n) {
  tw_text text = {0};
  uint64_t length = strlen(header);
  tw_text_add_bytes(&text, &length, 8);
  tw_text_add_string(&text, header);
  tw_text_add_bytes(&text, data, n);
  write_bytes(name, text.data, text.length);
  tw_text_free(&text);
}

static void write_npy(const char *name, const char *header, const void *data, size_t n) {
  tw_text text = {0};
  uint8_t prefix[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)strlen(header), (uint8_t)(strlen(header) >> 8)};
  tw_text_add_bytes(&text, prefix, 10);
  tw_text_add_string(&text, header);
  tw_text_add_bytes(&text, data, n);
  write_bytes(name, text.data, text.length);
  tw_text_free(&text);
}

static float *numbers(size_t n) {
  float *x = malloc(n * sizeof *x);
  tw_random random;
  tw_random_seed(&random, n);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) x[i] = (float)(tw_random_real(&random) + tw_random_real(&random) - 1);
  return x;
}

static tw_status convert(const char *in, const char *out, const tw_packing *to, conversion *result, tw_error *error) {
  convert_options options = {.to = *to};
  char in_path[600];
  snprintf(in_path, sizeof in_path, "%s", at(in));
  return convert_file(in_path, at(out), &options, NULL, NULL, result, error);
}

static void must_convert(const char *in, const char *out, const tw_packing *to) {
  conversion result;
  tw_error error;
  if (convert(in, out, to, &result, &error) != TW_OK) fail_msg("%s -> %s: %s", in, out, error.text);
  conversion_free(&result);
}

/* The data of a tensor of a file in the folder, malloc'ed. */
static void *data_of(const char *file, const char *name, size_t *bytes) {
  tensor_file f;
  assert_int_equal(tensor_file_open(at(file), &f, NULL), TW_OK);
  const tensor *t = tensor_named(&f, name);
  if (!t) fail_msg("%s has no tensor %s", file, name);
  *bytes = (size_t)t->bytes;
  void *data = malloc(*bytes + 1);
  assert_int_equal(tensor_read(&f, t, 0, data, *bytes, NULL), TW_OK);
  tensor_file_close(&f);
  return data;
}

static void check_file(const tw_packing *p, size_t rows, size_t columns, const float *x) {
  tw_packed_size size;
  size_t bytes;
  assert_int_equal(tw_format_sizes(p, rows, columns, &size, NULL), TW_OK);
  uint8_t *codes = malloc(size.codes + 1), *scales = malloc(size.scales + 1);
  float *y = malloc(rows * columns * sizeof *y);
  assert_int_equal(tw_format_encode(p, rows, columns, x, columns, codes, scales, NULL), TW_OK);
  assert_int_equal(tw_format_decode(p, rows, columns, codes, scales, y, columns, NULL), TW_OK);
  must_convert("in.npy", "packed.safetensors", p);
  uint8_t *file_codes = data_of("packed.safetensors", "array", &bytes);
  assert_int_equal(bytes, size.codes);
  assert_memory_equal(codes, file_codes, bytes);
  if (size.scales) {
    uint8_t *file_scales = data_of("packed.safetensors", "array.scales", &bytes);
    assert_int_equal(bytes, size.scales);
    assert_memory_equal(scales, file_scales, bytes);
    free(file_scales);
  }
  tw_packing f32 = {.format = tw_format_at(TW_FORMAT_F32)};
  must_convert("packed.safetensors", "back.npy", &f32);
  float *back = data_of("back.npy", "array", &bytes);
  assert_int_equal(bytes, rows * columns * sizeof *back);
  assert_memory_equal(back, y, bytes);
  free(codes), free(scales), free(y), free(file_codes), free(back);
}

static void files_hold_what_the_library_encodes(void **state) {
  enum { ROWS = 37, COLUMNS = 145 };
  float *x = numbers(ROWS * COLUMNS);
  write_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (37, 145), }\n", x, ROWS * COLUMNS * 4);
  for (int id = 0; id < TW_FORMAT_COUNT; id++) {
    tw_packing p = {.format = tw_format_at((tw_format_id)id)};
    check_file(&p, ROWS, COLUMNS, x);
    static const int64_t groups[] = {TW_GROUP_TENSOR, 32, 100};
    for (int g = 0; g < 3; g++) {
      p.group = groups[g];
      if (tw_packing_check(&p, NULL) == TW_OK) check_file(&p, ROWS, COLUMNS, x);
    }
  }
  free(x);
}

/* Rows longer than a tile, whose parts share scales. */
static void long_rows_are_cut_without_a_trace(void **state) {
  enum { ROWS = 2, COLUMNS = 600001 };
  float *x = numbers((size_t)ROWS * COLUMNS);
  x[COLUMNS - 1] = 3;
  write_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 600001)}", x, (size_t)ROWS * COLUMNS * 4);
  static const tw_format_id ids[] = {TW_FORMAT_MXFP6_E2M3, TW_FORMAT_BFP16, TW_FORMAT_I4, TW_FORMAT_I8,
                                     TW_FORMAT_TQ1_0,      TW_FORMAT_TL2,   TW_FORMAT_F16};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    tw_packing p = {.format = tw_format_at(ids[i])};
    check_file(&p, ROWS, COLUMNS, x);
    p.group = ids[i] == TW_FORMAT_TL2 ? TW_GROUP_TENSOR : 192;
    if (tw_packing_check(&p, NULL) == TW_OK) check_file(&p, ROWS, COLUMNS, x);
  }
  free(x);
}

static void other_tensors_are_copied_and_metadata_stays(void **state) {
  uint8_t data[4 * 2 * 40 + 2 * 3 + 5];
  float *x = numbers(80);
  size_t bytes;
  memcpy(data, x, 320);
  memcpy(data + 320, "abcdefghijk", 11);
  write_safetensors(
      "many.safetensors",
      "{\"__metadata__\":{\"note\":\"kept\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,40],\"data_offsets\":[0,320]},"
      "\"n\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[320,326]},"
      "\"odd\":{\"dtype\":\"F4\",\"shape\":[10],\"data_offsets\":[326,331]}}",
      data, sizeof data);
  tw_packing p = {.format = tw_format_at(TW_FORMAT_MXFP4), .rule = TW_RULE_EVEN};
  must_convert("many.safetensors", "packed.safetensors", &p);
  uint8_t *copied = data_of("packed.safetensors", "n", &bytes);
  assert_int_equal(bytes, 6);
  assert_memory_equal(copied, "abcdef", 6);
  free(copied);
  copied = data_of("packed.safetensors", "odd", &bytes);
  assert_memory_equal(copied, "ghijk", 5);
  free(copied);
  tensor_file f;
  assert_int_equal(tensor_file_open(at("packed.safetensors"), &f, NULL), TW_OK);
  assert_string_equal(json_string_value(json_object_get(f.metadata, "note")), "kept");
  assert_string_equal(json_string_value(json_object_get(f.metadata, "tilewright.w")), "mxfp4 shape=2,40 rule=even");
  const tensor *t = tensor_named(&f, "w");
  assert_int_equal(t->dtype, DTYPE_U8);
  assert_int_equal(t->rank, 2);
  assert_int_equal(t->shape[1], 32); /* two blocks of 16 bytes */
  tensor_file_close(&f);
  free(x);
}

static void statistics_are_those_of_the_definition(void **state) {
  float x[64] = {0};
  conversion result;
  tw_error error;
  x[0] = 7.5f, x[1] = 1.25f, x[2] = 3; /* the scale is 2^0: 7.5 is clipped to 6, 1.25 becomes 1 */
  x[40] = NAN;                         /* its block of 32 is lost */
  write_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (64,)}", x, sizeof x);
  tw_packing p = {.format = tw_format_at(TW_FORMAT_MXFP4)};
  assert_int_equal(convert("in.npy", "o.safetensors", &p, &result, &error), TW_OK);
  const statistics *s = &result.tensor[0].statistics;
  assert_int_equal(s->values, 64);
  assert_int_equal(s->non_finite, 32);
  assert_int_equal(s->clipped, 1);
  assert_int_equal(s->exact, 30);
  assert_true(s->max_error == 1.5 && s->max_value == 7.5);
  assert_true(fabs(statistics_rms(s) - sqrt((1.5 * 1.5 + 0.25 * 0.25) / 32)) < 1e-12);
  assert_int_equal(s->bin[127], 1); /* 1 <= 1.5 < 2 */
  assert_int_equal(s->bin[125], 1); /* 0.25 */
  conversion_free(&result);
}

/* Five tiles and a rest, with sums whose last bits depend on the order of additions. */
static void threads_do_not_change_the_result(void **state) {
  enum { ROWS = 11, COLUMNS = 120000 };
  static const int jobs[] = {1, 2, 3, 8};
  static const tw_format_id formats[] = {TW_FORMAT_MXFP4, TW_FORMAT_I8, TW_FORMAT_F16};
  float *x = malloc(sizeof(float) * ROWS * COLUMNS);
  assert_non_null(x);
  tw_random random;
  tw_random_seed(&random, 53);
  for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) x[i] = (float)(tw_random_next(&random) >> 40) * 1e-5f - 80;
  write_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (11, 120000)}", x, sizeof *x * ROWS * COLUMNS);
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    statistics first = {0};
    char *expected = NULL;
    size_t bytes, bytes_too;
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
      const convert_options options = {.to.format = tw_format_at(formats[f]), .jobs = jobs[j]};
      conversion result;
      tw_error error;
      char *written;
      assert_int_equal(convert_file(at("in.npy"), at("o.safetensors"), &options, NULL, NULL, &result, &error), TW_OK);
      assert_int_equal(tw_file_read(at("o.safetensors"), 1 << 30, &written, j ? &bytes_too : &bytes, &error), TW_OK);
      if (j == 0) {
        first = result.tensor[0].statistics;
        expected = written;
        assert_int_equal(first.values, ROWS * COLUMNS);
      } else {
        assert_memory_equal(&result.tensor[0].statistics, &first, sizeof first);
        assert_int_equal(bytes_too, bytes);
        assert_memory_equal(written, expected, bytes);
        free(written);
      }
      conversion_free(&result);
    }
    free(expected);
  }
  free(x);
}

/* ---- what is refused ---- */

static size_t files_in_folder(void) {
  size_t n = 0;
  DIR *d = opendir(folder);
  assert_non_null(d);
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

static void refused(const char *in, const char *part) {
  tw_packing p = {.format = tw_format_at(TW_FORMAT_MXFP4)};
  conversion result;
  tw_error error = {0};
  size_t before = files_in_folder();
  tw_status status = convert(in, "refused.safetensors", &p, &result, &error);
  if (status != TW_USAGE || !strstr(error.text, part) || strchr(error.text, '\n'))
    fail_msg("%s: status %d, '%s' does not say '%s'", in, status, error.text, part);
  assert_int_equal(files_in_folder(), before);
}

static void malformed_safetensors_are_refused(void **state) {
  static const struct {
    const char *header, *says;
  } bad[] = {
      {"{ ", "in its header at byte"},
      {"{}{", "in its header at byte"},
      {"{\"a\":1,\"a\":1}", "in its header"},
      {"{\"w\":{}}", "'w' has no dtype"},
      {"{\"w\":{\"dtype\":\"F32\"}}", "has no shape"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", "has a size that is not a whole number"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "has a size that is not a whole number"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2]}}", "does not have two data_offsets"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", "does not have two data_offsets"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "extends past the end of the file"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "extends past the end of the file"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", "do not fit its shape"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", "too large a shape"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
       "is not a valid .safetensors file: it has data that belong to no tensor"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
       "does not begin at the end of the previous tensor"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"v\":{\"dtype\":\"F32\",\"shape\":[1],"
       "\"data_offsets\":[4,8]}}",
       "does not begin at the end of the previous tensor"},
      {"{\"__metadata__\":{\"a\":1},\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "__metadata__"},
      {"{\"w\":{\"dtype\":\"I32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", "nothing to convert"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "--all"},
      {"{\"__metadata__\":{\"tilewright.w\":\"mxfp9 shape=2\"},\"w\":{\"dtype\":\"U8\",\"shape\":[8],"
       "\"data_offsets\":[0,8]}}",
       "unknown metadata of tensor 'w'"},
      {"{\"__metadata__\":{\"tilewright.w\":\"tl1 shape=64\"},\"w\":{\"dtype\":\"U8\",\"shape\":[8],"
       "\"data_offsets\":[0,8]}}",
       "differs from its metadata"},
      {"{\"__metadata__\":{\"tilewright.w\":\"tl1 shape=32\"},\"w\":{\"dtype\":\"U8\",\"shape\":[8],"
       "\"data_offsets\":[0,8]}}",
       "'w.scales' is missing"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]},\"w.scales\":{\"dtype\":\"F32\",\"shape\":[1]"
       ","
       "\"data_offsets\":[4,8]}}",
       "the name for the scales of 'w'"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_safetensors("bad.safetensors", bad[i].header, "12345678", 8);
    refused("bad.safetensors", bad[i].says);
  }
  write_bytes("bad.safetensors", "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
  refused("bad.safetensors", "longer than 100 MB");
  write_bytes("bad.safetensors", "\x40\0\0\0\0\0\0\0{}", 10);
  refused("bad.safetensors", "the file ends within its header");
  write_bytes("bad.safetensors", "", 0);
  refused("bad.safetensors", "too short");
  refused("no-such-file", "No such file");
}

static void malformed_npy_are_refused(void **state) {
  static const struct {
    const char *header, *says;
  } bad[] = {
      {"", "no dictionary"},
      {"{}", "lacks 'descr'"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks 'descr'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "no tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,-3)}", "no tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "no tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", "unknown or repeated"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,) 'x'", "malformed"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} {}", "after the dictionary"},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1)}", "Fortran"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "big-endian"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "not known"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "records"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "needs 12 bytes of data, it has 8"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", "too large"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", "nothing to convert"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_npy("bad.npy", bad[i].header, "12345678", 8);
    refused("bad.npy", bad[i].says);
  }
  write_bytes("bad.npy", "\x93NUMPY\x09\0\0\0\0\0", 12);
  refused("bad.npy", "version");
}

static void every_shorter_file_is_refused(void **state) {
  char *data;
  size_t length;
  float *x = numbers(80);
  write_npy("whole.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 40)}", x, 320);
  tw_packing p = {.format = tw_format_at(TW_FORMAT_I8)};
  must_convert("whole.npy", "whole.safetensors", &p);
  static const char *const names[] = {"whole.npy", "whole.safetensors"};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(tw_file_read(at(names[i]), 1 << 20, &data, &length, NULL), TW_OK);
    for (size_t n = 0; n < length; n += n < 200 ? 1 : 7) {
      write_bytes("shorter", data, n);
      refused("shorter", "'");
    }
    free(data);
  }
  free(x);
}

static void a_failure_leaves_the_old_file(void **state) {
  float *x = numbers(1 << 16);
  conversion result;
  tw_error error;
  write_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (256, 256)}", x, 4 << 16);
  write_bytes("old.safetensors", "old", 3);
  tw_packing p = {.format = tw_format_at(TW_FORMAT_BF16)};
  volatile int stopped = 1;
  convert_options options = {.to = p, .stopped = &stopped};
  char in[600];
  snprintf(in, sizeof in, "%s", at("in.npy"));
  size_t before = files_in_folder();
  assert_int_equal(convert_file(in, at("old.safetensors"), &options, NULL, NULL, &result, &error), TW_INTERRUPTED);
  /* no room: a limit on the size of files stands for a full disk */
  struct rlimit old, small = {1000, 1000};
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small.rlim_max = old.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_equal(convert("in.npy", "old.safetensors", &p, &result, &error), TW_DISK_FULL);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_non_null(strstr(error.text, "its disk is full"));
  assert_int_equal(files_in_folder(), before);
  size_t length;
  char *data;
  assert_int_equal(tw_file_read(at("old.safetensors"), 100, &data, &length, NULL), TW_OK);
  assert_string_equal(data, "old");
  free(data);
  free(x);
}

static void memory_does_not_grow_with_the_file(void **state) {
  enum { COLUMNS = 1 << 16, ROWS = 1 << 10 };
  struct rusage before, after;
  write_npy("large.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 65536)}\n", "", 0);
  tw_error error;
  char *data;
  size_t header;
  assert_int_equal(tw_file_read(at("large.npy"), 1000, &data, &header, &error), TW_OK);
  free(data);
  assert_int_equal(truncate(at("large.npy"), (off_t)header + (off_t)4 * ROWS * COLUMNS), 0); /* 256 MiB of zeros */
  getrusage(RUSAGE_SELF, &before);
  tw_packing p = {.format = tw_format_at(TW_FORMAT_I4), .group = TW_GROUP_TENSOR};
  must_convert("large.npy", "large.safetensors", &p);
  getrusage(RUSAGE_SELF, &after);
  assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* KiB */
}

/* Reading goes on from the open file while the new one is written beside it. */
static void a_file_can_replace_itself(void **state) {
  enum { ROWS = 3, COLUMNS = 70 };
  size_t bytes, before;
  float *x = numbers((size_t)ROWS * COLUMNS), y[ROWS * COLUMNS];
  uint8_t codes[ROWS * 3 * 16], scales[ROWS * 3];
  tw_packing f32 = {.format = tw_format_at(TW_FORMAT_F32)}, mx = {.format = tw_format_at(TW_FORMAT_MXFP4)};
  write_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 70)}", x, sizeof y);
  must_convert("in.npy", "same.safetensors", &f32);
  before = files_in_folder();
  must_convert("same.safetensors", "same.safetensors", &mx);
  must_convert("same.safetensors", "same.safetensors", &f32);
  assert_int_equal(files_in_folder(), before);
  assert_int_equal(tw_format_encode(&mx, ROWS, COLUMNS, x, COLUMNS, codes, scales, NULL), TW_OK);
  assert_int_equal(tw_format_decode(&mx, ROWS, COLUMNS, codes, scales, y, COLUMNS, NULL), TW_OK);
  float *back = data_of("same.safetensors", "array", &bytes);
  assert_int_equal(bytes, sizeof y);
  assert_memory_equal(back, y, sizeof y);
  free(back);
  free(x);
}

/* ---- the command ---- */

static void command(const char *words, int status, const char *out_part, const char *err_part) {
  tw_text script = {0};
  tw_text_add(&script, "cd '%s'; '%s' quantize %s 2>err", folder, TW_COMMAND, words);
  char *text = tw_text_take(&script), *err;
  tw_process_options options = {
      .argv = (const char *const[]){"sh", "-c", text, NULL}, .output_limit = 1 << 20, .seconds = 60};
  tw_process_result result;
  assert_int_equal(tw_process_run(&options, &result, NULL), TW_OK);
  assert_int_equal(tw_file_read(at("err"), 1 << 16, &err, NULL, NULL), TW_OK);
  if (result.exit_status != status || !strstr(result.output, out_part) || !strstr(err, err_part))
    fail_msg("%s: status %d, '%s', '%s'", words, result.exit_status, result.output, err);
  free(err);
  free(text);
  free(result.output);
}

static void the_command_says_what_it_did_or_what_is_wrong(void **state) {
  float *x = numbers(320);
  write_npy("c.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 32)}", x, 1280);
  command("c.npy c.safetensors --to mxfp4 --scale-rule even", 0, "f32 -> mxfp4  4.25 bits a value", "");
  command("c.npy c.safetensors --to mxfp4", 0, "1 to mxfp4, 0 copied; 24 values clipped", "");
  command("c.npy c.safetensors --to mxfp4 --verbose", 0, "|error|", "");
  command("c.npy c.safetensors --to i4 --group 16 --json", 0, "\"relative_error\"", "");
  command("c.safetensors c16.npy --to f16", 0, "i4 -> f16", "");
  command("c.npy", 2, "", "tilewright: the files are missing");
  command("c.npy c.safetensors", 2, "", "the output format is missing");
  command("c.npy c.safetensors --to mxfp44", 2, "", "did you mean 'mxfp4'?");
  command("c.npy c.safetensors --to float", 2, "", "expected one of f32, f16");
  command("c.npy c.safetensors --to i8 --group 0", 2, "", "--group 0: expected row, tensor");
  command("c.npy c.safetensors --to i8 --group 3", 2, "", "even number");
  command("c.npy c.safetensors --to i8 --scale-rule up", 2, "", "i8 has no scale rule 'up'");
  command("c.npy c.safetensors --to mxfp4 --scale-rule best", 2, "", "expected floor, even");
  command("c.npy c.safetensors --to bfp16 --rounding up", 2, "", "expected even or floor");
  command("c.npy c.txt --to i8", 2, "", "expected NAME.npy");
  command("c.npy nowhere/c.npy --to f32", 2, "", "No such file or directory");
  command("c.npy c.npy x --to f32", 2, "", "unexpected argument 'x'");
  command("c.npy . --to f32 --json", 2, "\"error\"", "tilewright: ");
  command("c.npy d.safetensors --to i8 >/dev/full", 3, "", "cannot write to standard output");
  command("c.npy d.safetensors --to i8 --json >/dev/full", 3, "", "tilewright: ");
  assert_int_equal(symlink("/dev/full", at("full.npy")), 0);
  command("c.npy full.npy --to f32", 2, "", "not a regular file");
  assert_int_equal(unlink(at("full.npy")), 0);
  /* names that would command the terminal: ESC, CSI as one character, a new line */
  write_safetensors(
      "esc.safetensors",
      "{\"a\\u001b[31mb\\u009b1mc\\nd\": {\"dtype\": \"F32\", \"shape\": [2, 32], \"data_offsets\": [0, 256]}}", x,
      256);
  command("esc.safetensors c.safetensors --to mxfp4", 0, "a?[31mb\xc2?1mc?d  [2, 32]", "");
  free(x);
}

/* Ctrl-C in the middle: nothing stays behind, and the file that was there is as it was. */
static void an_interrupted_command_leaves_nothing(void **state) {
  write_npy("large.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (8192, 65536)}\n", "", 0);
  tw_error error;
  char *data;
  size_t header, length;
  assert_int_equal(tw_file_read(at("large.npy"), 1000, &data, &header, &error), TW_OK);
  free(data);
  assert_int_equal(truncate(at("large.npy"), (off_t)header + ((off_t)1 << 31)), 0); /* 2 GiB of zeros */
  write_bytes("old.safetensors", "old", 3);
  tw_text script = {0};
  tw_text_add(&script,
              "cd '%s'; exec timeout --foreground --preserve-status -s INT 0.1 '%s' quantize large.npy old.safetensors "
              "--to tl2", /* --foreground: one signal, not another to the group; the second would kill at once */
              folder, TW_COMMAND);
  char *text = tw_text_take(&script);
  size_t before = files_in_folder();
  tw_process_options options = {
      .argv = (const char *const[]){"sh", "-c", text, NULL}, .output_limit = 1 << 20, .seconds = 60};
  tw_process_result result;
  assert_int_equal(tw_process_run(&options, &result, NULL), TW_OK);
  assert_int_equal(result.exit_status, 128 + SIGINT);
  assert_int_equal(files_in_folder(), before);
  assert_int_equal(tw_file_read(at("old.safetensors"), 100, &data, &length, NULL), TW_OK);
  assert_string_equal(data, "old");
  free(data);
  free(result.output);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_hold_what_the_library_encodes),
      cmocka_unit_test(long_rows_are_cut_without_a_trace),
      cmocka_unit_test(other_tensors_are_copied_and_metadata_stays),
      cmocka_unit_test(statistics_are_those_of_the_definition),
      cmocka_unit_test(threads_do_not_change_the_result),
      cmocka_unit_test(malformed_safetensors_are_refused),
      cmocka_unit_test(malformed_npy_are_refused),
      cmocka_unit_test(every_shorter_file_is_refused),
      cmocka_unit_test(a_failure_leaves_the_old_file),
      cmocka_unit_test(a_file_can_replace_itself),
      cmocka_unit_test(memory_does_not_grow_with_the_file),
      cmocka_unit_test(the_command_says_what_it_did_or_what_is_wrong),
      cmocka_unit_test(an_interrupted_command_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
