/* export.h - a kernel as one file of CUDA C++ with all that starts it: for programs that do not link tilewright. */
#ifndef TW_CUDA_EXPORT_H
#define TW_CUDA_EXPORT_H

#include "tilewright/extend/target.h"

extern const tw_exporter cuda_exporter;

#endif
