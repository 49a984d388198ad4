/* module.c - the table of the module tilewright-quantize.so. */
#include "tensors/convert.h"
#include "tilewright/tilewright.h"

extern const converter tensors_converter;
const converter tensors_converter = {
    .module.version = TILEWRIGHT_VERSION, .convert = convert_file, .free = conversion_free};
