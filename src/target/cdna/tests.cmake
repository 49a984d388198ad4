# tests.cmake - ran after all tests are defined.
list(APPEND TW_THREADED_TESTS test_cdna_sample)
list(APPEND TW_SLOW_TESTS test_cdna_checks test_cdna_grid test_cdna_isa test_cdna_register_tiles test_cdna_run test_cdna_tiles
     test_cdna_time)
# Kernels for AMD GPUs are compiled where clang-22 is there.
if(TARGET test_cdna_run)
  set_tests_properties(test_cdna_run test_cdna_isa test_cdna_checks test_cdna_register_tiles test_cdna_tiles PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(TARGET tilewright AND NOT (TW_SANITIZE OR TW_TSAN OR TW_FUZZ))
  add_test(NAME cdna_ci_example COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tests/ci_example_test.sh $<TARGET_FILE:tilewright>
                                        ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(cdna_ci_example PROPERTIES SKIP_RETURN_CODE 77)
endif()
