/* functional_dma.c - mvin and mvout: between the memory of the program and the local memories.
 *
 * Rules and their place in the RTL (ucb-bar/gemmini at be2e9f2, src/main/scala/gemmini):
 *   columns beyond the last one loaded keep their value: writes are masked by byte (BeatMerger.scala:71-75)
 *   row r of block b goes to local row base + r + b * block_stride (DMA.scala:266-272)
 *   memory stride 0 loads one row and writes it to all (LoadController.scala:76, 105); address 0 loads zeros
 *   pixel_repeats n writes each row n times, i columns of pixels further right i rows before its own, for all i < n;
 *   rows before the scratchpad, or before its second half from there, are left out (PixelRepeater.scala)
 *   32-bit data into the accumulator is at most one packet wide: the reader's byte counter ends there (DMA.scala:162)
 *   mvout gathers blocks from local rows base + r + b * dim (StoreController.scala:124)
 *   pooling reads rows outside the image as zeros (StoreController.scala:126-129, Scratchpad.scala:300-303) and keeps
 *   the larger of the scaled elements, the older one of equals (DMA.scala:588-594). */
#include "target/gemmini/machine/functional_private.h"

#include <stdlib.h>

enum { READS_MAX = 1 << 16 }; /* reads recorded between two fences */

/* ---- addresses of the program ---- */

static const char *command_name(const gm_command *command) {
  switch (command->funct) {
  case GM_MVIN: return "mvin";
  case GM_MVIN2: return "mvin2";
  case GM_MVIN3: return "mvin3";
  default: return "mvout";
  }
}

static bool covers(const rv64_region *r, uint64_t address, uint64_t bytes) {
  return address >= r->base && address - r->base < r->size && bytes <= r->size - (address - r->base);
}

/* The place of the command in the program; for a command of a hardware loop, the place of the latest command. */
static uint64_t place_of(const gm_arch *g, uint32_t order) { return g->place[(order ? order : g->issued) % 256]; }

/* Names the missed array and the distance: the array in which the access begins, or the nearest one below. */
static void *memory_fault(const gm_arch *g, const char *name, uint32_t order, bool write, uint64_t address,
                          uint64_t bytes, char why[GM_WHY]) {
  const char *verb = write ? "writes" : "reads";
  const rv64_region *below = NULL;
  for (size_t i = 0; i < g->memory->n_regions; i++) {
    const rv64_region *r = &g->memory->region[i];
    if (r->base <= address && (!below || r->base > below->base)) below = r;
  }
  unsigned long long at = address, n = bytes;
  if (!below) {
    gm_fault(why, "%s: %s %llu bytes at 0x%llx, which is not mapped", name, verb, n, at);
    return NULL;
  }
  unsigned long long offset = address - below->base, size = below->size;
  char here[64] = "?", writer[64] = "?";
  const bool in_flight = !write && covers(below, address, bytes) && rv64_is_in_flight(below, offset, bytes);
  if (in_flight) {
    rv64_describe_code(g->memory, place_of(g, order), here, sizeof here);
    rv64_describe_code(g->memory, rv64_writer_of(below, offset, bytes), writer, sizeof writer);
  }
  if (in_flight)
    gm_fault(
        why,
        "%s at %s: %s %llu bytes at %s + %llu before a fence: the mvout at %s writes there and may not have completed",
        name, here, verb, n, below->name, offset, writer);
  else if (covers(below, address, bytes))
    gm_fault(why, "%s: %s %llu bytes at %s + %llu, which is not %s", name, verb, n, below->name, offset,
             write ? "writable" : "readable");
  else if (offset < size)
    gm_fault(why, "%s: %s %llu bytes at %s + %llu, which is %llu beyond the end of %s (%llu bytes)", name, verb, n,
             below->name, offset, offset + n - size, below->name, size);
  else
    gm_fault(why, "%s: %s %llu bytes at 0x%llx, which is not mapped: %llu bytes after the end of %s", name, verb, n, at,
             offset - size, below->name);
  return NULL;
}

static rv64_region *find_region(gm_arch *g, bool write, uint64_t address, uint64_t bytes) {
  rv64_region *r = g->last_region[write];
  if (r && covers(r, address, bytes)) return r;
  unsigned right = write ? RV64_WRITE : RV64_READ;
  for (size_t i = 0; i < g->memory->n_regions; i++) {
    r = &g->memory->region[i];
    if ((r->rights & right) && covers(r, address, bytes)) return g->last_region[write] = r;
  }
  return NULL;
}

/* The host's bytes for [address, address + bytes), or NULL. Loads and stores have separate queues, which do not
 * compare memory addresses (ReservationStation.scala keeps order only in the local memories). So stored data may be
 * read only after a fence. */
static void *find(gm_arch *g, uint32_t order, bool write, uint64_t address, uint64_t bytes) {
  rv64_region *r = find_region(g, write, address, bytes);
  if (!r) return NULL;
  const uint64_t offset = address - r->base;
  if (g->keeps_order && write && !rv64_write_in_flight(r, offset, bytes, place_of(g, order))) return NULL;
  if (g->keeps_order && !write && rv64_is_in_flight(r, offset, bytes)) return NULL;
  if (g->keeps_order && !write && order && r->rights & RV64_WRITE)
    gm_note_read(g, &(struct gm_read){address, bytes, place_of(g, order), order, false});
  return r->host + offset;
}

void gm_note_read(gm_arch *g, const struct gm_read *read) {
  if (g->n_reads == g->reads_room) {
    const size_t room = g->reads_room ? 2 * g->reads_room : 64;
    void *grown = room <= READS_MAX ? realloc(g->reads, room * sizeof *g->reads) : NULL;
    if (!grown) return; /* a read that is not recorded cannot be checked */
    g->reads = grown;
    g->reads_room = room;
  }
  g->reads[g->n_reads++] = *read;
  if (read->order > g->newest_read) g->newest_read = read->order;
}

/* Did a later command of the program read these bytes before the store began? */
static bool read_too_early(const gm_arch *g, uint32_t order, uint64_t address, uint64_t bytes, char why[GM_WHY]) {
  if (!order || g->newest_read <= order) return false;
  for (size_t i = 0; i < g->n_reads; i++) {
    const struct gm_read *r = &g->reads[i];
    if (r->order <= order || r->address >= address + bytes || address >= r->address + r->bytes) continue;
    char here[64], reader[64];
    rv64_describe_code(g->memory, place_of(g, order), here, sizeof here);
    rv64_describe_code(g->memory, r->place, reader, sizeof reader);
    return !gm_fault(
        why, "the %s at %s reads before a fence; the earlier mvout at %s writes there and may not have completed",
        r->by_core ? "load" : "mvin", reader, here);
  }
  return false;
}

/* The destination of a store: a miss is a fault. */
static void *dma(gm_arch *g, uint32_t order, uint64_t address, uint64_t bytes, char why[GM_WHY]) {
  if (read_too_early(g, order, address, bytes, why)) return NULL;
  void *host = find(g, order, true, address, bytes);
  return host ? host : memory_fault(g, "mvout", order, true, address, bytes, why);
}

/* ---- mvin ---- */

typedef struct load {
  const char *name;
  const gm_load_registers *registers;
  gm_address to;
  uint64_t from;
  int rows, cols;
  int element_bytes; /* in memory */
  bool zeros;
} load;

static bool check_load(const gm_arch *g, const load *l, char why[GM_WHY]) {
  const gm_load_registers *r = l->registers;
  int blocks = (l->cols + g->dim - 1) / g->dim;
  if (!r->configured) return gm_fault(why, "%s: requires a config_ld of its state before it", l->name);
  if (l->rows < 1 || l->rows > g->dim)
    return gm_fault(why, "%s: %d rows: must be from 1 to %d", l->name, l->rows, g->dim);
  if (l->cols < 1 || l->cols > g->config->max_block_cols)
    return gm_fault(why, "%s: %d columns: must be from 1 to %d", l->name, l->cols, g->config->max_block_cols);
  if (l->to.acc && !l->zeros && l->cols > g->dim && l->cols * l->element_bytes > g->config->dma_max_bytes)
    return gm_fault(why, "%s: %d columns of %d-byte data into the accumulator; the DMA's packet holds at most %d",
                    l->name, l->cols, l->element_bytes, g->config->dma_max_bytes / l->element_bytes);
  /* The zero writer counts accumulator bytes; the command counts input bytes (Scratchpad.scala:420,
   * LoadController.scala:115). */
  if (l->to.acc && l->zeros && r->shrink && g->input_bytes != g->acc_bytes)
    return gm_fault(why, "%s: zeros into the accumulator with shrink set; clear shrink in config_ld", l->name);
  if (r->pixel_repeats > 1 && l->to.acc)
    return gm_fault(why, "%s: pixel_repeats = %d is unsupported into the accumulator; use 1", l->name,
                    r->pixel_repeats);
  if (r->pixel_repeats > 1 && r->pixel_repeats * l->cols > g->dim)
    return gm_fault(why, "%s: pixel_repeats = %d pixels of %d columns exceed a row of %d", l->name, r->pixel_repeats,
                    l->cols, g->dim);
  if (blocks > 1 && r->block_stride < l->rows)
    return gm_fault(why, "%s: block_stride %d is less than %d rows, so blocks would overlap", l->name, r->block_stride,
                    l->rows);
  return gm_check_rows(g, l->name, l->to, (uint64_t)(blocks - 1) * (uint64_t)r->block_stride + (uint64_t)l->rows - 1,
                       why);
}

/* Writes n elements to a row, from element `at` on. */
static void load_into_spad(gm_arch *g, const load *l, uint32_t row, int at, const uint8_t *from, int n) {
  uint8_t *to = gm_spad_at(g, row) + at * g->input_bytes;
  float scale = l->registers->scale;
  g->spad_written[row] = 1;
  if (!from) {
    memset(to, 0, (size_t)(n * g->input_bytes));
  } else if (!g->config->has_mvin_scale) {
    memcpy(to, from, (size_t)(n * g->input_bytes));
  } else if (g->real) {
    for (int i = 0; i < n; i++) gm_set_input(g, to, i, gm_scale_input(g, gm_input_at(g, from, i), scale));
  } else if (scale == 1.0f && n == 16) {
    memcpy(to, from, 16); /* a constant size is faster */
  } else if (scale == 1.0f) {
    memcpy(to, from, (size_t)n);
  } else {
    for (int i = 0; i < n; i++) to[i] = (uint8_t)gm_scale_to_int8((float)(int8_t)from[i] * scale);
  }
}

static void load_pixel(gm_arch *g, const load *l, uint32_t row, const uint8_t *from, int n) {
  const uint32_t first = row < g->spad_rows / 2 ? 0 : g->spad_rows / 2;
  for (int i = 0; i < l->registers->pixel_repeats && row - first >= (uint32_t)i; i++)
    load_into_spad(g, l, row - (uint32_t)i, i * n, from, n);
}

/* Input element i, scaled in its own type, as an element of the accumulator. */
static float shrunk(const gm_arch *g, const uint8_t *from, int i, float scale) {
  float x = gm_input_at(g, from, i);
  if (!g->config->has_mvin_scale) return g->half ? gm_canonical(x) : x;
  uint8_t element[4] = {0};
  gm_set_input(g, element, 0, gm_scale_input(g, x, scale));
  return gm_input_at(g, element, 0);
}

static void load_into_acc(gm_arch *g, const load *l, uint32_t row, const uint8_t *from, int n) {
  float scale = l->registers->scale;
  bool accumulate = l->to.accumulate;
  if (accumulate) gm_note_rows(g, "mvin", true, row, 1);
  g->acc_written[row] = 1;
  if (g->real) {
    float *to = (float *)(void *)gm_acc_at(g, row);
    for (int i = 0; i < n; i++) {
      float x = 0;
      if (from && l->registers->shrink)
        x = shrunk(g, from, i, scale);
      else if (from) {
        memcpy(&x, from + 4 * (size_t)i, 4);
        if (g->config->mvin_scales_acc) x = gm_real_multiply(x, scale);
      }
      to[i] = accumulate ? gm_real_add(to[i], x) : x;
    }
    return;
  }
  int32_t *to = (int32_t *)(void *)gm_acc_at(g, row);
  for (int i = 0; i < n; i++) {
    int32_t x = 0;
    if (from && l->registers->shrink)
      x = gm_scale_to_int8((float)(int8_t)from[i] * scale);
    else if (from)
      memcpy(&x, from + 4 * (size_t)i, 4);
    to[i] = accumulate ? gm_add_wrapping(to[i], x) : x;
  }
}

/* The usual row: whole blocks of 16 bytes, unchanged. */
static void load_plain(gm_arch *g, const load *l, uint32_t row, const uint8_t *from) {
  for (int col = 0; col < l->cols; col += 16, row += (uint32_t)l->registers->block_stride) {
    memcpy(gm_spad_at(g, row), from + col, 16);
    g->spad_written[row] = 1;
  }
}

static const gm_load_registers *load_registers(const gm_arch *g, const gm_command *command) {
  return &g->registers.load[command->funct == GM_MVIN2 ? 1 : command->funct == GM_MVIN3 ? 2 : 0];
}

void gm_arch_expect(const gm_arch *g, const gm_command *command) {
  const bool stores = command->funct == GM_MVOUT;
  const rv64_region *r = g->last_region[stores];
  const uint64_t stride = stores ? g->registers.store.stride : load_registers(g, command)->stride;
  uint64_t offset = r ? command->rs1 - r->base : 0;
  for (int rows = gm_rows(command->rs2); r && rows > 0 && offset < r->size; rows--, offset += stride)
    __builtin_prefetch(r->host + offset, 1);
}

bool gm_arch_load(gm_arch *g, const gm_command *command, char why[256]) {
  load l = {.name = command_name(command),
            .from = command->rs1,
            .rows = gm_rows(command->rs2),
            .cols = gm_cols(command->rs2),
            .to = gm_decode(gm_local(command->rs2)),
            .zeros = command->rs1 == 0};
  l.registers = load_registers(g, command);
  if (gm_is_garbage(gm_local(command->rs2))) return gm_fault(why, "%s: the destination is the garbage address", l.name);
  l.element_bytes = l.to.acc && !l.registers->shrink ? g->acc_bytes : g->input_bytes;
  if (!check_load(g, &l, why)) return false;
  g->short_strides += l.registers->block_stride < l.rows;
  uint64_t row_bytes = (uint64_t)(l.cols * l.element_bytes);
  /* The contents of a spare row outside the program's arrays: undefined on the machine. All bits set is -1 in integers
   * and NaN in floating point, which shows in the result if the row is used. */
  uint8_t spare[GM_MAX_DIM * sizeof(float)];
  memset(spare, 0xff, sizeof spare);
  const bool plain = g->dim == 16 && !g->real && !l.to.acc && l.registers->scale == 1.0f &&
                     l.registers->pixel_repeats == 1 && l.cols % 16 == 0;
  for (int r = 0; r < l.rows; r++) {
    const uint8_t *from = NULL;
    bool missing = false;
    if (!l.zeros) {
      const uint64_t address = l.from + (uint64_t)r * l.registers->stride;
      from = find(g, command->order, false, address, row_bytes);
      missing = !from && r >= l.rows - command->spare_rows;
      if (!from && !missing) return memory_fault(g, l.name, command->order, false, address, row_bytes, why), false;
    }
    uint32_t row = l.to.row + (uint32_t)r;
    if (plain && from) {
      load_plain(g, &l, row, from);
      continue;
    }
    for (int col = 0; col < l.cols; col += g->dim, row += (uint32_t)l.registers->block_stride) {
      int n = l.cols - col < g->dim ? l.cols - col : g->dim;
      const uint8_t *block = from ? from + (size_t)(col * l.element_bytes) : missing ? spare : NULL;
      if (l.to.acc)
        load_into_acc(g, &l, row, block, n);
      else
        load_pixel(g, &l, row, block, n);
    }
  }
  return true;
}

/* ---- mvout ---- */

/* Row `row` of the local memory in memory format: a pointer to at least dim elements. */
static const void *outgoing(gm_arch *g, gm_address from, uint32_t row, void *scratch) {
  gm_note_rows(g, "mvout", from.acc, row, 1);
  if (!from.acc) return gm_spad_at(g, row);
  if (from.full) return gm_acc_at(g, row);
  gm_acc_to_input(g, gm_acc_at(g, row), g->registers.store.activation, g->registers.store.acc_scale, scratch);
  return scratch;
}

static void keep_larger(const gm_arch *g, void *kept, const void *next) {
  if (g->real) {
    for (int i = 0; i < g->dim; i++)
      if (gm_input_at(g, next, i) > gm_input_at(g, kept, i)) gm_set_input(g, kept, i, gm_input_at(g, next, i));
  } else {
    int8_t *k = kept;
    const int8_t *n = next;
    for (int i = 0; i < g->dim; i++) k[i] = n[i] > k[i] ? n[i] : k[i];
  }
}

/* The maximum over one window; rows outside the image count as zeros. */
static bool pool_window(gm_arch *g, gm_address from, int pool_row, int pool_col, void *result, char why[GM_WHY]) {
  const gm_store_registers *s = &g->registers.store;
  float scratch[GM_MAX_DIM];
  for (int w = 0; w < s->pool_size * s->pool_size; w++) {
    int row = pool_row * s->pool_stride + w / s->pool_size - s->upper_pad;
    int col = pool_col * s->pool_stride + w % s->pool_size - s->left_pad;
    const void *next = memset(scratch, 0, sizeof scratch);
    if (row >= 0 && col >= 0 && row < s->out_rows && col < s->out_cols) {
      uint32_t offset = (uint32_t)(row * s->out_cols + col);
      if (!gm_check_rows(g, "mvout", from, offset, why)) return false;
      next = outgoing(g, from, from.row + offset, scratch);
    }
    if (w)
      keep_larger(g, result, next);
    else
      memcpy(result, next, (size_t)(g->dim * g->input_bytes));
  }
  return true;
}

static bool store_pooled(gm_arch *g, uint32_t order, uint64_t to, gm_address from, int cols, char why[GM_WHY]) {
  const gm_store_registers *s = &g->registers.store;
  float result[GM_MAX_DIM];
  if (from.acc && from.full) return gm_fault(why, "mvout: full-width accumulator data cannot be pooled");
  if (!s->pool_out_rows || !s->pool_out_cols) return gm_fault(why, "mvout: pooling to 0 rows or columns");
  for (int row = 0; row < s->pool_out_rows; row++)
    for (int col = 0; col < s->pool_out_cols; col++) {
      if (!pool_window(g, from, row, col, result, why)) return false;
      uint64_t address = to + (uint64_t)(row * s->pool_out_dim + col) * s->stride;
      size_t bytes = (size_t)(cols * g->input_bytes);
      void *host = dma(g, order, address, bytes, why);
      if (!host) return false;
      memcpy(host, result, bytes);
    }
  return true;
}

/* pool_size without pool_stride: an image of out_rows x out_cols pixels, one local row each, goes to an image in
 * memory that is pool_out_dim pixels wide (StoreController.scala:74, 131, 203-206). */
static bool store_image(gm_arch *g, uint32_t order, uint64_t to, gm_address from, int cols, size_t element_bytes,
                        char why[GM_WHY]) {
  const gm_store_registers *s = &g->registers.store;
  float scratch[GM_MAX_DIM];
  int pixels = s->out_rows * s->out_cols;
  if (pixels < 1 || pixels > 4096) return gm_fault(why, "mvout: an image of %d pixels: must be from 1 to 4096", pixels);
  if (!gm_check_rows(g, "mvout", from, (uint64_t)pixels - 1, why)) return false;
  for (int i = 0; i < pixels; i++) {
    uint64_t address = to + (uint64_t)(i / s->out_cols * s->pool_out_dim + i % s->out_cols) * s->stride;
    size_t bytes = (size_t)cols * element_bytes;
    void *host = dma(g, order, address, bytes, why);
    if (!host) return false;
    memcpy(host, outgoing(g, from, from.row + (uint32_t)i, scratch), bytes);
  }
  return true;
}

static bool store_rows(gm_arch *g, uint32_t order, uint64_t to, gm_address from, int rows, int cols,
                       size_t element_bytes, char why[GM_WHY]) {
  float scratch[GM_MAX_DIM];
  uint64_t blocks = (uint64_t)((cols + g->dim - 1) / g->dim);
  if (!gm_check_rows(g, "mvout", from, (blocks - 1) * (uint64_t)g->dim + (uint64_t)rows - 1, why)) return false;
  for (int r = 0; r < rows; r++) {
    uint8_t *host = dma(g, order, to + (uint64_t)r * g->registers.store.stride, (uint64_t)cols * element_bytes, why);
    if (!host) return false;
    uint32_t row = from.row + (uint32_t)r;
    for (int col = 0; col < cols; col += g->dim, row += (uint32_t)g->dim) {
      size_t n = (size_t)(cols - col < g->dim ? cols - col : g->dim);
      memcpy(host + (size_t)col * element_bytes, outgoing(g, from, row, scratch), n * element_bytes);
    }
  }
  return true;
}

bool gm_arch_store(gm_arch *g, const gm_command *command, char why[256]) {
  const gm_store_registers *s = &g->registers.store;
  uint32_t local = gm_local(command->rs2);
  int rows = gm_rows(command->rs2), cols = gm_cols(command->rs2);
  gm_address from = gm_decode(local);
  if (!s->configured) return gm_fault(why, "mvout: requires a config_st before it");
  if (gm_is_garbage(local)) return gm_fault(why, "mvout: the source is the garbage address");
  if (from.acc && (local >> 26 & 7))
    return gm_fault(why, "mvout: normalization (layernorm, softmax: local address bits 28..26) is not in this machine");
  if (from.acc && from.full && !g->config->acc_read_full_width)
    return gm_fault(why, "mvout: full-width accumulator data is not in this machine (acc_read_full_width = 0)");
  if (from.acc && !from.full && !g->config->acc_read_small_width)
    return gm_fault(why, "mvout: accumulator data as input elements is not in this machine (acc_read_small_width = 0)");
  if (cols < 1 || cols > g->config->max_block_cols)
    return gm_fault(why, "mvout: %d columns: must be from 1 to %d", cols, g->config->max_block_cols);
  bool image = s->pool_stride || s->pool_size, full = from.full;
  if ((image || full) && cols > g->dim)
    return gm_fault(why, "mvout: %d columns %s; at most %d are supported", cols,
                    image ? "with pooling" : "of full-width data", g->dim);
  size_t element_bytes = (size_t)(from.acc && full ? g->acc_bytes : g->input_bytes);
  if (s->pool_stride) return store_pooled(g, command->order, command->rs1, from, cols, why);
  if (s->pool_size) return store_image(g, command->order, command->rs1, from, cols, element_bytes, why);
  if (rows < 1 || rows > g->dim) return gm_fault(why, "mvout: %d rows: must be from 1 to %d", rows, g->dim);
  return store_rows(g, command->order, command->rs1, from, rows, cols, element_bytes, why);
}
