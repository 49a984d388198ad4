/* emit_amx.c - kernels of AMX. The machine fixes the shape of their tile: runtime/tiles_amx.h contains it, and this
 * file names it for each number of rows. Panels of codes are expanded as for AVX-512. */
#include "target/x86/emit.h"

static void emit_rows(tw_text *t, int rows, bool direct) {
  tw_text_add(t,
              "static void %s_%d(int64_t units, const void *a, int64_t a_stride, const void *b, int64_t b_stride, "
              "void *c, int64_t c_stride,\n    int64_t columns, int into, const void *next, int64_t next_step, "
              "int64_t strips) {\n"
              "  %s_strips(%d, units, a, a_stride, b, b_stride, c, c_stride, columns, into, next, next_step, strips);\n"
              "}\n\n",
              direct ? "direct" : "packed", rows, direct ? "direct" : "packed", rows);
}

void x86_emit_amx_tiles(const x86_variant *s, tw_text *t) {
  tw_text_add(t, "#include \"target/x86/runtime/tiles_amx.h\"\n\n");
  for (int direct = 0; direct < 2; direct++) {
    const unsigned left_out = direct ? s->direct_left_out : s->packed_left_out;
    for (int r = 1; r <= s->rows; r++)
      if (!x86_left_out(left_out, r)) emit_rows(t, r, direct);
    x86_emit_table(t, "x86_tile", direct ? "direct" : "packed", s->rows, left_out);
  }
}
