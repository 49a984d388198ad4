/* trainium_trace.h - reads a profile of neuron-profile (JSON, one NeuronCore) into a trn_program with the order and the waits that
 * the machine had.
 *
 * A LDWEIGHTS with its MATMUL is one instruction, as in NKI; f32 makes two such pairs (low and high halves), which are one
 * instruction, too. An EVENT_SEMAPHORE only waits: its wait goes to the next instruction of its engine. */
#ifndef TW_BENCH_TRAINIUM_TRACE_H
#define TW_BENCH_TRAINIUM_TRACE_H

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/trainium/program.h"

/* An instruction as the profiler lists it. */
typedef struct event {
  trn_engine engine;
  int pc;
  double start, end;
  char opcode[32];
  const char *operands;
  int instruction;                 /* of the program; -1: none of its own */
  int first_producer, n_producers; /* instructions that it waits for, in trace.producer */
  bool adds_wait;                  /* it only waits */
} event;

typedef struct packet {
  double start, duration, bytes;
  int engine, queue;
  bool is_software;
} packet;

typedef struct trace {
  char name[64];
  json_t *root;
  event *event; /* by engine, in its order */
  size_t n_events;
  packet *packet; /* of transfers of the kernel */
  size_t n_packets;
  double clock_up[64]; /* changes of the clock, from slow to full and back in turn; after the first trigger */
  size_t n_clocks;
  double origin;       /* of times: the first trigger */
  double span;         /* to the end of the last instruction */
  double *start, *end; /* of each instruction of the program */
  int *head, *tail;    /* first and last event of each instruction */
  trn_program program;
  int *producer;
  size_t n_producers, producer_capacity;
} trace;

static inline bool trace_fail(const char *name, const char *what) {
  fprintf(stderr, "%s: %s\n", name, what);
  return false;
}

static inline bool starts_with(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

/* The numbers of "[1,2,3]" at `text`; returns what follows. */
static inline const char *read_list(const char *text, int64_t *value, int *n) {
  *n = 0;
  while (*text && *text != ']') {
    char *end = NULL;
    text++;
    const long long v = strtoll(text, &end, 0);
    if (end == text) break;
    if (*n < TRN_DIMS_MAX) value[(*n)++] = v;
    text = end;
  }
  return *text ? text + 1 : text;
}

static inline tw_type trace_type(const char *text) {
  static const struct {
    const char *name;
    tw_type type;
  } type[] = {{"fp32", TW_F32}, {"bfloat16", TW_BF16}, {"bf16", TW_BF16}, {"fp16", TW_F16}, {"int32", TW_I32}};
  for (size_t i = 0; i < sizeof type / sizeof *type; i++)
    if (starts_with(text, type[i].name)) return type[i].type;
  return TW_TYPE_NONE;
}

static inline int64_t trace_type_bytes(tw_type type) { return tw_type_bits(type) > 8 ? tw_type_bits(type) / 8 : 1; }

enum { TRACE_HBM, TRACE_SBUF, TRACE_PSUM };

/* "src=fp32@0x4000[1,1][512,1]", or "dst=0x2000000[...]" with the type of the destination unknown: f32. */
static inline bool read_operand(const char *operands, const char *key, trn_region *r) {
  const char *at = strstr(operands, key);
  if (!at) return false;
  at += strlen(key);
  const tw_type type = trace_type(at);
  const char *address = strstr(at, "0x");
  int64_t stride[TRN_DIMS_MAX] = {0}, count[TRN_DIMS_MAX] = {0};
  int n = 0, m = 0;
  if (!address) return false;
  char *end = NULL;
  const long long where = strtoll(address, &end, 16);
  *r = (trn_region){.type = type ? type : TW_F32, .partitions = 128, .partition_step = 1};
  r->tensor = where >= 0x2000000 ? TRACE_PSUM : TRACE_SBUF;
  if (*end == '[') {
    at = read_list(end, stride, &n);
    read_list(at, count, &m);
  }
  /* The first dimension varies fastest. */
  for (int i = (n < m ? n : m) - 1; i >= 0; i--) {
    if (count[i] == 1) continue;
    r->size[r->n_dims] = count[i];
    r->stride[r->n_dims++] = stride[i] * trace_type_bytes(r->type);
  }
  if (!r->n_dims) {
    r->n_dims = 1;
    r->size[0] = 1;
    r->stride[0] = trace_type_bytes(r->type);
  }
  return true;
}

static inline int64_t elements_of(const trn_region *r) {
  int64_t n = 1;
  for (int i = 0; i < r->n_dims; i++) n *= r->size[i];
  return n;
}

static inline int64_t number_after(const char *operands, const char *key) {
  const char *at = strstr(operands, key);
  return at ? strtoll(at + strlen(key), NULL, 0) : 0;
}

/* One side of a transfer: "src_elem_size=512 src_pattern=[512,262144][4,128]", strides in bytes. SBUF is at 0x802000000000,
 * its partitions 262144 bytes apart. */
static inline trn_region transfer_side(const char *operands, const char *side, tw_type type) {
  char key[32];
  int64_t stride[TRN_DIMS_MAX] = {0}, count[TRN_DIMS_MAX] = {0};
  int n = 0, m = 0;
  trn_region r = {.tensor = TRACE_HBM, .type = type, .partitions = 1, .partition_step = 1};
  snprintf(key, sizeof key, "%s_pattern=", side);
  const char *at = strstr(operands, key);
  if (at) read_list(read_list(at + strlen(key), stride, &n), count, &m);
  snprintf(key, sizeof key, "%s_addr_imm=0x8020", side);
  if (strstr(operands, key)) r.tensor = TRACE_SBUF;
  for (int i = 0; i < n && i < m; i++)
    if (r.tensor == TRACE_SBUF && stride[i] == 262144) {
      r.partitions = (int)count[i];
      count[i] = 1;
    }
  for (;;) { /* widest stride first */
    int widest = -1;
    for (int i = 0; i < n && i < m; i++)
      if (count[i] > 1 && (widest < 0 || stride[i] > stride[widest])) widest = i;
    if (widest < 0) break;
    r.size[r.n_dims] = count[widest];
    r.stride[r.n_dims++] = stride[widest];
    count[widest] = 1;
  }
  snprintf(key, sizeof key, "%s_elem_size=", side);
  r.size[r.n_dims] = number_after(operands, key) / trace_type_bytes(type);
  r.stride[r.n_dims++] = trace_type_bytes(type);
  return r;
}

static inline void add_operand(trn_instruction *in, trn_region r, bool is_written) {
  r.is_written = is_written;
  r.is_read = !is_written;
  in->operand[in->n_operands++] = r;
}

/* What the machine file's laws ask about an event; false: it is no instruction of the model. */
static inline bool read_instruction(const event *e, trn_instruction *in) {
  static const struct {
    const char *name;
    trn_opcode opcode;
  } opcode[] = {{"COPY", TRN_COPY},
                {"CAST", TRN_COPY},
                {"ACTIVATE", TRN_ACTIVATION},
                {"TENSOR_REDUCE", TRN_REDUCE},
                {"RECIPROCAL", TRN_RECIPROCAL},
                {"TENSOR_SCALAR", TRN_TENSOR_SCALAR},
                {"TENSOR_TENSOR", TRN_TENSOR_TENSOR},
                {"MATMUL", TRN_MATMUL},
                {"DMA_DIRECT2D", TRN_DMA}};
  trn_region r;
  size_t k = 0;
  while (k < sizeof opcode / sizeof *opcode && strcmp(opcode[k].name, e->opcode) != 0) k++;
  if (k == sizeof opcode / sizeof *opcode) return false;
  *in = (trn_instruction){.opcode = opcode[k].opcode, .engine = e->engine, .partitions = 128, .passes = 1};
  if (in->opcode == TRN_DMA) {
    const bool is_cast = strstr(e->operands, "in_dtype=") != NULL;
    const tw_type from = is_cast ? trace_type(strstr(e->operands, "in_dtype=") + 9) : TW_F32;
    const char *to = strstr(e->operands, "out_dtype=");
    add_operand(in, transfer_side(e->operands, "dst", to ? trace_type(to + 10) : TW_F32), true);
    add_operand(in, transfer_side(e->operands, "src", from), false);
    in->is_software_dma = e->engine == TRN_GPSIMD;
    in->elements = elements_of(&in->operand[1]);
    return true;
  }
  if (read_operand(e->operands, "dst=", &r)) add_operand(in, r, true);
  if (read_operand(e->operands, " src=", &r)) {
    add_operand(in, r, false);
    in->elements = elements_of(&r);
  }
  if (strstr(e->operands, "bias_ptr=") || strstr(e->operands, "imm_src=PTR")) {
    r = (trn_region){.tensor = TRACE_SBUF,
                     .is_pointer = true,
                     .type = TW_F32,
                     .partitions = 128,
                     .n_dims = 1,
                     .size = {1},
                     .stride = {4}};
    add_operand(in, r, false);
  }
  if (in->opcode == TRN_ACTIVATION) in->function = strstr(e->operands, " EXP ") ? "exp" : "other";
  if (in->opcode == TRN_MATMUL) {
    in->columns = 128;
    const char *shape = strrchr(e->operands, ']'); /* "128*128": rows and columns of the stationary operand */
    if (shape) in->partitions = (int)strtol(shape + 1, NULL, 10);
    if (in->partitions < 1 || in->partitions > 128) in->partitions = 128;
  }
  return true;
}

/* Events of the kernel: the profiler also lists what the runtime does before and after it. */
static inline bool read_event(const json_t *item, event *e) {
  static const char *const engine[TRN_ENGINES] = {"Tensor", "Vector", "Scalar", "GpSimd", "Sync"};
  const char *group = json_string_value(json_object_get(item, "subgroup"));
  const char *opcode = json_string_value(json_object_get(item, "opcode"));
  const char *core = json_string_value(json_object_get(item, "subgraph"));
  const char *operands = json_string_value(json_object_get(item, "operands"));
  const json_t *pc = json_object_get(item, "compiler_pc");
  if (!pc || !group || !opcode || !core || !operands || strcmp(core, "sg00") != 0) return false;
  if (!strcmp(opcode, "SET_ORDERING_MODE") || !strcmp(opcode, "ACT_TABLE_LOAD")) return false;
  *e = (event){.pc = (int)json_integer_value(pc), .operands = operands, .instruction = -1};
  while (e->engine < TRN_ENGINES && strcmp(engine[e->engine], group) != 0) e->engine++;
  snprintf(e->opcode, sizeof e->opcode, "%s", opcode);
  e->start = json_number_value(json_object_get(item, "timestamp"));
  e->end = e->start + json_number_value(json_object_get(item, "duration"));
  return e->engine < TRN_ENGINES;
}

static inline int compare_events(const void *x, const void *y) {
  const event *a = x, *b = y;
  if (a->engine != b->engine) return (int)a->engine - (int)b->engine;
  if (a->pc != b->pc) return (a->pc > b->pc) - (a->pc < b->pc);
  return (a->start > b->start) - (a->start < b->start);
}

static inline int compare_packets(const void *x, const void *y) {
  const packet *a = x, *b = y;
  if (a->engine != b->engine) return a->engine - b->engine;
  return (a->start > b->start) - (a->start < b->start);
}

/* The MATMUL that completes an f32 product: the high half, to which the LDWEIGHTS before it says so. */
static inline bool is_high_half(const event *load) { return load && strstr(load->operands, "fp32_mode=HIGH"); }

/* Instructions of the program, and which events are theirs. */
static inline bool make_instructions(trace *t) {
  const event *load = NULL;
  int first_of_group = -1;
  for (size_t i = 0; i < t->n_events; i++) {
    event *e = &t->event[i];
    trn_instruction in;
    if (!strcmp(e->opcode, "LDWEIGHTS")) {
      load = e;
      if (first_of_group < 0) first_of_group = (int)i;
      continue;
    }
    if (!strcmp(e->opcode, "EVENT_SEMAPHORE") || !strcmp(e->opcode, "NOP")) {
      e->adds_wait = true;
      continue;
    }
    if (!read_instruction(e, &in)) {
      fprintf(stderr, "%s: unsupported opcode %s\n", t->name, e->opcode);
      return false;
    }
    const int head = first_of_group >= 0 ? first_of_group : (int)i;
    if (in.opcode == TRN_MATMUL) {
      in.is_transpose = load && strstr(load->operands, "transpose_mode=ENABLED");
      add_operand(&in, in.operand[1], false); /* stationary: as the moving operand */
      if (is_high_half(load) && t->program.n_instructions) {
        e->instruction = (int)t->program.n_instructions - 1;
        t->tail[e->instruction] = (int)i;
        for (int k = head; k < (int)i; k++) t->event[k].instruction = e->instruction;
        first_of_group = -1;
        continue;
      }
    }
    e->instruction = trn_program_add(&t->program, &in);
    if (e->instruction < 0) return false;
    t->head[e->instruction] = head;
    t->tail[e->instruction] = (int)i;
    for (int k = head; k < (int)i; k++) t->event[k].instruction = e->instruction;
    first_of_group = -1;
  }
  /* A wait belongs to the next instruction of its engine. */
  for (size_t i = t->n_events; i-- > 0;)
    if (t->event[i].adds_wait && i + 1 < t->n_events && t->event[i + 1].engine == t->event[i].engine)
      t->event[i].instruction = t->event[i + 1].instruction;
  return true;
}

/* "S[5] (Tensor)++@complete": the number of the semaphore that an event raises; -1: none. */
static inline int raised(const event *e) {
  if (!strcmp(e->opcode, "DMA_DIRECT2D")) {
    const char *at = strstr(e->operands, " semaphore=");
    return at ? (int)strtol(at + 11, NULL, 10) : -1;
  }
  for (const char *at = strstr(e->operands, "S["); at; at = strstr(at + 1, "S[")) {
    const char *end = strchr(at, ')');
    if (end && starts_with(end + 1, "++")) return (int)strtol(at + 2, NULL, 10);
  }
  return -1;
}

static inline bool add_producer(trace *t, event *e, int semaphore, long value) {
  long count = 0;
  for (size_t i = 0; i < t->n_events; i++) {
    const event *p = &t->event[i];
    if (raised(p) != semaphore) continue;
    count += !strcmp(p->opcode, "DMA_DIRECT2D") ? 16 : 1;
    if (count < value) continue;
    if (t->n_producers == t->producer_capacity) {
      const size_t more = t->producer_capacity ? 2 * t->producer_capacity : 1024;
      int *moved = realloc(t->producer, more * sizeof *moved);
      if (!moved) return false;
      t->producer = moved;
      t->producer_capacity = more;
    }
    t->producer[t->n_producers++] = (int)i;
    e->n_producers++;
    return true;
  }
  return trace_fail(t->name, "an instruction waits for a semaphore that nothing raises");
}

/* Which events each event waits for, by its semaphores; then the waits of the program. */
static inline bool make_waits(trace *t) {
  for (size_t i = 0; i < t->n_events; i++) {
    event *e = &t->event[i];
    e->first_producer = (int)t->n_producers;
    for (const char *at = strstr(e->operands, "S["); at; at = strstr(at + 1, "S[")) {
      const char *end = strchr(at, ')');
      if (end && starts_with(end + 1, ">=") &&
          !add_producer(t, e, (int)strtol(at + 2, NULL, 10), strtol(end + 3, NULL, 10)))
        return false;
    }
  }
  trn_program *p = &t->program;
  p->wait = malloc((t->n_producers + 1) * sizeof *p->wait);
  if (!p->wait) return false;
  for (size_t n = 0; n < p->n_instructions; n++) {
    p->instruction[n].first_wait = (int)p->n_waits;
    for (size_t i = 0; i < t->n_events; i++) {
      const event *e = &t->event[i];
      if (e->instruction != (int)n) continue;
      for (int k = 0; k < e->n_producers; k++)
        p->wait[p->n_waits++] = t->event[t->producer[e->first_producer + k]].instruction;
    }
    p->instruction[n].n_waits = (int)p->n_waits - p->instruction[n].first_wait;
  }
  return true;
}

static inline bool read_events(trace *t) {
  const json_t *list = json_object_get(t->root, "instruction");
  const size_t n = json_array_size(list);
  t->event = calloc(n + 1, sizeof *t->event);
  t->head = calloc(n + 1, sizeof *t->head);
  t->tail = calloc(n + 1, sizeof *t->tail);
  t->start = calloc(n + 1, sizeof *t->start);
  t->end = calloc(n + 1, sizeof *t->end);
  if (!t->event || !t->head || !t->tail || !t->start || !t->end) return trace_fail(t->name, "out of memory");
  for (size_t i = 0; i < n; i++) t->n_events += read_event(json_array_get(list, i), &t->event[t->n_events]);
  if (!t->n_events) return trace_fail(t->name, "no instruction of a kernel");
  qsort(t->event, t->n_events, sizeof *t->event, compare_events);
  double last = 0;
  t->origin = INFINITY;
  for (size_t i = 0; i < t->n_events; i++) {
    if (!strcmp(t->event[i].opcode, "DMA_DIRECT2D")) t->origin = fmin(t->origin, t->event[i].start);
    last = fmax(last, t->event[i].end);
  }
  t->span = last - t->origin;
  for (size_t i = 0; i < t->n_events; i++) {
    t->event[i].start -= t->origin;
    t->event[i].end -= t->origin;
  }
  return true;
}

static inline bool read_packets(trace *t) {
  const json_t *list = json_object_get(t->root, "dma");
  t->packet = calloc(json_array_size(list) + 1, sizeof *t->packet);
  if (!t->packet) return trace_fail(t->name, "out of memory");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i);
    const char *kind = json_string_value(json_object_get(item, "queue_type"));
    const char *engine = json_string_value(json_object_get(item, "dma_engine"));
    const char *queue = json_string_value(json_object_get(item, "dma_queue"));
    if (!kind || !engine || !queue || !strstr(kind, "dynamic")) continue;
    t->packet[t->n_packets++] = (packet){.start = json_number_value(json_object_get(item, "timestamp")) - t->origin,
                                         .duration = json_number_value(json_object_get(item, "duration")),
                                         .bytes = json_number_value(json_object_get(item, "transfer_size")),
                                         .engine = (int)strtol(engine, NULL, 10),
                                         .queue = (int)strtol(queue, NULL, 10),
                                         .is_software = starts_with(kind, "software")};
  }
  qsort(t->packet, t->n_packets, sizeof *t->packet, compare_packets);
  return true;
}

static inline int compare_numbers(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* Changes of the PE clock: each entry of "ham" begins a state of k eighths. */
static inline void read_clock(trace *t) {
  const json_t *list = json_object_get(t->root, "ham");
  for (size_t i = 0; i < json_array_size(list) && t->n_clocks < 64; i++)
    t->clock_up[t->n_clocks++] = json_number_value(json_object_get(json_array_get(list, i), "timestamp")) - t->origin;
  qsort(t->clock_up, t->n_clocks, sizeof *t->clock_up, compare_numbers);
}

/* Rate of the PE clock: it starts at a half and changes at each entry. */
static inline double trace_rate(const trace *t, double now) {
  size_t k = 0;
  while (k < t->n_clocks && t->clock_up[k] <= now) k++;
  return k % 2 ? 1 : 0.5;
}

static inline void trace_free(trace *t) {
  free(t->event);
  free(t->packet);
  free(t->start);
  free(t->end);
  free(t->head);
  free(t->tail);
  free(t->producer);
  trn_program_free(&t->program);
  json_decref(t->root);
  *t = (trace){0};
}

static inline bool trace_read(const char *path, const char *name, trace *t) {
  json_error_t error;
  *t = (trace){0};
  snprintf(t->name, sizeof t->name, "%s", name);
  t->root = json_load_file(path, 0, &error);
  if (!t->root) return trace_fail(path, error.text);
  for (int memory = TRACE_HBM; memory <= TRACE_PSUM; memory++)
    trn_program_add_tensor(&t->program, &(trn_tensor){.memory = memory == TRACE_HBM    ? TRN_HBM
                                                                : memory == TRACE_SBUF ? TRN_SBUF
                                                                                       : TRN_PSUM,
                                                      .type = TW_F32,
                                                      .partitions = memory == TRACE_HBM ? 1 : 128,
                                                      .bytes = 1 << 18,
                                                      .address = 0});
  if (!read_events(t) || !read_packets(t) || !make_instructions(t) || !make_waits(t)) {
    trace_free(t);
    return false;
  }
  read_clock(t);
  for (size_t i = 0; i < t->program.n_instructions; i++) {
    t->start[i] = t->event[t->head[i]].start;
    t->end[i] = t->event[t->tail[i]].end;
  }
  return true;
}

#endif
