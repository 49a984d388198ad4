/* prompt.c - `tilewright prompt plan|implement OP key=value... -t TARGET [FILE]`: prints what a language model would be
 * asked about a program, FILE or the machine's plainest kernel: for reading, for repairing its texts, or for asking by
 * hand. `tilewright prompt --write DIR -t TARGET` writes the texts; `--prompts DIR` uses them. With --from, a language
 * model adds what a machine's documentation says. */
#include <stdlib.h>
#include <string.h>

#include "agent/distill.h"
#include "agent/prompt.h"
#include "agent/prompt_texts.h"
#include "cli/cli.h"
#include "evaluate/trial.h"

/* Builds, checks and measures the program, so that the prompt can state its cost. */
static tw_status measure(const cli *c, const cli_subject *s, tw_candidate *k, tw_error *error) {
  const tw_target *t = s->target;
  const tw_trial trial = {.target = t,
                          .problem = &s->problem,
                          .source = k->source,
                          .length = strlen(k->source),
                          .seed = c->options.inputs,
                          .trust = c->options.trust};
  const tw_setting setting = {.jobs = (int)c->options.jobs};
  tw_outcome outcome;
  tw_status status = t->available ? t->available(t, error) : TW_OK;
  if (status != TW_OK) return status;
  tw_trial_run(&trial, &setting, &outcome);
  k->measured = outcome.measured;
  if (outcome.verdict == TW_CORRECT) return TW_OK;
  if (error) *error = outcome.error;
  return outcome.error.status;
}

static tw_status get_source(const cli *c, const cli_subject *s, const char *file, char **source, tw_error *error) {
  tw_schedule schedule;
  size_t length;
  if (file) return cli_read_source(file, source, &length, error);
  tw_status status = cli_read_schedule(c, s, &schedule, error);
  if (status == TW_OK) status = tw_target_emit(s->target, &s->problem, &schedule, source, error);
  return status;
}

static tw_status write_prompt(const cli *c, const cli_subject *s, const tw_prompt_texts *texts, bool planning,
                              const char *plan, tw_candidate *k, char **out, tw_error *error) {
  tw_bound bound = {0};
  tw_status status = tw_target_bound(s->target, &s->problem, &bound, error);
  if (status != TW_OK) return status;
  const tw_candidate *lineage[] = {k};
  tw_request request = {.target = s->target,
                        .problem = &s->problem,
                        .bound = &bound,
                        .parent = k,
                        .n_lineage = 1,
                        .lineage = lineage,
                        .texts = texts,
                        .filters_isa = c->options.filter_isa,
                        .iteration = 1,
                        .iterations = c->options.iterations ? (int)c->options.iterations : 10,
                        .dropout = c->options.dropout < 0 ? 0 : c->options.dropout};
  tw_diagnosis diagnosis;
  if (planning && !c->options.no_run && tw_prompt_diagnose(&request, &diagnosis)) request.diagnosis = &diagnosis;
  char *inner_loop = planning && !c->options.no_run ? tw_prompt_inner_loop(&request) : NULL;
  request.inner_loop = inner_loop;
  tw_random_seed(&request.random, (uint64_t)c->options.seed);
  status = planning ? tw_prompt_plan(&request, &request.random, out, error)
                    : tw_prompt_implement(&request, plan, NULL, out, error);
  free(inner_loop);
  return status;
}

static tw_status write_texts(const cli *c, tw_error *error) {
  const tw_target *target;
  size_t files;
  if (c->n_words)
    return tw_fail(error, TW_USAGE, "unexpected '%s'; usage: `tilewright prompt --write DIR -t TARGET`", c->words[0]);
  tw_status status = cli_find_target(c->options.target, &target, error);
  if (status == TW_OK) status = tw_prompt_texts_write(c->options.write, target, &files, error);
  if (status != TW_OK) return status;
  if (c->options.json)
    return cli_print_json(c, json_pack("{s:s,s:I}", "folder", c->options.write, "files", (json_int_t)files), error);
  printf("%zu files in %s; edit them, then use `--prompts %s`\n", files, c->options.write, c->options.write);
  return TW_OK;
}

/* The documents are --from and the words after it. */
static tw_status write_distilled(const cli *c, tw_error *error) {
  const cli_options *o = &c->options;
  const tw_model_options model = cli_model_options(o);
  const tw_stop stop = {.interrupt = cli_catch_interrupt()};
  const tw_target *target;
  tw_distillation done = {0};
  if (!o->write)
    return tw_fail(error, TW_USAGE, "--from requires --write DIR, the folder for the texts that you then review");
  if (o->agents.n != 1)
    return tw_fail(error, TW_USAGE, "--from requires one --agent, llm:MODEL or exec:COMMAND, that reads the documents");
  const char **document = tw_new(c->n_words + 1, sizeof *document);
  tw_status status = document ? cli_find_target(o->target, &target, error) : tw_no_memory(error, "documents");
  if (document) document[0] = o->from;
  for (size_t i = 0; document && i < c->n_words; i++) document[i + 1] = c->words[i];
  if (status == TW_OK)
    status = tw_distill(target, o->agents.text[0], &model, c->n_words + 1, document, o->write, &stop, &done, error);
  if (done.notes.data) fputs(done.notes.data, stderr);
  free(document);
  tw_text_free(&done.notes);
  if (status != TW_OK) return status;
  if (o->json)
    return cli_print_json(c,
                          json_pack("{s:s,s:I,s:I,s:I}", "folder", o->write, "files", (json_int_t)done.files, "added",
                                    (json_int_t)done.added, "requests", (json_int_t)done.requests),
                          error);
  printf("%zu files in %s, %zu of them with additions; review and edit them, then use `--prompts %s`\n", done.files,
         o->write, done.added, o->write);
  return TW_OK;
}

tw_status cli_prompt(const cli *c, tw_error *error) {
  static const char usage[] = "`tilewright prompt plan|implement OP key=value... -t TARGET [FILE]`";
  if (c->options.from) return write_distilled(c, error);
  if (c->options.agents.n)
    return tw_fail(error, TW_USAGE, "--agent requires --from DOC, documentation that the model reads");
  if (c->options.write) return write_texts(c, error);
  const bool planning = c->n_words && !strcmp(c->words[0], "plan");
  if (!c->n_words) return tw_fail(error, TW_USAGE, "the kind of prompt is missing; usage: %s", usage);
  if (!planning && strcmp(c->words[0], "implement") != 0)
    return tw_fail(error, TW_USAGE, "unknown prompt '%s'; usage: %s", c->words[0], usage);
  if (planning == (c->options.plan != NULL))
    return tw_fail(error, TW_USAGE,
                   planning ? "--plan requires `prompt implement`" : "the plan is missing; give --plan FILE");
  /* the last word is a file if it is not a key=value */
  cli words = *c;
  const char *file = c->n_words > 2 && !strchr(c->words[c->n_words - 1], '=') ? c->words[c->n_words - 1] : NULL;
  words.n_words -= file != NULL;
  cli_subject subject;
  tw_candidate *k = NULL;
  tw_prompt_texts *texts = NULL;
  char *source = NULL, *plan = NULL, *prompt = NULL;
  size_t length;
  tw_status status = cli_subject_of(&words, 1, &subject, error);
  if (status == TW_OK && c->options.prompts)
    status = tw_prompt_texts_read(c->options.prompts, subject.target, &texts, error);
  if (status == TW_OK && !texts) status = tw_prompt_available(subject.target, &subject.problem, error);
  if (status == TW_OK) status = get_source(c, &subject, file, &source, error);
  if (status == TW_OK && c->options.plan) status = cli_read_source(c->options.plan, &plan, &length, error);
  if (status == TW_OK && !(k = tw_candidate_new())) status = tw_no_memory(error, "a program");
  if (status == TW_OK) {
    tw_candidate_set_kernel(k, subject.target, NULL, source);
    source = NULL;
    k->parent = TW_NONE;
    if (planning && !c->options.no_run) status = measure(c, &subject, k, error);
  }
  if (status == TW_OK) status = write_prompt(c, &subject, texts, planning, plan, k, &prompt, error);
  if (status == TW_OK && c->options.json)
    status = cli_print_json(c, json_pack("{s:o}", "prompt", tw_json_text(prompt)), error);
  else if (status == TW_OK)
    fputs(prompt, stdout);
  if (k) tw_candidate_free(k);
  tw_prompt_texts_free(texts);
  free(source), free(plan), free(prompt);
  return status;
}
