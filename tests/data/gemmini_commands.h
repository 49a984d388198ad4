/* gemmini_commands.h - what Gemmini's commands do, on the host and without time: kernels emitted for Gemmini are
 * compiled against this header and run as they stand. Weight-stationary only. The caller sets DIM, elem_t, acc_t,
 * SPAD_ROWS, ACC_ROWS; `commands_fault` counts what no correct program does. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WEIGHT_STATIONARY 1
#define NO_ACTIVATION 0
#define RELU 1

static elem_t spad[SPAD_ROWS][DIM];
static acc_t acc[ACC_ROWS][DIM];
static elem_t weights[DIM][DIM];
static uint64_t preloaded_b, preloaded_c;
static struct {
  long stride;
  int block, pixels; /* pixels: a row is written so often, each time a pixel further right and a row up */
} load_config[3];
static long store_stride;
static int store_relu;
static float store_scale;
static struct {
  int stride, size, out_dim, out_rows, out_columns, rows, columns, above, left;
} pool; /* stride 0: none */
static bool a_transposed, b_transposed;
static int a_stride;
static int commands_fault;

static uint64_t operand(uint64_t address, uint64_t cols, uint64_t rows) { return rows << 48 | cols << 32 | address; }
static uint32_t local(uint64_t o) { return (uint32_t)o; }
static int columns(uint64_t o) { return (int)(o >> 32 & 0xffff); }
static int rows_of(uint64_t o) { return (int)(o >> 48); }

static void reset_commands(void) {
  memset(spad, 77, sizeof spad); /* what was never loaded must not matter */
  memset(acc, 77, sizeof acc);
  commands_fault = 0;
}

static bool in_range(uint32_t address, int rows) {
  const bool is_acc = address >> 31;
  const uint32_t row = address & 0x1fffffff;
  if (row + (uint32_t)rows <= (is_acc ? ACC_ROWS : SPAD_ROWS)) return true;
  commands_fault++;
  return false;
}

static void run_mvin(int id, const void *from, uint64_t o) {
  const int cols = columns(o), rows = rows_of(o);
  if (rows < 1 || rows > DIM || cols < 1 || cols > 4 * DIM) commands_fault++;
  if (load_config[id].pixels > 1 && (local(o) >> 31 || load_config[id].pixels * cols > DIM)) {
    commands_fault++;
    return;
  }
  for (int x = 0; x < cols; x += DIM) {
    const uint32_t to = local(o) + (uint32_t)(x / DIM * load_config[id].block);
    if (!in_range(to, rows)) return;
    for (int r = 0; r < rows; r++)
      for (int y = 0; y < DIM && x + y < cols; y++) {
        const char *row = from ? (const char *)from + r * load_config[id].stride : 0;
        if (to >> 31)
          acc[(to & 0x1fffffff) + r][y] =
              (to >> 30 & 1 ? acc[(to & 0x1fffffff) + r][y] : 0) + (row ? ((const acc_t *)row)[x + y] : 0);
        else
          for (int i = 0; i < load_config[id].pixels; i++)
            if (to + r >= i) spad[to + r - i][i * cols + y] = row ? ((const elem_t *)row)[x + y] : 0;
      }
  }
}

static void run_preload(uint64_t b, uint64_t c) {
  preloaded_b = b;
  preloaded_c = c;
}

static void run_compute(uint64_t a, bool load_weights) {
  const uint32_t b = local(preloaded_b), c = local(preloaded_c);
  if (load_weights != (b != 0xffffffffu) || local(a) == 0xffffffffu || !(c >> 31)) commands_fault++;
  if (load_weights && in_range(b, DIM))
    for (int r = 0; r < DIM; r++)
      for (int y = 0; y < DIM; y++)
        weights[r][y] = r >= rows_of(preloaded_b) || y >= columns(preloaded_b) ? 0
                        : b_transposed                                         ? spad[b + y][r]
                                                                               : spad[b + r][y];
  if (!in_range(local(a), (rows_of(a) - 1) * a_stride + 1) || !in_range(c, rows_of(preloaded_c))) return;
  for (int r = 0; r < rows_of(preloaded_c); r++)
    for (int y = 0; y < columns(preloaded_c); y++) {
      acc_t sum = 0;
      for (int k = 0; k < columns(a) && r < rows_of(a); k++)
        sum += (acc_t)(a_transposed ? spad[local(a) + k][r] : spad[local(a) + r * a_stride][k]) * (acc_t)weights[k][y];
      acc_t *to = &acc[(c & 0x1fffffff) + r][y];
      *to = c >> 30 & 1 ? *to + sum : sum;
    }
}

static bool is_wide(uint64_t o) { return local(o) >> 29 & 1; }

/* An element as it leaves the accumulator: of acc_t where all its bits leave, of elem_t otherwise. */
static acc_t finished(uint64_t o, uint32_t row, int column) {
  if (is_wide(o)) return acc[row][column];
  float value = (float)acc[row][column] * store_scale;
  if (sizeof(elem_t) == 1) {
    value = nearbyintf(value);
    value = value > 127 ? 127 : value < -128 ? -128 : value;
  }
  return (acc_t)(store_relu && value < 0 ? 0 : value);
}

static void put(void *row, int column, uint64_t o, acc_t value) {
  if (is_wide(o))
    ((acc_t *)row)[column] = value;
  else
    ((elem_t *)row)[column] = (elem_t)value;
}

/* The largest of a window; what lies outside the image counts as zero. */
static acc_t pooled(uint64_t o, int window_row, int window_column, int channel) {
  acc_t largest = 0;
  for (int i = 0; i < pool.size * pool.size; i++) {
    const int row = window_row * pool.stride - pool.above + i / pool.size;
    const int column = window_column * pool.stride - pool.left + i % pool.size;
    const uint32_t at = (local(o) & 0x1fffffff) + (uint32_t)(row * pool.columns + column);
    const bool inside = row >= 0 && column >= 0 && row < pool.rows && column < pool.columns;
    if (inside && !in_range(0x80000000u | at, 1)) return 0;
    const acc_t value = inside ? finished(o, at, channel) : 0;
    if (i == 0 || value > largest) largest = value;
  }
  return largest;
}

static void run_pooled_mvout(void *to, uint64_t o) {
  if (columns(o) > DIM || pool.size > 3 || pool.stride > 3 || pool.out_rows > 255 || pool.out_columns > 255 ||
      pool.rows > 255 || pool.columns > 255 || pool.out_dim > 255 || pool.above > 3 || pool.left > 3)
    commands_fault++;
  for (int row = 0; row < pool.out_rows; row++)
    for (int column = 0; column < pool.out_columns; column++)
      for (int y = 0; y < columns(o); y++)
        put((char *)to + (row * pool.out_dim + column) * store_stride, y, o, pooled(o, row, column, y));
}

static void run_mvout(void *to, uint64_t o) {
  const int cols = columns(o), rows = rows_of(o), bytes = is_wide(o) ? sizeof(acc_t) : sizeof(elem_t);
  if (!(local(o) >> 31) || rows < 1 || rows > DIM || cols < 1 || cols * bytes > (DIM * bytes > 64 ? DIM * bytes : 64))
    commands_fault++;
  if (pool.stride) {
    run_pooled_mvout(to, o);
    return;
  }
  for (int x = 0; x < cols; x += DIM)
    for (int r = 0; r < rows; r++)
      for (int y = 0; y < DIM && x + y < cols; y++) {
        const uint32_t row = (local(o) & 0x1fffffff) + (uint32_t)(x / DIM * DIM + r);
        if (!in_range(0x80000000u | row, 1)) return;
        put((char *)to + r * store_stride, x + y, o, finished(o, row, y));
      }
}

#define config_ex(dataflow, act, stride, a_t, b_t)                                                                     \
  ((void)(a_stride = (stride), a_transposed = (a_t), b_transposed = (b_t)))
#define gemmini_extended5_config_ld(s, factor, shrunk, b, repeats, id)                                                 \
  ((void)(load_config[id].stride = (long)(s), load_config[id].block = (b), load_config[id].pixels = (repeats)))
#define config_ld(s, factor, b, id) gemmini_extended5_config_ld(s, factor, false, b, 1, id)
static void run_config_st(long stride, int relu, float scale) {
  memset(&pool, 0, sizeof pool);
  store_stride = stride;
  store_relu = relu;
  store_scale = scale;
}
#define gemmini_extended_config_st(s, act, factor) run_config_st((long)(s), act, (float)(factor))
#define gemmini_extended2_config_st(s, act, factor, p_stride, p_size, p_dim, p_rows, p_columns, rows_, columns_, up,   \
                                    left_)                                                                             \
  (run_config_st((long)(s), act, (float)(factor)), pool.stride = (p_stride), pool.size = (p_size),                     \
   pool.out_dim = (p_dim), pool.out_rows = (p_rows), pool.out_columns = (p_columns), pool.rows = (rows_),              \
   pool.columns = (columns_), pool.above = (up), pool.left = (left_))
#define config_st(s) gemmini_extended_config_st(s, NO_ACTIVATION, 1.0f)
#define mvin(from, to, cols, rows) run_mvin(0, (const void *)(uintptr_t)(from), operand(to, cols, rows))
#define mvin2(from, to, cols, rows) run_mvin(1, (const void *)(uintptr_t)(from), operand(to, cols, rows))
#define mvin3(from, to, cols, rows) run_mvin(2, (const void *)(uintptr_t)(from), operand(to, cols, rows))
#define preload(b, c, b_cols, b_rows, c_cols, c_rows)                                                                  \
  run_preload(operand(b, b_cols, b_rows), operand(c, c_cols, c_rows))
#define compute_preloaded(a, d, a_cols, a_rows, d_cols, d_rows) run_compute(operand(a, a_cols, a_rows), true)
#define compute_accumulated(a, d, a_cols, a_rows, d_cols, d_rows) run_compute(operand(a, a_cols, a_rows), false)
#define mvout(to, from, cols, rows) run_mvout(to, operand(from, cols, rows))
#define fence() ((void)0)
