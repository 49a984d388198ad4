// wrong | wrong result | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// the last row of blocks of A is that before it
// edits honest_plain.mlir
-      aie.dma_bd(%la : memref<1024xi8>, 0, 1024, [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>])
+      aie.dma_bd(%la : memref<1024xi8>, 0, 1024, [<size = 2, stride = 512>, <size = 8, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>])
