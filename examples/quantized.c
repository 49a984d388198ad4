/* quantized.c - weights from a .safetensors file, quantized, in a product: 4 bits and a scale for each 32 of them.
 *
 *   cc quantized.c $(pkg-config --cflags --libs tilewright tilewright-tensors) -o quantized && ./quantized */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tilewright/tensors.h>
#include <tilewright/tilewright.h>
#include <unistd.h>

enum { M = 3, N = 64, K = 256 };

static tw_error error;

static void require(bool fine) {
  if (fine) return;
  fprintf(stderr, "%s\n", error.text);
  exit(1);
}

/* A file such as a framework writes: one matrix, a row for each output. */
static void write_weights(const char *path) {
  static float w[N][K];
  for (int j = 0; j < N; j++)
    for (int p = 0; p < K; p++) w[j][p] = (float)((j * 37 + p * 11) % 97 - 48) * 0.02f;
  const tw_tensor tensor = {.name = "layer.weight", .dtype = "F32", .rank = 2, .shape = {N, K}, .bytes = sizeof w};
  const void *const data[] = {w};
  require(tw_tensors_write(path, 1, &tensor, data, &error) == TW_OK);
}

int main(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tilewright-example-%d.safetensors", (int)getpid());
  write_weights(path);

  tw_tensors *file;
  tw_tensor tensor;
  require(tw_tensors_open(path, &file, &error) == TW_OK);
  if (!tw_tensors_find(file, "layer.weight", &tensor)) return fprintf(stderr, "no layer.weight\n"), 1;
  float *w = malloc(tensor.bytes);
  require(tw_tensors_read(file, tensor.name, 0, w, tensor.bytes, &error) == TW_OK);
  tw_tensors_close(file);
  remove(path);

  const tw_packing packing = {.format = tw_format_find("mxfp4")};
  tw_packed_size size;
  require(tw_format_sizes(&packing, N, K, &size, &error) == TW_OK);
  void *codes = malloc(size.codes), *scales = malloc(size.scales);
  require(tw_format_encode(&packing, N, K, w, K, codes, scales, &error) == TW_OK);
  printf("%zu bytes of weights became %zu\n", (size_t)tensor.bytes, size.codes + size.scales);

  /* C = A W', A and C in f32. */
  const tw_gemm_spec spec = {.size = sizeof spec, .m = M, .n = N, .k = K, .b = TW_MXFP4, .b_transposed = true};
  tw_gemm_plan *plan;
  require(tw_gemm_plan_create(&spec, &plan, &error) == TW_OK);
  void *packed;
  require(tw_memory_alloc(tw_gemm_packed_bytes(plan), &packed, &error) == TW_OK);
  require(tw_gemm_pack_codes(plan, codes, scales, packed, &error) == TW_OK);
  static float a[M][K], c[M][N];
  for (int i = 0; i < M; i++)
    for (int p = 0; p < K; p++) a[i][p] = (float)((i + p) % 5 - 2);
  const tw_gemm_operands operands = {.size = sizeof operands, .a = a, .packed_b = packed, .c = c};
  require(tw_gemm_plan_execute(plan, &operands, &error) == TW_OK);

  /* What the weights became is what was multiplied. */
  require(tw_format_decode(&packing, N, K, codes, scales, w, K, &error) == TW_OK);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int p = 0; p < K; p++) sum += (double)a[i][p] * (double)w[j * K + p];
      if (fabs(sum - (double)c[i][j]) > 1e-3) return fprintf(stderr, "c[%d][%d] is wrong\n", i, j), 1;
    }
  free(w), free(codes), free(scales), tw_memory_free(packed);
  tw_gemm_plan_destroy(plan);
  return 0;
}
