/* call.c - recognizes the kernel of a function by its name and by the sizes of its arguments.
 *
 * 1. symbol.h's: NAME_SIZES of a function of the simulator. The object file is named after the micro-kernel, whose time
 *    it takes.
 * 2. mlir-aie's (aie_kernels/aie2 and aie2p: mm.cc, mv.cc, zero.cc): matmul_IN_OUT, matmul_scalar_IN_OUT,
 *    matvec_scalar_IN_OUT, matvec_vectorized_IN_OUT, zero_OUT, zero_scalar_OUT, zero_vectorized_OUT. Their matrices are
 *    blocked r x s x t like their matrix instructions, scalar ones row-major, A of matvec_vectorized in columns of
 *    32-bit words. Their time is a lower bound: one block per cycle, for scalar ones one multiply-accumulate. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir_aie/reader.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/gemm_array.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/symbol.h"
#include "target/xdna2/design.h"

enum { SIDE_MAX = 1 << 16 };

/* ---- arguments ---- */

/* Bytes of the object or buffer of an argument. */
static int64_t bytes_of(const xd_reader *r, const xd_value *v) {
  const xd_program *p = &r->design->program;
  const xd_port *q = &p->ports.at[v->index];
  return q->fifo >= 0 ? p->fifos.at[q->fifo].bytes : p->buffers.at[q->first_buffer].bytes;
}

static bool check_arguments(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, int line) {
  if (a->n != f->n)
    xd_read_fail(r, line, "@%s is called with %d arguments; it takes %d", xd_read_excerpt(f->name).text, a->n, f->n);
  for (int i = 0; i < a->n && xd_going(r); i++) {
    const bool is_number = a->at[i].kind != XD_OBJECT_VALUE && a->at[i].kind != XD_BUFFER_VALUE;
    if (is_number == f->argument[i].is_memref)
      xd_read_fail(r, line, "argument %d of @%s should be a %s", i, xd_read_excerpt(f->name).text,
                   is_number ? "memref" : "number");
    else if (!is_number && bytes_of(r, &a->at[i]) != f->argument[i].bytes)
      xd_read_fail(r, line, "argument %d of @%s has %" PRId64 " bytes, but its declaration has %" PRId64, i,
                   xd_read_excerpt(f->name).text, bytes_of(r, &a->at[i]), f->argument[i].bytes);
  }
  return xd_going(r);
}

/* The first n arguments are the kernel's pointers. */
static void take_pointers(const xd_call_arguments *a, int n, xd_op *op) {
  op->n_arguments = n;
  for (int i = 0; i < n; i++) op->argument[i].port = a->at[i].index;
}

static bool check_bytes(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, const xd_op *op, int line) {
  for (int i = 0; i < op->n_arguments && xd_going(r); i++) {
    const int64_t end = op->argument[i].offset + op->call.function->bytes(&op->call, i);
    if (end > bytes_of(r, &a->at[i]))
      xd_read_fail(r, line, "@%s works on %" PRId64 " bytes of its argument %d, which has %" PRId64,
                   xd_read_excerpt(f->name).text, end, i, bytes_of(r, &a->at[i]));
  }
  return xd_going(r);
}

/* ---- symbol.h's ---- */

/* matmul_i8_64x32x48: the function and three sizes; sizes that are not given are 1. */
static const xd_function *split_symbol(xd_slice name, int *n, int64_t size[3]) {
  char copy[64];
  if (name.length >= sizeof copy) return NULL;
  memcpy(copy, name.at, name.length);
  copy[name.length] = '\0';
  char *at = strrchr(copy, '_');
  if (!at || !isdigit((unsigned char)at[1])) return NULL;
  *at++ = '\0';
  for (*n = 0; *n < 3 && isdigit((unsigned char)*at); at += *at == 'x') size[(*n)++] = strtoll(at, &at, 10);
  return *at ? NULL : xd_function_find(copy);
}

/* "int8.o", "int8_4x1x2.o": the kernel, and its cover if it differs from the published one. False: no kernel has
 * this name. */
static bool read_object_file(const xd_config *c, const xd_declaration *f, xd_call *call) {
  char name[64];
  if (f->object_file.length < 3 || f->object_file.length >= sizeof name) return false;
  const size_t length = f->object_file.length - 2;
  memcpy(name, f->object_file.at, length);
  name[length] = '\0';
  xd_cover v = {0};
  char *cover = strchr(name, '_');
  int end = 0;
  if (cover) {
    *cover++ = '\0';
    if (sscanf(cover, "%3dx%3dx%3d%n", &v.rows, &v.columns, &v.unroll, &end) != 3 || cover[end]) return false;
    if (v.rows < 1 || v.columns < 1 || v.unroll < 1 || v.rows > 16 || v.columns > 16 || v.unroll > 16) return false;
  }
  call->micro = xd_find_kernel(c, name, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE, TW_TYPE_NONE);
  if (!call->micro) return false;
  xd_set_micro(call, call->micro);
  call->cover = cover ? v : xd_cover_of(call->micro);
  return true;
}

/* Checks the sizes that the function assumes. */
static void check_shape(xd_reader *r, const xd_declaration *f, const xd_call *c, int line) {
  const xd_kernel *k = c->micro;
  const char *name = c->function->name;
  tw_error why;
  const bool unpacks = !strncmp(name, "unpack_", strlen("unpack_")) || (k && k->b == TW_TERNARY);
  if (unpacks && (int64_t)c->k * c->n % XD_UNPACK_CODES)
    xd_read_fail(r, line, "@%s: expected a multiple of %d codes", xd_read_excerpt(f->name).text, XD_UNPACK_CODES);
  if (!k || !xd_going(r)) return;
  const int m = k->vmac[0] * c->cover.rows,
            n = k->vmac[2] * c->cover.columns * (xd_multiplied_b(k) == TW_BFP16 && c->cover.columns % 2 ? 2 : 1);
  const bool hides = unpacks && strstr(name, "_unpack");
  const char *function =
      hides ? xd_gemm_hiding_function(k) : xd_gemm_function(k, xd_reads_elements(k) && strstr(name, "_turned"));
  if (strcmp(name, function) != 0)
    xd_read_fail(r, line, "@%s is not kernel %s of its link_with, which computes %s", xd_read_excerpt(f->name).text,
                 k->name, function);
  else if (c->m % m || c->k % k->vmac[1] || c->n % n)
    xd_read_fail(r, line, "@%s: kernel %s needs multiples of %dx%dx%d", xd_read_excerpt(f->name).text, k->name, m,
                 k->vmac[1], n);
  else if (xd_cover_check(k, c->cover, c->m, c->k, c->n, &why) != TW_OK)
    xd_read_fail(r, line, "@%s: %s", xd_read_excerpt(f->name).text, why.text);
}

/* If C, or the sums, are passed as a whole: adds the band's offset, unless the kernel needs the whole (its bytes
 * depend on the number of rows). */
static void set_band(xd_reader *r, const xd_call_arguments *a, int64_t row, xd_op *op) {
  enum { RESULT = 2 };
  op->call.rows = op->call.m;
  const int64_t band = op->call.function->bytes(&op->call, RESULT);
  op->call.rows *= 2;
  const bool whole = op->call.function->bytes(&op->call, RESULT) != band;
  op->call.rows = (int)(bytes_of(r, &a->at[RESULT]) * op->call.m / band);
  op->call.row = (int)row;
  if (!whole) op->argument[RESULT].offset = row * band / op->call.m;
}

/* Its results are in the order of the kernel's clusters; it has a time of its own. */
static void set_cover_of_unpacking(xd_reader *r, const xd_declaration *f, int line, xd_call *call) {
  xd_call kernel = {0};
  if (!read_object_file(r->config, f, &kernel))
    xd_read_fail(r, line, "link_with of @%s names no kernel of the machine, so the order of its blocks is not known",
                 xd_read_excerpt(f->name).text);
  call->cover = kernel.cover;
}

static bool read_own(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, int line, xd_op *op) {
  int n = 0;
  int64_t size[3] = {1, 1, 1};
  const xd_function *function = split_symbol(f->name, &n, size);
  if (!function || !function->n_arguments || !strncmp(function->name, "blocked_", strlen("blocked_"))) return false;
  const bool bytes_alone = n == 1; /* zero_BYTES */
  const int64_t most = bytes_alone ? INT32_MAX : SIDE_MAX;
  for (int i = 0; i < n; i++)
    if (size[i] < 1 || size[i] > most)
      xd_read_fail(r, line, "sizes of @%s must be 1 to %" PRId64 "", xd_read_excerpt(f->name).text, most);
  const bool unpacks = !strncmp(function->name, "unpack_", strlen("unpack_")); /* KxN, not MxN */
  op->call = (xd_call){.function = function,
                       .m = bytes_alone || unpacks ? 1 : (int)size[0],
                       .k = unpacks  ? (int)size[0]
                            : n == 3 ? (int)size[1]
                                     : 1,
                       .n = (int)size[n - 1],
                       .rounding = r->options.rounding,
                       .shift = r->options.shift};
  const bool takes_row = xd_symbol_takes_row(&op->call);
  if (a->n != function->n_arguments + takes_row || (takes_row && a->at[a->n - 1].kind != XD_NUMBER_VALUE))
    xd_read_fail(r, line, "@%s takes %d buffers%s", xd_read_excerpt(f->name).text, function->n_arguments,
                 takes_row ? " and a row" : "");
  if (!xd_going(r)) return true;
  take_pointers(a, function->n_arguments, op);
  if (takes_row) {
    const int64_t row = a->at[a->n - 1].number;
    if (row < 0 || row > SIDE_MAX) xd_read_fail(r, line, "row %" PRId64 " of C", row);
    if (!read_object_file(r->config, f, &op->call))
      xd_read_fail(r, line, "link_with of @%s names no kernel of the machine (\"int8.o\"), so its time is not known",
                   xd_read_excerpt(f->name).text);
    if (xd_going(r)) set_band(r, a, row, op);
  }
  if (!strcmp(function->name, "unpack_i4_bfp16")) set_cover_of_unpacking(r, f, line, &op->call);
  check_shape(r, f, &op->call, line);
  return true;
}

/* ---- mlir-aie's ---- */

typedef enum xd_form { MATMUL, MATMUL_SCALAR, MATVEC, MATVEC_SCALAR, ZERO } xd_form;
static const struct {
  const char *prefix;
  xd_form form;
} forms[] = {
    {"matmul_scalar_", MATMUL_SCALAR}, {"matmul_", MATMUL}, {"matvec_scalar_", MATVEC_SCALAR},
    {"matvec_vectorized_", MATVEC},    {"zero_", ZERO},     {"fill_zeros_", ZERO},
};

/* The sizes r x s x t of mmul in aie_kernels/aie2/mm.cc and aie2p/mm.cc. */
static void set_block(const xd_reader *r, xd_slice in, const xd_call_arguments *a, int block[3]) {
  static const int aie2_i8[] = {4, 8, 8}, aie2_i16[] = {4, 4, 4}, aie2_bf16[] = {4, 8, 4};
  static const int aie2p_i8[] = {8, 8, 8}, aie2p_i16[] = {4, 4, 8}, aie2p_bf16[] = {4, 8, 8};
  const bool i8 = xd_slice_is(in, "i8"), i16 = xd_slice_is(in, "i16");
  const int *from = r->is_aie2 ? i8    ? aie2_i8
                                 : i16 ? aie2_i16
                                       : aie2_bf16
                    : i8       ? aie2p_i8
                    : i16      ? aie2p_i16
                               : aie2p_bf16;
  memcpy(block, from, 3 * sizeof *block);
  /* bf16 on aie2p has a second form, through bfp16, of 8x8x8: the order of A distinguishes them. */
  const xd_port *q = &r->design->program.ports.at[a->at[0].index];
  if (from == aie2p_bf16 && q->fifo >= 0 && r->design->program.fifos.at[q->fifo].producer.n_dims > 1 &&
      r->design->program.fifos.at[q->fifo].producer.dim[1].size == 8)
    block[0] = 8;
}

/* From the numbers of elements: m k, k n and m n. */
static bool solve_sizes(const xd_declaration *f, xd_call *c) {
  const double a = (double)f->argument[0].elements, b = (double)f->argument[1].elements,
               result = (double)f->argument[2].elements;
  const double m = floor(sqrt(a * result / b) + 0.5), k = a / m, n = result / m;
  if (m < 1 || k != floor(k) || n != floor(n) || k * n != b || m > SIDE_MAX || k > SIDE_MAX || n > SIDE_MAX)
    return false;
  c->m = (int)m;
  c->k = (int)k;
  c->n = (int)n;
  return true;
}

static bool set_sizes(xd_reader *r, xd_form form, const xd_declaration *f, const xd_call_arguments *a, xd_slice in,
                      int line, xd_call *c) {
  const bool vector = form == MATVEC || form == MATVEC_SCALAR;
  if (f->n != 3 || !f->argument[0].is_memref || !f->argument[1].is_memref || !f->argument[2].is_memref ||
      !solve_sizes(f, c) || (vector && c->n != 1)) {
    xd_read_fail(r, line,
                 "@%s: A, B and C have %" PRId64 ", %" PRId64 " and %" PRId64 " elements; expected m k, k n and m n%s",
                 xd_read_excerpt(f->name).text, f->argument[0].elements, f->argument[1].elements,
                 f->argument[2].elements, vector ? " with n = 1" : "");
    return false;
  }
  const int words = xd_slice_is(in, "i8") ? 4 : 2; /* elements of 32 bits */
  if (form == MATMUL)
    set_block(r, in, a, c->block);
  else
    memcpy(c->block, (const int[]){c->m, form == MATVEC ? words : c->k, c->n}, sizeof c->block);
  c->macs = form == MATMUL ? c->block[0] * c->block[1] * c->block[2] : form == MATVEC ? 64 / words : 1;
  if (c->block[0] < 1 || c->block[1] < 1 || c->block[2] < 1) return false; /* for the analyzer: sizes are at least 1 */
  if (c->m % c->block[0] || c->k % c->block[1] || c->n % c->block[2])
    xd_read_fail(r, line, "@%s: %dx%dx%d is not a multiple of %dx%dx%d", xd_read_excerpt(f->name).text, c->m, c->k,
                 c->n, c->block[0], c->block[1], c->block[2]);
  return xd_going(r);
}

static bool read_zero(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, int line, xd_op *op) {
  if (f->n != 1 || !f->argument[0].is_memref)
    xd_read_fail(r, line, "@%s takes one memref", xd_read_excerpt(f->name).text);
  if (xd_going(r) && f->argument[0].bytes > INT32_MAX) xd_read_fail(r, line, "a buffer of more than 2 GB");
  if (!xd_going(r)) return true;
  op->call = (xd_call){.function = xd_function_find("zero"), .m = 1, .k = 1, .n = (int)f->argument[0].bytes};
  take_pointers(a, 1, op);
  return true;
}

static bool read_public(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, int line, xd_op *op) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const size_t length = strlen(forms[i].prefix);
    char name[64];
    if (f->name.length <= length || memcmp(f->name.at, forms[i].prefix, length)) continue;
    if (forms[i].form == ZERO) return read_zero(r, f, a, line, op);
    const xd_slice types = {f->name.at + length, f->name.length - length};
    snprintf(name, sizeof name, "blocked_%.*s", (int)(types.length < 32 ? types.length : 32), types.at);
    op->call = (xd_call){.function = xd_function_find(name), .rounding = r->options.rounding};
    const char *end = memchr(types.at, '_', types.length);
    if (!op->call.function || !end) return false;
    const xd_slice in = {types.at, (size_t)(end - types.at)};
    if (set_sizes(r, forms[i].form, f, a, in, line, &op->call)) take_pointers(a, 3, op);
    return true;
  }
  return false;
}

/* Row-major, unless the hint gives blocks. */
static bool read_product(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, const xd_hint *hint,
                         int line, xd_op *op) {
  xd_product_hint p;
  char name[48];
  if (!xd_hint_product(r, hint, line, &p) || !xd_going(r)) return false;
  if (f->n < 3 || !f->argument[0].is_memref || !f->argument[2].is_memref) {
    xd_read_fail(r, line, "@%s=gemm: A, B and C must be its first three arguments", xd_read_excerpt(f->name).text);
    return true;
  }
  snprintf(name, sizeof name, "blocked_%.15s_%.15s", *p.in ? p.in : f->argument[0].element,
           *p.out ? p.out : f->argument[2].element);
  op->call = (xd_call){.function = xd_function_find(name), .rounding = r->options.rounding};
  if (!op->call.function)
    xd_read_fail(r, line, "@%s=gemm: unsupported types; expected i8 to i32, i16 to i32, or bf16 to bf16 or f32",
                 xd_read_excerpt(f->name).text);
  else if (!solve_sizes(f, &op->call))
    xd_read_fail(r, line, "@%s=gemm: the sizes of A, B and C do not match m k, k n and m n elements",
                 xd_read_excerpt(f->name).text);
  if (!xd_going(r)) return true;
  xd_call *c = &op->call;
  const bool blocked = p.block[0] > 0;
  memcpy(c->block, blocked ? p.block : (const int[]){c->m, c->k, c->n}, sizeof c->block);
  c->macs = blocked ? c->block[0] * c->block[1] * c->block[2] : 1;
  if (c->block[0] < 1 || c->block[1] < 1 || c->block[2] < 1) return false; /* for the analyzer: sizes are at least 1 */
  if (c->m % c->block[0] || c->k % c->block[1] || c->n % c->block[2])
    xd_read_fail(r, line, "@%s: %dx%dx%d is not a multiple of %dx%dx%d", xd_read_excerpt(f->name).text, c->m, c->k,
                 c->n, c->block[0], c->block[1], c->block[2]);
  if (xd_going(r)) take_pointers(a, 3, op);
  return true;
}

/* The arguments of a function of which only the time is known. */
static void take_unknown(xd_reader *r, const xd_call_arguments *a, xd_op *op) {
  *op = (xd_op){
      .kind = XD_CALL, .parameter = -1, .call = {.function = xd_function_find("unknown"), .m = 1, .k = 1, .n = 1}};
  for (int i = 0; i < a->n && op->n_arguments < XD_ARGUMENTS; i++)
    if (a->at[i].kind == XD_OBJECT_VALUE || a->at[i].kind == XD_BUFFER_VALUE)
      op->argument[op->n_arguments++].port = a->at[i].index;
  r->design->unknown++;
}

/* Reads the call as a function of another name, if a hint says so. */
static bool read_known(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, const xd_hint *hint, int line,
                       xd_op *op) {
  xd_declaration known = *f;
  if (hint && hint->what.length) {
    if (read_product(r, f, a, hint, line, op)) return true;
    known.name = hint->what;
  }
  return xd_going(r) && (read_own(r, &known, a, line, op) || read_public(r, &known, a, line, op));
}

bool xd_read_kernel(xd_reader *r, const xd_declaration *f, const xd_call_arguments *a, int line, xd_op *op) {
  if (!check_arguments(r, f, a, line)) return false;
  const xd_hint *hint = xd_hint_of(r, f->name);
  const bool known = read_known(r, f, a, hint, line, op);
  if (!known && hint && hint->cycles > 0 && !hint->what.length)
    take_unknown(r, a, op);
  else if (!known)
    xd_read_fail(r, line,
                 "unknown function @%.40s; state what it computes (--kernel NAME=gemm) or the time of a call "
                 "(--kernel-cycles NAME=N)",
                 xd_read_excerpt(f->name).text);
  if (xd_going(r) && hint) op->call.cycles = hint->cycles;
  return xd_going(r) && (!known || check_bytes(r, f, a, op, line));
}
