# target.cmake - kernels that are emitted while the library is built: src/target/x86/kernels.txt lists them, a small program writes them,
# each is compiled with the flags of its instruction set.
set(TW_X86 ${CMAKE_CURRENT_SOURCE_DIR}/src/target/x86)
set(TW_KERNELS ${CMAKE_CURRENT_BINARY_DIR}/x86_kernels)
file(MAKE_DIRECTORY ${TW_KERNELS})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TW_X86}/kernels.txt)

# A kernel has functions for each number of rows up to its own. With sanitizers, which take a third of such a build for them, kernels of
# the same emitter with fewer rows stand for the largest: the optimized build tests all of those, with guard pages.
set(TW_KERNEL_LIST ${TW_X86}/kernels.txt)
if(TW_SANITIZE OR TW_TSAN OR TW_FUZZ)
  set(TW_KERNEL_LIST ${CMAKE_CURRENT_BINARY_DIR}/x86_kernels.txt)
  file(READ ${TW_X86}/kernels.txt lines)
  string(REPLACE " 14 2 4 512\n" " 4 2 4 512\n" lines "${lines}")
  string(REPLACE " portable 4 2 1 0\n" " portable 2 2 1 0\n" lines "${lines}")
  file(CONFIGURE OUTPUT ${TW_KERNEL_LIST} CONTENT "${lines}" @ONLY) # written only when it differs
endif()

if(TW_SANITIZE OR TW_TSAN OR TW_FUZZ)
  set(TW_KERNELS_OPTIONS -g1)
else()
  set(TW_KERNELS_OPTIONS -g0)
endif()
# At -O3 GCC copies these large functions for every combination of loops: four times the time to compile and three times the code, for
# no speed. The two in TW_KERNELS_AT_O3 are 4 to 9% slower at -O2.
set(TW_KERNELS_AT_O3 s16_avx2 s8s8_avxvnni)
set(TW_KERNELS_LEVEL)
if(TW_SANITIZE OR TW_TSAN OR TW_FUZZ)
  set(TW_KERNELS_AT_O3)
  set(TW_KERNELS_LEVEL -O1)
elseif(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(TW_KERNELS_LEVEL -O2 -fvect-cost-model=dynamic)
endif()
if(TW_SANITIZE AND NOT TW_FUZZ) # undefined behaviour ends the process without a report: half the time to compile
  list(APPEND TW_KERNELS_OPTIONS -fsanitize-undefined-trap-on-error)
endif()
if(TW_FUZZ) # what is fuzzed are parsers; instrumented, clang takes minutes for each of the larger kernels
  list(APPEND TW_KERNELS_OPTIONS -fno-sanitize=all)
endif()

add_executable(x86_generate ${TW_X86}/generate/generate.c ${TW_X86}/emit.c ${TW_X86}/emit_coded.c
               ${TW_X86}/emit_coded_sums.c ${TW_X86}/emit_amx.c ${TW_X86}/variant.c ${CMAKE_CURRENT_SOURCE_DIR}/src/base/strings.c)
target_include_directories(x86_generate PRIVATE include src)
target_link_libraries(x86_generate PRIVATE m)

file(STRINGS ${TW_KERNEL_LIST} TW_LINES REGEX "^(isa|kernel) ")
set(TW_KERNEL_SOURCES ${TW_KERNELS}/x86_table.c)
foreach(line IN LISTS TW_LINES)
  separate_arguments(word UNIX_COMMAND "${line}")
  list(POP_FRONT word what)
  if("${what}" STREQUAL "isa")
    list(POP_FRONT word isa)
    set(TW_FLAGS_${isa} ${word})
    continue()
  endif()
  list(GET word 0 arithmetic)
  list(GET word 1 isa)
  list(GET word 2 rows)
  list(GET word 3 vectors)
  if(NOT "${isa}" STREQUAL "portable" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    continue()
  endif()
  set(file ${TW_KERNELS}/${arithmetic}_${isa}_${rows}x${vectors}.c)
  set(level ${TW_KERNELS_LEVEL})
  if("${arithmetic}_${isa}" IN_LIST TW_KERNELS_AT_O3)
    set(level)
  endif()
  if(NOT "${isa}" STREQUAL "portable")
    list(APPEND level ${TW_SANITIZE_VECTORS})
  endif()
  # Vectors wider than the set's registers are passed only within the file: how, is nobody else's business. Every tile is
  # inlined from one template: -g would be nine tenths of each program that holds them, lines alone (-g1) half of it.
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${TW_FLAGS_${isa}};${level};-Wno-psabi;${TW_KERNELS_OPTIONS}")
  list(APPEND TW_KERNEL_SOURCES ${file})
endforeach()
add_custom_command(OUTPUT ${TW_KERNEL_SOURCES} COMMAND x86_generate ${TW_KERNEL_LIST} ${TW_KERNELS}
                   DEPENDS x86_generate ${TW_KERNEL_LIST} COMMENT "Emitting kernels" VERBATIM)
list(APPEND TW_SOURCES ${TW_KERNEL_SOURCES})
list(APPEND TW_EMBEDDED ${TW_X86}/kernel.h ${TW_X86}/kernels.txt) # for kernels that are compiled at run time

# The process in which kernels run that nobody trusts.
tw_add_runner(x86_runner x86-runner ${TW_X86}/runner/main.c ${TW_X86}/runner/registers.c ${TW_NATIVE_RUNNER})
if(TW_SANITIZE OR TW_TSAN OR TW_FUZZ)
  target_link_libraries(x86_runner PRIVATE ${TW_WHOLE} ${CMAKE_DL_LIBS})
else()
  # A search starts two processes for each kernel: with all of the library and what it links, most of a start is the dynamic linker's.
  # Kernels may need libm, and nothing can be loaded later.
  target_link_options(x86_runner PRIVATE -Wl,--as-needed)
  target_link_libraries(x86_runner PRIVATE tilewright_static tilewright_needs ${CMAKE_DL_LIBS}
                        -Wl,--push-state,--no-as-needed -lm -Wl,--pop-state)
endif()
