/* explain.c - `tilewright model` on a target that explains a choice of tiles, given by steps of a schedule (--schedule,
 * or words) and by keys of its own. Prints buffers, capacities, bounds, the predicted rate and its limit. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/strings.h"
#include "cli/cli.h"
#include "target/parse.h"

/* The words of the command line, by kind. */
typedef struct split {
  size_t n_op, n_choice;
  const char **op, **choice; /* the op's keys; the target's */
} split;

/* The name of a target's key; "" for a step of a schedule, which may be given more than once. */
static const char *explain_key(const tw_target *t, const char *word) {
  const size_t length = strcspn(word, "=");
  if (tw_word_is_step(word)) return "";
  for (const char *const *key = t->explainer->keys; *key; key++)
    if (word[length] && strlen(*key) == length && !strncmp(*key, word, length)) return *key;
  return NULL;
}

static tw_status split_words(const cli *c, const tw_target *t, split *out, tw_error *error) {
  *out = (split){.op = tw_new(c->n_words + 1, sizeof *out->op),
                 .choice = tw_new(c->n_words + 1 + TW_STEPS_MAX, sizeof *out->choice)};
  if (!out->op || !out->choice) return tw_no_memory(error, NULL);
  for (size_t i = 1; i < c->n_words; i++) {
    const char *key = explain_key(t, c->words[i]);
    for (size_t j = 0; key && *key && j < out->n_choice; j++)
      if (explain_key(t, out->choice[j]) == key) return tw_fail(error, TW_USAGE, "%s is given twice", key);
    if (key)
      out->choice[out->n_choice++] = c->words[i];
    else
      out->op[out->n_op++] = c->words[i];
  }
  return TW_OK;
}

/* Steps of a file come first, because a word may replace one of them. */
static void prepend(const tw_schedule *steps, split *words) {
  memmove(words->choice + steps->n, words->choice, words->n_choice * sizeof *words->choice);
  for (size_t i = 0; i < steps->n; i++) words->choice[i] = steps->step[i];
  words->n_choice += steps->n;
}

/* --kernel FILE: the innermost kernel, instruction by instruction. */
static tw_status write_kernel(const cli *c, const cli_subject *s, const split *words, tw_error *error) {
  const char *file = cli_kernel(c), *dot = file ? strrchr(file, '.') : NULL;
  char *text = NULL;
  if (!file) return TW_OK;
  const bool as_picture = dot && !strcmp(dot, ".svg");
  tw_status status =
      s->target->explainer->draw(s->target, &s->problem, words->n_choice, words->choice, as_picture, &text, error);
  if (status == TW_OK) status = tw_file_write(file, text, strlen(text), error);
  free(text);
  return status;
}

static tw_status explain(const cli *c, cli_subject *s, tw_explanation *out, tw_error *error) {
  const tw_target *t = s->target;
  tw_schedule steps = {0};
  split words = {0};
  tw_status status = split_words(c, t, &words, error);
  if (status == TW_OK) status = tw_problem_parse_words(t, c->words[0], words.n_op, words.op, &s->problem, error);
  if (status == TW_OK) status = tw_target_settle(t, &s->problem, error);
  if (status == TW_OK) status = cli_read_schedule(c, s, &steps, error);
  if (status == TW_OK) prepend(&steps, &words);
  if (status == TW_OK) status = t->explainer->explain(t, &s->problem, words.n_choice, words.choice, out, error);
  if (status == TW_OK) status = write_kernel(c, s, &words, error);
  free(words.op);
  free(words.choice);
  return status;
}

/* "buffers" belong to memory[0], so that their sum is "buffer_bytes"; "outer_buffers" are the rest. */
static tw_status print_json(const cli *c, const tw_explanation *e, tw_error *error) {
  json_t *object = json_object(), *buffers = json_object(), *outer = json_object(), *memory = json_object();
  for (size_t i = 0; i < e->n_buffers; i++)
    json_object_set_new(e->buffer[i].memory ? outer : buffers, e->buffer[i].name, cli_json_number(e->buffer[i].bytes));
  for (size_t i = 0; i < e->n_memories; i++)
    json_object_set_new(
        memory, e->memory[i].name,
        json_pack("{s:I, s:I}", "used", (json_int_t)e->memory[i].used, "size", (json_int_t)e->memory[i].size));
  json_object_set_new(object, "choice", tw_json_text(e->choice));
  json_object_set_new(object, "buffer_bytes", cli_json_number((double)e->memory[0].used));
  json_object_set_new(object, "buffers", buffers);
  json_object_set_new(object, "outer_buffers", outer);
  json_object_set_new(object, "memory", memory);
  json_object_set_new(object, "fits", json_boolean(e->fits));
  for (size_t i = 0; i < e->n_quantities; i++)
    json_object_set_new(object, e->quantity[i].name, cli_json_number(e->quantity[i].value));
  json_object_set_new(object, "limit", tw_json_text(e->fits ? e->limit : e->misfit));
  return cli_print_json(c, object, error);
}

static void print_text(const cli_subject *s, const tw_explanation *e) {
  char problem[512], bytes[CLI_NUMBER], size[CLI_NUMBER];
  tw_problem_print(&s->problem, problem, sizeof problem);
  printf("%s on %s\n%s\n", problem, s->target->name, e->choice);
  for (size_t m = 0; m < e->n_memories; m++) {
    const tw_memory_use *memory = &e->memory[m];
    printf("\n%s: %s of %s bytes%s\n", memory->name, cli_print_number((double)memory->used, bytes),
           cli_print_number((double)memory->size, size), memory->used > memory->size ? " (exceeded)" : "");
    for (size_t i = 0; i < e->n_buffers; i++)
      if (e->buffer[i].memory == m)
        printf("  %-22s %14s  %s\n", e->buffer[i].name, cli_print_number(e->buffer[i].bytes, bytes), e->buffer[i].what);
  }
  printf("\nmodel\n");
  for (size_t i = 0; i < e->n_quantities; i++) {
    const bool time = !strcmp(e->quantity[i].unit, "s"); /* printed as us, ms or s */
    printf("  %-22s %14s %-8s %s\n", e->quantity[i].name,
           time ? cli_print_amount("seconds", e->quantity[i].value, bytes)
                : cli_print_number(e->quantity[i].value, bytes),
           time ? "" : e->quantity[i].unit, e->quantity[i].help);
  }
  printf("\nlimit: %s\n", e->limit);
}

bool cli_chooses_tiles(const cli *c, const tw_target *target) {
  bool chooses = cli_kernel(c);
  for (size_t i = 1; target->explainer && i < c->n_words; i++) chooses |= explain_key(target, c->words[i]) != NULL;
  return target->explainer && chooses;
}

tw_status cli_explain(const cli *c, const tw_target *target, tw_error *error) {
  cli_subject s = {.target = target};
  tw_explanation e = {0};
  if (!c->n_words) return cli_subject_of(c, 0, &s, error); /* reports the missing part */
  tw_status status = explain(c, &s, &e, error);
  if (status != TW_OK) return status;
  if (!e.fits) fprintf(stderr, "tilewright: %s\n", e.misfit);
  if (c->options.json) return print_json(c, &e, error);
  print_text(&s, &e);
  return TW_OK;
}
