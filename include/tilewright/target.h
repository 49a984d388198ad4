/* target.h - the machines that tilewright knows, what they compute, and what is measured on them.
 *
 *   target = tw_target_find("gemmini-16x16-int8");
 *   status = tw_target_supports(target, &problem, &error);      the types that were not given are filled in
 *   status = tw_target_emit(target, &problem, &schedule, &source, &error);
 *
 * extend/target.h says how to add a machine. Every function is thread-safe. */
#ifndef TILEWRIGHT_TARGET_H
#define TILEWRIGHT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/problem.h"
#include "tilewright/schedule.h"
#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A machine. tw_target_open (machine.h) also knows machines of the user's own files. */
typedef struct tw_target tw_target;
TW_API const tw_target *tw_target_find(const char *name); /* NULL if there is none */
TW_API const tw_target *tw_target_at(size_t index);       /* NULL past the last */
TW_API const char *tw_target_name(const tw_target *);     /* "gemmini-16x16-int8" */
TW_API const char *tw_target_summary(const tw_target *);  /* one line */
TW_API const char *tw_target_unit(const tw_target *);     /* of costs: "cycles" or "seconds" */
TW_API bool
tw_target_is_simulated(const tw_target *); /* a model of the machine computes costs; no clock measures them */
/* Is the target usable here? TW_NO_COMPILER, TW_NO_DEVICE or TW_MISSING names what to install. */
TW_API tw_status tw_target_available(const tw_target *, tw_error *);

/* ---- measurements ---- */

/* A counter: where the time went, or any other count. */
typedef struct tw_counter {
  /* Name of the counter, static text: "array_busy". */
  const char *name;
  /* Unit: "cycles", "commands", "bytes", ... */
  const char *unit;
  /* Description in one line. */
  const char *help;
  double value;
} tw_counter;

typedef struct tw_memory_use {
  /* Name of the memory: "scratchpad". */
  const char *name;
  /* Used and total bytes. */
  size_t used, size;
} tw_memory_use;

enum { TW_COUNTERS_MAX = 64, TW_MEMORIES_MAX = 8 };

/* The times of the rounds, in the unit of the cost. The cost is their minimum or median. */
typedef struct tw_spread {
  /* Number of measurements; 0: the cost was not measured several times. */
  size_t rounds;
  /* Spread of the measurements; lower and upper are quartiles. */
  double least, lower, median, upper, most;
} tw_spread;

typedef struct tw_measurement {
  /* The cost that the search minimizes: cycles on simulated targets, seconds on native ones. */
  double cost;
  /* 0 if it does not apply. */
  double cycles, seconds;
  /* Instructions that the host core retired; 0 if it does not apply. */
  double instructions;
  /* Fraction of the target's peak; if memory limits the problem (tw_bound), fraction of the bound. */
  double utilization;
  tw_spread spread;
  /* What limited the kernel, in words; empty if unknown. */
  char bottleneck[160];
  size_t n_counters;
  tw_counter counter[TW_COUNTERS_MAX];
  size_t n_memories;
  tw_memory_use memory[TW_MEMORIES_MAX];
} tw_measurement;

/* The lower bound on cost for a problem (roofline), and what sets it. */
typedef struct tw_bound {
  double cost;
  /* Bound by computation only, and by memory only; cost is at least their maximum. */
  double compute_cost, memory_cost;
  /* The hard bound: no kernel can cost less, and a lower cost is rejected. The default is nine
   * tenths of compute_cost. */
  double least;
  /* What sets the bound, in words. */
  char limit[160];
} tw_bound;

/* ---- problems and schedules ---- */

/* Fills in types and checks that the target supports the problem: TW_UNSUPPORTED with the reason if not, TW_USAGE if the problem
 * itself is wrong. The functions below need a problem that is supported. */
TW_API tw_status tw_target_supports(const tw_target *, tw_problem *, tw_error *);
/* The kernel's source in a malloc'ed string. An illegal schedule is TW_USAGE with the step named. */
TW_API tw_status tw_target_emit(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
/* The schedule of the kernel that users have without tuning. */
TW_API tw_status tw_target_baseline(const tw_target *, const tw_problem *, tw_schedule *out, tw_error *);
/* The analytic model's cost of a schedule, without running it. TW_MISSING: the kernel has no model. */
TW_API tw_status tw_target_predict(const tw_target *, const tw_problem *, const tw_schedule *, double *cost,
                                   tw_error *);
TW_API tw_status tw_target_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

/* A legal next step of a schedule. A plan of the search chooses one `lever`; items of a lever differ in their parameters. */
typedef struct tw_menu_item {
  /* The line to append to the schedule. */
  char step[TW_STEP_MAX];
  /* The menu entry of the step: "tile", "double buffer", "bank placement", ... */
  char lever[32];
  /* The purpose of the step, in words, with the model's numbers. */
  char why[240];
  /* The analytic model's cost of the kernel after this step (target's unit). */
  double predicted_cost;
} tw_menu_item;

/* The legal next steps of a schedule. */
typedef struct tw_menu {
  size_t n;
  /* The items; free with tw_menu_free. */
  tw_menu_item *item;
} tw_menu;
TW_API void tw_menu_free(tw_menu *);
TW_API tw_status tw_target_steps(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *out, tw_error *);

/* Files that a target writes in addition to the kernel, for the tools of the real machine. */
enum { TW_FILES_MAX = 16 };
typedef struct tw_files {
  size_t n;
  struct {
    /* Name of the file, static text: "kernel.cc". */
    const char *name;
    /* Its content, malloc'ed; free all files with tw_files_free. */
    char *text;
    /* Number of bytes; 0: a text that ends with '\0'. */
    size_t size;
  } file[TW_FILES_MAX];
} tw_files;
TW_API void tw_files_free(tw_files *);
/* The files of a kernel for the tools of the real machine. `source` is what the schedule emits. TW_UNSUPPORTED if the target
 * has none. On failure there is nothing to free. */
TW_API tw_status tw_target_export(const tw_target *, const tw_problem *, const tw_schedule *, const char *source,
                                  tw_files *out, tw_error *);

/* ---- views ---- */

/* Views answer questions about a machine, without a problem or a kernel: which register holds an element, which banks
 * conflict, how often a rasterization hits the caches. `tilewright view` lists the views of a target.
 *
 *   tw_view_show(tw_target_find("cdna4"), "banks", 1, (const char *[]){"tile=16x32"}, TW_VIEW_TEXT, &text, &error); */
typedef enum tw_view_form { TW_VIEW_TEXT, TW_VIEW_SVG, TW_VIEW_JSON } tw_view_form;
/* Words are "key=value", each key at most once. *out is malloc'ed. TW_UNSUPPORTED if the target has no views. */
TW_API tw_status tw_view_show(const tw_target *, const char *name, size_t n_words, const char *const words[],
                              tw_view_form, char **out, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
