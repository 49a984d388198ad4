/* npy.h - operands as files of NumPy's format (NEP 1), version 1.0. */
#ifndef TW_EXPORT_NPY_H
#define TW_EXPORT_NPY_H

#include "tilewright/extend/op.h"

/* The dimensions in the order of memory: "(512, 4096)". */
void tw_npy_shape(const tw_operand *, char *text, size_t size);
/* A header of 128 bytes, then the operand's own bytes; bfloat16 as 16-bit integers. malloc'ed; NULL without memory. */
char *tw_npy_of(const tw_operand *, const void *data, size_t *size);

#endif
