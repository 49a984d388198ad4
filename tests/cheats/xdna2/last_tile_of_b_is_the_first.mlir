// wrong | wrong result | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// the last transfer of B begins where the first does
// edits honest_plain.mlir
-      aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 32, 32][32, 2048, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<4096xi8>
+      aiex.npu.dma_memcpy_nd(%B[0, 0, 0, 0][2, 2, 32, 32][0, 2048, 64, 1]) {id = 4 : i64, metadata = @inB} : memref<4096xi8>
