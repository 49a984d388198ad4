/* bench_cdna_emulator.c - how fast the emulator of CDNA3 and CDNA4 executes on one core. Needs clang-22; run it in the source
 * tree.
 *
 *     bench_cdna_emulator [avx512|avx2|portable]   processor time
 *     bench_cdna_emulator count [ROW]              instructions of the host for each instruction of a wave, by
 *                                                  valgrind's callgrind, which has AVX2: comparable on a busy computer
 *     bench_cdna_emulator save ARCH ROW TURNS FOLDER
 *                                                  the row's code object, launch and data, for other emulators
 *     bench_cdna_emulator once ARCH ROW CHECKS [TURNS]
 *                                                  one run: processor time and a hash of the result
 *     bench_cdna_emulator threads FOLDER MOST      elapsed time of the saved row on 1, 2, 4 ... MOST threads; needs no
 *                                                  compiler; a loop runs in 256 workgroups
 *
 * Rows: loops of one kind of instruction, kernels of short and long waves, GEMMs from tests/data/cdna; each without checks
 * and with all of them. ARCH: 0 gfx942, 1 gfx950. TURNS: of a loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "target/cdna/checks/checks.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/export.h"
#include "target/cdna/toolchain.h"
#include "target/parse.h"

enum { TIMES = 7 };
static int turns = 400;

/* Loops: one wave repeats the instruction 64 times a turn. */
static const struct row {
  const char *name;
  const char *instruction; /* or the file of a GEMM; NULL: a hash */
  double work;             /* of an execution: lane-operations, floating-point operations, or rounds of a hash */
  const char *unit;
  int arches; /* 0: only by name */
  int size;   /* of a GEMM, or rounds of a hash; 0: a loop */
  bool dense; /* a GEMM of numbers with all bits and many exponents, of which CDNA3 cuts bits; else multiples of 1/8 */
} rows[] = {
    {"v_add_u32", "v_add_u32 v8, v9, v8", 64, "G lane-operations/s", 3, 0, false},
    {"v_mad_u32_u24", "v_mad_u32_u24 v8, v9, v10, v8", 64, "G lane-operations/s", 3, 0, false},
    {"v_pk_fma_f32", "v_pk_fma_f32 v[8:9], v[10:11], v[12:13], v[8:9]", 128, "G lane-operations/s", 3, 0, false},
    {"bf16 MFMA 32x32x8", "v_mfma_f32_32x32x8_bf16 v[16:31], v[8:9], v[10:11], v[16:31]", 2.0 * 32 * 32 * 8, "GFLOP/s",
     3, 0, false},
    {"fp8 MFMA 16x16x32", "v_mfma_f32_16x16x32_fp8_fp8 v[16:19], v[8:9], v[10:11], v[16:19]", 2.0 * 16 * 16 * 32,
     "GFLOP/s", 3, 0, false},
    {"mxfp4 MFMA 16x16x128",
     "v_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[8:11], v[12:15], v[16:19], v4, v5 op_sel_hi:[0,0,0] cbsz:4 blgp:4",
     2.0 * 16 * 16 * 128, "GFLOP/s", 2, 0, false},
    {"mxfp8 MFMA 16x16x128",
     "v_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[20:27], v[28:35], v[16:19], v4, v5 op_sel_hi:[0,0,0]",
     2.0 * 16 * 16 * 128, "GFLOP/s", 2, 0, false},
    {"short waves", NULL, 1, "G work-items/s", 3, 3, false},
    {"hash of 200 rounds", NULL, 200, "G rounds/s", 3, 200, false},
    {"f32 GEMM of 256^3", "gemm_f32_lds", 0, "GFLOP/s", 3, 256, false},
    {"bf16 GEMM of 512^3", "gemm_bf16_mfma", 0, "GFLOP/s", 3, 512, false},
    {"dense bf16 GEMM of 512^3", "gemm_bf16_mfma", 0, "GFLOP/s", 3, 512, true},
    {"bf16 GEMM of 1024^3", "gemm_bf16_mfma", 0, "GFLOP/s", 3, 1024, false},
    {"f32 GEMM of 1024^3", "gemm_f32_lds", 0, "GFLOP/s", 0, 1024, false},
    {"bf16 GEMM of 2048^3", "gemm_bf16_mfma", 0, "GFLOP/s", 0, 2048, false},
};

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const tw_error *error) {
  fprintf(stderr, "%s\n", error->text);
  exit(1);
}

/* A launch that can be repeated. */
typedef struct work {
  cdna_object object;
  char *bytes;
  const char *kernel; /* NULL: the only one */
  cdna_launch launch;
  cdna_memory memory;
  void *data[3];
  struct {
    uint64_t operand[3];
    uint32_t size[3];
  } arguments;
  double amount; /* of work, in the row's unit, times 1e9 */
} work;

static void free_work(work *w) {
  for (int k = 0; k < 3; k++) free(w->data[k]);
  cdna_object_free(&w->object);
  free(w->bytes);
}

/* Runs it once; returns the time that the clock shows. */
static double run_on(work *w, const char *checks, int jobs, clockid_t clock, uint64_t *instructions) {
  const cdna_kernel *k;
  tw_error error;
  cdna_memory m = w->memory;
  cdna_checker *checker = NULL;
  cdna_result_counts counts;
  tw_inspection inspection = {.checks = checks};
  if (cdna_object_kernel(&w->object, w->kernel, &k, &error) != TW_OK) fail(&error);
  if (cdna_checker_new(&inspection, &checker, &error) != TW_OK) fail(&error);
  w->launch.arguments = &w->arguments;
  w->launch.observer = checker ? cdna_checker_start(checker) : NULL;
  w->launch.jobs = jobs;
  const double begin = seconds_of(clock);
  if (cdna_run(&w->object, k, &w->launch, &m, &counts, &error) != TW_OK) fail(&error);
  const double took = seconds_of(clock) - begin;
  cdna_checker_free(checker);
  *instructions = counts.instructions;
  return took;
}
static double run_once(work *w, const char *checks, uint64_t *instructions) {
  return run_on(w, checks, 1, CLOCK_PROCESS_CPUTIME_ID, instructions);
}

static void compile(cdna_arch arch, const char *source, const char *name, const tw_launch *header, work *w) {
  size_t size;
  tw_error error;
  if (cdna_compile(arch, source, strlen(source), &(tw_evaluation){.trust = true}, header, &w->bytes, &size, &error) !=
          TW_OK ||
      cdna_object_read(w->bytes, size, name, &w->object, &error) != TW_OK)
    fail(&error);
}

static void make_loop(cdna_arch arch, const struct row *l, work *w) {
  char source[512];
  /* registers hold small numbers in every format: 0, subnormals and NaN (0x80 in FNUZ) may be quicker or slower than
   * others */
  snprintf(source, sizeof source,
           "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void k(void) {\n"
           "  __asm__ volatile(\".set r, 4\\n .rept 44\\n v_mov_b32 v[r], 0x3f813f81\\n .set r, r + 1\\n .endr\\n"
           " s_movk_i32 s20, %d\\n again:\\n .rept 64\\n %s\\n .endr\\n s_sub_u32 s20, s20, 1\\n s_cmp_lg_u32 s20, 0\\n"
           " s_cbranch_scc1 again\" : : : \"v48\", \"s20\");\n}\n",
           turns, l->instruction);
  compile(arch, source, "the loop", NULL, w);
  w->launch = (cdna_launch){.grid = {1, 1, 1}, .block = {64, 1, 1}};
  w->amount = 64.0 * turns * l->work;
}

static void add_operand(work *w, int k, size_t bytes, bool writable) {
  w->data[k] = calloc(bytes + 64, 1);
  w->arguments.operand[k] = cdna_memory_add(&w->memory, w->data[k], bytes, writable, &"A\0B\0C"[2 * k]);
  if (writable) cdna_memory_undefined(&w->memory, 0, 0);
}

/* With 3 rounds, waves of some 25 instructions: what it costs to start them counts. */
static void make_hash(cdna_arch arch, const struct row *l, work *w) {
  enum { GROUPS = 128, BLOCK = 256 };
  char source[700];
  snprintf(source, sizeof source,
           "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void k(const "
           "__attribute__((address_space(1))) unsigned *a, __attribute__((address_space(1))) unsigned *b) {\n"
           "  const unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();\n"
           "  unsigned h = a[i];\n"
           "  for (int n = 0; n < %d; n++) h ^= h >> 16, h *= 0x85ebca6bu, h += i;\n"
           "  b[i] = h;\n}\n",
           l->size);
  compile(arch, source, "the hash", NULL, w);
  add_operand(w, 0, (size_t)4 * GROUPS * BLOCK, false);
  add_operand(w, 1, (size_t)4 * GROUPS * BLOCK, true);
  w->launch = (cdna_launch){.grid = {GROUPS, 1, 1}, .block = {BLOCK, 1, 1}, .argument_bytes = 16};
  w->amount = l->work * GROUPS * BLOCK;
}

static void make_gemm(cdna_arch arch, const struct row *r, work *w) {
  char path[200], *text;
  size_t length;
  tw_error error;
  tw_problem p;
  tw_launch header;
  char words[6][24] = {{0}};
  const bool narrow = !strcmp(r->instruction, "gemm_bf16_mfma");
  const int size = r->size, tile = narrow ? 128 : 64;
  snprintf(path, sizeof path, "tests/data/cdna/%s.c", r->instruction);
  for (int k = 0; k < 3; k++) {
    snprintf(words[k], sizeof words[k], "%c=%d", "mnk"[k], size);
    snprintf(words[3 + k], sizeof words[3 + k], "%c=%s", "abc"[k], k == 2 || !narrow ? "f32" : "bf16");
  }
  const char *const list[] = {words[0], words[1], words[2], words[3], words[4], words[5]};
  const tw_target *t = tw_target_find(arch == CDNA3 ? "cdna3" : "cdna4");
  if (tw_file_read(path, 1 << 20, &text, &length, &error) != TW_OK ||
      tw_problem_parse_words(NULL, "gemm", 6, list, &p, &error) != TW_OK ||
      cdna_launch_of(t, &p, text, length, &header, &error) != TW_OK)
    fail(&error);
  compile(arch, text, r->instruction, &header, w);
  free(text);
  w->kernel = r->instruction;
  const size_t items = (size_t)size * (size_t)size;
  for (int k = 0; k < 3; k++) {
    add_operand(w, k, items * (k == 2 || !narrow ? 4 : 2), k == 2);
    for (size_t i = 0; i < items && k < 2; i++) { /* -1 to 1 */
      const size_t drawn = i * 2654435761u;
      const float v = r->dense ? (float)(int32_t)(uint32_t)drawn * 0x1p-31f : (float)((int)(drawn >> 20) % 17 - 8) / 8;
      uint32_t bits;
      memcpy(&bits, &v, 4);
      if (narrow)
        ((uint16_t *)w->data[k])[i] = (uint16_t)(bits >> 16);
      else
        ((uint32_t *)w->data[k])[i] = bits;
    }
    w->arguments.size[k] = (uint32_t)size;
  }
  w->launch = (cdna_launch){
      .grid = {(uint32_t)(size / tile), (uint32_t)(size / tile), 1}, .block = {256, 1, 1}, .argument_bytes = 36};
  w->amount = 2.0 * (double)size * (double)size * (double)size;
}

static void make(cdna_arch arch, const struct row *r, work *w) {
  *w = (work){0};
  if (!r->instruction)
    make_hash(arch, r, w);
  else if (r->size)
    make_gemm(arch, r, w);
  else
    make_loop(arch, r, w);
}

static const char *const checks_of[] = {"none", "all"};

static void time_row(cdna_arch arch, const struct row *r) {
  work w;
  double best[2] = {1e9, 1e9};
  uint64_t instructions;
  make(arch, r, &w);
  for (int turn = 0; turn < TIMES; turn++)
    for (int all = 0; all < 2; all++) {
      const double took = run_once(&w, checks_of[all], &instructions);
      if (took < best[all]) best[all] = took;
    }
  printf("  %-24s %8.2f %-22s with --checks all %.2f times as long\n", r->name, w.amount / best[0] / 1e9, r->unit,
         best[1] / best[0]);
  free_work(&w);
}

/* FNV-1a of the last operand: a result. */
static uint64_t hash_of(const work *w) {
  const size_t n = w->memory.n;
  uint64_t h = 0xcbf29ce484222325u;
  const unsigned char *bytes = n ? w->data[n - 1] : NULL;
  for (uint64_t i = 0; n && i < w->memory.allocation[n - 1].size; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
  return h;
}

/* Also the child of count_row. */
static void run_row(cdna_arch arch, const struct row *r, const char *checks) {
  work w;
  uint64_t instructions;
  make(arch, r, &w);
  const double took = run_once(&w, checks, &instructions);
  printf("emulated %llu\n%.6f %016llx\n", (unsigned long long)instructions, took, (unsigned long long)hash_of(&w));
  free_work(&w);
}

static void put(const char *folder, const char *name, const void *bytes, size_t size) {
  char path[300];
  tw_error error;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (tw_file_write(path, bytes, size, &error) != TW_OK) fail(&error);
}

/* Files `object`, `data0` ... and `launch`: architecture, kernel, grid, block, bytes of arguments, number of operands,
 * sizes. Arguments are the addresses of 3 operands and 3 sizes of 4 bytes. */
static void save_row(cdna_arch arch, const struct row *r, const char *folder) {
  work w;
  char text[300], name[16];
  const cdna_kernel *k;
  tw_error error;
  make(arch, r, &w);
  if (cdna_object_kernel(&w.object, w.kernel, &k, &error) != TW_OK) fail(&error);
  const uint32_t *grid = w.launch.grid, *size = w.arguments.size;
  put(folder, "object", w.object.file, w.object.file_size);
  for (size_t n = 0; n < w.memory.n; n++) {
    snprintf(name, sizeof name, "data%zu", n);
    put(folder, name, w.data[n], w.memory.allocation[n].size);
  }
  const int length =
      snprintf(text, sizeof text, "%d %s %u %u %u %u %zu %zu %u %u %u\n", (int)arch, k->name, grid[0], grid[1], grid[2],
               w.launch.block[0], w.launch.argument_bytes, w.memory.n, size[0], size[1], size[2]);
  put(folder, "launch", text, (size_t)length);
  free_work(&w);
}

static char *get(const char *folder, const char *name, size_t *size) {
  char path[300], *bytes;
  tw_error error;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (tw_file_read(path, 1 << 30, &bytes, size, &error) != TW_OK) fail(&error);
  return bytes;
}

static void load_row(const char *folder, work *w) {
  size_t size, operands = 0;
  tw_error error;
  int arch;
  uint32_t *grid = w->launch.grid, *sizes = w->arguments.size;
  char name[64], *text = get(folder, "launch", &size);
  w->launch = (cdna_launch){.block = {1, 1, 1}};
  if (sscanf(text, "%d %63s %u %u %u %u %zu %zu %u %u %u", &arch, name, &grid[0], &grid[1], &grid[2],
             &w->launch.block[0], &w->launch.argument_bytes, &operands, &sizes[0], &sizes[1], &sizes[2]) != 11 ||
      operands > 3) {
    fprintf(stderr, "bench_cdna_emulator: %s/launch is no launch of `save`\n", folder);
    exit(1);
  }
  free(text);
  if (!operands) grid[0] = 256;
  w->bytes = get(folder, "object", &size);
  if (cdna_object_read(w->bytes, size, folder, &w->object, &error) != TW_OK) fail(&error);
  for (size_t n = 0; n < operands; n++) {
    snprintf(name, sizeof name, "data%zu", n);
    char *data = get(folder, name, &size);
    add_operand(w, (int)n, size, n + 1 == operands);
    memcpy(w->data[n], data, size);
    free(data);
  }
}

static void time_threads(const char *folder, int most) {
  enum { ROUNDS = 2 };
  work w = {0};
  uint64_t instructions;
  double alone[2] = {0};
  load_row(folder, &w);
  printf("%s: threads, elapsed ms and speed-up without checks, with all\n", folder);
  for (int jobs = 1; jobs <= most; jobs *= 2) {
    double best[2] = {1e9, 1e9};
    for (int turn = 0; turn < ROUNDS; turn++)
      for (int all = 0; all < 2; all++) {
        const double took = run_on(&w, checks_of[all], jobs, CLOCK_MONOTONIC, &instructions);
        if (took < best[all]) best[all] = took;
      }
    for (int all = 0; all < 2 && jobs == 1; all++) alone[all] = best[all];
    printf("  %2d %9.1f %6.2f %9.1f %6.2f\n", jobs, 1e3 * best[0], alone[0] / best[0], 1e3 * best[1],
           alone[1] / best[1]);
    fflush(stdout);
  }
  free_work(&w);
}

/* Instructions of the host in cdna_run, for each instruction of a wave; 0: callgrind gave none. */
static double count_row(cdna_arch arch, const struct row *r, const char *checks) {
  char self[400], command[900], line[300];
  unsigned long long emulated = 0, collected = 0;
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) return 0;
  self[n] = 0;
  snprintf(
      command, sizeof command,
      "valgrind --tool=callgrind --toggle-collect=cdna_run --callgrind-out-file=/dev/null '%s' once %d '%s' %s 2>&1",
      self, (int)arch, r->name, checks);
  FILE *f = popen(command, "r");
  while (f && fgets(line, sizeof line, f)) {
    const char *at = strstr(line, "Collected : ");
    sscanf(line, "emulated %llu", &emulated);
    if (at) sscanf(at, "Collected : %llu", &collected);
  }
  if (f) pclose(f);
  return emulated ? (double)collected / (double)emulated : 0;
}

static const struct row *row_named(const char *name) {
  for (size_t l = 0; l < sizeof rows / sizeof *rows; l++)
    if (!strcmp(rows[l].name, name)) return &rows[l];
  fprintf(stderr, "bench_cdna_emulator: unknown row '%s'; expected one of:", name);
  for (size_t l = 0; l < sizeof rows / sizeof *rows; l++) fprintf(stderr, " '%s'", rows[l].name);
  fprintf(stderr, "\n");
  exit(1);
}

int main(int argc, char **argv) {
  tw_error error;
  const bool count = argc > 1 && !strcmp(argv[1], "count"), once = argc > 4 && !strcmp(argv[1], "once"),
             save = argc > 5 && !strcmp(argv[1], "save");
  const struct row *only = once || save ? row_named(argv[3]) : count && argc > 2 ? row_named(argv[2]) : NULL;
  if (argc == 4 && !strcmp(argv[1], "threads")) {
    time_threads(argv[2], atoi(argv[3]));
    return 0;
  }
  if (argc > 1 && !count && !once && !save) setenv("TILEWRIGHT_CDNA_ISA", argv[1], 1);
  if (cdna_toolchain_find(&error) != TW_OK) fail(&error);
  if (save || argc > 5) turns = atoi(argv[save ? 4 : 5]);
  if (save) {
    save_row((cdna_arch)atoi(argv[2]), only, argv[5]);
    return 0;
  }
  if (once) {
    run_row((cdna_arch)atoi(argv[2]), only, argv[4]);
    return 0;
  }
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    printf("%s, %s:\n", arch == CDNA3 ? "gfx942" : "gfx950",
           count ? "host instructions for each instruction of a wave, without checks and with all" : cdna_kit()->isa);
    for (const struct row *r = rows; r < rows + sizeof rows / sizeof *rows; r++) {
      if (!(r->arches >> arch & 1) || (only && only != r)) continue;
      if (count)
        printf("  %-24s %8.0f %8.0f\n", r->name, count_row((cdna_arch)arch, r, "none"),
               count_row((cdna_arch)arch, r, "all"));
      else
        time_row((cdna_arch)arch, r);
      fflush(stdout);
    }
  }
  return 0;
}
