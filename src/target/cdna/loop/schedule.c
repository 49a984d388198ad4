/* schedule.c - when the instructions of a GEMM's loop are issued; loop.h has the life of a tile. */
#include "target/cdna/loop/loop.h"

enum {
  TICKS = CDNA_LOOP_TICKS,
  READ_CYCLES =
      /* a read is issued this many ticks before its first product: latency of LDS, and earlier reads of other waves */
  176,
  WAVE = 64
};
/* Parts of a period over which reads and copies are spread. */
static const double READS = 0.5, COPIES = 1;

/* The matrix instructions with 16 and with 32 rows; `cycles` of the first one, half of the second's. */
#define OF(ARCH, A, B, BY16, BY32, FORMATS, WORDS, CYCLES, FIXES, HALVES)                                              \
  {                                                                                                                    \
    ARCH, A, B, {"v_mfma_" BY16, FORMATS, WORDS, 4, CYCLES, FIXES, HALVES}, {                                          \
      "v_mfma_" BY32, FORMATS, WORDS, 16, 2 * (CYCLES), FIXES, HALVES                                                  \
    }                                                                                                                  \
  }
#define F8F6F4(SCALE, A, B, FORMATS, WORDS, CYCLES)                                                                    \
  OF(CDNA4, A, B, SCALE "f32_16x16x128_f8f6f4", SCALE "f32_32x32x64_f8f6f4", FORMATS, WORDS, CYCLES, false, 1)
#define FNUZ(A, B, TYPES, FIXES) /* names have B first */                                                              \
  OF(CDNA3, A, B, "f32_16x16x32_" TYPES, "f32_32x32x16_" TYPES, "", 4, 32, FIXES, 2)

static const cdna_loop_product *product_of(cdna_arch arch, const tw_tile_loop *l) {
  static const struct {
    cdna_arch arch;
    tw_type a, b;
    cdna_loop_product by16, by32;
  } all[] = {
      OF(CDNA4, TW_BF16, TW_BF16, "f32_16x16x32_bf16", "f32_32x32x16_bf16", "", 4, 16, false, 1),
      OF(CDNA4, TW_F16, TW_F16, "f32_16x16x32_f16", "f32_32x32x16_f16", "", 4, 16, false, 1),
      OF(CDNA4, TW_I8, TW_I8, "i32_16x16x64_i8", "i32_32x32x32_i8", "", 4, 16, false, 1),
      F8F6F4("scale_", TW_MXFP4, TW_MXFP4, " cbsz:4 blgp:4", 4, 16),
      F8F6F4("scale_", TW_MXFP8, TW_MXFP8, "", 8, 32),
      F8F6F4("", TW_E2M3, TW_E2M3, " cbsz:2 blgp:2", 6, 16),
      F8F6F4("", TW_E2M3, TW_E3M2, " cbsz:3 blgp:2", 6, 16),
      F8F6F4("", TW_E3M2, TW_E2M3, " cbsz:2 blgp:3", 6, 16),
      F8F6F4("", TW_E3M2, TW_E3M2, " cbsz:3 blgp:3", 6, 16),
      F8F6F4("", TW_E4M3, TW_E4M3, "", 8, 32),
      F8F6F4("", TW_E4M3, TW_E5M2, " cbsz:1", 8, 32),
      F8F6F4("", TW_E5M2, TW_E4M3, " blgp:1", 8, 32),
      F8F6F4("", TW_E5M2, TW_E5M2, " cbsz:1 blgp:1", 8, 32),
      FNUZ(TW_E4M3, TW_E4M3, "fp8_fp8", true),
      FNUZ(TW_E4M3, TW_E5M2, "bf8_fp8", true),
      FNUZ(TW_E5M2, TW_E4M3, "fp8_bf8", true),
      FNUZ(TW_E5M2, TW_E5M2, "bf8_bf8", true),
      FNUZ(TW_E4M3FNUZ, TW_E4M3FNUZ, "fp8_fp8", false),
      OF(CDNA3, TW_BF16, TW_BF16, "f32_16x16x16bf16_1k", "f32_32x32x8bf16_1k", "", 4, 32, false, 2),
      OF(CDNA3, TW_F16, TW_F16, "f32_16x16x16_f16", "f32_32x32x8_f16", "", 4, 32, false, 2),
      OF(CDNA3, TW_I8, TW_I8, "i32_16x16x32_i8", "i32_32x32x16_i8", "", 4, 32, false, 2),
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].arch == arch && all[i].a == l->operand[0].type && all[i].b == l->operand[1].type)
      return l->side == 16 ? &all[i].by16 : &all[i].by32;
  return NULL;
}

/* Order of products: depth by depth, row by row of A; with `blocks`, this for two fragments of C at a time. */
cdna_loop_use cdna_loop_use_of(const cdna_loop *l, int product) {
  const int rows = l->of->operand[0].fragments, cols = l->of->operand[1].fragments,
            at_once = l->of->blocks ? 2 : rows * cols, of_turn = at_once * l->of->depth,
            depth = product % of_turn / at_once, in = product / of_turn * at_once + product % at_once;
  return (cdna_loop_use){.a = depth * (rows + cols) + in / cols,
                         .b = depth * (rows + cols) + rows + in % cols,
                         .row = in / cols,
                         .col = in % cols,
                         .depth = depth};
}

static void add(cdna_loop *l, cdna_loop_kind kind, int time, int operand, int fragment, int part) {
  l->op[l->n_ops++] = (cdna_loop_op){kind, time, operand, fragment, part};
}

static void find_uses(cdna_loop *l) {
  const int rows = l->of->operand[0].fragments, set = rows + l->of->operand[1].fragments;
  l->n_fragments = l->of->depth * set;
  for (int i = 0; i < l->n_fragments; i++)
    l->fragment[i] = (cdna_loop_fragment){.operand = i % set >= rows,
                                          .row = i % set >= rows ? i % set - rows : i % set,
                                          .depth = i / set,
                                          .first_use = -1};
  for (int i = 0; i < l->products; i++) {
    const cdna_loop_use u = cdna_loop_use_of(l, i);
    cdna_loop_fragment *const both[] = {&l->fragment[u.a], &l->fragment[u.b]};
    for (int k = 0; k < 2; k++) {
      if (both[k]->first_use < 0) both[k]->first_use = i;
      both[k]->last_use = i;
    }
  }
  for (int i = 0; i < 2 && l->of->scaled; i++) {
    l->scales[i] = l->n_fragments++;
    l->fragment[l->scales[i]] = (cdna_loop_fragment){.operand = i, .scales = true, .last_use = l->products - 1};
  }
}

int cdna_loop_reads_of(const cdna_loop *l, const cdna_loop_fragment *f) {
  if (f->scales) return l->of->scale_words ? tw_tile_loop_scales(l->of, f->operand) / 4 : 1;
  return l->parts[f->operand];
}

/* Reads in the order of their first products, evenly spread over a part of the period. Products begin when that is
 * early enough for all reads. */
static int add_reads(cdna_loop *l) {
  const int lead = READ_CYCLES * TICKS / l->product.cycles;
  const double spread = l->of->blocks ? 1 : READS;
  int done = 0, last = 0;
  for (int use = 0; use < l->products; use++)
    for (int i = 0; i < l->n_fragments; i++) {
      cdna_loop_fragment *f = &l->fragment[i];
      if (f->first_use != use) continue;
      f->first_read = done;
      for (int part = 0; part < cdna_loop_reads_of(l, f); part++, done++) {
        last = (int)(done * spread * l->period / l->n_reads) + 1;
        if (part == 0) f->read_at = last;
        add(l, CDNA_LOOP_READ, last, f->operand, i, part);
      }
      f->last_read = done - 1;
      if (last + lead - use * TICKS > l->begin) l->begin = last + lead - use * TICKS;
    }
  return last + lead;
}

static void add_copies(cdna_loop *l, int from) {
  int before = from, i = 0;
  for (int operand = 0; operand < 3; operand++)
    for (int part = 0; part < l->copies[operand]; part++, i++) {
      const int time = from + 1 + TICKS + (int)(i * COPIES * (l->period - 2 * TICKS) / l->n_copies);
      for (int word = 0; word < 4 && l->product.fixes; word++) { /* one conversion for each product, where possible */
        const int early = time - (4 - word) * TICKS;
        add(l, CDNA_LOOP_FIX, early > before ? early : before, operand, word, part);
      }
      if (!l->of->laid) add(l, CDNA_LOOP_PLACE, time - TICKS > before ? time - TICKS : before, operand, 0, part);
      add(l, CDNA_LOOP_COPY, time, operand, 0, part);
      if (part == l->copies[operand] - 1) add(l, CDNA_LOOP_ADVANCE, time, operand, 0, 0);
      before = time;
    }
}

/* Sorts by time; stable for equal times. */
static void sort(cdna_loop *l) {
  for (int i = 1; i < l->n_ops; i++) {
    const cdna_loop_op op = l->op[i];
    int k = i;
    for (; k > 0 && l->op[k - 1].time > op.time; k--) l->op[k] = l->op[k - 1];
    l->op[k] = op;
  }
}

tw_status cdna_loop_schedule(cdna_arch arch, const tw_tile_loop *of, cdna_loop *out, tw_error *error) {
  const cdna_loop_product *product = product_of(arch, of);
  if (!product)
    return tw_fail(error, TW_USAGE,
                   "hand_scheduled does not support a=%s b=%s here; expected bf16, f16, i8, e4m3 or e5m2, or on gfx942 "
                   "both e4m3fnuz, or on gfx950 e2m3 or e3m2, both mxfp4 or both mxfp8",
                   tw_type_name(of->operand[0].type), tw_type_name(of->operand[1].type));
  const tw_tile_loop_operand *a = &of->operand[0], *b = &of->operand[1];
  *out = (cdna_loop){.of = of, .product = *product, .products = a->fragments * b->fragments * of->depth};
  cdna_loop *l = out;
  l->period = l->products * TICKS;
  for (int i = 0; i < 2; i++) {
    l->parts[i] = tw_tile_loop_reads(of, i, WAVE);
    l->copies[i] = of->operand[i].bytes / (of->groups * 1024);
  }
  l->copies[2] = of->scaled;
  l->n_copies = l->copies[0] + l->copies[1] + l->copies[2];
  const bool fit = of->depth * (a->fragments + b->fragments) + 2 <= CDNA_LOOP_FRAGMENTS;
  if (fit) find_uses(l);
  for (int i = 0; i < l->n_fragments; i++) l->n_reads += cdna_loop_reads_of(l, &l->fragment[i]);
  if (!fit || l->n_reads + 5 * l->n_copies + 6 > CDNA_LOOP_OPS)
    return tw_fail(error, TW_USAGE,
                   "hand_scheduled has %d reads and %d copies per step, which is too long; use a smaller k", l->n_reads,
                   l->n_copies);
  if (of->blocks && (!of->laid || of->depth < 2 || a->fragments * b->fragments % 4))
    return tw_fail(error, TW_USAGE,
                   "hand_scheduled with scales=block requires copy registers, two or more matrix instructions along k "
                   "(found %d) and a multiple of 4 across a wave (found %d x %d); add mfma 32, or change the tile",
                   of->depth, a->fragments, b->fragments);
  add(l, CDNA_LOOP_READY, 0, 0, 0, 0);
  const int read = add_reads(l), freed = of->blocks ? l->period : read;
  if (!of->blocks) add(l, CDNA_LOOP_FREED, freed, 0, 0, 0);
  add_copies(l, freed);
  /* after the additions of the tile before, and before the first of this one */
  if (of->blocks) add(l, CDNA_LOOP_FACTORS, l->begin + 2 * of->depth * TICKS, 0, 0, 0);
  sort(l);
  /* the last copy must be in flight before the wait for its tile */
  if (of->stages < 2 || l->op[l->n_ops - 1].time >= of->stages * l->period || l->begin > l->period)
    return tw_fail(error, TW_USAGE,
                   "hand_scheduled has %d matrix instructions per step, too few to hide the loads; use larger tiles or "
                   "more stages",
                   l->products);
  return TW_OK;
}
