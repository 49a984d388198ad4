# gemm.cmake - libtilewright-gemm: GEMM and formats alone (tilewright/gemm.h, format.h), of the library's own objects, for programs
# that search nothing. It stands on hwloc and OpenMP; that nothing else is needed, the linker checks.
string(CONCAT TW_GEMM_OBJECTS
  "/src/format/[a-z0-9_]+[.]c|/src/format/vector/|/x86_kernels/|/src/base/(clock|cores|cpu|error|memory|pages|parallel|sized|strings|team|type|version)[.]c|"
  "/src/target/x86/(activations|choose|cpu|execute|in_place|loops|pack|plan|product|small|threads|variant|weights)[.]c|"
  "/src/target/x86/tune/(apply|known)[.]c")
set(TW_GEMM_OBJECTS "$<FILTER:$<TARGET_OBJECTS:tilewright_objects>,INCLUDE,${TW_GEMM_OBJECTS}>")
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
add_library(tilewright_gemm SHARED ${TW_GEMM_OBJECTS})
add_library(tilewright_gemm_static STATIC ${TW_GEMM_OBJECTS})
target_link_libraries(tilewright_gemm PRIVATE $<BUILD_INTERFACE:PkgConfig::HWLOC> m $<$<BOOL:${OpenMP_C_FOUND}>:OpenMP::OpenMP_C>)
target_link_options(tilewright_gemm PRIVATE -Wl,--no-undefined)
tw_show_only_the_api(tilewright_gemm)
foreach(target tilewright_gemm tilewright_gemm_static)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tilewright-gemm LINKER_LANGUAGE C)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
set_target_properties(tilewright_gemm PROPERTIES EXPORT_NAME gemm VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(tilewright_gemm_static PROPERTIES EXPORT_NAME gemm_static)
add_dependencies(product tilewright_gemm tilewright_gemm_static)
