/* What the core of a GEMM in object-FIFO form does for ever, in text: clears a tile of C, adds two products of
 * tiles. */
#ifndef TW_TESTS_XDNA2_CORE_LOOP_H
#define TW_TESTS_XDNA2_CORE_LOOP_H

/* On @memA, @memB (int8) and @memC (int32), 32x32 each, with the constants %zero, %one, %two, %ever; by these
 * functions. */
#define XDNA2_CORE_LOOP(zero, matmul)                                                                                  \
  "      scf.for %i = %zero to %ever step %one {\n"                                                                    \
  "        %c = aie.objectfifo.acquire @memC(Produce, 1) : !aie.objectfifosubview<memref<32x32xi32>>\n"                \
  "        %c0 = aie.objectfifo.subview.access %c[0] : !aie.objectfifosubview<memref<32x32xi32>> -> "                  \
  "memref<32x32xi32>\n"                                                                                                \
  "        func.call @" zero "(%c0) : (memref<32x32xi32>) -> ()\n"                                                     \
  "        scf.for %k = %zero to %two step %one {\n"                                                                   \
  "          %a = aie.objectfifo.acquire @memA(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>\n"               \
  "          %a0 = aie.objectfifo.subview.access %a[0] : !aie.objectfifosubview<memref<32x32xi8>> -> "                 \
  "memref<32x32xi8>\n"                                                                                                 \
  "          %b = aie.objectfifo.acquire @memB(Consume, 1) : !aie.objectfifosubview<memref<32x32xi8>>\n"               \
  "          %b0 = aie.objectfifo.subview.access %b[0] : !aie.objectfifosubview<memref<32x32xi8>> -> "                 \
  "memref<32x32xi8>\n"                                                                                                 \
  "          func.call @" matmul "(%a0, %b0, %c0) : (memref<32x32xi8>, memref<32x32xi8>, memref<32x32xi32>) -> "       \
  "()\n"                                                                                                               \
  "          aie.objectfifo.release @memA(Consume, 1)\n"                                                               \
  "          aie.objectfifo.release @memB(Consume, 1)\n"                                                               \
  "        }\n"                                                                                                        \
  "        aie.objectfifo.release @memC(Produce, 1)\n"                                                                 \
  "      }\n"

#endif
