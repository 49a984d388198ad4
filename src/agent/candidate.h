/* candidate.h - a kernel in a search: its origin and its result.
 *
 * The kernel is its source. It may have a schedule: the schedule from which the target emits the source. Only kernels
 * with a schedule can be shortened, rearranged or followed by a step of the target's menu. The lineage of a kernel is its
 * parent, the parent's parent, and so on to the start. */
#ifndef TW_AGENT_CANDIDATE_H
#define TW_AGENT_CANDIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evaluate/verdict.h"
#include "tilewright/extend/target.h"
#include "tilewright/schedule.h"

typedef struct tw_digest {
  uint8_t byte[32];
} tw_digest;

enum { TW_LEVER_MAX = 32, TW_LEVERS_MAX = 8, TW_WHY_MAX = 480, TW_NONE = -1 };

typedef struct tw_candidate {
  int number;        /* number in order of proposal; equal in every run with the same options */
  int iteration;     /* 0: a start; after the last: a rung of the ladder */
  int parent;        /* its number; TW_NONE */
  int plan;          /* index among its parent's plans in this iteration; TW_NONE */
  int repairs;       /* the failed candidate that this one repairs; TW_NONE */
  int twin;          /* the earlier candidate with the same kernel; TW_NONE */
  int complete;      /* translations: the percentage in the machine's language, by its author's estimate; 0: unknown */
  uint64_t exchange; /* the question to a model that it answers (tw_exchange.place); 0: none */
  const char *agent; /* its author: a name that outlives it */
  size_t n_levers;   /* steps beyond its parent's */
  char lever[TW_LEVERS_MAX][TW_LEVER_MAX];
  char step[TW_STEP_MAX]; /* the change to its parent's source, in a line, if it has no schedule */
  char why[TW_WHY_MAX];
  tw_schedule *schedule; /* malloc'ed; the target emits `source` from it; NULL: the source has no schedule */
  char *source;          /* malloc'ed; NULL if there is none */
  tw_digest schedule_digest, source_digest;
  tw_verdict verdict;
  /* the part of the outputs that was compared, in words; "" if none was, or the verdict is recalled */
  char coverage[240];
  char place[64];          /* place where it was evaluated; "" if in this process, or if the verdict is recalled */
  char *message;           /* malloc'ed: why it failed, or was not measured; NULL if neither */
  char *reply;             /* malloc'ed: a model's reply that holds no usable kernel; NULL if there is none */
  double limit;            /* a kernel of higher cost need not be checked, if the target measures first; 0: none */
  tw_measurement measured; /* if correct or slower; cost 0: it was not measured */
  double seconds;          /* seconds of building, checking and measuring */
  double build_seconds;    /* the build's part of these seconds; 0 if unknown */
  bool recalled;           /* the verdict comes from the journal */
  bool recorded;           /* in the journal */
} tw_candidate;

/* NULL without memory. */
tw_candidate *tw_candidate_new(void);
void tw_candidate_free(tw_candidate *);
/* Takes ownership of the source (may be NULL), copies the schedule (may be NULL) and computes the digests. False
 * without memory for the schedule: the source then has none. */
bool tw_candidate_set_kernel(tw_candidate *, const tw_target *, const tw_schedule *schedule, char *source);

tw_digest tw_schedule_digest(const tw_schedule *);
/* Equal for sources that differ only in comment lines and in white space at the ends of lines, because the comment with
 * a kernel's schedule is no part of the kernel. `line_comment` begins a comment line: "//" (NULL) or "#". With "//",
 * block comments of C are skipped, too, and lines that begin with `//:` are code (docs/reference/kernel-header.md).
 * Sources are not parsed. Different kernels may therefore have one digest: it may spare an evaluation, but it must not
 * give a verdict to another text. */
tw_digest tw_source_digest(const char *source, const char *line_comment);
tw_digest tw_target_source_digest(const tw_target *, const char *source);

/* Maps digests to numbers, for any number of digests. Start with {0}. */
typedef struct tw_index {
  size_t n, capacity;
  struct tw_index_slot {
    tw_digest key;
    int number; /* -1: free */
  } * slot;
} tw_index;

int tw_index_find(const tw_index *, const tw_digest *); /* TW_NONE if it is missing */
bool tw_index_add(tw_index *, const tw_digest *,
                  int number); /* keeps the first number of a key; false without memory */
void tw_index_free(tw_index *);

#endif
