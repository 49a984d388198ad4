/* functional.c - Gemmini's architectural state: memories, configuration registers, and the choice of the command.
 *
 * Follows the RTL, ucb-bar/gemmini at be2e9f2 (2023-05-22), src/main/scala/gemmini; X.scala:N below is a line there.
 * ucb-bar/libgemmini (the functional model that goes with Spike) was the second opinion; where they differ, the RTL
 * decides: partial sums of 20 bits (PE.scala:107-115), ReLU before the scale (AccumulatorScale.scala:107-124), no mvin
 * of 32-bit data wider than the array.
 *
 * Undefined behaviour of the RTL is rejected, not guessed: registers without reset value, undriven inputs of the array,
 * results that depend on accidental overlap of commands. Memories start with a pattern that is neither zero nor small,
 * as SRAM does. Addresses beyond a memory wrap around in the RTL; here they fault. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "target/gemmini/machine/functional_private.h"

enum { POWER_UP_PATTERN = 0x4b }; /* as float 1.3e7, as int8 75 */

bool gm_fault(char why[GM_WHY], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, GM_WHY, format, arguments);
  va_end(arguments);
  return false;
}

gm_arch *gm_arch_new(const gm_config *config, const rv64_memory *memory) {
  gm_arch *g = aligned_alloc(64, sizeof *g);
  if (!g) return NULL;
  memset(g, 0, sizeof *g);
  g->config = config;
  g->memory = memory;
  g->dim = config->dim;
  g->input_bytes = gm_input_bytes(config);
  g->acc_bytes = gm_acc_bytes(config);
  g->real = config->acc_type == TW_F32;
  g->half = g->real && config->input_type != TW_F32;
  g->spad_rows = (uint32_t)gm_spad_rows(config);
  g->acc_rows = (uint32_t)gm_acc_rows(config);
  g->sums_may_wrap = g->dim * 128 * 128 + 128 >= 1LL << (config->mesh_output_bits - 1);
  g->spad = malloc((size_t)config->spad_bytes);
  g->acc = malloc((size_t)config->acc_bytes);
  g->spad_written = calloc(g->spad_rows, 1);
  g->acc_written = calloc(g->acc_rows, 1);
  if (!g->spad || !g->acc || !g->spad_written || !g->acc_written) {
    gm_arch_free(g);
    return NULL;
  }
  memset(g->spad, POWER_UP_PATTERN, (size_t)config->spad_bytes);
  memset(g->acc, POWER_UP_PATTERN, (size_t)config->acc_bytes);
  g->kernels = gm_choose_kernels(g->dim, false);
  return g;
}

void gm_arch_free(gm_arch *g) {
  if (!g) return;
  free(g->reads);
  free(g->spad);
  free(g->acc);
  free(g->spad_written);
  free(g->acc_written);
  free(g);
}

/* ---- configuration registers ---- */

static const char *activation_problem(unsigned activation) {
  return activation == GM_LAYERNORM ? "layer normalization" : activation == GM_IGELU ? "I-GELU" : NULL;
}

/* ConfigExRs1, ConfigExRs2 (GemminiISA.scala:189-211); ExecuteController.scala:541-566. */
static bool apply_execute(gm_execute_registers *r, const gm_config *config, uint64_t rs1, uint64_t rs2,
                          char why[GM_WHY]) {
  bool only_strides = rs1 >> 7 & 1;
  if (!only_strides) {
    unsigned activation = rs1 >> 3 & 3;
    const char *problem = activation_problem(activation);
    if (problem) return gm_fault(why, "config_ex: activation %s is not in this machine; use none or ReLU", problem);
    if (activation == GM_RELU && !config->has_relu)
      return gm_fault(why, "config_ex: ReLU is not in this machine (has_relu = 0)");
    if (config->dataflow != GM_BOTH_DATAFLOWS && (config->dataflow == GM_WEIGHT_STATIONARY_ONLY) != (rs1 >> 2 & 1))
      return gm_fault(why, "config_ex: this machine is %s-stationary only (dataflow)",
                      config->dataflow == GM_WEIGHT_STATIONARY_ONLY ? "weight" : "output");
    if ((uint32_t)rs2 > 31) return gm_fault(why, "config_ex: in_shift = %u: must be from 0 to 31", (uint32_t)rs2);
    bool weight_stationary = rs1 >> 2 & 1, a_transposed = rs1 >> 8 & 1, b_transposed = rs1 >> 9 & 1;
    /* One transposer; output-stationary needs it for an A that is not transposed (ExecuteController.scala:131). */
    if (weight_stationary && a_transposed && b_transposed)
      return gm_fault(why, "config_ex: weight-stationary cannot transpose both A and B");
    if (!weight_stationary && !a_transposed && b_transposed)
      return gm_fault(why, "config_ex: output-stationary can transpose B only if it transposes A too");
    r->configured = true;
    r->weight_stationary = weight_stationary;
    r->activation = activation;
    r->a_transposed = a_transposed;
    r->b_transposed = b_transposed;
    r->in_shift = (int)(rs2 & 31);
    r->acc_scale = tw_float_of((uint32_t)(rs1 >> 32));
  }
  r->a_stride = (int)(rs1 >> 16 & 0xffff);
  r->c_stride = (int)(rs2 >> 48);
  return true;
}

/* ConfigMvinRs1 (GemminiISA.scala:89-108); LoadController.scala:143-150. */
static bool apply_load(gm_load_registers load[3], const gm_config *config, uint64_t rs1, uint64_t rs2,
                       char why[GM_WHY]) {
  unsigned id = rs1 >> 3 & 3;
  if (id == 3) return gm_fault(why, "config_ld: unknown state 3; use 0 (mvin), 1 (mvin2) or 2 (mvin3)");
  int pixel_repeats = (int)(rs1 >> 8 & 0xff); /* 0 means 1 */
  if (pixel_repeats > 1 && !config->has_pixel_repeats)
    return gm_fault(why, "config_ld: pixel_repeats are not in this machine (has_pixel_repeats = 0)");
  const uint32_t scale = (uint32_t)(rs1 >> 32);
  if (!config->has_mvin_scale && scale != 0 && tw_float_of(scale) != 1) /* the public header's identity is 0 then */
    return gm_fault(why, "config_ld: scale %g: mvin has no scale in this machine (has_mvin_scale = 0)",
                    (double)tw_float_of(scale));
  load[id] = (gm_load_registers){.configured = true,
                                 .stride = rs2,
                                 .scale = config->has_mvin_scale ? tw_float_of(scale) : 1.0f,
                                 .shrink = rs1 >> 2 & 1,
                                 .block_stride = (int)(rs1 >> 16 & 0xffff),
                                 .pixel_repeats = pixel_repeats ? pixel_repeats : 1};
  return true;
}

/* ConfigMvoutRs1, ConfigMvoutRs2 (GemminiISA.scala:110-146); StoreController.scala:225-249. */
static bool apply_store(gm_store_registers *r, const gm_config *config, uint64_t rs1, uint64_t rs2, char why[GM_WHY]) {
  unsigned activation = rs1 >> 2 & 3;
  const char *problem = activation_problem(activation);
  if (problem) return gm_fault(why, "config_st: activation %s is not in this machine; use none or ReLU", problem);
  if (activation == GM_RELU && !config->has_relu)
    return gm_fault(why, "config_st: ReLU is not in this machine (has_relu = 0)");
  if ((rs1 >> 4 & 15) && !config->has_max_pool)
    return gm_fault(why, "config_st: pooling is not in this machine (has_max_pool = 0)");
  int pool_stride = (int)(rs1 >> 4 & 3), pool_size = (int)(rs1 >> 6 & 3);
  if (pool_stride && !pool_size) return gm_fault(why, "config_st: pool_stride requires pool_size");
  uint32_t scale = (uint32_t)(rs2 >> 32);
  r->configured = true;
  r->stride = (uint32_t)rs2;
  r->activation = activation;
  if (scale != UINT32_MAX) r->acc_scale = tw_float_of(scale); /* all ones: keep the scale */
  r->pool_stride = pool_stride;
  r->pool_size = pool_size;
  if (!pool_stride && !pool_size) return true;
  r->pool_out_dim = (int)(rs1 >> 24 & 0xff);
  r->out_rows = (int)(rs1 >> 48 & 0xff);
  r->out_cols = (int)(rs1 >> 56 & 0xff);
  if (!pool_stride) return true;
  r->upper_pad = (int)(rs1 >> 8 & 3);
  r->left_pad = (int)(rs1 >> 10 & 3);
  r->pool_out_rows = (int)(rs1 >> 32 & 0xff);
  r->pool_out_cols = (int)(rs1 >> 40 & 0xff);
  return true;
}

bool gm_registers_apply(gm_registers *r, const gm_config *config, const gm_command *command, char why[256]) {
  switch (command->rs1 & 3) {
  case GM_CONFIG_EX: return apply_execute(&r->execute, config, command->rs1, command->rs2, why);
  case GM_CONFIG_LD: return apply_load(r->load, config, command->rs1, command->rs2, why);
  case GM_CONFIG_ST: return apply_store(&r->store, config, command->rs1, command->rs2, why);
  default: return gm_fault(why, "config_norm: normalization (layernorm, softmax, I-GELU) is not in this machine");
  }
}

bool gm_arch_config(gm_arch *g, const gm_command *command, char why[256]) {
  /* Before a config_ex the controller flushes the array, and with it the data of a preload
   * (ExecuteController.scala:541, 624). */
  if ((command->rs1 & 3) == GM_CONFIG_EX && g->preload_waits && !gm_is_garbage(gm_local(g->c)))
    return gm_fault(why, "config_ex: not allowed between a preload and its compute");
  const bool ok = gm_registers_apply(&g->registers, g->config, command, why);
  const gm_execute_registers *e = &g->registers.execute;
  g->plain = !g->real && !g->sums_may_wrap && e->configured && e->weight_stationary && !e->a_transposed &&
             !e->b_transposed && e->a_stride == 1 && e->c_stride == 1;
  return ok;
}

const gm_registers *gm_arch_registers(const gm_arch *g) { return &g->registers; }

/* ---- commands ---- */

bool gm_arch_apply(gm_arch *g, const gm_command *command, char why[256]) {
  switch (command->funct) {
  case GM_CONFIG: return gm_arch_config(g, command, why);
  case GM_MVIN:
  case GM_MVIN2:
  case GM_MVIN3: return gm_arch_load(g, command, why);
  case GM_MVOUT: return gm_arch_store(g, command, why);
  case GM_PRELOAD: return gm_arch_preload(g, command, why);
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED: return gm_arch_compute(g, command, why);
  case GM_FLUSH: return true; /* flush of the TLB: addresses are not translated here */
  case GM_COUNTER: return gm_fault(why, "counter: event counters count cycles, and this model has no time");
  case GM_MVOUT_SPAD: return gm_fault(why, "mvout_spad: not in this machine; use mvout and mvin");
  default:
    if ((command->funct >= GM_LOOP_WS && command->funct <= GM_LOOP_WS_STRIDES_DC) ||
        (command->funct >= GM_LOOP_CONV && command->funct <= GM_LOOP_CONV_CONFIG_6))
      return gm_fault(why, "funct %d: a hardware loop must be unrolled before it is applied", command->funct);
    return gm_fault(why, "funct %d: no such command", command->funct);
  }
}

bool gm_check_rows(const gm_arch *g, const char *command, gm_address a, uint64_t last, char why[GM_WHY]) {
  uint32_t rows = a.acc ? g->acc_rows : g->spad_rows;
  if (a.row + last < rows) return true;
  return gm_fault(why, "%s: %s row %llu does not exist; the last is %u", command, a.acc ? "accumulator" : "scratchpad",
                  (unsigned long long)(a.row + last), rows - 1);
}

/* ---- accesses ---- */

static void count_rows(const uint8_t *written, size_t rows, size_t *count, size_t *end) {
  *count = *end = 0;
  for (size_t i = 0; i < rows; i++)
    if (written[i]) ++*count, *end = i + 1;
}

void gm_arch_keep_order(gm_arch *g, bool keeps) { g->keeps_order = keeps; }

uint32_t gm_arch_issue(gm_arch *g, uint64_t pc) {
  g->place[++g->issued % 256] = pc;
  return g->issued;
}

void gm_arch_core_reads(gm_arch *g, uint64_t pc, uint64_t address, unsigned bytes) {
  gm_note_read(g, &(struct gm_read){address, bytes, pc, g->issued + 1, true});
}

uint64_t gm_arch_short_strides(const gm_arch *g) { return g->short_strides; }

void gm_arch_fence(gm_arch *g) {
  g->n_reads = 0;
  g->newest_read = 0;
  rv64_writes_done(g->memory);
}

gm_memory_use gm_arch_memory_use(const gm_arch *g) {
  gm_memory_use use = {.unwritten = g->unwritten};
  count_rows(g->spad_written, g->spad_rows, &use.spad_rows, &use.spad_end);
  count_rows(g->acc_written, g->acc_rows, &use.acc_rows, &use.acc_end);
  return use;
}

const void *gm_arch_spad_row(const gm_arch *g, size_t row) {
  return row < g->spad_rows ? gm_spad_at(g, (uint32_t)row) : NULL;
}
const void *gm_arch_acc_row(const gm_arch *g, size_t row) {
  return row < g->acc_rows ? gm_acc_at(g, (uint32_t)row) : NULL;
}
