/* gemm.c - a layer of a network with the library: plan once, pack the weights once, execute for every batch.
 *
 *   cc gemm.c $(pkg-config --cflags --libs tilewright) -o gemm */
#include <stdio.h>
#include <tilewright/gemm.h>

enum { M = 20, N = 100, K = 300 };

static int fail(const tw_error *error) {
  fprintf(stderr, "%s\n", error->text);
  return 1;
}

int main(void) {
  static float a[M][K], b[K][N], bias[N], c[M][N];
  for (int i = 0; i < M; i++)
    for (int p = 0; p < K; p++) a[i][p] = (float)((i + p) % 7 - 3);
  for (int p = 0; p < K; p++)
    for (int j = 0; j < N; j++) b[p][j] = (float)((2 * p + j) % 5 - 2);
  for (int j = 0; j < N; j++) bias[j] = (float)j;

  /* C = relu(A B + bias), everything in f32. */
  const tw_gemm_spec spec = {.size = sizeof spec, .m = M, .n = N, .k = K, .activation = TW_ACTIVATION_RELU};
  tw_gemm_plan *plan;
  tw_error error;
  if (tw_gemm_plan_create(&spec, &plan, &error) != TW_OK) return fail(&error);

  void *packed;
  if (tw_memory_alloc(tw_gemm_packed_bytes(plan), &packed, &error) != TW_OK) return fail(&error);
  if (tw_gemm_pack(plan, b, packed, &error) != TW_OK) return fail(&error);

  const tw_gemm_operands operands = {.size = sizeof operands, .a = a, .packed_b = packed, .c = c, .bias = bias};
  if (tw_gemm_plan_execute(plan, &operands, &error) != TW_OK) return fail(&error);

  for (int i = 0; i < M; i++) /* small integers: every result is exact */
    for (int j = 0; j < N; j++) {
      float sum = bias[j];
      for (int p = 0; p < K; p++) sum += a[i][p] * b[p][j];
      if (c[i][j] != (sum > 0 ? sum : 0)) return fprintf(stderr, "c[%d][%d] is wrong\n", i, j), 1;
    }
  char line[400];
  tw_gemm_plan_print(plan, line, sizeof line);
  puts(line);
  tw_memory_free(packed);
  tw_gemm_plan_destroy(plan);
  return 0;
}
