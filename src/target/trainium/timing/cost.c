/* cost.c - formulas for the time of single instructions. */
#include "target/trainium/timing/cost.h"

#include <math.h>
#include <string.h>

trn_place trn_place_of(const trn_compiled *c, const trn_instruction *in, int k) {
  if (!c->place) return (trn_place){in->operand[k].tensor, 0, 0};
  return c->place[c->first_operand[in - c->program->instruction] + (size_t)k];
}

const trn_tensor *trn_tensor_of(const trn_compiled *c, const trn_instruction *in, int k) {
  return &c->program->tensor[trn_place_of(c, in, k).tensor];
}

/* The number of instructions that were merged into one. */
static int members_of(const trn_compiled *c, const trn_instruction *in) {
  return c->members ? c->members[in - c->program->instruction] : 1;
}

/* The properties of operands that the cost laws use, without pointers. */
typedef struct data {
  bool reads_psum, touches_psum;
  bool all_16, widens; /* widens: 16 bits and less in, 32 out */
  bool is_dense;       /* the fast modes of Vector step over neighbours */
  int inputs, pointers;
} data;

static bool is_dense(const trn_region *r) {
  return r->n_dims == 0 || r->size[r->n_dims - 1] == 1 || r->stride[r->n_dims - 1] == trn_element_bytes(r->type);
}

static data data_of(const trn_compiled *c, const trn_instruction *in) {
  data d = {.all_16 = true, .is_dense = true};
  bool all_in_16 = true, out_32 = false;
  for (int i = 0; i < in->n_operands; i++) {
    const trn_region *r = &in->operand[i];
    if (r->is_pointer) {
      d.pointers++;
      continue;
    }
    const bool is_psum = trn_tensor_of(c, in, i)->memory == TRN_PSUM, is_16 = trn_element_bytes(r->type) <= 2;
    d.touches_psum |= is_psum;
    d.all_16 &= is_16;
    d.is_dense &= is_dense(r);
    if (r->is_written) {
      out_32 |= !is_16;
    } else {
      d.inputs++;
      d.reads_psum |= is_psum;
      all_in_16 &= is_16;
    }
  }
  d.widens = all_in_16 && out_32;
  return d;
}

/* Cycles for each element on Vector. */
static double vector_cycles(const trn_config_vector *v, const trn_instruction *in, data d) {
  switch (in->opcode) {
  case TRN_COPY:
  case TRN_ACTIVATION:
  case TRN_TENSOR_SCALAR:
    if (d.touches_psum) return v->psum;
    if (!d.is_dense) return fmax(1, v->copy_32);
    return d.all_16 ? v->copy_16 : d.widens ? v->widen : v->copy_32;
  case TRN_TENSOR_TENSOR:
  case TRN_SCALAR_TENSOR_TENSOR:
    if (d.touches_psum) return v->tensor_tensor_psum;
    return d.all_16 && d.is_dense ? v->tensor_tensor_16 : v->tensor_tensor_32;
  case TRN_RECIPROCAL: return v->reciprocal;
  case TRN_SCAN: return v->scan;
  case TRN_SELECT: return v->select;
  case TRN_MEMSET: return v->memset;
  case TRN_BN_AGGREGATE: return v->bn_aggregate;
  default: return v->reduce;
  }
}

/* A transpose of 32 x 32 in each block. On the diagonal, data stays in its quadrant of partitions. */
static double transpose_ns(const trn_config_vector *v, const trn_instruction *in, double elements) {
  const double rows = ceil(in->partitions / 32.0), columns = ceil(elements / 32), stay = fmin(rows, columns);
  return stay * v->transpose_ns + (rows * columns - stay) * v->transpose_across_ns;
}

static trn_cost vector_cost(const trn_config_vector *v, const trn_instruction *in, double elements, data d) {
  const double n = elements * (in->passes > 1 ? in->passes : 1);
  double issue = (vector_cycles(v, in, d) * n + v->start_cycles) / v->ghz;
  if (in->opcode == TRN_TRANSPOSE) issue = transpose_ns(v, in, elements);
  if (d.pointers) issue += v->pointer_ns;
  return (trn_cost){issue, issue + v->done_ns};
}

/* Functions that take longer if they read PSUM. */
static bool is_slow(const char *function) {
  static const char *const slow[] = {"silu", "gelu", "mish", "swish"};
  for (size_t i = 0; function && i < sizeof slow / sizeof *slow; i++)
    if (!strncmp(function, slow[i], strlen(slow[i]))) return true;
  return false;
}

static trn_cost scalar_cost(const trn_config_scalar *s, const trn_instruction *in, double elements, data d) {
  const bool is_function = in->opcode == TRN_ACTIVATION && trn_table_of(in->function);
  /* an activation always reads a bias: the compiler adds one of zeros */
  const bool has_bias = in->opcode == TRN_ACTIVATION && in->function;
  const int pointers = has_bias && !d.pointers ? 1 : d.pointers;
  const double cycles = s->cycles * (is_function && d.reads_psum && is_slow(in->function) ? s->slow_cycles : 1);
  double issue = elements * cycles / s->ghz + (d.reads_psum ? s->psum_ns : s->sbuf_ns) + pointers * s->pointer_ns;
  if (in->passes > 1) issue += s->accumulate_ns;
  return (trn_cost){issue, issue + s->done_ns};
}

trn_cost trn_cost_of(const trn_config *c, const trn_compiled *program, const trn_instruction *in, trn_engine engine) {
  const data d = data_of(program, in);
  const double elements = (double)in->elements * members_of(program, in);
  if (engine == TRN_VECTOR) return vector_cost(&c->vector, in, elements, d);
  if (engine == TRN_SCALAR) return scalar_cost(&c->scalar, in, elements, d);
  const double n = elements * (in->passes > 1 ? in->passes : 1);
  const double issue = (c->gpsimd.cycles * n + c->gpsimd.start_cycles) / c->gpsimd.ghz;
  return (trn_cost){issue, issue + c->gpsimd.done_ns};
}

trn_tensor_cost trn_cost_of_tensor(const trn_config *c, const trn_instruction *in) {
  const trn_config_tensor *t = &c->tensor;
  bool is_32 = false;
  for (int i = 0; i < in->n_operands; i++)
    is_32 |= !in->operand[i].is_written && trn_element_bytes(in->operand[i].type) > 2;
  const bool is_transpose = in->opcode == TRN_PE_TRANSPOSE || in->is_transpose;
  const double cycles = !is_32 ? t->row_cycles_16 : is_transpose ? t->transpose_cycles_32 : t->row_cycles_32;
  return (trn_tensor_cost){
      .rows = fmax((double)in->elements, t->rows_min) * cycles / t->ghz,
      .is_32 = is_32,
      .passes = is_32 && !is_transpose ? t->passes_32 : 1,
      .fill = fmin(1, (double)in->partitions / c->memory.partitions),
  };
}

int64_t trn_run_bytes(const trn_region *r) {
  int64_t bytes = trn_element_bytes(r->type);
  for (int i = r->n_dims - 1; i >= 0; i--) {
    if (r->size[i] == 1) continue;
    if (r->stride[i] != bytes) return bytes;
    bytes *= r->size[i];
  }
  return bytes;
}

/* Whether merged transfers continue each other's rows in HBM, which have this number of elements. */
static bool are_neighbours(const trn_compiled *c, const trn_instruction *in, int k, int64_t row) {
  const trn_instruction *all = c->program->instruction, *next = in + 1;
  while (next < all + c->program->n_instructions && c->leader[next - all] != in - all) next++;
  return next < all + c->program->n_instructions && next->operand[k].tensor == in->operand[k].tensor &&
         next->operand[k].offset == in->operand[k].offset + row * trn_element_bytes(in->operand[k].type);
}

/* Whether GpSimd writes a transfer's descriptors. */
static bool has_software_descriptors(const trn_compiled *c, const trn_instruction *in) {
  if (in->is_software_dma) return true;
  if (!c->software_arguments || c->static_dma || (in->engine != TRN_ENGINE_ANY && in->engine != TRN_SYNC)) return false;
  for (int k = 0; k < in->n_operands; k++)
    if (trn_tensor_of(c, in, k)->is_argument) return true;
  return false;
}

/* Distributes packets to engines. Descriptors that are made while the kernel runs use all engines in turn; static
 * descriptors use the engine of their partition, one engine for 8 partitions. */
static void share_out(const trn_config *c, const trn_compiled *program, const trn_instruction *in, trn_dma_cost *cost,
                      int64_t packets, double each) {
  const int engines = c->dma.engines, in_group = engines / TRN_DMA_GROUPS;
  int first = 0, partitions = 0;
  for (int i = 0; i < in->n_operands && cost->kind == TRN_DMA_STATIC; i++) {
    if (trn_tensor_of(program, in, i)->memory == TRN_HBM) continue;
    first = in->operand[i].first_partition;
    partitions = in->operand[i].partitions;
  }
  if (partitions == 0) {
    const int used = packets < engines ? (int)packets : engines;
    cost->least = ceil((double)packets / used) * each;
    for (int g = 0; g < TRN_DMA_GROUPS; g++) cost->work[g] = cost->least * used / engines;
    return;
  }
  const int per_engine = c->memory.partitions / engines;
  cost->least = (double)packets * each * fmin(1, (double)per_engine / partitions);
  for (int p = first; p < first + partitions; p++) {
    const int g = p / (per_engine * in_group) % TRN_DMA_GROUPS;
    cost->work[g] += (double)packets * each / partitions / in_group;
  }
}

trn_dma_cost trn_cost_of_dma(const trn_config *c, const trn_compiled *program, const trn_instruction *in) {
  const trn_config_dma *d = &c->dma;
  trn_dma_cost cost = {.kind = has_software_descriptors(program, in) ? TRN_DMA_SOFTWARE
                               : program->static_dma                 ? TRN_DMA_STATIC
                                                                     : TRN_DMA_HARDWARE};
  const int members = members_of(program, in);
  int64_t elements = 0, run = INT64_MAX, widest = 1, narrowest = INT64_MAX, hbm_run = 0;
  int hbm = -1;
  for (int i = 0; i < in->n_operands; i++) {
    const trn_region *r = &in->operand[i];
    if (r->is_pointer) continue;
    const int64_t size = trn_element_bytes(r->type);
    const int64_t n = members * (r->partitions > 0 ? r->partitions : 1) * trn_region_elements(r);
    if (n > elements) elements = n;
    if (size > widest) widest = size;
    if (size < narrowest) narrowest = size;
    if (trn_run_bytes(r) / size < run) run = trn_run_bytes(r) / size;
    if (trn_tensor_of(program, in, i)->memory != TRN_HBM) continue;
    *(r->is_written ? &cost.written : &cost.read) += n * size;
    hbm_run = trn_run_bytes(r) / size;
    hbm = i;
  }
  if (elements == 0 || run == INT64_MAX) return cost;
  if (members > 1 && hbm >= 0 && are_neighbours(program, in, hbm, run)) run *= members;
  /* software descriptors join rows that are adjacent in HBM, unless the type changes */
  const int64_t merged = d->merge_bytes / widest;
  if (cost.kind == TRN_DMA_SOFTWARE && widest == narrowest && run < merged && hbm_run > run)
    run = hbm_run < merged ? hbm_run : merged;
  const bool turns = in->is_transpose && widest == 2 && d->transpose_rate > 0;
  if (turns || run > d->packet_bytes / widest) run = d->packet_bytes / widest;
  const int64_t packets = (elements + run - 1) / run, bytes = run * widest;
  double each = (d->element_ns > 0 && bytes <= 4 ? d->element_ns : d->packet_ns) + (double)bytes / d->engine_gbs;
  each = fmax(each, (double)bytes * d->engines / d->total_gbs) / (turns ? d->transpose_rate : 1);
  cost.packet_bytes = bytes;
  share_out(c, program, in, &cost, packets, each);
  return cost;
}

unsigned trn_legal_engines(const trn_compiled *c, const trn_instruction *in) {
  enum { VECTOR = 1 << TRN_VECTOR, SCALAR = 1 << TRN_SCALAR, GPSIMD = 1 << TRN_GPSIMD, RECIPROCAL_MIN = 64 };
  if (in->opcode == TRN_DMA && has_software_descriptors(c, in)) return GPSIMD;
  if (in->engine != TRN_ENGINE_ANY) return 1u << in->engine;
  const data d = data_of(c, in);
  const unsigned gpsimd = d.touches_psum || c->engines_of_v2 ? 0 : GPSIMD; /* GpSimd cannot reach PSUM */
  switch (in->opcode) {
  case TRN_MATMUL:
  case TRN_PE_TRANSPOSE: return 1 << TRN_TENSOR;
  case TRN_ACTIVATION: return SCALAR;
  case TRN_COPY:
  case TRN_TENSOR_SCALAR: return VECTOR | SCALAR | gpsimd;
  case TRN_TENSOR_TENSOR:
  case TRN_MEMSET: return VECTOR | gpsimd;
  case TRN_IOTA:
  case TRN_AFFINE_SELECT:
  case TRN_GATHER: return GPSIMD;
  case TRN_DMA: return 1 << TRN_SYNC;
  case TRN_RECIPROCAL: return c->engines_of_v2 && in->elements >= RECIPROCAL_MIN ? SCALAR : VECTOR;
  default: return VECTOR;
  }
}

int trn_table_of(const char *function) {
  /* Functions of one line share a table: an assumption. Every other function has its own table. */
  static const char *const each[] = {"copy", "identity", "relu", "square", "abs", "sign", "memset", "lrelu", "prelu"};
  static const char *const table[] = {"exp", "log",  "sqrt", "rsqrt", "reciprocal", "sigmoid",  "tanh",
                                      "erf", "gelu", "silu", "sin",   "arctan",     "softplus", "mish"};
  const size_t n = sizeof table / sizeof *table;
  if (!function) return 0;
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    if (!strcmp(function, each[i])) return 0;
  for (size_t i = 0; i < n; i++)
    if (!strncmp(function, table[i], strlen(table[i]))) return (int)i + 1;
  return (int)n + 1;
}
