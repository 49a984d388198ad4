/* check.h - is what a kernel made right? For programs in C and C++ that tilewright writes; operands.bin holds the inputs
 * and what must come of them. */
#include <stdint.h>
#include <string.h>

typedef struct tw_checked {
  const char *name;
  char type; /* of an element: f32 'f', f16 'h', bf16 'b', i32 'i', i16 's', i8 'c' */
  int is_output, is_dense;
  unsigned long element_bytes, bytes;
  unsigned long given_at, given_bytes; /* in operands.bin: what it holds at first, again and again; 0 bytes: poison */
  unsigned long expected_at, places;   /* triples of doubles: element, value, how far it may be off; 0: all bytes */
} tw_checked;

static double tw_number(char type, const unsigned char *at) {
  uint32_t bits = 0;
  float f;
  memcpy(&bits, at, type == 'f' || type == 'i' ? 4 : type == 'c' ? 1 : 2);
  if (type == 'i') return (int32_t)bits;
  if (type == 's') return (int16_t)bits;
  if (type == 'c') return (int8_t)bits;
  if (type == 'b') bits <<= 16;
  if (type == 'h') { /* as 2^-112 of the number that binary32 has in the same fields */
    const uint32_t sign = (bits & 0x8000) << 16, rest = (bits & 0x7fff) << 13;
    bits = rest | ((bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0);
    memcpy(&f, &bits, 4);
    return (sign ? -1.0 : 1.0) * f * ((bits & 0x7f800000) == 0x7f800000 ? 1.0 : 0x1p112);
  }
  memcpy(&f, &bits, 4);
  return f;
}

/* The first wrong element, counted in memory; -1: there is none. */
static long tw_first_wrong(const tw_checked *o, const unsigned char *expected, const unsigned char *got) {
  for (unsigned long i = 0; !o->places && i < o->bytes; i++)
    if (got[i] != expected[i]) return (long)(i / o->element_bytes);
  for (unsigned long i = 0; i < o->places; i++) {
    double place[3];
    memcpy(place, expected + i * sizeof place, sizeof place);
    const unsigned long at = (unsigned long)place[0];
    const double off = tw_number(o->type, got + at * o->element_bytes) - place[1];
    if (!(off <= place[2] && -off <= place[2])) return (long)at; /* also if it is NaN */
  }
  return -1;
}
