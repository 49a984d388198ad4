/* amd_hip_ocp_fp_cxx.hpp - a part of hip_fp6.h. */
#pragma once
#include "hip/hip_fp6.h"
