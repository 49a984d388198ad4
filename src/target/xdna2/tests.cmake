# tests.cmake - the tests that take long.
list(APPEND TW_SLOW_TESTS test_xdna2_array_tables test_xdna2_core_accuracy test_xdna2_elsewhere test_xdna2_gemm test_xdna2_kernel_cc
     test_xdna2_mlir test_xdna2_target test_xdna2_weights)
list(APPEND TW_SANITIZED_TESTS test_xdna2_mlir)
