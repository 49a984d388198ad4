/* bench_cdna_emulator.c - how fast the emulator of CDNA3 and CDNA4 executes, on one core, in processor time:
 *
 *     bench_cdna_emulator [avx512|avx2|portable]
 *
 * Loops of one kind of instruction, GEMMs from tests/data/cdna, and what watching for mistakes costs. Needs clang-22; run it
 * in the source tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "target/cdna/checks/checks.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/export.h"
#include "target/cdna/toolchain.h"

enum { TURNS = 400, TIMES = 7 };

/* One wave repeats the instruction 64 times a turn. */
static const struct loop {
  const char *name, *instruction;
  double work; /* of an execution: lane-operations, or floating-point operations */
  const char *unit;
  int arches;
} loops[] = {
    {"v_add_u32", "v_add_u32 v8, v9, v8", 64, "G lane-operations/s", 3},
    {"v_mad_u32_u24", "v_mad_u32_u24 v8, v9, v10, v8", 64, "G lane-operations/s", 3},
    {"v_pk_fma_f32", "v_pk_fma_f32 v[8:9], v[10:11], v[12:13], v[8:9]", 128, "G lane-operations/s", 3},
    {"bf16 MFMA 32x32x8", "v_mfma_f32_32x32x8_bf16 v[16:31], v[8:9], v[10:11], v[16:31]", 2.0 * 32 * 32 * 8, "GFLOP/s",
     3},
    {"fp8 MFMA 16x16x32", "v_mfma_f32_16x16x32_fp8_fp8 v[16:19], v[8:9], v[10:11], v[16:19]", 2.0 * 16 * 16 * 32,
     "GFLOP/s", 3},
    {"mxfp4 MFMA 16x16x128",
     "v_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[8:11], v[12:15], v[16:19], v4, v5 op_sel_hi:[0,0,0] cbsz:4 blgp:4",
     2.0 * 16 * 16 * 128, "GFLOP/s", 2},
    {"mxfp8 MFMA 16x16x128",
     "v_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[20:27], v[28:35], v[16:19], v4, v5 op_sel_hi:[0,0,0]",
     2.0 * 16 * 16 * 128, "GFLOP/s", 2},
};

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const tw_error *error) {
  fprintf(stderr, "%s\n", error->text);
  exit(1);
}

/* The best of several runs; with checks if their names are given. */
static double seconds_of(const cdna_object *o, const char *name, cdna_launch *launch, const cdna_memory *memory,
                         const char *checks, uint64_t *instructions) {
  const cdna_kernel *k;
  tw_error error;
  double best = 1e9;
  if (cdna_object_kernel(o, name, &k, &error) != TW_OK) fail(&error);
  for (int turn = 0; turn < TIMES; turn++) {
    cdna_memory m = *memory;
    cdna_checker *checker = NULL;
    cdna_result_counts counts;
    tw_inspection inspection = {.checks = checks ? checks : "none"};
    if (cdna_checker_new(&inspection, &checker, &error) != TW_OK) fail(&error);
    launch->observer = checker ? cdna_checker_start(checker) : NULL;
    launch->jobs = 1;
    const double begin = processor_seconds();
    if (cdna_run(o, k, launch, &m, &counts, &error) != TW_OK) fail(&error);
    const double took = processor_seconds() - begin;
    if (took < best) best = took;
    if (instructions) *instructions = counts.instructions;
    cdna_checker_free(checker);
  }
  return best;
}

static void run_loop(cdna_arch arch, const struct loop *l) {
  char source[512], *bytes;
  size_t size;
  cdna_object o;
  tw_error error;
  /* registers hold small numbers, as 0 and subnormals may be quicker or slower than others */
  const int length = snprintf(
      source, sizeof source,
      "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void k(void) {\n"
      "  __asm__ volatile(\".set r, 4\\n .rept 44\\n v_mov_b32 v[r], 0x3f803f80\\n .set r, r + 1\\n .endr\\n"
      " s_movk_i32 s20, %d\\n again:\\n .rept 64\\n %s\\n .endr\\n s_sub_u32 s20, s20, 1\\n s_cmp_lg_u32 s20, 0\\n"
      " s_cbranch_scc1 again\" : : : \"v48\", \"s20\");\n}\n",
      TURNS, l->instruction);
  if (cdna_compile(arch, source, (size_t)length, true, NULL, &bytes, &size, &error) != TW_OK ||
      cdna_object_read(bytes, size, "the loop", &o, &error) != TW_OK)
    fail(&error);
  cdna_launch launch = {.grid = {1, 1, 1}, .block = {64, 1, 1}};
  const cdna_memory none = {0};
  const double took = seconds_of(&o, NULL, &launch, &none, NULL, NULL);
  printf("  %-24s %8.2f %s\n", l->name, 64.0 * TURNS * l->work / took / 1e9, l->unit);
  cdna_object_free(&o);
  free(bytes);
}

static void run_gemm(cdna_arch arch, const char *file, const char *kernel, int size, int tile, int block,
                     int bytes_of_item, const char *checks) {
  char path[200], *text, *bytes;
  size_t length, n;
  cdna_object o;
  tw_error error;
  tw_problem p;
  tw_launch header;
  char words[6][24] = {{0}};
  const char *const type = bytes_of_item == 2 ? "bf16" : "f32";
  snprintf(path, sizeof path, "tests/data/cdna/%s", file);
  for (int k = 0; k < 3; k++) {
    snprintf(words[k], sizeof words[k], "%c=%d", "mnk"[k], size);
    snprintf(words[3 + k], sizeof words[3 + k], "%c=%s", "abc"[k], k == 2 ? "f32" : type);
  }
  const char *const list[] = {words[0], words[1], words[2], words[3], words[4], words[5]};
  const tw_target *t = tw_target_find(arch == CDNA3 ? "cdna3" : "cdna4");
  if (tw_file_read(path, 1 << 20, &text, &length, &error) != TW_OK ||
      tw_problem_parse("gemm", 6, list, &p, &error) != TW_OK ||
      cdna_launch_of(t, &p, text, length, &header, &error) != TW_OK ||
      cdna_compile(arch, text, length, true, &header, &bytes, &n, &error) != TW_OK ||
      cdna_object_read(bytes, n, file, &o, &error) != TW_OK)
    fail(&error);
  const size_t items = (size_t)size * (size_t)size;
  void *data[3];
  cdna_memory memory = {0};
  struct {
    uint64_t operand[3];
    uint32_t size[3];
  } arguments;
  for (int k = 0; k < 3; k++) {
    data[k] = calloc(items + 16, 4);
    for (size_t i = 0; i < items && k < 2; i++) { /* -1 to 1 */
      const float v = (float)((int)(i * 2654435761u >> 20) % 17 - 8) / 8;
      uint32_t bits;
      memcpy(&bits, &v, 4);
      if (bytes_of_item == 2)
        ((uint16_t *)data[k])[i] = (uint16_t)(bits >> 16);
      else
        ((uint32_t *)data[k])[i] = bits;
    }
    arguments.operand[k] =
        cdna_memory_add(&memory, data[k], items * (size_t)(k == 2 ? 4 : bytes_of_item), k == 2, &"A\0B\0C"[2 * k]);
    if (k == 2) cdna_memory_undefined(&memory, 0, 0);
    arguments.size[k] = (uint32_t)size;
  }
  cdna_launch launch = {.grid = {(uint32_t)(size / tile), (uint32_t)(size / tile), 1},
                        .block = {(uint32_t)block, 1, 1},
                        .arguments = &arguments,
                        .argument_bytes = 36};
  const double took = seconds_of(&o, kernel, &launch, &memory, NULL, NULL);
  const double operations = 2.0 * (double)size * (double)size * (double)size;
  printf("  %s GEMM of %d^3 %*s %8.3f s, %.0f MFLOP/s", type, size, bytes_of_item == 2 ? 7 : 9, "", took,
         operations / took / 1e6);
  if (checks)
    printf("; with --checks %s %.2f times as long", checks,
           seconds_of(&o, kernel, &launch, &memory, checks, NULL) / took);
  printf("\n");
  for (int k = 0; k < 3; k++) free(data[k]);
  cdna_object_free(&o);
  free(bytes);
  free(text);
}

int main(int argc, char **argv) {
  tw_error error;
  if (argc > 1) setenv("TILEWRIGHT_CDNA_ISA", argv[1], 1);
  if (cdna_toolchain_find(&error) != TW_OK) fail(&error);
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    printf("%s, %s, one core:\n", arch == CDNA3 ? "gfx942" : "gfx950", cdna_kit()->isa);
    for (size_t l = 0; l < sizeof loops / sizeof *loops; l++)
      if (loops[l].arches >> arch & 1) run_loop((cdna_arch)arch, &loops[l]);
    run_gemm((cdna_arch)arch, "gemm_f32_lds.c", "gemm_f32_lds", 256, 64, 256, 4, "all");
    run_gemm((cdna_arch)arch, "gemm_bf16_mfma.c", "gemm_bf16_mfma", 512, 128, 256, 2, "all");
    run_gemm((cdna_arch)arch, "gemm_bf16_mfma.c", "gemm_bf16_mfma", 1024, 128, 256, 2, NULL);
  }
  return 0;
}
