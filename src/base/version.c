/* version.c - see tilewright.h. */
#include "tilewright/extend/extend.h"
#include "tilewright/tensors.h"

#include <string.h>

const char *tw_version(void) { return TILEWRIGHT_VERSION; }

/* Every public struct; tests/abi.sh checks the list. (clang-format would move these at each run.) */
/* clang-format off */
#define SIZES(ROW) \
  ROW(tw_argument) ROW(tw_bench) ROW(tw_bound) ROW(tw_buffer_use) ROW(tw_case) ROW(tw_check_finding) ROW(tw_counter) \
  ROW(tw_coverage) ROW(tw_diagnosis) ROW(tw_effort) ROW(tw_error) ROW(tw_evaluation) ROW(tw_explainer) ROW(tw_explanation) \
  ROW(tw_exporter) ROW(tw_family) ROW(tw_field) ROW(tw_files) ROW(tw_finding) ROW(tw_format) ROW(tw_gemm_operands) \
  ROW(tw_gemm_spec) ROW(tw_headers) ROW(tw_inspection) ROW(tw_key) ROW(tw_language) ROW(tw_launcher) \
  ROW(tw_library) ROW(tw_magnitude) ROW(tw_measurement) ROW(tw_memory_use) ROW(tw_menu) ROW(tw_menu_builder) \
  ROW(tw_menu_item) ROW(tw_model_call) ROW(tw_model_options) ROW(tw_offer) ROW(tw_op) ROW(tw_operand) ROW(tw_packed_size) \
  ROW(tw_packing) ROW(tw_place) ROW(tw_problem) ROW(tw_progress) ROW(tw_raw_argument) \
  ROW(tw_raw_launch) ROW(tw_rewriter) ROW(tw_run_options) ROW(tw_rung) ROW(tw_schedule) \
  ROW(tw_search_options) ROW(tw_search_status) ROW(tw_spread) ROW(tw_stop) ROW(tw_target) ROW(tw_tensor) \
  ROW(tw_topic) ROW(tw_traits) ROW(tw_tune_options) ROW(tw_value) ROW(tw_verb) ROW(tw_view) ROW(tw_view_key)
/* clang-format on */

size_t tw_size_of(const char *type) {
#define ROW(name) {#name, sizeof(name)},
  static const struct {
    const char *name;
    size_t size;
  } sizes[] = {SIZES(ROW)};
#undef ROW
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (!strcmp(sizes[i].name, type)) return sizes[i].size;
  return 0;
}
