/* swizzle.c - swizzles as text, and published swizzles. */
#include "target/cdna/layout/swizzle.h"

#include <stdio.h>
#include <string.h>

/* HipKittens, include/types/shared (CDNA4), and its cdna3 branch. */
static const cdna_published_swizzle published[] = {
    {"st_16x16", "none", "16x16 bf16", "HipKittens"},
    {"st_16x16_swizzled", "512:7:3", "16x16 bf16", "HipKittens, appendix D.1"},
    {"st_32x32", "1024:9:5+2048:10:4", "32x32 bf16", "HipKittens"},
    {"st_16x32", "1024:9:5", "16x32 bf16", "HipKittens, figure 4"},
    {"st_32x16", "1024:9:4", "32x16 bf16", "HipKittens"},
    {"st_8x32", "none", "8x32 bf16", "HipKittens"},
    {"st_16x128", "2048:8:4", "16x128 fp8", "HipKittens"},
    {"cdna3_32", "512:7:3", "16x16 bf16", "HipKittens, cdna3: panels of 32 bytes"},
    {"cdna3_64", "1024:7:3", "16x32 bf16", "HipKittens, cdna3: panels of 64 bytes"},
    {"cdna3_128", "2048:7:3", "16x64 bf16", "HipKittens, cdna3: panels of 128 bytes"},
};

const cdna_published_swizzle *cdna_published_swizzle_at(size_t index) {
  return index < sizeof published / sizeof *published ? &published[index] : NULL;
}

static int log2_of(unsigned value) { return value && !(value & (value - 1)) ? __builtin_ctz(value) : -1; }

static tw_status parse_term(const char *text, cdna_swizzle *out, tw_error *error) {
  unsigned end, begin, to;
  int length = 0;
  if (sscanf(text, "%5u:%2u:%2u%n", &end, &begin, &to, &length) != 3 || (text[length] && text[length] != '+'))
    return tw_fail(error, TW_USAGE,
                   "swizzle '%s': expected terms SIZE:FROM:TO joined by +, such as 1024:9:5 for o ^ (((o %% 1024) >> "
                   "9) << 5), none, or the name of a published swizzle",
                   text);
  const int bits = log2_of(end);
  if (bits < 0 || end > 1u << 16 || begin >= (unsigned)bits || to >= begin || to < 2)
    return tw_fail(error, TW_USAGE,
                   "swizzle '%u:%u:%u': SIZE must be a power of two up to 65536 and above 2^FROM, and TO at least 2 "
                   "and below FROM",
                   end, begin, to);
  if (out->n == CDNA_SWIZZLE_TERMS)
    return tw_fail(error, TW_USAGE, "a swizzle has at most %d terms", CDNA_SWIZZLE_TERMS);
  out->term[out->n].end = (uint8_t)bits;
  out->term[out->n].begin = (uint8_t)begin;
  out->term[out->n++].to = (uint8_t)to;
  return TW_OK;
}

tw_status cdna_swizzle_parse(const char *text, cdna_swizzle *out, tw_error *error) {
  *out = (cdna_swizzle){0};
  for (size_t i = 0; i < sizeof published / sizeof *published; i++)
    if (!strcmp(text, published[i].name)) text = published[i].terms;
  if (!strcmp(text, "none")) return TW_OK;
  for (const char *term = text; term; term = strchr(term, '+') ? strchr(term, '+') + 1 : NULL) {
    const tw_status status = parse_term(term, out, error);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

void cdna_swizzle_print(const cdna_swizzle *s, char text[CDNA_SWIZZLE_TEXT]) {
  size_t length = 0;
  if (!s->n) snprintf(text, CDNA_SWIZZLE_TEXT, "none");
  for (int i = 0; i < s->n; i++)
    length += (size_t)snprintf(text + length, CDNA_SWIZZLE_TEXT - length, "%s%u:%u:%u", i ? "+" : "",
                               1u << s->term[i].end, s->term[i].begin, s->term[i].to);
}

uint32_t cdna_swizzle_piece(const cdna_swizzle *s) {
  uint32_t piece = 1u << 16;
  for (int i = 0; i < s->n; i++)
    if (1u << s->term[i].to < piece) piece = 1u << s->term[i].to;
  return piece;
}

uint32_t cdna_swizzle_span(const cdna_swizzle *s) {
  uint32_t span = 1;
  for (int i = 0; i < s->n; i++) {
    const uint32_t needs = 1u << (s->term[i].to + s->term[i].end - s->term[i].begin);
    if (needs > span) span = needs;
  }
  return span;
}
