/* table.c - the table of formats, the names of rules, and the meaning of a packing for a kernel. */
#include <math.h>
#include <string.h>

#include "format/internal.h"

static const tw_format formats[TW_FORMAT_COUNT] = {
    /* id, name, title, type, bits, block, block_bytes, scale, max */
    {TW_FORMAT_F32, "f32", "IEEE binary32", TW_F32, 32, 1, 4, TW_SCALE_NONE, 0x1.fffffep127},
    {TW_FORMAT_F16, "f16", "IEEE binary16", TW_F16, 16, 1, 2, TW_SCALE_NONE, 65504},
    {TW_FORMAT_BF16, "bf16", "bfloat16: the upper half of an f32", TW_BF16, 16, 1, 2, TW_SCALE_NONE, 0x1.fep127},
    {TW_FORMAT_E4M3, "e4m3", "OCP OFP8 E4M3, no infinities", TW_E4M3, 8, 1, 1, TW_SCALE_NONE, 448},
    {TW_FORMAT_E5M2, "e5m2", "OCP OFP8 E5M2", TW_E5M2, 8, 1, 1, TW_SCALE_NONE, 57344},
    {TW_FORMAT_MXFP8_E4M3, "mxfp8", "OCP MX, e4m3 elements", TW_MXFP8, 8, 32, 32, TW_SCALE_E8M0, 448},
    {TW_FORMAT_MXFP8_E5M2, "mxfp8-e5m2", "OCP MX, e5m2 elements", TW_MXFP8, 8, 32, 32, TW_SCALE_E8M0, 57344},
    {TW_FORMAT_MXFP6_E3M2, "mxfp6-e3m2", "OCP MX, e3m2 elements", TW_MXFP6, 6, 32, 24, TW_SCALE_E8M0, 28},
    {TW_FORMAT_MXFP6_E2M3, "mxfp6", "OCP MX, e2m3 elements", TW_MXFP6, 6, 32, 24, TW_SCALE_E8M0, 7.5},
    {TW_FORMAT_MXFP4, "mxfp4", "OCP MX, e2m1 elements", TW_MXFP4, 4, 32, 16, TW_SCALE_E8M0, 6},
    {TW_FORMAT_MXINT8, "mxint8", "OCP MX, int8 elements in steps of 1/64", TW_TYPE_NONE, 8, 32, 32, TW_SCALE_E8M0,
     127.0 / 64},
    {TW_FORMAT_BFP16, "bfp16", "XDNA2's bfp16ebs8: eight int8 mantissas share an exponent", TW_BFP16, 8, 8, 9,
     TW_SCALE_INSIDE, 127.0 / 64},
    {TW_FORMAT_I8, "i8", "int8 with f32 scales", TW_I8, 8, 1, 1, TW_SCALE_F32, 127},
    {TW_FORMAT_I4, "i4", "int4 with f32 scales", TW_I4, 4, 2, 1, TW_SCALE_F32, 7},
    {TW_FORMAT_I2_S, "i2_s", "ternary, BitNet: four to a byte", TW_TERNARY, 2, 128, 32, TW_SCALE_F32, 1},
    {TW_FORMAT_TQ1_0, "tq1_0", "ternary, ggml: five to a byte", TW_TERNARY, 0, 256, 54, TW_SCALE_INSIDE, 1},
    {TW_FORMAT_TQ2_0, "tq2_0", "ternary, ggml: four to a byte", TW_TERNARY, 2, 256, 66, TW_SCALE_INSIDE, 1},
    {TW_FORMAT_TL1, "tl1", "ternary, BitNet: index of two in 4 bits", TW_TERNARY, 0, 4, 1, TW_SCALE_F32, 1},
    {TW_FORMAT_TL2, "tl2", "ternary, BitNet: index and sign of three in 5 bits", TW_TERNARY, 0, 96, 20, TW_SCALE_F32,
     1},
    {TW_FORMAT_E4M3FNUZ, "e4m3fnuz", "gfx942's fp8: no infinities, no -0", TW_E4M3FNUZ, 8, 1, 1, TW_SCALE_NONE, 240},
};

static void copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
static void no_fence(void) {}

#define BOTH(name)                                                                                                     \
  { .encode = name##_encode, .decode = name##_decode }
const format_kernels format_reference = {
    .isa = "reference",
    .format =
        {
            [TW_FORMAT_F32] = BOTH(f32),       [TW_FORMAT_F16] = BOTH(f16),
            [TW_FORMAT_BF16] = BOTH(bf16),     [TW_FORMAT_E4M3] = BOTH(e4m3),
            [TW_FORMAT_E5M2] = BOTH(e5m2),     [TW_FORMAT_MXFP8_E4M3] = BOTH(mx),
            [TW_FORMAT_MXFP8_E5M2] = BOTH(mx), [TW_FORMAT_MXFP6_E3M2] = BOTH(mx),
            [TW_FORMAT_MXFP6_E2M3] = BOTH(mx), [TW_FORMAT_MXFP4] = BOTH(mx),
            [TW_FORMAT_MXINT8] = BOTH(mx),     [TW_FORMAT_BFP16] = BOTH(bfp16),
            [TW_FORMAT_I8] = BOTH(i8),         [TW_FORMAT_I4] = BOTH(i4),
            [TW_FORMAT_I2_S] = BOTH(i2s),      [TW_FORMAT_TQ1_0] = BOTH(tq1),
            [TW_FORMAT_TQ2_0] = BOTH(tq2),     [TW_FORMAT_TL1] = BOTH(tl1),
            [TW_FORMAT_TL2] = BOTH(tl2),       [TW_FORMAT_E4M3FNUZ] = BOTH(e4m3fnuz),
        },
    .magnitude = magnitude_bits,
    .stream = copy,
    .fence = no_fence,
    .compare = compare_reference,
    .count = count_reference,
};
#undef BOTH

const tw_format *tw_format_at(tw_format_id id) { return (int)id >= 0 && id < TW_FORMAT_COUNT ? &formats[id] : NULL; }

const tw_format *tw_format_find(const char *name) {
  static const struct {
    const char *name;
    tw_format_id id;
  } also[] = {
      {"e4m3fn", TW_FORMAT_E4M3},      {"mxfp8-e4m3", TW_FORMAT_MXFP8_E4M3}, {"mxfp6-e2m3", TW_FORMAT_MXFP6_E2M3},
      {"mxfp4-e2m1", TW_FORMAT_MXFP4}, {"bfp16ebs8", TW_FORMAT_BFP16},       {"int8", TW_FORMAT_I8},
      {"int4", TW_FORMAT_I4},          {"ternary", TW_FORMAT_I2_S}};
  for (int i = 0; i < TW_FORMAT_COUNT; i++) {
    if (strcmp(formats[i].name, name) == 0) return &formats[i];
  }
  for (size_t i = 0; i < sizeof also / sizeof *also; i++) {
    if (strcmp(also[i].name, name) == 0) return &formats[also[i].id];
  }
  return NULL;
}

const tw_format *tw_format_of_type(tw_type type) {
  static const tw_format_id of_type[TW_TYPE_COUNT] = {
      [TW_F16] = TW_FORMAT_F16,
      [TW_BF16] = TW_FORMAT_BF16,
      [TW_E4M3] = TW_FORMAT_E4M3,
      [TW_E5M2] = TW_FORMAT_E5M2,
      [TW_E4M3FNUZ] = TW_FORMAT_E4M3FNUZ,
      [TW_MXFP4] = TW_FORMAT_MXFP4,
      [TW_MXFP6] = TW_FORMAT_MXFP6_E2M3,
      [TW_MXFP8] = TW_FORMAT_MXFP8_E4M3,
      [TW_BFP16] = TW_FORMAT_BFP16,
      [TW_I8] = TW_FORMAT_I8,
      [TW_I4] = TW_FORMAT_I4,
      [TW_TERNARY] = TW_FORMAT_I2_S,
  };
  if (type == TW_F32) return &formats[TW_FORMAT_F32];
  if ((int)type < 0 || type >= TW_TYPE_COUNT || of_type[type] == TW_FORMAT_F32) return NULL;
  return &formats[of_type[type]];
}

static const char *const rule_names[TW_RULE_COUNT] = {"default", "floor", "even", "up", "ceil", "absmax", "absmean"};

const char *tw_scale_rule_name(tw_scale_rule rule) {
  return (int)rule >= 0 && rule < TW_RULE_COUNT ? rule_names[rule] : "?";
}

bool tw_scale_rule_parse(const char *text, tw_scale_rule *out) {
  for (int i = TW_RULE_DEFAULT + 1; i < TW_RULE_COUNT; i++) {
    if (strcmp(text, rule_names[i]) == 0) {
      *out = (tw_scale_rule)i;
      return true;
    }
  }
  return false;
}

/* The largest MX element as emax, mantissa (as the f32's 23 bits) and mantissa bits: OCP MX 1.0, section 5.3. mxint8
 * counts as 1.6 bits with emax 0: its largest is 1.984375. */
typedef struct mx_element {
  int emax, mantissa_bits;
  uint32_t max_mantissa;
} mx_element;

static mx_element mx_element_of(tw_format_id id) {
  switch (id) {
  case TW_FORMAT_MXFP8_E4M3: return (mx_element){8, 3, 0x600000};  /* 448 = 1.75 * 2^8 */
  case TW_FORMAT_MXFP8_E5M2: return (mx_element){15, 2, 0x600000}; /* 57344 = 1.75 * 2^15 */
  case TW_FORMAT_MXFP6_E3M2: return (mx_element){4, 2, 0x600000};  /* 28 = 1.75 * 2^4 */
  case TW_FORMAT_MXFP6_E2M3: return (mx_element){2, 3, 0x700000};  /* 7.5 = 1.875 * 2^2 */
  case TW_FORMAT_MXFP4: return (mx_element){2, 1, 0x400000};       /* 6 = 1.5 * 2^2 */
  case TW_FORMAT_MXINT8: return (mx_element){0, 6, 0x7E0000};      /* 127/64 = 1.984375 */
  default: return (mx_element){0};
  }
}

/* The addend to the bits of amax that carries into its exponent field exactly where the rule requires it. */
static uint32_t addend_of(mx_element e, tw_scale_rule rule) {
  switch (rule) {
  case TW_RULE_EVEN: return UINT32_C(1) << (22 - e.mantissa_bits); /* half of the last kept mantissa bit */
  case TW_RULE_UP: return 0x7FFFFF - e.max_mantissa;               /* carries if the mantissa is above the largest's */
  case TW_RULE_CEIL: return 0x7FFFFF;                              /* carries if the mantissa is not 0 */
  default: return 0;
  }
}

void format_scale_of(float magnitude, float largest, float *scale, float *inverse) {
  *scale = tw_float_of(F32_NAN);
  *inverse = 0;
  if (!isfinite(magnitude)) return;
  *scale = magnitude / largest;
  *inverse = 1 / *scale;
  if (!isfinite(*inverse)) *scale = *inverse = 0;
}

format_job format_job_of(const tw_packing *packing) {
  mx_element element = mx_element_of(packing->format->id);
  return (format_job){
      .format = packing->format,
      .overflow = packing->overflow,
      .rounding = packing->rounding,
      .addend = addend_of(element, packing->rule),
      .emax = element.emax,
      /* a half counts as 1 by absmax (away from 0) and as 0 by absmean (to even) */
      .threshold = packing->rule == TW_RULE_ABSMEAN ? nextafterf(0.5f, 1) : 0.5f,
  };
}
