# target.cmake - the process that loads CUDA's libraries, if they are there.
file(GLOB TW_CUDA_RUNNER CONFIGURE_DEPENDS src/target/cuda/runner/*.c)
tw_add_runner(cuda_runner cuda-runner ${TW_CUDA_RUNNER} src/target/cuda/driver.c src/target/cuda/start.c
              src/native/runner/device.c src/base/confine.c src/base/error.c)
target_include_directories(cuda_runner PRIVATE include src)
target_link_libraries(cuda_runner PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(cuda_runner PRIVATE -fno-sanitize=all) # neither CUDA's libraries nor the confinement take sanitizers
target_link_options(cuda_runner PRIVATE -fno-sanitize=all)
