/* trainium_replay.h - a program with its order, its waits and the times that a machine measured, as text.
 *
 *   # comment
 *   parameter SECTION.KEY VALUE    of the machine file, for this program
 *   span NS
 *   ENGINE OPCODE elements partitions FUNCTION FLAGS start end WAITS OPERAND...
 *
 * FUNCTION and WAITS may be "-"; WAITS are numbers of instructions, counted from 0. FLAGS: t transpose, s software
 * descriptors. OPERAND is MODE:MEMORY:TYPE:PARTITIONS:OFFSET:SIZExSTRIDE,...: MODE w written, r read, p one value a
 * partition. */
#ifndef TW_TEST_TRAINIUM_REPLAY_H
#define TW_TEST_TRAINIUM_REPLAY_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/trainium/timing/timing.h"

/* Parameters of the machine file that are estimated from traces. */
static const struct {
  const char *name;
  size_t offset;
} replay_parameters[] = {
    {"tensor.issue_ns", offsetof(trn_config, tensor.issue_ns)},
    {"tensor.load_interval_32_ns", offsetof(trn_config, tensor.load_interval_32_ns)},
    {"tensor.load_ns", offsetof(trn_config, tensor.load_ns)},
    {"tensor.done_ns", offsetof(trn_config, tensor.done_ns)},
    {"tensor.slow_done_ns", offsetof(trn_config, tensor.slow_done_ns)},
    {"tensor.up_use", offsetof(trn_config, tensor.up_use)},
    {"tensor.down_use", offsetof(trn_config, tensor.down_use)},
    {"vector.pointer_ns", offsetof(trn_config, vector.pointer_ns)},
    {"vector.done_ns", offsetof(trn_config, vector.done_ns)},
    {"scalar.sbuf_ns", offsetof(trn_config, scalar.sbuf_ns)},
    {"scalar.psum_ns", offsetof(trn_config, scalar.psum_ns)},
    {"scalar.done_ns", offsetof(trn_config, scalar.done_ns)},
    {"sync.handoff_ns", offsetof(trn_config, sync.handoff_ns)},
    {"sync.wait_tensor_ns", offsetof(trn_config, sync.wait_tensor_ns)},
    {"sync.wait_vector_ns", offsetof(trn_config, sync.wait_vector_ns)},
    {"sync.wait_scalar_ns", offsetof(trn_config, sync.wait_scalar_ns)},
    {"dma.packet_ns", offsetof(trn_config, dma.packet_ns)},
    {"dma.engine_gbs", offsetof(trn_config, dma.engine_gbs)},
    {"dma.hardware_issue_ns", offsetof(trn_config, dma.hardware_issue_ns)},
    {"dma.hardware_write_ns", offsetof(trn_config, dma.hardware_write_ns)},
    {"dma.hardware_read_ns", offsetof(trn_config, dma.hardware_read_ns)},
    {"dma.hardware_read_large_ns", offsetof(trn_config, dma.hardware_read_large_ns)},
    {"dma.software_prepare_ns", offsetof(trn_config, dma.software_prepare_ns)},
    {"dma.software_issue_ns", offsetof(trn_config, dma.software_issue_ns)},
    {"dma.software_write_ns", offsetof(trn_config, dma.software_write_ns)},
    {"dma.software_read_ns", offsetof(trn_config, dma.software_read_ns)},
    {"dma.notice_ns", offsetof(trn_config, dma.notice_ns)},
};
enum { REPLAY_PARAMETERS = sizeof replay_parameters / sizeof *replay_parameters };

static inline double *replay_parameter(trn_config *c, int k) {
  return (double *)((char *)c + replay_parameters[k].offset);
}

static inline int replay_find_parameter(const char *name) {
  int k = 0;
  while (k < REPLAY_PARAMETERS && strcmp(replay_parameters[k].name, name) != 0) k++;
  return k < REPLAY_PARAMETERS ? k : -1;
}

/* Device span with order and waits as given. The windows after which the PE clock is decided run freely, so their place
 * is not known: the mean over places, and the least and the most. NAN where the model fails. */
static inline double replay_predict(const trn_config *config, const trn_program *p, double *low, double *high,
                                    tw_error *error) {
  enum { PLACES = 16 };
  trn_config c = *config;
  double sum = 0;
  *low = INFINITY;
  *high = 0;
  for (int k = 0; k < PLACES; k++) {
    trn_timing t;
    c.tensor.window_phase_ns = (k + 0.5) / PLACES * c.tensor.window_ns;
    if (trn_time(&c, p, &trn_compiler_none, &t, error) != TW_OK) return NAN;
    sum += t.device;
    *low = fmin(*low, t.device);
    *high = fmax(*high, t.device);
    trn_timing_free(&t);
  }
  return sum / PLACES;
}

typedef struct replay {
  trn_program program;
  double span;
  double parameter[REPLAY_PARAMETERS]; /* NAN: as in the machine file */
  double *start, *end;                 /* of each instruction, from the first transfer's trigger */
} replay;

static inline void replay_free(replay *r) {
  trn_program_free(&r->program);
  free(r->start);
  free(r->end);
  *r = (replay){0};
}

static inline void replay_write(FILE *out, const replay *r) {
  fprintf(out, "span %.0f\n", r->span);
  for (size_t i = 0; i < r->program.n_instructions; i++) {
    const trn_instruction *in = &r->program.instruction[i];
    fprintf(out, "%s %s %lld %d %s %s%s- %.0f %.0f ", trn_engine_name(in->engine), trn_opcode_name(in->opcode),
            (long long)in->elements, in->partitions, in->function ? in->function : "-", in->is_transpose ? "t" : "",
            in->is_software_dma ? "s" : "", r->start[i], r->end[i]);
    for (int k = 0; k < in->n_waits; k++) fprintf(out, "%s%d", k ? "," : "", r->program.wait[in->first_wait + k]);
    fprintf(out, "%s", in->n_waits ? "" : "-");
    for (int k = 0; k < in->n_operands; k++) {
      const trn_region *o = &in->operand[k];
      fprintf(out, " %c:%s:%s:%d:%lld:",
              o->is_written   ? 'w'
              : o->is_pointer ? 'p'
                              : 'r',
              trn_memory_name(r->program.tensor[o->tensor].memory), tw_type_name(o->type), o->partitions,
              (long long)o->offset);
      for (int d = 0; d < o->n_dims; d++)
        fprintf(out, "%s%lldx%lld", d ? "," : "", (long long)o->size[d], (long long)o->stride[d]);
    }
    fprintf(out, "\n");
  }
}

static inline int replay_find(const char *word, const char *(*name)(int), int n) {
  for (int i = 0; i < n; i++)
    if (!strcmp(name(i), word)) return i;
  return -1;
}
static inline const char *replay_engine(int i) { return trn_engine_name((trn_engine)i); }
static inline const char *replay_opcode(int i) { return trn_opcode_name((trn_opcode)i); }
static inline const char *replay_memory(int i) { return trn_memory_name((trn_memory)i); }

static inline bool replay_operand(char *word, trn_region *o) {
  char *part[6], *rest = NULL;
  int n = 0;
  for (char *p = strtok_r(word, ":", &rest); p && n < 6; p = strtok_r(NULL, ":", &rest)) part[n++] = p;
  if (n != 6) return false;
  *o = (trn_region){.tensor = replay_find(part[1], replay_memory, TRN_MEMORIES), .partition_step = 1};
  o->is_written = part[0][0] == 'w';
  o->is_read = !o->is_written;
  o->is_pointer = part[0][0] == 'p';
  if (o->tensor < 0 || !tw_type_parse(part[2], &o->type)) return false;
  o->partitions = atoi(part[3]);
  o->offset = atoll(part[4]);
  for (char *p = strtok_r(part[5], ",", &rest); p && o->n_dims < TRN_DIMS_MAX; p = strtok_r(NULL, ",", &rest)) {
    char *x = strchr(p, 'x');
    if (!x) return false;
    o->size[o->n_dims] = atoll(p);
    o->stride[o->n_dims++] = atoll(x + 1);
  }
  return true;
}

static inline bool replay_line(replay *r, char *line) {
  enum { HEAD = 9 };
  char *word[HEAD + TRN_OPERANDS_MAX], *rest = NULL;
  int n = 0;
  for (char *p = strtok_r(line, " \n", &rest); p && n < HEAD + TRN_OPERANDS_MAX; p = strtok_r(NULL, " \n", &rest))
    word[n++] = p;
  if (n < HEAD) return false;
  const int engine = replay_find(word[0], replay_engine, TRN_ENGINES),
            opcode = replay_find(word[1], replay_opcode, TRN_OPCODES);
  if (engine < 0 || opcode < 0) return false;
  trn_instruction in = {.engine = (trn_engine)engine,
                        .opcode = (trn_opcode)opcode,
                        .elements = atoll(word[2]),
                        .partitions = atoi(word[3]),
                        .columns = opcode == TRN_MATMUL ? 128 : 0,
                        .passes = 1,
                        .function = !strcmp(word[4], "-")     ? NULL
                                    : !strcmp(word[4], "exp") ? "exp"
                                                              : "other",
                        .is_transpose = strchr(word[5], 't') != NULL,
                        .is_software_dma = strchr(word[5], 's') != NULL,
                        .first_wait = (int)r->program.n_waits};
  for (char *p = strtok_r(word[8], ",", &rest); p && *p != '-'; p = strtok_r(NULL, ",", &rest)) {
    int *moved = realloc(r->program.wait, (r->program.n_waits + 1) * sizeof *moved);
    if (!moved) return false;
    r->program.wait = moved;
    r->program.wait[r->program.n_waits++] = atoi(p);
    in.n_waits++;
  }
  for (int k = HEAD; k < n; k++)
    if (!replay_operand(word[k], &in.operand[in.n_operands++])) return false;
  const int i = trn_program_add(&r->program, &in);
  double *start = realloc(r->start, (size_t)(i + 1) * sizeof *start);
  if (start) r->start = start;
  double *end = realloc(r->end, (size_t)(i + 1) * sizeof *end);
  if (end) r->end = end;
  if (i < 0 || !start || !end) return false;
  r->start[i] = atof(word[6]);
  r->end[i] = atof(word[7]);
  return true;
}

/* Tensors 0, 1 and 2 are HBM, SBUF and PSUM. False: the line at `line_number` is none of a replay. */
static inline bool replay_read(FILE *in, replay *out, int *line_number) {
  char line[2048];
  char name[64];
  double value;
  *out = (replay){0};
  *line_number = 0;
  for (int k = 0; k < REPLAY_PARAMETERS; k++) out->parameter[k] = NAN;
  for (int m = 0; m < TRN_MEMORIES; m++)
    trn_program_add_tensor(&out->program, &(trn_tensor){.memory = (trn_memory)m, .type = TW_F32, .partitions = 128});
  while (fgets(line, sizeof line, in)) {
    ++*line_number;
    if (line[0] == '#' || line[0] == '\n') continue;
    if (sscanf(line, "span %lf", &out->span) == 1) continue;
    if (sscanf(line, "parameter %63s %lf", name, &value) == 2) {
      const int k = replay_find_parameter(name);
      if (k < 0) return false;
      out->parameter[k] = value;
      continue;
    }
    if (!replay_line(out, line)) return false;
  }
  return out->program.n_instructions > 0;
}

#endif
