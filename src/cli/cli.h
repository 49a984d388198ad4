/* cli.h - shared by the subcommands: options, the problem and target of the command line, output as text or JSON.
 *
 * A subcommand is a file of this folder with one function, and a line in the table of main.c. It prints its result on
 * standard output (one JSON object with --json) and returns a status; main.c prints the line about a failure. */
#ifndef TW_CLI_CLI_H
#define TW_CLI_CLI_H

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include "base/json.h"
#include "base/strings.h"
#include "evaluate/ranks.h"
#include "search/known.h"
#include "search/result.h"
#include "tilewright/extend/extend.h"

enum { CLI_LIST_MAX = 64 };
typedef struct cli_list {
  size_t n;
  const char *text[CLI_LIST_MAX];
} cli_list;

typedef struct cli_options {
  bool json, no_wisdom, fresh, help, trust, verbose;
  bool rewrites_only, no_run, progress, verify;
  bool exhaustive, watch, shuffle_menu, one_question, own_menu, filter_isa;
  const char *page; /* file of a report */
  const char *target, *out, *schedule, *trace, *timeline, *window, *from, *write, *floorplan, *plan, *prompts, *context,
      *effort, *runner, *hosts, *svg;
  cli_list agents, reuse;
  const char *without;
  const char *checks; /* checks of a run; NULL: the usual ones */
  const char *known, *write_known;
  bool counts;
  bool no_timing, timing_only;
  const char *workgroups;   /* NULL: all */
  const char *grid, *block; /* launch of a kernel without an op */
  const char *launch_file;  /* launch of a kernel without an op: the arguments by name; NULL: none */
  cli_list arguments, kernel_names, kernel_cycles;
  cli_list include; /* folders of headers, in the order in which they are searched */
  cli_list define;  /* macros */
  int64_t lds;
  uint64_t inputs; /* the seed of inputs: from --seed, or unpredictable */
  int64_t jobs, seed, iterations, plans, kernels, beam;
  double dropout, seconds; /* dropout < 0: the search's default */
  int64_t samples, repairs, concurrent_requests, max_answer_tokens,
      max_requests; /* repairs < 0: the search's default */
  int64_t ancestors, translate;
  double hide_scores, combine;
  /* temperature < 0: the search's default */
  double temperature, answer_timeout, max_tokens, max_cost, price_in, price_out;
  const char *to, *scale_rule, *group, *rounding, *overflow; /* for quantize */
  bool all;
} cli_options;

typedef struct cli {
  cli_options options;
  size_t n_words;
  const char **words;  /* words that are neither the subcommand nor an option */
  bool *printed;       /* set after the one JSON object is printed */
  const char *command; /* the whole command line; NULL without memory */
  double began;        /* tw_now() at the start of the command */
} cli;

/* The folders of --include and the macros of --define. */
static inline tw_headers cli_headers(const cli *c) {
  const cli_options *o = &c->options;
  return (tw_headers){o->include.n, o->include.text, o->define.n, o->define.text};
}

typedef struct cli_command {
  const char *name, *arguments, *summary;
  const char *options; /* names of the options it takes, separated by blanks */
  tw_status (*run)(const cli *, tw_error *);
  bool is_verbatim; /* it prints sources, pictures or a protocol: never wrapped */
} cli_command;

/* A CLI_LIST may be given several times. */
typedef enum cli_option_kind { CLI_FLAG, CLI_TEXT, CLI_LIST, CLI_INTEGER, CLI_REAL } cli_option_kind;
typedef struct cli_option {
  const char *name;
  char letter; /* letter of the short option; 0: none */
  cli_option_kind kind;
  size_t offset; /* in cli_options */
  double min, max;
  const char *argument, *help;
} cli_option;
const cli_option *cli_option_at(size_t index); /* NULL past the last */
/* Words that completions offer for its argument, separated by blanks; NULL: none. */
const char *cli_option_choices(const cli_option *);
bool cli_takes(const cli_command *, const char *option);

extern const cli_command cli_commands[]; /* ended by a NULL name */
/* The names of the listed commands, for suggestions. Returns their number. */
size_t cli_command_names(const char *names[], size_t most);

/* The values that a key takes, for people. Returns buffer, or static text. */
const char *cli_key_values(const tw_key *, char *buffer, size_t size);
/* The options that the target at `index` adds to an op, and the names of all targets with them. NULL: it has none, or
 * an earlier target has them, too. */
const tw_family *cli_options_of(const tw_op *, size_t index, const char *between, tw_text *targets);

tw_status cli_targets(const cli *, tw_error *);
tw_status cli_ops(const cli *, tw_error *);
tw_status cli_tune(const cli *, tw_error *);
tw_status cli_emit(const cli *, tw_error *);
tw_status cli_evaluate(const cli *, tw_error *);
tw_status cli_run(const cli *, tw_error *);
tw_status cli_bench(const cli *, tw_error *);
tw_status cli_model(const cli *, tw_error *);
tw_status cli_cache(const cli *, tw_error *);
tw_status cli_mcp(const cli *, tw_error *);
tw_status cli_manual(const cli *, tw_error *);
tw_status cli_prompt(const cli *, tw_error *);
tw_status cli_report(const cli *, tw_error *);
tw_status cli_quantize(const cli *, tw_error *);
tw_status cli_wisdom(const cli *, tw_error *);
tw_status cli_view(const cli *, tw_error *);

/* ---- explain.c: `model` on a target that explains tiles ---- */

/* Does the command line choose tiles, by their keys or --kernel, of a target that has views? */
bool cli_chooses_tiles(const cli *, const tw_target *);
tw_status cli_explain(const cli *, const tw_target *, tw_error *);

/* ---- tune.c ---- */

/* Requests to language models, as the command line has them. */
tw_model_options cli_model_options(const cli_options *);

/* ---- options.c ---- */

/* Fills *out from the words after the subcommand's name; out->words points into argv. */
tw_status cli_parse(const cli_command *, int argc, char *argv[], cli *out, tw_error *);
/* The arguments of a command are forms separated by " | "; a '|' in brackets separates words of one form. Returns the form
 * after the one at `form`, whose length is *length; NULL after the last. */
const char *cli_next_form(const char *form, size_t *length);
void cli_print_help(const cli_command *); /* of one subcommand */

/* ---- glossary.c ---- */

/* Prints the meaning of a term of the glossary, and the schedule steps of that name. Returns false if there are
 * none. */
bool cli_print_term(const char *term);
tw_status cli_unknown_term(const char *term, tw_error *);

/* ---- launch.c: `run FILE --grid ... --arg ...`, without an op ---- */

bool cli_is_launch(const cli *);
const char *cli_kernel(const cli *); /* the last --kernel; NULL without one */
/* With an op: adds the same options as lines of a launch's header (docs/reference/kernel-header.md). Checks that they
 * are used. */
tw_status cli_check_header(const cli *, const tw_target *, tw_error *);
tw_status cli_add_header(const cli *, char **source, size_t *length, tw_error *);
tw_status cli_launch(const cli *, tw_error *);

/* ---- inspect.c: `run --checks ... --counts --known FILE` ---- */

/* A file of accepted findings. */
typedef struct cli_accepted {
  char *text; /* contents of the file, cut into keys */
  size_t n;
  char **key; /* sorted, each once */
} cli_accepted;

typedef struct cli_inspection {
  tw_inspection by; /* the target's */
  json_t *counts;   /* by.json with the user's file name; NULL: none */
  bool wanted;      /* the command line requests checks or counts */
  cli_accepted known;
  const char *known_file; /* NULL: none */
} cli_inspection;

/* Fills the inspection: the checks that the command line requests, or the list `usual` without --checks. Reads the
 * file of --known. */
tw_status cli_inspection_of(const cli *, const tw_target *, const char *usual, cli_inspection *out, tw_error *);
void cli_inspection_free(cli_inspection *);
/* Call after the run, before the functions below: puts the user's file name into findings and counts. */
void cli_name_findings(const cli *, cli_inspection *);
void cli_print_inspection(const cli_inspection *);
void cli_json_inspection(const cli_inspection *, json_t *object);
/* TW_FAILED if a finding is neither a warning nor known. With --write-known, writes the file instead. */
tw_status cli_judge_inspection(const cli *, const cli_inspection *, tw_error *);

/* ---- subject.c: the problem and target of a command ---- */

typedef struct cli_subject {
  const tw_target *target;
  tw_problem problem;          /* types filled in, checked by op and target; for a launch without an op, op is NULL */
  const tw_schedule *schedule; /* of the kernel; NULL: not known */
} cli_subject;

/* words[first]: the op; the rest its keys; the target from -t. */
tw_status cli_subject_of(const cli *, size_t first, cli_subject *, tw_error *);
tw_status cli_find_target(const char *name, const tw_target **, tw_error *);
/* TW_MISSING with the name of the missing tool. Emitting and compiling need less, and report it themselves. */
tw_status cli_usable(const cli_subject *, tw_error *);
/* The file of --schedule; the empty schedule without it. */
tw_status cli_read_schedule(const cli *, const cli_subject *, tw_schedule *, tw_error *);
/* Finds the subject's entry in wisdom. Never fails: bad wisdom is reported on stderr. */
void cli_find_known(const cli *, const cli_subject *, tw_known *);
/* "'s' is not ...; did you mean ...": TW_USAGE. */
tw_status cli_no_words(const cli *, size_t most, tw_error *);

/* ---- output.c ---- */

/* Prints and releases the object; TW_MISSING if standard output cannot take it. */
tw_status cli_print_json(const cli *, json_t *object, tw_error *);
/* The exit status of the command: 0, 1, 2, 3 or 130. */
int cli_exit_status(tw_status);
/* {"error", "status", "reason"} of a call that failed: the exit status, and the status by name. */
json_t *cli_json_error(const char *text, tw_status);
json_t *cli_json_number(double); /* an integer if it is one */
/* Why no error is known for costs of the subject's kind; NULL: the machine's error holds, if it has one. */
const char *cli_unjudged(const cli_subject *);
/* Adds "accuracy" for a simulated machine: "error", null if unknown for the subject, and "of", its description. A NULL
 * subject: the machine's error. */
void cli_json_accuracy(json_t *, const tw_target *, const cli_subject *);
/* Prints a line if the error is unknown. */
void cli_print_accuracy(const cli_subject *);
/* Cycles, utilization, ..., memory, counters. */
json_t *cli_json_measurement(const cli_subject *, const tw_measurement *);
json_t *cli_json_bound(const tw_target *, const tw_bound *);
json_t *cli_json_schedule(const tw_schedule *); /* its text */
char *cli_schedule_text(const tw_schedule *);   /* malloc'ed; NULL without memory */

/* At most `most` bytes of text from a file or an argument: terminal control characters become '?'. */
void cli_put_text(FILE *, const char *text, size_t most);

/* As above for a whole text as one line: "; " replaces its line ends. Then a newline. */
void cli_put_line(FILE *, const char *text);
size_t cli_width(void);
/* wrap.c: from now on, lines of standard output are at most as wide as the terminal. */
void cli_wrap_output(void);

enum { CLI_NUMBER = 40 };
/* "1,234,567" for whole numbers, four digits otherwise. Returns buffer. */
char *cli_print_number(double, char buffer[CLI_NUMBER]);
/* "1,234,567 cycles"; seconds as "17.8 us", "1.25 ms" or "1.5 s". */
char *cli_print_amount(const char *unit, double, char buffer[CLI_NUMBER]);
char *cli_print_cost(const tw_target *, double cost, char buffer[CLI_NUMBER]);
void cli_print_spread(const tw_target *, const tw_spread *); /* a line; nothing if there were no rounds */
/* A launch without an op has no bound: NULL. */
void cli_print_measurement(const cli_subject *, const tw_measurement *, const tw_bound *);

/* ---- summary.c: the result of a search ---- */

/* {"best": {...}, "start": {...}, "bound": {...}, "samples", "wall_seconds"}; `full` adds the data of the report. */
json_t *cli_json_result(const cli_subject *, const tw_search_result *, bool full);
/* Steps that differ by less than the error (tw_rung.within_error) are only counted, unless `verbose`. */
void cli_print_ladder(const cli_subject *, const tw_search_result *, bool verbose);
/* Writes the kernel (tw_traits.source_name), schedule.txt and the target's own files (tw_exporter.sources); `names` gets
 * all their names. Makes the directory if necessary. */
tw_status cli_write_design(const char *directory, const cli_subject *, const tw_schedule *, const char *source,
                           tw_text *names, tw_error *);
/* Writes the kernel, the start's kernel, schedule.txt, summary.json and the target's own files; `names` gets all
 * their names. */
tw_status cli_write_result(const char *directory, const cli_subject *, const tw_search_result *, tw_text *names,
                           tw_error *);

/* ---- improvement.c: the result of a search that started from a user's program ---- */

json_t *cli_json_improvement(const cli_subject *, const tw_search_result *, const tw_improvement *);
void cli_print_improvement(const cli_subject *, const char *name, const tw_search_result *, const tw_improvement *);

/* ---- measure.c ---- */

/* A kernel's source, malloc'ed. TW_FAILED if the file is empty or too large. */
tw_status cli_read_source(const char *path, char **source, size_t *length, tw_error *);

/* A malloc'ed copy of a message, in which the compiler's name kernel.c is replaced by the name of the user's file.
 * NULL without memory. */
char *cli_name_source(const cli *, const char *text);
void cli_name_source_in(const cli *, char **text); /* replaces *text, which is malloc'ed or NULL */

/* Reports, with --json too, that a text which is not a readable program is not correct. Returns the status. */
tw_status cli_refuse_source(const cli *, const tw_error *why);

/* Builds, checks and measures one source; prints the outcome. `trust`: the source is the library's own text, or
 * --trust was given. `note` (may be NULL) is a line in front of the text. `is_own`: the library made the text, so
 * checks run only if --checks requests them. */
tw_status cli_measure_source(const cli *, const cli_subject *, const char *source, size_t length, bool trust,
                             const char *note, bool is_own, tw_error *);

/* TW_USAGE: --window without --timeline, or with a text that is not a part of a run. */
tw_status cli_check_timeline(const cli *, tw_error *);

/* Writes the files of --trace and --timeline for a source that a search has found. Does nothing without these
 * options. */
tw_status cli_draw_source(const cli *, const cli_subject *, const char *source, bool trust, const char *note,
                          tw_error *);

/* Writes timeline.json, which a report draws, if a simulator can make it before `until` (of tw_now; 0: no limit). The
 * kernel is the one in `directory`. */
void cli_write_timeline(const cli *, const cli_subject *, bool trust, const char *directory, double until);

/* ---- evaluate.c ---- */

/* Evaluates trials that rank 0 of an MPI job sends, until the job ends. `about`: this machine. */
void cli_serve_rank(tw_ranks *, const char *about);

/* ---- interrupt.c ---- */

/* From now on the first Ctrl-C sets the returned flag, and the second one ends the process. */
const volatile int *cli_catch_interrupt(void);

/* ---- progress.c ---- */

/* Prints to standard error: one line that is rewritten on a terminal, otherwise one line a minute. `context`: the
 * tw_target. */
void cli_show_progress(void *context, const tw_search_status *);
/* prints one object on each line of stderr, for programs */
void cli_print_progress(void *context, const tw_progress *);
void cli_clear_progress(void);
/* A tw_watcher: a line that is rewritten on a terminal, else a line every ten seconds. */
void cli_show_parts(const char *what, size_t done, size_t all);

#endif
