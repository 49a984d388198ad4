/* fuzz_xdna2_design.c - any text as a design: refused in one line that begins with the line, or a program that is
 * written again as text that reads back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "mlir_aie/read.h"
#include "target/xdna2/mlir/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const xd_config *machine(void) {
  static xd_config c;
  const tw_embedded *file = tw_embedded_find("xdna2/configs/xdna2.txt");
  if (!c.columns && (!file || xd_config_parse((const char *)file->data, "xdna2.txt", &c, NULL) != TW_OK)) abort();
  return &c;
}

static void write_and_read(xd_program *p) {
  const xd_mlir_options options = {0};
  xd_mlir_design again;
  tw_error error;
  char *text;
  if (xd_mlir_write(machine(), p, "fuzz", &text, &error) != TW_OK)
    return; /* it has no words for other people's kernels */
  if (xd_mlir_read(machine(), text, &options, &again, &error) != TW_OK) abort();
  xd_mlir_free(&again);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const xd_mlir_options options = {0};
  char *text = strndup((const char *)data, size);
  xd_mlir_design d;
  tw_error error;
  if (!text) return 0;
  if (xd_mlir_read(machine(), text, &options, &d, &error) == TW_OK) {
    if (d.runs) write_and_read(&d.program);
    xd_mlir_free(&d);
  } else if (strchr(error.text, '\n') || strncmp(error.text, "line ", 5) != 0) {
    abort();
  }
  free(text);
  return 0;
}
