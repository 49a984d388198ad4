/* manual.c - `tilewright manual SECTION`: the generated parts of the reference pages, the man page and the completions.
 *
 * The tables of options, commands, ops, targets and steps are the only source of these texts. docs/generate.sh (`./dev
 * docs`) puts each section between its marks in the files. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "cli/cli.h"

/* ---- text in Markdown and roff ---- */

/* A cell of a Markdown table. */
static void put_cell(const char *text) {
  for (; *text; text++) {
    if (*text == '|') putchar('\\');
    if (*text == '<')
      fputs("&lt;", stdout);
    else if (*text == '\n')
      fputs("; ", stdout);
    else
      putchar(*text);
  }
}

static void put_roff_part(const char *text, size_t length) {
  if (length && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
  for (const char *end = text + length; text < end; text++) {
    if (*text == '-' || *text == '\\') putchar('\\');
    if (*text == '\\')
      putchar('e');
    else if (*text == '\n')
      fputs("; ", stdout);
    else
      putchar(*text);
  }
}

static void put_roff(const char *text) { put_roff_part(text, strlen(text)); }

/* A help text as a sentence of the man page. */
static void put_roff_sentence(const char *text) {
  const char last = *text ? text[strlen(text) - 1] : '.';
  put_roff(text);
  puts(last == '.' || last == ']' ? "" : ".");
}

/* ---- the command line ---- */

static const cli_command *next_command(const cli_command *c) {
  const cli_command *next = c ? c + 1 : cli_commands;
  return next->summary ? next : NULL;
}

static void print_commands(void) {
  puts("| command | arguments | what it does |\n| --- | --- | --- |");
  for (const cli_command *c = NULL; (c = next_command(c));) {
    printf("| `%s` | ", c->name);
    if (*c->arguments) {
      putchar('`');
      put_cell(c->arguments);
      putchar('`');
    }
    fputs(" | ", stdout);
    put_cell(c->summary);
    puts(" |");
  }
}

static void print_options(void) {
  const cli_option *o;
  puts("| option | meaning | commands |\n| --- | --- | --- |");
  for (size_t i = 0; (o = cli_option_at(i)); i++) {
    printf("| `--%s%s", o->name, o->argument ? " " : "");
    put_cell(o->argument ? o->argument : "");
    putchar('`');
    if (o->letter) printf(", `-%c`", o->letter);
    fputs(" | ", stdout);
    put_cell(o->help);
    fputs(" |", stdout);
    if (strcmp(o->name, "help") == 0) fputs(" all", stdout);
    for (const cli_command *c = NULL; strcmp(o->name, "help") && (c = next_command(c));)
      if (cli_takes(c, o->name)) printf(" %s", c->name);
    puts(" |");
  }
}

static void print_man_synopsis(void) {
  for (const cli_command *c = NULL; (c = next_command(c));) {
    size_t length;
    for (const char *form = c->arguments, *next; form; form = next) {
      next = cli_next_form(form, &length);
      printf("\\fBtilewright %s\\fR ", c->name);
      put_roff_part(form, length);
      puts(" [\\fIOPTIONS\\fR]");
    }
  }
}

static void print_man_commands(void) {
  for (const cli_command *c = NULL; (c = next_command(c));) {
    printf(".TP\n.B %s\n", c->name);
    put_roff_sentence(c->summary);
    fputs("Options:", stdout);
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(i)); i++) {
      if (!cli_takes(c, o->name)) continue;
      fputs(" \\-\\-", stdout);
      put_roff(o->name);
    }
    puts(".");
  }
}

static void print_man_options(void) {
  const cli_option *o;
  for (size_t i = 0; (o = cli_option_at(i)); i++) {
    fputs(".TP\n", stdout);
    if (o->letter) printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    put_roff(o->name);
    fputs("\\fR", stdout);
    if (o->argument) printf(" \\fI%s\\fR", o->argument);
    putchar('\n');
    put_roff_sentence(o->help);
  }
}

static const struct {
  const char *name, *meaning;
} environment[] = {
    {"TILEWRIGHT_API_KEY",
     "key of language models; else OPENAI_API_KEY or ANTHROPIC_API_KEY, else ~/.config/tilewright/keys"},
    {"OPENAI_BASE_URL, ANTHROPIC_BASE_URL", "address of models that are named without a URL"},
    {"TILEWRIGHT_CC", "compiler of kernels for x86 [default: cc]"},
    {"TILEWRIGHT_GEMM_ISA",
     "highest instruction set of x86 kernels: portable, avx2, avxvnni, avx512, avx512vnni, avx512bf16 or amx"},
    {"TILEWRIGHT_NUM_THREADS", "threads of a call of libtilewright-blas [default: OMP_NUM_THREADS, else all cores]"},
    {"TILEWRIGHT_CDNA_ISA", "highest instruction set of the CDNA emulator: portable, avx2 or avx512"},
    {"TILEWRIGHT_FORMAT_ISA", "instruction set of format conversion: reference, avx2 or avx512"},
    {"TILEWRIGHT_X86_RUNNER, TILEWRIGHT_CUDA_RUNNER",
     "programs that run kernels [default: the programs in the command's directory]"},
    {"TILEWRIGHT_MLIR_AIE, TILEWRIGHT_QUANTIZE, TILEWRIGHT_MPI",
     "modules of the command [default: the modules in its folder or in libexec/tilewright]"},
    {"TILEWRIGHT_CUDA_CONFINE", "0: run CUDA kernels without confinement"},
    {"CUDA_HOME, CUDA_PATH", "directory of nvcc and NVRTC"},
    {"TILEWRIGHT_MACHINES",
     "directories of machine files, separated by : [default: only $XDG_CONFIG_HOME/tilewright/machines]"},
    {"TILEWRIGHT_WISDOM", "wisdom file [default: $XDG_DATA_HOME/tilewright/wisdom.json]"},
    {"TILEWRIGHT", "path of this command, set for the command of --runner [default: the path of this program]"},
    {"XDG_CACHE_HOME", "parent of the build cache [default: ~/.cache]"},
    {"COLUMNS", "width of printed text [default: the terminal's, else 80]"},
    {"TMPDIR", "folder of temporary files [default: /tmp]"},
};

static void print_environment(void) {
  puts("| variable | meaning |\n| --- | --- |");
  for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
    printf("| `%s` | ", environment[i].name);
    put_cell(environment[i].meaning);
    puts(" |");
  }
}

static void print_man_environment(void) {
  for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
    printf(".TP\n.B %s\n", environment[i].name);
    put_roff_sentence(environment[i].meaning);
  }
}

/* ---- completions ---- */

static bool is_path(const cli_option *o, const char *kind) {
  return o->argument && strncmp(o->argument, kind, strlen(kind)) == 0;
}

/* The first words that a command's arguments allow ("list | show ..." allows list and show); false: none. */
static bool first_words(const cli_command *c, char *out, size_t size) {
  *out = '\0';
  for (const char *p = c->arguments; p && *p; p = strchr(p, '|'), p = p ? p + 1 : NULL) {
    p += strspn(p, " [");
    const size_t length = strcspn(p, " |]");
    if (!islower((unsigned char)*p) || memchr(p, '=', length)) continue;
    snprintf(out + strlen(out), size - strlen(out), "%s%.*s", *out ? " " : "", (int)length, p);
  }
  return *out;
}

static void put_commands(void) {
  const char *between = "";
  for (const cli_command *c = NULL; (c = next_command(c)); between = " ") printf("%s%s", between, c->name);
}

/* "-o | --out | --include" for all options of a kind, with the shell's divider. */
static void put_paths(const char *kind, const char *divider) {
  const cli_option *o;
  const char *between = "";
  for (size_t i = 0; (o = cli_option_at(i)); i++) {
    if (!is_path(o, kind)) continue;
    if (o->letter) printf("%s-%c", between, o->letter), between = divider;
    printf("%s--%s", between, o->name), between = divider;
  }
}

static void print_bash(void) {
  const cli_option *o;
  char words[256];
  fputs("_tilewright_commands=\"", stdout);
  put_commands();
  puts("\"\n# PREVIOUS CURRENT: completes the argument of an option; false if PREVIOUS takes "
       "none.\n_tilewright_argument() {\n"
       "  case $1 in");
  fputs("    ", stdout);
  put_paths("DIR", " | ");
  fputs(") COMPREPLY=($(compgen -d -- \"$2\")) ;;\n    ", stdout);
  put_paths("FILE", " | ");
  puts(") COMPREPLY=($(compgen -f -- \"$2\")) ;;");
  for (size_t i = 0; (o = cli_option_at(i)); i++)
    if (cli_option_choices(o))
      printf("    --%s) COMPREPLY=($(compgen -W \"%s\" -- \"$2\")) ;;\n", o->name, cli_option_choices(o));
  puts("    *) return 1 ;;\n  esac\n}\n# COMMAND: the first words that it takes.\n_tilewright_first() {\n  case $1 in");
  for (const cli_command *c = NULL; (c = next_command(c));)
    if (first_words(c, words, sizeof words)) printf("    %s) echo \"%s\" ;;\n", c->name, words);
  puts("  esac\n}");
}

static void print_zsh(void) {
  const cli_option *o;
  char words[256];
  fputs("_tilewright_commands=(", stdout);
  put_commands();
  puts(")\n# Completes the argument of the option $1; false if it takes none.\n_tilewright_argument() {\n  case $1 in");
  fputs("    ", stdout);
  put_paths("DIR", "|");
  fputs(") _files -/ ;;\n    ", stdout);
  put_paths("FILE", "|");
  puts(") _files ;;");
  for (size_t i = 0; (o = cli_option_at(i)); i++)
    if (cli_option_choices(o)) printf("    --%s) compadd %s ;;\n", o->name, cli_option_choices(o));
  puts("    *) return 1 ;;\n  esac\n}\n# Offers the first words of the command $1; false if it has "
       "none.\n_tilewright_first() {\n  case $1 in");
  for (const cli_command *c = NULL; (c = next_command(c));)
    if (first_words(c, words, sizeof words)) printf("    %s) compadd %s ;;\n", c->name, words);
  puts("    *) return 1 ;;\n  esac\n}");
}

static void print_fish(void) {
  const cli_option *o;
  char words[256];
  fputs("set -l commands ", stdout);
  put_commands();
  putchar('\n');
  for (const cli_command *c = NULL; (c = next_command(c));)
    if (first_words(c, words, sizeof words))
      printf("complete -c tilewright -f -n \"__fish_seen_subcommand_from %s\" -a \"%s\"\n", c->name, words);
  for (size_t i = 0; (o = cli_option_at(i)); i++) {
    if (!o->argument || strcmp(o->name, "target") == 0) continue;
    const bool path = is_path(o, "FILE") || is_path(o, "DIR") || strcmp(o->name, "arg") == 0;
    printf("complete -c tilewright %s", path ? "-r" : "-x");
    if (o->letter) printf(" -s %c", o->letter);
    printf(" -l %s", o->name);
    if (cli_option_choices(o)) printf(" -a \"%s\"", cli_option_choices(o));
    putchar('\n');
  }
}

/* ---- ops, targets, steps ---- */

static void print_key(const tw_key *key) {
  char buffer[64];
  printf("| `%s` | ", key->name);
  put_cell(cli_key_values(key, buffer, sizeof buffer));
  printf(" | %s | ", !key->fallback ? "required" : *key->fallback ? key->fallback : "chosen by the target");
  put_cell(key->help);
  puts(" |");
}

static void print_ops(void) {
  const tw_op *op;
  for (size_t i = 0; (op = tw_op_at(i)); i++) {
    printf("\n## %s\n\n", op->name);
    put_cell(op->summary);
    puts("\n\n| key | values | default | meaning |\n| --- | --- | --- | --- |");
    for (size_t k = 0; k < op->n_keys; k++) print_key(&op->keys[k]);
    for (size_t j = 0; tw_target_at(j); j++) {
      tw_text on = {0};
      const tw_family *f = cli_options_of(op, j, "`, `", &on);
      if (f) printf("\nOnly on `%s`:\n\n| key | values | default | meaning |\n| --- | --- | --- | --- |\n", on.data);
      for (size_t k = 0; f && k < f->n_options; k++) print_key(&f->options[k]);
      tw_text_free(&on);
    }
  }
}

static void print_targets(void) {
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    printf("\n## %s\n\n", t->name);
    put_cell(t->summary);
    printf("\n\n- cost: %s, %s\n- source: %s (`%s`)\n", t->unit,
           t->traits.simulated ? "simulated" : "measured on the device", t->traits.language, t->traits.source_name);
    if (t->traits.error > 0)
      printf("- error: %.1f%% (%s)\n", 100 * t->traits.error, t->traits.error_of);
    else if (t->traits.simulated && t->traits.error_of)
      printf("- error: not known (%s)\n", t->traits.error_of);
    puts("\n| op | keys |\n| --- | --- |");
    for (const tw_family *f = t->family; f < t->family + t->n_families; f++)
      printf("| %s | %s |\n",
             strcmp(f->op, "*") ? f->op
             : f == t->family   ? "any"
                                : "any other",
             strcmp(f->keys, "*") ? f->keys : "all");
    /* without a simulator: the description is that of this computer */
    char *description = t->traits.simulated ? t->describe(t) : NULL;
    if (description) printf("\n```\n%s```\n", description);
    free(description);
  }
}

static bool has_language(const tw_target *t, const tw_language *l) {
  const tw_language *other;
  for (size_t i = 0; t->language && (other = t->language(i)); i++)
    if (other == l) return true;
  return false;
}

/* Was it printed for an earlier target, or for an earlier language of `t`? */
static bool is_repeated(const tw_target *t, size_t index) {
  const tw_target *earlier;
  const tw_language *l = t->language(index);
  for (size_t i = 0; i < index; i++)
    if (t->language(i) == l) return true;
  for (size_t i = 0; (earlier = tw_target_at(i)) && earlier != t; i++)
    if (has_language(earlier, l)) return true;
  return false;
}

static void print_language(const tw_language *l) {
  const tw_target *t;
  const char *between = "\nTargets: ";
  printf("\n## %s\n", l->of);
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    if (has_language(t, l)) printf("%s`%s`", between, t->name), between = ", ";
  puts("\n\n| step | old name | how to write it | what it does |\n| --- | --- | --- | --- |");
  for (const tw_verb *v = l->verb; v < l->verb + l->n; v++) {
    const size_t length = strcspn(v->name, "|"); /* old names follow: verb.h */
    printf("| `%.*s` | ", (int)length, v->name);
    if (v->name[length]) printf("`%s` ", v->name + length + 1);
    fputs("| `", stdout);
    put_cell(v->usage);
    fputs("` | ", stdout);
    put_cell(v->help ? v->help : "");
    puts(" |");
  }
}

static void print_steps(void) {
  const tw_target *t;
  const tw_language *l;
  for (size_t i = 0; (t = tw_target_at(i)); i++)
    for (size_t j = 0; t->language && (l = t->language(j)); j++)
      if (!is_repeated(t, j)) print_language(l);
}

/* ---- the sections ---- */

tw_status cli_manual(const cli *c, tw_error *error) {
  static const struct {
    const char *name;
    void (*print)(void);
  } sections[] = {{"commands", print_commands},
                  {"options", print_options},
                  {"ops", print_ops},
                  {"targets", print_targets},
                  {"steps", print_steps},
                  {"man-synopsis", print_man_synopsis},
                  {"man-commands", print_man_commands},
                  {"man-options", print_man_options},
                  {"environment", print_environment},
                  {"man-environment", print_man_environment},
                  {"bash", print_bash},
                  {"zsh", print_zsh},
                  {"fish", print_fish}};
  for (size_t i = 0; c->n_words == 1 && i < sizeof sections / sizeof *sections; i++)
    if (strcmp(c->words[0], sections[i].name) == 0) return sections[i].print(), TW_OK;
  return tw_fail(error, TW_USAGE,
                 "manual: expected one section of the generated documentation; src/cli/manual.c lists them");
}
