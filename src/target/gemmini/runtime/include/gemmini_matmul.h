/* gemmini_matmul.h - the library's matrix multiplication: C = act(scale * (op(A) op(B) + D)), any size.
 *
 * Three levels, with the names and arguments of Gemmini's C library (May 2023, no operand reuse between loops):
 *   tiled_matmul_auto   chooses the tile sizes
 *   tiled_matmul        checks given tile sizes
 *   tiled_matmul_outer  configures, then walks the tiles i, j, k
 *   sp_tiled_matmul_ws  one tile, weight-stationary: the hardware loop, or with GEMMINI_SOFTWARE_LOOP defined
 *                       the same work in single commands
 *   sp_tiled_matmul_os  one tile, output-stationary, in single commands
 *
 * Scratchpad: A from row 0 upwards, B at the end. Weight-stationary tiles use half of scratchpad and accumulator,
 * because the hardware loop works on two at a time. The hardware loop loads whole blocks of B's rows: if the inner
 * dimension (with B transposed, the columns of C) is no multiple of DIM it reads behind the end of B, harmlessly:
 * nothing uses what it finds there. Activations: none and RELU; IGELU, LAYERNORM and SOFTMAX need a
 * machine with normalizations, which refuses their commands if it has none. */
#ifndef GEMMINI_MATMUL_H
#define GEMMINI_MATMUL_H

enum tiled_matmul_type_t { OS, WS, CPU };

#define GEMMINI_ACC_BASE (1u << (ADDR_LEN - 1)) /* accumulator, overwrite */
#define GEMMINI_ACC_ADD (1u << (ADDR_LEN - 2))  /* accumulate */
#define GEMMINI_ACC_FULL (1u << (ADDR_LEN - 3)) /* read full width */

static inline int gemmini_at_most(size_t tiles, int most) { return tiles <= (size_t)most ? (int)tiles : most; }
/* Tiles of a block that starts at tile `at` of `n`, at most `most`; the elements they hold, `missing` in the last. */
static inline size_t gemmini_block_tiles(size_t at, size_t most, size_t n) { return at + most <= n ? most : n - at; }
static inline size_t gemmini_block_width(size_t at, size_t tiles, size_t n, size_t missing) {
  return tiles * DIM - (at + tiles >= n ? missing : 0);
}
static inline size_t gemmini_tile_width(size_t at, size_t n, size_t missing) {
  return DIM - (at == n - 1 ? missing : 0);
}

#define GEMMINI_TILE_PARAMETERS                                                                                        \
  const elem_t *A, const elem_t *B, const void *D, void *C, scale_t A_scale, scale_t B_scale, scale_acc_t D_scale,     \
      size_t I, size_t J, size_t K, size_t pad_I, size_t pad_J, size_t pad_K, size_t A_stride, size_t B_stride,        \
      size_t D_stride, size_t C_stride, bool A_transpose, bool B_transpose, bool full_C, bool low_D, bool no_bias,     \
      bool repeating_bias, int act, int a_spad_id, int b_spad_id

static void sp_tiled_matmul_os(GEMMINI_TILE_PARAMETERS) {
  const uint32_t A_rows_at = 0, B_rows_at = BANK_NUM * BANK_ROWS - K * J * DIM;
  const uint32_t C_rows_at = GEMMINI_ACC_BASE | GEMMINI_ACC_ADD | (full_C ? GEMMINI_ACC_FULL : 0);
  const int A_tiles = gemmini_at_most(K, MAX_BLOCK_LEN), B_tiles = gemmini_at_most(J, MAX_BLOCK_LEN);
  const int D_tiles = gemmini_at_most(J, MAX_BLOCK_LEN_ACC);
  const size_t C_bytes = full_C ? sizeof(acc_t) : sizeof(elem_t);
  (void)A_transpose, (void)B_transpose, (void)low_D, (void)act, (void)a_spad_id, (void)b_spad_id;

  if (D != NULL && !no_bias) {
    gemmini_extended_config_ld(repeating_bias ? 0 : D_stride * sizeof(acc_t), D_scale);
    for (size_t i = 0; i < I; i++)
      for (size_t j = 0; j < J; j += D_tiles) {
        const acc_t *from = (const acc_t *)D + ((repeating_bias ? 0 : i) * D_stride + j) * DIM;
        const size_t tiles = gemmini_block_tiles(j, D_tiles, J);
        gemmini_extended_mvin(from, GEMMINI_ACC_BASE + (i * J + j) * DIM, gemmini_block_width(j, tiles, J, pad_J),
                              gemmini_tile_width(i, I, pad_I));
      }
  }

  gemmini_extended_config_ld(B_stride * sizeof(elem_t), B_scale);
  for (size_t j = 0; j < J; j += B_tiles)
    for (size_t k = 0; k < K; k++) {
      const size_t tiles = gemmini_block_tiles(j, B_tiles, J);
      gemmini_extended_mvin(B + (k * B_stride + j) * DIM, B_rows_at + (uint32_t)((k * J + j) * DIM),
                            gemmini_block_width(j, tiles, J, pad_J), gemmini_tile_width(k, K, pad_K));
    }

  gemmini_extended_config_ld(A_stride * sizeof(elem_t), A_scale);
  for (size_t i = 0; i < I; i++)
    for (size_t k = 0; k < K; k += A_tiles) {
      const size_t tiles = gemmini_block_tiles(k, A_tiles, K);
      gemmini_extended_mvin(A + (i * A_stride + k) * DIM, A_rows_at + (uint32_t)((i * K + k) * DIM),
                            gemmini_block_width(k, tiles, K, pad_K), gemmini_tile_width(i, I, pad_I));
    }

  /* The array holds C while k runs; it goes to the accumulator after the last k, onto the bias if there is one. */
  for (size_t i = 0; i < I; i++)
    for (size_t j = 0; j < J; j++) {
      uint32_t C_at = C_rows_at + (uint32_t)((i * J + j) * DIM);
      if (no_bias && D != NULL) C_at &= ~GEMMINI_ACC_ADD;
      const size_t rows_I = gemmini_tile_width(i, I, pad_I), cols_J = gemmini_tile_width(j, J, pad_J);
      for (size_t k = 0; k < K; k++) {
        const uint32_t A_at = A_rows_at + (uint32_t)((i * K + k) * DIM);
        const uint32_t B_at = B_rows_at + (uint32_t)((k * J + j) * DIM);
        const size_t size_K = gemmini_tile_width(k, K, pad_K);
        gemmini_extended_preload(GARBAGE_ADDR, k == K - 1 ? C_at : GARBAGE_ADDR, DIM, DIM, cols_J, rows_I);
        if (k == 0) {
          gemmini_extended_compute_preloaded(A_at, B_at, size_K, rows_I, cols_J, size_K);
        } else {
          gemmini_extended_compute_accumulated(A_at, B_at, size_K, rows_I, cols_J, size_K);
        }
      }
    }

  if (C != NULL)
    for (size_t i = 0; i < I; i++)
      for (size_t j = 0; j < J; j++)
        gemmini_extended_mvout((int8_t *)C + (i * C_stride + j) * DIM * C_bytes,
                               C_rows_at + (uint32_t)((i * J + j) * DIM), gemmini_tile_width(j, J, pad_J),
                               gemmini_tile_width(i, I, pad_I));
}

#ifdef GEMMINI_SOFTWARE_LOOP

#ifndef NORM_STAT_IDS
#define NORM_STAT_IDS 2 /* rows whose statistics the machine holds at once */
#endif

/* A row of tiles with LAYERNORM or SOFTMAX: each row of C passes three times, twice for its statistics and once to
 * memory. What a pass does stands in bits 28:26 of the address, for the last block of the row and for those before. */
static inline void gemmini_mvout_normalized(int act, void *C, uint32_t C_at, size_t rows, size_t J, size_t pad_J,
                                            size_t C_stride, size_t C_tiles, size_t C_bytes) {
  const uint32_t layernorm[3][2] = {{1, 2}, {3, 4}, {0, 0}}; /* sum, mean; variance, 1/deviation; write */
  const uint32_t softmax[3][2] = {{5, 5}, {6, 7}, {0, 0}};   /* maximum; sum of exponentials, its inverse; write */
  const uint32_t(*pass)[2] = act == LAYERNORM ? layernorm : softmax;
  for (size_t row = 0; row < rows; row += NORM_STAT_IDS) {
    const size_t ids = rows - row > NORM_STAT_IDS ? NORM_STAT_IDS : rows - row;
    for (int p = 0; p < 3; p++)
      for (size_t id = 0; id < ids; id++) {
        gemmini_config_norm(0, 0, act == SOFTMAX, 0, id, 0, 0);
        for (size_t j = 0; j < J; j += C_tiles) {
          const size_t tiles = gemmini_block_tiles(j, C_tiles, J);
          gemmini_extended_mvout((int8_t *)C + (j * DIM + (row + id) * C_stride) * C_bytes,
                                 (C_at + (uint32_t)(j * DIM + row + id)) | pass[p][j + C_tiles >= J] << 26,
                                 gemmini_block_width(j, tiles, J, pad_J), 1);
        }
      }
  }
}

static void sp_tiled_matmul_ws(GEMMINI_TILE_PARAMETERS) {
  const uint32_t A_rows_at = 0, B_rows_at = BANK_NUM * BANK_ROWS - K * J * DIM;
  const uint32_t C_rows_at = GEMMINI_ACC_BASE | GEMMINI_ACC_ADD | ((uint32_t)full_C << (ADDR_LEN - 3));
  /* Widest loads and stores: along the contiguous dimension. */
  const int A_tiles = A_transpose ? gemmini_at_most(I, MAX_BLOCK_LEN) : gemmini_at_most(K, MAX_BLOCK_LEN);
  const int B_tiles = B_transpose ? gemmini_at_most(K, MAX_BLOCK_LEN) : gemmini_at_most(J, MAX_BLOCK_LEN);
  const int D_tiles = low_D ? gemmini_at_most(J, MAX_BLOCK_LEN) : gemmini_at_most(J, MAX_BLOCK_LEN_ACC);
  const int C_tiles = full_C ? 1 : gemmini_at_most(J, MAX_BLOCK_LEN);
  const size_t D_bytes = low_D ? sizeof(elem_t) : sizeof(acc_t), C_bytes = full_C ? sizeof(acc_t) : sizeof(elem_t);
  (void)A_scale, (void)B_scale, (void)D_scale, (void)a_spad_id, (void)b_spad_id;

  if (D != NULL && !no_bias)
    for (size_t i = 0; i < I; i++) {
      const size_t rows = gemmini_tile_width(i, I, pad_I);
      for (size_t j = 0; j < J; j += D_tiles) {
        const size_t row = repeating_bias ? 0 : i, tiles = gemmini_block_tiles(j, D_tiles, J);
        gemmini_extended_mvin3((const int8_t *)D + (row * D_stride + j) * DIM * D_bytes,
                               GEMMINI_ACC_BASE + (uint32_t)((i * J + j) * DIM),
                               gemmini_block_width(j, tiles, J, pad_J), rows);
      }
    }

  for (size_t k = 0; k < K; k++)
    for (size_t j = 0; j < J; j++)
      for (size_t i = 0; i < I; i++) {
        const uint32_t A_at = A_rows_at + (uint32_t)((A_transpose ? k * I + i : i * K + k) * DIM);
        const uint32_t B_at = B_rows_at + (uint32_t)((B_transpose ? j * K + k : k * J + j) * DIM);
        const uint32_t C_at = C_rows_at + (uint32_t)((i * J + j) * DIM);

        if (A_transpose) {
          if (j == 0 && i % A_tiles == 0) {
            const size_t tiles = gemmini_block_tiles(i, A_tiles, I);
            gemmini_extended_mvin(A + (k * A_stride + i) * DIM, A_at, gemmini_block_width(i, tiles, I, pad_I),
                                  gemmini_tile_width(k, K, pad_K));
          }
        } else if (j == 0 && k % A_tiles == 0) {
          const size_t tiles = gemmini_block_tiles(k, A_tiles, K);
          gemmini_extended_mvin(A + (i * A_stride + k) * DIM, A_at, gemmini_block_width(k, tiles, K, pad_K),
                                gemmini_tile_width(i, I, pad_I));
        }

        if (B_transpose) {
          if (i == 0 && k % B_tiles == 0) {
            const size_t tiles = gemmini_block_tiles(k, B_tiles, K);
            gemmini_extended_mvin2(B + (j * B_stride + k) * DIM, B_at, gemmini_block_width(k, tiles, K, pad_K),
                                   gemmini_tile_width(j, J, pad_J));
          }
        } else if (i == 0 && j % B_tiles == 0) {
          const size_t tiles = gemmini_block_tiles(j, B_tiles, J);
          gemmini_extended_mvin2(B + (k * B_stride + j) * DIM, B_at, gemmini_block_width(j, tiles, J, pad_J),
                                 gemmini_tile_width(k, K, pad_K));
        }

        /* Weights are loaded for the first i and stay for the others; the first k overwrites unless there is a bias. */
        const uint32_t weights = i == 0 ? B_at : GARBAGE_ADDR;
        uint32_t out = C_at;
        if (no_bias && D != NULL && k == 0) out &= ~GEMMINI_ACC_ADD;
        const size_t rows_I = gemmini_tile_width(i, I, pad_I), cols_J = gemmini_tile_width(j, J, pad_J);
        const size_t size_K = gemmini_tile_width(k, K, pad_K);
        gemmini_extended_preload(weights, out, cols_J, size_K, cols_J, rows_I);
        if (i == 0) {
          gemmini_extended_compute_preloaded(A_at, GARBAGE_ADDR, size_K, rows_I, DIM, DIM);
        } else {
          gemmini_extended_compute_accumulated(A_at, GARBAGE_ADDR, size_K, rows_I, DIM, DIM);
        }

        if (C != NULL && k == K - 1) {
          if (act == LAYERNORM || act == SOFTMAX) {
            if (j == J - 1)
              gemmini_mvout_normalized(act, (int8_t *)C + i * C_stride * DIM * C_bytes,
                                       C_rows_at + (uint32_t)(i * J * DIM), rows_I, J, pad_J, C_stride, C_tiles,
                                       C_bytes);
          } else if (j == J - 1 || j % C_tiles == (size_t)C_tiles - 1) {
            const size_t first = j / C_tiles * C_tiles, tiles = gemmini_block_tiles(first, C_tiles, J);
            gemmini_extended_mvout((int8_t *)C + (i * C_stride + first) * DIM * C_bytes,
                                   C_rows_at + (uint32_t)((i * J + first) * DIM),
                                   gemmini_block_width(first, tiles, J, pad_J), rows_I);
          }
        }
      }
}

#else

static void sp_tiled_matmul_ws(GEMMINI_TILE_PARAMETERS) {
  (void)A_scale, (void)B_scale, (void)D_scale;
  gemmini_loop_ws(I, J, K, pad_I, pad_J, pad_K, A, B, no_bias ? NULL : D, C, A_stride, B_stride,
                  repeating_bias ? 0 : D_stride, C_stride, A_transpose, B_transpose, full_C, low_D,
                  !no_bias || D == NULL, act, a_spad_id, b_spad_id, false);
}

#endif

/* Tiles along a dimension, rounded up. */
static inline size_t gemmini_round_up(size_t n, size_t unit) { return n / unit + (n % unit != 0); }

static void tiled_matmul_outer(size_t dim_I, size_t dim_J, size_t dim_K, const elem_t *A, const elem_t *B,
                               const void *D, void *C, size_t stride_A, size_t stride_B, size_t stride_D,
                               size_t stride_C, scale_t A_scale, scale_t B_scale, scale_acc_t D_scale, size_t tile_I,
                               size_t tile_J, size_t tile_K, int act, acc_scale_t scale, acc_scale_t bert_scale,
                               bool repeating_bias, bool A_transpose, bool B_transpose, bool full_C, bool low_D,
                               uint8_t weightA, int dataflow) {
  const size_t tiles_I = gemmini_round_up(dim_I, DIM), tiles_J = gemmini_round_up(dim_J, DIM);
  const size_t tiles_K = gemmini_round_up(dim_K, DIM);
  const size_t blocks_I = gemmini_round_up(tiles_I, tile_I), blocks_J = gemmini_round_up(tiles_J, tile_J);
  const size_t blocks_K = gemmini_round_up(tiles_K, tile_K);
  /* The last block of a dimension has what is left. */
  const size_t last_I = tiles_I % tile_I == 0 ? tile_I : tiles_I % tile_I;
  const size_t last_J = tiles_J % tile_J == 0 ? tile_J : tiles_J % tile_J;
  const size_t last_K = tiles_K % tile_K == 0 ? tile_K : tiles_K % tile_K;
  const size_t missing_I = tiles_I * DIM - dim_I, missing_J = tiles_J * DIM - dim_J, missing_K = tiles_K * DIM - dim_K;
  const size_t D_bytes = low_D ? sizeof(elem_t) : sizeof(acc_t), C_bytes = full_C ? sizeof(acc_t) : sizeof(elem_t);
  const bool no_bias = D == NULL;
  (void)weightA;
  /* Any address will do: NULL means "accumulate onto what is there" further down. */
  if (no_bias) D = (const void *)1;

  gemmini_extended_config_ex(dataflow, act & 3, 0, 1, A_transpose, B_transpose);
  gemmini_extended_config_st(stride_C * C_bytes, act & 3, scale);
  gemmini_extended3_config_ld(stride_A * sizeof(elem_t), A_scale, false, 0);
  gemmini_extended3_config_ld(stride_B * sizeof(elem_t), B_scale, false, 1);
  gemmini_extended3_config_ld(repeating_bias ? 0 : stride_D * D_bytes, D_scale, low_D, 2);

  /* Constants of the integer polynomials of I-BERT (Kim et al., 2021) at the scale of the input. */
  if (act == IGELU) {
    const acc_scale_t S = bert_scale, root2 = 1.41421356237f;
    gemmini_config_norm(0, 0, 0, 0, 0, (acc_t)(-1.769 / (S / root2)), (acc_t)(1.0 / (-0.2888 * (S * S / 2))));
  }
  if (act == SOFTMAX) {
    const float a = 0.3585f, b = 1.353f, c = 0.344f;
    const acc_t ln2 = (acc_t)(0.693147 / bert_scale), qb = (acc_t)(b / bert_scale);
    const acc_t qc = (acc_t)(c / (a * bert_scale * bert_scale));
    gemmini_config_norm((int)ln2, 0, 0, 1, 0, qb, qc);
    gemmini_config_norm((int)(65536 / ln2), 1, 0, 1, 0, qb, qc);
  }

  const int a_spad_id = 0, b_spad_id = 0; /* no reuse of operands from loop to loop */
  void (*tile)(GEMMINI_TILE_PARAMETERS) = dataflow == OUTPUT_STATIONARY ? &sp_tiled_matmul_os : &sp_tiled_matmul_ws;
  for (size_t i0 = 0; i0 < blocks_I; i0++)
    for (size_t j0 = 0; j0 < blocks_J; j0++)
      for (size_t k0 = 0; k0 < blocks_K; k0++) {
        const size_t i = i0 * tile_I * DIM, j = j0 * tile_J * DIM, k = k0 * tile_K * DIM;
        const void *bias = k0 != 0 ? NULL : (const int8_t *)D + ((repeating_bias ? 0 : i) * stride_D + j) * D_bytes;
        void *out = k0 == blocks_K - 1 ? (int8_t *)C + (i * stride_C + j) * C_bytes : NULL;
        const elem_t *a = A_transpose ? A + k * stride_A + i : A + i * stride_A + k;
        const elem_t *b = B_transpose ? B + j * stride_B + k : B + k * stride_B + j;
        const size_t I = i0 < blocks_I - 1 ? tile_I : last_I, pad_I = i0 == blocks_I - 1 ? missing_I : 0;
        const size_t J = j0 < blocks_J - 1 ? tile_J : last_J, pad_J = j0 == blocks_J - 1 ? missing_J : 0;
        const size_t K = k0 < blocks_K - 1 ? tile_K : last_K, pad_K = k0 == blocks_K - 1 ? missing_K : 0;
        (*tile)(a, b, bias, out, A_scale, B_scale, D_scale, I, J, K, pad_I, pad_J, pad_K, stride_A, stride_B, stride_D,
                stride_C, A_transpose, B_transpose, full_C, low_D, no_bias, repeating_bias, act, a_spad_id, b_spad_id);
      }

  gemmini_fence();
}

static inline size_t tiled_matmul_total_spad_rows(size_t I, size_t J, size_t K) { return (I * K + K * J) * DIM; }
static inline size_t tiled_matmul_total_acc_rows(size_t I, size_t J) { return I * J * DIM; }

static inline void gemmini_require(bool condition, const char *what) {
  if (condition) return;
  printf("tiled_matmul: %s\n", what);
  exit(1);
}

static void tiled_matmul(size_t dim_I, size_t dim_J, size_t dim_K, const elem_t *A, const elem_t *B, const void *D,
                         void *C, size_t stride_A, size_t stride_B, size_t stride_D, size_t stride_C, scale_t A_scale,
                         scale_t B_scale, scale_acc_t D_scale, int act, acc_scale_t scale, acc_scale_t bert_scale,
                         bool repeating_bias, size_t tile_I, size_t tile_J, size_t tile_K, bool transpose_A,
                         bool transpose_B, bool full_C, bool low_D, uint8_t weightA, enum tiled_matmul_type_t type) {
  const size_t share = type == WS ? 2 : 1;
  gemmini_require(type != CPU, "the CPU variant is not available here");
  gemmini_require(tile_I > 0 && tile_J > 0 && tile_K > 0, "tile sizes must be positive");
  gemmini_require(tile_I <= gemmini_round_up(dim_I, DIM), "tile_I is larger than the matrix");
  gemmini_require(tile_J <= gemmini_round_up(dim_J, DIM), "tile_J is larger than the matrix");
  gemmini_require(tile_K <= gemmini_round_up(dim_K, DIM), "tile_K is larger than the matrix");
  gemmini_require(tiled_matmul_total_spad_rows(tile_I, tile_J, tile_K) <= BANK_NUM * BANK_ROWS / share,
                  "the tiles of A and B do not fit in the scratchpad");
  gemmini_require(tiled_matmul_total_acc_rows(tile_I, tile_J) <= ACC_ROWS / share,
                  "the tile of C does not fit in the accumulator");
  gemmini_require(tile_I <= 65535 && tile_J <= 65535 && tile_K <= 65535, "tile sizes must fit in 16 bits");
  gemmini_require(type == OS ? !transpose_A && !transpose_B : !(transpose_A && transpose_B),
                  "these transposes are not available in this dataflow");
  gemmini_require(type != OS || !low_D, "low_D is not available output-stationary");
  gemmini_require((act != LAYERNORM && act != SOFTMAX) || (type != OS && tile_J * DIM >= dim_J),
                  "normalizing needs the weight-stationary dataflow and whole rows of C in the accumulator");

  tiled_matmul_outer(dim_I, dim_J, dim_K, A, B, D, C, stride_A, stride_B, stride_D, stride_C, A_scale, B_scale, D_scale,
                     tile_I, tile_J, tile_K, act, scale, bert_scale, repeating_bias, transpose_A, transpose_B, full_C,
                     low_D, weightA, (int)type);
}

/* As square in i and j as half (WS) or all (OS) of the accumulator allows, k as deep as half of the rows used then;
 * after that one more tile of j, i, k in turn as long as something grows. */
static void tiled_matmul_auto(size_t dim_I, size_t dim_J, size_t dim_K, const elem_t *A, const elem_t *B, const void *D,
                              void *C, size_t stride_A, size_t stride_B, size_t stride_D, size_t stride_C,
                              scale_t A_scale, scale_t B_scale, scale_acc_t D_scale, int act, acc_scale_t scale,
                              acc_scale_t bert_scale, bool repeating_bias, bool transpose_A, bool transpose_B,
                              bool full_C, bool low_D, uint8_t weightA, enum tiled_matmul_type_t type) {
  const bool two_tiles = type == WS;
  const size_t spad_rows = two_tiles ? BANK_NUM * BANK_ROWS / 2 : BANK_NUM * BANK_ROWS;
  const size_t acc_rows = two_tiles ? ACC_ROWS / 2 : ACC_ROWS;
  const size_t side = two_tiles ? (size_t)sqrt(ACC_ROWS / 2 / DIM) : (size_t)sqrt(ACC_ROWS / DIM);
  const size_t depth = (two_tiles ? BANK_NUM * BANK_ROWS / 2 / 2 / DIM : BANK_NUM * BANK_ROWS / 2 / DIM) / side;
  const size_t tiles_I = gemmini_round_up(dim_I, DIM), tiles_J = gemmini_round_up(dim_J, DIM);
  const size_t tiles_K = gemmini_round_up(dim_K, DIM);
  size_t I = tiles_I < side ? tiles_I : side, J = tiles_J < side ? tiles_J : side,
         K = tiles_K < depth ? tiles_K : depth;

  if (act == LAYERNORM || act == SOFTMAX) I = 1, J = tiles_J, K = 1; /* a row of C must be whole to be normalized */

  for (bool grown = true; grown;) {
    grown = false;
    if (tiled_matmul_total_spad_rows(I, J + 1, K) <= spad_rows && tiled_matmul_total_acc_rows(I, J + 1) <= acc_rows &&
        J + 1 <= tiles_J)
      J++, grown = true;
    if (tiled_matmul_total_spad_rows(I + 1, J, K) <= spad_rows && tiled_matmul_total_acc_rows(I + 1, J) <= acc_rows &&
        I + 1 <= tiles_I)
      I++, grown = true;
    if (tiled_matmul_total_spad_rows(I, J, K + 1) <= spad_rows && K + 1 <= tiles_K) K++, grown = true;
  }

  tiled_matmul(dim_I, dim_J, dim_K, A, B, D, C, stride_A, stride_B, stride_D, stride_C, A_scale, B_scale, D_scale, act,
               scale, bert_scale, repeating_bias, I, J, K, transpose_A, transpose_B, full_C, low_D, weightA, type);
}

#endif
