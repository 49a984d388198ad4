/* vmem.c - vector memory: FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF; loads, stores, atomics, and loads that go to LDS. */
#include <string.h>

#include "target/cdna/emulator/changes.h"
#include "target/cdna/emulator/format.h"
#include "target/cdna/emulator/observe.h"
#include "target/cdna/emulator/places.h"

typedef enum access_kind { LOAD, STORE, ATOMIC, LOAD_LDS, NOTHING } access_kind;

/* op->flags: the access, the conversion of its bytes, and the kind of address */
enum {
  KIND = 7,
  SIGNED = 8,
  D16 = 16,
  HIGH = 32,
  RETURNS = 64,
  /* FLAT and its kin */
  HAS_ADDRESS = 128, /* s[0] is a VGPR */
  HAS_BASE = 256,    /* s[2] is a scalar */
  SCRATCH = 512,
  APERTURES = 1024, /* an address may be LDS or scratch */
  /* buffers */
  OFFEN = 2048,
  IDXEN = 4096,
  OWN_FORMAT = 8192, /* MTBUF: imm bits 12 to 15 are DFMT, 16 to 18 NFMT */
};

/* ---- one lane's bytes ---- */

static uint64_t data_of(const cdna_wave *w, int row, int lane, int bytes) {
  return w->v[row][lane] | (bytes == 8 ? (uint64_t)w->v[row + 1][lane] << 32 : 0);
}

static void load_lane(cdna_wave *w, const cdna_op *op, const uint8_t *from, int l) {
  if (op->bytes >= 4) {
    for (int k = 0; k < op->bytes / 4; k++) memcpy(&w->v[op->d + k][l], from + 4 * k, 4);
    return;
  }
  uint32_t v = from[0];
  if (op->bytes == 2) v |= (uint32_t)from[1] << 8;
  if (op->flags & SIGNED) v = (uint32_t)(op->bytes == 1 ? (int32_t)(int8_t)v : (int32_t)(int16_t)v);
  uint32_t *d = &w->v[op->d][l];
  if (op->flags & D16)
    *d = op->flags & HIGH ? (*d & 0xFFFF) | v << 16 : (*d & 0xFFFF0000u) | (v & 0xFFFF);
  else
    *d = v;
}

static void store_lane(cdna_wave *w, const cdna_op *op, uint8_t *to, int l) {
  const int row = op->s[1].code;
  if (op->bytes >= 4) {
    for (int k = 0; k < op->bytes / 4; k++) memcpy(to + 4 * k, &w->v[row + k][l], 4);
    return;
  }
  const uint32_t v = w->v[row][l] >> (op->flags & HIGH ? 16 : 0);
  memcpy(to, &v, op->bytes);
}

static void change_lane(cdna_wave *w, const cdna_op *op, uint8_t *at, int l) {
  cdna_change *const *run = op->more;
  uint64_t old = 0;
  memcpy(&old, at, op->bytes);
  const int row = op->s[1].code;
  const uint64_t new = (*run)(old, data_of(w, row, l, op->bytes),
                              op->s[1].width * 4 > op->bytes ? data_of(w, row + op->bytes / 4, l, op->bytes) : 0);
  memcpy(at, &new, op->bytes);
  if (op->flags & RETURNS)
    for (int k = 0; k < op->bytes / 4; k++) w->v[op->d + k][l] = (uint32_t)(old >> 32 * k);
}

/* The LDS address of a lane's bytes for a load to LDS: M0 plus the offset, then lane by lane. A byte or short takes a
 * dword. Three dwords take the place of four (HipKittens, appendix F; so does ROCm/rocm-libraries, pull request 6250). */
static uint32_t lds_address(const cdna_wave *w, const cdna_op *op, uint32_t offset, int lane) {
  const uint32_t place = op->bytes < 4 ? 4 : op->bytes == 12 ? 16 : op->bytes;
  return (w->s[CDNA_M0] & 0x3FFFFu) + offset + place * (uint32_t)lane;
}

static uint8_t *lds_place(cdna_wave *w, const cdna_op *op, int offset, int lane) {
  const cdna_group *g = w->group;
  const uint32_t size = op->bytes < 4 ? 4 : op->bytes, address = lds_address(w, op, (uint32_t)offset, lane);
  if (address < g->lds_bytes && size <= g->lds_bytes - address) return g->lds + address;
  if (g->unbounded) return cdna_nowhere(w);
  cdna_stop(w, "lane %d writes %u bytes of LDS at %u (M0 = %u): " CDNA_HAS_LDS, lane, size, address, w->s[CDNA_M0],
            g->lds_bytes);
  return NULL;
}

static void lds_lane(cdna_wave *w, const cdna_op *op, const uint8_t *from, uint8_t *to) {
  uint32_t v;
  (void)w;
  switch (op->bytes) {
  case 1: v = op->flags & SIGNED ? (uint32_t)(int32_t)(int8_t)from[0] : from[0]; break;
  case 2:
    v = from[0] | (uint32_t)from[1] << 8;
    if (op->flags & SIGNED) v = (uint32_t)(int32_t)(int16_t)v;
    break;
  default: memcpy(to, from, op->bytes); return;
  }
  memcpy(to, &v, 4);
}

static bool access_lane(cdna_wave *w, const cdna_op *op, uint8_t *at, int l, int lds_offset) {
  switch ((access_kind)(op->flags & KIND)) {
  case LOAD: load_lane(w, op, at, l); return true;
  case STORE: store_lane(w, op, at, l); return true;
  case ATOMIC: change_lane(w, op, at, l); return true;
  case LOAD_LDS: {
    uint8_t *to = lds_place(w, op, lds_offset, l);
    if (to) lds_lane(w, op, at, to);
    return to;
  }
  default: return true;
  }
}

/* ---- whole dwords ---- */

/* cdna_reach, without a call in the usual case: the allocation that the wave used last. */
static inline uint8_t *reach_near(cdna_wave *w, uint64_t address, uint32_t bytes, bool write, int lane) {
  const cdna_allocation *a = w->last;
  const uint64_t at = a ? address - a->address : 0;
  if (a && at < a->size && bytes <= a->size - at && (!write || (a->writable && !a->held))) return a->data + at;
  return cdna_reach(w, address, bytes, write, lane);
}

/* The bytes that all lanes access, if they are in the allocation that the wave used last. */
static inline bool find_near(const cdna_wave *w, uint64_t base, const uint64_t at[CDNA_LANES], uint32_t bytes,
                             bool write, cdna_places *out) {
  const cdna_allocation *a = w->last;
  if (!a || a->size < bytes || (write && (!a->writable || a->held))) return false;
  const uint64_t shift = base - a->address, last = a->size - bytes;
  uint64_t outside = 0; /* sizes are below 2^63: signs tell which is less */
  for (int l = 0; l < CDNA_LANES; l++) outside |= (at[l] + shift) | (last - (at[l] + shift));
  *out = (cdna_places){.base = (uint8_t *)((uintptr_t)a->data + shift), .far_at = at};
  return !(outside >> 63);
}

/* Loads and stores of n dwords of each lane. Constant arguments: a loop for each. Lanes that are not `inside` load 0 and
 * store nothing. */
static inline __attribute__((always_inline)) void access_dwords(cdna_wave *w, const cdna_op *op, access_kind kind,
                                                                uint64_t exec, uint64_t inside, uint64_t base,
                                                                const uint64_t at[CDNA_LANES], int n) {
  static const uint8_t zero[16];
  uint32_t(*v)[CDNA_LANES] = kind == STORE ? &w->v[op->s[1].code] : &w->v[op->d];
  cdna_places near;
  if ((exec & inside) == ~0ull && find_near(w, base, at, 4u * (uint32_t)n, kind == STORE, &near)) {
    if (kind == STORE)
      cdna_store_places(&near, (uint32_t(*const[])[CDNA_LANES]){v}, 1, n);
    else
      cdna_load_places(&near, v, n);
    return;
  }
  EACH_LANE(kind == STORE ? exec & inside : exec) {
    uint8_t *p =
        inside >> l & 1 ? reach_near(w, base + at[l], 4u * (uint32_t)n, kind == STORE, l) : (uint8_t *)(uintptr_t)zero;
    if (!p) return;
    for (int k = 0; k < n; k++)
      if (kind == STORE)
        memcpy(p + 4 * k, &v[k][l], 4);
      else
        memcpy(&v[k][l], p + 4 * k, 4);
  }
}
static inline __attribute__((always_inline)) void access_words(cdna_wave *w, const cdna_op *op, access_kind kind,
                                                               uint64_t exec, uint64_t inside, uint64_t base,
                                                               const uint64_t at[CDNA_LANES]) {
  switch (op->bytes) {
  case 4: access_dwords(w, op, kind, exec, inside, base, at, 1); break;
  case 8: access_dwords(w, op, kind, exec, inside, base, at, 2); break;
  case 12: access_dwords(w, op, kind, exec, inside, base, at, 3); break;
  default: access_dwords(w, op, kind, exec, inside, base, at, 4);
  }
}
/* False: not a load or store of whole dwords. */
static bool run_words(cdna_wave *w, const cdna_op *op, uint64_t exec, uint64_t inside, uint64_t base,
                      const uint64_t at[CDNA_LANES]) {
  const access_kind kind = (access_kind)(op->flags & KIND);
  if (op->bytes < 4) return false;
  if (kind == LOAD)
    access_words(w, op, LOAD, exec, inside, base, at);
  else if (kind == STORE)
    access_words(w, op, STORE, exec, inside, base, at);
  return kind == LOAD || kind == STORE;
}

/* ---- FLAT, GLOBAL, SCRATCH ---- */

static uint8_t *scratch_place(cdna_wave *w, uint32_t offset, uint32_t bytes, int lane) {
  if (offset < w->scratch_bytes && bytes <= w->scratch_bytes - offset)
    return w->scratch + (size_t)lane * w->scratch_bytes + offset;
  if (w->group->unbounded) return cdna_nowhere(w);
  cdna_stop(w, "lane %d accesses %u bytes of scratch at %u; the kernel has %u bytes per lane", lane, bytes, offset,
            w->scratch_bytes);
  return NULL;
}

static uint8_t *aperture_place(cdna_wave *w, const cdna_op *op, uint64_t address, bool write, int l) {
  const cdna_group *g = w->group;
  if (address >> 32 == 2u << 16) return scratch_place(w, (uint32_t)address, op->bytes, l);
  if (address >> 32 != 1u << 16) return cdna_reach(w, address, op->bytes, write, l);
  const uint32_t offset = (uint32_t)address;
  if (offset < g->lds_bytes && op->bytes <= g->lds_bytes - offset) return g->lds + offset;
  if (g->unbounded) return cdna_nowhere(w);
  cdna_stop(w, "lane %d accesses %u bytes of LDS at %u: " CDNA_HAS_LDS, l, op->bytes, offset, g->lds_bytes);
  return NULL;
}

static void flat_addresses(const cdna_wave *w, const cdna_op *op, uint64_t address[CDNA_LANES]) {
  const uint64_t base = op->flags & HAS_BASE ? cdna_read(w, &op->s[2]) : 0, offset = (uint64_t)(int64_t)op->imm;
  const bool wide = op->s[0].width == 2;
  if (op->flags & HAS_ADDRESS) {
    const uint32_t *low = w->v[op->s[0].code], *high = w->v[op->s[0].code + wide];
    for (int l = 0; l < CDNA_LANES; l++) address[l] = base + offset + low[l] + (wide ? (uint64_t)high[l] << 32 : 0);
  } else {
    for (int l = 0; l < CDNA_LANES; l++) address[l] = base + offset;
  }
}

static uint64_t enabled(const cdna_wave *w) { return w->mode & CDNA_MODE_SKIP ? 0 : cdna_exec(w); }

static void run_flat(cdna_wave *w, const cdna_op *op) {
  const bool write = (op->flags & KIND) == STORE || (op->flags & KIND) == ATOMIC;
  uint64_t address[CDNA_LANES]; /* computed before any result is written, because results may overwrite the addresses */
  flat_addresses(w, op, address);
  if (!(op->flags & (SCRATCH | APERTURES)) && run_words(w, op, enabled(w), ~0ull, 0, address)) return;
  EACH_LANE(enabled(w)) {
    uint8_t *at = op->flags & SCRATCH     ? scratch_place(w, (uint32_t)address[l], op->bytes, l)
                  : op->flags & APERTURES ? aperture_place(w, op, address[l], write, l)
                                          : cdna_reach(w, address[l], op->bytes, write, l);
    if (!at || !access_lane(w, op, at, l, (op->flags & KIND) == LOAD_LDS ? op->imm : 0)) return;
  }
}

/* ---- buffers ---- */

typedef struct resource {
  uint64_t base;
  uint32_t stride, records;
  bool swizzled;
  uint32_t index_stride, element_size;
  bool add_lane;
} resource;

static resource resource_of(const cdna_wave *w, const cdna_op *op) {
  const uint32_t *v = &w->s[op->s[2].code];
  return (resource){.base = v[0] | (uint64_t)(v[1] & 0xFFFF) << 32,
                    .stride = v[1] >> 16 & 0x3FFF,
                    .swizzled = v[1] >> 31,
                    .records = v[2],
                    .element_size = 2u << (v[3] >> 19 & 3),
                    .index_stride = 8u << (v[3] >> 21 & 3),
                    .add_lane = v[3] >> 23 & 1};
}

/* Offsets of the lanes' bytes from the base, and the lanes that are in range. */
typedef struct buffer_places {
  uint64_t base, at[CDNA_LANES];
  uint64_t inside, partly; /* lanes in range; lanes partly in range: checked dword by dword */
  uint32_t records;
} buffer_places;

/* The rules of the ISA documents, "Buffer address calculation" and "Range checking": raw buffers (no stride, or
 * accessed without index) count bytes, structured ones records. Accesses out of range read 0 and write nothing.
 * Swizzling applies only to indices. HipKittens and Triton set the bit, with a stride, for accesses by offset only,
 * which far exceed the stride, and their results are right on MI355X (analysis/bf16_gemm/mi350x and attn/fwd of
 * HipKittens, sizes whose rows are not a multiple of 16 KiB). */
static void buffer_addresses(const cdna_wave *w, const cdna_op *op, uint64_t exec, uint32_t bytes, buffer_places *out) {
  const resource r = resource_of(w, op);
  const uint32_t scalar = (uint32_t)cdna_read(w, &op->s[3]), immediate = (uint32_t)op->imm & 0xFFF;
  const bool indexed = op->flags & IDXEN, offset_given = op->flags & OFFEN;
  const bool swizzled = r.swizzled && r.stride && (indexed || r.add_lane);
  const bool structured = r.stride && (indexed || swizzled);
  out->base = r.base;
  out->records = r.records;
  out->inside = out->partly = 0;
  if (!swizzled && !structured && !indexed && !r.add_lane) { /* the usual case */
    const uint32_t *v = w->v[op->s[0].code], limit = r.records < bytes ? 0 : r.records - bytes + 1;
    EACH_LANE(exec) {
      const uint64_t at = (uint64_t)(uint32_t)(immediate + (offset_given ? v[l] : 0)) + scalar;
      out->at[l] = at;
      if (at < limit)
        out->inside |= 1ull << l;
      else if (bytes > 4 && at < r.records)
        out->partly |= 1ull << l;
    }
    return;
  }
  EACH_LANE(exec) {
    const uint32_t index = (indexed ? w->v[op->s[0].code][l] : 0) + (r.add_lane ? (uint32_t)l : 0);
    const uint32_t offset = immediate + (offset_given ? w->v[op->s[0].code + indexed][l] : 0);
    uint64_t at;
    bool inside;
    if (swizzled) {
      const uint32_t major = index / r.index_stride, minor = index % r.index_stride;
      const uint32_t block = offset / r.element_size, within = offset % r.element_size;
      at = (uint64_t)(major * r.stride + block * r.element_size) * r.index_stride + minor * r.element_size + within;
    } else {
      at = (uint64_t)index * r.stride + offset;
    }
    if (structured)
      inside = index < r.records && (!swizzled || offset < r.stride);
    else
      inside = at + scalar < r.records && bytes <= r.records - (at + scalar);
    out->at[l] = at + scalar;
    if (inside)
      out->inside |= 1ull << l;
    else if (!structured && bytes > 4 && at + scalar < r.records)
      out->partly |= 1ull << l; /* a part of the lane's bytes may be in range */
  }
}

static void run_buffer(cdna_wave *w, const cdna_op *op) {
  const uint32_t immediate = (uint32_t)op->imm & 0xFFF;
  const access_kind kind = op->flags & KIND;
  const bool write = kind == STORE || kind == ATOMIC;
  const uint64_t exec = enabled(w);
  buffer_places b; /* computed before any result is written, because results may overwrite the addresses */
  buffer_addresses(w, op, exec, op->bytes, &b);
  if (!b.partly && run_words(w, op, exec, b.inside, b.base, b.at)) return;
  EACH_LANE(exec) {
    const bool inside = b.inside >> l & 1;
    const uint64_t at = b.at[l];
    if (b.partly >> l & 1) {
      for (int k = 0; k < op->bytes / 4; k++) {
        const bool part = at + 4u * (uint32_t)k + 4 <= b.records;
        uint8_t *p = part ? cdna_reach(w, b.base + at + 4u * (uint32_t)k, 4, write, l) : NULL;
        if (part && !p) return;
        if (kind == LOAD) {
          uint32_t v = 0;
          if (p) memcpy(&v, p, 4);
          w->v[op->d + k][l] = v;
        } else if (kind == LOAD_LDS) {
          uint8_t *to = lds_place(w, op, (int)immediate, l);
          if (!to) return;
          memset(to + 4 * k, 0, 4);
          if (p) memcpy(to + 4 * k, p, 4);
        } else if (kind == STORE && p) {
          memcpy(p, &w->v[op->s[1].code + k][l], 4);
        }
      }
      continue;
    }
    static const uint8_t zero[16];
    if (!inside && write) {
      if (op->flags & RETURNS)
        for (int k = 0; k < op->bytes / 4; k++) w->v[op->d + k][l] = 0;
      continue;
    }
    uint8_t *p = inside ? cdna_reach(w, b.base + at, op->bytes, write, l) : (uint8_t *)(uintptr_t)zero;
    if (!p || !access_lane(w, op, p, l, (int)immediate)) return;
  }
}

/* ---- buffers with a format ---- */

/* MUBUF: the resource's format and selection of components; MTBUF: its own format, components in order. */
typedef struct typed {
  cdna_format format;
  uint8_t select[4]; /* 0, 1: that number; 4 to 7: X to W */
} typed;

static const char *format_of(const cdna_wave *w, const cdna_op *op, typed *out) {
  const uint32_t word = w->s[op->s[2].code + 3];
  const bool own = op->flags & OWN_FORMAT;
  for (int c = 0; c < 4; c++) out->select[c] = (uint8_t)(own ? 4u + (uint32_t)c : word >> 3 * c & 7);
  return own ? cdna_format_of((uint32_t)op->imm >> 12 & 15, (uint32_t)op->imm >> 16 & 7, &out->format)
             : cdna_format_of(word >> 15 & 15, word >> 12 & 7, &out->format);
}

static uint32_t component_of(const typed *t, const uint8_t *element, int c) {
  const int s = t->select[c];
  if (s >= 4) return cdna_format_load(&t->format, element, s - 4);
  return s != 1 ? 0 : cdna_format_is_integer(&t->format) ? 1 : tw_bits_of(1.0f);
}

/* Converts between a register's 32 bits and the 16 bits of D16. */
static uint32_t narrowed(const typed *t, uint32_t v) {
  return cdna_format_is_integer(&t->format) ? v & 0xFFFF : cdna_half_bits(tw_float_of(v));
}
static uint32_t widened(const typed *t, uint32_t half) {
  if (!cdna_format_is_integer(&t->format)) return tw_bits_of(cdna_half_value(half));
  return t->format.number == 5 ? (uint32_t)(int32_t)(int16_t)half : half;
}

static void load_components(cdna_wave *w, const cdna_op *op, const typed *t, const uint8_t *element, int l) {
  for (int c = 0; c < op->bytes; c++) {
    const uint32_t v = element ? component_of(t, element, c) : 0;
    uint32_t *d = &w->v[op->d + (op->flags & D16 ? c / 2 : c)][l];
    if (!(op->flags & D16))
      *d = v;
    else if (c & 1 || op->flags & HIGH)
      *d = (*d & 0xFFFF) | narrowed(t, v) << 16;
    else
      *d = (*d & 0xFFFF0000u) | narrowed(t, v);
  }
}

static void store_components(cdna_wave *w, const cdna_op *op, const typed *t, uint8_t *element, int l) {
  uint32_t value[4] = {0};
  for (int c = 0; c < op->bytes; c++) {
    const uint32_t v = w->v[op->s[1].code + (op->flags & D16 ? c / 2 : c)][l];
    value[c] = !(op->flags & D16) ? v : widened(t, c & 1 || op->flags & HIGH ? v >> 16 : v & 0xFFFF);
  }
  cdna_format_store(&t->format, element, value);
}

/* op->bytes counts components. */
static void run_typed(cdna_wave *w, const cdna_op *op) {
  typed t;
  buffer_places b;
  const uint64_t exec = enabled(w);
  const access_kind kind = op->flags & KIND;
  const char *why = format_of(w, op, &t);
  if (why) {
    cdna_stop(w, "this instruction %s", why);
    return;
  }
  buffer_addresses(w, op, exec, t.format.bytes, &b);
  EACH_LANE(exec) {
    uint8_t *element = NULL;
    if (b.inside >> l & 1 && t.format.components) {
      element = cdna_reach(w, b.base + b.at[l], t.format.bytes, kind == STORE, l);
      if (!element) return;
    }
    if (kind == LOAD) load_components(w, op, &t, element, l);
    if (kind == STORE && element) store_components(w, op, &t, element, l);
    if (kind != LOAD_LDS) continue;
    const uint32_t v = element ? component_of(&t, element, 0) : 0;
    uint8_t *to = lds_place(w, op, (int)((uint32_t)op->imm & 0xFFF), l);
    if (!to) return;
    memcpy(to, &v, 4);
  }
}

/* ---- for observers ---- */

static void flat_access(const cdna_wave *w, const cdna_op *op, uint64_t exec, cdna_access *out) {
  flat_addresses(w, op, out->address[0]);
  if (op->flags & SCRATCH) {
    out->lanes[CDNA_IN_SCRATCH] = exec;
  } else if (op->flags & APERTURES) {
    EACH_LANE(exec) {
      const uint64_t high = out->address[0][l] >> 32;
      const cdna_space space = high == 2u << 16 ? CDNA_IN_SCRATCH : high == 1u << 16 ? CDNA_IN_LDS : CDNA_IN_GLOBAL;
      out->lanes[space] |= 1ull << l;
    }
  } else {
    out->lanes[CDNA_IN_GLOBAL] = exec;
  }
  EACH_LANE(out->lanes[CDNA_IN_SCRATCH] | out->lanes[CDNA_IN_LDS]) out->address[0][l] &= 0xFFFFFFFFu;
}

bool cdna_vmem_access(const cdna_wave *w, const cdna_op *op, cdna_access *out) {
  const access_kind kind = op->flags & KIND;
  const uint64_t exec = enabled(w);
  typed t;
  uint32_t bytes = op->bytes;
  if (op->run != run_flat && op->run != run_buffer && op->run != run_typed) return false;
  if (op->run == run_typed) {
    if (format_of(w, op, &t) || !t.format.components) return false;
    bytes = t.format.bytes;
  }
  cdna_access_begin(out);
  out->reads = kind != STORE;
  out->writes = kind == STORE || kind == ATOMIC;
  out->to_lds = kind == LOAD_LDS;
  out->parts = 1;
  out->bytes = (uint8_t)bytes;
  if (op->run == run_flat) {
    flat_access(w, op, exec, out);
  } else {
    buffer_places b;
    buffer_addresses(w, op, exec, bytes, &b);
    out->lanes[CDNA_IN_GLOBAL] = b.inside | (op->run == run_typed ? 0 : b.partly);
    out->dropped = exec & ~b.inside;
    EACH_LANE(out->lanes[CDNA_IN_GLOBAL]) out->address[0][l] = b.base + b.at[l];
  }
  const uint32_t offset = op->run == run_flat ? (uint32_t)op->imm : (uint32_t)op->imm & 0xFFF;
  if (out->to_lds) EACH_LANE(exec) out->lds[l] = lds_address(w, op, offset, l);
  return true;
}

static void nothing(cdna_wave *w, const cdna_op *op) {
  (void)w;
  (void)op;
}

/* ---- decoding ---- */

/* Looks up the name after "global_", "flat_", "scratch_" or "buffer_". */
static const struct {
  const char *name;
  uint8_t bytes;
  uint32_t flags;
} accesses[] = {
    {"load_ubyte", 1, LOAD},
    {"load_sbyte", 1, LOAD | SIGNED},
    {"load_ushort", 2, LOAD},
    {"load_sshort", 2, LOAD | SIGNED},
    {"load_dword", 4, LOAD},
    {"load_dwordx2", 8, LOAD},
    {"load_dwordx3", 12, LOAD},
    {"load_dwordx4", 16, LOAD},
    {"load_ubyte_d16", 1, LOAD | D16},
    {"load_ubyte_d16_hi", 1, LOAD | D16 | HIGH},
    {"load_sbyte_d16", 1, LOAD | D16 | SIGNED},
    {"load_sbyte_d16_hi", 1, LOAD | D16 | HIGH | SIGNED},
    {"load_short_d16", 2, LOAD | D16},
    {"load_short_d16_hi", 2, LOAD | D16 | HIGH},
    {"store_byte", 1, STORE},
    {"store_byte_d16_hi", 1, STORE | HIGH},
    {"store_short", 2, STORE},
    {"store_short_d16_hi", 2, STORE | HIGH},
    {"store_dword", 4, STORE},
    {"store_dwordx2", 8, STORE},
    {"store_dwordx3", 12, STORE},
    {"store_dwordx4", 16, STORE},
    {"load_lds_ubyte", 1, LOAD_LDS},
    {"load_lds_sbyte", 1, LOAD_LDS | SIGNED},
    {"load_lds_ushort", 2, LOAD_LDS},
    {"load_lds_sshort", 2, LOAD_LDS | SIGNED},
    {"load_lds_dword", 4, LOAD_LDS},
    {"load_lds_dwordx3", 12, LOAD_LDS},
    {"load_lds_dwordx4", 16, LOAD_LDS},
};

/* Looks up the name after "..._atomic_". */
static const struct {
  const char *name;
  uint8_t bytes;
  cdna_change *change;
} changes[] = {
#define BOTH(name_, narrow_, wide_)                                                                                    \
  {name_, 4, change_##narrow_}, { name_ "_x2", 8, change_##wide_ }
    BOTH("swap", swap, swap),
    BOTH("cmpswap", cmpswap, cmpswap),
    BOTH("add", add, add),
    BOTH("sub", sub, sub),
    BOTH("smin", min_i32, min_i64),
    BOTH("smax", max_i32, max_i64),
    BOTH("umin", min_u32, min_u64),
    BOTH("umax", max_u32, max_u64),
    BOTH("and", and, and),
    BOTH("or", or, or),
    BOTH("xor", xor, xor),
    BOTH("inc", inc32, inc64),
    BOTH("dec", dec32, dec64),
    {"add_f32", 4, change_add_f32},
    {"add_f64", 8, change_add_f64},
    {"min_f64", 8, change_min_f64},
    {"max_f64", 8, change_max_f64},
    {"pk_add_f16", 4, change_pk_add_f16},
    {"pk_add_bf16", 4, change_pk_add_bf16},
#undef BOTH
};

cdna_change *cdna_memory_change(const char *name, uint8_t *bytes) {
  for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
    if (!strcmp(changes[k].name, name)) {
      *bytes = changes[k].bytes;
      return changes[k].change;
    }
  return NULL;
}

static bool find_access(const char *name, cdna_op *op) {
  if (!strncmp(name, "atomic_", 7)) {
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
      if (strcmp(changes[k].name, name + 7)) continue;
      op->more = &changes[k].change;
      op->bytes = changes[k].bytes;
      op->flags = ATOMIC;
      return true;
    }
    return false;
  }
  for (size_t k = 0; k < sizeof accesses / sizeof *accesses; k++) {
    if (strcmp(accesses[k].name, name)) continue;
    op->bytes = accesses[k].bytes;
    op->flags = accesses[k].flags;
    return true;
  }
  return false;
}

static void set_data(const cdna_code *c, cdna_program *p, cdna_op *op, char data) {
  const cdna_operand_form *d = cdna_find_field(c->instruction, 'D'), *w = cdna_find_field(c->instruction, data);
  if (w) cdna_lower_source(p, c, w, &op->s[1]);
  if (d) {
    op->d = (uint16_t)(cdna_operand_code(c, d) - CDNA_VGPRS);
    op->d_width = d->width;
  }
}

static bool lower_flat(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  const bool scratch = i->encoding == CDNA_SCRATCH, flat = i->encoding == CDNA_FLAT;
  if (!find_access(strchr(i->name, '_') + 1, op)) return false;
  const int saddr = (int)cdna_bits(c->bits, 48, 7);
  const bool has_base = !flat && saddr != 0x7F;
  set_data(c, p, op, 'W');
  if ((op->flags & KIND) == ATOMIC && cdna_bits(c->bits, 16, 1)) { /* sc0: returns the old value in vdst */
    const bool acc = cdna_bits(c->bits, 55, 1);
    op->flags |= RETURNS;
    op->d = (uint16_t)(cdna_bits(c->bits, 56, 8) + (acc ? CDNA_ACCUMULATION : 0));
    op->d_width = op->bytes / 4;
  }
  op->imm = (int32_t)(cdna_bits(c->bits, 0, flat ? 12 : 13) << 19) >> 19;
  if (flat) op->imm = (int32_t)cdna_bits(c->bits, 0, 12);
  if (!scratch || cdna_bits(c->bits, 13, 1)) {
    op->flags |= HAS_ADDRESS;
    op->s[0] = (cdna_source){
        .kind = CDNA_ROW, .width = scratch || has_base ? 1 : 2, .code = (uint16_t)cdna_bits(c->bits, 32, 8)};
  }
  if (scratch) op->imm = (int32_t)(cdna_bits(c->bits, 0, 13) << 19) >> 19;
  if (has_base) {
    op->flags |= HAS_BASE;
    op->s[2] = (cdna_source){.kind = CDNA_SCALAR, .width = scratch ? 1 : 2, .code = (uint16_t)saddr};
  }
  if (scratch) op->flags |= SCRATCH;
  if (flat) op->flags |= APERTURES;
  op->run = run_flat;
  return true;
}

/* "load_format_d16_xyz": the number of components, and their registers. */
static bool find_typed(const char *name, cdna_op *op) {
  const char *last = strrchr(name, '_') + 1;
  const bool store = !strncmp(name, "store_format_", 13);
  if (!store && strncmp(name, "load_format_", 12) != 0) return false;
  op->bytes = (uint8_t)strlen(last);
  op->flags = (store ? STORE : LOAD) | (strstr(name, "_d16_") ? D16 : 0u) | (strstr(name, "_hi_") ? HIGH : 0u);
  return true;
}

static bool lower_buffer(cdna_program *p, const cdna_code *c, cdna_op *op) {
  const cdna_instruction *i = c->instruction;
  if (!strncmp(i->name, "buffer_wb", 9) || !strncmp(i->name, "buffer_inv", 10)) {
    op->run = nothing;
    return true;
  }
  const bool own = i->encoding == CDNA_MTBUF, is_typed = find_typed(i->name + 7 + own, op);
  if (!is_typed && !find_access(i->name + 7, op)) return false;
  if (!own && cdna_bits(c->bits, 16, 1)) op->flags = (op->flags & ~(uint32_t)KIND) | LOAD_LDS;
  cdna_lower_source(p, c, &(cdna_operand_form){'B', 's', 4}, &op->s[2]);
  cdna_lower_source(p, c, &(cdna_operand_form){'O', 's', 1}, &op->s[3]);
  const bool acc = cdna_bits(c->bits, 55, 1);
  const uint16_t data = (uint16_t)(cdna_bits(c->bits, 40, 8) + (acc ? CDNA_ACCUMULATION : 0));
  const cdna_operand_form *w = cdna_find_field(i, 'W');
  op->d = data;
  op->d_width = (uint16_t)((op->bytes + 3) / 4);
  op->s[1] = (cdna_source){.kind = CDNA_ROW, .width = w ? w->width : (uint8_t)op->d_width, .code = data};
  if ((op->flags & KIND) == ATOMIC && cdna_bits(c->bits, 14, 1)) op->flags |= RETURNS;
  if (cdna_bits(c->bits, 12, 1)) op->flags |= OFFEN;
  if (cdna_bits(c->bits, 13, 1)) op->flags |= IDXEN;
  op->s[0] = (cdna_source){.kind = CDNA_ROW, .width = 1, .code = (uint16_t)cdna_bits(c->bits, 32, 8)};
  op->imm = (int32_t)cdna_bits(c->bits, 0, 12);
  op->run = is_typed ? run_typed : run_buffer;
  if (!is_typed) return true;
  if (!w) return false;
  op->d_width = w->width;
  if (own) {
    op->flags |= OWN_FORMAT;
    op->imm |= (int32_t)(cdna_bits(c->bits, 19, 4) << 12 | cdna_bits(c->bits, 23, 3) << 16);
  }
  return true;
}

bool cdna_lower_vmem(cdna_program *p, const cdna_code *c, cdna_op *op) {
  switch (c->instruction->encoding) {
  case CDNA_FLAT:
  case CDNA_SCRATCH:
  case CDNA_GLOBAL: return lower_flat(p, c, op);
  case CDNA_MUBUF:
  case CDNA_MTBUF: return lower_buffer(p, c, op);
  default: return false;
  }
}
