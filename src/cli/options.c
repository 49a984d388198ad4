/* options.c - one table of all options; a subcommand names the options that it supports. */
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/random.h"
#include "base/strings.h"
#include "cli/cli.h"

#define OPTION(name, letter, kind, field, least, most, value, help)                                                    \
  { name, letter, CLI_##kind, offsetof(cli_options, field), least, most, value, help }
#define FLAG(name, letter, field, help) OPTION(name, letter, FLAG, field, 0, 0, NULL, help)
#define TEXT(name, letter, field, value, help) OPTION(name, letter, TEXT, field, 0, 0, value, help)
#define LIST(name, letter, field, value, help) OPTION(name, letter, LIST, field, 0, 0, value, help)
#define INTEGER(name, letter, field, least, most, value, help)                                                         \
  OPTION(name, letter, INTEGER, field, least, most, value, help)
#define REAL(name, letter, field, least, most, value, help) OPTION(name, letter, REAL, field, least, most, value, help)

static const cli_option table[] = {
    TEXT("target", 't', target, "NAME",
         "set the target machine, or FILE.machine for one of your own; `tilewright targets` lists them"),
    TEXT("out", 'o', out, "DIR",
         "tune: write kernel, schedule, summary and journal to this directory [default: write no files]\n"
         "emit: write the kernel and a program that runs it to this directory instead of printing the kernel"),
    TEXT("schedule", 's', schedule, "FILE",
         "read the schedule from this file, one step per line [default: the empty schedule]"),
    TEXT("trace", 0, trace, "FILE", "write a timeline for Perfetto or chrome://tracing"),
    TEXT("timeline", 0, timeline, "FILE", "write the timeline as a picture (SVG)"),
    TEXT("window", 0, window, "FROM:TO", "draw only this part of the run with --timeline [default: the whole run]"),
    TEXT("grid", 0, grid, "X[,Y[,Z]]", "launch without an op: set the number of workgroups"),
    TEXT("block", 0, block, "X[,Y[,Z]]", "launch without an op: set the number of work-items of a workgroup"),
    INTEGER("lds", 0, lds, 0, 1 << 20, "BYTES",
            "launch without an op: add this much LDS to the kernel's own [default: 0]"),
    TEXT("checks", 0, checks, "LIST", "enable these checks: a list separated by commas, all or none"),
    TEXT("known", 0, known, "FILE", "accept the findings of this file; exit with status 1 only for new findings"),
    TEXT("write-known", 0, write_known, "FILE",
         "write all findings of the run to this file for later use with --known, and accept them"),
    LIST("include", 0, include, "DIR", "let the source include headers from this directory; may be repeated"),
    LIST("define", 'D', define, "NAME[=VALUE]",
         "define a macro before the source is compiled [default value: 1]; may be repeated"),
    FLAG("no-timing", 0, no_timing, "launch without an op: execute the kernel, but do not run the timing model"),
    FLAG("timing-only", 0, timing_only,
         "launch without an op: run the timing model only; execute nothing and write no results"),
    TEXT("workgroups", 0, workgroups, "N|FROM-TO",
         "launch without an op: execute N workgroups spread evenly over the grid, or the workgroups FROM to TO "
         "[default: all]"),
    FLAG("counts", 0, counts, "count executed instructions by kind"),
    LIST("arg", 0, arguments, "[@BYTE:]SPEC",
         "launch without an op: pass an argument: in=FILE, out=FILE:BYTES, inout=FILE:OUTFILE, u32=, i32=, u64=, f32=, "
         "null"),
    TEXT("args", 0, launch_file, "FILE",
         "launch without an op: read kernel, grid, block, lds and the arguments by name from this JSON file"),
    LIST("kernel", 0, kernel_names, "NAME",
         "run: launch the kernel NAME; for a design, NAME=gemm says that its function NAME computes a gemm\n"
         "model: write the core's instruction schedule to a file called NAME, as a picture if NAME ends in .svg"),
    LIST("kernel-cycles", 0, kernel_cycles, "NAME=N", "set the cycles of one call of the function NAME of a design"),
    TEXT("floorplan", 0, floorplan, "FILE", "write the placement of buffers and routes as a picture (SVG)"),
    TEXT("svg", 0, svg, "FILE", "write the view as a picture (SVG)"),
    TEXT("from", 0, from, "FILE",
         "targets: convert a gemmini_params.h to a machine file and print it\n"
         "prompt: let the model of --agent read this document and add to the texts of --write; more documents may "
         "follow\n"
         "tune: start from this program: report where its time goes, and rewrite it\n"
         "emit: with --out, write the files for this kernel source, not for a schedule"),
    TEXT("write", 0, write, "NAME",
         "targets: print a machine file with every value of the machine NAME, commented out\n"
         "prompt: write the built-in prompt texts to the folder NAME; edit them for --prompts"),
    TEXT("prompts", 0, prompts, "DIR", "read the texts of prompts from this folder [default: the built-in texts]"),
    TEXT("context", 0, context, "FILE",
         "add the text of this file to every prompt: notes on the machine, the problem or earlier work"),
    TEXT("reasoning-effort", 0, effort, "LEVEL",
         "set the reasoning effort of models: low, medium or high [default: the server's]"),
    INTEGER("ancestors", 0, ancestors, 1, 16, "N",
            "show up to N earlier versions of the program in planning prompts [default: 0]"),
    REAL("combine", 0, combine, 0, 1, "P",
         "show a second program of the beam in a planning prompt with probability P, to combine the two [default: 0]"),
    REAL("hide-scores", 0, hide_scores, 0, 1, "P",
         "omit all measurements from a planning prompt with probability P, for diversity [default: 0]"),
    FLAG("shuffle-menu", 0, shuffle_menu, "put the options of planning prompts in random order, for diversity"),
    FLAG("one-question", 0, one_question, "ask a model for plan and kernel in one answer, instead of two"),
    FLAG("own-menu", 0, own_menu, "ask a model for more menu options for each program in the beam"),
    INTEGER("translate", 0, translate, 1, 1000, "N",
            "let models translate the program to the machine's own instructions in their first N iterations; a kernel "
            "that is more complete may be slower [default: 0]"),
    FLAG("filter-isa", 0, filter_isa, "omit instructions that neither program nor plan uses from prompts for kernels"),
    TEXT("plan", 0, plan, "FILE", "read the plan to implement from this file"),
    FLAG("no-run", 0, no_run, "do not measure the program; the prompt then has no measurements"),
    FLAG("progress", 0, progress, "print progress to standard error as JSON, one object per line"),
    FLAG("watch", 0, watch, "serve the report of the running search on 127.0.0.1, read-only; print its address"),
    TEXT("page", 0, page, "FILE",
         "write the page to this file [default: report.html in DIR; comparison.html in the first of several "
         "directories]"),
    LIST("reuse", 0, reuse, "FILE|DIR",
         "try the steps and plans of an earlier search first: its journal, schedule or --out directory; may be "
         "repeated"),
    FLAG("rewrites-only", 0, rewrites_only, "only rewrite the program of --from; do not try new schedules"),
    FLAG("no-wisdom", 0, no_wisdom, "do not read or store wisdom"),
    FLAG("fresh", 0, fresh, "discard the journal in --out instead of resuming it"),
    FLAG("trust", 0, trust, "trust the source: build it even if the system cannot confine compilers"),
    INTEGER("jobs", 'j', jobs, 1, 1024, "N", "use this many threads [default: all cores]"),
    INTEGER("seed", 0, seed, 0, 9e18, "N",
            "set the random seed for inputs and search [default: random inputs, search seed 1]"),
    INTEGER("iterations", 0, iterations, 1, 1000, "N",
            "set the number of iterations of the beam search [default: 10; down to 3 for slow simulations]"),
    INTEGER("plans", 0, plans, 1, 256, "N",
            "set the number of plans for each kernel in the beam [default: 4; down to 2 for slow simulations; 6 with "
            "models]"),
    INTEGER("kernels", 0, kernels, 1, 256, "N",
            "set the number of kernels for each plan [default: 2; down to 1 for slow simulations; 2 with models]"),
    INTEGER("beam", 0, beam, 1, 256, "N",
            "keep N candidates after each iteration [default: 4; down to 1 for slow simulations; 6 with models]"),
    REAL("dropout", 0, dropout, 0, 0.99, "P",
         "hide each menu entry from a plan with probability P [default: 0.3; 0.7 with models]"),
    TEXT("without", 0, without, "LIST",
         "switch off parts of the search to measure their effect: names separated by commas. With models: menu, isa, "
         "feedback, examples. With rules: feedback, model"),
    LIST("agent", 0, agents, "NAME",
         "prompt: choose the language model that reads the documentation of --from: llm:MODEL[@URL] or exec:COMMAND\n"
         "tune: choose the agent that proposes kernels: rules, random, llm:MODEL[@URL] or exec:COMMAND; 2*NAME doubles "
         "its plans; may be repeated [default: rules]"),
    REAL("temperature", 0, temperature, 0, 2, "T", "set the sampling temperature of models [default: 1]"),
    INTEGER("repairs", 0, repairs, 0, 8, "N",
            "send a failed kernel or an unusable reply back to its model up to N times [default: 1]"),
    INTEGER("concurrent-requests", 0, concurrent_requests, 1, 64, "N",
            "keep up to N requests to a model in flight [default: 4]"),
    REAL("answer-timeout", 0, answer_timeout, 0.001, 1e6, "S",
         "wait at most S seconds for an answer of a model [default: 600]"),
    INTEGER("max-answer-tokens", 0, max_answer_tokens, 1, 1e7, "N",
            "limit the tokens of an answer of a model [default: the server's limit]"),
    INTEGER("max-requests", 0, max_requests, 1, 1e9, "N", "limit the requests to each model [default: no limit]"),
    REAL("max-tokens", 0, max_tokens, 1, 1e15, "N",
         "limit the input and output tokens of each model; four characters count as one token if a model reports none "
         "[default: no limit]"),
    REAL("max-cost", 0, max_cost, 0, 1e12, "X",
         "limit the cost of each model, computed from --price-in and --price-out [default: no limit]"),
    REAL("price-in", 0, price_in, 0, 1e9, "X", "set the price of a million input tokens"),
    REAL("price-out", 0, price_out, 0, 1e9, "X", "set the price of a million output tokens"),
    TEXT("runner", 0, runner, "COMMAND",
         "evaluate kernels with this command, for instance `ssh HOST tilewright evaluate`"),
    TEXT("hosts", 0, hosts, "FILE",
         "evaluate kernels by ssh on the computers of this file; docs/guide/many-computers.md describes it"),
    FLAG("exhaustive", 0, exhaustive,
         "evaluate every kernel that the menu reaches instead of a beam search: at most 4,000, or N with --samples N"),
    INTEGER("samples", 0, samples, 1, 100000000, "N", "stop after N evaluated candidates [default: no limit]"),
    REAL("seconds", 0, seconds, 0.001, 1e9, "S", "start no new candidate after S seconds [default: no limit]"),
    TEXT("to", 0, to, "FORMAT", "set the number format: mxfp4, bf16, i8, ...; docs/reference/formats.md lists them"),
    TEXT(
        "scale-rule", 0, scale_rule, "RULE",
        "set the scale rule: floor, even, up or ceil for mx* [default: floor]; absmax or absmean for ternary [default: "
        "absmax]"),
    TEXT("group", 0, group, "N", "set the number of values that share a scale: N, row or tensor [default: row]"),
    TEXT("rounding", 0, rounding, "MODE", "set the rounding of bfp16: even or floor [default: even]"),
    TEXT("overflow", 0, overflow, "MODE",
         "set the result of overflow in e4m3, e5m2 and e4m3fnuz: saturate or special (NaN or infinity) [default: "
         "saturate]"),
    FLAG("verify", 0, verify, "check and measure each entry on this machine first; skip wrong entries"),
    FLAG("all", 0, all, "convert tensors with fewer than two dimensions, too"),
    FLAG("verbose", 0, verbose, "print everything instead of a summary"),
    FLAG("json", 0, json, "print one JSON object to standard output"),
    FLAG("help", 'h', help, "print this help"),
};

enum { N_OPTIONS = sizeof table / sizeof *table };

/* Former names, which command lines may still use. Help, completions and messages show only the present names. */
static const struct {
  const char *former, *name;
} aliases[] = {
    {"at-once", "concurrent-requests"},
    {"fix", "repairs"},
    {"answer-seconds", "answer-timeout"},
    {"answer-tokens", "max-answer-tokens"},
    {"questions", "max-requests"},
    {"tokens", "max-tokens"},
    {"money", "max-cost"},
};

enum { N_ALIASES = sizeof aliases / sizeof *aliases };

static int find_option(const char *name) {
  int i = 0;
  while (strcmp(table[i].name, name) != 0) i++; /* every alias belongs to an option */
  return i;
}

const cli_option *cli_option_at(size_t i) { return i < N_OPTIONS ? &table[i] : NULL; }

/* "f32 f16 ...", made once. */
static const char *format_names(void) {
  static char all[400];
  if (*all) return all;
  for (int i = 0; i < TW_FORMAT_COUNT; i++) {
    if (i) tw_append_cut(all, sizeof all, " ");
    tw_append_cut(all, sizeof all, tw_format_at((tw_format_id)i)->name);
  }
  return all;
}

const char *cli_option_choices(const cli_option *o) {
  static const char *const choices[][2] = {
      {"scale-rule", "floor even up ceil absmax absmean"},
      {"group", "row tensor"},
      {"without", "menu isa feedback model examples"},
      {"reasoning-effort", "low medium high"},
      {"rounding", "even floor"},
      {"overflow", "saturate special"},
  };
  if (strcmp(o->name, "to") == 0) return format_names();
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
    if (strcmp(choices[i][0], o->name) == 0) return choices[i][1];
  return NULL;
}

bool cli_takes(const cli_command *command, const char *name) {
  size_t length = strlen(name);
  if (strcmp(name, "help") == 0) return true;
  for (const char *p = command->options; (p = strstr(p, name)); p += length) {
    if ((p == command->options || p[-1] == ' ') && (p[length] == ' ' || !p[length])) return true;
  }
  return false;
}

static tw_status set_option(const cli_option *o, const char *text, cli_options *options, tw_error *error) {
  void *field = (char *)options + o->offset;
  int64_t integer;
  double real;
  switch (o->kind) {
  case CLI_FLAG: *(bool *)field = true; return TW_OK;
  case CLI_TEXT:
    if (!*text) return tw_fail(error, TW_USAGE, "--%s is empty; expected %s", o->name, o->argument);
    *(const char **)field = text;
    return TW_OK;
  case CLI_LIST: {
    cli_list *list = field;
    if (!*text) return tw_fail(error, TW_USAGE, "--%s is empty; expected %s", o->name, o->argument);
    if (list->n == CLI_LIST_MAX)
      return tw_fail(error, TW_USAGE, "--%s is given more than %d times", o->name, CLI_LIST_MAX);
    list->text[list->n++] = text;
    return TW_OK;
  }
  case CLI_INTEGER:
    if (!tw_parse_int(text, &integer) || (double)integer < o->min || (double)integer > o->max)
      return tw_fail(error, TW_USAGE, "--%s %s: expected a whole number between %.0f and %.0f", o->name, text, o->min,
                     o->max);
    *(int64_t *)field = integer;
    return TW_OK;
  case CLI_REAL:
    if (!tw_parse_real(text, &real) || real < o->min || real > o->max)
      return tw_fail(error, TW_USAGE, "--%s %s: expected a number between %g and %g", o->name, text, o->min, o->max);
    *(double *)field = real;
    return TW_OK;
  }
  return TW_OK;
}

static tw_status unknown_option(const cli_command *command, const char *given, tw_error *error) {
  const char *names[N_OPTIONS];
  char name[64];
  size_t n = 0;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
  for (size_t i = 0; i < N_OPTIONS; i++) {
    if (cli_takes(command, table[i].name)) names[n++] = table[i].name;
  }
  const char *near = strncmp(name, "--", 2) == 0 ? tw_nearest_word(name + 2, names, n) : NULL;
  if (near) return tw_fail(error, TW_USAGE, "%s has no option '%s': did you mean '--%s'?", command->name, name, near);
  return tw_fail(error, TW_USAGE, "%s has no option '%s'; `tilewright %s --help` lists the options", command->name,
                 name, command->name);
}

tw_status cli_parse(const cli_command *command, int argc, char *argv[], cli *out, tw_error *error) {
  struct option longs[N_OPTIONS + N_ALIASES + 1] = {0};
  char shorts[2 * N_OPTIONS + 2] = ":"; /* to distinguish a missing argument from an unknown option */
  int n = 0;
  for (int i = 0; i < N_OPTIONS; i++) {
    if (!cli_takes(command, table[i].name)) continue;
    longs[n++] = (struct option){table[i].name, table[i].kind != CLI_FLAG, NULL, 256 + i};
    if (table[i].letter)
      snprintf(shorts + strlen(shorts), 3, "%c%s", table[i].letter, table[i].kind == CLI_FLAG ? "" : ":");
  }
  for (int i = 0; i < N_ALIASES; i++) {
    const int to = find_option(aliases[i].name);
    if (cli_takes(command, aliases[i].name))
      longs[n++] = (struct option){aliases[i].former, table[to].kind != CLI_FLAG, NULL, 256 + to};
  }
  out->options = (cli_options){.seed = -1, .dropout = -1, .repairs = -1, .temperature = -1};
  opterr = 0;
  int found;
  while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
    if (found == ':') return tw_fail(error, TW_USAGE, "%s requires a value", argv[optind - 1]);
    if (found == '?') {
      char letter[3] = {'-', (char)optopt, '\0'};
      bool is_letter = optopt > 0 && optopt < 256;
      return unknown_option(command, is_letter ? letter : argv[optind - 1], error);
    }
    int entry = found - 256;
    for (int i = 0; entry < 0 && i < N_OPTIONS; i++) {
      if (found == table[i].letter) entry = i;
    }
    if (entry < 0) continue; /* getopt_long returns only its known values */
    tw_status status = set_option(&table[entry], optarg, &out->options, error);
    if (status != TW_OK) return status;
  }
  out->options.inputs = out->options.seed < 0 ? tw_random_system() >> 16 : (uint64_t)out->options.seed;
  if (out->options.seed < 0) out->options.seed = 1;
  out->n_words = (size_t)(argc - optind);
  out->words = (const char **)argv + optind;
  return TW_OK;
}

/* The line of the option's help that begins with "COMMAND: ", without this prefix; the whole help if it has one
 * line. */
static const char *help_for(const cli_option *o, const cli_command *command) {
  const size_t length = strlen(command->name);
  for (const char *line = o->help; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
    if (strncmp(line, command->name, length) == 0 && strncmp(line + length, ": ", 2) == 0) return line + length + 2;
  return o->help;
}

const char *cli_next_form(const char *form, size_t *length) {
  int depth = 0;
  const char *p = form;
  for (; *p && (depth || strncmp(p, " | ", 3) != 0); p++) depth += (*p == '[') - (*p == ']');
  *length = (size_t)(p - form);
  return *p ? p + 3 : NULL;
}

void cli_print_help(const cli_command *command) {
  const char *title = "usage:";
  size_t length;
  for (const char *form = command->arguments; form; title = "      ") {
    const char *next = cli_next_form(form, &length);
    printf("%s tilewright %s %.*s%s[OPTIONS]\n", title, command->name, (int)length, form, length ? " " : "");
    form = next;
  }
  printf("\n%s\n\n", command->summary);
  for (size_t i = 0; i < N_OPTIONS; i++) {
    char left[40], letter[5] = "    ";
    if (!cli_takes(command, table[i].name)) continue;
    if (table[i].letter) snprintf(letter, sizeof letter, "-%c, ", table[i].letter);
    const char *help = help_for(&table[i], command);
    snprintf(left, sizeof left, "%s--%s %s", letter, table[i].name, table[i].argument ? table[i].argument : "");
    printf("  %-23s%s  %.*s\n", left, strlen(left) > 23 ? "\n                         " : "", (int)strcspn(help, "\n"),
           help);
  }
}
