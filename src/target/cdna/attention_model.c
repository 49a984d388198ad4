/* attention_model.c - predicts attention, forward and backward. */
#include <math.h>

#include "gpu/amd/attention_multistage.h"
#include "op/attention.h"
#include "target/cdna/models.h"

/* ---- the model of attention ----
 *
 * For each tile of keys a wave multiplies twice and computes an exponential for each score: 16 per clock of a SIMD,
 * and about eight other instructions per score and lane. With enough stages the copies overlap with that. With
 * `overlap_softmax` both are interleaved, and the slower one determines the time, plus a fifth where they do not
 * match. The lanes then do not exchange a row maximum. */

double cdna_predict_attention(const void *with, const void *plan) {
  const cdna_model *x = with;
  const tw_tile_attention_multistage_plan *p = plan;
  const cdna_machine *m = x->machine;
  const tw_attention of = tw_attention_of(x->problem), *a = &of;
  const double cus = m->caches.xcds * m->caches.cus, queries = p->queries * (double)p->groups;
  const double blocks = ceil((double)a->queries / queries) * (double)(a->query_heads * a->batches);
  const double steps = ceil((double)a->keys / p->keys) * (a->causal ? 0.55 : 1);
  const double of_simd = ceil(p->groups / (double)m->simds), rate = m->arch == CDNA3 ? 256 : 512;
  const double multiply = 2.0 * p->queries * p->keys * (double)a->d / rate * of_simd;
  const double weigh =
      p->queries * (double)p->keys / 64 * 4 * (4 + 8) * of_simd + p->queries / 16.0 * (double)a->d * of_simd;
  const double reads = 2.0 * p->keys * (double)a->d * 2 * p->groups / 256, copy = 2.0 * p->keys * (double)a->d * 2 / 64;
  const double latency = 1e-6 * m->clock_mhz * 1e6;
  const double issue = 4 * multiply / (p->product == 32 ? 32 : 16); /* slots of vector units that products take */
  const double made = p->ahead ? 1.2 * fmax(multiply, weigh * 0.55 + issue)
                               : (multiply + weigh - (p->product == 32 ? issue : 0)) * (p->pingpong ? 0.85 : 1);
  const double step = p->stages > 1 ? fmax(made, fmax(reads, copy)) + 100 : multiply + weigh + reads + copy + latency;
  const double resident = fmax(1, fmin(floor((double)m->lds_bytes / (double)p->shared_bytes), floor(8 / of_simd / 2)));
  const double seconds = ceil(blocks / (cus * resident)) * steps *
                         (p->stages > 1 ? step * resident : step * fmax(1, resident / 2)) / (m->clock_mhz * 1e6);
  return fmax(seconds, cdna_pass_seconds(x));
}

/* First the kernel for dK and dV, then the kernel for dQ. As above, but each lane computes a gradient for each
 * probability. With `overlap_softmax` the slower part decides. A wave that is alone on a SIMD uses a smaller part of
 * its rate. `hand_scheduled` is one kernel. */
double cdna_predict_attention_backward(const void *with, const void *plan) {
  const cdna_model *x = with;
  const tw_tile_attention_multistage_plan *p = plan;
  const cdna_machine *m = x->machine;
  const tw_attention of = tw_attention_of(x->problem), *a = &of;
  const double cus = m->caches.xcds * m->caches.cus, of_simd = ceil(p->groups / (double)m->simds);
  const double rate = m->arch == CDNA3 ? 256 : 512, seen = a->causal ? 0.55 : 1, d = (double)a->d;
  const struct {
    double own, at_once, products, reads, rows, columns, heads;
    int blocks;
    int64_t shared;
  } kernel[] = {{p->keys, p->queries, 4, 4, (double)a->keys, (double)(a->queries * a->group), (double)a->key_heads,
                 p->at_once, p->shared_bytes},
                {p->dq_queries, p->dq_keys, 3, 3, (double)a->queries, (double)a->keys, (double)a->query_heads,
                 p->dq_at_once, p->dq_shared_bytes}};
  double seconds = 0;
  if (p->hand_scheduled) { /* the five products, interleaved with the other work; with d = 64 both take equally long */
    const double steps = ceil((double)(a->queries * a->group) / p->queries) * seen;
    const double blocks = ceil((double)a->keys / (p->keys * p->groups)) * (double)(a->key_heads * a->batches);
    const double pace = d < 128 ? 1.4 : p->groups > m->simds ? 1.24 : 1.1; /* two waves of a SIMD read more from LDS */
    const double step = 5.0 * p->keys * p->queries * d / rate * pace * of_simd;
    return fmax(cdna_pass_seconds(x), ceil(blocks / cus) * steps * step / (m->clock_mhz * 1e6));
  }
  for (int i = 0; i < 2; i++) {
    const double blocks = ceil(kernel[i].rows / (kernel[i].own * p->groups)) * kernel[i].heads * (double)a->batches;
    const double steps = ceil(kernel[i].columns / kernel[i].at_once) * seen;
    const double multiply = kernel[i].products * kernel[i].own * kernel[i].at_once * d / rate * of_simd;
    const double weigh = kernel[i].own * kernel[i].at_once / 64 * 4 * (4 + 6) * of_simd;
    const double reads = kernel[i].reads * kernel[i].at_once * d * 2 * p->groups / 128;
    const double copy = 2 * kernel[i].at_once * d * 2 / 64, latency = 1e-6 * m->clock_mhz * 1e6;
    const double made = multiply + weigh - (p->product == 32 ? multiply / 8 : 0), waves = of_simd * kernel[i].blocks;
    const double step =
        p->ahead        ? (waves > 1 ? 1.25 : 1.5) * fmax(multiply, weigh) + (p->product == 32 ? 0 : multiply / 8) + 150
        : p->stages > 1 ? fmax(made, fmax(reads, copy)) + fmin(made, reads) / 2 + 100
                        : multiply + weigh + reads + copy + latency;
    const double fit = p->ahead ? kernel[i].blocks : floor(4 / of_simd / 2);
    const double resident = fmax(1, fmin(floor((double)m->lds_bytes / (double)kernel[i].shared), fit));
    seconds += ceil(blocks / (cus * resident)) * steps *
               (p->stages > 1 ? step * resident : step * fmax(1, resident / 2)) / (m->clock_mhz * 1e6);
  }
  return fmax(seconds, cdna_pass_seconds(x));
}
