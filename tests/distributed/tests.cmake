# Searches on several computers; each is skipped where its MPI, or Slurm, is not installed.
if(TARGET tilewright AND NOT (TW_SANITIZE OR TW_TSAN OR TW_FUZZ))
  foreach(name mpi_openmpi mpi_mpich hosts runners)
    string(REGEX REPLACE "_.*" "" script ${name})
    string(REGEX REPLACE ".*_" "" argument ${name})
    add_test(NAME distributed_${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/tests/distributed/${script}.sh $<TARGET_FILE:tilewright>
                                              ${CMAKE_CURRENT_BINARY_DIR}/tests/distributed/${name} ${argument})
    set_tests_properties(distributed_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
  endforeach()
  add_test(NAME distributed_slurm COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/tests/distributed/slurm.sh $<TARGET_FILE:tilewright>
                                          ${CMAKE_CURRENT_BINARY_DIR}/tests/distributed/slurm)
  set_tests_properties(distributed_slurm PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
