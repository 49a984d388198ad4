# Makes a C source whose arrays are files: cmake -D OUTPUT=x.c -D ROOT=src/target -D LIST=files.txt -P embed.cmake
# LIST holds one path a line, maybe none. The names in the table are the paths below ROOT. TABLE, COUNT and HEADER say where else the
# files go than to the library's own table.
if(NOT DEFINED TABLE)
  set(TABLE tw_embedded_table)
  set(COUNT tw_embedded_count)
  set(HEADER base/embedded_table.h)
endif()
file(STRINGS "${LIST}" files)
set(arrays "")
set(table "")
set(count 0)
set(named "")
foreach(path IN LISTS files)
  file(RELATIVE_PATH name "${ROOT}" "${path}")
  string(REGEX REPLACE "^(\\.\\./)+" "" name "${name}") # outside of ROOT: the path below its parents
  list(APPEND named "${name}\t${path}") # a tab is before all that names hold
endforeach()
list(SORT named)
foreach(both IN LISTS named)
  string(REGEX REPLACE "\t.*" "" name "${both}")
  string(REGEX REPLACE ".*\t" "" path "${both}")
  file(SIZE "${path}" size)
  # The assembler reads the file: C arrays of a million numbers took seconds to compile after each change of a text.
  string(APPEND arrays "__asm__(\".pushsection .rodata\\n.balign 16\\nfile_${count}: .incbin \\\"${path}\\\"\\n.byte 0\\n.popsection\");\n"
                       "extern const unsigned char file_${count}[] __attribute__((visibility(\"hidden\")));\n")
  string(APPEND table "  {\"${name}\", file_${count}, ${size}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUTPUT}" "/* Made by cmake/embed.cmake: do not edit. */
#include \"${HEADER}\"

${arrays}
const tw_embedded ${TABLE}[] = {
${table}  {0, 0, 0},
};
const size_t ${COUNT} = ${count};
")
