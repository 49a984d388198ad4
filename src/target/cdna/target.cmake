# target.cmake - how src/target/cdna/lanes is compiled: once for each instruction set of x86-64 that the library looks for at
# run time. No product and sum become one instruction with one rounding; -g1 as for the kernels of src/target/x86.
file(GLOB TW_CDNA_LANES src/target/cdna/lanes/*.c)
set_property(SOURCE ${TW_CDNA_LANES} src/target/cdna/emulator/lds.c src/target/cdna/emulator/vmem.c src/target/cdna/emulator/valu.c
             APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  set_property(SOURCE src/target/cdna/lanes/avx2.c APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma -mf16c -g1
               $<$<BOOL:${TW_SANITIZE}>:-fno-sanitize=undefined>)
  set_property(SOURCE src/target/cdna/lanes/avx512.c APPEND PROPERTY COMPILE_OPTIONS -mavx512f -mavx512bw -mavx512dq
               -mavx512vl -mfma -mf16c -mprefer-vector-width=512 -g1 $<$<BOOL:${TW_SANITIZE}>:-fno-sanitize=undefined>)
endif()
