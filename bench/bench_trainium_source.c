/* Times an NKI kernel on the model without an op: bench_trainium_source MACHINE FILE OPERAND...
 *
 * OPERAND is f32[128,512], the outputs after a ">": bench_trainium_source trn2 attention.py 'f32[128,512]' 'f32[128,512]' '>f32[512,128]'.
 * Prints the time with the compiler's part of the model, with each of its parts switched off, and without it. With --once after
 * MACHINE it prints the first of these alone, at the machine file's own place of the clock's windows.
 * bench_trainium_source --parse FILE... parses files, and prints why a file does not parse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "target/trainium/nki/kernel.h"
#include "target/trainium/timing/timing.h"
#include "trainium_operands.h"

/* The windows after which the PE clock is decided run freely: the mean over places. */
static void print_time(const trn_config *config, const trn_program *p, const char *what, trn_compiler compiler) {
  enum { PLACES = 16 };
  trn_config c = *config;
  trn_timing t;
  tw_error error;
  double device = 0;
  for (int k = 0; k < PLACES; k++) {
    c.tensor.window_phase_ns = (k + 0.5) / PLACES * c.tensor.window_ns;
    if (trn_time(&c, p, &compiler, &t, &error) != TW_OK) {
      printf("%-28s %s\n", what, error.text);
      return;
    }
    device += t.device / PLACES;
    if (k + 1 < PLACES) trn_timing_free(&t);
  }
  printf("%-28s device %9.2f us  total %9.2f us  busy", what, device / 1000, (device + c.launch_ns) / 1000);
  for (int e = 0; e < TRN_ENGINES; e++) printf(" %s %.1f", trn_engine_name((trn_engine)e), t.busy[e] / 1000);
  printf(" dma %.1f us  %zu copies removed\n", t.dma_busy / 1000, t.copies_removed);
  trn_timing_free(&t);
}

static void print_once(const trn_config *config, const trn_program *p) {
  trn_timing t;
  tw_error error;
  if (trn_time(config, p, &trn_compiler_usual, &t, &error) != TW_OK) {
    printf("%s\n", error.text);
    return;
  }
  printf("once device %9.2f us  total %9.2f us\n", t.device / 1000, t.total / 1000);
  trn_timing_free(&t);
}

static int parse_files(int n, char *const path[]) {
  int parsed = 0;
  for (int i = 0; i < n; i++) {
    char *source = NULL;
    size_t length;
    tw_error error;
    nki_module module;
    tw_status status = tw_file_read(path[i], 1 << 24, &source, &length, &error);
    if (status == TW_OK) status = nki_parse(source, length, &module, &error);
    if (status == TW_OK) nki_module_free(&module);
    free(source);
    parsed += status == TW_OK;
    if (status != TW_OK) printf("%s: %s\n", path[i], error.text);
  }
  printf("%d of %d files parse\n", parsed, n);
  return parsed < n;
}

int main(int argc, char **argv) {
  static tw_operand operand[OPERANDS_MAX];
  trn_config config;
  tw_error error;
  nki_module module;
  trn_program program;
  nki_request request = {.operand = operand};
  const bool once = argc > 2 && strcmp(argv[2], "--once") == 0;
  char *source = NULL;
  size_t length = 0;
  if (argc > 2 && strcmp(argv[1], "--parse") == 0) return parse_files(argc - 2, argv + 2);
  if (argc < 4) {
    fprintf(stderr, "usage: bench_trainium_source MACHINE FILE OPERAND...\n");
    return 2;
  }
  if (once) {
    argv[2] = argv[1];
    argv++, argc--;
  }
  for (int i = 3; i < argc && request.n_operands < OPERANDS_MAX; i++)
    if (!read_operand(argv[i], &operand[request.n_operands++])) {
      fprintf(stderr, "%s: expected f32[128,512] or >f32[512,128]\n", argv[i]);
      return 2;
    }
  tw_status status = trn_config_load(argv[1], &config, &error);
  if (status == TW_OK) status = tw_file_read(argv[2], 1 << 24, &source, &length, &error);
  if (status == TW_OK) status = nki_parse(source, length, &module, &error);
  if (status == TW_OK) status = nki_execute(&config, &module, source, &request, &program, &error);
  if (status != TW_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  printf("%zu instructions\n", program.n_instructions);
  trn_compiler c = trn_compiler_usual;
  if (once) {
    print_once(&config, &program);
    return 0; /* the process ends: nothing is freed */
  }
  print_time(&config, &program, "usual", c);
  c.schedule_program = false;
  for (int n = 1; n <= 16; n *= 2) {
    char what[32];
    snprintf(what, sizeof what, "look-ahead of %d", n);
    c.look_ahead = n;
    print_time(&config, &program, what, c);
  }
  c = trn_compiler_usual;
  c.remove_copies = false;
  print_time(&config, &program, "with all copies", c);
  c = trn_compiler_usual;
  c.remove_loads = false;
  print_time(&config, &program, "with all loads", c);
  c = trn_compiler_usual;
  c.choose_engines = false;
  print_time(&config, &program, "first legal engine", c);
  c = trn_compiler_usual;
  c.allocate = false;
  print_time(&config, &program, "without addresses", c);
  c = trn_compiler_usual;
  c.merge_iterations = false;
  print_time(&config, &program, "each iteration by itself", c);
  c = trn_compiler_usual;
  c.software_arguments = false;
  print_time(&config, &program, "hardware descriptors", c);
  c = trn_compiler_usual;
  c.static_dma = true;
  print_time(&config, &program, "static descriptors", c);
  print_time(&config, &program, "none", trn_compiler_none);
  trn_program_free(&program);
  nki_module_free(&module);
  free(source);
  return 0;
}
