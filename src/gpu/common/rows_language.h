/* rows_language.h - the steps and the menu that the kernels of rows.h share. */
#ifndef TW_TILE_ROWS_LANGUAGE_H
#define TW_TILE_ROWS_LANGUAGE_H

#include "base/template.h"
#include "gpu/common/rows.h"

enum { TW_TILE_CHUNK = 16, TW_TILE_BLOCK_MAX = 1024 };

extern const tw_language tw_tile_rotary_language, tw_tile_gate_language, tw_tile_row_language;

/* TW_USAGE unless a thread block has whole warps and fits the machine. */
tw_status tw_tile_check_threads(const tw_tile_machine *, int threads, tw_error *);

int tw_tile_type_bytes(tw_type);
/* Elements that a thread reads at once from lines of n elements: 16 bytes where the lines allow it, else one. */
int tw_tile_piece(tw_type, int64_t n);

/* The slots of kernels/elementwise_function.cuh.in, for plain kernels, too. */
void tw_tile_elementwise_slots(const tw_problem *, tw_slots *);

#endif
