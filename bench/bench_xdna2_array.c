/* How long the XDNA2 array takes to simulate: 4096^3 in timing mode (under 30 s on one core), 1024^3 bit-exact (under
 * 10 s). */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/gemm_array.h"

static int bench(const xd_config *c, const char *kernel, tw_tile tile, int64_t size, bool timing_only) {
  const xd_kernel *k = xd_find_kernel(c, kernel, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
  const xd_gemm g = xd_gemm_default(c, k, &tile, size, size, size);
  int64_t bytes[XD_GEMM_OPERANDS];
  void *operand[XD_GEMM_OPERANDS] = {0};
  xd_program p;
  xd_run_result r;
  tw_error error;
  xd_gemm_bytes(&g, bytes);
  for (int i = 0; i < XD_GEMM_OPERANDS && !timing_only; i++) operand[i] = calloc(1, (size_t)bytes[i] + 1);
  const double begin = tw_now();
  tw_status status = xd_gemm_program(c, &g, &p, &error);
  if (status == TW_OK) {
    const xd_run_options options = {.timing_only = timing_only, .cost = xd_cost_of(c), .external = operand};
    status = xd_run(c, &p, &options, &r, &error);
    xd_program_free(&p);
  }
  const double seconds = tw_now() - begin;
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) free(operand[i]);
  if (status != TW_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  printf("%-10s %5d^3 %-10s %7.3f s  %9llu events  %5.1f Tflop/s simulated\n", kernel, (int)size,
         timing_only ? "timing" : "bit-exact", seconds, (unsigned long long)r.events,
         2.0 * (double)size * (double)size * (double)size / (r.cycles / (c->clock_mhz * 1e6)) * 1e-12);
  return 0;
}

int main(void) {
  static xd_config c;
  tw_error error;
  const tw_embedded *file = tw_embedded_find("xdna2/configs/xdna2.txt");
  if (!file || xd_config_parse((const char *)file->data, file->name, &c, &error) != TW_OK) return 1;
  const tw_tile small = {64, 64, 64, 1}, large = {128, 64, 128, 4};
  return bench(&c, "int8", small, 4096, true) | bench(&c, "atb", large, 4096, true) |
         bench(&c, "int8", small, 1024, false) | bench(&c, "atb", large, 1024, false) |
         bench(&c, "atb-bfp16", large, 1024, false);
}
