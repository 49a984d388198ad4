/* onednn.c - oneDNN's matmul primitive, with weights in the layout that it asks for. Compiles with versions 2 and 3, which
 * differ in how a primitive is described. */
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>

#include "bench/rivals/rival.h"

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static const rival_case *job;
static dnnl_primitive_t matmul;
static dnnl_primitive_desc_t description;
static dnnl_memory_t source, weights, output;

/* ---- what differs between the versions ---- */

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t layout;

static layout layout_of(int64_t rows, int64_t columns, dnnl_data_type_t type, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t made = NULL;
  dnnl_memory_desc_create_with_tag(&made, 2, (dnnl_dims_t){rows, columns}, type, tag);
  return made;
}

static dnnl_status_t describe(layout a, layout b, layout c, dnnl_primitive_attr_t attributes) {
  return dnnl_matmul_primitive_desc_create(&description, engine, a, b, NULL, c, attributes);
}

static dnnl_status_t describe_reorder(dnnl_primitive_desc_t *out, layout from, layout to) {
  return dnnl_reorder_primitive_desc_create(out, from, engine, to, engine, NULL);
}
#else
typedef const dnnl_memory_desc_t *layout;

static layout layout_of(int64_t rows, int64_t columns, dnnl_data_type_t type, dnnl_format_tag_t tag) {
  static dnnl_memory_desc_t made[4];
  static int next;
  dnnl_memory_desc_t *m = &made[next++ % 4];
  dnnl_memory_desc_init_by_tag(m, 2, (dnnl_dims_t){rows, columns}, type, tag);
  return m;
}

static dnnl_status_t describe(layout a, layout b, layout c, dnnl_primitive_attr_t attributes) {
  dnnl_matmul_desc_t d;
  const dnnl_status_t status = dnnl_matmul_desc_init(&d, a, b, NULL, c);
  return status == dnnl_success ? dnnl_primitive_desc_create(&description, &d, attributes, engine, NULL) : status;
}

static dnnl_status_t describe_reorder(dnnl_primitive_desc_t *out, layout from, layout to) {
  return dnnl_reorder_primitive_desc_create(out, from, engine, to, engine, NULL);
}
#endif

/* ---- the rival ---- */

const char *rival_start(void) {
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) return "oneDNN finds no CPU engine";
  if (dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success) return "oneDNN makes no stream";
  return NULL;
}

static bool type_of(tw_type type, dnnl_data_type_t *out) {
  static const struct {
    tw_type ours;
    dnnl_data_type_t theirs;
  } known[] = {{TW_F32, dnnl_f32}, {TW_BF16, dnnl_bf16}, {TW_U8, dnnl_u8}, {TW_I8, dnnl_s8}, {TW_I32, dnnl_s32}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].ours == type) return *out = known[i].theirs, true;
  return false;
}

const char *rival_open(const rival_case *c, rival_ready *ready) {
  const tw_gemm *g = &c->gemm;
  dnnl_data_type_t a, b, out;
  if (!type_of(g->a, &a) || !type_of(g->b, &b) || !type_of(g->c, &out) || (g->a == TW_BF16 && g->b != TW_BF16))
    return "these types are not compared";
  omp_set_num_threads(c->threads);
  job = c;
  const layout from = layout_of(g->m, g->k, a, dnnl_ab), to = layout_of(g->m, g->n, out, dnnl_ab);
  if (describe(from, layout_of(g->k, g->n, b, dnnl_format_tag_any), to, NULL) != dnnl_success)
    return "oneDNN does not implement it";
  const layout packed = dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
  const char *name = "";
  dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
  snprintf(ready->what, sizeof ready->what, "%s", name);
  ready->weight_bytes = (dnnl_memory_desc_get_size(packed) + 63) / 64 * 64;
  ready->output = g->c;
  const bool made = dnnl_primitive_create(&matmul, description) == dnnl_success &&
                    dnnl_memory_create(&source, from, engine, (void *)(uintptr_t)c->a) == dnnl_success &&
                    dnnl_memory_create(&weights, packed, engine, NULL) == dnnl_success &&
                    dnnl_memory_create(&output, to, engine, NULL) == dnnl_success;
  return made ? NULL : "oneDNN makes no primitive";
}

void rival_pack(void *packed) {
  dnnl_data_type_t type = dnnl_f32;
  dnnl_memory_t plain;
  dnnl_primitive_desc_t description_of_reorder;
  dnnl_primitive_t reorder;
  type_of(job->gemm.b, &type);
  const layout from = layout_of(job->gemm.k, job->gemm.n, type, dnnl_ab);
  dnnl_memory_create(&plain, from, engine, (void *)(uintptr_t)job->b);
  dnnl_memory_set_data_handle(weights, packed);
  describe_reorder(&description_of_reorder, from, dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0));
  dnnl_primitive_create(&reorder, description_of_reorder);
  dnnl_primitive_execute(reorder, stream, 2, (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, weights}});
  dnnl_stream_wait(stream);
  dnnl_primitive_destroy(reorder);
  dnnl_primitive_desc_destroy(description_of_reorder);
  dnnl_memory_destroy(plain);
}

void rival_run(const void *packed, void *c) {
  dnnl_memory_set_data_handle(weights, (void *)(uintptr_t)packed);
  dnnl_memory_set_data_handle(output, c);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, output}};
  dnnl_primitive_execute(matmul, stream, 3, arguments);
  dnnl_stream_wait(stream);
}

void rival_close(void) {
  dnnl_memory_destroy(source);
  dnnl_memory_destroy(weights);
  dnnl_memory_destroy(output);
  dnnl_primitive_destroy(matmul);
  dnnl_primitive_desc_destroy(description);
}
