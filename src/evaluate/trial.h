/* trial.h - an evaluation is a message: evaluates a kernel and returns its result.
 *
 * tw_trial_run is the one place where a kernel is built, checked and measured; text.h has both messages as text. */
#ifndef TW_EVALUATE_TRIAL_H
#define TW_EVALUATE_TRIAL_H

#include "evaluate/verdict.h"
#include "tilewright/extend/target.h"

typedef struct tw_trial {
  const tw_target *target;
  const tw_problem *problem; /* types filled in by the target */
  const char *source;
  size_t length;
  uint64_t seed; /* seed of the inputs */
  /* A kernel of higher cost need not be checked, if the target measures first, or measured well. 0: none. */
  double limit;
  bool trust;      /* the source is the library's own, or the user trusts it (tw_target.build) */
  bool check_only; /* built and checked, not measured */
  bool check_part; /* tw_evaluation.in_part: a full check of the best kernel follows; not in the text */
  int more_cases;  /* number of further cases on which a correct kernel is checked; their seeds follow from this one */
  /* time after which a backend that is able to ends the trial, without a statement about the kernel; 0: none */
  double seconds;
  /* By tw_now: the evaluation ends at this time, without a statement about the kernel. 0: none. Not in the text. */
  double deadline;
} tw_trial;

typedef struct tw_outcome {
  tw_verdict verdict;
  tw_error error;          /* why it failed, or was not measured; TW_OK and "" if neither */
  tw_measurement measured; /* if the verdict has a cost and not only a bound told it; cost 0: it was not measured */
  char coverage[240];      /* the compared part, in words: "every element"; "" if none */
  double seconds;          /* seconds of the evaluation, without waits for a device */
  double build_seconds;    /* the build's part of them; 0 if unknown */
  char evaluator
      [68];       /* digest of the machine that evaluated it (evaluator.h); "" if it did not say, or is this process */
  char place[64]; /* its name, for people: "rank 3 on alpha"; "" here; not in the text */
} tw_outcome;

/* The environment of the evaluating process. */
typedef struct tw_setting {
  const tw_case *data;           /* the trial's inputs and expected outputs; NULL: they are made */
  const tw_bound *bound;         /* bound of the problem; NULL: the target computes it */
  int jobs;                      /* threads that make them; 0 = all cores */
  const char *trace;             /* as in tw_evaluation; NULL = none */
  tw_inspection *inspection;     /* as in tw_evaluation; NULL = none */
  tw_headers headers;            /* as in tw_evaluation */
  const volatile int *interrupt; /* after it is set, failures say nothing about the kernel; NULL = never */
} tw_setting;

/* Number of further cases on which a correct kernel is checked: four, or two for large problems, whose cases take
 * seconds. The last two are of the kinds of TW_SEED_KIND, if the op has them. */
int tw_trial_more_cases(const tw_problem *);
/* Builds, checks and measures. Builds may run at the same time as anything else; checks and measurements lock the
 * target's device. */
void tw_trial_run(const tw_trial *, const tw_setting *, tw_outcome *);
/* An outcome without a result, only with the reason. */
void tw_outcome_fail(tw_outcome *, tw_verdict, tw_status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
