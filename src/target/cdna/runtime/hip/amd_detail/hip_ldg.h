/* hip_ldg.h - a part of hip_runtime.h. */
#pragma once
#include "hip/hip_runtime.h"
