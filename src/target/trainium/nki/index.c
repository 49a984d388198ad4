/* index.c - parts of tensors: slices, index tensors, None, ellipsis; reshaping and broadcasting. */
#include <string.h>

#include "target/trainium/nki/value.h"

nki_index *nki_index_new(nki_run *r, int n) {
  nki_index *i = nki_new(r, NKI_V_INDEX, sizeof *i);
  i->n = n;
  for (int d = 0; d < n; d++) i->size[d] = 1;
  return i;
}

nki_mask *nki_mask_new(nki_run *r) { return nki_new(r, NKI_V_MASK, sizeof(nki_mask)); }

nki_index *nki_index_of(nki_run *r, nki_value v) {
  if (v.type == NKI_V_INDEX) return (nki_index *)v.as.o;
  nki_index *i = nki_index_new(r, 0);
  i->offset = nki_integer(r, v, "index");
  return i;
}

nki_view *nki_view_copy(nki_run *r, const nki_view *v) {
  nki_view *out = nki_new(r, NKI_V_VIEW, sizeof *out);
  const nki_object object = out->object;
  *out = *v;
  out->object = object;
  return out;
}

void nki_set_dim(nki_view *v, int d, int64_t size, int64_t along_partitions, int64_t along_columns) {
  v->size[d] = size;
  v->along_partitions[d] = along_partitions;
  v->along_columns[d] = along_columns;
}

/* ---- items of an index ---- */

/* An index of n items; negative ones count from the end. */
static int64_t item_of(nki_run *r, nki_value index, int64_t n, const char *what) {
  const int64_t given = nki_integer(r, index, "index"), i = given < 0 ? given + n : given;
  if (i < 0 || i >= n)
    nki_fail(r, "index %lld is outside of %s (its length is %lld)", (long long)i, what, (long long)n);
  return i;
}

/* The bounds of a slice of n items; negative ones that are given count from the end. */
static int64_t read_slice(nki_run *r, const nki_slice *s, int64_t n, int64_t *start, int64_t *stop) {
  const int64_t step = s->step.type == NKI_V_NONE ? 1 : nki_integer(r, s->step, "step");
  if (!step) nki_fail(r, "a slice has step 0");
  *start = s->start.type == NKI_V_NONE ? (step > 0 ? 0 : n - 1) : nki_integer(r, s->start, "start");
  *stop = s->stop.type == NKI_V_NONE ? (step > 0 ? n : -1) : nki_integer(r, s->stop, "stop");
  if (s->start.type != NKI_V_NONE && *start < 0) *start += n;
  if (s->stop.type != NKI_V_NONE && *stop < 0) *stop += n;
  return step;
}

enum { ITEMS_MAX = 16 };

/* The items of the index; the ellipsis is replaced by whole dimensions. */
static int spread_items(nki_run *r, const nki_view *v, nki_value index, nki_value item[ITEMS_MAX]) {
  const nki_value *given = index.type == NKI_V_TUPLE ? nki_items(index)->item : &index;
  const size_t n = index.type == NKI_V_TUPLE ? nki_items(index)->n : 1;
  nki_slice *whole = nki_new(r, NKI_V_SLICE, sizeof *whole);
  whole->start = whole->stop = whole->step = nki_none();
  int used = 0, out = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < n; i++) used += given[i].type != NKI_V_NONE && given[i].type != NKI_V_ELLIPSIS;
  if (used > v->n) nki_fail(r, "%d indices for a tensor of %d dimensions", used, v->n);
  if ((int64_t)n + v->n - used > ITEMS_MAX) nki_fail(r, "the index has more than %d items", ITEMS_MAX);
  for (size_t i = 0; i <= n; i++) {
    const bool fills = i == n ? !has_ellipsis : given[i].type == NKI_V_ELLIPSIS;
    for (int k = 0; fills && k < v->n - used; k++) item[out++] = nki_of(whole);
    if (i < n && given[i].type == NKI_V_ELLIPSIS) {
      if (has_ellipsis) nki_fail(r, "the index has two ellipses");
      has_ellipsis = true;
    } else if (i < n) {
      item[out++] = given[i];
    }
  }
  return out;
}

static int add_dim(nki_run *r, nki_view *out, int64_t size, int64_t partitions, int64_t columns) {
  if (out->n == TRN_VIEW_DIMS) nki_fail(r, "a tensor has more than %d dimensions", TRN_VIEW_DIMS);
  nki_set_dim(out, out->n, size, partitions, columns);
  return out->n++;
}

static void add_limit(nki_run *r, nki_view *out, int axis, int64_t offset, int64_t limit) {
  if (out->n_limits == TRN_VIEW_DIMS) nki_fail(r, "a tensor has more than %d dimensions", TRN_VIEW_DIMS);
  out->limit[out->n_limits++] = (struct nki_limit){.axis = axis, .offset = offset, .limit = limit};
}

static void take_slice(nki_run *r, nki_view *out, const nki_view *v, int axis, const nki_slice *s) {
  int64_t start, stop;
  const int64_t size = v->size[axis], step = read_slice(r, s, size, &start, &stop);
  const int64_t n = step > 0 ? (stop > start ? (stop - start + step - 1) / step : 0)
                             : (start > stop ? (start - stop - step - 1) / -step : 0);
  const int d = add_dim(r, out, n, v->along_partitions[axis] * step, v->along_columns[axis] * step);
  out->partition += start * v->along_partitions[axis];
  out->column += start * v->along_columns[axis];
  if (n && (start < 0 || start >= size || start + (n - 1) * step < 0 || start + (n - 1) * step >= size)) {
    add_limit(r, out, axis, start, size);
    out->limit[out->n_limits - 1].factor[d] = step;
  }
}

/* Index tensors and ints of an index select together: their grid becomes one group of dimensions. */
static void take_indices(nki_run *r, nki_view *out, const nki_view *v, int n_items, const nki_value item[], int first) {
  nki_index *all = nki_index_new(r, 0);
  for (int i = 0; i < n_items; i++) {
    int64_t size[TRN_VIEW_DIMS] = {0};
    if (item[i].type != NKI_V_INDEX) continue;
    all->n = nki_broadcast_dims(r, all, (nki_index *)item[i].as.o, size);
    memcpy(all->size, size, sizeof size);
  }
  const int base = out->n;
  for (int d = 0; d < all->n; d++) add_dim(r, out, all->size[d], 0, 0);
  for (int i = 0, axis = 0; i < n_items; i++) {
    if (item[i].type == NKI_V_NONE) continue;
    if (item[i].type == NKI_V_INDEX && i >= first) {
      const nki_index *x = (nki_index *)item[i].as.o;
      out->partition += x->offset * v->along_partitions[axis];
      out->column += x->offset * v->along_columns[axis];
      add_limit(r, out, axis, x->offset, v->size[axis]);
      for (int d = 0; d < x->n; d++) {
        const int to = base + all->n - x->n + d;
        out->along_partitions[to] += x->factor[d] * v->along_partitions[axis];
        out->along_columns[to] += x->factor[d] * v->along_columns[axis];
        out->limit[out->n_limits - 1].factor[to] = x->size[d] == 1 ? 0 : x->factor[d];
      }
    }
    axis++;
  }
}

nki_view *nki_view_index(nki_run *r, const nki_view *v, nki_value index) {
  nki_value item[ITEMS_MAX];
  const int n = spread_items(r, v, index, item);
  nki_view *out = nki_view_copy(r, v);
  nki_check_limits(r, v, &(nki_bounds){0});
  out->n = out->n_limits = 0;
  bool has_indices = false;
  for (int i = 0, axis = 0; i < n; i++) {
    const nki_value x = item[i];
    if (x.type == NKI_V_NONE) {
      add_dim(r, out, 1, 0, 0);
      continue;
    }
    if (x.type == NKI_V_SLICE) {
      take_slice(r, out, v, axis, (nki_slice *)x.as.o);
    } else if (x.type == NKI_V_INDEX) {
      if (!has_indices) take_indices(r, out, v, n, item, i);
      has_indices = true;
    } else if (x.type == NKI_V_VIEW) {
      nki_fail(r, "unsupported index by the values of a tensor");
    } else {
      int64_t at = nki_integer(r, x, "index");
      if (at < 0) at += v->size[axis];
      if (at < 0 || at >= v->size[axis])
        nki_fail(r, "index %lld of dimension %d is outside of the tensor (it has %lld)", (long long)at, axis,
                 (long long)v->size[axis]);
      out->partition += at * v->along_partitions[axis];
      out->column += at * v->along_columns[axis];
    }
    axis++;
  }
  return out;
}

/* ---- index tensors indexed: i[:, None] ---- */

static nki_value index_index(nki_run *r, const nki_index *v, nki_value index) {
  const nki_value *item = index.type == NKI_V_TUPLE ? nki_items(index)->item : &index;
  const size_t n = index.type == NKI_V_TUPLE ? nki_items(index)->n : 1;
  nki_index *out = nki_index_new(r, 0);
  int axis = 0;
  out->offset = v->offset;
  for (size_t i = 0; i <= n; i++) {
    if (i < n && out->n == TRN_VIEW_DIMS) nki_fail(r, "an index tensor has more than %d dimensions", TRN_VIEW_DIMS);
    if (i == n || item[i].type == NKI_V_ELLIPSIS) {
      for (; axis < v->n && out->n < TRN_VIEW_DIMS; out->n++) {
        out->size[out->n] = v->size[axis];
        out->factor[out->n] = v->factor[axis++];
      }
    } else if (item[i].type == NKI_V_NONE) {
      out->size[out->n++] = 1;
    } else if (item[i].type == NKI_V_SLICE && axis < v->n) {
      const nki_slice *s = (nki_slice *)item[i].as.o;
      if (s->start.type != NKI_V_NONE || s->stop.type != NKI_V_NONE || s->step.type != NKI_V_NONE)
        nki_fail(r, "unsupported slice of an index tensor; expected ':' or None");
      out->size[out->n] = v->size[axis];
      out->factor[out->n++] = v->factor[axis++];
    } else if (item[i].type == NKI_V_INT && axis < v->n) {
      out->offset += v->factor[axis++] * item[i].as.i;
    } else {
      nki_fail(r, "unsupported index of an index tensor; expected ':' or None");
    }
  }
  return nki_of(out);
}

/* nl.mgrid[0:128, 0:512]: an index tensor for each dimension. */
static nki_value grid(nki_run *r, nki_value index) {
  const nki_value *item = index.type == NKI_V_TUPLE ? nki_items(index)->item : &index;
  const size_t n = index.type == NKI_V_TUPLE ? nki_items(index)->n : 1;
  nki_value out[TRN_VIEW_DIMS];
  int64_t size[TRN_VIEW_DIMS], start[TRN_VIEW_DIMS];
  if (n > TRN_VIEW_DIMS) nki_fail(r, "mgrid has more than %d dimensions", TRN_VIEW_DIMS);
  for (size_t d = 0; d < n; d++) {
    if (item[d].type != NKI_V_SLICE) nki_fail(r, "mgrid needs slices, as in mgrid[0:128, 0:512]");
    const nki_slice *s = (nki_slice *)item[d].as.o;
    start[d] = s->start.type == NKI_V_NONE ? 0 : nki_integer(r, s->start, "start");
    size[d] = nki_integer(r, s->stop, "stop") - start[d];
    if (size[d] < 0) size[d] = 0;
  }
  for (size_t d = 0; d < n; d++) {
    nki_index *i = nki_index_new(r, (int)n);
    memcpy(i->size, size, n * sizeof *size);
    i->factor[d] = 1;
    i->offset = start[d];
    out[d] = nki_of(i);
  }
  return nki_sequence_of(r, NKI_V_TUPLE, n, out);
}

/* ---- everything that has parts ---- */

static nki_value sequence_index(nki_run *r, nki_value v, nki_value index) {
  const nki_sequence *s = nki_items(v);
  const int64_t n = (int64_t)s->n;
  if (index.type != NKI_V_SLICE) return s->item[item_of(r, index, n, nki_type_name(v))];
  int64_t from, to;
  const int64_t step = read_slice(r, (nki_slice *)index.as.o, n, &from, &to);
  if (from < 0) from = 0;
  const nki_value out = nki_sequence_of(r, v.type, 0, NULL);
  for (int64_t i = from; step > 0 ? i < to && i < n : i > to && i >= 0; i += step)
    if (i < n) nki_append(r, nki_items(out), s->item[i]);
  return out;
}

nki_value nki_subscript(nki_run *r, nki_value v, nki_value index) {
  if (v.type == NKI_V_VIEW &&
      (index.type == NKI_V_MASK || index.type == NKI_V_BOOL)) { /* tile[i < n]: supported if it selects all elements */
    const nki_view *view = nki_view_of(v);
    const nki_bounds b = nki_bounds_of(r, index, view->n, view->size);
    bool is_whole = !b.is_empty && !b.rest;
    for (int d = 0; d < view->n; d++) is_whole = is_whole && !b.lo[d] && b.hi[d] == view->size[d];
    if (!is_whole) nki_fail(r, "unsupported mask as an index that leaves elements out; expected the argument 'mask'");
    return v;
  }
  if (v.type == NKI_V_VIEW) return nki_of(nki_view_index(r, nki_view_of(v), index));
  if (v.type == NKI_V_INDEX) return index_index(r, (nki_index *)v.as.o, index);
  if (nki_is_sequence(v)) return sequence_index(r, v, index);
  if (v.type == NKI_V_BUILTIN && strcmp(v.as.builtin->name, "mgrid") == 0) return grid(r, index);
  if (v.type == NKI_V_DICT) {
    const nki_sequence *d = nki_items(v);
    for (size_t i = 0; i + 1 < d->n; i += 2)
      if (nki_equal(r, d->item[i], index)) return d->item[i + 1];
    char key[80];
    nki_print(index, key, sizeof key);
    nki_fail(r, "the dict has no key '%s'", key);
  }
  if (v.type == NKI_V_STRING) {
    const int64_t n = (int64_t)((const nki_string *)v.as.o)->length;
    return nki_text(r, nki_string_of(v) + item_of(r, index, n, "the string"), 1);
  }
  nki_fail(r, "unsupported index of %s", nki_type_name(v));
}

/* ---- other shapes ---- */

nki_view *nki_view_whole(nki_run *r, nki_tensor *t, int n, const int64_t size[], int partition_axis) {
  nki_view *v = nki_new(r, NKI_V_VIEW, sizeof *v);
  int64_t step = 1;
  v->tensor = t;
  v->type = t->type;
  v->n = n;
  for (int d = n - 1; d >= 0; d--) {
    v->size[d] = size[d];
    if (d == partition_axis)
      v->along_partitions[d] = 1;
    else {
      v->along_columns[d] = step;
      step *= size[d];
    }
  }
  return v;
}

/* The product of the sizes; fails if it is larger than `most`. */
static int64_t elements_of(nki_run *r, int n, const int64_t size[]) {
  const int64_t most = (int64_t)1 << 40;
  int64_t elements = 1;
  for (int d = 0; d < n; d++) {
    if (size[d] < 0 || (size[d] && elements > most / size[d]))
      nki_fail(r, "dimension %d has %lld elements; expected at least 0, and a tensor of at most %lld", d,
               (long long)size[d], (long long)most);
    elements *= size[d];
  }
  return elements;
}

nki_view *nki_reshape(nki_run *r, const nki_view *v, int n, const int64_t size[]) {
  nki_view *out = nki_view_copy(r, v);
  const int64_t old = elements_of(r, v->n, v->size);
  int unknown = -1;
  for (int d = 0; d < n; d++) {
    out->size[d] = size[d];
    if (size[d] == -1 && unknown < 0) out->size[unknown = d] = 1;
  }
  int64_t wanted = elements_of(r, n, out->size);
  if (unknown >= 0 && wanted > 0) {
    out->size[unknown] = old / wanted;
    wanted *= out->size[unknown];
  }
  if (wanted != old) nki_fail(r, "reshape of %lld elements to %lld", (long long)old, (long long)wanted);
  nki_check_limits(r, v, &(nki_bounds){0});
  out->n = n;
  out->n_limits = 0;
  /* the partitions stay the first dimension, unless there is only one */
  const bool keeps = v->n && v->along_partitions[0] && v->size[0] > 1;
  if (keeps && (!n || out->size[0] != v->size[0]))
    nki_fail(r, "unsupported reshape that changes the partition dimension (%lld partitions)", (long long)v->size[0]);
  int64_t step = 1;
  for (int d = v->n - 1; d >= keeps; d--) {
    if (v->size[d] != 1 && (v->along_columns[d] != step || v->along_partitions[d]))
      nki_fail(r, "unsupported reshape of a part that is not contiguous");
    step *= v->size[d];
  }
  step = 1;
  for (int d = n - 1; d >= keeps; d--) {
    nki_set_dim(out, d, out->size[d], 0, step);
    step *= out->size[d];
  }
  if (keeps) nki_set_dim(out, 0, v->size[0], v->along_partitions[0], 0);
  return out;
}

nki_view *nki_pattern(nki_run *r, const nki_view *v, const nki_index *x) {
  const int64_t *step = x->factor, *count = x->size, offset = x->offset, n = x->n;
  nki_view *out = nki_view_copy(r, v);
  const bool is_hbm = v->tensor->memory == TRN_HBM;
  int64_t per_partition = 1;
  double furthest = (double)offset;
  const int64_t elements = elements_of(r, v->n, v->size);
  elements_of(r, x->n, count);
  for (int d = v->n - 1; d >= (is_hbm ? 0 : 1); d--) {
    if (v->size[d] != 1 && (v->along_columns[d] != per_partition || v->along_partitions[d]))
      nki_fail(r, "unsupported ap() of a part that is not contiguous");
    per_partition *= v->size[d];
  }
  for (int d = 0; d < n; d++) {
    if (step[d] < 0 || count[d] < 1) nki_fail(r, "ap(): expected steps of at least 0 and counts of at least 1");
    furthest += (double)step[d] * (double)(count[d] - 1);
  }
  if (offset < 0 || furthest >= (double)elements)
    nki_fail(r, "ap(): element %.0f of a tensor of %lld elements", offset < 0 ? (double)offset : furthest,
             (long long)elements);
  if (!is_hbm && (!n || step[0] % per_partition || offset / per_partition != 0))
    nki_fail(
        r,
        "unsupported ap(): expected a first step that is a multiple of %lld, the number of elements of a partition, "
        "and an offset below this number",
        (long long)per_partition);
  out->n = x->n;
  out->n_limits = 0;
  out->column += offset;
  for (int d = 0; d < n; d++) {
    const bool is_partition = !is_hbm && d == 0;
    nki_set_dim(out, d, count[d], is_partition ? v->along_partitions[0] * (step[d] / per_partition) : 0,
                is_partition ? 0 : step[d]);
  }
  return out;
}

nki_view *nki_broadcast(nki_run *r, const nki_view *v, int n, const int64_t size[]) {
  nki_view *out = nki_view_copy(r, v);
  if (n < v->n || n > TRN_VIEW_DIMS) nki_fail(r, "a tensor of %d dimensions cannot be broadcast to %d", v->n, n);
  elements_of(r, n, size);
  nki_check_limits(r, v, &(nki_bounds){0});
  out->n = n;
  out->n_limits = 0;
  for (int d = 0; d < n; d++) {
    const int from = d - (n - v->n);
    const int64_t old = from < 0 ? 1 : v->size[from];
    if (old != size[d] && old != 1)
      nki_fail(r, "dimension %d has %lld elements and cannot be broadcast to %lld", d, (long long)old,
               (long long)size[d]);
    const bool repeats = from < 0 || old != size[d];
    nki_set_dim(out, d, size[d], repeats ? 0 : v->along_partitions[from], repeats ? 0 : v->along_columns[from]);
  }
  return out;
}

nki_view *nki_turn(nki_run *r, const nki_view *v) {
  nki_view *out = nki_view_copy(r, v);
  for (int d = 0; d < 2; d++) {
    nki_set_dim(out, d, v->size[1 - d], v->along_partitions[1 - d], v->along_columns[1 - d]);
    for (int i = 0; i < v->n_limits; i++) out->limit[i].factor[d] = v->limit[i].factor[1 - d];
  }
  return out;
}
