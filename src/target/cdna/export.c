/* export.c - see export.h. kernel.hip is the device code alone, vocabulary included: hipcc compiles it, and clang without ROCm.
 * host.cpp loads what comes of it by the HIP runtime's module API, launches as the source's header says for one problem,
 * checks and times; README.md has the commands and the launch in words.
 *
 * The program's inputs are small whole numbers. All outputs must be written: a place that keeps two different poisons was not.
 * Elements of a gemm without an epilogue are compared with sums on the host. */
#include "target/cdna/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/strings.h"
#include "op/gemm_problem.h"
#include "target/cdna/machine.h"

typedef struct writer {
  const tw_problem *problem;
  const tw_launch *launch;
  const char *processor; /* "gfx950" */
  size_t n_operands;
  tw_operand operand[TW_OPERANDS_MAX];
  char title[600];
} writer;

/* ---- kernel.hip ---- */

/* Without includes of the vocabulary's own headers, and what says that a header is read once. */
static void write_lines(tw_text *t, const char *data, size_t size) {
  for (const char *at = data, *end = data + size; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t n = (size_t)((newline ? newline + 1 : end) - at);
    if (strncmp(at, "#include \"tile", 14) != 0 && strncmp(at, "#pragma once", 12) != 0) tw_text_add_bytes(t, at, n);
    at += n;
  }
}

static char *device_code(const writer *w, const char *source) {
  static const char *const headers[] = {"tile_core", "tile_rows", "tile_mma", "tile_mx", "tile_attention"};
  tw_text t = {0};
  tw_text_add(&t, "// %s on %s, made by tilewright\n", w->title, w->processor);
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    char name[64];
    snprintf(name, sizeof name, "cdna/runtime/%s.hpp", headers[i]);
    const tw_embedded *e = tw_embedded_find(name);
    if (e) write_lines(&t, (const char *)e->data, e->size);
  }
  for (size_t i = 0; i < w->launch->n_lets; i++) {
    const int64_t x = w->launch->let[i].value;
    tw_text_add(&t, "enum : %s { %s = %" PRId64 " };\n", x >= INT32_MIN && x <= INT32_MAX ? "int" : "long long",
                w->launch->let[i].name, x);
  }
  write_lines(&t, source, strlen(source));
  return tw_text_take(&t);
}

/* ---- host.cpp ---- */

/* The whole number x, -2 to 2, as an element at `at`; NULL for types that the program does not know. */
static const char *encoding(tw_type type) {
  switch (type) {
  case TW_F32: return "float v = (float)x; memcpy(at, &v, 4);";
  case TW_BF16: return "float v = (float)x; memcpy(at, (char *)&v + 2, 2);";
  case TW_F16: return "const unsigned short v[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}; memcpy(at, &v[x + 2], 2);";
  case TW_E4M3: return "const unsigned char v[] = {0xc0, 0xb8, 0, 0x38, 0x40}; *at = (char)v[x + 2];";
  case TW_E5M2: return "const unsigned char v[] = {0xc0, 0xbc, 0, 0x3c, 0x40}; *at = (char)v[x + 2];";
  case TW_I8: return "*at = (char)x;";
  case TW_I32: return "memcpy(at, &x, 4);";
  default: return NULL;
  }
}

/* C as a number, where a plain sum says what it must be. -2 to 2 are mxfp4's own: quantizing changes nothing. */
static const char *decoding(const tw_problem *p) {
  if (strcmp(p->op->name, "gemm") != 0) return NULL;
  const tw_gemm g = tw_gemm_of(p);
  if (g.bias != TW_GEMM_BIAS_NONE || g.scales || g.relu || g.gelu || g.scale != 1.0f) return NULL;
  if (g.c == TW_F32) return "float v; memcpy(&v, at, 4); return v;";
  if (g.c == TW_I32) return "int v; memcpy(&v, at, 4); return v;";
  if (g.c == TW_BF16) return "float v = 0; memcpy((char *)&v + 2, at, 2); return v;";
  return NULL;
}

static void write_kernel(const writer *w, tw_text *t, const tw_launch_kernel *k) {
  tw_text_add(t, "  { // %s\n", k->name);
  for (size_t i = 0; i < k->n_arguments; i++) {
    const tw_launch_argument *a = &k->argument[i];
    switch (a->kind) {
    case TW_LAUNCH_OPERAND:
      tw_text_add(t, "    void *a%zu = device[%d]; // %s\n", i, a->index, w->operand[a->index].name);
      break;
    case TW_LAUNCH_WORKSPACE:
      tw_text_add(t, "    void *a%zu = (char *)workspace + %" PRId64 "ll;\n", i, a->integer);
      break;
    case TW_LAUNCH_I64: tw_text_add(t, "    long long a%zu = %" PRId64 "ll;\n", i, a->integer); break;
    case TW_LAUNCH_F32: tw_text_add(t, "    float a%zu = (float)%.9g;\n", i, a->real); break;
    case TW_LAUNCH_F64: tw_text_add(t, "    double a%zu = %.17g;\n", i, a->real); break;
    default: tw_text_add(t, "    int a%zu = %" PRId64 ";\n", i, a->integer); break;
    }
  }
  tw_text_add(t, "    void *arguments[] = {");
  for (size_t i = 0; i < k->n_arguments; i++) tw_text_add(t, "%s&a%zu", i ? ", " : "", i);
  tw_text_add(t,
              "};\n    static hipFunction_t f;\n    if (!f) need(hipModuleGetFunction(&f, module, \"%s\"));\n"
              "    need(hipModuleLaunchKernel(f, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
              ", %" PRId64 ", %" PRId64 ", stream, arguments, nullptr));\n  }\n",
              k->name, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared);
}

static void write_inputs(const writer *w, tw_text *t) {
  for (size_t i = 0; i < w->n_operands; i++) {
    const tw_operand *o = &w->operand[i];
    const int size = tw_type_bits(o->type) / 8;
    if (o->is_output || !encoding(o->type)) continue;
    tw_text_add(t,
                "  for (long long i = 0; i < %zull; i++) { // %s\n    char *at = (char *)host[%zu] + i * %d;\n"
                "    const int x = value(%zu, i);\n    %s\n  }\n  need(hipMemcpy(device[%zu], host[%zu], bytes[%zu], "
                "hipMemcpyHostToDevice));\n",
                o->bytes / (size_t)size, o->name, i, size, i, encoding(o->type), i, i, i);
  }
}

static void write_run(const writer *w, tw_text *t) {
  tw_text_add(t, "  for (int poison = 0; poison < 2; poison++) {\n");
  for (size_t i = 0; i < w->n_operands; i++)
    if (w->operand[i].is_output)
      tw_text_add(t, "    need(hipMemset(device[%zu], poison ? 0x5a : 0xa5, bytes[%zu]));\n", i, i);
  tw_text_add(t, "    start(nullptr);\n    need(hipDeviceSynchronize());\n");
  for (size_t i = 0; i < w->n_operands; i++)
    if (w->operand[i].is_output)
      tw_text_add(
          t, "    need(hipMemcpy(poison ? host[%zu] : again[%zu], device[%zu], bytes[%zu], hipMemcpyDeviceToHost));\n",
          i, i, i, i);
  tw_text_add(t, "  }\n");
  for (size_t i = 0; i < w->n_operands; i++) {
    const tw_operand *o = &w->operand[i];
    size_t dense = (size_t)tw_type_bits(o->type) / 8;
    for (int d = 0; d < o->rank; d++) dense *= (size_t)o->dims[d];
    if (o->is_output && dense == o->bytes) /* nothing between rows */
      tw_text_add(
          t,
          "  for (size_t i = 0; i < bytes[%zu] && !wrong; i++)\n    if (((unsigned char *)again[%zu])[i] == 0xa5 && "
          "((unsigned char *)host[%zu])[i] == 0x5a)\n      printf(\"byte %%zu of %s was not written\\n\", i), wrong = "
          "true;\n",
          i, i, i, o->name);
  }
}

static void write_sums(const writer *w, tw_text *t) {
  const tw_gemm g = tw_gemm_of(w->problem);
  tw_text_add(t,
              "  for (int t = 0; t < 200 && !wrong; t++) { // elements of C\n"
              "    const long long i = rand() %% %" PRId64 ", j = rand() %% %" PRId64
              ";\n    double sum = 0, size = 0;\n"
              "    for (long long p = 0; p < %" PRId64 "; p++) {\n"
              "      const double x = value(0, %s%" PRId64 "%s) * value(1, %s%" PRId64 "%s);\n"
              "      sum += x, size += fabs(x);\n    }\n",
              g.m, g.n, g.k, g.a_transposed ? "p * " : "i * ", g.lda, g.a_transposed ? " + i" : " + p",
              g.b_transposed ? "j * " : "p * ", g.ldb, g.b_transposed ? " + p" : " + j");
  tw_text_add(t,
              "    const char *at = (const char *)host[%zu] + (i * %" PRId64 " + j) * %d;\n"
              "    const double c = [&]() -> double { %s }();\n"
              "    if (fabs(c - sum) > %s * fabs(sum) + 1e-6 * size)\n"
              "      printf(\"C[%%lld][%%lld] is %%g and should be %%g\\n\", i, j, c, sum), wrong = true;\n  }\n",
              w->n_operands - 1, g.ldc, tw_type_bits(g.c) / 8, decoding(w->problem), g.c == TW_BF16 ? "4e-3" : "1e-6");
}

static char *host_code(const writer *w) {
  const tw_launch *l = w->launch;
  const int n = (int)w->n_operands;
  tw_text t = {0};
  tw_text_add(&t,
              "// %s on %s, made by tilewright: loads kernel.co, checks what it computes, times it.\n"
              "#include <hip/hip_runtime.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include "
              "<string.h>\n\n"
              "static void need(hipError_t e) {\n  if (e == hipSuccess) return;\n  fprintf(stderr, \"%%s\\n\", "
              "hipGetErrorString(e));\n  exit(2);\n}\n\n"
              "static hipModule_t module;\nstatic void *device[%d], *host[%d], *again[%d], *workspace;\n"
              "static const size_t bytes[] = {",
              w->title, w->processor, n, n, n);
  for (size_t i = 0; i < w->n_operands; i++) tw_text_add(&t, "%s%zuull", i ? ", " : "", w->operand[i].bytes);
  tw_text_add(&t, "}, workspace_bytes = %" PRId64 "ull; //", l->workspace);
  for (size_t i = 0; i < w->n_operands; i++) tw_text_add(&t, " %s", w->operand[i].name);
  tw_text_add(&t, "\n\n// Starts the kernels on the stream; allocates nothing and waits for nothing.\n"
                  "static void start(hipStream_t stream) {\n");
  if (l->zeroed && l->workspace) tw_text_add(&t, "  need(hipMemsetAsync(workspace, 0, workspace_bytes, stream));\n");
  for (size_t i = 0; i < l->n_kernels; i++) write_kernel(w, &t, &l->kernel[i]);
  tw_text_add(&t,
              "}\n\nstatic int value(int operand, long long i) {\n  return (int)((unsigned long long)(i * 2654435761u "
              "+ operand * "
              "40503u) >> 7) %% 5 - 2;\n}\n\n"
              "int main(int argc, char **argv) {\n  bool wrong = false;\n"
              "  need(hipModuleLoad(&module, argc > 1 ? argv[1] : \"kernel.co\"));\n"
              "  for (int i = 0; i < %d; i++) {\n    host[i] = calloc(bytes[i], 1), again[i] = calloc(bytes[i], 1);\n"
              "    if (!host[i] || !again[i]) return fputs(\"no memory\\n\", stderr), 2;\n"
              "    need(hipMalloc(&device[i], bytes[i]));\n    need(hipMemset(device[i], 0, bytes[i]));\n  }\n"
              "  need(hipMalloc(&workspace, workspace_bytes ? workspace_bytes : 1));\n",
              n);
  write_inputs(w, &t);
  write_run(w, &t);
  if (decoding(w->problem)) write_sums(w, &t);
  tw_text_add(
      &t,
      "  hipEvent_t a, b;\n  float ms = 0;\n  need(hipEventCreate(&a));\n  need(hipEventCreate(&b));\n"
      "  need(hipEventRecord(a, nullptr));\n  for (int i = 0; i < 100; i++) start(nullptr);\n"
      "  need(hipEventRecord(b, nullptr));\n  need(hipEventSynchronize(b));\n  need(hipEventElapsedTime(&ms, a, b));\n"
      "  printf(\"%%s, %%g us each, one behind the other\\n\", wrong ? \"wrong\" : \"right\", ms * 10);\n"
      "  return wrong;\n}\n");
  return tw_text_take(&t);
}

/* ---- README.md ---- */

static char *readme(const writer *w) {
  const tw_launch *l = w->launch;
  tw_text t = {0};
  tw_text_add(
      &t,
      "# %s\n\nDevice code for %s, made and checked by tilewright on its emulator.\n\n"
      "    hipcc --genco --offload-arch=%s -O3 -ffp-contract=fast kernel.hip -o kernel.co      # with ROCm\n"
      "    clang-22 -x c++ -std=gnu++17 --target=amdgcn-amd-amdhsa -mcpu=%s -O3 -ffp-contract=fast \\\n"
      "      -nogpulib -ffreestanding -nostdinc kernel.hip -o kernel.co                       # without\n"
      "    hipcc -O2 host.cpp -o host && ./host kernel.co                                     # checks and times\n\n"
      "## Launch\n\n",
      w->title, w->processor, w->processor, w->processor);
  if (l->workspace)
    tw_text_add(&t, "A workspace of %" PRId64 " bytes%s.\n\n", l->workspace,
                l->zeroed ? ", zeros at every launch" : "");
  tw_text_add(&t,
              "| kernel | grid (workgroups) | work-items | LDS bytes | arguments |\n| --- | --- | --- | --- | --- |\n");
  for (size_t i = 0; i < l->n_kernels; i++) {
    const tw_launch_kernel *k = &l->kernel[i];
    tw_text_add(&t, "| `%s` | %" PRId64 " x %" PRId64 " x %" PRId64 " | %" PRId64 " | %" PRId64 " |", k->name,
                k->grid[0], k->grid[1], k->grid[2], k->block[0] * k->block[1] * k->block[2], k->shared);
    for (size_t j = 0; j < k->n_arguments; j++) {
      const tw_launch_argument *a = &k->argument[j];
      if (a->kind == TW_LAUNCH_OPERAND)
        tw_text_add(&t, " %s", w->operand[a->index].name);
      else if (a->kind == TW_LAUNCH_WORKSPACE)
        tw_text_add(&t, " workspace+%" PRId64, a->integer);
      else if (a->kind == TW_LAUNCH_F32 || a->kind == TW_LAUNCH_F64)
        tw_text_add(&t, " %.9g", a->real);
      else
        tw_text_add(&t, " %" PRId64, a->integer);
    }
    tw_text_add(&t, " |\n");
  }
  tw_text_add(&t, "\nOperands:\n\n");
  for (size_t i = 0; i < w->n_operands; i++) {
    const tw_operand *o = &w->operand[i];
    tw_text_add(&t, "- %s: %s%s, %zu bytes\n", o->name, tw_type_name(o->type), o->is_output ? ", written" : "",
                o->bytes);
  }
  return tw_text_take(&t);
}

static tw_status sources(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, const char *source,
                         tw_files *out, tw_error *error) {
  (void)schedule;
  *out = (tw_files){0};
  tw_launch *l = tw_new(1, sizeof *l);
  tw_status status =
      l ? cdna_launch_of(target, p, source, strlen(source), l, error) : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) {
    writer w = {.problem = p, .launch = l, .processor = ((const cdna_machine *)target->config)->processor};
    w.n_operands = p->op->operands(p, w.operand);
    tw_problem_print(p, w.title, sizeof w.title);
    out->file[0].name = "kernel.hip", out->file[0].text = device_code(&w, source);
    out->file[1].name = "host.cpp", out->file[1].text = host_code(&w);
    out->file[2].name = "README.md", out->file[2].text = readme(&w);
    out->n = 3;
    if (!out->file[0].text || !out->file[1].text || !out->file[2].text) {
      tw_files_free(out);
      status = tw_fail(error, TW_MISSING, "out of memory");
    }
  }
  free(l);
  return status;
}

const tw_exporter cdna_exporter = {.sources = sources};
