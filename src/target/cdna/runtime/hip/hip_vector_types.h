/* hip_vector_types.h - a part of hip_runtime.h. */
#pragma once
#include "hip_runtime.h"
