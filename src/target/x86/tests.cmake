# tests.cmake - gemm with each set as the most there is; formats and gemm on CPUs that QEMU emulates, without AVX-512 and without AVX.
list(APPEND TW_SLOW_TESTS test_blas test_x86_gemm test_x86_gemm_hostile test_x86_gemm_hostile_portable
     test_x86_gemm_hostile_avx2 test_x86_gemm_hostile_avxvnni test_x86_gemm_hostile_avx512 test_x86_gemm_hostile_avx512vnni
     test_x86_quantized test_x86_sandbox test_x86_tune)
list(APPEND TW_SANITIZED_TESTS test_blas)
list(APPEND TW_THREADED_TESTS test_x86_gemm_threads)
if(TARGET test_x86_gemm_hostile AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(isa portable avx2 avxvnni avx512 avx512vnni)
    add_test(NAME test_x86_gemm_hostile_${isa} COMMAND test_x86_gemm_hostile)
    set_tests_properties(test_x86_gemm_hostile_${isa} PROPERTIES ENVIRONMENT TILEWRIGHT_GEMM_ISA=${isa} LABELS x86)
  endforeach()
  # Kernels of AMX, emulated (tests/x86/amx.h): a signal for each instruction, which sanitizers make ten times as slow. Under
  # those, of all the cases only those with guard pages run.
  set(TW_AMX_TESTS test_x86_gemm_hostile)
  if(NOT TW_SANITIZE)
    list(APPEND TW_AMX_TESTS test_x86_gemm test_x86_gemm_threads)
  endif()
  foreach(name IN LISTS TW_AMX_TESTS)
    add_test(NAME ${name}_amx COMMAND ${name})
    list(APPEND TW_ONCE_PROGRAMS ${name})
    set_tests_properties(${name}_amx PROPERTIES ENVIRONMENT TILEWRIGHT_TEST_EMULATE=amx SKIP_RETURN_CODE 77 TIMEOUT 1200
                         LABELS "x86;emulated")
  endforeach()
endif()
# No sanitizer runs under QEMU. Where it is installed these tests are the longest, so they begin first.
if(TARGET test_x86_gemm_hostile AND NOT TW_SANITIZE AND NOT TW_TSAN)
  foreach(run test_x86_gemm:Haswell test_x86_gemm:Westmere test_x86_gemm_hostile:Haswell test_x86_gemm_hostile:Westmere
          test_x86_quantized:Haswell test_format_vector:Haswell)
    string(REPLACE ":" ";" run ${run})
    list(POP_FRONT run name cpu)
    add_test(NAME ${name}_on_${cpu} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tests/emulated.sh ${cpu} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}_on_${cpu} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 LABELS "x86;emulated" COST 200)
  endforeach()
endif()
