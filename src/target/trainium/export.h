/* export.h - what `--out` writes beside a kernel: a driver for a Trainium instance, with inputs and expected outputs of small problems. */
#ifndef TW_TRAINIUM_EXPORT_H
#define TW_TRAINIUM_EXPORT_H

#include "tilewright/extend/target.h"

extern const tw_exporter trn_exporter;

#endif
