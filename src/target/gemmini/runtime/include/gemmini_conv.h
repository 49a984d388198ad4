/* gemmini_conv.h - the library's convolution: output = pool(act(scale * (conv(input, weights) + bias))), any size.
 *
 * Images are NHWC, weights [kernel row][kernel column][in channel][out channel], one bias for each out channel. Three
 * levels, with the names, arguments and tile sizes of Gemmini's C library (ucb-bar/gemmini-rocc-tests of March 2023):
 *   tiled_conv_auto  chooses the tile sizes
 *   tiled_conv       walks the tiles, given their sizes
 *   sp_tiled_conv    one tile: the hardware loop, or with GEMMINI_SOFTWARE_LOOP defined, or where an image is not square
 *                    (the loop knows one size for both sides), the same work in single commands
 *
 * A tile is `batches` images of `porows` x `pocols` pooled pixels of `pochs` channels, from `krows` x `kcols` of the
 * kernel and `kchs` input channels. It uses half of scratchpad and accumulator, because the hardware loop works on two
 * at a time. What serves training only (rotated or transposed operands, dilated inputs) and dilated kernels are not
 * here; nor are depthwise convolutions. No fence at the end, as in the original. */
#ifndef GEMMINI_CONV_H
#define GEMMINI_CONV_H

/* The whole convolution. No pooling is pooling over windows of 1 x 1. */
typedef struct gemmini_conv {
  int batches, in_rows, in_cols, in_channels;
  int out_channels, out_rows, out_cols; /* before pooling */
  int pooled_rows, pooled_cols;
  int stride, padding, kernel;
  int pool_size, pool_stride, pool_padding;
  bool no_pool, no_bias, downsample; /* downsample: 1 x 1, stride 2: only every second row and column is loaded */
  int act;
  acc_scale_t scale;
} gemmini_conv;

/* Tile sizes, in the order in which they are tried. */
enum {
  GEMMINI_BATCHES, GEMMINI_POROWS, GEMMINI_POCOLS, GEMMINI_POCHS, GEMMINI_KROWS, GEMMINI_KCOLS, GEMMINI_KCHS,
  GEMMINI_CONV_SIZES
};

/* One tile: its sizes, what of its input and of its pooling windows lies outside the image, where its arrays begin. */
typedef struct gemmini_conv_tile {
  int batches, porows, pocols, pochs, krows, kcols, kchs;
  int orows, ocols; /* pixels before pooling, without what lies outside */
  int lpad, rpad, upad, dpad, plpad, prpad, pupad, pdpad;
  const elem_t *input, *weights;
  elem_t *output;    /* NULL: results stay in the accumulator */
  const acc_t *bias; /* NULL: they are added to what is there */
} gemmini_conv_tile;

static inline int gemmini_smaller(int a, int b) { return a < b ? a : b; }
static inline int gemmini_larger(int a, int b) { return a > b ? a : b; }
/* Blocks of DIM channels, rounded up. */
static inline int gemmini_channel_blocks(int channels) { return channels / DIM + (channels % DIM != 0); }

/* ---- One tile in single commands --------------------------------------------------------------------------- */

/* Columns of the kernel that share a row of the array, where input channels are few: a row of the scratchpad then holds
 * so many neighbouring pixels. */
static inline int gemmini_conv_pixels(const gemmini_conv *v, const gemmini_conv_tile *t) {
  return v->downsample || t->kchs > DIM ? 1 : gemmini_smaller(DIM / t->kchs, t->kcols);
}

/* Rows and columns of a tile's input, padding included. */
static inline int gemmini_conv_irows(const gemmini_conv *v, const gemmini_conv_tile *t) {
  return t->orows * v->stride + t->krows - 1;
}
static inline int gemmini_conv_icols(const gemmini_conv *v, const gemmini_conv_tile *t) {
  return t->ocols * v->stride + t->kcols - 1;
}

static void gemmini_conv_load_bias(const gemmini_conv *v, const gemmini_conv_tile *t, uint32_t at) {
  const int block = t->batches * t->orows * t->ocols, width = gemmini_smaller(t->pochs, MAX_BLOCK_LEN_ACC * DIM);
  gemmini_extended4_config_ld(0, MVIN_SCALE_IDENTITY, false, block, 2);
  for (int b = 0; b < t->batches; b++)
    for (int row = 0; row < t->orows; row++)
      for (int col = 0; col < t->ocols; col += DIM)
        for (int ch = 0; ch < t->pochs; ch += width)
          gemmini_extended_mvin3(v->no_bias ? NULL : t->bias + ch,
                                 at + ch / DIM * block + (b * t->orows + row) * t->ocols + col,
                                 gemmini_smaller(t->pochs - ch, width), gemmini_smaller(t->ocols - col, DIM));
}

static void gemmini_conv_load_input(const gemmini_conv *v, const gemmini_conv_tile *t, uint32_t at) {
  const int ds = v->downsample, irows = gemmini_conv_irows(v, t), icols = gemmini_conv_icols(v, t);
  const int rows = irows - t->upad - t->dpad, cols = icols - t->lpad - t->rpad; /* without padding */
  const int image = (irows >> ds) * (icols >> ds), block = t->batches * image;
  const int width = gemmini_smaller(t->kchs, MAX_BLOCK_LEN * DIM);
  gemmini_extended5_config_ld((v->in_channels * sizeof(elem_t)) << ds, MVIN_SCALE_IDENTITY, false, block,
                              gemmini_conv_pixels(v, t), 0);
  for (int b = 0; b < t->batches; b++)
    for (int row = -t->upad; row < rows + t->dpad; row += 1 << ds) {
      /* Stretches of columns: the padding before the image, the image, the padding behind. */
      for (int col = -t->lpad, n; col < cols + t->rpad; col += n) {
        n = col < 0       ? gemmini_smaller(-col, DIM)
            : col >= cols ? gemmini_smaller(cols + t->rpad - col, DIM)
                          : gemmini_smaller(cols - col, DIM << ds);
        const bool padding = row < 0 || row >= rows || col < 0 || col >= cols;
        for (int ch = 0; ch < t->kchs; ch += width) {
          const elem_t *from = t->input + (size_t)((b * v->in_rows + row) * v->in_cols + col) * v->in_channels + ch;
          gemmini_extended_mvin(padding ? NULL : from,
                                at + ch / DIM * block + b * image + ((row + t->upad) >> ds) * (icols >> ds) +
                                    ((col + t->lpad) >> ds),
                                gemmini_smaller(t->kchs - ch, width), n >> ds);
        }
      }
    }
}

static void gemmini_conv_load_weights(const gemmini_conv *v, const gemmini_conv_tile *t, uint32_t at) {
  const int block = t->krows * t->kcols * t->kchs, width = gemmini_smaller(t->pochs, MAX_BLOCK_LEN * DIM);
  gemmini_extended4_config_ld(v->out_channels * sizeof(elem_t), MVIN_SCALE_IDENTITY, false, block, 1);
  for (int och = 0; och < t->pochs; och += width)
    for (int row = 0; row < t->krows; row++)
      for (int col = 0; col < t->kcols; col++)
        for (int ich = 0; ich < t->kchs; ich += DIM)
          gemmini_extended_mvin2(
              t->weights + (size_t)((row * v->kernel + col) * v->in_channels + ich) * v->out_channels + och,
              at + och / DIM * block + (row * t->kcols + col) * t->kchs + ich, gemmini_smaller(t->pochs - och, width),
              gemmini_smaller(t->kchs - ich, DIM));
}

/* The products of one block of weights with all pixels of the tile. */
static void gemmini_conv_multiply(const gemmini_conv *v, const gemmini_conv_tile *t, uint32_t input_at,
                                  uint32_t weights_at, uint32_t output_at, int krow, int kcol, int K, int J) {
  const int ds = v->downsample, icols = gemmini_conv_icols(v, t) >> ds, irows = gemmini_conv_irows(v, t) >> ds;
  bool new_weights = true;
  for (int b = 0; b < t->batches; b++)
    for (int row = 0; row < t->orows; row++)
      for (int col = 0; col < t->ocols; col += DIM) {
        const int I = gemmini_smaller(t->ocols - col, DIM);
        const int irow = (row * v->stride + krow) >> ds, icol = (col * v->stride + kcol) >> ds;
        const uint32_t A = input_at + (b * irows + irow) * icols + icol;
        gemmini_extended_preload(new_weights ? weights_at : GARBAGE_ADDR,
                                 output_at + (b * t->orows + row) * t->ocols + col, J, K, J, I);
        if (new_weights) {
          gemmini_extended_compute_preloaded(A, GARBAGE_ADDR, K, I, J, I);
        } else {
          gemmini_extended_compute_accumulated(A, GARBAGE_ADDR, K, I, J, I);
        }
        new_weights = false;
      }
}

static void gemmini_conv_compute(const gemmini_conv *v, const gemmini_conv_tile *t, uint32_t input_at, uint32_t weights_at,
                                 uint32_t output_at) {
  const int input_block =
      t->batches * (gemmini_conv_irows(v, t) >> v->downsample) * (gemmini_conv_icols(v, t) >> v->downsample);
  const int weights_block = t->krows * t->kcols * t->kchs, output_block = t->batches * t->orows * t->ocols;
  const int pixels = gemmini_conv_pixels(v, t);
  for (int och = 0; och < t->pochs; och += DIM)
    for (int krow = 0; krow < t->krows; krow++)
      for (int kcol = 0; kcol < t->kcols; kcol += pixels)
        for (int ich = 0; ich < t->kchs; ich += DIM)
          gemmini_conv_multiply(v, t, input_at + ich / DIM * input_block,
                                weights_at + och / DIM * weights_block + (krow * t->kcols + kcol) * t->kchs + ich,
                                output_at + och / DIM * output_block, krow, kcol,
                                gemmini_smaller(t->kcols - kcol, pixels) * gemmini_smaller(t->kchs - ich, DIM),
                                gemmini_smaller(t->pochs - och, DIM));
}

static void gemmini_conv_store(const gemmini_conv *v, const gemmini_conv_tile *t, uint32_t at) {
  const int block = t->batches * t->orows * t->ocols;
  if (!v->no_pool) {
    /* One mvout for the pixels of an image and a block of channels; the config before says how they are pooled. */
    gemmini_extended2_config_st(v->out_channels * sizeof(elem_t), v->act, v->scale, v->pool_stride, v->pool_size,
                                v->pooled_cols, t->porows, t->pocols, t->orows, t->ocols, t->pupad, t->plpad);
    for (int b = 0; b < t->batches; b++)
      for (int ch = 0; ch < t->pochs; ch += DIM)
        gemmini_extended_mvout(t->output + (size_t)(b * v->pooled_rows * v->pooled_cols) * v->out_channels + ch,
                               at + ch / DIM * block + b * t->orows * t->ocols, gemmini_smaller(t->pochs - ch, DIM), 0);
    gemmini_extended_config_st(v->out_channels * sizeof(elem_t), v->act, v->scale);
    return;
  }
  for (int b = 0; b < t->batches; b++)
    for (int row = 0; row < t->orows; row++)
      for (int col = 0; col < t->ocols; col += DIM)
        for (int ch = 0; ch < t->pochs; ch += DIM)
          gemmini_extended_mvout(
              t->output + (size_t)((b * v->out_rows + row) * v->out_cols + col) * v->out_channels + ch,
              at + ch / DIM * block + (b * t->orows + row) * t->ocols + col, gemmini_smaller(t->pochs - ch, DIM),
              gemmini_smaller(t->ocols - col, DIM));
}

/* The halves of the accumulator alternate: bias and results move on when they are done with one. */
static void gemmini_conv_tile_by_commands(const gemmini_conv *v, const gemmini_conv_tile *t) {
  static uint32_t bias_half, output_half;
  const uint32_t bias_at = GEMMINI_ACC_BASE + bias_half;
  const uint32_t output_at = (GEMMINI_ACC_BASE | GEMMINI_ACC_ADD) + output_half;
  const uint32_t weights_at =
      BANK_NUM * BANK_ROWS - gemmini_channel_blocks(t->pochs) * t->krows * t->kcols * t->kchs;
  if (t->bias != NULL) bias_half = (bias_half + ACC_ROWS / 2) % ACC_ROWS;
  if (t->output != NULL) output_half = (output_half + ACC_ROWS / 2) % ACC_ROWS;
  if (t->bias != NULL) gemmini_conv_load_bias(v, t, bias_at);
  gemmini_conv_load_input(v, t, 0);
  gemmini_conv_load_weights(v, t, weights_at);
  gemmini_conv_compute(v, t, 0, weights_at, output_at);
  if (t->output != NULL) gemmini_conv_store(v, t, output_at);
}

static void sp_tiled_conv(const gemmini_conv *v, const gemmini_conv_tile *t) {
#ifdef GEMMINI_SOFTWARE_LOOP
  const bool hardware = false;
#else
  const bool hardware =
      v->in_rows == v->in_cols && v->out_rows == v->out_cols && v->pooled_rows == v->pooled_cols;
#endif
  if (!hardware) {
    gemmini_conv_tile_by_commands(v, t);
    return;
  }
  gemmini_loop_conv_ws(v->batches, v->in_rows, v->in_channels, v->out_channels, v->out_rows, v->pooled_rows, v->stride,
                       v->padding, v->kernel, 1, v->pool_size, v->pool_stride, v->pool_padding, t->batches, t->porows,
                       t->pocols, t->pochs, t->krows, t->kcols, t->kchs, t->lpad, t->rpad, t->upad, t->dpad, t->plpad,
                       t->prpad, t->pupad, t->pdpad, t->orows, t->ocols, t->weights, t->output, t->bias, t->input,
                       v->no_bias, v->no_pool, v->downsample, false, false, v->act, false, false, false, false,
                       gemmini_conv_pixels(v, t), false);
}

/* ---- The walk over the tiles ------------------------------------------------------------------------------- */

static inline void gemmini_conv_require(bool condition, const char *what) {
  if (condition) return;
  printf("tiled_conv: %s\n", what);
  exit(1);
}

/* Rows of the scratchpad (input and weights) or of the accumulator that a tile takes. */
static int tiled_conv_total_spad_rows(bool acc, const gemmini_conv *v, const int size[GEMMINI_CONV_SIZES]) {
  const int orows = size[GEMMINI_POROWS] * v->pool_stride + v->pool_size - 1;
  const int ocols = size[GEMMINI_POCOLS] * v->pool_stride + v->pool_size - 1;
  const int irows = orows * v->stride + size[GEMMINI_KROWS] - 1, icols = ocols * v->stride + size[GEMMINI_KCOLS] - 1;
  const int out_blocks = gemmini_channel_blocks(size[GEMMINI_POCHS]);
  if (acc) return out_blocks * size[GEMMINI_BATCHES] * orows * ocols;
  return gemmini_channel_blocks(size[GEMMINI_KCHS]) * size[GEMMINI_BATCHES] * (irows >> v->downsample) *
             (icols >> v->downsample) +
         out_blocks * size[GEMMINI_KROWS] * size[GEMMINI_KCOLS] * size[GEMMINI_KCHS];
}

static inline bool gemmini_conv_fits(const gemmini_conv *v, const int size[GEMMINI_CONV_SIZES]) {
  return tiled_conv_total_spad_rows(false, v, size) <= BANK_NUM * BANK_ROWS / 2 &&
         tiled_conv_total_spad_rows(true, v, size) <= ACC_ROWS / 2;
}

/* What of [first, first + count) lies at or behind `end`. */
static inline int gemmini_beyond(int first, int count, int end) { return gemmini_larger(first + count - end, 0); }

/* The tile that begins at image b, pooled pixel (porow, pocol), out channel poch, kernel (krow, kcol), in channel kch. */
static gemmini_conv_tile gemmini_conv_tile_at(const gemmini_conv *v, const int size[GEMMINI_CONV_SIZES],
                                              const elem_t *input, const elem_t *weights, const acc_t *bias,
                                              elem_t *output, int b, int porow, int pocol, int poch, int krow, int kcol,
                                              int kch) {
  gemmini_conv_tile t;
  t.batches = gemmini_smaller(v->batches - b, size[GEMMINI_BATCHES]);
  t.porows = gemmini_smaller(v->pooled_rows - porow, size[GEMMINI_POROWS]);
  t.pocols = gemmini_smaller(v->pooled_cols - pocol, size[GEMMINI_POCOLS]);
  t.pochs = gemmini_smaller(v->out_channels - poch, size[GEMMINI_POCHS]);
  t.krows = gemmini_smaller(v->kernel - krow, size[GEMMINI_KROWS]);
  t.kcols = gemmini_smaller(v->kernel - kcol, size[GEMMINI_KCOLS]);
  t.kchs = gemmini_smaller(v->in_channels - kch, size[GEMMINI_KCHS]);

  /* The pixels under the pooling windows, and what of them lies outside the image. */
  const int orow = porow * v->pool_stride - v->pool_padding, ocol = pocol * v->pool_stride - v->pool_padding;
  const int orows = t.porows * v->pool_stride + v->pool_size - 1, ocols = t.pocols * v->pool_stride + v->pool_size - 1;
  t.pupad = gemmini_larger(-orow, 0), t.pdpad = gemmini_beyond(orow, orows, v->out_rows);
  t.plpad = gemmini_larger(-ocol, 0), t.prpad = gemmini_beyond(ocol, ocols, v->out_cols);
  t.orows = orows - t.pupad - t.pdpad, t.ocols = ocols - t.plpad - t.prpad;

  /* The input under the kernel at those pixels, likewise. */
  const int irow = gemmini_larger(orow, 0) * v->stride + krow - v->padding;
  const int icol = gemmini_larger(ocol, 0) * v->stride + kcol - v->padding;
  t.upad = gemmini_larger(-irow, 0), t.dpad = gemmini_beyond(irow, gemmini_conv_irows(v, &t), v->in_rows);
  t.lpad = gemmini_larger(-icol, 0), t.rpad = gemmini_beyond(icol, gemmini_conv_icols(v, &t), v->in_cols);

  /* The bias comes with the first part of a sum, the results leave with the last. */
  const bool first = krow == 0 && kcol == 0 && kch == 0;
  const bool last = krow + t.krows == v->kernel && kcol + t.kcols == v->kernel && kch + t.kchs == v->in_channels;
  t.bias = first ? bias + poch : NULL;
  t.output = last ? output + (size_t)((b * v->pooled_rows + porow) * v->pooled_cols + pocol) * v->out_channels + poch
                  : NULL;
  t.weights = weights + (size_t)((krow * v->kernel + kcol) * v->in_channels + kch) * v->out_channels + poch;
  t.input = input + (size_t)((b * v->in_rows + irow + t.upad) * v->in_cols + icol + t.lpad) * v->in_channels + kch;
  return t;
}

static void gemmini_conv_walk(const gemmini_conv *v, const int size[GEMMINI_CONV_SIZES], const elem_t *input,
                              const elem_t *weights, const acc_t *bias, elem_t *output) {
  /* Any address but NULL will do for a bias that is not there: NULL means "add to what is there" further down. */
  if (v->no_bias) bias = (const acc_t *)1;
  gemmini_extended_config_st(v->out_channels * sizeof(elem_t), v->act, v->scale);
  gemmini_extended3_config_ex(WEIGHT_STATIONARY, 0, 0, 0, 1, v->stride >> v->downsample, false, false, false);
  for (int b = 0; b < v->batches; b += size[GEMMINI_BATCHES])
    for (int porow = 0; porow < v->pooled_rows; porow += size[GEMMINI_POROWS])
      for (int pocol = 0; pocol < v->pooled_cols; pocol += size[GEMMINI_POCOLS])
        for (int poch = 0; poch < v->out_channels; poch += size[GEMMINI_POCHS])
          for (int krow = 0; krow < v->kernel; krow += size[GEMMINI_KROWS])
            for (int kcol = 0; kcol < v->kernel; kcol += size[GEMMINI_KCOLS])
              for (int kch = 0; kch < v->in_channels; kch += size[GEMMINI_KCHS]) {
                const gemmini_conv_tile t = gemmini_conv_tile_at(v, size, input, weights, bias, output, b, porow, pocol,
                                                                 poch, krow, kcol, kch);
                sp_tiled_conv(v, &t);
              }
}

/* ---- The calls --------------------------------------------------------------------------------------------- */

#define GEMMINI_CONV_PARAMETERS \
  int batch_size, int in_row_dim, int in_col_dim, int in_channels, int out_channels, int out_row_dim, int out_col_dim, \
      int stride, int input_dilation, int kernel_dilation, int padding, int kernel_dim, bool wrot180, \
      bool trans_output_1203, bool trans_input_3120, bool trans_weight_1203, bool trans_weight_0132
#define GEMMINI_CONV_ARGUMENTS \
  batch_size, in_row_dim, in_col_dim, in_channels, out_channels, out_row_dim, out_col_dim, stride, input_dilation, \
      kernel_dilation, padding, kernel_dim, wrot180, trans_output_1203, trans_input_3120, trans_weight_1203, \
      trans_weight_0132

/* pool_stride 0: no pooling. */
static inline gemmini_conv gemmini_conv_of(GEMMINI_CONV_PARAMETERS, bool no_bias, int act, acc_scale_t scale,
                                           int pool_size, int pool_stride, int pool_padding,
                                           enum tiled_matmul_type_t type) {
  const bool pools = pool_stride != 0;
  gemmini_conv v = {.batches = batch_size, .in_rows = in_row_dim, .in_cols = in_col_dim, .in_channels = in_channels,
                    .out_channels = out_channels, .out_rows = out_row_dim, .out_cols = out_col_dim, .stride = stride,
                    .padding = padding, .kernel = kernel_dim, .pool_size = pools ? pool_size : 1,
                    .pool_stride = pools ? pool_stride : 1, .pool_padding = pools ? pool_padding : 0,
                    .no_pool = !pools, .no_bias = no_bias, .act = act, .scale = scale};
  gemmini_conv_require(type == WS, "only the weight-stationary dataflow is available here");
  gemmini_conv_require(!wrot180 && !trans_output_1203 && !trans_input_3120 && !trans_weight_1203 && !trans_weight_0132,
                       "rotated and transposed operands are not available here");
  gemmini_conv_require(input_dilation == 1 && kernel_dilation == 1, "dilation is not available here");
  gemmini_conv_require(padding < kernel_dim, "padding must be less than the kernel's size");
  v.pooled_rows = (out_row_dim + 2 * v.pool_padding - v.pool_size) / v.pool_stride + 1;
  v.pooled_cols = (out_col_dim + 2 * v.pool_padding - v.pool_size) / v.pool_stride + 1;
  v.downsample = stride == 2 && kernel_dim == 1 && in_row_dim % 2 == 0 && in_col_dim % 2 == 0 && padding == 0 && !pools;
  return v;
}

/* A function of its own, which its arguments reach in registers and on the stack, as where a network calls it for each of its
 * layers: a copy made for the constants of a single call is faster than that, and than what the RTL measured. */
__attribute__((noinline, noclone))
static void tiled_conv(GEMMINI_CONV_PARAMETERS, int batches, int porows, int pocols, int pochs, int krows, int kcols,
                       int kchs, const elem_t *input, const elem_t *weights, const acc_t *bias, elem_t *output, int act,
                       acc_scale_t scale, int pool_size, int pool_stride, int pool_padding,
                       enum tiled_matmul_type_t tiled_conv_type) {
  const gemmini_conv v = gemmini_conv_of(GEMMINI_CONV_ARGUMENTS, bias == NULL, act, scale, pool_size, pool_stride,
                                         pool_padding, tiled_conv_type);
  const int size[GEMMINI_CONV_SIZES] = {batches, porows, pocols, pochs, krows, kcols, kchs};
  for (int i = 0; i < GEMMINI_CONV_SIZES; i++) gemmini_conv_require(size[i] > 0, "tile sizes must be positive");
  gemmini_conv_require(gemmini_conv_fits(&v, size), "the tiles do not fit half of scratchpad and accumulator");
  gemmini_conv_walk(&v, size, input, weights, bias, output);
}

/* Everything in one tile if it fits. Otherwise the largest size goes down by one (channels: to the next multiple of
 * DIM), the first of equals, but not columns that would no longer fill the array while there are rows to take instead.
 * Then columns grow again while they fit, then every size in turn. */
static void tiled_conv_auto(GEMMINI_CONV_PARAMETERS, const elem_t *input, const elem_t *weights, const acc_t *bias,
                            elem_t *output, int act, acc_scale_t scale, int pool_size, int pool_stride,
                            int pool_padding, enum tiled_matmul_type_t tiled_conv_type) {
  const gemmini_conv v = gemmini_conv_of(GEMMINI_CONV_ARGUMENTS, bias == NULL, act, scale, pool_size, pool_stride,
                                         pool_padding, tiled_conv_type);
  const int most[GEMMINI_CONV_SIZES] = {batch_size, v.pooled_rows, v.pooled_cols, out_channels,
                                        kernel_dim, kernel_dim,    in_channels};
  int size[GEMMINI_CONV_SIZES];
  for (int i = 0; i < GEMMINI_CONV_SIZES; i++) size[i] = most[i];

  while (!gemmini_conv_fits(&v, size)) {
    int largest = -1;
    for (int i = 0; i < GEMMINI_CONV_SIZES; i++) {
      if (i == GEMMINI_POCOLS && size[i] <= DIM && size[GEMMINI_POROWS] > 1) continue;
      if (largest < 0 || size[i] > size[largest]) largest = i;
    }
    if (largest == GEMMINI_POCHS || largest == GEMMINI_KCHS) {
      size[largest] = (size[largest] - 1) / DIM * DIM;
      if (size[largest] == 0) size[largest] = 1;
    } else {
      size[largest]--;
    }
    gemmini_conv_require(size[largest] > 0, "the smallest tile does not fit");
  }

  while (size[GEMMINI_POCOLS] < most[GEMMINI_POCOLS]) {
    size[GEMMINI_POCOLS]++;
    if (gemmini_conv_fits(&v, size)) continue;
    size[GEMMINI_POCOLS]--;
    break;
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (int i = 0; i < GEMMINI_CONV_SIZES; i++) {
      if (size[i] == most[i]) continue;
      size[i]++;
      if (gemmini_conv_fits(&v, size))
        grown = true;
      else
        size[i]--;
    }
  }

  gemmini_conv_walk(&v, size, input, weights, bias, output);
}

#endif
