/* fuzz_nki.c - any text as an NKI kernel: rejected in one line that begins with a line number, or executed and
 * timed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/trainium/nki/kernel.h"
#include "target/trainium/timing/timing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static trn_config machine;
  tw_error error;
  nki_module module;
  trn_program program;
  trn_timing timing;
  float x[8 * 16] = {0}, y[8 * 16] = {0};
  void *const buffer[] = {x, y};
  if (!machine.name[0] && trn_config_load("trn2", &machine, &error) != TW_OK) abort();
  tw_operand operand[] = {tw_operand_dense("x", TW_F32, 2, (int64_t[]){8, 16}),
                          tw_operand_dense("y", TW_F32, 2, (int64_t[]){8, 16})};
  operand[1].is_output = true;
  const nki_request request = {.n_operands = 2, .operand = operand, .buffer = buffer, .statements = 20000};
  char *text = strndup((const char *)data, size);
  if (!text) return 0;
  tw_status status = nki_parse(text, strlen(text), &module, &error);
  if (status == TW_OK) {
    status = nki_execute(&machine, &module, text, &request, &program, &error);
    if (status == TW_OK) {
      if (trn_time(&machine, &program, &trn_compiler_usual, &timing, &error) == TW_OK) trn_timing_free(&timing);
      trn_program_free(&program);
    }
    nki_module_free(&module);
  }
  if (status == TW_FAILED && (strchr(error.text, '\n') || strncmp(error.text, "line ", 5) != 0)) abort();
  free(text);
  return 0;
}
