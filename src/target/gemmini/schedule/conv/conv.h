/* conv.h - schedules for conv2d: a schedule in numbers, and the layout that follows from it.
 *
 * A plan describes a kernel with one loop structure, the same for every plan:
 *
 *   for each tile of the output (order pk or kp)        pixels: images n, rows y, columns x; channels k
 *     [fill the tile with zeros or bias]
 *     for each step along kernel rows r and channels c  a step uses one chunk of A and one chunk of B
 *       chunk of A: the pixels of the input that the tile's results and the step's taps touch, in blocks of channels;
 *       chunk of B: the weights of the step's taps, channels c and k; each in a slot of the scratchpad
 *       runs: for each block of weights (tap r, s, block of c, block of k) in the order `loops`
 *         pairs: the block is preloaded once and stays while all blocks of pixels of the tile pass (preload + compute)
 *       [loads of a later step, stores of the previous tile, bias of the next one, spread among the pairs]
 *     [store the tile]
 *
 * The kernel does not use im2col: a pixel of a chunk is a row of the scratchpad for each block of channels, so that the
 * pixels that a tap needs for consecutive results are rows `a_stride` apart, and a block of pixels is an address. A
 * block never spans two rows of the output: blocks of a row are `block` pixels high, and the remainder comes first,
 * because the last pair of a run carries the next weights into the array and takes dim cycles however low it is
 * (ExecuteController.scala:285-302).
 *
 * Where channels are few, `pack` columns of the kernel share a block: every row of the scratchpad holds that many
 * neighbouring pixels (the mvin repeats them), every block of weights as many columns' channels one below the other.
 *
 * Small images go several to a tile: their chunks are stored consecutively, and so are their rows of results.
 *
 * Where rows of results are short, each column of the kernel may have a plane of pixels of its own (`unfold`), loaded
 * that many times: the pixels that a tap needs for all results of a tile then follow each other, and the tile is one
 * row.
 *
 * Padding is loaded as zeros. With pooling a tile counts results of the pooling, and the results of the convolution
 * that two tiles need are computed for both.
 *
 * Sizes in pixels are elements; k and c are blocks of dim channels, the last of which may be partial. */
#ifndef TW_GEMMINI_CONV_H
#define TW_GEMMINI_CONV_H

#include "op/conv2d.h"
#include "target/gemmini/schedule/levers.h"
#include "target/gemmini/schedule/operand.h"
#include "target/gemmini/schedule/slots.h"
#include "tilewright/extend/op.h"
#include "tilewright/schedule.h"

/* The problem for this machine. A convolution of 1 x 1 without stride, padding or pooling is one row of pixels. */
typedef struct gm_conv {
  tw_conv2d of; /* the original problem: the arrays' dimensions */
  int n, h, w, c, k, r, s, stride, pad;
  int pool, pool_stride, pool_pad; /* pool 0: none, pool_stride 1 */
  int p, q;                        /* results of the convolution */
  int out_h, out_w;                /* results after pooling */
  int cb, kb;                      /* blocks of channels */
  bool bias, relu, transposed;     /* transposed: weights[k][r][s][c] */
  double scale;
  bool wide_output; /* the output has the accumulator's type: mvout of all bits */
  int input_bytes, output_bytes, acc_bytes;
  const char *input_type, *output_type, *acc_type; /* in C */
} gm_conv;
tw_status gm_conv_from(const gm_config *, const tw_problem *, gm_conv *, tw_error *);

typedef struct gm_conv_plan {
  gm_levers levers;
  int tile_n;         /* images of a tile: more than one where it has all of their pixels */
  int tile_p, tile_q; /* rows, columns of a tile of the output */
  int tile_k, tile_c; /* blocks */
  int tile_r;         /* rows of the kernel in a step */
  int pack;           /* columns of the kernel in a block: 1, or more if all their channels fit */
  bool unfold;        /* columns of the kernel have separate planes of pixels; tiles are one row */
  bool pixels_outer;  /* order pk: all k for a tile of pixels; kp: all pixels for a tile of k */
  bool even;          /* blocks of pixels of equal height */
  char loops[5];      /* order of the blocks of weights of a step, outermost first: a permutation of "rsck" */
  int unroll;         /* pairs of one row of pixels (1) or of a whole run (2) are straight code */
  bool turn;          /* weights [k][r][s][c] are first transposed to [r][s][c][k] (emit_turn.h) */
} gm_conv_plan;

/* The problem after the weights were transposed. */
static inline gm_conv gm_conv_turned(const gm_conv *v, const gm_conv_plan *p) {
  gm_conv turned = *v;
  turned.transposed = v->transposed && !p->turn;
  return turned;
}

typedef struct gm_conv_layout {
  int tiles_n, tiles_y, tiles_x, tiles_k, chunks_r, chunks_c;
  gm_operand_layout a, b;
  int taps; /* blocks for the columns of the kernel: s, or fewer if packed */
  int rows,
      /* results of the convolution in a full tile, of all its images. Unfolded: images, results of one image */
      columns;
  int image_rows, image_h; /* rows of results, rows of a chunk, that belong to one image */
  int dx, dy;              /* pixels of the input from column to column, row to row of a chunk */
  int a_stride;            /* columns of a chunk from one result to the next: the stride of compute */
  int row_step;            /* rows of a chunk from row to row of results */
  int chunk_h, chunk_w;    /* rows and columns of a chunk */
  int planes; /* number of planes of pixels, each of chunk_h rows: 1, or the number of the kernel's columns */
  int a_row, a_tap, a_channels; /* scratchpad rows from row to row of a chunk, from column to column of the kernel, from
                                 * block to block of channels */
  int a_before;                 /* rows of a slot before the chunk, into which repeated pixels spill */
  int block, blocks;            /* pixels in a full block; blocks in a row of a full tile */
  int c_block, c_row, c_plane;  /* accumulator rows from block to block of pixels, row to row (with pooling: the
                                * columns of the tile), block of k to block of k */
  int c_rows, c_stride;         /* accumulator rows of a tile; from buffer 0 to buffer 1 */
  size_t spad_bytes, acc_bytes;
} gm_conv_layout;

/* Slots for loads (stores) if one comes every `spread` pairs. Levels are the four loops over blocks of weights, the
 * rows of pixels, and the pairs of a row. */
gm_slots gm_conv_slots(const gm_conv_plan *, const gm_conv_layout *, int spread);

/* The steps of conv2d, as a table; its functions take a context. */
typedef struct gm_conv_context {
  gm_lever_context levers;
  const gm_conv *conv;
  gm_conv_layout *layout; /* layout of the plan that was checked last */
} gm_conv_context;
extern const tw_language gm_conv_language;
gm_conv_context gm_conv_context_of(const gm_config *, const gm_conv *, gm_conv_layout *);
/* The rules of a plan; fills the context's layout. */
tw_status gm_conv_layout_of(const void *context, const void *plan, tw_error *);
/* Replays a schedule; every prefix of the schedule must be legal. */
tw_status gm_conv_replay(const gm_config *, const gm_conv *, const tw_schedule *, gm_conv_plan *, gm_conv_layout *,
                         tw_error *);
/* "tiles of 2 x 56 pixels x 64 channels, ...": one line. Returns buffer. */
char *gm_conv_print(const gm_config *, const gm_conv_plan *, char *buffer, size_t size);

/* The analytic model: cycles of a legal plan (model.c). */
double gm_conv_predict_plan(const gm_config *, const gm_conv *, const gm_conv_plan *, const gm_conv_layout *);

/* Blocks of the widest mvout. */
static inline int gm_conv_widest_store(const gm_config *c, const gm_conv *v) {
  if (v->output_bytes > v->input_bytes)
    return 1; /* full-width data goes a block at a time (StoreController.scala:217) */
  return v->pool ? 1 : gm_max(1, c->dma_max_bytes / (c->dim * v->output_bytes));
}
/* Steps for each tile, tiles of pixels. */
static inline int gm_conv_steps_each(const gm_conv_layout *l) { return l->chunks_r * l->chunks_c; }
static inline int gm_conv_pixel_tiles(const gm_conv_layout *l) { return l->tiles_n * l->tiles_y * l->tiles_x; }
/* Rows of the convolution that rows (columns) [y, y + n) of the output need. */
int gm_conv_extent(const gm_conv *, int y, int n, int length);

#endif
