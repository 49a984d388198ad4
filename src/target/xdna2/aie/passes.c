/* passes.c - functions that go once over a buffer: clearing, narrowing, rounding to bfp16, unpacking weights. */
#include <string.h>

#include "target/xdna2/aie/writer.h"
#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/symbol.h"

enum { AREA = 64, PACKED = 72, VECTOR = 64 };

static void write_loop(tw_text *t, int count) {
  tw_text_add(t, "  AIE_PREPARE_FOR_PIPELINING AIE_LOOP_MIN_ITERATION_COUNT(%d)\n", count);
  tw_text_add(t, "  for (unsigned i = 0; i < %d; i++) {\n", count);
}

/* Tiles of bfp16 may end in a part of a vector, of whole words. */
void xd_write_zero(const xd_call *c, tw_text *t) {
  const int vectors = c->n / VECTOR, words = c->n % VECTOR / 4;
  tw_text_add(t, "\n/* Clears %d bytes. */\nextern \"C\" void %s(void *out) {\n", c->n, xd_symbol_of(c).text);
  tw_text_add(t, "  int8 *__restrict to = static_cast<int8 *>(out);\n");
  if (vectors) {
    write_loop(t, vectors);
    tw_text_add(t, "    aie::store_v(to, aie::zeros<int8, %d>());\n    to += %d;\n  }\n", VECTOR, VECTOR);
  }
  if (words) tw_text_add(t, "  for (unsigned i = 0; i < %d; i++) reinterpret_cast<int32 *>(to)[i] = 0;\n", words);
  tw_text_add_string(t, "}\n");
}

void xd_write_narrow(const xd_call *c, tw_text *t) {
  const char *type = strcmp(c->function->name, "narrow_i8") != 0 ? "int16" : "int8";
  tw_text_add(t, "\n/* Sums to %s: shifted down by %d, rounded, saturated. */\n", type, c->shift);
  tw_text_add(t, "extern \"C\" void %s(const int32 *__restrict sums, %s *__restrict out) {\n", xd_symbol_of(c).text,
              type);
  xd_write_rounding(c, t);
  tw_text_add_string(t, "  aie::set_saturation(aie::saturation_mode::saturate);\n");
  write_loop(t, c->m * c->n / AREA);
  tw_text_add(t,
              "    const aie::accum<acc32, 64> wide(aie::load_v<64>(sums));\n"
              "    aie::store_v(out, wide.to_vector<%s>(%d));\n    sums += 64;\n    out += 64;\n  }\n}\n",
              type, c->shift);
}

void xd_write_round(const xd_call *c, tw_text *t) {
  const int blocks = c->m * c->n / AREA, half = blocks / 2, tail = c->m * c->n / 8;
  tw_text_add(t,
              "\n/* Sums in bf16, half of them in staging and half behind byte %d of C, to bfp16 in C. In place: from "
              "the last\n"
              " * block on, as where a block goes no earlier one lies any more. */\n",
              tail);
  tw_text_add(t, "extern \"C\" void %s(const uint8_t *staging, uint8_t *c) {\n", xd_symbol_of(c).text);
  xd_write_rounding(c, t);
  tw_text_add(t,
              "  for (unsigned i = %d; i-- > 0;) {\n"
              "    const uint8_t *from = i < %d ? staging + i * 128 : c + %d + (i - %d) * 128;\n"
              "    const Sums sums = widened(reinterpret_cast<const bfloat16 *>(from));\n"
              "    Out to(blocks_at(c + i * %d));\n    to << sums.to_vector<bfp16ebs8>();\n  }\n}\n",
              blocks, half, tail, half, PACKED);
}

/* 256 codes are four blocks of 8x8 that lie one below the other. */
static void write_unpack_i8(const xd_call *c, tw_text *t) {
  enum { BLOCK = 8, DEEP = 32, FIELDS = 4 };
  const int row = c->n / BLOCK * AREA;
  tw_text_add(t, "  for (unsigned k = 0; k < %d; k++) {\n", c->k / DEEP);
  tw_text_add(t, "    AIE_PREPARE_FOR_PIPELINING AIE_LOOP_MIN_ITERATION_COUNT(%d)\n", c->n / BLOCK);
  tw_text_add(t, "    for (unsigned i = 0; i < %d; i++) {\n", c->n / BLOCK);
  tw_text_add_string(t, "      const aie::vector<uint8, 64> codes = aie::load_v<64>(in);\n");
  for (int i = 0; i < FIELDS; i++)
    tw_text_add(t, "      aie::store_v(out + %d, field<%d, %d, 1>(codes));\n", i * row, 3 << 2 * i, 2 * i);
  tw_text_add(t, "      in += 64;\n      out += 64;\n    }\n    out += %d;\n  }\n}\n", (FIELDS - 1) * row);
}

/* 256 codes are one block of 16x16, two nibbles in a byte: both become int4 by one subtraction (array/pack.h). */
static void write_unpack_i4(const xd_call *c, tw_text *t) {
  write_loop(t, c->k * c->n / XD_UNPACK_CODES);
  tw_text_add_string(t, "    const aie::vector<uint8, 64> codes = aie::load_v<64>(in);\n"
                        "    aie::store_v(out, field<0x33, 0, 0x11>(codes));\n"
                        "    aie::store_v(out + 64, field<0xcc, 2, 0x11>(codes));\n"
                        "    in += 64;\n    out += 128;\n  }\n}\n");
}

void xd_write_unpack(const xd_call *c, tw_text *t) {
  const bool to_i4 = !strcmp(c->function->name, "unpack_i4");
  tw_text_add(t, "\n/* Codes of 2 bits to %s, %d at a time. */\n", to_i4 ? "int4, two in a byte" : "int8",
              XD_UNPACK_CODES);
  tw_text_add(t, "extern \"C\" void %s(const uint8 *__restrict in, int8 *__restrict out) {\n", xd_symbol_of(c).text);
  (to_i4 ? write_unpack_i4 : write_unpack_i8)(c, t);
}
