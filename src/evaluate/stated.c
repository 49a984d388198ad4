/* stated.c - see stated.h. */
#include "evaluate/stated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

/* "/" "* OP key=value ... on TARGET[,.;]", also after "//" or "#": the problem on that machine, or on `target` if it is
 * not known here. */
static bool read_stated(const char *source, const tw_target *target, tw_problem *out) {
  char line[1024], name[64] = "";
  const size_t mark = strspn(source, "#*/");
  if (!mark) return false;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(source + mark, "\n"), source + mark);
  char *problem = line + strspn(line, " \t"), *on = strstr(problem, " on ");
  if (!on) return false;
  *on = '\0';
  snprintf(name, sizeof name, "%.*s", (int)strcspn(on + 4, " ,;*"), on + 4);
  const tw_target *machine = tw_target_find(name);
  if (!machine) machine = target;
  return tw_problem_parse(machine, problem, out, NULL) == TW_OK && tw_target_supports(machine, out, NULL) == TW_OK;
}

char *tw_stated_text(const tw_target *target, const tw_problem *problem, const char *source) {
  tw_problem stated;
  if (read_stated(source, target, &stated)) return strdup(source);
  const char *const name = target->traits.source_name, *const ending = strrchr(name, '.');
  const bool is_c = ending && (!strcmp(ending, ".c") || !strcmp(ending, ".cu"));
  char *words = tw_problem_text(problem);
  tw_text text = {0};
  if (!words) return NULL;
  tw_text_add(&text, "%s %s on %s\n%s", is_c ? "//" : "#", words, target->name, source);
  free(words);
  return tw_text_take(&text);
}

/* "m=64 k=32": the keys of `p` whose values differ from `other`. Printed problems omit defaults. */
static void print_differences(const tw_problem *p, const tw_problem *other, tw_text *out) {
  const tw_value *value, *others;
  const tw_key *key;
  for (size_t i = 0; (key = tw_problem_key(p, i, &value)) && tw_problem_key(other, i, &others); i++) {
    char words[512], *rest = NULL;
    if (value->i == others->i && value->r == others->r) continue;
    tw_problem_print(p, words, sizeof words);
    const size_t length = strlen(key->name), before = out->length;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
      if (!strncmp(word, key->name, length) && word[length] == '=') tw_text_add(out, " %s", word);
    if (out->length == before) tw_text_add(out, " the default of %s", key->name);
  }
}

void tw_stated_explain(const tw_trial *t, tw_error *error) {
  tw_problem stated;
  if (!read_stated(t->source, t->target, &stated)) return;
  tw_text is = {0}, was = {0};
  if (stated.op == t->problem->op) {
    print_differences(&stated, t->problem, &is);
    print_differences(t->problem, &stated, &was);
  } else {
    tw_text_add(&is, " %s", stated.op->name);
    tw_text_add(&was, " %s", t->problem->op->name);
  }
  char *wanted = tw_text_take(&is), *ran = tw_text_take(&was);
  const tw_error fault = *error;
  const char *const of_compiler = strstr(fault.text, ": error: "); /* the first of a compiler's errors is enough */
  const size_t length =
      of_compiler ? (size_t)(of_compiler - fault.text) + strcspn(of_compiler, ";") : sizeof fault.text;
  if (wanted && ran && *wanted)
    tw_fail(error, fault.status, "the kernel's first comment states that it is for%s, but it was run with%s: %.*s",
            wanted, ran, (int)length, fault.text);
  free(wanted);
  free(ran);
}
