/* hip_common.h - a part of hip_runtime.h. */
#pragma once
#include "hip_words.h"
