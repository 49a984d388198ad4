/* C = A B, 64x64x48, int8 to int32: steps of 24 along K that the memory tile pads to 32 with zeros, columns of A and
 * rows of B. */
#ifndef TW_TESTS_XDNA2_PADDED_DESIGN_H
#define TW_TESTS_XDNA2_PADDED_DESIGN_H

#include "xdna2_core_loop.h"

static const char padded_fifos[] =
    "aie.device(npu2) {\n"
    "  func.func private @zero_scalar_i32(memref<32x32xi32>)\n"
    "  func.func private @matmul_scalar_i8_i32(memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>)\n"
    "  %shim = aie.tile(0, 0)\n"
    "  %mem = aie.tile(0, 1)\n"
    "  %tile = aie.tile(0, 2)\n"
    "  aie.objectfifo @inA(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<32x24xi8>>\n"
    "  aie.objectfifo @memA(%mem dimensionsToStream [<size = 32, stride = 24>, <size = 24, stride = 1>], {%tile}, "
    "2 : i32) {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 0, const_pad_after = 0>, "
    "<const_pad_before = 4, const_pad_after = 4>]>} : !aie.objectfifo<memref<32x32xi8>>\n"
    "  aie.objectfifo.link [@inA] -> [@memA]([] [])\n"
    "  aie.objectfifo @inB(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<24x32xi8>>\n"
    "  aie.objectfifo @memB(%mem dimensionsToStream [<size = 24, stride = 32>, <size = 32, stride = 1>], {%tile}, "
    "2 : i32) {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 4, const_pad_after = 4>, "
    "<const_pad_before = 0, const_pad_after = 0>]>} : !aie.objectfifo<memref<32x32xi8>>\n"
    "  aie.objectfifo.link [@inB] -> [@memB]([] [])\n"
    "  aie.objectfifo @memC(%tile, {%shim}, 2 : i32) : !aie.objectfifo<memref<32x32xi32>>\n"
    "  aie.core(%tile) {\n"
    "    %zero = arith.constant 0 : index\n"
    "    %one = arith.constant 1 : index\n"
    "    %two = arith.constant 2 : index\n"
    "    %ever = arith.constant 4294967295 : index\n" XDNA2_CORE_LOOP(
        "zero_scalar_i32", "matmul_scalar_i8_i32") "    aie.end\n"
                                                   "  }\n"
                                                   "  aie.runtime_sequence(%A: memref<64x48xi8>, %B: memref<48x64xi8>, "
                                                   "%C: memref<64x64xi32>) {\n"
                                                   "    aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 0][2, 2, 32, 32][2048, 32, "
                                                   "64, 1]) {id = 0 : i64, metadata = @memC} : "
                                                   "memref<64x64xi32>\n"
                                                   "    aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 0][2, 2, 32, 24][0, 24, 48, "
                                                   "1]) {id = 1 : i64, metadata = @inA} : "
                                                   "memref<64x48xi8>\n"
                                                   "    aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 24, 32][32, 1536, "
                                                   "64, 1]) {id = 2 : i64, metadata = @inB} : "
                                                   "memref<48x64xi8>\n"
                                                   "    aiex.npu.dma_memcpy_nd(%A[0, 0, 0, 1536][2, 2, 32, 24][0, 24, "
                                                   "48, 1]) {id = 3 : i64, metadata = @inA} : "
                                                   "memref<64x48xi8>\n"
                                                   "    aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 24, 32][32, 1536, "
                                                   "64, 1]) {id = 4 : i64, metadata = @inB} : "
                                                   "memref<48x64xi8>\n"
                                                   "    aiex.npu.dma_wait {symbol = @memC}\n"
                                                   "  }\n"
                                                   "}\n";

#endif
