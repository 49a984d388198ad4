/* report.c - counters and timelines. */
#include "target/trainium/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"
#include "target/count.h"

static const char *const titles[TRN_ENGINES] = {"Tensor", "Vector", "Scalar", "GpSimd", "Sync"},
                         *const busy[TRN_ENGINES] = {"tensor_busy", "vector_busy", "scalar_busy", "gpsimd_busy",
                                                     "sync_busy"};

/* The engine that was busy the longest. */
static void name_bottleneck(const trn_timing *t, tw_measurement *out) {
  char what[40] = "the DMA engines";
  double most = t->dma_busy;
  for (int e = 0; e < TRN_ENGINES; e++) {
    if (t->busy[e] <= most) continue;
    most = t->busy[e];
    snprintf(what, sizeof what, "the %s engine", titles[e]);
  }
  snprintf(out->bottleneck, sizeof out->bottleneck, "%s: busy for %.0f%% of the time", what, 100 * most / t->total);
}

void trn_report(const trn_config *c, const trn_program *p, const trn_timing *t, tw_measurement *out) {
  *out = (tw_measurement){.cost = t->total * 1e-9, .seconds = t->total * 1e-9};
  name_bottleneck(t, out);
  tw_count(out, "device", "us", "time from the first transfer to the end of the last instruction", t->device * 1e-3);
  for (int e = 0; e < TRN_ENGINES; e++)
    tw_count(out, busy[e], "us", "time in which this engine worked", t->busy[e] * 1e-3);
  tw_count(out, "dma_busy", "us", "time in which a DMA engine moved packets, mean over the engines",
           t->dma_busy * 1e-3);
  tw_count(out, "instructions", "", "instructions of all engines", (double)p->n_instructions);
  tw_count(out, "copies_removed", "", "copies that the compiler removes", (double)t->copies_removed);
  tw_count(out, "table_loads", "", "loads of a set of activation functions", (double)t->table_loads);
  tw_count(out, "spilled", "bytes", "bytes moved out of PSUM and SBUF and back, because tensors do not fit",
           (double)t->spilled_bytes);
  tw_count(out, "hbm_read", "bytes", "bytes read from HBM", (double)t->hbm_read);
  tw_count(out, "hbm_written", "bytes", "bytes written to HBM", (double)t->hbm_written);
  out->n_memories = 2;
  out->memory[0] = (tw_memory_use){"SBUF partition", (size_t)t->most_used[TRN_SBUF], (size_t)c->memory.sbuf_bytes};
  out->memory[1] = (tw_memory_use){"PSUM partition", (size_t)t->most_used[TRN_PSUM],
                                   (size_t)(c->memory.psum_bank_bytes * c->memory.psum_banks)};
}

/* The lane of a span: an engine, or an engine's DMA queue. */
static const char *lane_name(int lane) {
  static const char *const names[2 * TRN_ENGINES] = {"tensor",     "vector",     "scalar",     "gpsimd",
                                                     "sync",       "dma tensor", "dma vector", "dma scalar",
                                                     "dma gpsimd", "dma sync"};
  return names[lane < 2 * TRN_ENGINES ? lane : 2 * TRN_ENGINES - 1];
}

tw_status trn_report_trace(const trn_program *p, const trn_timing *t, const char *path, tw_error *error) {
  const trn_program *timed = t->spilled.n_instructions ? &t->spilled : p;
  FILE *file = fopen(path, "w");
  if (!file) return tw_fail(error, TW_MISSING, "%s: %s", path, strerror(errno));
  tw_trace trace = tw_trace_begin(file, 1e3); /* nanoseconds to microseconds */
  for (int lane = 0; lane < 2 * TRN_ENGINES; lane++) {
    bool used = false;
    for (size_t i = 0; i < t->n_spans && !used; i++) used = t->span[i].lane == lane;
    if (used) tw_trace_lane(&trace, lane_name(lane));
  }
  tw_trace_lane(&trace, "kernel");
  for (size_t i = 0; i < t->n_spans; i++) {
    const trn_span *s = &t->span[i];
    const trn_instruction *in = &timed->instruction[s->instruction];
    char name[80];
    snprintf(name, sizeof name, "%s%s%s line %d", trn_opcode_name(in->opcode), in->function ? " " : "",
             in->function ? in->function : "", in->line);
    tw_trace_span(&trace, lane_name(s->lane), name, s->start, s->end);
  }
  int64_t used[TRN_MEMORIES] = {0};
  for (size_t i = 0; i < t->n_changes; i++) {
    const trn_change *c = &t->change[i];
    used[c->memory] += c->bytes;
    tw_trace_value(&trace, c->memory == TRN_SBUF ? "SBUF bytes of a partition" : "PSUM bytes of a partition", c->at,
                   (double)used[c->memory]);
  }
  tw_trace_end(&trace, "kernel", 0, t->total);
  if (fclose(file)) return tw_fail(error, TW_MISSING, "%s: %s", path, strerror(errno));
  return TW_OK;
}
