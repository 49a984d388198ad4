/* conv_model.c - predicts convolutions. */
#include "target/cuda/models.h"

#include <math.h>

#include "gpu/nvidia/conv_kernel.h"

/* ---- the model of convolutions ----
 *
 * Data that the kernel rearranges first pass through memory twice. Then the time is the time of the products, as in
 * gemm's model, or of the output's bytes. */

/* share of peak: of tensor cores in long sums; of DRAM with strides */
static const double MULTIPLIED = 0.8, WRITTEN = 0.6;

double cuda_predict_conv(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_conv_plan *p = plan;
  const tw_conv of = tw_tile_conv_of(m->problem), *v = &of;
  const double clock = (double)m->config->clock_mhz * 1e6, processors = (double)m->config->multiprocessors;
  const double bandwidth = WRITTEN * (double)m->config->memory_gbs * 1e9;
  double places = (double)v->n, steps = (double)p->padded / p->k, out = 1;
  for (int d = 0; d < TW_CONV_DIMS; d++) {
    places *= (double)(v->out[d] + p->taps[d] - 1);
    steps *= p->taps[d];
    out *= (double)v->out[d];
  }
  const double blocks = (double)v->n * (double)v->out[0] * cuda_ceil_div((double)v->out[1], p->y) *
                        cuda_ceil_div((double)v->out[2], p->x);
  const double tiles = cuda_ceil_div(blocks, p->groups) * cuda_ceil_div((double)v->k, p->n);
  const double products = p->products ? p->products : 1, rows = 64.0 * p->groups;
  const double bytes = v->input == TW_F32 && !p->products ? 4 : 2; /* tf32 is multiplied at half the rate of bf16 */
  const double multiply = products * rows * p->n * p->k * bytes / 4096 / MULTIPLIED;
  const double copy = p->planes * (rows + p->n) * p->k * bytes / (CUDA_L2_BYTES_ALL / processors);
  const double cycles = cuda_ceil_div(tiles, processors) *
                        (steps * fmax(multiply, fmax(copy, 1000.0 / p->stages)) + CUDA_DRAM_LATENCY +
                         (p->promote ? steps * p->k / p->promote * p->n : 0) + rows * p->n * 4 / CUDA_L2_BYTES);
  const double images = places * p->padded * bytes * p->planes;
  return cycles / clock + (2 * images + (double)v->n * out * (double)v->k * 4) / bandwidth;
}
