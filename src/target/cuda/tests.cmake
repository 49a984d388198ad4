# tests.cmake - a driver without a device, for test_cuda_process and _library: what the library makes of a kernel's process is tested everywhere.
list(APPEND TW_SLOW_TESTS test_cuda_export test_cuda_process)
if(TARGET test_cuda_process)
  add_library(cuda_stub SHARED tests/cuda_stub/driver.c)
  target_include_directories(cuda_stub PRIVATE src)
  target_compile_options(cuda_stub PRIVATE -fvisibility=default -fno-sanitize=all -Wno-missing-prototypes)
  target_link_options(cuda_stub PRIVATE -fno-sanitize=all)
  set_target_properties(cuda_stub PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests/cuda_stub)
  target_compile_definitions(test_cuda_process PRIVATE TW_CUDA_STUB="${CMAKE_CURRENT_BINARY_DIR}/tests/cuda_stub")
  add_dependencies(test_cuda_process cuda_stub)
  target_compile_definitions(test_cuda_library PRIVATE TW_CUDA_STUB="${CMAKE_CURRENT_BINARY_DIR}/tests/cuda_stub")
  add_dependencies(test_cuda_library cuda_stub)
endif()
