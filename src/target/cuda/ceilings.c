/* ceilings.c - see ceilings.h. The kernels are in runtime/ceilings.cu; runner/ceilings.c times them. */
#include "target/cuda/ceilings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "target/cuda/build.h"

static const char KIND[] = "cuda-ceilings", SOURCE[] = "cuda/runtime/ceilings.cu";
static const double SECONDS = 60;
/* Operations of a step of one block of multiply_bf16: eight products of 64 x 256 x 16 with wgmma; with mma.sync,
 * eight products of 16 x 8 x 16 in each of 8 warps. */
static const double OPERATIONS_90 = 2.0 * 8 * 64 * 256 * 16, OPERATIONS_80 = 2.0 * 64 * 16 * 8 * 16;

static void key_of(const cuda_device *d, char key[TW_HASH_TEXT]) {
  const tw_embedded *e = tw_embedded_find(SOURCE);
  char driver[32];
  tw_hash h;
  snprintf(driver, sizeof driver, "%d", cuda_look()->driver);
  tw_hash_start(&h);
  tw_hash_add_string(&h, d->uuid);
  tw_hash_add_string(&h, driver);
  if (e) tw_hash_add(&h, e->data, e->size);
  tw_hash_finish_text(&h, key);
}

/* Reads lines such as "copy 3e12". */
static bool parse(const char *text, cuda_ceilings *out) {
  *out = (cuda_ceilings){0};
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    sscanf(line, "copy %lf", &out->copy);
    sscanf(line, "f32 %lf", &out->f32);
    sscanf(line, "bf16 %lf", &out->bf16);
    sscanf(line, "i8 %lf", &out->i8);
  }
  return out->copy > 0 && out->f32 > 0 && out->bf16 > 0 && out->i8 > 0;
}

bool cuda_known_ceilings(const cuda_device *d, cuda_ceilings *out) {
  char key[TW_HASH_TEXT], *text = NULL;
  size_t length;
  key_of(d, key);
  const bool known = tw_cache_get(KIND, key, &text, &length) && parse(text, out);
  free(text);
  return known;
}

static tw_status run(const cuda_device *d, const cuda_config *c, const char *path, cuda_ceilings *out,
                     tw_error *error) {
  char ordinal[16], processors[16], operations[32], key[TW_HASH_TEXT];
  snprintf(ordinal, sizeof ordinal, "%d", d->ordinal);
  snprintf(processors, sizeof processors, "%d", d->multiprocessors);
  snprintf(operations, sizeof operations, "%.0f",
           strcmp(c->architecture, "sm_90a") == 0 ? OPERATIONS_90 : OPERATIONS_80);
  const char *const argv[] = {cuda_look()->runner, "ceilings", ordinal, path, processors, operations, NULL};
  const tw_process_options o = {.argv = argv, .seconds = SECONDS};
  tw_process_result r = {0};
  tw_status status = tw_process_run(&o, &r, error);
  if (status == TW_OK && (r.exit_status != 0 || !parse(r.output, out)))
    status = tw_fail(error, TW_NO_DEVICE, "the peak rates of %s could not be measured: %.200s", d->name,
                     r.length ? r.output : "the process ended");
  if (status == TW_OK) {
    key_of(d, key);
    tw_cache_put(KIND, key, r.output, r.length);
  }
  tw_process_result_free(&r);
  return status;
}

tw_status cuda_measure_ceilings_of(const cuda_device *d, const cuda_config *c, cuda_ceilings *out, tw_error *error) {
  const tw_embedded *source = tw_embedded_find(SOURCE);
  char *entry = NULL, *directory = NULL, *path = NULL;
  const char *cubin = NULL;
  size_t bytes = 0;
  if (cuda_known_ceilings(d, out)) return TW_OK;
  if (!source) return tw_fail(error, TW_MISSING, "%s is not part of this build", SOURCE);
  tw_status status = cuda_compile(c, (const char *)source->data, source->size, true, &entry, &cubin, &bytes, error);
  if (status != TW_OK) return status;
  status = tw_directory_temporary(&directory, error);
  if (status == TW_OK && !(path = tw_path_join(directory, "ceilings.cubin"))) status = tw_no_memory(error, NULL);
  if (status == TW_OK) status = tw_file_write(path, cubin, bytes, error);
  if (status == TW_OK) status = run(d, c, path, out, error);
  if (directory) tw_directory_remove(directory);
  free(directory);
  free(path);
  free(entry);
  return status;
}

double cuda_ceiling(const cuda_ceilings *c, tw_type type) {
  switch (type) {
  case TW_F16:
  case TW_BF16: return c->bf16;
  case TW_I8:
  case TW_E4M3:
  case TW_E5M2: return c->i8;
  default: return c->f32;
  }
}
