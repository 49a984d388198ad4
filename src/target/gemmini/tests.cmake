# tests.cmake - the tests that take long.
list(APPEND TW_SLOW_TESTS test_gemmini_configs test_gemmini_conv2d test_gemmini_from_hostile)
