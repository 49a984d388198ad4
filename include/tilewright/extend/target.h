/* target.h - the description of a machine, for authors of targets: which ops it runs, how a schedule becomes source, and how
 * source is built, checked and measured. ../target.h is for users.
 *
 *   tw_target      functions that every target has
 *     tw_family[]  one for each op that the target runs, with the op's keys that it supports
 *     optional tables: tw_explainer, tw_exporter, tw_library, tw_rewriter, tw_launcher, tw_view[]
 *   tw_evaluation  how one kernel is built, checked and measured
 *
 * All functions are thread-safe on a const target: the search evaluates candidates on every core at once. */
#ifndef TILEWRIGHT_EXTEND_TARGET_H
#define TILEWRIGHT_EXTEND_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/extend/menu.h"
#include "tilewright/extend/op.h"
#include "tilewright/extend/view.h"
#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_artefact tw_artefact; /* a built kernel; its content is private to the target */

/* The result of `bench` for a target with a library of its own. */
typedef struct tw_bench {
  /* Name of the kernel that ran. */
  char kernel[64];
  /* One line: blocks, threads, ... */
  char plan[400];
  /* The measurement's counters are the bench's results: gflops, ... */
  tw_measurement measurement;
  tw_bound bound;
} tw_bench;

/* One buffer of a kernel. */
typedef struct tw_buffer_use {
  /* Name of the buffer, static text: "a". */
  const char *name;
  /* Index into tw_explanation.memory. */
  size_t memory;
  /* Bytes of all buffers in one instance of that memory. */
  double bytes;
  /* The size in words: copies x rows x columns x type. */
  char what[120];
} tw_buffer_use;

/* The analytic model's result for one choice of tiles, without a kernel. memory[0] is the memory that the tiles are
 * made for: its `used` is the sum of the buffers. */
enum { TW_BUFFERS_MAX = 16, TW_QUANTITIES_MAX = 32 };
typedef struct tw_explanation {
  /* One line: the tiles and the kernel as understood. */
  char choice[200];
  size_t n_buffers;
  tw_buffer_use buffer[TW_BUFFERS_MAX];
  size_t n_memories;
  tw_memory_use memory[TW_MEMORIES_MAX];
  /* True if every memory can hold its buffers. */
  bool fits;
  /* If `fits` is false: the reason and the remedy, in one line. */
  char misfit[300];
  size_t n_quantities;
  /* "intensity", "predicted_tflops", ... */
  tw_counter quantity[TW_QUANTITIES_MAX];
  /* The limit of the predicted rate, in words. */
  char limit[200];
} tw_explanation;

/* A part of a program's time, and the cost that would be saved without it. */
typedef struct tw_finding {
  /* The effect, in words. */
  char what[200];
  /* Cost in the target's unit; the costs of two findings can overlap. */
  double cost;
  /* Number of the commands, ... that cause it. */
  double count;
  /* One of the causes; "" if none can be shown. */
  char example[200];
} tw_finding;

enum { TW_FINDINGS_MAX = 24 };
typedef struct tw_diagnosis {
  /* Why the program cannot be rewritten; "" if it can. */
  char fixed[300];
  /* Number of findings; the most expensive is the first. */
  size_t n;
  tw_finding finding[TW_FINDINGS_MAX];
} tw_diagnosis;

typedef struct tw_program tw_program; /* a user's program as the target understands it */

/* Traits of a target. The core decides by these, never by a target's name or unit. */
typedef struct tw_traits {
  /* A model of the machine computes the cost; no clock measures it. */
  bool simulated;
  /* A kernel has the same cost whenever it is measured. */
  bool deterministic;
  /* `measure` needs no `check` before it and costs less. A search then checks only kernels that are at least as
   * fast as their parents. */
  bool measures_first;
  /* `check` computes exact values by itself: its case needs no expected outputs. */
  bool own_reference;
  /* With own_reference: problems of up to this number of operations still have expected outputs. */
  double reference_up_to;
  /* Cost that one core simulates in a second (benchmark); 0 = unknown. */
  double simulation_rate;
  /* error of computed costs: mean of |computed / measured - 1|; 0 = unknown, or costs are measured. Smaller
   * differences are not significant. */
  double error;
  /* The source of this number, in words. */
  const char *error_of;
  /* Language of sources: "C". */
  const char *language;
  /* Name of the file with a kernel's source: "kernel.c". */
  const char *source_name;
  /* Folder of src/target/ with prompts/, the texts for agents; NULL: none. */
  const char *prompts;
  /* The device that a measurement occupies on this machine: "cpu"; NULL = none. */
  const char *device;
  /* 1: with measures_first, the kernel is measured again after `check`, when the target can compare the runs; the
   * first measurement is not the cost. */
  uint64_t measures_checked;
  /* The compiler of kernels, because costs depend on its version: "cc". NULL: there is no compiler, or `describe` prints its
   * version. */
  const char *(*compiler)(void);
  /* The beginning of a comment line in sources: "#". NULL: "//", and block comments of C. */
  const char *line_comment;
  /* `build` gives a lower bound of a kernel's cost (tw_evaluation.least). */
  bool bounds_builds;
  /* `check` can compare a part of the outputs (tw_evaluation.in_part). */
  bool checks_part;
  /* `check` has additional checks (tw_evaluation.inspection). */
  bool inspects;
  /* Sources can have headers and macros of the user (tw_evaluation.headers). */
  bool user_headers;
} tw_traits;

/* ---- machine x op ---- */

/* A text for an agent that writes source: topic is "architecture", "isa", "rules", "kernel", "reference", "menu" or
 * "example". */
typedef struct tw_topic {
  /* A list of topics ends with NULL. */
  const char *topic, *text;
} tw_topic;

/* One op on one target. */
typedef struct tw_family {
  /* The op's name: "gemm". "*" is every op that no earlier family names, for machines that run any source. */
  const char *op;
  /* The op's keys that it supports, separated by blanks; other keys must have their default. "*": all. */
  const char *keys;
  /* Options of the target, given like keys: how the op is computed, not what; each has a default. */
  const tw_key *options;
  /* Number of `options`, at most TW_OPTIONS_MAX. */
  size_t n_options;
  /* Fills in types that were not given; the error lists the target's types. If `settle`, `check`, `bound` or `baseline` returns TW_USAGE,
   * the user gets TW_UNSUPPORTED: the machine does not compute this problem. */
  tw_status (*settle)(const tw_target *, tw_problem *, tw_error *);
  /* Can the machine run the validated problem? If not, the error is the reason, in a sentence. NULL: it runs every valid problem. */
  tw_status (*check)(const tw_target *, const tw_problem *, tw_error *);
  /* `steps`, `emit` and `predict` work on schedules. Set all three, or none if kernels are only given as source.
   * `steps`: the legal next steps after a schedule. */
  tw_status (*steps)(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *out, tw_error *);
  /* The kernel's source in a malloc'ed string. An illegal schedule is TW_USAGE with the step named. */
  tw_status (*emit)(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
  /* The analytic model's cost of a schedule, without running it. TW_MISSING: the kernel has no model. */
  tw_status (*predict)(const tw_target *, const tw_problem *, const tw_schedule *, double *cost, tw_error *);
  tw_status (*bound)(const tw_target *, const tw_problem *, tw_bound *, tw_error *);
  /* Texts about the op for agents. NULL: none. */
  const tw_topic *topics;
  /* The schedule of the kernel that users have without tuning: a search starts from it. NULL: the empty schedule. */
  tw_status (*baseline)(const tw_target *, const tw_problem *, tw_schedule *out, tw_error *);
  /* The steps that a schedule of the problem may have, to replace old names by current ones. NULL, or a function that
   * returns NULL: the family has no table of steps. */
  const tw_language *(*language)(const tw_target *, const tw_problem *, const tw_schedule *);
  /* Returns a text that says why traits.error does not apply to costs of the problem, or NULL if it applies. A
   * launch without an op has no problem: NULL. The schedule is NULL if it is not known. NULL: it applies to all costs. */
  const char *(*unjudged)(const tw_target *, const tw_problem *, const tw_schedule *);
} tw_family;

/* ---- optional tables ---- */

/* A model of tiles, without a kernel: explains a choice of tiles. `words` are "key=value" with keys of `keys` (ended by NULL),
 * each at most once. The problem has all its types; the op's reference may lack them. */
typedef struct tw_explainer {
  const char *const *keys;
  /* Tiles that do not fit are explained, too. */
  tw_status (*explain)(const tw_target *, const tw_problem *, size_t n_words, const char *const words[],
                       tw_explanation *, tw_error *);
  /* The innermost kernel of this choice, instruction by instruction: a table of text or a picture (SVG), to a
   * malloc'ed string. */
  tw_status (*draw)(const tw_target *, const tw_problem *, size_t n_words, const char *const words[], bool as_picture,
                    char **out, tw_error *);
} tw_explainer;

/* Further outputs of a kernel: files. */
typedef struct tw_exporter {
  /* The files that `--out` writes in addition to the kernel, for the tools of the real machine. On failure there is
   * nothing to free. */
  tw_status (*sources)(const tw_target *, const tw_problem *, const tw_schedule *, const char *source, tw_files *out,
                       tw_error *);
  /* A picture (SVG) of the places of buffers and routes, to a malloc'ed string. NULL: the target has no floor plans. */
  tw_status (*floorplan)(const tw_target *, const tw_problem *, const tw_schedule *, char **svg, tw_error *);
} tw_exporter;

/* A library of the machine's own, which programs call. */
typedef struct tw_library {
  /* Checks and times the kernel that the library chooses for the problem. */
  tw_status (*bench)(const tw_target *, const tw_problem *, uint64_t seed, tw_bench *, tw_error *);
  /* The library uses this schedule for the problem from now on (tw_wisdom_apply). */
  tw_status (*learn)(const tw_target *, const tw_problem *, const tw_schedule *, tw_error *);
} tw_library;

/* A user's program as the start of a search. */
typedef struct tw_rewriter {
  /* Runs the program and analyses it for rewriting. TW_FAILED if it is wrong. Without an analysis it has no rewrites;
   * the diagnosis gives the reason. `stop` must outlive the program and ends long operations. `trust` as for build. */
  tw_status (*study)(const tw_target *, const tw_problem *, const char *source, size_t length, bool trust,
                     uint64_t seed, int jobs, const tw_stop *stop, tw_program **out, tw_error *);
  tw_status (*diagnose)(const tw_program *, int jobs, tw_diagnosis *out, tw_error *);
  /* The rewrites that are legal after `schedule` and faster by the target's model, the best first. Each item's `step`
   * is one rewrite. */
  tw_status (*rewrites)(const tw_program *, const tw_schedule *, tw_menu *out, tw_error *);
  /* The program's source after the rewrites of `schedule`; TW_USAGE with the step named if one does not apply. */
  tw_status (*rewrite)(const tw_program *, const tw_schedule *, char **source, tw_error *);
  void (*forget)(tw_program *);
} tw_rewriter;

/* Places of an argument that is launched by hand, instead of a byte: the next one at its natural alignment; the place of
 * the parameter that the program's metadata calls `name`, or of the parameter with that number. */
enum { TW_PLACE_NEXT = -1, TW_PLACE_BY_NAME = -2 };
/* One argument of a kernel that is launched by hand. */
typedef struct tw_raw_argument {
  /* Byte of the kernel's argument block, or TW_PLACE_NEXT or TW_PLACE_BY_NAME. */
  int64_t at;
  /* True for a buffer, whose address the kernel gets; false for a value. */
  bool is_data;
  /* The bytes of a buffer, before and after the launch. */
  void *data;
  /* Size of the buffer, or of the value: 4 or 8. */
  size_t bytes;
  bool writable;
  uint64_t value;
  /* True if the bytes have no meaning before the kernel writes them. */
  bool undefined;
  /* Name of the argument in messages. */
  char name[64];
} tw_raw_argument;

/* A finding of a check. */
typedef struct tw_check_finding {
  /* One line of text. */
  char *text;
  /* Identifies the finding in other runs of the kernel, on other inputs and grids: "CHECK KERNEL INSTRUCTION PLACE". */
  char *key;
  /* Address of the instruction in the program. Together with the key it identifies the finding. */
  uint64_t at;
  bool is_warning;
} tw_check_finding;

/* Additional checks of a run, and their findings, for targets that support them. */
typedef struct tw_inspection {
  /* Names of the target's checks, separated by commas; "all", "none", or "usual". */
  const char *checks;
  /* True to count every instruction. */
  bool counts;
  size_t n_findings;
  /* The findings, malloc'ed, as are their texts. */
  tw_check_finding *finding;
  /* The counts in words; NULL: none. */
  char *counted;
  /* The counts as a JSON object; NULL: none. */
  char *json;
} tw_inspection;
/* Adds a finding and takes ownership of its texts. False: out of memory, and the texts are freed. */
TW_API bool tw_inspection_add(tw_inspection *, tw_check_finding);
TW_API void tw_inspection_free(tw_inspection *); /* its findings and counts */

enum { TW_HEADERS_MAX = 8, TW_MACROS_MAX = 64 };
/* What the user adds to a source. */
typedef struct tw_headers {
  /* Folders of headers, which the source may include, in the order of the search: at most TW_HEADERS_MAX. */
  size_t n;
  const char *const *folder;
  /* Macros that are defined before the source, each NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE: at most TW_MACROS_MAX. */
  size_t n_macros;
  const char *const *macro;
} tw_headers;

/* ---- one evaluation ---- */

/* How `build`, `check` and `measure` evaluate one kernel. Start with {0}. The caller fills in the first part and passes the
 * struct to all three functions; they fill in the second part. */
typedef struct tw_evaluation {
  /* `build`: the caller trusts the source, so compilers need not be confined. */
  bool trust;
  /* `build`: the user's headers and macros; empty unless traits.user_headers. */
  tw_headers headers;
  /* check and measure: waits for a device and long computations end with TW_INTERRUPTED when it says so. NULL: never. */
  const tw_stop *stop;
  /* check: compare a random part of the outputs, in less time. A target without traits.checks_part compares everything. */
  bool in_part;
  /* `check`: additional checks, which add their findings. NULL unless traits.inspects. */
  tw_inspection *inspection;
  /* measure: the measurement may end as soon as the cost is known to exceed this. 0: no limit. */
  double limit;
  /* measure: a file for a timeline in the Chrome trace format; NULL: none. Complete events ("ph": "X"), one on each line,
   * which begins with {"name", `tid` the unit; one named "kernel" spans the measured time. Events thread_sort_index come
   * first and put the units in order. Times are in the target's unit, or in microseconds where the unit is seconds. */
  const char *trace;

  /* Set by `build`: a lower bound of the cost, found without running the kernel; 0: unknown. */
  double least;
  /* by check: the compared part of the outputs, "every element" or "sampled: " and the sample in words. "": every element. */
  char coverage[320];
} tw_evaluation;

typedef struct tw_raw_launch {
  /* Name of the kernel; NULL: the only kernel. */
  const char *kernel;
  uint32_t grid[3], block[3];
  /* Bytes of shared memory in addition to the kernel's own. */
  uint64_t shared;
  size_t n;
  tw_raw_argument *argument;
  /* Threads; 0 = all cores. */
  int jobs;
  /* As in tw_evaluation. */
  bool trust;
  /* As in tw_evaluation. */
  tw_headers headers;
  /* Additional checks; NULL: none. */
  tw_inspection *inspection;
  /* Output: a remark about the result; may stay empty. */
  char note[208];
  /* Executes `groups` workgroups of the grid (0: all), from number `first_group` on or, with spread_groups, evenly spread. */
  uint64_t first_group, groups;
  /* Each is 1 or 0. untimed: only results; time_only: only the time. */
  uint32_t spread_groups, untimed, time_only;
} tw_raw_launch;

/* Runs programs without an op: the caller judges the result. */
typedef struct tw_launcher {
  /* `data` is a compiled program or source. */
  tw_status (*run)(const tw_target *, const void *data, size_t size, tw_raw_launch *, tw_measurement *out, tw_error *);
  /* Program texts contain their launch: no option is required, and given options are added to the text as //: lines. */
  bool whole;
} tw_launcher;

/* ---- the machine ---- */

struct tw_target {
  /* sizeof(tw_target) in the program that adds the target: see status.h. */
  size_t size;
  /* Name of the target: "gemmini-16x16-int8". */
  const char *name;
  /* One line of text. */
  const char *summary;
  /* Unit of costs: "cycles" or "seconds". */
  const char *unit;
  tw_traits traits;
  /* Data of the target. */
  const void *config;
  size_t n_families;
  const tw_family *family;
  /* Topics about the machine; NULL: none. */
  const tw_topic *topics;

  /* The core. */

  /* Whether the target is usable here. TW_NO_COMPILER, TW_NO_DEVICE or TW_MISSING names what to install. */
  tw_status (*available)(const tw_target *, tw_error *);
  /* Memories with sizes and rates, matrix unit, peak: several lines of text, to a malloc'ed string. */
  char *(*describe)(const tw_target *);
  /* Builds a source, cached by content; TW_FAILED with the compiler's message. Compilers are confined. Where the
   * system cannot confine them, TW_MISSING, unless the caller trusts the source. */
  tw_status (*build)(const tw_target *, const tw_problem *, const char *source, size_t length, tw_evaluation *,
                     tw_artefact **, tw_error *);
  /* Runs the artefact on the case with poisoned outputs. TW_FAILED with where and how if it is wrong. TW_USAGE for an
   * unsupported additional check. */
  tw_status (*check)(const tw_target *, tw_artefact *, const tw_case *, tw_evaluation *, tw_error *);
  /* Cost, utilization, memory in use, counters. On a simulated target this is the run that `check` made, if it was made
   * without a trace. */
  tw_status (*measure)(const tw_target *, tw_artefact *, const tw_case *, tw_evaluation *, tw_measurement *,
                       tw_error *);
  void (*release)(tw_artefact *);

  /* Optional; NULL: the target has none. */
  const tw_explainer *explainer;
  const tw_exporter *exporter;
  const tw_library *library;
  const tw_rewriter *rewriter;
  const tw_launcher *launcher;
  /* Views of the machine; the list ends with a NULL name: see view.h. */
  const tw_view *machine_views;

  /* The languages of the target's schedules by index, NULL past the last, for the reference page. NULL: the target has none. */
  const tw_language *(*language)(size_t index);
  /* The machine code of the loop that does most of the kernel's arithmetic, with a summary of its registers: text for people
   * and models, to a malloc'ed string, or NULL if no loop was found. `trust` as for build. NULL: the target has none. */
  tw_status (*inner_loop)(const tw_target *, const tw_problem *, const char *source, size_t length, bool trust,
                          char **text, tw_error *);
};

/* ---- functions of the core ---- */

/* NULL: the machine does not run the op. */
TW_API const tw_family *tw_family_of(const tw_target *, const tw_op *);
/* Rejects unsupported keys and fills in types that were not given, before the op validates the problem. */
TW_API tw_status tw_target_settle(const tw_target *, tw_problem *, tw_error *);
/* Replaces old names in the steps by current ones (verb.h). Returns whether any step changed. */
TW_API bool tw_target_rename_steps(const tw_target *, const tw_problem *, tw_schedule *);
/* The text of the target, or of its family, about a topic: static, or NULL. */
TW_API const char *tw_target_topic(const tw_target *, const tw_problem *, const char *topic);
/* A case for the target's check and measure. */
TW_API tw_status tw_target_case(const tw_target *, const tw_problem *, uint64_t seed, int threads, tw_case *out,
                                tw_error *);

/* Adds a target of your own to the list: tw_target_find and its users know it from now on, on all threads. It
 * must stay where it is until the process ends. TW_USAGE if the name is taken or a function is missing. If the
 * struct is smaller than the library's, the list has a copy of it. */
TW_API tw_status tw_target_register(const tw_target *, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
