/* tile.hpp - the tile vocabulary for AMD's CDNA3 and CDNA4 (gfx942, gfx950): docs/reference/tile-library.md. */
#pragma once
#include "tile_core.hpp"
#include "tile_rows.hpp"
#include "tile_mma.hpp"
#include "tile_mx.hpp"
#include "tile_float6.hpp"
#include "tile_attention.hpp"
#include "tile_back.hpp"
#include "tile_register.hpp"
