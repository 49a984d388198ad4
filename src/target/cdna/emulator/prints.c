/* prints.c - text that a kernel printed, from the records of printf in the launch's buffer.
 *
 * The buffer begins with the bytes in use and the bytes available. clang lowers printf of OpenCL C to an id and
 * arguments whose sizes are in the metadata ("id:n:size:...:format"; LLVM's AMDGPUPrintfRuntimeBinding.cpp), that of
 * HIP (-mprintf-kind=buffered) to a dword of size and kind, a hash of the format ("0:0:hash,format") or the format
 * itself, and arguments in eights of bytes (AMDGPUEmitPrintf.cpp). The kernel writes all of it, so it is untrusted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/emulator/emulator.h"

enum { HEADER = 8, FIELD_MAX = 4096, FLAGS_MAX = 5 };

/* The arguments that are not read yet. */
typedef struct arguments {
  const uint8_t *at, *end;
  const char *sizes; /* "4:8:..." for the next arguments; NULL: pieces of eight bytes */
  bool strings;      /* strings of %s are stored in place, not by address */
} arguments;

static uint64_t little_endian(const uint8_t *at, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, at, bytes < 8 ? bytes : 8);
  return value;
}

/* The next argument; NULL if none is left. */
static const uint8_t *next_argument(arguments *a, bool string, size_t *bytes) {
  const size_t left = (size_t)(a->end - a->at);
  const uint8_t *at = a->at;
  if (a->sizes) {
    char *rest;
    *bytes = strtoul(a->sizes, &rest, 10);
    if (rest == a->sizes || *rest != ':') return NULL;
    a->sizes = rest + 1;
  } else {
    *bytes = string && a->strings ? (strnlen((const char *)at, left) / 8 + 1) * 8 : 8;
  }
  if (!*bytes || *bytes > left) return NULL;
  a->at += *bytes;
  return at;
}

/* %[flags][width][.precision][v2 to v16][length]conversion; a width or precision of -1 is none, -2 an argument. */
typedef struct conversion {
  char flags[FLAGS_MAX + 1], length[3], kind;
  int width, precision, items;
} conversion;

static int read_number(const char **at) {
  int n = 0;
  if (**at == '*') return ++*at, -2;
  for (; **at >= '0' && **at <= '9'; ++*at) n = n < FIELD_MAX ? 10 * n + (**at - '0') : n;
  return n;
}

static const char *read_conversion(const char *at, conversion *c) {
  *c = (conversion){.precision = -1, .items = 1};
  for (size_t n = 0; *at && strchr("-+ #0", *at); at++)
    if (n < FLAGS_MAX && !strchr(c->flags, *at)) c->flags[n++] = *at;
  c->width = read_number(&at);
  if (*at == '.') at++, c->precision = read_number(&at);
  if (*at == 'v') at++, c->items = read_number(&at);
  if (c->items < 1 || c->items > 16) c->items = 1;
  for (size_t n = 0; *at && strchr("hljztLq", *at); at++)
    if (n < 2) c->length[n++] = *at;
  c->kind = *at;
  return *at ? at + 1 : at;
}

/* Prints one number, character or address by the conversion. */
static void print_item(const conversion *c, const uint8_t *at, size_t bytes, tw_text *out) {
  const bool narrow = c->length[0] == 'h' && c->length[1] != 'l', byte = narrow && c->length[1] == 'h';
  const bool wide = bytes >= 8 && c->length[0] && c->length[0] != 'h';
  const uint64_t value = little_endian(at, bytes);
  char format[24];
  const char *const length = strchr("diouxX", c->kind) ? "l" : "";
  snprintf(format, sizeof format, "%%%s*%s%s%c", c->flags, c->kind == 'c' || c->kind == 'p' ? "" : ".*", length,
           c->kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format has only checked flags and a checked letter */
  switch (c->kind) {
  case 'd':
  case 'i':
    tw_text_add(out, format, c->width, c->precision,
                byte     ? (long)(int8_t)value
                : narrow ? (long)(int16_t)value
                : wide   ? (long)value
                         : (long)(int32_t)value);
    break;
  case 'o':
  case 'u':
  case 'x':
  case 'X':
    tw_text_add(out, format, c->width, c->precision,
                byte     ? (unsigned long)(uint8_t)value
                : narrow ? (unsigned long)(uint16_t)value
                : wide   ? (unsigned long)value
                         : (unsigned long)(uint32_t)value);
    break;
  case 'c': tw_text_add(out, format, c->width, (int)(uint8_t)value); break;
  case 'p': tw_text_add(out, format, c->width, (void *)(uintptr_t)value); break;
  default: { /* floating point */
    float single;
    double real;
    memcpy(&single, at, sizeof single);
    if (bytes >= 8) memcpy(&real, at, sizeof real);
    tw_text_add(out, format, c->width, c->precision, bytes >= 8 ? real : (double)single);
  }
  }
#pragma GCC diagnostic pop
}

static void print_string(const conversion *c, const uint8_t *at, size_t bytes, tw_text *out) {
  size_t n = strnlen((const char *)at, bytes);
  if (c->precision >= 0 && n > (size_t)c->precision) n = (size_t)c->precision;
  const int pad = abs(c->width) - (int)(n < FIELD_MAX ? n : FIELD_MAX);
  const bool left = c->width < 0 || strchr(c->flags, '-');
  if (!left) tw_text_add(out, "%*s", pad > 0 ? pad : 0, "");
  tw_text_add_bytes(out, at, n);
  if (left) tw_text_add(out, "%*s", pad > 0 ? pad : 0, "");
}

/* Reads an argument as width or precision. */
static bool star_value(int *n, arguments *a) {
  size_t bytes;
  const uint8_t *at = *n == -2 ? next_argument(a, false, &bytes) : NULL;
  if (at) *n = (int32_t)little_endian(at, bytes);
  if (*n > FIELD_MAX) *n = FIELD_MAX;
  if (*n < -FIELD_MAX) *n = -FIELD_MAX;
  return *n != -2 || at;
}

static void print_call(const char *format, arguments a, tw_text *out) {
  while (*format) {
    const size_t plain = strcspn(format, "%");
    tw_text_add_bytes(out, format, plain);
    format += plain;
    if (!*format) return;
    if (format[1] == '%') {
      tw_text_add_string(out, "%");
      format += 2;
      continue;
    }
    conversion c;
    size_t bytes;
    format = read_conversion(format + 1, &c);
    if (!c.kind || !strchr("diouxXcsfFeEgGaAp", c.kind) || !star_value(&c.width, &a) || !star_value(&c.precision, &a))
      return;
    const uint8_t *at = next_argument(&a, c.kind == 's', &bytes);
    if (!at) return; /* fewer arguments than the format needs */
    if (c.kind == 's' && (a.sizes || a.strings))
      print_string(&c, at, bytes, out);
    else if (c.kind == 's')
      tw_text_add(out, "(text at 0x%" PRIx64 ")", little_endian(at, bytes));
    else
      for (int i = 0; i < c.items; i++) {
        const size_t each = bytes / (size_t)(c.items == 3 ? 4 : c.items); /* three items take the room of four */
        if (each < 4 && bytes < 4) break;
        if (i) tw_text_add_string(out, ",");
        print_item(&c, at + (size_t)i * each, each, out);
      }
  }
}

/* ---- calls ---- */

/* A format as in the metadata: with '\n' and similar escapes, and ':' as '\72'. */
static char *unescaped(const char *text) {
  static const char letters[] = "abfnrv", bytes[] = "\a\b\f\n\r\v";
  char *out = strdup(text), *to = out;
  for (const char *at = text; out && *at; at++) {
    const char *letter = at[0] == '\\' && at[1] ? strchr(letters, at[1]) : NULL;
    if (letter)
      *to++ = bytes[letter - letters], at++;
    else if (!strncmp(at, "\\72", 3))
      *to++ = ':', at += 2;
    else
      *to++ = *at;
  }
  if (out) *to = '\0';
  return out;
}

/* Prints a call for OpenCL C. Returns the next call; NULL: this call cannot be read. */
static const uint8_t *print_opencl(const cdna_object *o, const uint8_t *at, const uint8_t *end, tw_text *out) {
  const uint64_t id = little_endian(at, 4);
  for (size_t k = 0; k < o->n_prints && id; k++) {
    char *rest;
    if (strtoul(o->print[k], &rest, 10) != id || *rest != ':') continue;
    const unsigned long n = strtoul(rest + 1, &rest, 10);
    if (*rest != ':') return NULL;
    arguments a = {.at = at + 4, .end = end, .sizes = rest + 1};
    const char *format = a.sizes;
    for (unsigned long i = 0; i < n; i++) {
      const char *colon = strchr(format, ':');
      const unsigned long bytes = colon ? strtoul(format, NULL, 10) : 0;
      if (!colon || bytes > (size_t)(end - a.at)) return NULL;
      format = colon + 1;
      a.at += bytes;
    }
    const uint8_t *next = a.at;
    a.at = at + 4;
    a.end = next;
    char *text = unescaped(format);
    if (text) print_call(text, a, out);
    free(text);
    return next;
  }
  return NULL;
}

/* For HIP. */
static const uint8_t *print_hip(const cdna_object *o, const uint8_t *at, const uint8_t *end, tw_text *out) {
  const uint64_t control = little_endian(at, 4), bytes = control >> 2;
  if (bytes < 12 || bytes > (uint64_t)(end - at)) return NULL;
  const uint8_t *next = at + bytes;
  if (!(control & 2)) { /* the format itself */
    const size_t length = strnlen((const char *)at + 4, bytes - 4);
    if (length == bytes - 4) return NULL;
    const size_t room = (length / 8 + 1) * 8;
    if (room <= bytes - 4) print_call((const char *)at + 4, (arguments){.at = at + 4 + room, .end = next}, out);
    return next;
  }
  const uint64_t hash = little_endian(at + 4, 8);
  for (size_t k = 0; k < o->n_prints; k++) {
    char *rest;
    if (strncmp(o->print[k], "0:0:", 4) != 0 || strtoull(o->print[k] + 4, &rest, 16) != hash || *rest != ',') continue;
    print_call(rest + 1, (arguments){.at = at + 12, .end = next, .strings = true}, out);
    break;
  }
  return next;
}

void cdna_prints(const cdna_object *o, const uint8_t *buffer, tw_text *out) {
  const uint64_t taken = little_endian(buffer, 4), room = little_endian(buffer + 4, 4);
  const uint8_t *at = buffer + HEADER, *end = at + (taken < room ? taken : room);
  const bool hip = o->n_prints && !strncmp(o->print[0], "0:0:", 4);
  while (at && end - at >= 4) at = (hip ? print_hip : print_opencl)(o, at, end, out);
  if (taken > room) tw_text_add(out, "(printf: more than the %" PRIu64 " bytes that there is room for)\n", room);
}
