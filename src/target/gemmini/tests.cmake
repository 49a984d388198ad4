# tests.cmake - the tests that take long.
list(APPEND TW_SLOW_TESTS test_chain test_gemmini_build test_gemmini_configs test_gemmini_conv2d test_gemmini_diagnosis
     test_gemmini_emit test_gemmini_from test_gemmini_from_hostile test_gemmini_functional test_gemmini_instructions test_gemmini_loops
     test_gemmini_programs test_gemmini_rtl test_gemmini_runtime test_gemmini_schedules test_rv64 test_rv64_timing)
list(APPEND TW_SANITIZED_TESTS test_gemmini_from_hostile)
