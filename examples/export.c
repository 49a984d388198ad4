/* export.c - a kernel for an AMD GPU as files: its source, what a program needs around it, and the code object that
 * hipModuleLoad takes, with its launch. No GPU is needed; without clang 22 everything but the code object is made.
 *
 *   cc export.c $(pkg-config --cflags --libs tilewright) -o export && ./export [DIRECTORY] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

/* With a directory, written there; else only told. */
static int write_file(const char *directory, const char *name, const void *data, size_t size) {
  char path[4096];
  printf("%-12s %zu bytes\n", name, size);
  if (!directory) return 0;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, size, f) != size || fclose(f)) return perror(path), 1;
  return 0;
}

int main(int argc, char **argv) {
  const tw_target *machine = tw_target_find("cdna4");
  tw_wisdom *known = NULL;
  tw_schedule schedule = {0};
  tw_problem problem;
  tw_error error;
  tw_files files = {0};
  char *source = NULL;
  int failed = 0;

  tw_status status = tw_problem_parse(machine, "gemm m=512 n=512 k=512 b_transposed=1", &problem, &error);
  if (status == TW_OK) status = tw_target_supports(machine, &problem, &error);
  if (status == TW_OK) status = tw_wisdom_load(NULL, &known, &error); /* what a search found before, or a schedule */
  const tw_wisdom_entry *best = status == TW_OK ? tw_wisdom_find(known, "cdna4", &problem, NULL) : NULL;
  if (best)
    schedule = *tw_wisdom_entry_schedule(best);
  else if (status == TW_OK)
    status = tw_schedule_parse("tile m=64 n=128 k=64\nstages 2\n", &schedule, &error);
  if (status == TW_OK) status = tw_target_emit(machine, &problem, &schedule, &source, &error);
  if (status == TW_OK) status = tw_target_export(machine, &problem, &schedule, source, &files, &error);
  if (status != TW_OK) return fprintf(stderr, "%s\n", error.text), 1;
  for (size_t i = 0; i < files.n; i++) {
    const size_t size = files.file[i].size ? files.file[i].size : strlen(files.file[i].text);
    failed |= write_file(argc > 1 ? argv[1] : NULL, files.file[i].name, files.file[i].text, size);
  }
  tw_files_free(&files);
  tw_wisdom_free(known);
  free(source);
  return failed;
}
