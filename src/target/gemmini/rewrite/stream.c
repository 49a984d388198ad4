/* stream.c - captures, compares and replays command streams; see stream.h. */
#include "target/gemmini/rewrite/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strings.h"
#include "target/gemmini/build.h"
#include "target/gemmini/machine/machine.h"

enum { EVENTS_MAX = 1 << 23, CHECK_EVERY = 4096 }; /* 8 million commands: 256 MiB */

/* ---- capture ---- */

typedef struct recorder {
  gm_stream *stream;
  uint64_t done; /* cycle from which the core continued */
  bool overflow;
} recorder;

bool gm_stream_append(gm_stream *s, const gm_event *e) {
  if (s->n == s->room) {
    size_t room = s->room ? 2 * s->room : 4096;
    gm_event *event = room <= EVENTS_MAX ? tw_resize(s->event, room, sizeof *event) : NULL;
    if (!event) return false;
    s->event = event;
    s->room = room;
  }
  s->event[s->n++] = *e;
  return true;
}

static void record(recorder *r, int funct, uint64_t rs1, uint64_t rs2, uint64_t offered, uint64_t taken) {
  uint64_t gap = offered > r->done ? offered - r->done : 1;
  r->done = taken;
  const gm_event e = {
      .funct = (uint8_t)funct, .rs1 = rs1, .rs2 = rs2, .gap = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX};
  r->overflow |= !gm_stream_append(r->stream, &e);
}

static void on_command(void *context, const gm_command *c, uint64_t offered, uint64_t taken) {
  record(context, c->funct, c->rs1, c->rs2, offered, taken);
}

static void on_fence(void *context, uint64_t offered, uint64_t passed) {
  record(context, GM_FENCE, 0, 0, offered, passed);
}

static tw_status run(const gm_config *config, const char *elf, size_t size, const tw_case *data, gm_stream *s,
                     tw_error *error) {
  recorder r = {.stream = s};
  const gm_listener listener = {&r, on_command, on_fence};
  const gm_run_options options = {.listener = &listener, .interrupt = s->stop ? s->stop->interrupt : NULL};
  tw_status status = gm_run(config, elf, size, data, &options, &s->run, error);
  if (status != TW_OK) return status;
  if (r.overflow)
    return tw_fail(error, TW_FAILED, "the program issues more than %zu commands: too many to rewrite", s->room);
  /* The harness's own flush and fence come first, its final fence last (harness.c). */
  if (s->n < 3 || s->event[0].funct != GM_FLUSH || s->event[1].funct != GM_FENCE ||
      s->event[s->n - 1].funct != GM_FENCE)
    return tw_fail(error, TW_FAILED, "the program issues no Gemmini commands");
  s->n -= 2;
  memmove(s->event, s->event + 2, s->n * sizeof *s->event);
  /* the first instructions are fetched with a cold cache */
  s->event[0].gap = s->event[0].gap < 64 ? s->event[0].gap : 64;
  return TW_OK;
}

tw_status gm_stream_capture(const gm_config *config, const tw_problem *problem, const char *source, size_t length,
                            bool trust, const tw_case *data, const tw_stop *stop, gm_stream *out, tw_error *error) {
  *out = (gm_stream){.config = config, .problem = problem, .stop = stop};
  tw_status status = gm_build(config, problem, source, length, trust, &out->elf, &out->elf_size, error);
  if (status == TW_OK) status = rv64_memory_load(out->elf, out->elf_size, "kernel", &out->memory, error);
  if (status == TW_OK) status = run(config, out->elf, out->elf_size, data, out, error);
  out->n_operands = status == TW_OK ? problem->op->operands(problem, out->operand) : 0;
  for (size_t i = 0; i < out->n_operands; i++) {
    const rv64_region *r = rv64_region_named(&out->memory, out->operand[i].name);
    out->base[i] = r ? r->base : 0;
  }
  if (status != TW_OK) gm_stream_free(out);
  return status;
}

tw_status gm_stream_compare(const gm_stream *s, const tw_case *other, bool *wrong, tw_error *error) {
  gm_stream t = {.config = s->config, .problem = s->problem, .stop = s->stop};
  tw_status status = run(s->config, s->elf, s->elf_size, other, &t, error);
  *wrong = status == TW_FAILED;
  size_t i = 0;
  while (status == TW_OK && i < s->n && i < t.n && s->event[i].funct == t.event[i].funct &&
         s->event[i].rs1 == t.event[i].rs1 && s->event[i].rs2 == t.event[i].rs2)
    i++;
  if (status == TW_OK && (i < s->n || i < t.n))
    status = tw_fail(error, TW_FAILED, "the program's commands depend on its data: command %zu differs on other inputs",
                     i + 1);
  free(t.event);
  return status;
}

/* ---- replay ---- */

static void reset_operands(gm_stream *s, const tw_case *data, void *actual[TW_OPERANDS_MAX]) {
  for (size_t i = 0; i < data->n_operands; i++) {
    const tw_operand *o = &data->operand[i];
    rv64_region *r = rv64_region_named(&s->memory, o->name);
    actual[i] = r->host; /* the capture has found it */
    if (o->is_output) {
      memset(r->host, TW_POISON, o->bytes);
      memcpy((char *)r->host + o->given_at, (const char *)data->buffer[i] + o->given_at, o->given_bytes);
    } else {
      memcpy(r->host, data->buffer[i], o->bytes);
    }
  }
}

tw_status gm_stream_replay(gm_stream *s, const tw_case *data, tw_error *error) {
  void *actual[TW_OPERANDS_MAX];
  char why[256];
  reset_operands(s, data, actual);
  gm_arch *arch = gm_arch_new(s->config, &s->memory);
  if (!arch) return tw_no_memory(error, "the simulated machine");
  tw_status status = TW_OK;
  for (size_t i = 0; i < s->n && status == TW_OK; i++) {
    const gm_event *e = &s->event[i];
    if (e->dead || e->funct == GM_FENCE) continue;
    const gm_command c = {.funct = e->funct, .rs1 = e->rs1, .rs2 = e->rs2};
    if (!gm_arch_apply(arch, &c, why)) status = tw_fail(error, TW_FAILED, "command %zu: %s", i + 1, why);
  }
  gm_arch_free(arch);
  if (status != TW_OK) return status;
  if (s->problem->op->compare(s->problem, data->buffer, actual, NULL) != TW_OK)
    return tw_fail(
        error, TW_FAILED,
        "the core computes a part of the result; only programs whose commands compute all of it can be rewritten");
  return TW_OK;
}

uint64_t gm_stream_cycles(const gm_stream *s) {
  gm_machine *m = gm_machine_new(s->config, &s->memory, NULL);
  if (!m) return UINT64_MAX;
  const rv64_ports port = gm_machine_ports(m);
  char why[256];
  uint64_t now = port.fence(port.context, 100, why), start = now;
  rv64_answer answer;
  for (size_t i = 0; i < s->n && now != UINT64_MAX; i++) {
    const gm_event *e = &s->event[i];
    if (e->dead) continue;
    if (i % CHECK_EVERY == 0 && tw_is_stopped(s->stop)) {
      now = UINT64_MAX;
      break;
    }
    now += e->gap;
    now = e->funct == GM_FENCE
              ? port.fence(port.context, now, why)
              : port.command(port.context, now, (uint32_t)e->funct << 25 | 0x7b, e->rs1, e->rs2, &answer, why);
  }
  gm_machine_free(m);
  return now == UINT64_MAX ? now : now - start;
}

/* ---- the rest ---- */

tw_status gm_stream_copy(const gm_stream *from, gm_stream *out, tw_error *error) {
  *out = *from;
  out->room = from->n;
  out->event = tw_new(from->n + 1, sizeof *out->event);
  const bool forked = rv64_memory_fork(&from->memory, &out->memory); /* copies run on several threads at a time */
  if (!out->event || !forked) {
    gm_stream_free_copy(out);
    return tw_no_memory(error, "a copy of the command stream");
  }
  memcpy(out->event, from->event, from->n * sizeof *out->event);
  return TW_OK;
}

void gm_stream_free_copy(gm_stream *s) {
  free(s->event);
  s->event = NULL;
  rv64_memory_free_fork(&s->memory);
}

void gm_stream_free(gm_stream *s) {
  free(s->event);
  free(s->elf);
  if (s->memory.n_regions) rv64_memory_free(&s->memory);
  *s = (gm_stream){0};
}

int gm_stream_operand(const gm_stream *s, uint64_t address, uint64_t bytes, uint64_t *offset) {
  for (size_t i = 0; i < s->n_operands; i++) {
    uint64_t at = address - s->base[i];
    if (at >= s->operand[i].bytes || bytes > s->operand[i].bytes - at) continue;
    *offset = at;
    return (int)i;
  }
  return -1;
}
