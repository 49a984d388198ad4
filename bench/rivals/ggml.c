/* ggml.c - ggml (of llama.cpp) and its forks in ik_llama.cpp (with -DRIVAL_IK) and BitNet (-DRIVAL_BITNET): a graph of one
 * ggml_mul_mat.
 *
 * Activations are f32; the library quantizes them at every call where the weights are quantized: only cases that allow
 * that are computed. It has no product of integers and none of f32 weights that it would be compared in. Weights lie
 * transposed, [n][k], in its types of the same number of bits: Q4_0 (4 bits, a scale every 32) for i4 with group=32, Q8_0
 * for i8, TQ2_0, IQ2_BN or I2_S for ternary. ggml repacks them if its CPU_REPACK buffers know the type; ik_llama.cpp
 * has types that are repacked. */
#include <ggml.h>
#if !defined RIVAL_IK && !defined RIVAL_BITNET
#define RIVAL_GGML
#include <ggml-cpu.h>
#endif
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rivals/rival.h"
#include "op/element.h"

enum { SPARE_MIB = 16 }; /* of a context: tensors' headers, the graph */

typedef struct choice {
  tw_type a, b;
  int64_t group;
  enum ggml_type type;
  const char *name;
} choice;

static const choice choices[] = {
#if defined RIVAL_BITNET
    {TW_BF16, TW_TERNARY, 0, GGML_TYPE_I2_S, "I2_S"},
#elif defined RIVAL_IK
    {TW_F32, TW_F32, 0, GGML_TYPE_F32, "F32"},
    {TW_BF16, TW_BF16, 0, GGML_TYPE_BF16_R16, "BF16_R16"},
    {TW_BF16, TW_MXFP4, 0, GGML_TYPE_MXFP4_R8, "MXFP4_R8"},
    {TW_BF16, TW_I4, 32, GGML_TYPE_Q4_0_R8, "Q4_0_R8"},
    {TW_BF16, TW_I8, 32, GGML_TYPE_Q8_0_R8, "Q8_0_R8"},
    {TW_BF16, TW_TERNARY, 0, GGML_TYPE_IQ2_BN_R4, "IQ2_BN_R4"},
#else
    {TW_F32, TW_F32, 0, GGML_TYPE_F32, "F32"},        {TW_BF16, TW_BF16, 0, GGML_TYPE_BF16, "BF16"},
    {TW_BF16, TW_MXFP4, 0, GGML_TYPE_MXFP4, "MXFP4"}, {TW_BF16, TW_I4, 32, GGML_TYPE_Q4_0, "Q4_0"},
    {TW_BF16, TW_I8, 32, GGML_TYPE_Q8_0, "Q8_0"},     {TW_BF16, TW_TERNARY, 0, GGML_TYPE_TQ2_0, "TQ2_0"},
#endif
};

static const rival_case *job;
static const choice *chosen;
static struct ggml_context *context;
static struct ggml_tensor *weights, *product;
static struct ggml_cgraph *graph;
static struct ggml_cplan plan;
static ggml_backend_buffer_t repacked; /* NULL: plain */

const char *rival_start(void) {
#ifdef RIVAL_GGML
  ggml_cpu_init();
#endif
  return NULL;
}

#ifdef RIVAL_GGML
/* A buffer of the type that repacks, if the library has one and it knows the weights. */
static void use_repacked(size_t bytes) {
  ggml_backend_dev_t cpu = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
  ggml_backend_dev_get_extra_bufts_t list = NULL;
  *(void **)&list = ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_backend_dev_get_extra_bufts");
  for (ggml_backend_buffer_type_t *t = list ? list(cpu) : NULL; t && *t; t++) {
    if (strcmp(ggml_backend_buft_name(*t), "CPU_REPACK") != 0) continue;
    repacked = ggml_backend_buft_alloc_buffer(*t, bytes + 64);
    if (!repacked) return;
    if (ggml_backend_tensor_alloc(repacked, weights, ggml_backend_buffer_get_base(repacked)) == GGML_STATUS_SUCCESS &&
        weights->extra)
      return;
    ggml_backend_buffer_free(repacked);
    repacked = NULL;
    weights->buffer = NULL;
    weights->data = NULL;
    weights->extra = NULL;
  }
}
#endif

static const choice *choose(const tw_gemm *g) {
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
    if (choices[i].a == g->a && choices[i].b == g->b && choices[i].group == g->group) return &choices[i];
  return NULL;
}

const char *rival_open(const rival_case *c, rival_ready *ready) {
  const tw_gemm *g = &c->gemm;
  job = c;
  chosen = choose(g);
  if (!chosen || g->c != TW_F32) return "no type of ggml's is like these";
  if (g->k % ggml_blck_size(chosen->type)) return "k is no multiple of the block";
  const size_t activations = (size_t)(g->m * g->k) * sizeof(float), spare = (size_t)SPARE_MIB << 20;
  const struct ggml_init_params parameters = {.mem_size = activations + (size_t)(g->m * g->n) * sizeof(float) + spare};
  context = ggml_init(parameters);
  if (!context) return "ggml has no memory";
  struct ggml_tensor *a = ggml_new_tensor_2d(context, GGML_TYPE_F32, g->k, g->m);
  for (int64_t i = 0; i < g->m * g->k; i++) ((float *)a->data)[i] = (float)tw_element(g->a, c->a, i);
  ggml_set_no_alloc(context, true);
  weights = ggml_new_tensor_2d(context, chosen->type, g->k, g->n);
  ggml_set_no_alloc(context, false);
  repacked = NULL;
#ifdef RIVAL_GGML
  use_repacked(ggml_nbytes(weights));
#endif
  product = ggml_mul_mat(context, weights, a);
  graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, product);
#ifdef RIVAL_IK
  plan = ggml_graph_plan(graph, c->threads);
#else
  plan = ggml_graph_plan(graph, c->threads, NULL);
#endif
  plan.work_data = plan.work_size ? malloc(plan.work_size) : NULL;
  ready->weight_bytes = (ggml_nbytes(weights) + 63) / 64 * 64;
  ready->output = TW_F32;
  snprintf(ready->what, sizeof ready->what, "%s%s", chosen->name, repacked ? ":repack" : "");
  return NULL;
}

void rival_pack(void *packed) {
  const int64_t k = job->gemm.k, n = job->gemm.n;
  float *transposed = malloc((size_t)(k * n) * sizeof *transposed);
  for (int64_t j = 0; transposed && j < n; j++)
    for (int64_t p = 0; p < k; p++)
      transposed[j * k + p] = (float)tw_element(job->gemm.b == TW_BF16 ? TW_BF16 : TW_F32, job->b, p * n + j);
#ifdef RIVAL_IK
  ggml_quantize_chunk(chosen->type, transposed, packed, 0, n, k, NULL, NULL);
#else
  ggml_quantize_chunk(chosen->type, transposed, packed, 0, n, k, NULL);
#endif
  free(transposed);
  if (!repacked) return;
  ggml_backend_tensor_set(weights, packed, 0, ggml_nbytes(weights));
  memcpy(packed, weights->data, ggml_nbytes(weights));
}

void rival_run(const void *packed, void *c) {
  weights->data = (void *)(uintptr_t)packed;
  product->data = c;
  ggml_graph_compute(graph, &plan);
}

void rival_close(void) {
  if (repacked) ggml_backend_buffer_free(repacked);
  free(plan.work_data);
  ggml_free(context);
}
