# format.cmake - how src/format is compiled.
#
# Exact to the bit: no product and sum become one instruction with one rounding. src/format/vector is for x86-64, each
# file for an instruction set that the library looks for at run time; -g1 as in kernels.cmake.
file(GLOB TW_FORMAT_SOURCES src/format/*.c src/format/vector/*.c)
set_property(SOURCE ${TW_FORMAT_SOURCES} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  set_property(SOURCE src/format/vector/avx2.c APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma -mf16c -g1 ${TW_SANITIZE_VECTORS})
  set_property(SOURCE src/format/vector/avx512.c APPEND PROPERTY COMPILE_OPTIONS -mf16c -mavx512f -mavx512bw -mavx512dq
               -mavx512vl -mavx512vbmi -mprefer-vector-width=512 -g1 ${TW_SANITIZE_VECTORS})
  set_property(SOURCE ${TW_FORMAT_SOURCES} APPEND PROPERTY COMPILE_DEFINITIONS TW_FORMAT_VECTOR)
  if(TW_SANITIZE OR TW_TSAN) # clang 14 takes all memory for them at -O1
    set_property(SOURCE src/format/vector/avx2.c src/format/vector/avx512.c APPEND PROPERTY COMPILE_OPTIONS
                 $<IF:$<C_COMPILER_ID:Clang>,-O2,-O1>)
  endif()
  target_sources(tilewright_objects PRIVATE src/format/vector/avx2.c src/format/vector/avx512.c)
endif()
