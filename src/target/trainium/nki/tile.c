/* tile.c - tensors and their parts as operands of instructions: masks, the access rules, regions. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "target/trainium/nki/value.h"

/* ---- tensors ---- */

nki_tensor *nki_tensor_new(nki_run *r, trn_memory memory, trn_type type, int n, const int64_t size[],
                           int partition_axis, bool is_defined) {
  nki_tensor *t = nki_new(r, NKI_V_TENSOR, sizeof *t);
  t->memory = memory;
  t->type = type;
  t->line = r->line;
  t->blocks = t->partitions = t->columns = 1;
  for (int d = 0; d < n; d++) {
    if (size[d] < 1) nki_fail(r, "dimension %d has %lld elements; expected at least 1", d, (long long)size[d]);
    int64_t *factor = d == partition_axis ? &t->partitions : d < partition_axis ? &t->blocks : &t->columns;
    if (__builtin_mul_overflow(*factor, size[d], factor) || *factor > (int64_t)1 << 33)
      nki_fail(r, "the tensor is too large");
  }
  if (memory != TRN_HBM && t->partitions > r->config->memory.partitions)
    nki_fail(r, "a tensor in %s has %lld partitions; expected at most %d", trn_memory_name(memory),
             (long long)t->partitions, r->config->memory.partitions);
  if (t->blocks + (int64_t)r->program->n_tensors > r->tensors_max)
    nki_fail(r, "the kernel makes more than %lld tensors; does each loop end?", (long long)r->tensors_max);
  const int64_t bytes = t->columns * trn_type_bytes(type), bank = r->config->memory.psum_bank_bytes,
                limit = memory == TRN_SBUF ? r->config->memory.sbuf_bytes : bank * r->config->memory.psum_banks;
  if (memory != TRN_HBM && bytes > limit)
    nki_fail(r, "a tensor needs %lld bytes of a partition of %s; it has %lld", (long long)bytes,
             trn_memory_name(memory), (long long)limit);
  trn_tensor entry = {.memory = memory,
                      .type = trn_type_to_tw(type),
                      .partitions = (int)t->partitions,
                      .bytes = bytes,
                      .address = -1,
                      .line = r->line};
  for (int64_t b = 0; b < t->blocks; b++) {
    const int index = trn_program_add_tensor(r->program, &entry);
    if (index < 0) nki_out_of_memory(r);
    if (!b) t->first = index;
  }
  t->is_defined = is_defined;
  return t;
}

nki_view *nki_tile(nki_run *r, trn_memory memory, trn_type type, int n, const int64_t size[]) {
  return nki_view_whole(r, nki_tensor_new(r, memory, type, n, size, memory == TRN_HBM ? -1 : 0, false), n, size,
                        memory == TRN_HBM ? -1 : 0);
}

trn_view nki_data(nki_run *r, const nki_view *v) {
  nki_tensor *t = v->tensor;
  const int64_t width = t->blocks * t->columns, cells = t->partitions * width;
  trn_view out = {.type = v->type, .n = v->n};
  if (r->computes && (!r->skips || t->is_host)) {
    out.array = &t->array;
    if (!t->array.cell) {
      nki_charge(r, &t->object, (size_t)cells * (t->is_defined ? 4 : 5));
      if (!trn_array_make(&t->array, cells, t->is_defined)) nki_out_of_memory(r);
      t->array.line = t->line;
    }
  }
  out.offset = v->partition * width + v->column;
  for (int d = 0; d < v->n; d++) {
    out.size[d] = v->size[d];
    out.stride[d] = v->along_partitions[d] * width + v->along_columns[d];
  }
  return out;
}

/* ---- masks ---- */

static int64_t div_up(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
static int64_t div_down(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

nki_bounds nki_bounds_of(nki_run *r, nki_value mask, int n, const int64_t size[]) {
  nki_bounds out = {.n = n};
  for (int d = 0; d < n; d++) {
    out.hi[d] = size[d];
    out.is_empty = out.is_empty || !size[d];
  }
  if (mask.type == NKI_V_MISSING || mask.type == NKI_V_NONE) return out;
  if (mask.type != NKI_V_MASK) {
    if (mask.type != NKI_V_BOOL && mask.type != NKI_V_INT)
      nki_fail(r, "unsupported value of 'mask': %s", nki_type_name(mask));
    out.is_empty = out.is_empty || !mask.as.i;
    return out;
  }
  const nki_mask *m = (nki_mask *)mask.as.o;
  for (int c = 0; c < m->n; c++) {
    const nki_index *x = &m->condition[c];
    int axis = -1, axes = 0;
    if (x->n > out.mask_n) out.mask_n = x->n;
    for (int d = 0; d < x->n; d++) {
      if (!x->factor[d] || x->size[d] == 1) continue;
      axis = d + n - x->n;
      axes++;
      if (axis < 0) nki_fail(r, "the mask has %d dimensions, but the operand has %d", x->n, n);
    }
    if (!axes) {
      out.is_empty = out.is_empty || x->offset < 0;
    } else if (axes == 1) { /* factor i + offset >= 0 */
      const int64_t factor = x->factor[axis - n + x->n];
      if (factor > 0) {
        const int64_t low = div_up(-x->offset, factor);
        if (low > out.lo[axis]) out.lo[axis] = low;
      } else {
        const int64_t high = div_down(x->offset, -factor) + 1;
        if (high < out.hi[axis]) out.hi[axis] = high;
      }
    } else {
      if (!out.rest) out.rest = nki_mask_new(r);
      out.rest->condition[out.rest->n++] = *x;
    }
  }
  for (int d = 0; d < n; d++) out.is_empty = out.is_empty || out.lo[d] >= out.hi[d];
  return out;
}

bool nki_allowed(const void *context, const int64_t at[]) {
  const nki_bounds *b = context;
  for (int c = 0; b->rest && c < b->rest->n; c++) {
    const nki_index *x = &b->rest->condition[c];
    int64_t value = x->offset;
    for (int d = 0; d < x->n; d++) {
      const int axis = d + b->n - x->n;
      if (axis >= 0 && x->size[d] > 1) value += x->factor[d] * (at[axis] + b->lo[axis]);
    }
    if (value < 0) return false;
  }
  return true;
}

/* Fails if an element that the mask allows has an index outside of the tensor. */
void nki_check_limits(nki_run *r, const nki_view *v, const nki_bounds *b) {
  for (int i = 0; i < v->n_limits; i++) {
    int64_t low = v->limit[i].offset, high = low, index;
    for (int d = 0; d < v->n; d++) {
      const int64_t from = d < b->n ? b->lo[d] : 0, to = d < b->n ? b->hi[d] - 1 : v->size[d] - 1,
                    f = v->limit[i].factor[d];
      if (to < from) return;
      low += f * (f < 0 ? to : from);
      high += f * (f < 0 ? from : to);
    }
    if (low >= 0 && high < v->limit[i].limit) continue;
    index = low < 0 ? low : high;
    int64_t at[TRN_VIEW_DIMS] = {0};
    for (int d = b->rest ? 0 : -1; d >= 0;) { /* all elements: conditions on several dimensions are rare */
      index = v->limit[i].offset;
      for (int k = 0; k < v->n; k++) index += v->limit[i].factor[k] * (at[k] + (k < b->n ? b->lo[k] : 0));
      if ((index < 0 || index >= v->limit[i].limit) && nki_allowed(b, at)) break;
      index = 0;
      for (d = v->n - 1; d >= 0; d--) {
        const int64_t size = d < b->n ? b->hi[d] - b->lo[d] : v->size[d];
        if (++at[d] < size) break;
        at[d] = 0;
      }
    }
    if (index >= 0 && index < v->limit[i].limit) continue;
    nki_fail(r, "index %lld of dimension %d is outside of the tensor (it has %lld); %s", (long long)index,
             v->limit[i].axis, (long long)v->limit[i].limit,
             b->mask_n && b->mask_n < b->n
                 ? "the mask has fewer dimensions than the operand and applies to the last ones: give its indices all, "
                   "as in i[:, None, None]"
                 : "add a mask or correct the index");
  }
}

nki_view *nki_cut(nki_run *r, const nki_view *v, const nki_bounds *b) {
  nki_check_limits(r, v, b);
  nki_view *out = nki_view_copy(r, v);
  out->n_limits = 0;
  for (int d = 0; d < v->n && d < b->n; d++) {
    if (v->size[d] == 1) continue; /* repeats */
    out->partition += b->lo[d] * v->along_partitions[d];
    out->column += b->lo[d] * v->along_columns[d];
    out->size[d] = b->hi[d] - b->lo[d];
  }
  return out;
}

/* ---- tiles ---- */

nki_view *nki_as_tile(nki_run *r, const nki_view *v) {
  nki_view *out = nki_view_copy(r, v);
  const bool has_partitions_first =
      v->n && (v->along_partitions[0] || (!v->along_columns[0] && v->size[0] > 1) || (v->n > 1 && v->size[0] == 1));
  if (!has_partitions_first && v->n < TRN_VIEW_DIMS) { /* one partition */
    for (int d = 0; d < v->n; d++)
      if (v->along_partitions[d] && v->size[d] > 1)
        nki_fail(r, "the partition dimension must be the first dimension of an operand (it is dimension %d)", d);
    if (v->n > 1) nki_fail(r, "the first dimension of an operand must be the partition dimension");
    for (int d = v->n; d > 0; d--) nki_set_dim(out, d, v->size[d - 1], 0, v->along_columns[d - 1]);
    nki_set_dim(out, 0, 1, 0, 0);
    out->n = v->n + 1;
  }
  if (out->n == 1) { /* each partition has one element */
    nki_set_dim(out, 1, 1, 0, 0);
    out->n = 2;
  }
  for (int d = 0; d < out->n; d++)
    if (out->size[d] > 1 && (d ? out->along_partitions[d] : out->along_columns[d]))
      nki_fail(r, "an operand's dimension %d runs over %s", d,
               d ? "partitions; expected the free dimension" : "the free dimension; expected partitions");
  return out;
}

trn_region nki_region(nki_run *r, const nki_view *v, bool is_read, bool is_written) {
  const nki_tensor *t = v->tensor;
  const int bytes = trn_type_bytes(v->type);
  const int64_t block = v->column / t->columns;
  trn_region out = {.tensor = t->first + (int)block,
                    .type = trn_type_to_tw(v->type),
                    .is_read = is_read,
                    .is_written = is_written,
                    .partitions = 1,
                    .partition_step = 1};
  int first = 0;
  if (t->memory != TRN_HBM) {
    first = 1;
    out.first_partition = (int)v->partition;
    out.partition_step = v->along_partitions[0] ? (int)v->along_partitions[0] : 0;
    out.partitions = v->along_partitions[0] ? (int)v->size[0] : 1;
  }
  out.offset = (v->column - block * t->columns) * bytes;
  int64_t low = 0, high = 0;
  for (int d = first; d < v->n; d++) {
    if (v->size[d] == 1) continue;
    const int64_t stride = v->along_columns[d] * bytes;
    *(stride < 0 ? &low : &high) += stride * (v->size[d] - 1);
    if (out.n_dims && out.stride[out.n_dims - 1] == stride * v->size[d]) { /* continues the previous dimension */
      out.size[out.n_dims - 1] *= v->size[d];
      out.stride[out.n_dims - 1] = stride;
      continue;
    }
    if (out.n_dims == TRN_DIMS_MAX)
      nki_fail(r, "an operand has more than %d dimensions that are not contiguous", TRN_DIMS_MAX);
    out.size[out.n_dims] = v->size[d];
    out.stride[out.n_dims++] = stride;
  }
  if (t->memory != TRN_HBM && (out.offset + low < 0 || out.offset + high >= t->columns * bytes))
    nki_fail(r, "an operand extends over several blocks of a tensor; expected one");
  return out;
}

/* A tile that another instruction has accessed starts a new sum. */
static void end_accumulation(nki_tensor *t, const nki_view *v) {
  int64_t low = v->column, high = low;
  for (int d = 0; d < v->n; d++) *(v->along_columns[d] < 0 ? &low : &high) += v->along_columns[d] * (v->size[d] - 1);
  for (int64_t c = low; c <= high && c < t->blocks * t->columns; c++) t->accumulates[c] = false;
}

void nki_emit(nki_run *r, trn_instruction i, size_t n_outputs, size_t n, nki_view *const operand[]) {
  r->skips = false;
  if (r->is_muted) return;
  if (tw_is_stop_asked()) nki_stop(r, TW_INTERRUPTED, "interrupted");
  i.line = r->line;
  i.first_wait = -1;
  for (size_t k = 0; k < n; k++) {
    if (i.n_operands == TRN_OPERANDS_MAX) nki_fail(r, "the instruction has too many operands");
    trn_region region = nki_region(r, operand[k], k >= n_outputs, k < n_outputs);
    region.is_pointer = i.operand[i.n_operands].is_pointer;
    i.operand[i.n_operands++] = region;
    nki_tensor *t = operand[k]->tensor;
    const int64_t block = operand[k]->column / t->columns;
    if (t->is_added && k >= n_outputs)
      nki_fail(r, "the kernel reads a product again after it was added to a tile; copy it to SBUF first");
    /* now the zeros must be written */
    if (t->block_is_zero_pending && t->block_is_zero_pending[block] && k >= n_outputs) {
      t->block_is_zero_pending[block] = false;
      trn_instruction zero = {.opcode = TRN_MEMSET,
                              .engine = TRN_ENGINE_ANY,
                              .line = t->line,
                              .elements = t->columns,
                              .partitions = (int)t->partitions,
                              .n_operands = 1,
                              .operand = {nki_region(r, nki_tile_of_block(r, t, block), false, true)},
                              .first_wait = -1};
      if (trn_program_add(r->program, &zero) < 0) nki_out_of_memory(r);
    }
    if (t->accumulates && i.opcode != TRN_MATMUL) end_accumulation(t, operand[k]);
    if (k < n_outputs) {
      const trn_tensor *of = &r->program->tensor[t->first];
      if (of->is_argument && t->is_defined) nki_fail(r, "the kernel writes to its input %s", of->name);
      if (t->block_is_zero_pending && i.opcode != TRN_MATMUL) t->block_is_zero_pending[block] = false;
      t->version++;
    }
  }
  nki_check_rules(r, &i, n_outputs, n, operand);
  i.scope = r->scope;
  i.block = r->block;
  const size_t number = r->program->n_instructions;
  r->skips = number < r->request->n_needed && !r->request->needed[number];
  if ((int64_t)number >= 2 * r->tensors_max)
    nki_fail(r, "the kernel has more than %lld instructions", 2 * (long long)r->tensors_max);
  if (trn_program_add(r->program, &i) < 0) nki_out_of_memory(r);
}

void nki_emit_pass(nki_run *r, trn_opcode opcode, trn_engine engine, int64_t elements, size_t n,
                   nki_view *const operand[]) {
  const trn_instruction i = {opcode, engine, .elements = elements, .partitions = (int)operand[0]->size[0]};
  nki_emit(r, i, 1, n, operand);
}

nki_view *nki_operand(nki_run *r, nki_value v, const char *what) {
  if (v.type != NKI_V_VIEW) nki_fail(r, "unsupported value of '%s': %s; expected a tensor", what, nki_type_name(v));
  if (nki_view_of(v)->tensor->memory == TRN_HBM)
    nki_fail(r, "'%s' is in HBM; expected a tile in SBUF or PSUM: load it first", what);
  return nki_view_of(v);
}

nki_view *nki_columns(nki_run *r, nki_view *v, int64_t from, int64_t n) {
  if (v->n != 2) return v;
  nki_view *part = nki_view_copy(r, v);
  part->column += from * v->along_columns[1];
  part->size[1] = n;
  return part;
}

/* Broadcasts one partition to all: ones [1, P] times the row, 512 columns at a time, and a copy to SBUF, which the
 * compiler's model may remove. Integers are transferred. Each content is broadcast only once. */
nki_view *nki_spread(nki_run *r, nki_view *v) {
  if (v->n < 2 || v->along_partitions[0] || v->size[0] == 1) return v;
  nki_tensor *t = v->tensor;
  if (t->spread && t->spread_version == t->version && t->spread->size[0] == v->size[0] &&
      t->spread_column == v->column && t->spread_partition == v->partition && t->spread->n == v->n &&
      memcmp(t->spread->size, v->size, (size_t)v->n * sizeof *v->size) == 0)
    return t->spread;
  const int partitions = (int)v->size[0], scope = r->scope;
  const bool was_muted = r->is_muted;
  r->scope = 0;        /* the compiler moves it before the loops */
  r->is_muted = false; /* later readers need its instructions, too */
  nki_view *out = nki_tile(r, TRN_SBUF, v->type, v->n, v->size), *row = nki_view_copy(r, v);
  row->size[0] = 1;
  const int64_t columns = nki_free_elements(v);
  nki_view *ones = nki_tile(r, TRN_SBUF, v->type, 2, (int64_t[]){1, partitions});
  const bool by_product = trn_type_is_real(v->type);
  if (by_product) nki_do_fill(r, 1, ones, (nki_value){.type = NKI_V_MISSING}, TRN_ENGINE_ANY);
  if (!by_product) nki_emit_pass(r, TRN_DMA, TRN_SYNC, columns, 2, (nki_view *[]){out, row});
  /* for the timing: the regions of each chunk; the values are computed below */
  for (int64_t from = by_product ? 0 : columns; from < columns; from += 512) {
    const int64_t n = columns - from < 512 ? columns - from : 512;
    nki_view *sum = nki_tile(r, TRN_PSUM, TRN_F32, 2, (int64_t[]){partitions, n});
    trn_instruction product = {.opcode = TRN_MATMUL,
                               .engine = TRN_TENSOR,
                               .elements = n,
                               .partitions = 1,
                               .columns = partitions,
                               .is_first = true,
                               .is_last = true};
    trn_instruction copy = {
        .opcode = TRN_COPY, .engine = TRN_ENGINE_ANY, .elements = n, .partitions = partitions, .is_spread = true};
    nki_emit(r, product, 1, 3, (nki_view *[]){sum, ones, nki_columns(r, row, from, n)});
    nki_emit(r, copy, 1, 2, (nki_view *[]){nki_columns(r, out, from, n), sum});
  }
  r->scope = scope;
  r->is_muted = was_muted;
  r->skips = false; /* the row is kept for later readers */
  const trn_view to = nki_data(r, out), from = nki_data(r, v);
  trn_copy(&to, &from, NULL, NULL);
  t->spread = out;
  t->spread_version = t->version;
  t->spread_column = v->column;
  t->spread_partition = v->partition;
  return out;
}

nki_view *nki_tile_of_block(nki_run *r, nki_tensor *t, int64_t block) {
  nki_view *v = nki_view_whole(r, t, 2, (int64_t[]){t->partitions, t->columns}, 0);
  v->column = block * t->columns;
  return v;
}

bool nki_accumulates(const nki_view *into) {
  const nki_tensor *t = into->tensor;
  return t->accumulates && t->accumulates[into->column];
}

void nki_note_matmul(nki_run *r, const nki_view *into) {
  nki_tensor *t = into->tensor;
  if (!t->accumulates) t->accumulates = calloc((size_t)(t->blocks * t->columns), sizeof(bool));
  if (!t->accumulates) nki_out_of_memory(r);
  t->accumulates[into->column] = true;
}

void nki_store(nki_run *r, nki_view *into, nki_value v) {
  if (into->tensor->is_host) {
    nki_array_store(r, into, v);
    return;
  }
  if (nki_is_number(v)) {
    if (into->tensor->memory == TRN_HBM) nki_fail(r, "unsupported assignment of a number to HBM; expected nl.store");
    nki_do_fill(r, nki_number(r, v, "value"), into, (nki_value){.type = NKI_V_MISSING}, TRN_ENGINE_ANY);
    return;
  }
  if (v.type != NKI_V_VIEW) nki_fail(r, "unsupported assignment of %s to a tensor", nki_type_name(v));
  nki_view *src = nki_view_of(v);
  if (into->tensor->memory == TRN_HBM || src->tensor->memory == TRN_HBM)
    nki_fail(r, "unsupported assignment %s HBM; expected nl.%s", into->tensor->memory == TRN_HBM ? "to" : "from",
             into->tensor->memory == TRN_HBM ? "store" : "load");
  nki_do_copy(r, src, (nki_result){.into = into, .engine = TRN_ENGINE_ANY});
}
