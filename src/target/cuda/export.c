/* export.c - see export.h. The file holds the vocabulary, the kernels, and host code that does what their header says, with
 * the numbers of one problem: tilewright_start() on a stream, and, with -DTILEWRIGHT_TEST, a program that runs and checks it.
 * nvcc alone compiles it; the one function of the driver that encodes tensor maps is asked of the runtime.
 *
 * The test's inputs are small whole numbers. All outputs must be written: a place that keeps two different poisons was not.
 * Elements of a plain gemm are compared with sums on the host. */
#include "target/cuda/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"
#include "op/gemm_problem.h"
#include "target/cuda/build.h"
#include "target/cuda/measure.h"
#include "target/cuda/start.h"

typedef struct writer {
  const tw_problem *problem;
  const tw_launch *launch;
  size_t n_operands;
  tw_operand operand[TW_OPERANDS_MAX];
  tw_text text;
} writer;

/* Lines that are includes of the vocabulary's own headers, or say that a header is read once, are left out. */
static void write_lines(tw_text *t, const char *data, size_t size) {
  for (const char *at = data, *end = data + size; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t n = (size_t)((newline ? newline + 1 : end) - at);
    if (strncmp(at, "#include \"tile", 14) != 0 && strncmp(at, "#pragma once", 12) != 0) tw_text_add_bytes(t, at, n);
    at += n;
  }
}

static void write_vocabulary(tw_text *t) {
  static const char *const headers[] = {"cuda/runtime/tile_core.cuh", "cuda/runtime/tile_mma.cuh",
                                        "cuda/runtime/tile_rows.cuh"};
  const tw_embedded *e;
  for (size_t h = 0; h < sizeof headers / sizeof *headers; h++)
    for (size_t i = 0; (e = tw_embedded_at(i)); i++)
      if (strcmp(e->name, headers[h]) == 0) write_lines(t, (const char *)e->data, e->size);
}

static void write_numbers(tw_text *t, const char *name, const int64_t *x, int n) {
  tw_text_add(t, "%s{", name);
  for (int i = 0; i < n; i++) tw_text_add(t, "%s%" PRId64, i ? ", " : "", x[i]);
  tw_text_add(t, "}");
}

static void write_map(writer *w, const tw_launch_map *m) {
  tw_text *t = &w->text;
  const int last = m->rank > 1 ? m->rank - 1 : 1;
  tw_text_add(t, "  { // map %s\n    const cuuint64_t ", m->name);
  write_numbers(t, "dims[]", m->dims, m->rank);
  write_numbers(t, ", pitch[]", m->strides, last);
  tw_text_add(t, ";\n    const cuuint32_t ");
  write_numbers(t, "box[]", m->box, m->rank);
  write_numbers(t, ", step[]", m->element_strides, m->rank);
  tw_text_add(t, ";\n    if (encode(&map_%s, (CUtensorMapDataType)%d, %d, ", m->name, cuda_map_type(m), m->rank);
  if (m->operand == TW_LAUNCH_NO_OPERAND)
    tw_text_add(t, "(char *)workspace + %" PRId64 "ll", m->offset);
  else
    tw_text_add(t, "(void *)o.%s", w->operand[m->operand].name);
  tw_text_add(
      t,
      ", dims, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)%d, (CUtensorMapL2promotion)%d, "
      "(CUtensorMapFloatOOBfill)%d)) return cudaErrorInvalidValue;\n  }\n",
      cuda_log(m->swizzle, 32), cuda_log(m->l2, 64), m->nan);
}

static void write_argument(writer *w, size_t i, const tw_launch_argument *a) {
  tw_text *t = &w->text;
  const int n = (int)i;
  switch (a->kind) {
  case TW_LAUNCH_OPERAND: tw_text_add(t, "    const void *a%d = o.%s;\n", n, w->operand[a->index].name); break;
  case TW_LAUNCH_WORKSPACE:
    tw_text_add(t, "    void *a%d = (char *)workspace + %" PRId64 "ll;\n", n, a->integer);
    break;
  case TW_LAUNCH_MAP: tw_text_add(t, "    CUtensorMap &a%d = map_%s;\n", n, w->launch->map[a->index].name); break;
  case TW_LAUNCH_I32: tw_text_add(t, "    int a%d = %" PRId64 ";\n", n, a->integer); break;
  case TW_LAUNCH_I64: tw_text_add(t, "    long long a%d = %" PRId64 "ll;\n", n, a->integer); break;
  case TW_LAUNCH_F32: tw_text_add(t, "    float a%d = (float)%.9g;\n", n, a->real); break;
  case TW_LAUNCH_F64: tw_text_add(t, "    double a%d = %.17g;\n", n, a->real); break;
  }
}

static void write_kernel(writer *w, const tw_launch_kernel *k) {
  tw_text *t = &w->text;
  tw_text_add(t, "  { // kernel %s\n", k->name);
  for (size_t i = 0; i < k->n_arguments; i++) write_argument(w, i, &k->argument[i]);
  tw_text_add(t, "    void *arguments[] = {");
  for (size_t i = 0; i < k->n_arguments; i++) tw_text_add(t, "%s(void *)&a%d", i ? ", " : "", (int)i);
  tw_text_add(t,
              "};\n    cudaLaunchAttribute cluster = {};\n    cluster.id = cudaLaunchAttributeClusterDimension;\n"
              "    cluster.val.clusterDim.x = %" PRId64 ", cluster.val.clusterDim.y = %" PRId64
              ", cluster.val.clusterDim.z = %" PRId64 ";\n",
              k->cluster[0], k->cluster[1], k->cluster[2]);
  tw_text_add(t,
              "    cudaLaunchConfig_t c = {};\n    c.gridDim = dim3(%" PRId64 ", %" PRId64 ", %" PRId64
              ");\n    c.blockDim = dim3(%" PRId64 ", %" PRId64 ", %" PRId64 ");\n    c.dynamicSmemBytes = %" PRId64
              ";\n    c.stream = stream;\n    c.attrs = &cluster;\n    c.numAttrs = %d;\n",
              k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared, k->clustered);
  if (k->shared)
    tw_text_add(t,
                "    cudaError_t set = cudaFuncSetAttribute((const void *)%s, "
                "cudaFuncAttributeMaxDynamicSharedMemorySize, %" PRId64 ");\n    if (set != cudaSuccess) return set;\n",
                k->name, k->shared);
  if (k->cluster[0] * k->cluster[1] * k->cluster[2] > 8)
    tw_text_add(t, "    cudaFuncSetAttribute((const void *)%s, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);\n",
                k->name);
  tw_text_add(t,
              "    const cudaError_t started = cudaLaunchKernelExC(&c, (const void *)%s, arguments);\n"
              "    if (started != cudaSuccess) return started;\n  }\n",
              k->name);
}

static void write_start(writer *w) {
  const tw_launch *l = w->launch;
  tw_text *t = &w->text;
  tw_text_add(t, "\n// ---- the host ----\n\nstruct tilewright_operands {\n");
  for (size_t i = 0; i < w->n_operands; i++)
    tw_text_add(t, "  %svoid *%s; // %zu bytes of %s\n", w->operand[i].is_output ? "" : "const ", w->operand[i].name,
                w->operand[i].bytes, tw_type_name(w->operand[i].type));
  tw_text_add(
      t,
      "};\n\n// Bytes of device memory that a launch needs for itself; launches at the same time need one each.\n"
      "static const size_t tilewright_workspace = %" PRId64 "ull;\n\n"
      "// Starts the kernels on the stream. Allocates nothing and waits for nothing.\n"
      "static cudaError_t tilewright_start(const tilewright_operands &o, void *workspace, cudaStream_t stream) {\n",
      l->workspace);
  if (l->n_maps) {
    tw_text_add(
        t, "  typedef CUresult (*encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, "
           "const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, "
           "CUtensorMapL2promotion, CUtensorMapFloatOOBfill);\n"
           "  static const encoder encode = [] {\n    void *f = nullptr;\n    cudaDriverEntryPointQueryResult found;\n"
           "    return cudaGetDriverEntryPointByVersion(\"cuTensorMapEncodeTiled\", &f, 12000, cudaEnableDefault, "
           "&found) == cudaSuccess ? (encoder)f : nullptr;\n"
           "  }();\n  if (!encode) return cudaErrorNotSupported;\n");
    for (size_t i = 0; i < l->n_maps; i++) tw_text_add(t, "  alignas(64) CUtensorMap map_%s;\n", l->map[i].name);
    for (size_t i = 0; i < l->n_maps; i++) write_map(w, &l->map[i]);
  }
  if (!l->workspace) tw_text_add(t, "  (void)workspace;\n");
  if (l->zeroed && l->workspace)
    tw_text_add(t, "  if (cudaMemsetAsync(workspace, 0, tilewright_workspace, stream) != cudaSuccess) return "
                   "cudaGetLastError();\n");
  for (size_t k = 0; k < l->n_kernels; k++) write_kernel(w, &l->kernel[k]);
  tw_text_add(t, "  return cudaSuccess;\n}\n");
}

/* A whole number as an element, as C++ expression of `x`; NULL for types that the test does not know. */
static const char *encoding(tw_type type) {
  switch (type) {
  case TW_F32: return "float v = (float)x; memcpy(at, &v, 4);";
  case TW_BF16: return "float v = (float)x; memcpy(at, (char *)&v + 2, 2);";
  case TW_F16: return "const unsigned short v[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}; memcpy(at, &v[x + 2], 2);";
  case TW_E4M3: return "const unsigned char v[] = {0xc0, 0xb8, 0, 0x38, 0x40}; *at = (char)v[x + 2];";
  case TW_E5M2: return "const unsigned char v[] = {0xc0, 0xbc, 0, 0x3c, 0x40}; *at = (char)v[x + 2];";
  case TW_I32: return "int v = x; memcpy(at, &v, 4);";
  case TW_I16: return "short v = (short)x; memcpy(at, &v, 2);";
  case TW_I8: return "*at = (char)x;";
  case TW_U8: return "*at = (char)(x < 0 ? -x : x);";
  default: return NULL;
  }
}

/* C of the test as a number, where a plain sum says what it must be. */
static const char *decoding(const tw_problem *p) {
  if (strcmp(p->op->name, "gemm") != 0) return NULL;
  const tw_gemm g = tw_gemm_of(p);
  if (g.bias != TW_GEMM_BIAS_NONE || g.scales || g.relu || g.gelu || g.scale != 1.0f || g.a == TW_U8) return NULL;
  if (g.c == TW_F32) return "float v; memcpy(&v, at, 4); return v;";
  if (g.c == TW_I32) return "int v; memcpy(&v, at, 4); return v;";
  if (g.c == TW_BF16) return "float v = 0; memcpy((char *)&v + 2, at, 2); return v;";
  return NULL;
}

static void write_sums(writer *w) {
  const tw_gemm g = tw_gemm_of(w->problem);
  tw_text_add(
      &w->text,
      "  for (int t = 0; t < 200 && !wrong; t++) { // elements of C\n"
      "    const long long i = rand() %% %" PRId64 ", j = rand() %% %" PRId64 ";\n    double sum = 0, size = 0;\n"
      "    for (long long p = 0; p < %" PRId64 "; p++) {\n"
      "      const double x = value(0, %s) * value(1, %s);\n      sum += x, size += fabs(x);\n    }\n"
      "    const char *at = (const char *)host[%d] + (i * %" PRId64 " + j) * %d;\n"
      "    const double c = [&]() -> double { %s }();\n"
      "    if (fabs(c - sum) > %s * fabs(sum) + 1e-6 * size) printf(\"C[%%lld][%%lld] is %%g and should be %%g\\n\", "
      "i, j, c, sum), wrong = true;\n  }\n",
      g.m, g.n, g.k, g.a_transposed ? "p * LDA + i" : "i * LDA + p", g.b_transposed ? "j * LDB + p" : "p * LDB + j",
      (int)w->n_operands - 1, g.ldc, tw_type_bits(g.c) / 8, decoding(w->problem), g.c == TW_BF16 ? "4e-3" : "1e-6");
}

static void write_test(writer *w) {
  tw_text *t = &w->text;
  tw_text_add(
      t,
      "\n#ifdef TILEWRIGHT_TEST\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
      "static int value(int operand, long long i) { return (int)((unsigned long long)(i * 2654435761u + operand * "
      "40503u) >> 7) %% 5 - 2; }\n\n"
      "int main() {\n  bool wrong = false;\n  tilewright_operands o;\n  void *workspace, *device[%d], *host[%d], "
      "*again[%d];\n"
      "  static const size_t bytes[] = {",
      (int)w->n_operands, (int)w->n_operands, (int)w->n_operands);
  for (size_t i = 0; i < w->n_operands; i++) tw_text_add(t, "%s%zuull", i ? ", " : "", w->operand[i].bytes);
  tw_text_add(t,
              "};\n  for (int i = 0; i < %d; i++) {\n    host[i] = malloc(bytes[i]), again[i] = malloc(bytes[i]);\n"
              "    if (!host[i] || !again[i] || cudaMalloc(&device[i], bytes[i]) != cudaSuccess) return puts(\"no "
              "memory\"), 2;\n  }\n"
              "  if (cudaMalloc(&workspace, tilewright_workspace ? tilewright_workspace : 1) != cudaSuccess) return "
              "puts(\"no memory\"), 2;\n",
              (int)w->n_operands);
  for (size_t i = 0; i < w->n_operands; i++) {
    const tw_operand *x = &w->operand[i];
    const int size = tw_type_bits(x->type) / 8;
    tw_text_add(t, "  o.%s = device[%zu];\n", x->name, i);
    if (x->is_output || !encoding(x->type)) continue;
    tw_text_add(t,
                "  for (long long i = 0; i < %zull; i++) {\n    char *at = (char *)host[%zu] + i * %d;\n    const int "
                "x = value(%zu, i);\n    %s\n  }\n"
                "  cudaMemcpy(device[%zu], host[%zu], bytes[%zu], cudaMemcpyHostToDevice);\n",
                x->bytes / (size_t)size, i, size, i, encoding(x->type), i, i, i);
  }
  tw_text_add(t, "  for (int poison = 0; poison < 2; poison++) {\n");
  for (size_t i = 0; i < w->n_operands; i++)
    if (w->operand[i].is_output)
      tw_text_add(t, "    cudaMemset(device[%zu], poison ? 0x5a : 0xa5, bytes[%zu]);\n", i, i);
  tw_text_add(
      t,
      "    cudaError_t e = tilewright_start(o, workspace, 0);\n    if (e == cudaSuccess) e = cudaDeviceSynchronize();\n"
      "    if (e != cudaSuccess) return printf(\"%%s\\n\", cudaGetErrorString(e)), 1;\n");
  for (size_t i = 0; i < w->n_operands; i++)
    if (w->operand[i].is_output)
      tw_text_add(t,
                  "    cudaMemcpy(poison ? host[%zu] : again[%zu], device[%zu], bytes[%zu], cudaMemcpyDeviceToHost);\n",
                  i, i, i, i);
  tw_text_add(t, "  }\n");
  int64_t dense = 0;
  for (size_t i = 0; i < w->n_operands; i++) {
    const tw_operand *x = &w->operand[i];
    dense = 1;
    for (int d = 0; d < x->rank; d++) dense *= x->dims[d];
    if (x->is_output && (size_t)dense * tw_type_bits(x->type) / 8 == x->bytes) /* nothing between rows */
      tw_text_add(t,
                  "  for (size_t i = 0; i < bytes[%zu] && !wrong; i++)\n"
                  "    if (((unsigned char *)again[%zu])[i] == 0xa5 && ((unsigned char *)host[%zu])[i] == 0x5a) "
                  "printf(\"byte %%zu of %s was not written\\n\", i), wrong = true;\n",
                  i, i, i, x->name);
  }
  if (decoding(w->problem)) write_sums(w);
  tw_text_add(
      t, "  cudaEvent_t a, b;\n  float ms = 0;\n  cudaEventCreate(&a), cudaEventCreate(&b);\n  cudaEventRecord(a);\n"
         "  for (int i = 0; i < 20; i++) tilewright_start(o, workspace, 0);\n  cudaEventRecord(b);\n  "
         "cudaEventSynchronize(b);\n"
         "  cudaEventElapsedTime(&ms, a, b);\n  printf(\"%%s, %%g us each, one behind the other\\n\", wrong ? "
         "\"wrong\" : \"right\", ms * 50);\n"
         "  return wrong;\n}\n#endif\n");
}

static char *whole(writer *w, const tw_target *target, const char *source) {
  tw_text *t = &w->text;
  const cuda_config *c = cuda_config_of(target);
  char problem[512];
  tw_problem_print(w->problem, problem, sizeof problem);
  tw_text_add(
      t,
      "// %s on %s, made by tilewright. In a program of yours: #include it, and call tilewright_start(). To try it:\n"
      "//   nvcc -std=c++17 -gencode=arch=compute_%s,code=%s -DTILEWRIGHT_TEST launch.cu -o test && ./test\n"
      "#include <cuda.h>\n#include <cuda_runtime.h>\n\n",
      problem, c->name, c->architecture + strlen("sm_"), c->architecture);
  for (size_t i = 0; i < w->launch->n_lets; i++) {
    const int64_t x = w->launch->let[i].value;
    tw_text_add(t, "enum : %s { %s = %" PRId64 " };\n", x >= INT32_MIN && x <= INT32_MAX ? "int" : "long long",
                w->launch->let[i].name, x);
  }
  if (strcmp(w->problem->op->name, "gemm") == 0) {
    const tw_gemm g = tw_gemm_of(w->problem);
    tw_text_add(t, "enum : long long { LDA = %" PRId64 ", LDB = %" PRId64 " };\n", g.lda, g.ldb);
  }
  write_vocabulary(t);
  write_lines(t, source, strlen(source));
  write_start(w);
  write_test(w);
  return tw_text_take(t);
}

static tw_status sources(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, const char *source,
                         tw_files *out, tw_error *error) {
  (void)schedule;
  tw_launch *l = tw_new(1, sizeof *l);
  *out = (tw_files){0};
  tw_status status = l ? cuda_launch_of(cuda_config_of(target), p, source, strlen(source), l, error)
                       : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) {
    writer w = {.problem = p, .launch = l};
    w.n_operands = p->op->operands(p, w.operand);
    out->file[0].name = "launch.cu";
    out->file[0].text = whole(&w, target, source);
    out->n = 1;
    if (!out->file[0].text) {
      out->n = 0;
      status = tw_fail(error, TW_MISSING, "out of memory");
    }
  }
  free(l);
  return status;
}

const tw_exporter cuda_exporter = {.sources = sources};
