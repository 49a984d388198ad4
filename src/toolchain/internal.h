/* internal.h - shared by the files of this folder. */
#ifndef TW_TOOLCHAIN_INTERNAL_H
#define TW_TOOLCHAIN_INTERNAL_H

#include "base/confine.h"
#include "toolchain/toolchain.h"

enum { TW_TOOL_PATHS = 64 };

/* One set of programs, as inspected once: never changed, never removed. */
typedef struct tw_tools {
  char identity[TW_HASH_TEXT];
  char *program[TW_TOOLS_MAX];
  char *path; /* PATH=...: the folders of the programs */
  tw_path_rule view[TW_TOOL_PATHS];
  size_t n_view;
  bool is_driver, is_clang; /* of program[0] */
  struct tw_tools *next;
} tw_tools;

extern const tw_profile tw_tool_profile; /* profile.c */

/* view.c: files that the programs read and run. */
tw_status tw_tools_look(const tw_toolchain_kind *, tw_tools *, tw_error *);

#endif
