/* emit.h - writes a schedule as C with intrinsics. */
#ifndef TW_X86_EMIT_H
#define TW_X86_EMIT_H

#include "base/strings.h"
#include "target/x86/variant.h"

/* The beginnings of a source's three parts. A search compiles each by itself and keeps its object (tune/build.c): the
 * first for kernels of one width and instruction set, the second for kernels that differ in their blocks alone. */
#define X86_SHARED_COMMENT "/* functions that do not depend on the tile */"
#define X86_TILES_COMMENT "/* the tiles */"
#define X86_BLOCKS_COMMENT "/* the loops around the kernel */"

/* Appends the tile functions of one kernel and their `x86_kernel` (a global, x86_kernel_symbol). The text includes
 * only headers of src/target/x86. */
void x86_emit_kernel(const x86_variant *, tw_text *);

/* The table of functions on 1 .. rows rows: "WHICH_1", ... of the type; 0 for functions that were left out. */
void x86_emit_table(tw_text *, const char *type, const char *which, int rows, unsigned rows_left_out);
bool x86_left_out(unsigned rows_left_out, int rows);

/* Parts of it: tiles of AMX; the functions on codes, and their fields in the x86_kernel. */
void x86_emit_amx_tiles(const x86_variant *, tw_text *);
void x86_emit_coded(const x86_variant *, tw_text *);
void x86_emit_coded_fields(const x86_variant *, tw_text *);

#endif
