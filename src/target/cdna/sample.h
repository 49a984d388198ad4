/* sample.h - checks a launch that is too large to execute: only a few of its workgroups are executed, at the requested
 * size. */
#ifndef TW_CDNA_SAMPLE_H
#define TW_CDNA_SAMPLE_H

#include "tilewright/extend/op.h"

typedef struct cdna_sampler {
  size_t kernels; /* workgroups of the launch that are sampled */
  /* number of workgroups of each kernel; no kernel reads output of these kernels */
  const uint64_t *groups;
  /* Executes one workgroup, or part, on buffers of the case's operands, with the case's inputs. Several threads call
   * it. */
  tw_status (*run)(void *context, void *const buffer[], size_t kernel, uint64_t group, void **left, tw_error *);
  /* Takes and frees what a run left (NULL: nothing, or the workgroup did not run). One thread calls it after all runs, in
   * the order of the sample. `is_needed`: no earlier workgroup failed. NULL: runs leave nothing. */
  void (*take)(void *context, void *left, bool is_needed);
  void *context;
  int jobs;      /* threads; 0: all cores */
  uint64_t seed; /* of the drawn workgroups; 0: unpredictable */
  bool trust;    /* more workgroups are executed for an untrusted kernel */
  bool of_parts; /* the unit of execution is not a workgroup but an independent part of the launch */
} cdna_sampler;

/* Buffers of a case whose outputs are its own, all poison. False without memory; free it in any case. */
bool cdna_new_outputs(const tw_case *, void *buffer[]);
void cdna_free_outputs(const tw_case *, void *buffer[]);
/* Operations of a problem (multiply-adds) up to which everything is executed. */
#define CDNA_SAMPLE_ABOVE 3e9
/* Can the op be sampled? */
bool cdna_sample_possible(const tw_problem *);
/* Does executing the whole grid with checks take longer than a minute? The cause may be its operations or, for row
 * operations, the number of output elements. */
bool cdna_sample_is_large(const tw_case *);
/* Work of executing all of it, in multiply-adds. */
double cdna_sample_work(const tw_case *);
/* TW_FAILED with the place and kind of a wrong result; else `text` describes the comparison. */
tw_status cdna_sample_check(const cdna_sampler *, const tw_case *, char *text, size_t size, tw_error *);

#endif
