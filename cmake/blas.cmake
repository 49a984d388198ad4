# blas.cmake - libtilewright-blas: a few functions of BLAS for programs that exist, made of the library's own objects. One file, which
# shows nothing but these functions and needs no other BLAS.
file(GLOB TW_BLAS_SOURCES CONFIGURE_DEPENDS src/blas/*.c)
add_library(tilewright_blas SHARED ${TW_BLAS_SOURCES})
target_include_directories(tilewright_blas PRIVATE include src)
target_link_libraries(tilewright_blas PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
if(TARGET tilewright_gemm)
  target_sources(tilewright_blas PRIVATE "$<FILTER:${TW_GEMM_OBJECTS},EXCLUDE,/x86/(execute|threads)[.]c>") # it has threads of its own
  target_link_libraries(tilewright_blas PRIVATE PkgConfig::HWLOC m)
  # Its threads run its code: it is never unloaded.
  target_link_options(tilewright_blas PRIVATE -Wl,--no-undefined -Wl,-z,nodelete
                      -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/blas.map)
  set_target_properties(tilewright_blas PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/blas.map)
else()
  target_link_libraries(tilewright_blas PRIVATE ${TW_WHOLE})
endif()
set_target_properties(tilewright_blas PROPERTIES OUTPUT_NAME tilewright-blas EXPORT_NAME blas LINKER_LANGUAGE C
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
add_dependencies(product tilewright_blas)
