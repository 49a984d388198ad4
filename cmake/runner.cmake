# tilewright-x86-runner: the process in which kernels run that nobody trusts (src/target/x86/runner).
add_executable(x86_runner src/target/x86/runner/main.c src/target/x86/runner/confine.c)
target_link_libraries(x86_runner PRIVATE ${TW_WHOLE} ${CMAKE_DL_LIBS})
set_target_properties(x86_runner PROPERTIES OUTPUT_NAME tilewright-x86-runner)
if(NOT TW_SANITIZE AND NOT TW_FUZZ)
  install(TARGETS x86_runner DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tilewright)
endif()

# tilewright-cuda-runner: the process that loads CUDA's libraries, if they are there (src/target/cuda/runner).
file(GLOB TW_CUDA_RUNNER CONFIGURE_DEPENDS src/target/cuda/runner/*.c)
add_executable(cuda_runner ${TW_CUDA_RUNNER})
target_include_directories(cuda_runner PRIVATE include src)
target_link_libraries(cuda_runner PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(cuda_runner PRIVATE -fno-sanitize=all) # neither CUDA's libraries nor the confinement take sanitizers
target_link_options(cuda_runner PRIVATE -fno-sanitize=all)
set_target_properties(cuda_runner PROPERTIES OUTPUT_NAME tilewright-cuda-runner)
if(NOT TW_SANITIZE AND NOT TW_FUZZ)
  install(TARGETS cuda_runner DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tilewright)
endif()
