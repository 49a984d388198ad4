/* tile_ampere.cuh - the vocabulary of tiles for NVIDIA GPUs from Ampere (sm_80) on; docs/reference/tile-library.md is its manual. */
#pragma once
#include "tile_core.cuh"
#include "tile_rows.cuh"
#include "tile_warps.cuh"
