/* lds.c - the DS instructions: a workgroup's local memory, and the lane permutations that go through its crossbar. */
#include <stdio.h>
#include <string.h>

#include "target/cdna/emulator/changes.h"
#include "target/cdna/emulator/observe.h"
#include "target/cdna/emulator/places.h"

/* flags */
enum { TWO = 1, STRIDE64 = 2, SIGNED = 4, HIGH = 8, D16 = 16, RETURNS = 32 };

#define OP(name_) static void name_(cdna_wave *w, const cdna_op *op)

/* The bytes at a lane's address. NULL if out of bounds; the wave is then stopped. */
static uint8_t *reach(cdna_wave *w, uint32_t address, uint32_t bytes, const char *what, int lane) {
  const cdna_group *g = w->group;
  if (address < g->lds_bytes && bytes <= g->lds_bytes - address) return g->lds + address;
  if (g->unbounded) return cdna_nowhere(w);
  cdna_stop(w, "lane %d %s %u bytes of LDS at %u: " CDNA_HAS_LDS, lane, what, bytes, address, g->lds_bytes);
  return NULL;
}

/* VSKIP skips LDS instructions, like all that are not scalar. */
static uint64_t lanes_on(const cdna_wave *w) { return w->mode & CDNA_MODE_SKIP ? 0 : cdna_exec(w); }

static inline uint32_t offset_of(const cdna_op *op, int which) {
  const uint32_t part = (uint32_t)op->imm >> 8 * which & 0xFF;
  return part * op->bytes * (op->flags & STRIDE64 ? 64 : 1);
}

/* Adds the offset to the lanes' addresses. True: all lanes are active, and their bytes are in LDS. */
static bool are_all_inside(const cdna_wave *w, const cdna_op *op, uint32_t offset, uint32_t bytes,
                           uint32_t address[CDNA_LANES]) {
  const uint32_t *a = w->v[op->s[0].code], size = w->group->lds_bytes;
  uint32_t outside = size < bytes;
  const uint32_t last = size - bytes;
  for (int l = 0; l < CDNA_LANES; l++) {
    address[l] = a[l] + offset;
    outside |= address[l] > last;
  }
  return !outside && lanes_on(w) == ~0ull;
}

/* Dwords at one or two places, `n` at each, between LDS and registers. Constant arguments: a loop for each. */
static inline __attribute__((always_inline)) void read_places(cdna_wave *w, const cdna_op *op, const uint32_t offset[2],
                                                              int places, int n) {
  const uint32_t bytes = 4u * (uint32_t)n;
  uint32_t a[2][CDNA_LANES]; /* the result may overwrite the addresses */
  uint32_t(*d)[CDNA_LANES] = &w->v[op->d];
  bool inside = true;
  for (int place = 0; place < places; place++) inside &= are_all_inside(w, op, offset[place], bytes, a[place]);
  for (int place = 0; place < places && inside; place++)
    cdna_load_places(&(cdna_places){.base = w->group->lds, .at = a[place]}, d + place * n, n);
  EACH_LANE(inside ? 0 : lanes_on(w)) {
    for (int place = 0; place < places; place++) {
      const uint8_t *from = reach(w, a[place][l], bytes, "reads", l);
      if (!from) return;
      for (int k = 0; k < n; k++) memcpy(&d[place * n + k][l], from + 4 * k, 4);
    }
  }
}
static inline __attribute__((always_inline)) void write_places(cdna_wave *w, const cdna_op *op,
                                                               const uint32_t offset[2], int places, int n) {
  const uint32_t bytes = 4u * (uint32_t)n;
  uint32_t a[2][CDNA_LANES];
  uint32_t(*const data[2])[CDNA_LANES] = {&w->v[op->s[1].code], &w->v[op->s[places].code]};
  bool inside = true;
  for (int place = 0; place < places; place++) inside &= are_all_inside(w, op, offset[place], bytes, a[place]);
  const cdna_places to[2] = {{.base = w->group->lds, .at = a[0]}, {.base = w->group->lds, .at = a[1]}};
  if (inside) cdna_store_places(to, data, places, n);
  EACH_LANE(inside ? 0 : lanes_on(w)) {
    for (int place = 0; place < places; place++) {
      uint8_t *at = reach(w, a[place][l], bytes, "writes", l);
      if (!at) return;
      for (int k = 0; k < n; k++) memcpy(at + 4 * k, &data[place][k][l], 4);
    }
  }
}

/* 1 to 4 dwords. */
OP(read_dwords) {
  const uint32_t offset[2] = {(uint32_t)op->imm & 0xFFFF, 0};
  switch (op->d_width) {
  case 1: read_places(w, op, offset, 1, 1); break;
  case 2: read_places(w, op, offset, 1, 2); break;
  case 3: read_places(w, op, offset, 1, 3); break;
  default: read_places(w, op, offset, 1, 4); break;
  }
}
OP(write_dwords) {
  const uint32_t offset[2] = {(uint32_t)op->imm & 0xFFFF, 0};
  switch (op->s[1].width) {
  case 1: write_places(w, op, offset, 1, 1); break;
  case 2: write_places(w, op, offset, 1, 2); break;
  case 3: write_places(w, op, offset, 1, 3); break;
  default: write_places(w, op, offset, 1, 4); break;
  }
}

/* Two places of 4 or 8 bytes. */
OP(read_two) {
  const uint32_t offset[2] = {offset_of(op, 0), offset_of(op, 1)};
  if (op->bytes == 4)
    read_places(w, op, offset, 2, 1);
  else
    read_places(w, op, offset, 2, 2);
}
OP(write_two) {
  const uint32_t offset[2] = {offset_of(op, 0), offset_of(op, 1)};
  if (op->bytes == 4)
    write_places(w, op, offset, 2, 1);
  else
    write_places(w, op, offset, 2, 2);
}

/* One or two bytes: extended, or written to one half of a register; the other half is kept. */
OP(read_small) {
  EACH_LANE(lanes_on(w)) {
    const uint8_t *from = reach(w, w->v[op->s[0].code][l] + ((uint32_t)op->imm & 0xFFFF), op->bytes, "reads", l);
    if (!from) return;
    uint32_t v = from[0];
    if (op->bytes == 2) v |= (uint32_t)from[1] << 8;
    if (op->flags & SIGNED) v = (uint32_t)(op->bytes == 1 ? (int32_t)(int8_t)v : (int32_t)(int16_t)v);
    uint32_t *d = &w->v[op->d][l];
    if (op->flags & D16)
      *d = op->flags & HIGH ? (*d & 0xFFFF) | v << 16 : (*d & 0xFFFF0000u) | (v & 0xFFFF);
    else
      *d = v;
  }
}
OP(write_small) {
  const uint32_t *data = w->v[op->s[1].code];
  const int shift = op->flags & HIGH ? 16 : 0;
  uint32_t a[CDNA_LANES];
  const bool inside = are_all_inside(w, op, (uint32_t)op->imm & 0xFFFF, op->bytes, a);
  for (int l = 0; l < CDNA_LANES && inside && op->bytes == 2; l++)
    memcpy(w->group->lds + a[l], &(uint16_t){(uint16_t)(data[l] >> shift)}, 2);
  EACH_LANE(inside && op->bytes == 2 ? 0 : lanes_on(w)) {
    uint8_t *to = reach(w, a[l], op->bytes, "writes", l);
    if (!to) return;
    const uint32_t v = data[l] >> shift;
    memcpy(to, &v, op->bytes);
  }
}

/* ---- read, change, write ---- */

/* Looks up the part of the name after "ds_" and "rtn_", 32 and 64 bits. */
static const struct {
  const char *name;
  uint8_t bytes;
  cdna_change *change;
} changes[] = {
    {"add_u32", 4, change_add},
    {"sub_u32", 4, change_sub},
    {"rsub_u32", 4, change_rsub},
    {"inc_u32", 4, change_inc32},
    {"dec_u32", 4, change_dec32},
    {"min_i32", 4, change_min_i32},
    {"max_i32", 4, change_max_i32},
    {"min_u32", 4, change_min_u32},
    {"max_u32", 4, change_max_u32},
    {"and_b32", 4, change_and},
    {"or_b32", 4, change_or},
    {"xor_b32", 4, change_xor},
    {"mskor_b32", 4, change_mskor},
    {"wrxchg_b32", 4, change_swap},
    {"cmpst_b32", 4, change_cmpst32},
    {"cmpst_f32", 4, change_cmpst32},
    {"min_f32", 4, change_min_f32},
    {"max_f32", 4, change_max_f32},
    {"add_f32", 4, change_add_f32},
    {"add_u64", 8, change_add},
    {"sub_u64", 8, change_sub},
    {"rsub_u64", 8, change_rsub},
    {"inc_u64", 8, change_inc64},
    {"dec_u64", 8, change_dec64},
    {"min_i64", 8, change_min_i64},
    {"max_i64", 8, change_max_i64},
    {"min_u64", 8, change_min_u64},
    {"max_u64", 8, change_max_u64},
    {"and_b64", 8, change_and},
    {"or_b64", 8, change_or},
    {"xor_b64", 8, change_xor},
    {"mskor_b64", 8, change_mskor},
    {"wrxchg_b64", 8, change_swap},
    {"cmpst_b64", 8, change_cmpst64},
    {"cmpst_f64", 8, change_cmpst64},
    {"min_f64", 8, change_min_f64},
    {"max_f64", 8, change_max_f64},
    {"add_f64", 8, change_add_f64},
    {"wrap_b32", 4, change_wrap},
    {"condxchg32_b64", 8, change_condxchg},
    {"pk_add_f16", 4, change_pk_add_f16},
    {"pk_add_bf16", 4, change_pk_add_bf16},
};

static uint64_t data_of(const cdna_wave *w, const cdna_source *s, int lane) {
  if (s->kind != CDNA_ROW) return 0;
  return w->v[s->code][lane] | (s->width == 2 ? (uint64_t)w->v[s->code + 1][lane] << 32 : 0);
}

OP(atomic) {
  cdna_change *const *run = op->more;
  EACH_LANE(lanes_on(w)) {
    uint8_t *at = reach(w, w->v[op->s[0].code][l] + ((uint32_t)op->imm & 0xFFFF), op->bytes, "changes", l);
    if (!at) return;
    uint64_t old = 0;
    memcpy(&old, at, op->bytes);
    const uint64_t new = (*run)(old, data_of(w, &op->s[1], l), data_of(w, &op->s[2], l));
    memcpy(at, &new, op->bytes);
    if (op->flags & RETURNS)
      for (int k = 0; k < op->bytes / 4; k++) w->v[op->d + k][l] = (uint32_t)(old >> 32 * k);
  }
}

/* Two exchanges. */
OP(exchange_two) {
  const int n = op->bytes / 4;
  uint32_t a[CDNA_LANES];
  memcpy(a, w->v[op->s[0].code], sizeof a);
  EACH_LANE(lanes_on(w)) {
    uint32_t old[4];
    for (int part = 0; part < 2; part++) {
      uint8_t *at = reach(w, a[l] + offset_of(op, part), op->bytes, "changes", l);
      if (!at) return;
      memcpy(&old[part * n], at, op->bytes);
      for (int k = 0; k < n; k++) memcpy(at + 4 * k, &w->v[op->s[1 + part].code + k][l], 4);
    }
    for (int k = 0; k < 2 * n; k++) w->v[op->d + k][l] = old[k];
  }
}

/* A counter at M0's upper half plus the offset: the number of active lanes is added or subtracted. */
static void count_lanes(cdna_wave *w, const cdna_op *op, bool up) {
  const uint64_t exec = lanes_on(w);
  const uint32_t n = (uint32_t)__builtin_popcountll(exec);
  uint8_t *at = reach(w, (w->s[CDNA_M0] >> 16) + ((uint32_t)op->imm & 0xFFFF), 4, "changes", 0);
  uint32_t old;
  if (!at) return;
  memcpy(&old, at, 4);
  const uint32_t new = up ? old + n : old - n;
  memcpy(at, &new, 4);
  EACH_LANE(exec) w->v[op->d][l] = old;
}
OP(ds_append) { count_lanes(w, op, true); }
OP(ds_consume) { count_lanes(w, op, false); }

/* Consecutive lanes, from M0 plus the offset on. */
OP(ds_read_addtid_b32) {
  EACH_LANE(lanes_on(w)) {
    const uint8_t *from =
        reach(w, (w->s[CDNA_M0] & 0xFFFF) + ((uint32_t)op->imm & 0xFFFF) + 4u * (uint32_t)l, 4, "reads", l);
    if (!from) return;
    memcpy(&w->v[op->d][l], from, 4);
  }
}
OP(ds_write_addtid_b32) {
  EACH_LANE(lanes_on(w)) {
    uint8_t *to = reach(w, (w->s[CDNA_M0] & 0xFFFF) + ((uint32_t)op->imm & 0xFFFF) + 4u * (uint32_t)l, 4, "writes", l);
    if (!to) return;
    memcpy(to, &w->v[op->s[1].code][l], 4);
  }
}

/* ---- lanes ---- */

OP(ds_bpermute_b32) {
  uint32_t from[CDNA_LANES], a[CDNA_LANES];
  const uint64_t exec = lanes_on(w);
  memcpy(from, w->v[op->s[1].code], sizeof from);
  memcpy(a, w->v[op->s[0].code], sizeof a);
  EACH_LANE(exec) {
    const int lane = (int)((a[l] + ((uint32_t)op->imm & 0xFFFF)) >> 2 & 63);
    w->v[op->d][l] = exec >> lane & 1 ? from[lane] : 0;
  }
}
OP(ds_permute_b32) {
  uint32_t to[CDNA_LANES] = {0};
  EACH_LANE(lanes_on(w))
  to[(w->v[op->s[0].code][l] + ((uint32_t)op->imm & 0xFFFF)) >> 2 & 63] = w->v[op->s[1].code][l];
  EACH_LANE(lanes_on(w)) w->v[op->d][l] = to[l];
}
/* The lane that lane i reads, of its 32. From 0xE000 on, bits are reversed for an FFT. From 0xC000 on, lanes are
 * rotated within the unmasked bits of their number. From 0x8000 on, each four are permuted. Otherwise and, or, xor. */
static int swizzled(int i, uint32_t o) {
  const int mask = (int)(o & 31);
  if (o >= 0xE000) {
    int reversed = 0;
    for (int b = 0; b < 5; b++) reversed |= (i >> b & 1) << (4 - b);
    return reversed >> __builtin_popcount((unsigned)mask) | (i & mask);
  }
  if (o >= 0xC000) {
    const int by = (int)(o >> 5 & 31);
    return (i & mask) | ((o >> 10 & 1 ? i - by : i + by) & 31 & ~mask);
  }
  if (o >= 0x8000) return (i & ~3) | (int)(o >> 2 * (i & 3) & 3);
  return ((i & mask) | (int)(o >> 5 & 31)) ^ (int)(o >> 10 & 31);
}
OP(ds_swizzle_b32) {
  uint32_t from[CDNA_LANES];
  const uint64_t exec = lanes_on(w);
  const uint32_t o = (uint32_t)op->imm & 0xFFFF;
  memcpy(from, w->v[op->s[0].code], sizeof from);
  EACH_LANE(exec) {
    const int lane = (l & 32) | swizzled(l & 31, o);
    w->v[op->d][l] = exec >> lane & 1 ? from[lane] : 0;
  }
}

/* Transposing reads of CDNA4: in each 16 lanes, lane d gets item n from where source lane (4n + d/4) begins, item
 * d%4 ...
 * for 16-bit items: halfword n of lane d = halfword (d & 3) of source lane 4n + (d >> 2 & 3). Others by the same rule:
 * the 16 lanes read 16 rows of 64 (or 96) bits as a matrix of items and get its columns. */
static inline __attribute__((always_inline)) void transpose(cdna_wave *w, const cdna_op *op, int bits) {
  const int width = bits == 6 ? 96 : 64, items = width / bits, dwords = width / 32;
  const int lanes_of_row = 16 / items; /* a row has 16 items */
  const uint32_t mask = (1u << bits) - 1;
  uint64_t row[CDNA_LANES][2] = {{0}}; /* 64 bits, or 48 and 48, so that items are whole */
  EACH_LANE(lanes_on(w)) {
    const uint8_t *from =
        reach(w, w->v[op->s[0].code][l] + ((uint32_t)op->imm & 0xFFFF), (uint32_t)width / 8, "reads", l);
    if (!from) return;
    memcpy(&row[l][0], from, bits == 6 ? 6 : 8);
    if (bits == 6) memcpy(&row[l][1], from + 6, 6);
  }
  EACH_LANE(lanes_on(w)) {
    uint64_t out[2] = {0};
    const int d = l & 15, at = (l & ~15) + d / items, item = d % items, half = bits == 6 ? 8 : 16;
    for (int n = 0; n < items; n++) {
      const uint64_t v = row[at + lanes_of_row * n][item / half] >> item % half * bits & mask;
      out[n / half] |= v << n % half * bits;
    }
    if (bits == 6) {
      out[0] |= out[1] << 48;
      out[1] >>= 16;
    }
    for (int k = 0; k < dwords; k++) w->v[op->d + k][l] = (uint32_t)(out[k / 2] >> 32 * (k % 2));
  }
}
OP(read_transposed) { /* a loop for each number of bits of an item */
  switch (op->bytes) {
  case 4: transpose(w, op, 4); break;
  case 6: transpose(w, op, 6); break;
  case 8: transpose(w, op, 8); break;
  default: transpose(w, op, 16);
  }
}
OP(ds_nop) {
  (void)w;
  (void)op;
}

/* ---- for observers ---- */

bool cdna_lds_access(const cdna_wave *w, const cdna_op *op, cdna_access *out) {
  const bool modifies = op->run == atomic || op->run == exchange_two || op->run == ds_append || op->run == ds_consume;
  const bool by_lane = op->run == ds_read_addtid_b32 || op->run == ds_write_addtid_b32;
  const uint64_t exec = lanes_on(w);
  const uint32_t immediate = (uint32_t)op->imm & 0xFFFF;
  cdna_access_begin(out);
  out->reads = modifies || op->run == read_dwords || op->run == read_two || op->run == read_small ||
               op->run == read_transposed || op->run == ds_read_addtid_b32;
  out->writes = modifies || op->run == write_dwords || op->run == write_two || op->run == write_small ||
                op->run == ds_write_addtid_b32;
  out->parts = 1;
  out->bytes = op->run == read_transposed ? (op->bytes == 6 ? 12 : 8)
               : op->run == read_dwords   ? (uint8_t)(4 * op->d_width)
               : op->run == write_dwords  ? (uint8_t)(4 * op->s[1].width)
                                          : op->bytes;
  out->lanes[CDNA_IN_LDS] = exec;
  if (by_lane) {
    EACH_LANE(exec) out->address[0][l] = (w->s[CDNA_M0] & 0xFFFF) + immediate + 4u * (uint32_t)l;
    return true;
  }
  if (op->run == ds_append || op->run == ds_consume) {
    out->lanes[CDNA_IN_LDS] = exec & -exec;
    EACH_LANE(exec & -exec) out->address[0][l] = (w->s[CDNA_M0] >> 16) + immediate;
    return true;
  }
  if (!out->reads && !out->writes) return false; /* moves lanes through the crossbar without accessing memory */
  const bool two = op->flags & TWO && op->run != atomic;
  const uint32_t *a = w->v[op->s[0].code];
  out->parts = two ? 2 : 1;
  for (int part = 0; part < out->parts; part++) {
    const uint32_t offset = two ? offset_of(op, part) : immediate;
    for (int l = 0; l < CDNA_LANES; l++) out->address[part][l] = a[l] + offset;
  }
  return true;
}

static const struct entry {
  const char *name;
  cdna_handler *run;
  uint8_t bytes;
  uint32_t flags;
} entries[] = {
    {"ds_read_b32", read_dwords, 4, 0},
    {"ds_read_b64", read_dwords, 8, 0},
    {"ds_read_b96", read_dwords, 12, 0},
    {"ds_read_b128", read_dwords, 16, 0},
    {"ds_write_b32", write_dwords, 4, 0},
    {"ds_write_b64", write_dwords, 8, 0},
    {"ds_write_b96", write_dwords, 12, 0},
    {"ds_write_b128", write_dwords, 16, 0},
    {"ds_read2_b32", read_two, 4, TWO},
    {"ds_read2st64_b32", read_two, 4, TWO | STRIDE64},
    {"ds_read2_b64", read_two, 8, TWO},
    {"ds_read2st64_b64", read_two, 8, TWO | STRIDE64},
    {"ds_write2_b32", write_two, 4, TWO},
    {"ds_write2st64_b32", write_two, 4, TWO | STRIDE64},
    {"ds_write2_b64", write_two, 8, TWO},
    {"ds_write2st64_b64", write_two, 8, TWO | STRIDE64},
    {"ds_read_u8", read_small, 1, 0},
    {"ds_read_i8", read_small, 1, SIGNED},
    {"ds_read_u16", read_small, 2, 0},
    {"ds_read_i16", read_small, 2, SIGNED},
    {"ds_read_u8_d16", read_small, 1, D16},
    {"ds_read_u8_d16_hi", read_small, 1, D16 | HIGH},
    {"ds_read_i8_d16", read_small, 1, D16 | SIGNED},
    {"ds_read_i8_d16_hi", read_small, 1, D16 | HIGH | SIGNED},
    {"ds_read_u16_d16", read_small, 2, D16},
    {"ds_read_u16_d16_hi", read_small, 2, D16 | HIGH},
    {"ds_write_b8", write_small, 1, 0},
    {"ds_write_b16", write_small, 2, 0},
    {"ds_write_b8_d16_hi", write_small, 1, HIGH},
    {"ds_write_b16_d16_hi", write_small, 2, HIGH},
    {"ds_bpermute_b32", ds_bpermute_b32, 4, 0},
    {"ds_permute_b32", ds_permute_b32, 4, 0},
    {"ds_swizzle_b32", ds_swizzle_b32, 4, 0},
    {"ds_read_b64_tr_b16", read_transposed, 16, 0},
    {"ds_read_b64_tr_b8", read_transposed, 8, 0},
    {"ds_read_b64_tr_b4", read_transposed, 4, 0},
    {"ds_read_b96_tr_b6", read_transposed, 6, 0},
    {"ds_wrxchg2_rtn_b32", exchange_two, 4, TWO},
    {"ds_wrxchg2st64_rtn_b32", exchange_two, 4, TWO | STRIDE64},
    {"ds_wrxchg2_rtn_b64", exchange_two, 8, TWO},
    {"ds_wrxchg2st64_rtn_b64", exchange_two, 8, TWO | STRIDE64},
    {"ds_append", ds_append, 4, 0},
    {"ds_consume", ds_consume, 4, 0},
    {"ds_read_addtid_b32", ds_read_addtid_b32, 4, 0},
    {"ds_write_addtid_b32", ds_write_addtid_b32, 4, 0},
    {"ds_nop", ds_nop, 0, 0},
};

static bool find_change(const char *name, cdna_op *op) {
  name += 3;
  const char *rtn = strstr(name, "_rtn");
  char plain[40];
  if (strlen(name) >= sizeof plain) return false;
  if (rtn)
    snprintf(plain, sizeof plain, "%.*s%s", (int)(rtn - name), name, rtn + 4);
  else
    snprintf(plain, sizeof plain, "%s", name);
  for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
    if (strcmp(changes[k].name, plain)) continue;
    op->run = atomic;
    op->more = &changes[k].change;
    op->bytes = changes[k].bytes;
    op->flags = rtn ? RETURNS : 0;
    return true;
  }
  return false;
}

bool cdna_lower_lds(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (i->encoding != CDNA_DS) return false;
  for (size_t e = 0; e < sizeof entries / sizeof *entries; e++) {
    if (strcmp(entries[e].name, i->name)) continue;
    op->run = entries[e].run;
    op->bytes = entries[e].bytes;
    op->flags = entries[e].flags;
  }
  if (!op->run && !find_change(i->name, op)) return false;
  if (cdna_bits(c->bits, 16, 1)) {
    op->why = "addresses GDS, which this machine does not have";
    return false;
  }
  const cdna_operand_form *d = cdna_find_field(i, 'D');
  if (d) {
    op->d = (uint16_t)(cdna_operand_code(c, d) - CDNA_VGPRS);
    op->d_width = d->width;
  }
  static const char fields[] = "AWX";
  for (int n = 0; n < 3; n++) {
    const cdna_operand_form *s = cdna_find_field(i, fields[n]);
    if (s) cdna_lower_source(p, c, s, &op->s[n]);
  }
  op->imm = (int32_t)cdna_bits(c->bits, 0, 16);
  return true;
}
