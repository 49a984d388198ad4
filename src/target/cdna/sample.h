/* sample.h - checks a launch that is too large to be executed: a few of its workgroups are, at the size that is asked for. */
#ifndef TW_CDNA_SAMPLE_H
#define TW_CDNA_SAMPLE_H

#include "tilewright/op.h"

typedef struct cdna_sampler {
  size_t kernels;         /* of the launch that are sampled */
  const uint64_t *groups; /* of each, none of which reads what another writes, of this kernel or of others */
  /* Executes one workgroup on buffers of the case's operands: inputs are those of the case. */
  tw_status (*run)(void *context, void *const buffer[], size_t kernel, uint64_t group, tw_error *);
  void *context;
  bool
      of_parts; /* what is executed at once is not a workgroup but a part of the launch that shares nothing with others */
} cdna_sampler;

/* Operations of a problem (multiply-adds) up to which everything is executed. */
#define CDNA_SAMPLE_ABOVE 3e9
/* Has the op what this needs? */
bool cdna_sample_possible(const tw_problem *);
/* TW_FAILED with where and how a result is wrong; else `text` says what was looked at. */
tw_status cdna_sample_check(const cdna_sampler *, const tw_case *, char *text, size_t size, tw_error *);

#endif
