/* module.c - the table of the module tilewright-mlir-aie.so. */
#include "mlir_aie/execute.h"
#include "mlir_aie/read.h"
#include "tilewright/tilewright.h"

extern const xd_mlir_reader xd_mlir_aie;
const xd_mlir_reader xd_mlir_aie = {
    .module.version = TILEWRIGHT_VERSION,
    .read = xd_mlir_read,
    .free = xd_mlir_free,
    .work_of = xd_mlir_work_of,
    .check = xd_mlir_check,
    .coverage = xd_mlir_coverage,
    .measure = xd_mlir_measure,
    .launch = xd_mlir_launch,
};
