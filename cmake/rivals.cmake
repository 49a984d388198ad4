# bench_x86_rivals and the libraries that it compares with: a program for each that is found here, and for each that the user
# has built and names in an environment variable (docs/lab/2026-11-x86-libraries.md). Nothing else of the project needs them.
if(NOT TARGET bench_x86_rivals)
  return()
endif()
set(TW_RIVALS ${CMAKE_CURRENT_SOURCE_DIR}/bench/rivals)
target_sources(bench_x86_rivals PRIVATE ${TW_RIVALS}/cases.c ${TW_RIVALS}/link.c ${TW_RIVALS}/results.c
               ${TW_RIVALS}/report.c ${TW_RIVALS}/chart.c)
target_include_directories(bench_x86_rivals PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})

if(TW_SANITIZE)
  return() # nothing of it would be measured
endif()

# tw_rival(NAME SOURCE [libraries...])
function(tw_rival name source)
  add_executable(rival_${name} ${TW_RIVALS}/worker.c ${TW_RIVALS}/${source})
  target_include_directories(rival_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(rival_${name} PRIVATE ${TW_WHOLE_SHARED} ${ARGN})
  set_target_properties(rival_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endfunction()

tw_rival(tilewright tilewright.c)

# A BLAS is loaded at run time, by name or by the path in a variable.
foreach(blas "openblas libopenblas.so.0 TILEWRIGHT_OPENBLAS" "blis libblis.so.4 TILEWRIGHT_BLIS")
  separate_arguments(blas)
  list(GET blas 0 name)
  list(GET blas 1 library)
  list(GET blas 2 path)
  tw_rival(${name} blas.c ${CMAKE_DL_LIBS})
  target_compile_definitions(rival_${name} PRIVATE RIVAL_LIBRARY="${library}" RIVAL_PATH="${path}")
endforeach()

find_path(TW_DNNL_INCLUDE oneapi/dnnl/dnnl.h)
find_library(TW_DNNL dnnl)
if(TW_DNNL_INCLUDE AND TW_DNNL)
  tw_rival(onednn onednn.c ${TW_DNNL})
endif()

find_path(TW_XSMM_INCLUDE libxsmm.h)
find_library(TW_XSMM xsmm)
find_library(TW_XSMM_NOBLAS xsmmnoblas)
if(TW_XSMM_INCLUDE AND TW_XSMM AND TW_XSMM_NOBLAS)
  tw_rival(libxsmm libxsmm.c ${TW_XSMM} ${TW_XSMM_NOBLAS} ${CMAKE_DL_LIBS} Threads::Threads)
  target_compile_options(rival_libxsmm PRIVATE -Wno-shadow) # its headers
endif()

# Built by the user: prefixes (with include/ and lib/).
if(DEFINED ENV{TILEWRIGHT_ONEDNN})
  find_library(TW_DNNL_NEW dnnl PATHS $ENV{TILEWRIGHT_ONEDNN}/lib NO_DEFAULT_PATH REQUIRED)
  tw_rival(onednn_new onednn.c ${TW_DNNL_NEW})
  target_include_directories(rival_onednn_new BEFORE PRIVATE $ENV{TILEWRIGHT_ONEDNN}/include)
endif()
if(DEFINED ENV{TILEWRIGHT_AOCL_DLP})
  tw_rival(aocl_dlp aocl_dlp.c $ENV{TILEWRIGHT_AOCL_DLP}/lib/libaocl-dlp.so)
  target_include_directories(rival_aocl_dlp SYSTEM PRIVATE $ENV{TILEWRIGHT_AOCL_DLP}/include)
endif()
if(DEFINED ENV{TILEWRIGHT_GGML})
  set(TW_GGML_LIB $ENV{TILEWRIGHT_GGML}/lib)
  tw_rival(ggml ggml.c ${TW_GGML_LIB}/libggml.so ${TW_GGML_LIB}/libggml-cpu.so ${TW_GGML_LIB}/libggml-base.so)
  target_include_directories(rival_ggml SYSTEM PRIVATE $ENV{TILEWRIGHT_GGML}/include)
endif()
if(DEFINED ENV{TILEWRIGHT_IK_LLAMA})
  tw_rival(ik_llama ggml.c $ENV{TILEWRIGHT_IK_LLAMA}/lib/libggml.so)
  target_include_directories(rival_ik_llama SYSTEM PRIVATE $ENV{TILEWRIGHT_IK_LLAMA}/include)
  target_compile_definitions(rival_ik_llama PRIVATE RIVAL_IK)
endif()
if(DEFINED ENV{TILEWRIGHT_BITNET})
  tw_rival(bitnet ggml.c $ENV{TILEWRIGHT_BITNET}/lib/libggml.so)
  target_include_directories(rival_bitnet SYSTEM PRIVATE $ENV{TILEWRIGHT_BITNET}/include)
  target_compile_definitions(rival_bitnet PRIVATE RIVAL_BITNET)
endif()
