/* operand.c - see operand.h. */
#include "op/operand.h"

#include "base/random.h"
#include "op/element.h"
#include "op/numerics.h"

tw_operand tw_operand_pitched(const char *name, tw_type type, int rank, const int64_t dims[], int64_t pitch) {
  tw_operand o = {.name = name, .type = type, .rank = rank};
  int64_t next = 1;
  for (int d = rank - 1; d >= 0; d--) {
    o.dims[d] = dims[d];
    o.stride[d] = next;
    next *= d == rank - 1 ? pitch : dims[d];
  }
  o.bytes = (size_t)next * (size_t)tw_type_bits(type) / 8;
  return o;
}

tw_operand tw_operand_positions(const char *name, tw_type type, const int64_t dims[4], int64_t pitch) {
  tw_operand o = tw_operand_dense(name, type, 4, dims);
  if (!pitch) return o;
  o.stride[1] = pitch;
  o.stride[0] = dims[1] * pitch;
  o.bytes = (size_t)(dims[0] * o.stride[0]) * (size_t)tw_type_bits(type) / 8;
  return o;
}

tw_operand tw_operand_dense(const char *name, tw_type type, int rank, const int64_t dims[]) {
  return tw_operand_pitched(name, type, rank, dims, dims[rank - 1]);
}

int64_t tw_operand_rows(const tw_operand *o) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < o->rank; d++) rows *= o->dims[d];
  return rows;
}

int64_t tw_operand_columns(const tw_operand *o) { return o->dims[o->rank - 1]; }

int64_t tw_operand_pitch(const tw_operand *o) { return o->rank > 1 ? o->stride[o->rank - 2] : o->dims[0]; }

int64_t tw_operand_row_at(const tw_operand *o, int64_t row) {
  if (o->rank == 2) return row * o->stride[0];
  int64_t at = 0;
  for (int d = o->rank - 2; d >= 0; d--) {
    at += row % o->dims[d] * o->stride[d];
    row /= o->dims[d];
  }
  return at;
}

static int64_t place_of(const tw_operand *o, int64_t row, int64_t column) {
  return tw_operand_row_at(o, row) + column * o->stride[o->rank - 1];
}

double tw_operand_element(const tw_operand *o, const void *data, int64_t row, int64_t column) {
  return tw_element(o->type, data, place_of(o, row, column));
}

static bool holds_poison(const tw_operand *o, const void *data, int64_t at) {
  const size_t size = (size_t)tw_type_bits(o->type) / 8;
  const unsigned char *bytes = (const unsigned char *)data + (size_t)at * size;
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != TW_POISON) return false;
  }
  return true;
}

bool tw_poison_tells(tw_type type) { return tw_is_real(type) || type == TW_E4M3 || type == TW_E5M2; }

void tw_blank_output(const tw_operand *o, uint64_t seed, const void *given, void *to) {
  memset(to, TW_POISON, o->bytes);
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)o->bytes);
  for (int64_t row = 0; tw_seed_is(seed, TW_SEED_KIND) && row < rows; row++)
    for (int64_t i = 0; i < columns; i++) {
      const double value =
          tw_poison_tells(o->type) ? 2 * tw_random_real(&r) - 1 : (double)tw_random_between(&r, 1, 100);
      tw_set_element(o->type, to, place_of(o, row, i), value);
    }
  memcpy((char *)to + o->given_at, (const char *)given + o->given_at, o->given_bytes);
}

bool tw_is_poison(const tw_operand *o, const void *data, int64_t row, int64_t column) {
  return holds_poison(o, data, place_of(o, row, column));
}

/* Dimensions by stride, the largest first: each index of one is an interval of the array that holds the next ones. */
typedef struct nest {
  int n;
  int64_t dims[TW_RANK_MAX], stride[TW_RANK_MAX];
} nest;

/* Inner dimensions without gaps become one. */
static nest nest_of(const tw_operand *o) {
  nest sorted = {0}, joined = {0};
  for (int d = 0; d < o->rank; d++) {
    int at = sorted.n;
    if (o->dims[d] == 1) continue;
    for (; at > 0 && sorted.stride[at - 1] < o->stride[d]; at--) {
      sorted.dims[at] = sorted.dims[at - 1];
      sorted.stride[at] = sorted.stride[at - 1];
    }
    sorted.dims[at] = o->dims[d];
    sorted.stride[at] = o->stride[d];
    sorted.n++;
  }
  for (int i = 0; i < sorted.n; i++) {
    const int last = joined.n - 1;
    if (last >= 0 && joined.stride[last] == sorted.dims[i] * sorted.stride[i]) {
      joined.dims[last] *= sorted.dims[i];
      joined.stride[last] = sorted.stride[i];
      continue;
    }
    joined.dims[joined.n] = sorted.dims[i];
    joined.stride[joined.n++] = sorted.stride[i];
  }
  return joined;
}

typedef struct search {
  const tw_operand *o;
  const void *data;
  nest n;
  int64_t from;
} search;

static int64_t first_written(const search *s, int64_t at, int64_t end) {
  for (at = at > s->from ? at : s->from; at < end; at++) {
    if (!holds_poison(s->o, s->data, at)) return at;
  }
  return -1;
}

/* The first gap in [at, end) that was written. The dimensions from `level` on begin at `at`. */
static int64_t search_gap(const search *s, int level, int64_t at, int64_t end) {
  if (end <= s->from) return -1;
  if (level == s->n.n) return first_written(s, at + 1, end);
  const int64_t dims = s->n.dims[level], stride = s->n.stride[level];
  if (stride == 1) return first_written(s, at + dims, end);
  for (int64_t i = 0; i < dims; i++) {
    const int64_t found = search_gap(s, level + 1, at + i * stride, i + 1 < dims ? at + (i + 1) * stride : end);
    if (found >= 0) return found;
  }
  return -1;
}

int64_t tw_operand_written_gap(const tw_operand *o, const void *data, int64_t from) {
  const search s = {.o = o, .data = data, .n = nest_of(o), .from = from};
  return search_gap(&s, 0, 0, (int64_t)(o->bytes / ((size_t)tw_type_bits(o->type) / 8)));
}
