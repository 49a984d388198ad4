/* The machine file says what its sources say, and a wrong file is refused by name and line. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"
#include "target/xdna2/config.h"
#include "target/xdna2/design.h"

static const char *text(void) {
  const tw_embedded *file = tw_embedded_find("xdna2/configs/xdna2.txt");
  assert_non_null(file);
  return (const char *)file->data;
}

static void the_machine_is_read(void **state) {
  xd_config c;
  tw_error error;
  if (xd_config_parse(text(), "xdna2.txt", &c, &error) != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(c.name, "xdna2");
  assert_int_equal(c.rows * c.columns, 32);
  assert_int_equal(c.n_kernels, 31);
  assert_string_equal(c.kernel[0].name, "atb");
  assert_int_equal(c.kernel[0].b, TW_BFP16);
  assert_int_equal(xd_vmac_macs(&c.kernel[0]), 512); /* 58.98 Tflop/s of the array at 1.8 GHz */
  assert_int_equal(c.kernel[0].copies[2], 1);
  assert_true(c.kernel[0].scratch_a);
  assert_int_equal(xd_vmac_macs(&c.kernel[8]), 512); /* two instructions */
  assert_int_equal(xd_unit_n(&c.kernel[8]), 32);
  const xd_kernel *narrow = xd_find_kernel(&c, "ternary-int4-narrow", TW_I8, TW_TERNARY, TW_I8, TW_I32);
  assert_non_null(narrow); /* like ternary-int4, but for its C */
  assert_int_equal(narrow->scratch_b, TW_I4);
  assert_int_equal(xd_vmac_macs(narrow), 512);
  assert_int_equal(narrow->acc_loads, 1);
}

/* The file with `from` replaced by `to` must be refused with a line that holds `part`. */
static void refused(const char *from, const char *to, const char *part) {
  const char *whole = text(), *at = strstr(whole, from);
  tw_text changed = {0};
  xd_config c;
  tw_error error = {0};
  if (!at) fail_msg("the file does not hold '%s'", from);
  tw_text_add_bytes(&changed, whole, (size_t)(at - whole));
  tw_text_add(&changed, "%s%s", to, at + strlen(from));
  char *wrong = tw_text_take(&changed);
  tw_status status = xd_config_parse(wrong, "x.txt", &c, &error);
  free(wrong);
  if (status != TW_USAGE || !strstr(error.text, part) || !strstr(error.text, "x.txt") || strchr(error.text, '\n'))
    fail_msg("'%s': '%s' does not say '%s'", to, error.text, part);
}

static void wrong_files_are_refused(void **state) {
  refused("rows = 4", "rows = four", "rows = four: not an integer");
  refused("rows = 4", "rows = 0", "must be from 1 to 64");
  refused("rows = 4", "rows =", "rows has no value");
  refused("rows = 4", "rows", "expected \"key = value\"");
  refused("rows = 4", "", "the machine above lacks the key rows");
  refused("rows = 4", "rows = 4\nrows = 4", "rows is given twice");
  refused("rows = 4", "rowz = 4", "unknown key \"rowz\" of a machine");
  refused("stack_bytes = 1024", "stack_bytes = 65536", "the stack uses all of L1");
  refused("bfp16_paper_bytes = 1.25", "bfp16_paper_bytes = nan", "not a number");
  refused("b = bfp16", "b = bfp17", "b = bfp17: unknown type");
  refused("vmac = 8x8x8", "vmac = 8x8", "vmac needs 3 numbers, as in 8x8x8");
  refused("vmac = 8x8x8", "vmac = 8x8x8x8", "vmac has more than 3 numbers");
  refused("vmac = 8x8x8", "vmac = 8x8x0", "must be from 1 to 256");
  refused("copies = 2 2 1", "copies = 2 2", "copies needs 3 numbers, as in 2 2 1");
  refused("scratch_a = 1", "scratch_a = 2", "must be from 0 to 1");
  refused("scratch_b = i8", "scratch_b = i9", "scratch_b = i9: expected a type or none");
  refused("acc_stores = 2 ", "", "the kernel above lacks the key acc_stores");
  refused("name = mlir-aie", "name = atb", "kernel atb is defined twice");
  refused("like = int8-int4", "like = int9", "like = int9: unknown kernel; expected one from above");
  refused("like = int8-int4\nc = i8", "c = i8\nlike = int8-int4", "like must follow the kernel's name");
  refused("vmac_cycles = 1.218", "vmac_cycles = 0", "has cluster_cycles, but lacks vmac_cycles");
  refused("acc_loads = 1 ", "acc_loads = 0 ", "needs vmac_cycles or acc_loads");
  refused("name = xdna2", "name = a-name-that-is-far-too-long-for-the-field-that-holds-the-name-of-a-machine",
          "longer than 63 characters");
}

static void a_machine_without_kernels_is_refused(void **state) {
  char *machine = strdup(text());
  xd_config c;
  tw_error error = {0};
  *strstr(machine, "[kernel]") = '\0';
  assert_int_equal(xd_config_parse(machine, "x.txt", &c, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "section [kernel] is missing"));
  free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_machine_is_read),
      cmocka_unit_test(wrong_files_are_refused),
      cmocka_unit_test(a_machine_without_kernels_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
