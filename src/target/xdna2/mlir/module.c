/* module.c - see module.h. */
#include "target/xdna2/mlir/module.h"

#include <ctype.h>
#include <string.h>

const xd_mlir_function xd_mlir_functions[XD_MLIR_FUNCTIONS] = {
    {"blocked_i8_i32", TW_I8, TW_I8, TW_I32},
    {"blocked_i16_i32", TW_I16, TW_I16, TW_I32},
    {"blocked_bf16_bf16", TW_BF16, TW_BF16, TW_BF16},
    {"blocked_bf16_f32", TW_BF16, TW_BF16, TW_F32},
};

bool xd_mlir_knows_types(tw_type a, tw_type b, tw_type c) {
  for (int i = 0; i < XD_MLIR_FUNCTIONS; i++)
    if (xd_mlir_functions[i].a == a && xd_mlir_functions[i].b == b && xd_mlir_functions[i].c == c) return true;
  return false;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$'; }

bool xd_mlir_is(const char *text) {
  for (text += strspn(text, " \t\r\n\v\f"); text[0] == '/' && text[1] == '/'; text += strspn(text, " \t\r\n\v\f"))
    text += strcspn(text, "\n");
  size_t length = 0;
  while (is_word(text[length])) length++;
  return (length == 6 && !memcmp(text, "module", 6)) || (length > 4 && !memcmp(text, "aie.", 4));
}

tw_status xd_mlir_open(const xd_mlir_reader **out, tw_error *error) {
  static const tw_part part = {"mlir-aie", "TILEWRIGHT_MLIR_AIE", "xd_mlir_aie", "the reader of MLIR-AIE designs"};
  const tw_module *module;
  const tw_status status = tw_module_open(&part, &module, error);
  *out = (const void *)module;
  return status;
}
