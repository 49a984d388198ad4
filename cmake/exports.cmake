# exports.cmake - what the shared libraries show: the functions that the headers in include/ mark with TW_API, by a version script
# for the linker. Objects hide nothing, so that tests link the same objects as a shared library and reach internal functions.
file(GLOB TW_PUBLIC_HEADERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/tilewright/*.h
     ${CMAKE_CURRENT_SOURCE_DIR}/include/tilewright/extend/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TW_PUBLIC_HEADERS})
set(TW_EXPORTS)
foreach(header IN LISTS TW_PUBLIC_HEADERS)
  file(STRINGS ${header} lines REGEX "^(TW_API |tw_[a-z0-9_]+[(])") # the name may follow the type on a line of its own
  foreach(line IN LISTS lines)
    if(line MATCHES "(^|[ *])(tw_[a-z0-9_]+)[(]")
      string(APPEND TW_EXPORTS "    ${CMAKE_MATCH_2};\n")
    endif()
  endforeach()
endforeach()
set(TW_EXPORT_MAP ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
file(CONFIGURE OUTPUT ${TW_EXPORT_MAP} CONTENT "{\n  global:\n${TW_EXPORTS}  local: *;\n};\n" @ONLY)

# tw_show_only_the_api TARGET
function(tw_show_only_the_api target)
  # Helper threads of src/base/team.c stay in the library's code, so that a program must not unload it.
  target_link_options(${target} PRIVATE -Wl,--version-script=${TW_EXPORT_MAP} -Wl,-z,nodelete)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${TW_EXPORT_MAP})
endfunction()
