/* emit_addresses.c - the operands of pairs: addresses that the core combines with sizes for each pair, or hoisted ones.
 *
 * A hoisted operand is one 64-bit number, rows << 48 | columns << 32 | address, made once; a block is then an addition
 * of a small constant, and a partial block a subtraction in the size fields. */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/emit_nest.h"

/* Scratchpad rows from block to block. */
static int a_stride(const gm_emitter *e, int x) {
  const int d = e->config->dim;
  if (e->g->a_transposed) return x == K ? e->plan->tile_m * d : d;
  return x == I ? e->plan->tile_k * d : d;
}

static int b_stride(const gm_emitter *e, int x) {
  const int d = e->config->dim;
  if (e->g->b_transposed) return x == J ? e->plan->tile_k * d : d;
  return x == K ? e->plan->tile_n * d : d;
}

static int c_stride(const gm_emitter *e, int x) { return x == I ? e->plan->tile_n * e->config->dim : e->config->dim; }

/* Is the block at `x` of an unrolled loop the partial one? */
static bool is_cut(const nest *n, int x) {
  return n->index[x] >= 0 && n->v->partial[x] && n->v->bound[x] > 0 && n->index[x] == n->v->bound[x] - 1;
}

static const char *const cut_rows[3] = {"CUT_M << 48", "", "CUT_K << 48"};
static const char *const cut_columns[3] = {"", "CUT_N << 32", "CUT_K << 32"};

typedef int (*stride_of)(const gm_emitter *, int x);

/* Rows of blocks of C in alternate accumulator banks? */
static bool alternates(const gm_emitter *e, stride_of stride, int x) {
  return stride == c_stride && x == I && gm_rows_alternate(&e->plan->levers);
}

/* From the first block along `x` to the one of an unrolled loop. */
static int unrolled_offset(const nest *n, stride_of stride, int x) {
  const int index = n->index[x] > 0 ? n->index[x] : 0;
  if (!alternates(n->e, stride, x)) return index * stride(n->e, x);
  return index / 2 * stride(n->e, x) + index % 2 * n->e->layout->c_stride;
}

static int offset(const nest *n, stride_of stride, int x, int y) {
  return unrolled_offset(n, stride, x) + unrolled_offset(n, stride, y);
}

/* "ii * 64": likewise in a rolled loop. */
static const char *rolled_offset(const gm_emitter *e, stride_of stride, int x, char out[64]) {
  if (alternates(e, stride, x))
    snprintf(out, 64, "(%s >> 1) * %d + (%s & 1) * %d", variable[x], stride(e, x), variable[x], e->layout->c_stride);
  else
    snprintf(out, 64, "%s * %d", variable[x], stride(e, x));
  return out;
}

static void operand_text(char *out, size_t size, const char *name, int constant, const char *cut1, const char *cut2) {
  size_t n = (size_t)snprintf(out, size, "%s", name);
  if (constant) n += (size_t)snprintf(out + n, size - n, " + %d", constant);
  if (*cut1) n += (size_t)snprintf(out + n, size - n, " - (%s)", cut1);
  if (*cut2) snprintf(out + n, size - n, " - (%s)", cut2);
}

static void pair_hoisted(nest *n, bool reused) {
  gm_emitter *e = n->e;
  char a[96], b[96], c[96];
  const bool first_k = n->overwrites && n->index[K] <= 0;
  operand_text(a, sizeof a, n->a, offset(n, a_stride, I, K), is_cut(n, I) ? cut_rows[I] : "",
               is_cut(n, K) ? cut_columns[K] : "");
  operand_text(b, sizeof b, n->b, offset(n, b_stride, J, K), is_cut(n, K) ? cut_rows[K] : "",
               is_cut(n, J) ? cut_columns[J] : "");
  operand_text(c, sizeof c, first_k ? n->c_first : n->c_more, offset(n, c_stride, I, J),
               is_cut(n, I) ? cut_rows[I] : "", is_cut(n, J) ? cut_columns[J] : "");
  if (reused)
    LINE("preload(NONE, %s, %d, %d, 0, 0);  compute_accumulated(%s, NONE, 0, 0, %d, %d);", c, e->config->dim,
         e->config->dim, a, e->config->dim, e->config->dim);
  else
    LINE("preload(%s, %s, 0, 0, 0, 0);  compute_preloaded(%s, NONE, 0, 0, %d, %d);", b, c, a, e->config->dim,
         e->config->dim);
}

/* " + kk * 64 + 16": the place of a block, from rolled and unrolled indices. */
static void offset_text(const nest *n, stride_of stride, int x, int y, char *out, size_t size) {
  size_t used = 0;
  char rolled[64];
  out[0] = '\0';
  for (int t = 0; t < 2; t++) {
    const int z = t == 0 ? x : y;
    if (n->index[z] < 0)
      used += (size_t)snprintf(out + used, size - used, " + %s", rolled_offset(n->e, stride, z, rolled));
  }
  if (offset(n, stride, x, y)) snprintf(out + used, size - used, " + %d", offset(n, stride, x, y));
}

/* Elements of the block at `x`. */
static void extent_text(const nest *n, int x, char *out, size_t size) {
  const int d = n->e->config->dim;
  if (is_cut(n, x))
    snprintf(out, size, "%d", tail(n->e, x));
  else if (n->index[x] >= 0 || !n->v->partial[x])
    snprintf(out, size, "%d", d);
  else if (x == I)
    snprintf(out, size, "(i + ii == %d ? %d : %d)", n->e->g->mb - 1, tail(n->e, I), d);
  else
    snprintf(out, size, "(%s == %d ? %d : %d)", variable[x], n->v->bound[x] - 1, tail(n->e, x), d);
}

static void pair_plain(nest *n, bool reused) {
  gm_emitter *e = n->e;
  const int d = e->config->dim;
  char a[64], b[64], c[128], m[64], nn[64], k[64], flag[64];
  offset_text(n, a_stride, I, K, a, sizeof a);
  offset_text(n, b_stride, J, K, b, sizeof b);
  offset_text(n, c_stride, I, J, c, sizeof c);
  extent_text(n, I, m, sizeof m);
  extent_text(n, J, nn, sizeof nn);
  extent_text(n, K, k, sizeof k);
  const bool one_step = e->layout->tiles_k == 1;
  if (!n->overwrites || n->index[K] > 0)
    snprintf(flag, sizeof flag, " | 0x40000000");
  else if (n->index[K] < 0)
    snprintf(flag, sizeof flag, " | (%skk ? 0x40000000 : 0)", one_step ? "" : "k + ");
  else
    snprintf(flag, sizeof flag, "%s", one_step ? "" : " | (k ? 0x40000000 : 0)");
  if (reused)
    LINE("preload(NONE, (c%s)%s, %d, %d, %s, %s);  compute_accumulated(a%s, NONE, %s, %s, %d, %d);", c, flag, d, d, nn,
         m, a, k, m, d, d);
  else
    LINE("preload(b%s, (c%s)%s, %s, %s, %s, %s);  compute_preloaded(a%s, NONE, %s, %s, %d, %d);", b, c, flag, nn, k, nn,
         m, a, k, m, d, d);
}

static void declare_chunks(gm_emitter *e, const char *type, const char *full) {
  char a[128], b[128];
  gm_slot_text(&e->layout->a, "a_slot", a, sizeof a);
  gm_slot_text(&e->layout->b, "b_slot", b, sizeof b);
  LINE("%s a = %s%s;", type, full, a);
  LINE("%s b = %s%s;", type, full, b);
}

static void operands_combined(gm_emitter *e) {
  declare_chunks(e, "const uint32_t", "");
  LINE("const uint32_t c = c_at;");
}

const gm_addresses gm_combined = {.operands = operands_combined, .pair = pair_plain};

/* ---- hoisted ---- */

static void constants_hoisted(gm_emitter *e) {
  const int d = e->config->dim;
  tw_text_add(&e->out.text, "/* Operands carry their size: rows << 48 | columns << 32 | address. */\n");
  tw_text_add(&e->out.text, "#define FULL ((uint64_t)%d << 48 | (uint64_t)%d << 32)\n", d, d);
  tw_text_add(
      &e->out.text,
      "/* A value that the compiler takes as it is: it adds to it, and does not make a constant of every sum. */\n"
      "#define KEEP(x) asm volatile(\"\" : \"+r\"(x))\n");
  for (int x = I; x <= K; x++)
    if (tail(e, x))
      tw_text_add(&e->out.text, "#define CUT_%c ((uint64_t)%d) /* what the last block lacks */\n", "MNK"[x],
                  d - tail(e, x));
}

static void begin_hoisted(gm_emitter *e) {
  LINE("uint64_t full = FULL;");
  LINE("KEEP(full);");
}

static void operands_hoisted(gm_emitter *e) {
  declare_chunks(e, "uint64_t", "full + ");
  LINE("uint64_t c_more = full + c_at + 0x40000000; /* accumulates */");
  if (e->plan->levers.overwrite && e->layout->tiles_k > 1)
    LINE("uint64_t c_first = k ? c_more : full + c_at; /* the first step overwrites */");
  else if (e->plan->levers.overwrite)
    LINE("uint64_t c_first = full + c_at; /* overwrites */");
}

/* A new name for an operand inside a rolled loop: the old one plus an offset. */
static void move_on(nest *n, char name[32], int x, stride_of stride, const char *cut) {
  char old[32], rolled[64];
  memcpy(old, name, sizeof old);
  snprintf(name, 32, "%.28s_%c", old, "ijk"[x]);
  gm_write(&n->e->out, "uint64_t %s = %s + %s%s;", name, old, rolled_offset(n->e, stride, x, rolled), cut);
}

static void enter_hoisted(nest *n, int x) {
  gm_emitter *e = n->e;
  const bool partial = n->v->partial[x];
  const int last = n->v->bound[x] - 1;
  const char *cut = !partial ? "" : x == I ? " - cut_i" : x == J ? " - (cut_j << 32)" : " - (cut_k << 32)";
  if (partial && x == I)
    LINE("const uint64_t cut_i = i + ii == %d ? CUT_M << 48 : 0;", e->g->mb - 1);
  else if (partial)
    LINE("const uint64_t cut_%c = %s == %d ? CUT_%c : 0;", "ijk"[x], variable[x], last, "MNK"[x]);
  if (x == K) {
    move_on(n, n->a, K, a_stride, cut);
    move_on(n, n->b, K, b_stride, partial ? " - (cut_k << 48)" : "");
    if (!n->overwrites) return;
    LINE("uint64_t %.28s_k = kk ? %s : %s;", n->c_first, n->c_more, n->c_first);
    strcat(n->c_first, "_k");
    return;
  }
  move_on(n, x == I ? n->a : n->b, x, x == I ? a_stride : b_stride, cut);
  if (n->overwrites) move_on(n, n->c_first, x, c_stride, cut);
  move_on(n, n->c_more, x, c_stride, cut);
}

/* Makes the compiler compute sums where they are used, instead of in advance with spills. */
static void keep_hoisted(nest *n) {
  gm_write(&n->e->out, n->overwrites ? "KEEP(%s); KEEP(%s); KEEP(%s); KEEP(%s);" : "KEEP(%s); KEEP(%s); KEEP(%s);",
           n->a, n->b, n->c_more, n->c_first);
}

const gm_addresses gm_hoisted = {.carry_sizes = true,
                                 .constants = constants_hoisted,
                                 .begin = begin_hoisted,
                                 .operands = operands_hoisted,
                                 .enter = enter_hoisted,
                                 .keep = keep_hoisted,
                                 .pair = pair_hoisted};
