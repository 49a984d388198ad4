/* export.h - a kernel as one file of CUDA C++ with all host code that it needs: for programs that do not link
 * tilewright. */
#ifndef TW_CUDA_EXPORT_H
#define TW_CUDA_EXPORT_H

#include "tilewright/extend/target.h"

extern const tw_exporter cuda_exporter;

#endif
