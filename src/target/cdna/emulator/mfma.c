/* mfma.c - matrix instructions: registers to matrices by the maps of layout/mfma.h, products, and back.
 *
 * Order of summation: fused.h defines it for CDNA3. It is not published for CDNA4 and for sparse instructions. There, this
 * file adds the products to C in ascending k and rounds each product and sum once to the type of C. Small integers are
 * exact. Scaled instructions scale the items before the multiplication, which is exact. If a scale is too far from 1 for
 * that, sums of blocks are scaled in double. XF32 cuts its items to 10 bits of fraction. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/emulator/fused.h"
#include "target/cdna/lanes/half.h"
#include "target/cdna/lanes/small.h"
#include "target/cdna/layout/mfma.h"

enum { ITEMS_MAX = 2048, SCALES_MAX = 128, ROWS_MAX = 64 };

/* The place of item n (lane * items + item) in its matrix: A [block][k][row], B [block][k][column], C
 * [block][row][column]; for a sparse A the compressed k. */
typedef struct matrix_map {
  int items, bits;
  cdna_type type;
  cdna_items form;          /* form of the items' conversion to floats */
  uint8_t lane[CDNA_LANES]; /* the block that is read in place of each block */
  uint8_t run; /* number of lanes whose items of equal index are adjacent in the matrix; 0: too few to matter */
  uint16_t at[ITEMS_MAX];
} matrix_map;

typedef struct matrix_plan {
  const cdna_mfma *mfma;
  matrix_map a, b, c;
  /* Where rows of C and D begin: in their registers if `in_place`, else in a matrix. */
  uint16_t row_at[ROWS_MAX];
  bool in_place;
  uint8_t scale_lane[2][SCALES_MAX]; /* for each row (column) and block of 32 k: [r * blocks + b] */
  int scale_byte[2];
  int group;      /* number of products added at once; 0: none */
  int index_bit;  /* index of a sparse instruction */
  uint8_t negate; /* operands of f64: A, B, C */
} matrix_plan;

/* ---- formats ---- */

static float small_values[CDNA_SMALLS][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void fill_values(void) {
  for (int s = 0; s < CDNA_SMALLS; s++)
    for (uint32_t code = 0; code < 1u << cdna_small_of(s).bits; code++)
      small_values[s][code] = cdna_small_value(s, code);
}

/* False: the type has at least 16 bits. */
static bool small_of(cdna_type type, cdna_arch arch, cdna_small *out) {
  switch (type) {
  case CDNA_FP8: *out = arch == CDNA3 ? CDNA_FP8_FNUZ : CDNA_FP8_OCP; return true;
  case CDNA_BF8: *out = arch == CDNA3 ? CDNA_BF8_FNUZ : CDNA_BF8_OCP; return true;
  case CDNA_FP6: *out = CDNA_FP6_MX; return true;
  case CDNA_BF6: *out = CDNA_BF6_MX; return true;
  case CDNA_FP4: *out = CDNA_FP4_MX; return true;
  default: return false;
  }
}

/* The conversion of its items to floats. */
static cdna_items items_of(cdna_type type, int bits, cdna_arch arch) {
  cdna_small small;
  if (small_of(type, arch, &small)) {
    pthread_once(&once, fill_values);
    return cdna_small_items(small, small_values[small]);
  }
  return (cdna_items){.mask = bits < 32 ? (1u << bits) - 1 : ~0u,
                      .kind = type == CDNA_F16    ? CDNA_ITEM_F16
                              : type == CDNA_BF16 ? CDNA_ITEM_BF16
                              : type == CDNA_XF32 ? CDNA_ITEM_XF32
                                                  : CDNA_ITEM_F32};
}

static inline uint32_t item_bits(uint32_t (*row)[CDNA_LANES], int lane, int item, int bits) {
  const int at = item * bits;
  uint32_t word = row[at / 32][lane] >> at % 32;
  if (bits == 32) return word;
  if (at % 32 + bits > 32) word |= row[at / 32 + 1][lane] << (32 - at % 32);
  return word & ((1u << bits) - 1);
}

static inline float item_value(const matrix_map *map, uint32_t bits) {
  if (map->form.table) return map->form.table[bits];
  switch (map->type) {
  case CDNA_F16: return cdna_half_value(bits);
  case CDNA_BF16: return cdna_bf16_value(bits);
  case CDNA_XF32: return tw_float_of(bits & ~0x1FFFu);
  default: return tw_float_of(bits);
  }
}

static void unpack(const cdna_lane_kit *kit, const matrix_map *map, uint32_t (*row)[CDNA_LANES], float *out) {
  const int n = map->items;
  cdna_items x = map->form;
  x.row = *row;
  x.spacing = map->bits;
  if (map->run >= 16) {
    x.n = n;
    x.at = map->at;
    kit->unpack(&x, out);
    return;
  }
  for (int l = 0; l < CDNA_LANES; l++)
    for (int e = 0; e < n; e++) out[map->at[l * n + e]] = item_value(map, item_bits(row, map->lane[l], e, map->bits));
}

/* Reads C or writes D, whose items are dwords, between registers and the matrix. */
static void read_addend(const matrix_map *map, uint32_t (*row)[CDNA_LANES], uint32_t *c) {
  for (int r = 0; r < map->items; r++) {
    for (int l = 0; l < CDNA_LANES && map->run; l += map->run)
      memcpy(&c[map->at[l * map->items + r]], &row[r][l], map->run * sizeof *c);
    for (int l = 0; l < CDNA_LANES && !map->run; l++) c[map->at[l * map->items + r]] = row[r][l];
  }
}
static void write_result(const matrix_map *map, const uint32_t *c, uint32_t (*row)[CDNA_LANES]) {
  for (int r = 0; r < map->items; r++) {
    for (int l = 0; l < CDNA_LANES && map->run; l += map->run)
      memcpy(&row[r][l], &c[map->at[l * map->items + r]], map->run * sizeof *c);
    for (int l = 0; l < CDNA_LANES && !map->run; l++) row[r][l] = c[map->at[l * map->items + r]];
  }
}

/* Fetches the addend, from registers or equal in all places. A sparse instruction adds to D. */
static void fetch_addend(cdna_wave *w, const cdna_op *op, const matrix_plan *p, uint32_t *c) {
  const bool sparse = cdna_mfma_is_sparse(p->mfma);
  if (sparse || op->s[2].kind == CDNA_ROW) {
    read_addend(&p->c, &w->v[sparse ? op->d : op->s[2].code], c);
    return;
  }
  const uint32_t value = (uint32_t)cdna_read(w, &op->s[2]);
  for (int i = 0; i < p->mfma->blocks * p->mfma->m * p->mfma->n; i++) c[i] = value;
}

/* C as rows that begin at `row_at`: in its registers, unless D overwrites them before they are read. */
static const uint32_t *addend_of(cdna_wave *w, const cdna_op *op, const matrix_plan *p, uint32_t *room) {
  const cdna_source *c = &op->s[2];
  const int words = p->mfma->blocks * p->mfma->m * p->mfma->n;
  if (!p->in_place || c->kind != CDNA_ROW) {
    fetch_addend(w, op, p, room);
    return room;
  }
  const int apart = c->code - op->d;
  if (!apart || apart >= p->c.items || apart <= -p->c.items) return w->v[c->code];
  memcpy(room, w->v[c->code], (size_t)words * sizeof *room);
  return room;
}

static void unpack_integers(const matrix_map *map, uint32_t (*row)[CDNA_LANES], int32_t *out) {
  for (int l = 0; l < CDNA_LANES; l++)
    for (int e = 0; e < map->items; e++) out[map->at[l * map->items + e]] = (int8_t)item_bits(row, map->lane[l], e, 8);
}

/* The k of each item of a sparse A: its index chooses one of four. Absent values are not multiplied, not even with
 * infinity or NaN. */
static void find_places(const matrix_plan *p, const cdna_wave *w, const cdna_op *op, uint8_t *k_of) {
  const uint32_t *index = w->v[op->s[2].code];
  for (int l = 0; l < CDNA_LANES; l++)
    for (int e = 0; e < p->a.items; e++) {
      const int at = p->a.at[l * p->a.items + e], group = at / p->mfma->m / 2;
      k_of[at] = (uint8_t)(4 * group + (int)(index[l] >> (p->index_bit + 2 * e) & 3));
    }
}

/* Every element of A and B has its place in a register, so that unpack has filled them all, which the analyzer cannot
 * know. NOLINTBEGIN(clang-analyzer-core.*) */
static void multiply_sparse(const cdna_mfma *m, float *c, const float *a, const float *b, const uint8_t *k_of) {
  for (int i = 0; i < m->m; i++)
    for (int k = 0; k < m->k / 2; k++)
      for (int j = 0; j < m->n; j++)
        c[i * m->n + j] = fmaf(a[k * m->m + i], b[k_of[k * m->m + i] * m->n + j], c[i * m->n + j]);
}

static void multiply_sparse_integers(const cdna_mfma *m, uint32_t *c, const int32_t *a, const int32_t *b,
                                     const uint8_t *k_of) {
  for (int i = 0; i < m->m; i++)
    for (int k = 0; k < m->k / 2; k++)
      for (int j = 0; j < m->n; j++) c[i * m->n + j] += (uint32_t)(a[k * m->m + i] * b[k_of[k * m->m + i] * m->n + j]);
}

/* Exponents of scales (E8M0: s - 127; 255 is NaN, here 128) of [row of A or column of B][block of 32 k]. False if one
 * is so far from 0 that products of scaled items could leave the range of f32. */
static bool read_scales(const matrix_plan *p, const cdna_wave *w, int side, const cdna_source *s, int *exponent) {
  const int all = (side ? p->mfma->n : p->mfma->m) * p->mfma->k / 32;
  bool is_near = true;
  for (int i = 0; i < all; i++) {
    const uint32_t scales = s->kind == CDNA_ROW ? w->v[s->code][p->scale_lane[side][i]] : (uint32_t)cdna_read(w, s);
    exponent[i] = (int)(scales >> 8 * p->scale_byte[side] & 0xFF) - 127;
    is_near &= exponent[i] >= -50 && exponent[i] <= 50;
  }
  return is_near;
}

static void apply_scales(const cdna_mfma *m, int outer, const int *exponent, float *item) {
  float scale[32];
  for (int block = 0; block < m->k / 32; block++) {
    for (int r = 0; r < outer; r++) scale[r] = tw_float_of((uint32_t)(exponent[r * (m->k / 32) + block] + 127) << 23);
    for (int k = 32 * block; k < 32 * block + 32; k++)
      for (int r = 0; r < outer; r++) item[k * outer + r] *= scale[r];
  }
}

/* Each block's sum in double, times its scales; rounded once, with C. */
static void multiply_far(const cdna_mfma *m, float *c, const float *a, const float *b, const int *ea, const int *eb) {
  const int blocks = m->k / 32;
  for (int i = 0; i < m->m; i++)
    for (int j = 0; j < m->n; j++) {
      double sum = c[i * m->n + j];
      for (int block = 0; block < blocks; block++) {
        const int x = ea[i * blocks + block], y = eb[j * blocks + block];
        double part = 0;
        for (int k = 32 * block; k < 32 * block + 32; k++) part += (double)a[k * m->m + i] * b[k * m->n + j];
        sum += x == 128 || y == 128 ? NAN : ldexp(part, x + y);
      }
      c[i * m->n + j] = (float)sum;
    }
}

/* NOLINTEND(clang-analyzer-core.*) */

/* ---- execution ---- */

/* Scales are the operation's last source; the code of A's scale is in it, the code of B's in `more`: see lower. */
typedef struct scaled_plan {
  matrix_plan plan;
  cdna_source scale[2];
} scaled_plan;

/* An operand that a workgroup's instruction has unpacked: GEMMs multiply each fragment several times. Each side has KEPT
 * places, chosen by register. `row` has the bits of the registers, which may have changed since. After MISSES operands
 * in a row that a place does not hold, it keeps only MISSES of every RETRIES. */
enum { KEPT = 16, KEPT_ROWS = 8, MISSES = 4, RETRIES = 64 };
typedef struct kept_factor {
  const cdna_mfma *mfma; /* NULL: none */
  unsigned misses;       /* since the last operand that was found */
  cdna_type type;
  cdna_factor factor;
  uint32_t row[KEPT_ROWS][CDNA_LANES];
  float item[ITEMS_MAX];
  int32_t exponent[ITEMS_MAX];
} kept_factor;

/* The place for an operand; NULL: it is not kept. Without a group, which needs exponents too, unpacking items of 16 bits
 * costs less than a comparison. */
static kept_factor *place_of(cdna_group *g, const matrix_plan *p, int side, int code, int rows) {
  const matrix_map *map = side ? &p->b : &p->a;
  if (map->run < 16 || rows < 1 || rows > KEPT_ROWS || p->mfma->blocks > 1 || (!p->group && map->bits > 8)) return NULL;
  if (!g->kept) g->kept = tw_new(2 * KEPT, sizeof(kept_factor));
  return g->kept ? (kept_factor *)g->kept + side * KEPT + code / rows % KEPT : NULL;
}

/* The items of A or B in registers from `code` on; `own` has room for them. */
static cdna_factor *factor_of(const cdna_wave *w, const matrix_plan *p, int side, int code, cdna_factor *own) {
  const matrix_map *map = side ? &p->b : &p->a;
  const int rows = map->items * map->bits / 32;
  kept_factor *k = place_of(w->group, p, side, code, rows);
  const size_t bytes = (size_t)rows * sizeof *w->v;
  if (k && k->mfma == p->mfma && k->type == map->type && !memcmp(k->row, w->v[code], bytes)) {
    k->misses = 0;
    return &k->factor;
  }
  if (!k || k->misses++ % RETRIES >= MISSES) { /* a copy of an operand that is used once costs time */
    unpack(w->kit, map, &w->v[code], own->item);
    return own;
  }
  k->mfma = p->mfma;
  k->type = map->type;
  memcpy(k->row, w->v[code], bytes);
  k->factor = (cdna_factor){.item = k->item, .exponent = k->exponent};
  unpack(w->kit, map, &w->v[code], k->item);
  return &k->factor;
}

static void multiply_blocks(const cdna_wave *w, const matrix_plan *p, uint32_t *d, const uint32_t *c, cdna_factor *a,
                            cdna_factor *b) {
  const cdna_mfma *m = p->mfma;
  for (int block = 0; block < m->blocks; block++) {
    if (block) {
      *a = (cdna_factor){.item = a->item + m->m * m->k, .exponent = a->exponent};
      *b = (cdna_factor){.item = b->item + m->k * m->n, .exponent = b->exponent};
    }
    const cdna_product x = {
        .d = d, .c = c, .at = p->row_at + block * m->m, .a = a->item, .b = b->item, .m = m->m, .n = m->n, .k = m->k};
    if (p->group)
      cdna_fused_multiply(w->kit, m, &x, a, b, p->group);
    else
      w->kit->multiply(&x);
  }
}

static void run_float(cdna_wave *w, const cdna_op *op) {
  if (w->mode & CDNA_MODE_SKIP) return;
  const matrix_plan *p = op->more;
  const cdna_mfma *m = p->mfma;
  const bool sparse = cdna_mfma_is_sparse(m);
  float a[ITEMS_MAX], b[ITEMS_MAX];
  int32_t exponent[2][ITEMS_MAX];
  union {
    float value[ITEMS_MAX];
    uint32_t bits[ITEMS_MAX];
  } all;
  float *c = all.value;
  uint8_t k_of[ITEMS_MAX];
  int ea[SCALES_MAX], eb[SCALES_MAX];
  bool is_far = false;
  cdna_factor own[] = {{.item = a, .exponent = exponent[0]}, {.item = b, .exponent = exponent[1]}};
  cdna_factor *left = &own[0], *right = &own[1];
  if (!sparse && !op->flags) {
    left = factor_of(w, p, 0, op->s[0].code, left);
    right = factor_of(w, p, 1, op->s[1].code, right);
  } else {
    unpack(w->kit, &p->a, &w->v[op->s[0].code], a);
    unpack(w->kit, &p->b, &w->v[op->s[1].code], b);
  }
  if (sparse) find_places(p, w, op, k_of);
  if (op->flags) {
    const scaled_plan *scaled = op->more;
    const bool near_a = read_scales(p, w, 0, &scaled->scale[0], ea),
               near_b = read_scales(p, w, 1, &scaled->scale[1], eb);
    is_far = !near_a || !near_b;
    if (!is_far) {
      apply_scales(m, m->m, ea, a);
      apply_scales(m, m->n, eb, b);
    }
  }
  if (!sparse && !is_far) {
    const uint32_t *addend = addend_of(w, op, p, all.bits);
    multiply_blocks(w, p, p->in_place ? w->v[op->d] : all.bits, addend, left, right);
    if (!p->in_place) write_result(&p->c, all.bits, &w->v[op->d]);
    return;
  }
  fetch_addend(w, op, p, all.bits);
  if (sparse)
    multiply_sparse(m, c, a, b, k_of);
  else
    multiply_far(m, c, a, b, ea, eb);
  write_result(&p->c, all.bits, &w->v[op->d]);
}

static void run_integer(cdna_wave *w, const cdna_op *op) {
  if (w->mode & CDNA_MODE_SKIP) return;
  const matrix_plan *p = op->more;
  const cdna_mfma *m = p->mfma;
  const bool sparse = cdna_mfma_is_sparse(m);
  int32_t a[ITEMS_MAX], b[ITEMS_MAX];
  uint8_t k_of[ITEMS_MAX];
  uint32_t c[ITEMS_MAX];
  unpack_integers(&p->a, &w->v[op->s[0].code], a);
  unpack_integers(&p->b, &w->v[op->s[1].code], b);
  if (sparse) find_places(p, w, op, k_of);
  fetch_addend(w, op, p, c);
  if (sparse) multiply_sparse_integers(m, c, a, b, k_of);
  for (int block = 0; block < m->blocks && !sparse; block++)
    for (int k = 0; k < m->k; k++)
      for (int i = 0; i < m->m; i++)
        for (int j = 0; j < m->n; j++)
          /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): fetch_addend fills c */
          c[(block * m->m + i) * m->n + j] +=
              (uint32_t)(a[(block * m->k + k) * m->m + i] * b[(block * m->k + k) * m->n + j]);
  write_result(&p->c, c, &w->v[op->d]);
}

static double wide_item(uint32_t (*row)[CDNA_LANES], int lane, int item) {
  const uint64_t bits = row[2 * item][lane] | (uint64_t)row[2 * item + 1][lane] << 32;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static void run_double(cdna_wave *w, const cdna_op *op) {
  if (w->mode & CDNA_MODE_SKIP) return;
  const matrix_plan *p = op->more;
  const cdna_mfma *m = p->mfma;
  double a[64], b[64], c[256];
  for (int l = 0; l < CDNA_LANES; l++) {
    const double left = wide_item(&w->v[op->s[0].code], l, 0), right = wide_item(&w->v[op->s[1].code], l, 0);
    a[p->a.at[l]] = p->negate & 1 ? -left : left;
    b[p->b.at[l]] = p->negate & 2 ? -right : right;
  }
  double value = 0;
  if (op->s[2].kind != CDNA_ROW) {
    const uint64_t bits = cdna_read(w, &op->s[2]);
    memcpy(&value, &bits, sizeof value);
  }
  for (int l = 0; l < CDNA_LANES; l++)
    for (int r = 0; r < p->c.items; r++) {
      const double v = op->s[2].kind == CDNA_ROW ? wide_item(&w->v[op->s[2].code], l, r) : value;
      c[p->c.at[l * p->c.items + r]] = p->negate & 4 ? -v : v;
    }
  for (int block = 0; block < m->blocks; block++)
    for (int i = 0; i < m->m; i++)
      for (int j = 0; j < m->n; j++)
        for (int k = 0; k < m->k; k++)
          c[(block * m->m + i) * m->n + j] =
              fma(a[(block * m->k + k) * m->m + i], b[(block * m->k + k) * m->n + j], c[(block * m->m + i) * m->n + j]);
  for (int l = 0; l < CDNA_LANES; l++)
    for (int r = 0; r < p->c.items; r++) {
      uint64_t bits;
      memcpy(&bits, &c[p->c.at[l * p->c.items + r]], sizeof bits);
      w->v[op->d + 2 * r][l] = (uint32_t)bits;
      w->v[op->d + 2 * r + 1][l] = (uint32_t)(bits >> 32);
    }
}

/* ---- decoding ---- */

static bool map_of(const cdna_mfma *m, cdna_operand operand, cdna_type type, cdna_arch arch, matrix_map *out) {
  cdna_fragment f;
  if (!cdna_fragment_of(m, operand, type, &f) || f.items * CDNA_LANES > ITEMS_MAX) return false;
  out->items = f.items;
  out->bits = f.bits;
  out->type = type;
  out->form = items_of(type, f.bits, arch);
  for (int l = 0; l < CDNA_LANES; l++) {
    out->lane[l] = (uint8_t)l;
    for (int e = 0; e < f.items; e++) {
      const cdna_position at = cdna_fragment_position(&f, (cdna_slot){l, e});
      const int depth = cdna_mfma_is_sparse(m) && operand == CDNA_A ? m->k / 2 : m->k;
      const int index = operand == CDNA_A   ? (at.block * depth + at.column) * m->m + at.row
                        : operand == CDNA_B ? (at.block * depth + at.row) * m->n + at.column
                                            : (at.block * m->m + at.row) * m->n + at.column;
      out->at[l * f.items + e] = (uint16_t)index;
    }
  }
  return true;
}

/* The longest run of at least 4 lanes that holds for all items. */
static uint8_t run_of(const matrix_map *map) {
  for (int l = 0; l < CDNA_LANES; l++)
    if (map->lane[l] != l) return 0;
  for (int run = CDNA_LANES; run >= 4; run /= 2) {
    bool holds = true;
    for (int l = 0; l < CDNA_LANES && holds; l++)
      for (int e = 0; e < map->items && holds; e++)
        holds = map->at[l * map->items + e] == map->at[l / run * run * map->items + e] + l % run;
    if (holds) return (uint8_t)run;
  }
  return 0;
}

/* Finds where rows of C and D begin. They are used in their registers if a row is a run of lanes. */
static void place_rows(matrix_plan *p) {
  const cdna_mfma *m = p->mfma;
  const matrix_map *c = &p->c;
  for (int i = 0; i < m->blocks * m->m; i++) p->row_at[i] = (uint16_t)(i * m->n);
  p->in_place = m->n > 0 && c->run == m->n && m->n % 16 == 0 && m->c != CDNA_F64 && !cdna_mfma_is_sparse(m);
  for (int l = 0; l < CDNA_LANES && p->in_place; l += m->n)
    for (int r = 0; r < c->items; r++) p->row_at[c->at[l * c->items + r] / m->n] = (uint16_t)(r * CDNA_LANES + l);
}

static bool scales_of(const cdna_mfma *m, const cdna_code *c, matrix_plan *p) {
  for (int side = 0; side < 2; side++) {
    cdna_fragment f;
    const int outer = side ? m->n : m->m, blocks = m->k / 32;
    if (!cdna_fragment_of(m, side ? CDNA_SCALE_B : CDNA_SCALE_A, CDNA_FP8, &f) || outer * blocks > SCALES_MAX)
      return false;
    for (int r = 0; r < outer; r++)
      for (int b = 0; b < blocks; b++) {
        const cdna_position at = side ? (cdna_position){0, b, r} : (cdna_position){0, r, b};
        p->scale_lane[side][r * blocks + b] = (uint8_t)cdna_fragment_slot(&f, at).lane;
      }
    p->scale_byte[side] = (int)(cdna_bits(c->prefix, 11 + side, 1) + 2 * cdna_bits(c->prefix, 59 + side, 1));
  }
  return true;
}

/* CBSZ, ABID and BLGP. An unsupported field does not modify the instruction: the manuals and AMD's calculator agree. */
static bool fields_of(const cdna_mfma *m, const cdna_code *c, matrix_plan *p, cdna_op *op) {
  const int cbsz = (int)cdna_bits(c->bits, 8, 3), abid = (int)cdna_bits(c->bits, 11, 4),
            blgp = (int)cdna_bits(c->bits, 61, 3);
  const bool broadcasts = m->fields == CDNA_FIELDS_BROADCAST, chooses = m->fields == CDNA_FIELDS_INDEX,
             has_formats = m->fields == CDNA_FIELDS_FORMATS, permutes = broadcasts || m->fields == CDNA_FIELDS_BLGP;
  if (blgp && !permutes && !has_formats && m->fields != CDNA_FIELDS_NEGATE) {
    op->why = "has BLGP, which it does not support: leave it out";
    return false;
  }
  if ((cbsz || abid) && !broadcasts && !chooses && !has_formats) {
    op->why = "has CBSZ or ABID, which it does not support: leave them out";
    return false;
  }
  if (broadcasts && !cdna_broadcast_is_defined(m, cbsz, abid)) {
    op->why = "has CBSZ and ABID that name no run of lanes";
    return false;
  }
  for (int l = 0; l < CDNA_LANES && broadcasts; l++) p->a.lane[l] = (uint8_t)cdna_lane_of_a(m, l, cbsz, abid);
  for (int l = 0; l < CDNA_LANES && permutes; l++) p->b.lane[l] = (uint8_t)cdna_lane_of_b(l, blgp);
  if (m->fields == CDNA_FIELDS_NEGATE) p->negate = (uint8_t)blgp;
  if (chooses) p->index_bit = cdna_index_bit(m, cbsz, abid);
  return true;
}

bool cdna_lower_mfma(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  const cdna_mfma *m = i->encoding == CDNA_VOP3P ? cdna_mfma_find(i->name) : NULL;
  if (!m) return false;
  const cdna_arch arch = p->object->arch;
  cdna_type a = m->a, b = m->b;
  if (m->fields == CDNA_FIELDS_FORMATS) {
    const uint32_t cbsz = cdna_bits(c->bits, 8, 3), blgp = cdna_bits(c->bits, 61, 3);
    if (cbsz > 4 || blgp > 4) {
      op->why = "has a format of A or B that there is not";
      return false;
    }
    a = (cdna_type)(CDNA_FP8 + cbsz);
    b = (cdna_type)(CDNA_FP8 + blgp);
  }
  scaled_plan *scaled = cdna_program_new(p, sizeof *scaled);
  if (!scaled) return false;
  matrix_plan *plan = &scaled->plan;
  plan->mfma = m;
  plan->group = cdna_fused_group(arch, m);
  if (!map_of(m, CDNA_A, a, arch, &plan->a) || !map_of(m, CDNA_B, b, arch, &plan->b) ||
      !map_of(m, CDNA_C, m->c, arch, &plan->c) || !fields_of(m, c, plan, op))
    return false;
  plan->a.run = run_of(&plan->a);
  plan->b.run = run_of(&plan->b);
  plan->c.run = run_of(&plan->c);
  place_rows(plan);
  op->more = plan;
  for (int n = 0; n < 3; n++) cdna_lower_source(p, c, cdna_find_field(i, (char)('0' + n)), &op->s[n]);
  if (op->s[0].kind != CDNA_ROW || op->s[1].kind != CDNA_ROW) return false;
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  op->d = (uint16_t)(cdna_operand_code(c, d) - CDNA_VGPRS);
  op->d_width = d->width;
  if (c->variant == CDNA_SCALED) {
    if (!scales_of(m, c, plan)) return false;
    op->flags = 1;
    for (int side = 0; side < 2; side++) {
      const int code = (int)cdna_bits(c->prefix, 32 + 9 * side, 9);
      cdna_source *s = &scaled->scale[side];
      *s = (cdna_source){.kind = CDNA_ROW, .width = 1, .code = (uint16_t)(code - CDNA_VGPRS)};
      if (code < CDNA_VGPRS) { /* equal in all lanes: a scalar, or the bits of a constant */
        *s = (cdna_source){.kind = code < CDNA_ZERO         ? CDNA_SCALAR
                                   : code <= CDNA_ZERO + 80 ? CDNA_CONSTANT
                                                            : CDNA_SPECIAL,
                           .width = 1,
                           .code = (uint16_t)code,
                           .value = code <= CDNA_ZERO + 64 ? (uint64_t)(code - CDNA_ZERO)
                                                           : (uint32_t)(CDNA_ZERO + 64 - code)};
        if (s->kind == CDNA_SPECIAL && code >= CDNA_FLOATS && code <= CDNA_FLOATS + 8) {
          static const float value[] = {0.5f, -0.5f, 1, -1, 2, -2, 4, -4, 0.15915494f};
          s->kind = CDNA_CONSTANT;
          s->value = tw_bits_of(value[code - CDNA_FLOATS]);
        }
      }
    }
  }
  op->run = m->c == CDNA_F64 ? run_double : m->c == CDNA_I32 ? run_integer : run_float;
  return true;
}
