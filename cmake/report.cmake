# The page of `tilewright report` and the live view, part of the command. d3 and jsdiff come from Debian's packages and go into the
# page with their licences. A build without them has everything but the page, and says so when it is asked for one.
find_file(TW_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist NO_DEFAULT_PATH)
find_file(TW_JSDIFF diff.js PATHS /usr/share/nodejs/diff/dist NO_DEFAULT_PATH)
find_file(TW_D3_LICENCE copyright PATHS /usr/share/doc/node-d3 NO_DEFAULT_PATH)
find_file(TW_JSDIFF_LICENCE copyright PATHS /usr/share/doc/node-diff NO_DEFAULT_PATH)
set(TW_PAGE_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/report)
file(GLOB TW_PAGE_FILES CONFIGURE_DEPENDS src/report/page/*)
if(TW_D3 AND TW_JSDIFF AND TW_D3_LICENCE AND TW_JSDIFF_LICENCE)
  configure_file(${TW_D3_LICENCE} ${TW_PAGE_FOLDER}/d3-copyright COPYONLY)
  configure_file(${TW_JSDIFF_LICENCE} ${TW_PAGE_FOLDER}/diff-copyright COPYONLY)
  set(TW_HAVE_PAGE ON)
  list(APPEND TW_PAGE_FILES ${TW_D3} ${TW_JSDIFF} ${TW_PAGE_FOLDER}/d3-copyright ${TW_PAGE_FOLDER}/diff-copyright)
else()
  message(STATUS "tilewright report is left out: it needs node-d3 and node-diff (Debian)")
endif()
set(TW_PAGE_LIST ${CMAKE_CURRENT_BINARY_DIR}/page_files.txt)
set(TW_PAGE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/page_files.c)
string(REPLACE ";" "\n" TW_PAGE_LINES "${TW_PAGE_FILES}")
file(CONFIGURE OUTPUT ${TW_PAGE_LIST} CONTENT "${TW_PAGE_LINES}\n" @ONLY)
add_custom_command(OUTPUT ${TW_PAGE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${TW_PAGE_SOURCE} -D ROOT=${CMAKE_CURRENT_SOURCE_DIR}/src/report/page -D LIST=${TW_PAGE_LIST}
          -D TABLE=report_page_files -D COUNT=report_page_count -D HEADER=report/page_files.h
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${TW_PAGE_FILES} ${TW_PAGE_LIST} cmake/embed.cmake COMMENT "Embedding the page of reports" VERBATIM)
file(GLOB TW_REPORT CONFIGURE_DEPENDS src/report/*.c)
target_sources(tilewright PRIVATE ${TW_REPORT} ${TW_PAGE_SOURCE})

# The live view (tune --watch).
pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd)
if(MICROHTTPD_FOUND)
  target_link_libraries(tilewright PRIVATE PkgConfig::MICROHTTPD)
  target_compile_definitions(tilewright PRIVATE TW_HAVE_MICROHTTPD)
else()
  message(STATUS "tilewright tune --watch is left out: it needs libmicrohttpd-dev (Debian)")
endif()
