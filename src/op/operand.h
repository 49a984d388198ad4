/* operand.h - the places of an operand's elements.
 *
 * An operand of any rank is treated as rows of its last dimension, counted in the order of the other dimensions, for
 * any strides. */
#ifndef TW_OP_OPERAND_H
#define TW_OP_OPERAND_H

#include "tilewright/extend/op.h"

int64_t tw_operand_rows(const tw_operand *);    /* the product of all dimensions but the last */
int64_t tw_operand_columns(const tw_operand *); /* the last dimension */
/* Elements from one row to the next of an operand whose rows are contiguous. */
int64_t tw_operand_pitch(const tw_operand *);
/* Elements from the operand's begin to the first element of a row. */
int64_t tw_operand_row_at(const tw_operand *, int64_t row);
/* [sequence][position][head][element], an input, with `pitch` elements from one position to the next; 0: dense. */
tw_operand tw_operand_positions(const char *name, tw_type, const int64_t dims[4], int64_t pitch);
double tw_operand_element(const tw_operand *, const void *data, int64_t row, int64_t column);
/* Contents of an output before a run: TW_POISON; for seeds of TW_SEED_KIND, numbers that a kernel cannot distinguish
 * from results, so that a kernel which adds to them, or trusts them, is found. Bytes between elements are TW_POISON,
 * given ones are copied from `given`. */
void tw_blank_output(const tw_operand *, uint64_t seed, const void *given, void *to);
/* Does poison tell that an element was not written? It is NaN in floating-point types, and -1 or 255 in integers. */
bool tw_poison_tells(tw_type);
bool tw_is_poison(const tw_operand *, const void *data, int64_t row, int64_t column);

/* The first place from `from` on, in elements, that is not an element and does not hold poison; -1: none. */
int64_t tw_operand_written_gap(const tw_operand *, const void *data, int64_t from);

#endif
