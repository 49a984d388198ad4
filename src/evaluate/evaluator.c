/* evaluator.c - see evaluator.h. */
#include "evaluate/evaluator.h"

#include <stdlib.h>
#include <string.h>

#include "base/machine_name.h"
#include "base/process.h"
#include "base/strings.h"
#include "tilewright/extend/extend.h"
#include "tilewright/machine.h"

/* The first line of `PROGRAM --version`. */
static void add_version(tw_text *out, const char *program) {
  const char *const argv[] = {program, "--version", NULL};
  const tw_process_options options = {.argv = argv, .output_limit = 1 << 16, .seconds = 10};
  tw_process_result result = {0};
  if (tw_process_run(&options, &result, NULL) == TW_OK && result.output)
    tw_text_add(out, "%s: %.*s\n", program, (int)strcspn(result.output, "\n"), result.output);
  free(result.output);
}

char *tw_evaluator_text(const tw_target *t) {
  /* for a user's machine file: every value; its name and summary are not part of it */
  char *machine = tw_machine_text(t);
  char *description = !machine && t->describe ? t->describe(t) : NULL;
  const char *compiler = t->traits.compiler ? t->traits.compiler() : NULL;
  tw_text out = {0};
  tw_text_add(&out, "tilewright %s\n%s\n%s", TILEWRIGHT_VERSION, tw_machine_identity(t->name),
              description ? description : "");
  if (compiler) add_version(&out, compiler);
  if (machine) tw_text_add_string(&out, machine);
  free(machine);
  free(description);
  return tw_text_take(&out);
}

void tw_evaluator_digest(const tw_target *t, char digest[TW_HASH_TEXT]) {
  char *text = tw_evaluator_text(t);
  tw_hash hash;
  tw_hash_start(&hash);
  tw_hash_add_string(&hash, text ? text : "");
  tw_hash_finish_text(&hash, digest);
  if (!text) *digest = '\0';
  free(text);
}
