// does not build | without acquiring a lock | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// the next A overwrites the one that leaves
// edits honest_plain.mlir
-      aie.use_lock(%la_free, AcquireGreaterEqual, 1)
