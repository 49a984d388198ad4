/* The configuration files say what the generator's sources say, and a wrong file is refused by name and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/gemmini/config.h"

static char *read_config(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/../../src/target/gemmini/configs/%s.txt", TW_TEST_DATA, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 65536);
  assert_non_null(text);
  assert_true(fread(text, 1, 65535, file) > 0);
  fclose(file);
  return text;
}

static gm_config parsed(const char *name) {
  char *text = read_config(name);
  gm_config c;
  tw_error error = {0};
  tw_status status = gm_config_parse(text, name, &c, &error);
  if (status != TW_OK) fail_msg("%s", error.text);
  free(text);
  return c;
}

static void int8_array_has_4096_row_banks_and_512_row_accumulator_banks(void **state) {
  gm_config c = parsed("gemmini-16x16-int8");
  assert_string_equal(c.name, "gemmini-16x16-int8");
  assert_int_equal(c.input_type, TW_I8);
  assert_int_equal(c.acc_type, TW_I32);
  assert_int_equal(gm_spad_bank_rows(&c), 4096);
  assert_int_equal(gm_acc_bank_rows(&c), 512);
  assert_int_equal(c.max_block_cols, 64);
  assert_false(c.mvin_scales_acc);
}

static void fp32_array_has_16_byte_rows_in_both_memories(void **state) {
  gm_config c = parsed("gemmini-4x4-fp32");
  assert_int_equal(c.dim * gm_input_bytes(&c), 16);
  assert_int_equal(c.dim * gm_acc_bytes(&c), 16);
  assert_int_equal(gm_acc_rows(&c), 4096);
  assert_int_equal(c.acc_banks, 1);
  assert_int_equal(c.max_block_cols, 16);
  assert_true(c.mvin_scales_acc);
}

/* The int8 text with the line of `key` replaced (or removed, if NULL), and `extra` behind it. */
static void refused(const char *key, const char *replacement, const char *extra, const char *message) {
  char *text = read_config("gemmini-16x16-int8");
  char *edited = calloc(1, 70000);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    size_t n = strlen(key);
    if (n && !strncmp(line, key, n) && line[n] == ' ') line = replacement ? (char *)replacement : "";
    strcat(strcat(edited, line), "\n");
  }
  strcat(edited, extra);
  gm_config c;
  tw_error error = {0};
  assert_int_equal(gm_config_parse(edited, "x.txt", &c, &error), TW_USAGE);
  if (!strstr(error.text, message)) fail_msg("\"%s\" does not say \"%s\"", error.text, message);
  if (strncmp(error.text, "x.txt:", 6)) fail_msg("\"%s\" does not name the file", error.text);
  free(text);
  free(edited);
}

static void wrong_files_are_refused_by_name(void **state) {
  refused("dim", NULL, "", "lacks the key dim");
  refused("dim", "dim = 12", "", "must be a power of two");
  refused("dim", "dim = 128", "", "must be from 2 to 64");
  refused("dim", "dim = sixteen", "", "not an integer");
  refused("dim", "dim = 16 rows", "", "not an integer");
  refused("dim", "dim =", "", "dim has no value");
  refused("dim", "dim 16", "", "expected \"key = value\"");
  refused("dim", "dim = 99999999999999999999", "", "not an integer");
  refused("", NULL, "dim = 16\n", "dim is given twice");
  refused("", NULL, "dimension = 16\n", "unknown key \"dimension\"");
  refused("input_type", "input_type = int8", "", "unknown type");
  refused("input_type", "input_type = f32", "", "must be i8 and i32, or f32, bf16 or f16 and f32");
  refused("spad_banks", "spad_banks = 7", "", "must be a power of two");
  refused("acc_latency", "acc_latency = 1", "", "must be from 2");
  refused("acc_bytes", "acc_bytes = 1024", "", "accumulator bank holds fewer");
  refused("l2_ways", "l2_ways = 3", "", "power of two");
  char name[200];
  memset(name, 'x', sizeof name);
  memcpy(name, "name = ", 7);
  name[sizeof name - 1] = '\0';
  refused("name", name, "", "longer than 63 characters");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(int8_array_has_4096_row_banks_and_512_row_accumulator_banks),
      cmocka_unit_test(fp32_array_has_16_byte_rows_in_both_memories),
      cmocka_unit_test(wrong_files_are_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
