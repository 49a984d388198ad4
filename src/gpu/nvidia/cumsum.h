/* cumsum.h - the structure of kernels for op `cumsum`: a block goes through each row, of any length. Steps:
 *
 *   chunks 4         pieces of a thread: of 16 bytes where the length permits it, else one element
 *   threads 256      threads of a block
 *   streaming        stores bypass the caches */
#ifndef TW_TILE_CUMSUM_H
#define TW_TILE_CUMSUM_H

#include "gpu/common/family.h"

extern const tw_tile_family tw_tile_cumsum;

#endif
