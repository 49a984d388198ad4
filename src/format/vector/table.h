/* vector/table.h - the table of an instruction set's kernels. */

#define BOTH(name)                                                                                                     \
  { .encode = vector_##name##_encode, .decode = vector_##name##_decode }
/* Kernels that are limited by instructions lose overlap if they restart at each part, so they do not stream. Faster
 * kernels use parts; memory writes between the parts. */
#define STREAMING(name)                                                                                                \
  { .encode = vector_##name##_encode, .decode = vector_##name##_decode, .streams = VW == 8 }
#define VECTOR_KERNELS(name)                                                                                           \
  {                                                                                                                    \
    .isa = (name),                                                                                                     \
    .format = {[TW_FORMAT_F32] = {.encode = f32_encode, .decode = f32_decode},                                         \
               [TW_FORMAT_F16] = BOTH(f16),                                                                            \
               [TW_FORMAT_BF16] = BOTH(bf16),                                                                          \
               [TW_FORMAT_E4M3] = BOTH(e4m3),                                                                          \
               [TW_FORMAT_E5M2] = BOTH(e5m2),                                                                          \
               [TW_FORMAT_MXFP8_E4M3] = STREAMING(mx_e4m3),                                                            \
               [TW_FORMAT_MXFP8_E5M2] = STREAMING(mx_e5m2),                                                            \
               [TW_FORMAT_MXFP6_E3M2] = STREAMING(mx_e3m2),                                                            \
               [TW_FORMAT_MXFP6_E2M3] = STREAMING(mx_e2m3),                                                            \
               [TW_FORMAT_MXFP4] = STREAMING(mx_e2m1),                                                                 \
               [TW_FORMAT_MXINT8] = BOTH(mx_int8),                                                                     \
               [TW_FORMAT_BFP16] = BOTH(bfp16),                                                                        \
               [TW_FORMAT_I8] = BOTH(i8),                                                                              \
               [TW_FORMAT_I4] = BOTH(i4),                                                                              \
               [TW_FORMAT_I2_S] = BOTH(i2s),                                                                           \
               [TW_FORMAT_TQ1_0] = BOTH(tq1),                                                                          \
               [TW_FORMAT_TQ2_0] = BOTH(tq2),                                                                          \
               [TW_FORMAT_TL1] = BOTH(tl1),                                                                            \
               [TW_FORMAT_TL2] = BOTH(tl2),                                                                            \
               [TW_FORMAT_E4M3FNUZ] = {.encode = e4m3fnuz_encode, .decode = e4m3fnuz_decode}},                         \
    .magnitude = vector_magnitude, .stream = vector_stream, .fence = vector_fence, .compare = vector_compare,          \
    .count = vector_count                                                                                              \
  }
