#pragma once
#include "../xrt/xrt_kernel.h"
