// wrong | wrong result | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// C has the tiles of the first row twice, the others none
// edits honest_plain.mlir
-      aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 0][2, 2, 32, 32][2048, 32, 64, 1]) {id = 0 : i64, metadata = @outC} : memref<4096xi32>
+      aiex.npu.dma_memcpy_nd(%C[0, 0, 0, 0][2, 2, 32, 32][0, 32, 64, 1]) {id = 0 : i64, metadata = @outC} : memref<4096xi32>
