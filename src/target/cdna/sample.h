/* sample.h - checks a launch that is too large to execute: only a few of its workgroups are executed, at the requested
 * size. */
#ifndef TW_CDNA_SAMPLE_H
#define TW_CDNA_SAMPLE_H

#include "tilewright/extend/op.h"

typedef struct cdna_sampler {
  size_t kernels; /* workgroups of the launch that are sampled */
  /* number for each kernel, none of which reads another's output, of this kernel or of other kernels */
  const uint64_t *groups;
  /* Executes one workgroup on buffers of the case's operands, with the case's inputs. */
  tw_status (*run)(void *context, void *const buffer[], size_t kernel, uint64_t group, tw_error *);
  void *context;
  bool trust;    /* of an untrusted kernel more workgroups are executed */
  bool of_parts; /* the unit of execution is not a workgroup but an independent part of the launch */
} cdna_sampler;

/* Operations of a problem (multiply-adds) up to which everything is executed. */
#define CDNA_SAMPLE_ABOVE 3e9
/* True if the op has what sampling needs. */
bool cdna_sample_possible(const tw_problem *);
/* True if executing the whole grid with checks takes longer than a minute: for its operations, or for the elements of
 * its outputs, of which row operations have many. */
bool cdna_sample_is_large(const tw_case *);
/* Work of executing all of it, in multiply-adds. */
double cdna_sample_work(const tw_case *);
/* TW_FAILED with the place and kind of a wrong result; else `text` describes the comparison. */
tw_status cdna_sample_check(const cdna_sampler *, const tw_case *, char *text, size_t size, tw_error *);

#endif
