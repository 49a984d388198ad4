/* export.c - see export.h. launch.cu holds the tile library, the kernels, and host code that launches them as their
 * header states, with the numbers of one problem: tilewright_start() on a stream. nvcc compiles it without other
 * files. The one driver function that it needs, which encodes tensor maps, comes from the CUDA runtime. test.cu is a
 * program that calls it. */
#include "target/cuda/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "target/cuda/build.h"
#include "target/cuda/measure.h"
#include "target/cuda/start.h"

typedef struct writer {
  const tw_export *e;
  const tw_launch *launch;
  tw_text text;
} writer;

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
    tw_text_add(t, "(void *)o.%s", w->e->data.operand[m->operand].name);
  tw_text_add(
      t,
      ", dims, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)%d, (CUtensorMapL2promotion)%d, "
      "(CUtensorMapFloatOOBfill)%d)) return cudaErrorInvalidValue;\n  }\n",
      cuda_log(m->swizzle, 32), cuda_log(m->l2, 64), m->nan);
}

static void write_kernel(writer *w, const tw_launch_kernel *k) {
  tw_text *t = &w->text;
  tw_text_add(t, "  { // kernel %s\n", k->name);
  tw_export_arguments(t, w->e, w->launch, k);
  tw_text_add(t,
              "    cudaLaunchConfig_t c = {};\n    cudaLaunchAttribute attribute[2] = {};\n    c.attrs = attribute;\n");
  if (k->clustered)
    tw_text_add(t,
                "    attribute[c.numAttrs].id = cudaLaunchAttributeClusterDimension;\n"
                "    attribute[c.numAttrs].val.clusterDim.x = %" PRId64 ";\n"
                "    attribute[c.numAttrs].val.clusterDim.y = %" PRId64 ";\n"
                "    attribute[c.numAttrs++].val.clusterDim.z = %" PRId64 ";\n",
                k->cluster[0], k->cluster[1], k->cluster[2]);
  if (k->overlaps)
    tw_text_add_string(
        t, "    // It may begin before what the stream has before it has ended, for which it waits itself.\n"
           "    attribute[c.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;\n"
           "    attribute[c.numAttrs++].val.programmaticStreamSerializationAllowed = 1;\n");
  tw_text_add(t,
              "    c.gridDim = dim3(%" PRId64 ", %" PRId64 ", %" PRId64 ");\n    c.blockDim = dim3(%" PRId64
              ", %" PRId64 ", %" PRId64 ");\n    c.dynamicSmemBytes = %" PRId64 ";\n    c.stream = stream;\n",
              k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->shared);
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
  tw_text_add_string(t, "\n// ---- the host ----\n\n");
  tw_export_operands(t, w->e, l);
  tw_text_add_string(t, "// Starts the kernels on the stream. Allocates nothing and waits for nothing.\n"
                        "static cudaError_t tilewright_start(const tilewright_operands &o, void *workspace, "
                        "cudaStream_t stream) {\n");
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

static void write_launch(writer *w, const cuda_config *c, const char *source) {
  tw_text *t = &w->text;
  tw_text_add(t,
              "// %s on %s, made by tilewright. In a program of yours: #include it, and call tilewright_start(). "
              "To try it: test.cu.\n#include <cuda.h>\n#include <cuda_runtime.h>\n\n",
              w->e->problem, c->name);
  tw_export_lets(t, w->launch);
  tw_export_source(t, source, cuda_header);
  write_start(w);
}

static tw_status add_all(const tw_target *target, tw_export *e, const tw_launch *l, const char *source, tw_files *out,
                         tw_error *error) {
  const cuda_config *c = cuda_config_of(target);
  const char *const words[][2] = {{"MACHINE", target->name}, {"ARCHITECTURE", c->architecture + strlen("sm_")}};
  writer w = {.e = e, .launch = l};
  tw_text test = {0}, readme = {0};
  write_launch(&w, c, source);
  tw_text_add(&test, "// %s: runs it, compares, times\n#include \"launch.cu\"\n\n", e->problem);
  tw_export_program(&test, e, "cuda", "");
  tw_export_fill(&readme, "cuda/export/README.md", e, 2, words);
  tw_status status = tw_export_add(out, "launch.cu", &w.text, error);
  if (status == TW_OK) status = tw_export_add(out, "test.cu", &test, error);
  if (status == TW_OK) status = tw_export_add(out, "README.md", &readme, error);
  if (status == TW_OK) status = tw_export_add_operands(out, e, error);
  tw_text_free(&w.text);
  tw_text_free(&test);
  tw_text_free(&readme);
  if (status != TW_OK) tw_files_free(out);
  return status;
}

static tw_status sources(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, const char *source,
                         tw_files *out, tw_error *error) {
  (void)schedule;
  tw_launch *l = tw_new(1, sizeof *l);
  tw_export e = {0};
  *out = (tw_files){0};
  tw_status status =
      l ? cuda_launch_of(cuda_config_of(target), p, source, strlen(source), l, error) : tw_no_memory(error, NULL);
  if (status == TW_OK) status = tw_export_make(p, false, &e, error);
  if (status == TW_OK) status = add_all(target, &e, l, source, out, error);
  tw_export_free(&e);
  free(l);
  return status;
}

const tw_exporter cuda_exporter = {.sources = sources};
