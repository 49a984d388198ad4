/* hip_bfloat16.h - a part of hip_bf16.h. */
#pragma once
#include "hip_bf16.h"
