/* plain_rows.c - layernorm and softmax of rows of any length, on any machine: a block for each row, which it reads once for each of
 * its passes. Where kernels of tiles take a problem, their plainest is the baseline. */
#include <string.h>

#include "base/strings.h"
#include "target/cuda/plain.h"

static const char THREADS[] =
    "/* Of all 256 threads. */\n"
    "static __device__ float over_block(float v, bool most) {\n"
    "  __shared__ float part[256];\n"
    "  __syncthreads();\n"
    "  part[threadIdx.x] = v;\n"
    "  for (int n = 128; n; n /= 2) {\n"
    "    __syncthreads();\n"
    "    const float other = threadIdx.x < n ? part[threadIdx.x + n] : 0;\n"
    "    if (threadIdx.x < n) part[threadIdx.x] = most ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;\n"
    "  }\n"
    "  __syncthreads();\n"
    "  return part[0];\n"
    "}\n\n";

static void add_types(tw_text *s, const cuda_plain_words *a) {
  tw_text_add(s,
              "typedef %s type;\nstatic __device__ float load(type x) { %s }\n"
              "static __device__ type stored(float x) { %s }\n\n%s",
              a->stored, a->load, a->store, THREADS);
}

static void softmax(tw_text *s, const cuda_plain_words *a) {
  tw_text_add_string(s, "// y = softmax of each row of x: the baseline.\n"
                        "//: kernel softmax\n//: grid rows\n//: block 256\n//: args x, y, cols\n\n");
  add_types(s, a);
  tw_text_add_string(
      s, "extern \"C\" __global__ void __launch_bounds__(256) softmax(const type *x, type *y, int cols) {\n"
         "  const long long at = (long long)blockIdx.x * cols;\n"
         "  float most = __int_as_float(0xff800000), sum = 0;\n"
         "  for (int c = threadIdx.x; c < cols; c += 256) most = fmaxf(most, load(x[at + c]));\n"
         "  most = over_block(most, true);\n"
         "  for (int c = threadIdx.x; c < cols; c += 256) sum += expf(load(x[at + c]) - most);\n"
         "  sum = over_block(sum, false);\n"
         "  for (int c = threadIdx.x; c < cols; c += 256) y[at + c] = stored(expf(load(x[at + c]) - most) / sum);\n"
         "}\n");
}

/* The word that op/layernorm.c draws for an element. */
static const char DRAWN[] =
    "#define TW_FN __device__ __forceinline__\n#include \"tile_philox.h\"\n\n"
    "static __device__ unsigned drawn(unsigned col, unsigned row, unsigned key0, unsigned key1) {\n"
    "  const tw::philox w(col / 4, row, key0, key1);\n"
    "  return col % 4 == 0 ? w.word[0] : col % 4 == 1 ? w.word[1] : col % 4 == 2 ? w.word[2] : w.word[3];\n"
    "}\n\n";

static void layernorm(tw_text *s, const tw_problem *p, const cuda_plain_words *a) {
  const bool residual = tw_problem_int(p, "residual"), rms = tw_problem_int(p, "norm") == 1;
  const double dropout = tw_problem_real(p, "dropout");
  const char *each = "  for (int c = threadIdx.x; c < cols; c += 256)";
  tw_text_add(s,
              "// y = rows of x, normalized: the baseline.\n//: kernel layernorm\n//: grid rows\n//: block 256\n"
              "//: args x, %sweight, %s%sy, %scols, f32(eps)%s\n\n",
              residual ? "residual, " : "", rms ? "" : "bias, ", dropout > 0 ? "seed, " : "", residual ? "sum, " : "",
              dropout > 0 ? ", f32(dropout)" : "");
  add_types(s, a);
  if (dropout > 0) tw_text_add_string(s, DRAWN);
  tw_text_add(s,
              "extern \"C\" __global__ void __launch_bounds__(256)\nlayernorm(const type *x, %sconst type *weight, "
              "%s%stype *y, "
              "%sint cols, float eps%s) {\n  const long long at = (long long)blockIdx.x * cols;\n",
              residual ? "const type *residual, " : "", rms ? "" : "const type *bias, ",
              dropout > 0 ? "const unsigned *seed, " : "", residual ? "type *sum, " : "",
              dropout > 0 ? ", float dropout" : "");
  tw_text_add_string(s, "  const auto value = [&](int c) {\n    float v = load(x[at + c]);\n");
  if (dropout > 0)
    tw_text_add(s, "    v = drawn(c, blockIdx.x, seed[0], seed[1]) >= %uu ? v / (1 - dropout) : 0;\n",
                (unsigned)(dropout * 0x1p32));
  tw_text_add(s, "    return v%s;\n  };\n  float total = 0;\n", residual ? " + load(residual[at + c])" : "");
  tw_text_add(s, "%s total += value(c)%s;\n", each, rms ? " * value(c)" : "");
  if (rms)
    tw_text_add_string(s, "  const float mean = 0, square = over_block(total, false);\n");
  else
    tw_text_add(s,
                "  const float mean = over_block(total, false) / cols;\n  float square = 0;\n"
                "%s square += (value(c) - mean) * (value(c) - mean);\n  square = over_block(square, false);\n",
                each);
  tw_text_add(s,
              "  const float scale = 1 / sqrtf(square / cols + eps);\n%s {\n    const float v = value(c);\n%s"
              "    y[at + c] = stored((v - mean) * scale * load(weight[c])%s);\n  }\n}\n",
              each, residual ? "    sum[at + c] = stored(v);\n" : "", rms ? "" : " + load(bias[c])");
}

bool cuda_has_plain_rows(const tw_problem *p) {
  return strcmp(p->op->name, "layernorm") == 0 || strcmp(p->op->name, "softmax") == 0;
}

tw_status cuda_plain_rows(const tw_problem *p, char **source, tw_error *error) {
  const cuda_plain_words a = cuda_plain_words_of(tw_problem_type(p, "a"));
  tw_text s = {0};
  if (strcmp(p->op->name, "softmax") == 0)
    softmax(&s, &a);
  else
    layernorm(&s, p, &a);
  *source = tw_text_take(&s);
  return *source ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
}
