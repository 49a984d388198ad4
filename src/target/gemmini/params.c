/* params.c - see params.h. The header is read by its lines "#define NAME VALUE" and "typedef TYPE NAME;": it is written
 * by GemminiArrayConfig.generateHeader (ucb-bar/gemmini, GemminiConfigs.scala), and no preprocessor runs. */
#include "target/gemmini/params.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/strings.h"

/* Returns the text after "BEFORE NAME" in a line, up to a blank or a semicolon. */
static bool find_define(const char *text, const char *name, char out[32]) {
  const size_t n = strlen(name);
  for (const char *p = text; (p = strstr(p, "#define ")); p += 8) {
    const char *word = p + 8 + strspn(p + 8, " \t");
    if (strncmp(word, name, n) != 0 || isalnum((unsigned char)word[n]) || word[n] == '_' || word[n] == '(') continue;
    word += n;
    word += strspn(word, " \t");
    snprintf(out, 32, "%.*s", (int)strcspn(word, " \t\r\n"), word);
    return true;
  }
  return false;
}

static bool has(const char *text, const char *name) {
  char value[32];
  return find_define(text, name, value);
}

/* "typedef TYPE NAME;" */
static bool find_type(const char *text, const char *name, char out[32]) {
  for (const char *p = text; (p = strstr(p, "typedef ")); p += 8) {
    char type[32], found[32];
    if (sscanf(p, "typedef %31[a-z0-9_] %31[a-z0-9_];", type, found) == 2 && strcmp(found, name) == 0) {
      snprintf(out, 32, "%s", type);
      return true;
    }
  }
  return false;
}

static tw_status number(const char *text, const char *origin, const char *name, int64_t *out, tw_error *error) {
  char value[32];
  if (!find_define(text, name, value))
    return tw_fail(error, TW_USAGE,
                   "%s: the line \"#define %s\" is missing; give the gemmini_params.h that Chipyard wrote", origin,
                   name);
  if (tw_parse_int(value, out) && *out >= 1 && *out <= 1 << 26) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s: %s is \"%s\"; expected a number from 1 to %d", origin, name, value, 1 << 26);
}

static void add_word(gm_params *p, const char *key, const char *from, const char *value) {
  gm_param *x = &p->param[p->n++];
  x->key = key;
  snprintf(x->value, sizeof x->value, "%s", value);
  snprintf(x->from, sizeof x->from, "%s", from);
}

static void add(gm_params *p, const char *key, const char *from, int64_t value) {
  char number[32], line[sizeof p->param->from];
  snprintf(number, sizeof number, "%" PRId64, value);
  snprintf(line, sizeof line, "gemmini_params.h: %s", from);
  add_word(p, key, line, number);
}

/* The floating-point type whose exponent and significand the header gives; NULL: none that is simulated. */
static const char *half_of(const char *text) {
  char exponent[32] = "", significand[32] = "";
  if (!find_define(text, "ELEM_T_EXP_BITS", exponent) || !find_define(text, "ELEM_T_SIG_BITS", significand))
    return NULL;
  if (!strcmp(exponent, "8") && !strcmp(significand, "8")) return "bf16";
  return !strcmp(exponent, "5") && !strcmp(significand, "11") ? "f16" : NULL;
}

/* Sets values that such a header lacks or has wrong: the width of the array's partial sums, and a scale of 16 bits. */
static tw_status read_half(const char *text, const char *origin, const char *half, gm_params *out, tw_error *error) {
  char scale[32] = "";
  if (has(text, "HAS_MVIN_SCALE") && find_type(text, "scale_t", scale) && strcmp(scale, "float") != 0)
    return tw_fail(error, TW_USAGE,
                   "%s: scale_t is %s; elements of 16 bits require scale_t float, because 16 bits cannot hold "
                   "MVIN_SCALE_IDENTITY (1.0)",
                   origin, scale);
  add_word(out, "input_type", "gemmini_params.h: elem_t, ELEM_T_EXP_BITS, ELEM_T_SIG_BITS", half);
  add_word(out, "mesh_output_bits", "assumed: arrays with narrower sums lose them (ucb-bar/gemmini issue 401)", "32");
  return TW_OK;
}

/* elem_t and acc_t; bytes of an element of each. */
static tw_status read_types(const char *text, const char *origin, gm_params *out, int *input, int *acc,
                            tw_error *error) {
  char elem[32] = "", sum[32] = "";
  if (!find_type(text, "elem_t", elem) || !find_type(text, "acc_t", sum))
    return tw_fail(error, TW_USAGE, "%s has no typedef of elem_t or acc_t; expected a gemmini_params.h of Chipyard",
                   origin);
  const bool integer = !strcmp(elem, "int8_t") && !strcmp(sum, "int32_t") && !has(text, "ELEM_T_IS_FLOAT");
  const bool real = !strcmp(elem, "float") && !strcmp(sum, "float");
  const char *half = !strcmp(elem, "uint16_t") && !strcmp(sum, "float") ? half_of(text) : NULL;
  if (!integer && !real && !half)
    return tw_fail(error, TW_USAGE,
                   "%s: elem_t is %s and acc_t is %s; supported: int8_t with int32_t, float with float, uint16_t with "
                   "float where ELEM_T_EXP_BITS and ELEM_T_SIG_BITS are 8 and 8 (bf16) or 5 and 11 (f16)",
                   origin, elem, sum);
  out->base = integer ? "gemmini-16x16-int8" : "gemmini-4x4-fp32";
  *input = integer ? 1 : half ? 2 : 4;
  *acc = 4;
  return half ? read_half(text, origin, half, out, error) : TW_OK;
}

tw_status gm_params_read(const char *text, const char *origin, gm_params *out, tw_error *error) {
  int64_t dim = 0, banks = 0, bank_rows = 0, acc_rows = 0, max_bytes = 0;
  int input = 1, acc = 4;
  *out = (gm_params){0};
  tw_status status = read_types(text, origin, out, &input, &acc, error);
  if (status == TW_OK) status = number(text, origin, "DIM", &dim, error);
  if (status == TW_OK) status = number(text, origin, "BANK_NUM", &banks, error);
  if (status == TW_OK) status = number(text, origin, "BANK_ROWS", &bank_rows, error);
  if (status == TW_OK) status = number(text, origin, "ACC_ROWS", &acc_rows, error);
  if (status == TW_OK) status = number(text, origin, "MAX_BYTES", &max_bytes, error);
  if (status != TW_OK) return status;
  if (has(text, "HAS_NORMALIZATIONS"))
    return tw_fail(error, TW_USAGE,
                   "%s: HAS_NORMALIZATIONS is unsupported: layer normalization and softmax are not simulated", origin);
  add(out, "dim", "DIM", dim);
  add(out, "spad_bytes", "BANK_NUM, BANK_ROWS, DIM", banks * bank_rows * dim * input);
  add(out, "spad_banks", "BANK_NUM", banks);
  add(out, "acc_bytes", "ACC_ROWS, DIM", acc_rows * dim * acc);
  add(out, "dma_max_bytes", "MAX_BYTES", max_bytes);
  add(out, "has_mvin_scale", "HAS_MVIN_SCALE", has(text, "HAS_MVIN_SCALE"));
  add(out, "mvin_scales_acc", "HAS_MVIN_ACC_SCALE", has(text, "HAS_MVIN_ACC_SCALE"));
  add(out, "has_pixel_repeats", "HAS_FIRST_LAYER_OPTIMIZATIONS", has(text, "HAS_FIRST_LAYER_OPTIMIZATIONS"));
  /* Headers of older generators have neither line. Then both parts exist. */
  const bool full = has(text, "ACC_READ_FULL_WIDTH"), small = has(text, "ACC_READ_SMALL_WIDTH");
  if (full || small) {
    add(out, "acc_read_full_width", "ACC_READ_FULL_WIDTH", full);
    add(out, "acc_read_small_width", "ACC_READ_SMALL_WIDTH", small);
  }
  return TW_OK;
}
