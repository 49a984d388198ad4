/* tile.cuh - the whole vocabulary of tiles for NVIDIA GPUs from Hopper (sm_90a) on; docs/reference/tile-library.md is its manual. */
#pragma once
#include "tile_core.cuh"
#include "tile_few.cuh"
#include "tile_fragments.cuh"
#include "tile_mma.cuh"
#include "tile_rows.cuh"
#include "tile_slices.cuh"
#include "tile_swap.cuh"
