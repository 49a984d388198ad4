/* main.c - the command `tilewright`: finds the subcommand, runs it and prints an error as one line. */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/program.h"
#include "base/status.h"
#include "base/strings.h"
#include "cli/cli.h"

#define SUBJECT "OP key=value... -t TARGET"
#define SEARCH "jobs seed agent runner hosts iterations plans kernels beam dropout without samples seconds "
#define REQUESTS                                                                                                       \
  "temperature concurrent-requests answer-timeout max-answer-tokens max-requests max-tokens max-cost price-in "        \
  "price-out reasoning-effort "
#define MODELS                                                                                                         \
  REQUESTS                                                                                                             \
  "repairs prompts context ancestors combine hide-scores shuffle-menu one-question "                                   \
  "own-menu filter-isa translate "

const cli_command cli_commands[] = {
    {"targets", "[NAME | FILE.machine]", "list the target machines, or check a machine file", "write from json",
     cli_targets, true},
    {"ops", "[NAME]", "list the operations and their keys", "json", cli_ops, false},
    {"tune", SUBJECT, "search for the best kernel",
     SEARCH MODELS "target trace timeline window out fresh watch from reuse rewrites-only exhaustive no-wisdom "
                   "progress trust verbose json",
     cli_tune, false},
    {"run", "FILE " SUBJECT, "check and measure one kernel source",
     "target schedule trace timeline window checks known write-known include define no-timing timing-only workgroups "
     "counts kernel kernel-cycles grid block lds arg args seed jobs trust json",
     cli_run, false},
    {"emit", SUBJECT, "print the kernel source of a schedule, or write its files",
     "target schedule floorplan from out json", cli_emit, true},
    {"bench", SUBJECT, "check and measure the best known kernel",
     "target trace timeline window no-wisdom seed jobs trust json", cli_bench, false},
    {"evaluate", "", "evaluate kernels from standard input (JSON Lines); used by --runner", "jobs", cli_evaluate, true},
    {"model", SUBJECT, "print the prediction of the analytic model", "target schedule kernel verbose json", cli_model,
     false},
    {"prompt",
     "plan " SUBJECT " [FILE] | implement " SUBJECT " --plan FILE [FILE] | --write DIR -t TARGET | "
     "--write DIR -t TARGET --agent MODEL --from DOC...",
     "print a prompt for a language model, or write the texts of prompts to files",
     REQUESTS "target schedule plan prompts filter-isa write from agent seed dropout iterations no-run trust json",
     cli_prompt, true},
    {"view", "[NAME key=value...] -t TARGET", "show how a machine stores and moves data; without NAME, list the views",
     "target svg json", cli_view, true},
    {"mcp", "", "run a Model Context Protocol server on standard input and output", "", cli_mcp, true},
    {"report", "DIR...", "write tuning runs (--out DIR) as one HTML page", "page json", cli_report, false},
    {"quantize", "IN OUT --to FORMAT", "convert a file of tensors to another number format",
     "to scale-rule group rounding overflow all jobs verbose json", cli_quantize, false},
    {"wisdom", "list | show " SUBJECT " | forget " SUBJECT " | export [FILE] | import FILE",
     "list, show, forget, export or import the best known schedules", "target verify jobs json", cli_wisdom, true},
    {"cache", "[clear]", "list or clear the build cache", "json", cli_cache, false},
    {"manual", "SECTION", NULL, "", cli_manual, true}, /* for ./dev docs; not listed, because users do not need it */
    {0},
};

static void print_usage(void) {
  printf("usage: tilewright COMMAND [ARGUMENTS] [OPTIONS]\n\n"
         "Find, verify and run fast tiled kernels for tensor accelerators.\n\n");
  for (const cli_command *c = cli_commands; c->summary; c++) printf("  %-8s %s\n", c->name, c->summary);
  printf("\n`tilewright help COMMAND` prints the options of a command.\n"
         "`tilewright help TERM` prints the meaning of a term or step.\n\n"
         "Example:\n\n"
         "  tilewright tune gemm m=512 n=512 k=512 -t gemmini-16x16-int8 --out build/best\n");
  char *documents = tw_documents_path();
  if (documents) printf("\nDocumentation (docs/): %s\n", documents);
  free(documents);
}

/* NULL if it is unknown. */
static const cli_command *command_named(const char *name) {
  for (const cli_command *c = cli_commands; c->name; c++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

size_t cli_command_names(const char *names[], size_t most) {
  size_t n = 0;
  for (const cli_command *c = cli_commands; c->summary && n < most; c++) names[n++] = c->name;
  return n;
}

/* NULL if it is unknown, with a suggestion in *error. */
static const cli_command *find_command(const char *name, tw_error *error) {
  const char *names[32];
  const cli_command *found = command_named(name);
  if (found) return found;
  const char *near = tw_nearest_word(name, names, cli_command_names(names, sizeof names / sizeof *names));
  if (near)
    tw_fail(error, TW_USAGE, "unknown command '%s'; did you mean '%s'?", name, near);
  else
    tw_fail(error, TW_USAGE, "unknown command '%s'; `tilewright --help` lists the commands", name);
  return NULL;
}

static tw_status run_command(const cli_command *command, const cli *c, tw_error *error) {
  if (c->options.help || !(c->options.json || command->is_verbatim)) cli_wrap_output();
  if (!c->options.help) return command->run(c, error);
  cli_print_help(command);
  return TW_OK;
}

/* Standard output may be a file on a full disk: only the flush shows whether the output was written. */
static tw_status finish_output(tw_status status, tw_error *error) {
  if ((fflush(stdout) == 0 && !ferror(stdout)) || tw_status_group(status) == TW_MISSING) return status;
  return tw_fail(error, TW_MISSING, "cannot write to standard output (disk full or pipe closed)");
}

/* --json prints one object on standard output even if the command failed. */
static void print_failure(const cli *c, int argc, char *argv[], tw_status status, const tw_error *error) {
  bool json = c->options.json;
  char *named = cli_name_source(c, error->text);
  const char *text = named ? named : error->text;
  for (int i = 1; i < argc; i++) json |= strcmp(argv[i], "--json") == 0;
  if (json && !*c->printed) {
    tw_error ignored;
    cli_print_json(c, cli_json_error(text, status), &ignored);
  }
  fputs("tilewright: ", stderr);
  cli_put_line(stderr, text);
  free(named);
}

static bool is_word(const char *argument, const char *a, const char *b) {
  return strcmp(argument, a) == 0 || strcmp(argument, b) == 0;
}

/* `tilewright help [COMMAND | TERM...]`: several words are one term. */
static tw_status print_help(int n_words, char *const words[], tw_error *error) {
  char term[128];
  size_t length = 0;
  for (int i = 0; i < n_words && length < sizeof term; i++)
    length += (size_t)snprintf(term + length, sizeof term - length, "%s%s", i ? " " : "", words[i]);
  const cli_command *about = n_words == 1 ? command_named(term) : NULL;
  cli_wrap_output();
  if (about) return cli_print_help(about), TW_OK;
  if (n_words) return cli_print_term(term) ? TW_OK : cli_unknown_term(term, error);
  print_usage();
  return TW_OK;
}

static tw_status dispatch(cli *c, int argc, char *argv[], tw_error *error) {
  if (argc < 2) return tw_fail(error, TW_USAGE, "the command is missing; `tilewright --help` lists the commands");
  if (is_word(argv[1], "--help", "-h")) return print_help(0, NULL, error);
  if (strcmp(argv[1], "help") == 0) return print_help(argc - 2, argv + 2, error);
  if (is_word(argv[1], "--version", "-V")) {
    printf("tilewright %s\n", TILEWRIGHT_VERSION);
    return TW_OK;
  }
  const cli_command *command = find_command(argv[1], error);
  if (!command) return TW_USAGE;
  tw_status status = cli_parse(command, argc - 1, argv + 1, c, error);
  return status == TW_OK ? run_command(command, c, error) : status;
}

/* The command line, quoted for a shell; NULL if memory is lacking. */
static char *print_command(int argc, char *argv[]) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=./:,+@%";
  tw_text t = {0};
  tw_text_add_string(&t, "tilewright");
  for (int i = 1; i < argc; i++) {
    tw_text_add_string(&t, " ");
    if (*argv[i] && !argv[i][strspn(argv[i], plain)]) {
      tw_text_add_string(&t, argv[i]);
      continue;
    }
    tw_text_add_string(&t, "'");
    for (const char *at = argv[i]; *at; at++)
      *at == '\'' ? tw_text_add_string(&t, "'\\''") : tw_text_add_bytes(&t, at, 1);
    tw_text_add_string(&t, "'");
  }
  return tw_text_take(&t);
}

typedef struct invocation {
  int argc;
  char **argv;
  int exit_status;
} invocation;

/* Returns the exit status. */
static int invoke(int argc, char *argv[]) {
  tw_error error = {0};
  bool printed = false;
  char *command = print_command(argc, argv);
  cli c = {.printed = &printed, .command = command, .began = tw_now()};
  signal(SIGXFSZ, SIG_IGN); /* a write above the limit on file sizes then fails with an error instead of a signal */
  tw_status status = dispatch(&c, argc, argv, &error);
  if (status != TW_OK) print_failure(&c, argc, argv, status, &error);
  tw_status finished = finish_output(status, &error);
  if (finished != status) fputs("tilewright: ", stderr), cli_put_line(stderr, error.text);
  free(command);
  return cli_exit_status(finished);
}

static void *invoke_on_thread(void *context) {
  invocation *i = context;
  i->exit_status = invoke(i->argc, i->argv);
  return NULL;
}

/* A low stack limit (`ulimit -s 100`) applies to the first thread. It is also the default stack size of other threads.
 * With a low limit, the command runs on a thread with an explicit stack size. */
int main(int argc, char *argv[]) {
  static const rlim_t STACK = 8 << 20;
  invocation i = {.argc = argc, .argv = argv};
  struct rlimit limit;
  pthread_attr_t attributes;
  pthread_t thread;
  if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK) return invoke(argc, argv);
  /* compilers inherit this limit */
  const struct rlimit wanted = {.rlim_cur = STACK, .rlim_max = limit.rlim_max < STACK ? STACK : limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_STACK, &wanted) < 0) setrlimit(RLIMIT_STACK, &limit);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK);
  pthread_setattr_default_np(&attributes);
  if (pthread_create(&thread, &attributes, invoke_on_thread, &i) != 0) return invoke(argc, argv);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  return i.exit_status;
}
