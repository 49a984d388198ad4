// does not build | does not hold it | gemm m=64 n=64 k=64 a=i8 b=i8 c=i32 -t xdna2
// C is released before the last product is added
// edits honest_plain.mlir
-          aie.use_lock(%b_full, AcquireGreaterEqual)
+          aie.use_lock(%b_full, AcquireGreaterEqual)
+          aie.use_lock(%c_full, Release, 1)
-        }
-        aie.use_lock(%c_full, Release, 1)
+        }
