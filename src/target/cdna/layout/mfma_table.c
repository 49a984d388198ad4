/* mfma_table.c - every matrix instruction of the two machines.
 *
 * Names and operand sizes are from LLVM's assembler. Passes: AMD's matrix instruction calculator (CDNA3), table 33 and
 * section 7.1.5 of the CDNA4 manual; LLVM's scheduling model agrees except for f8f6f4, whose types it does not
 * distinguish. */
#include <string.h>

#include "target/cdna/layout/mfma.h"

/* clang-format off */
static const cdna_mfma table[] = {
    /* name, m, n, k, blocks, types of A, B, C, what CBSZ, ABID and BLGP are, passes on CDNA3 and CDNA4 */
    {"v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, CDNA_F32, CDNA_F32, CDNA_F32, CDNA_FIELDS_BROADCAST, {16, 16}},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, 4, CDNA_F32, CDNA_F32, CDNA_F32, CDNA_FIELDS_BROADCAST, {8, 8}},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, CDNA_F32, CDNA_F32, CDNA_F32, CDNA_FIELDS_BROADCAST, {2, 2}},
    {"v_mfma_f32_32x32x2_f32", 32, 32, 2, 1, CDNA_F32, CDNA_F32, CDNA_F32, CDNA_FIELDS_BLGP, {16, 16}},
    {"v_mfma_f32_16x16x4_f32", 16, 16, 4, 1, CDNA_F32, CDNA_F32, CDNA_F32, CDNA_FIELDS_BLGP, {8, 8}},
    {"v_mfma_f32_16x16x8_xf32", 16, 16, 8, 1, CDNA_XF32, CDNA_XF32, CDNA_F32, CDNA_FIELDS_NONE, {4, 0}},
    {"v_mfma_f32_32x32x4_xf32", 32, 32, 4, 1, CDNA_XF32, CDNA_XF32, CDNA_F32, CDNA_FIELDS_NONE, {8, 0}},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_BROADCAST, {16, 16}},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_BROADCAST, {8, 8}},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_BROADCAST, {2, 2}},
    {"v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 16, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_NONE, {0, 8}},
    {"v_mfma_f32_16x16x32_f16", 16, 16, 32, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_NONE, {0, 4}},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 32, 4, 2, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_BROADCAST, {16, 16}},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 16, 4, 4, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_BROADCAST, {8, 8}},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 4, 16, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_BROADCAST, {2, 2}},
    {"v_mfma_f32_32x32x8_bf16", 32, 32, 8, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_NONE, {0, 8}},
    {"v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_NONE, {0, 4}},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 32, 4, 2, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_BROADCAST, {16, 16}},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 16, 4, 4, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_BROADCAST, {8, 8}},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_BROADCAST, {2, 2}},
    {"v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_NONE, {0, 8}},
    {"v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_NONE, {0, 4}},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, 1, CDNA_BF8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 16, 32, 1, CDNA_BF8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, 1, CDNA_FP8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, 1, CDNA_FP8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_NONE, {4, 4}},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, 1, CDNA_BF8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, 1, CDNA_BF8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 32, 16, 1, CDNA_FP8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, 1, CDNA_FP8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_NONE, {8, 8}},
    {"v_mfma_f32_16x16x128_f8f6f4", 16, 16, 128, 1, CDNA_F8F6F4, CDNA_F8F6F4, CDNA_F32, CDNA_FIELDS_FORMATS, {0, 8}},
    {"v_mfma_f32_32x32x64_f8f6f4", 32, 32, 64, 1, CDNA_F8F6F4, CDNA_F8F6F4, CDNA_F32, CDNA_FIELDS_FORMATS, {0, 16}},
    {"v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, CDNA_F64, CDNA_F64, CDNA_F64, CDNA_FIELDS_NEGATE, {8, 16}},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, CDNA_F64, CDNA_F64, CDNA_F64, CDNA_FIELDS_NEGATE, {4, 4}},
    {"v_smfmac_f32_16x16x32_f16", 16, 16, 32, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_f32_32x32x16_f16", 32, 32, 16, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_f32_16x16x64_f16", 16, 16, 64, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_f32_32x32x32_f16", 32, 32, 32, 1, CDNA_F16, CDNA_F16, CDNA_F32, CDNA_FIELDS_INDEX, {0, 8}},
    {"v_smfmac_f32_16x16x32_bf16", 16, 16, 32, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_f32_32x32x16_bf16", 32, 32, 16, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_f32_16x16x64_bf16", 16, 16, 64, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_f32_32x32x32_bf16", 32, 32, 32, 1, CDNA_BF16, CDNA_BF16, CDNA_F32, CDNA_FIELDS_INDEX, {0, 8}},
    {"v_smfmac_i32_16x16x64_i8", 16, 16, 64, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, 32, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_i32_16x16x128_i8", 16, 16, 128, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_i32_32x32x64_i8", 32, 32, 64, 1, CDNA_I8, CDNA_I8, CDNA_I32, CDNA_FIELDS_INDEX, {0, 8}},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 16, 64, 1, CDNA_BF8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 16, 16, 64, 1, CDNA_BF8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 16, 64, 1, CDNA_FP8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 16, 64, 1, CDNA_FP8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {4, 4}},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, 32, 1, CDNA_BF8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, 32, 1, CDNA_BF8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, 32, 1, CDNA_FP8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, 32, 1, CDNA_FP8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {8, 8}},
    {"v_smfmac_f32_16x16x128_bf8_bf8", 16, 16, 128, 1, CDNA_BF8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_f32_16x16x128_bf8_fp8", 16, 16, 128, 1, CDNA_BF8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_f32_16x16x128_fp8_bf8", 16, 16, 128, 1, CDNA_FP8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_f32_16x16x128_fp8_fp8", 16, 16, 128, 1, CDNA_FP8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 4}},
    {"v_smfmac_f32_32x32x64_bf8_bf8", 32, 32, 64, 1, CDNA_BF8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 8}},
    {"v_smfmac_f32_32x32x64_bf8_fp8", 32, 32, 64, 1, CDNA_BF8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 8}},
    {"v_smfmac_f32_32x32x64_fp8_bf8", 32, 32, 64, 1, CDNA_FP8, CDNA_BF8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 8}},
    {"v_smfmac_f32_32x32x64_fp8_fp8", 32, 32, 64, 1, CDNA_FP8, CDNA_FP8, CDNA_F32, CDNA_FIELDS_INDEX, {0, 8}},
};
/* clang-format on */

const cdna_mfma *cdna_mfma_at(size_t index) { return index < sizeof table / sizeof *table ? &table[index] : NULL; }

const cdna_mfma *cdna_mfma_find(const char *name) {
  static const char scaled[] = "v_mfma_scale_", plain[] = "v_mfma_";
  const bool is_scaled = !strncmp(name, scaled, sizeof scaled - 1);
  const char *rest = is_scaled ? name + sizeof scaled - 1 : name;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const cdna_mfma *m = &table[i];
    if (is_scaled ? m->fields == CDNA_FIELDS_FORMATS && !strcmp(m->name + sizeof plain - 1, rest)
                  : !strcmp(m->name, rest))
      return m;
  }
  return NULL;
}

int cdna_mfma_passes(const cdna_mfma *i, cdna_arch arch, cdna_type a, cdna_type b) {
  const bool is_narrow = i->fields == CDNA_FIELDS_FORMATS && cdna_type_bits(a) < 8 && cdna_type_bits(b) < 8;
  return i->passes[arch] / (is_narrow ? 2 : 1);
}
