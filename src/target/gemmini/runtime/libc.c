/* libc.c - the functions of C's library that kernels and their tests use, for bare metal.
 *
 * Small and simple rather than fast: fast kernels do not call it in their inner loops. Output goes to the console
 * register (core/rv64.h: CSR 0x8c2). Compiled once per configuration and linked by function sections, so a program
 * contains only the functions that it calls. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void _exit(int status) __attribute__((noreturn));
void assert_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

/* ---- string.h --------------------------------------------------------------------------------------------- */

/* Eight bytes at a time where both ends agree on alignment. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  uint8_t *t = to;
  const uint8_t *f = from;
  if ((((uintptr_t)t ^ (uintptr_t)f) & 7) == 0) {
    for (; size > 0 && ((uintptr_t)t & 7) != 0; size--) *t++ = *f++;
    for (; size >= 8; size -= 8, t += 8, f += 8) *(uint64_t *)t = *(const uint64_t *)f;
  }
  for (; size > 0; size--) *t++ = *f++;
  return to;
}

void *memmove(void *to, const void *from, size_t size) {
  uint8_t *t = to;
  const uint8_t *f = from;
  if (t < f) {
    for (size_t i = 0; i < size; i++) t[i] = f[i];
  } else {
    for (size_t i = size; i > 0; i--) t[i - 1] = f[i - 1];
  }
  return to;
}

void *memset(void *to, int byte, size_t size) {
  uint8_t *t = to;
  const uint64_t eight = (uint8_t)byte * UINT64_C(0x0101010101010101);
  for (; size > 0 && ((uintptr_t)t & 7) != 0; size--) *t++ = (uint8_t)byte;
  for (; size >= 8; size -= 8, t += 8) *(uint64_t *)t = eight;
  for (; size > 0; size--) *t++ = (uint8_t)byte;
  return to;
}

int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *x = a, *y = b;
  for (size_t i = 0; i < size; i++)
    if (x[i] != y[i]) return x[i] - y[i];
  return 0;
}

size_t strlen(const char *text) {
  size_t n = 0;
  while (text[n] != '\0') n++;
  return n;
}

int strncmp(const char *a, const char *b, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (a[i] != b[i] || a[i] == '\0') return (uint8_t)a[i] - (uint8_t)b[i];
  return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

char *strcpy(char *restrict to, const char *restrict from) {
  memcpy(to, from, strlen(from) + 1);
  return to;
}

/* ---- stdlib.h --------------------------------------------------------------------------------------------- */

void exit(int status) { _exit(status); }

void abort(void) {
  puts("abort");
  _exit(134);
}

int abs(int value) { return value < 0 ? -value : value; }
long labs(long value) { return value < 0 ? -value : value; }
long long llabs(long long value) { return value < 0 ? -value : value; }

static uint64_t random_state = 1;
void srand(unsigned seed) { random_state = seed; }
/* Constants of MMIX (Knuth, The Art of Computer Programming 2, 3.3.4). */
int rand(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)(random_state >> 33);
}

void assert_failed(const char *condition, const char *file, int line) {
  printf("%s:%d: assertion failed: %s\n", file, line, condition);
  _exit(134);
}

/* ---- math.h ----------------------------------------------------------------------------------------------- */

double sqrt(double value) {
  double root;
  asm("fsqrt.d %0, %1" : "=f"(root) : "f"(value));
  return root;
}
float sqrtf(float value) {
  float root;
  asm("fsqrt.s %0, %1" : "=f"(root) : "f"(value));
  return root;
}
double fabs(double value) { return value < 0 ? -value : value; }
float fabsf(float value) { return value < 0 ? -value : value; }
double fmin(double a, double b) { return a < b ? a : b; }
float fminf(float a, float b) { return a < b ? a : b; }
double fmax(double a, double b) { return a > b ? a : b; }
float fmaxf(float a, float b) { return a > b ? a : b; }

/* Rounding through int64_t; from 2^52 on every double is an integer. */
static double whole(double value, char mode) {
  if (!(value > -4503599627370496.0 && value < 4503599627370496.0)) return value;
  int64_t n;
  if (mode == 'f')
    asm("fcvt.l.d %0, %1, rdn" : "=r"(n) : "f"(value));
  else if (mode == 'c')
    asm("fcvt.l.d %0, %1, rup" : "=r"(n) : "f"(value));
  else if (mode == 'r')
    asm("fcvt.l.d %0, %1, rmm" : "=r"(n) : "f"(value));
  else
    asm("fcvt.l.d %0, %1, rne" : "=r"(n) : "f"(value));
  return (double)n;
}
double floor(double value) { return whole(value, 'f'); }
float floorf(float value) { return (float)whole(value, 'f'); }
double ceil(double value) { return whole(value, 'c'); }
float ceilf(float value) { return (float)whole(value, 'c'); }
double round(double value) { return whole(value, 'r'); }
float roundf(float value) { return (float)whole(value, 'r'); }
double rint(double value) { return whole(value, 'e'); }
float rintf(float value) { return (float)whole(value, 'e'); }

/* ---- stdio.h ---------------------------------------------------------------------------------------------- */

/* Where formatted characters go: the console (buffer NULL), or a buffer that keeps the first size - 1. */
typedef struct sink {
  char *buffer;
  size_t size, count;
} sink;

static void put_character(sink *s, char c) {
  if (s->buffer == NULL) {
    asm volatile("csrw 0x8c2, %0" : : "r"((unsigned char)c));
  } else if (s->count + 1 < s->size) {
    s->buffer[s->count] = c;
  }
  s->count++;
}

typedef struct format {
  bool left, zeros, plus, blank, alternate;
  int width, precision; /* precision < 0: not given */
} format;

/* prefix (a sign or 0x), then digits, padded to the width. */
static void put_padded(sink *s, const format *f, const char *prefix, const char *digits, size_t n, bool zeros) {
  size_t length = strlen(prefix) + n, width = f->width > 0 ? (size_t)f->width : 0;
  size_t padding = width > length ? width - length : 0;
  if (!f->left && !zeros)
    for (; padding > 0; padding--) put_character(s, ' ');
  while (*prefix != '\0') put_character(s, *prefix++);
  if (!f->left)
    for (; padding > 0; padding--) put_character(s, '0');
  for (size_t i = 0; i < n; i++) put_character(s, digits[i]);
  for (; padding > 0; padding--) put_character(s, ' ');
}

/* The digits of value, at least `least` of them, ending at `end`; returns where they begin. */
static char *digits_of(uint64_t value, unsigned base, bool upper, int least, char *end) {
  char *p = end;
  for (; value > 0; value /= base) *--p = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
  while (end - p < least && end - p < 64) *--p = '0';
  return p;
}

static void put_integer(sink *s, const format *f, uint64_t value, bool negative, unsigned base, bool upper) {
  char room[64], *end = room + sizeof room;
  char *p = digits_of(value, base, upper, f->precision < 0 ? 1 : f->precision, end);
  const char *prefix = negative ? "-" : f->plus ? "+" : f->blank ? " " : "";
  if (base == 16) prefix = f->alternate && value != 0 ? "0x" : "";
  put_padded(s, f, prefix, p, (size_t)(end - p), f->zeros && f->precision < 0);
}

/* Fixed notation with up to 9 decimals, rounded half away from zero. Values of 1e18 and more print as "huge". */
static void put_real(sink *s, const format *f, double value) {
  char room[64], *end = room + sizeof room, *p = end;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const char *prefix = bits >> 63 ? "-" : f->plus ? "+" : f->blank ? " " : "";
  if ((bits >> 52 & 0x7ff) == 0x7ff) { /* tests the bits: -ffast-math assumes that values are finite */
    const char *text = bits << 12 ? "nan" : "inf";
    put_padded(s, f, prefix, text, 3, false);
    return;
  }
  if (bits >> 63) value = -value;
  if (value >= 1e18) {
    put_padded(s, f, prefix, "huge", 4, false);
    return;
  }
  int places = f->precision < 0 ? 6 : f->precision > 9 ? 9 : f->precision;
  uint64_t unit = 1;
  for (int i = 0; i < places; i++) unit *= 10;
  uint64_t integer = (uint64_t)value, fraction = (uint64_t)((value - (double)integer) * (double)unit + 0.5);
  if (fraction >= unit) integer++, fraction -= unit;
  if (places > 0) {
    p = digits_of(fraction, 10, false, places, end);
    *--p = '.';
  }
  p = digits_of(integer, 10, false, 1, p);
  put_padded(s, f, prefix, p, (size_t)(end - p), f->zeros);
}

static const char *parse_flags(const char *p, format *f) {
  for (;; p++) {
    if (*p == '-')
      f->left = true;
    else if (*p == '0')
      f->zeros = true;
    else if (*p == '+')
      f->plus = true;
    else if (*p == ' ')
      f->blank = true;
    else if (*p == '#')
      f->alternate = true;
    else
      return p;
  }
}

static const char *parse_number(const char *p, int *value) {
  for (*value = 0; *p >= '0' && *p <= '9'; p++)
    if (*value < 100000) *value = *value * 10 + (*p - '0');
  return p;
}

/* One value of va_list, as wide as the length letters say: -2 hh, -1 h, 0 int, 1 and more 64 bits. */
static int64_t next_integer(va_list *arguments, int length, bool is_signed) {
  if (length > 0) return va_arg(*arguments, int64_t);
  int value = va_arg(*arguments, int);
  if (length == -1) return is_signed ? (int16_t)value : (uint16_t)value;
  if (length <= -2) return is_signed ? (int8_t)value : (uint8_t)value;
  return is_signed ? value : (int64_t)(uint32_t)value;
}

static int print(sink *s, const char *p, va_list *arguments) {
  for (; *p != '\0'; p++) {
    if (*p != '%') {
      put_character(s, *p);
      continue;
    }
    format f = {.precision = -1};
    int length = 0;
    p = parse_flags(p + 1, &f);
    if (*p == '*') {
      f.width = va_arg(*arguments, int), p++;
      if (f.width < 0) f.left = true, f.width = -f.width;
    } else {
      p = parse_number(p, &f.width);
    }
    if (*p == '.') {
      if (p[1] == '*')
        f.precision = va_arg(*arguments, int), p += 2;
      else
        p = parse_number(p + 1, &f.precision);
    }
    for (; *p == 'h' || *p == 'l' || *p == 'z' || *p == 'j' || *p == 't'; p++) length += *p == 'h' ? -1 : 1;
    switch (*p) {
    case 'd':
    case 'i': {
      int64_t value = next_integer(arguments, length, true);
      put_integer(s, &f, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, 10, false);
      break;
    }
    case 'u':
      f.plus = f.blank = false;
      put_integer(s, &f, (uint64_t)next_integer(arguments, length, false), false, 10, false);
      break;
    case 'x':
    case 'X': put_integer(s, &f, (uint64_t)next_integer(arguments, length, false), false, 16, *p == 'X'); break;
    case 'p':
      f.alternate = true;
      put_integer(s, &f, va_arg(*arguments, uint64_t), false, 16, false);
      break;
    case 'e':
    case 'f':
    case 'g': put_real(s, &f, va_arg(*arguments, double)); break;
    case 'c': {
      char c = (char)va_arg(*arguments, int);
      put_padded(s, &f, "", &c, 1, false);
      break;
    }
    case 's': {
      const char *text = va_arg(*arguments, const char *);
      size_t n = 0;
      if (text == NULL) text = "(null)";
      while ((f.precision < 0 || n < (size_t)f.precision) && text[n] != '\0') n++;
      put_padded(s, &f, "", text, n, false);
      break;
    }
    case '%': put_character(s, '%'); break;
    case '\0': return (int)s->count;
    default: put_character(s, '%'), put_character(s, *p);
    }
  }
  return (int)s->count;
}

int vprintf(const char *text, va_list arguments) {
  sink s = {0};
  va_list copy;
  va_copy(copy, arguments);
  int n = print(&s, text, &copy);
  va_end(copy);
  return n;
}

int printf(const char *text, ...) {
  va_list arguments;
  va_start(arguments, text);
  int n = vprintf(text, arguments);
  va_end(arguments);
  return n;
}

int vsnprintf(char *buffer, size_t size, const char *text, va_list arguments) {
  char nowhere[1];
  sink s = {.buffer = size > 0 ? buffer : nowhere, .size = size > 0 ? size : 1};
  va_list copy;
  va_copy(copy, arguments);
  int n = print(&s, text, &copy);
  va_end(copy);
  s.buffer[s.count < s.size ? s.count : s.size - 1] = '\0';
  return n;
}

int snprintf(char *buffer, size_t size, const char *text, ...) {
  va_list arguments;
  va_start(arguments, text);
  int n = vsnprintf(buffer, size, text, arguments);
  va_end(arguments);
  return n;
}

int putchar(int character) {
  sink s = {0};
  put_character(&s, (char)character);
  return (unsigned char)character;
}

int puts(const char *text) {
  sink s = {0};
  while (*text != '\0') put_character(&s, *text++);
  put_character(&s, '\n');
  return 0;
}
