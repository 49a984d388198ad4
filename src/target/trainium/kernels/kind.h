/* kind.h - an op with schedules on Trainium: a plan, the language of its steps, its menu, a model, and a template.
 *
 * A kind fills a plan's fields from steps, and the template's slots from the plan. Integer keys of the op are slots, too.
 * kind.c has the common parts of all kinds: reading schedules, judging plans, offering steps, filling the template in
 * one of the two dialects. */
#ifndef TW_TRAINIUM_KERNELS_KIND_H
#define TW_TRAINIUM_KERNELS_KIND_H

#include "base/template.h"
#include "target/trainium/config.h"
#include "tilewright/extend/target.h"

enum { TRN_PLAN_MAX = 256 };

typedef struct trn_subject {
  const trn_config *config;
  const tw_problem *problem;
} trn_subject;

/* Nanoseconds that the parts of the machine are busy, for the model of a kernel. */
typedef struct trn_work {
  double tensor, vector, scalar, gpsimd;
  double bytes, run_bytes; /* moved from and to HBM, first the op's; of neighbours in one descriptor */
  double transfers;        /* that are started */
  double first, last;      /* before the first work can start, and after the last: not hidden */
} trn_work;

typedef struct trn_kind {
  const char *op;
  const char *keys; /* NULL: all of the op, since a kernel from source may honour more than schedules do */
  const tw_language *language;
  const char *template; /* "trainium/kernels/NAME.py.in" */
  size_t plan_size;
  void (*start)(const trn_subject *, void *plan); /* the empty schedule */
  tw_status (*legal)(const trn_subject *, const void *plan, tw_error *);
  void (*work)(const trn_subject *, const void *plan, trn_work *);
  void (*offer)(const trn_subject *, const void *plan, tw_menu_builder *);
  void (*fill)(const trn_subject *, const void *plan, tw_slots *);
} trn_kind;

/* A start that does not depend on the problem. */
#define TRN_START(...)                                                                                                 \
  static void start(const trn_subject *s, void *out) { (void)s, *(plan *)out = (plan){__VA_ARGS__}; }

/* The kind of op NAME in kernels/NAME.c, whose functions have the names of their fields. */
#define TRN_KIND(NAME, KEYS)                                                                                           \
  const trn_kind trn_##NAME = {                                                                                        \
      #NAME, (KEYS), &language, "trainium/kernels/" #NAME ".py.in", sizeof(plan), start, legal, work, offer, fill}

/* Functions of the families of all kinds: the problem's op chooses the kind. */
tw_status trn_kind_steps(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status trn_kind_emit(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status trn_kind_predict(const tw_target *, const tw_problem *, const tw_schedule *, double *cost, tw_error *);
const tw_language *trn_kind_language(const tw_target *, const tw_problem *, const tw_schedule *);

/* Adds an emitted kernel in the older dialect (dialect.c). */
void trn_add_older(tw_text *, const char *source);

/* ---- for kinds ---- */

/* Predicted seconds of a plan, 0 for a plan that is not legal. */
double trn_predicted(const trn_kind *, const trn_subject *, const void *plan);
int64_t trn_key(const trn_subject *, const char *key);
int trn_key_bytes(const trn_subject *, const char *key);
static inline int64_t trn_row_tiles(const trn_subject *s) { return (trn_key(s, "rows") + 127) / 128; }
const char *trn_type_name_of(tw_type); /* nl.NAME */
/* A key and the value that schedules need, as a number and as text. */
typedef struct trn_needed {
  const char *key;
  int64_t value;
  const char *expected;
} trn_needed;
tw_status trn_needs(const trn_subject *, const trn_needed[], size_t n, tw_error *);
/* TW_USAGE with `what` and `value` ("width ", 512) unless these bytes of a partition fit in SBUF. */
tw_status trn_fits(const trn_subject *, const char *what, int64_t value, int64_t bytes, tw_error *);
/* Fills several slots with numbers: {"NAME", value}, ... */
typedef struct trn_number {
  const char *name;
  int64_t value;
} trn_number;
#define TRN_NUMBERS(slots, ...)                                                                                        \
  trn_fill_numbers(slots, sizeof((trn_number[]){__VA_ARGS__}) / sizeof(trn_number), (trn_number[]){__VA_ARGS__})
void trn_fill_numbers(tw_slots *, size_t n, const trn_number[]);
/* The engine's argument of an instruction: ", engine=nisa.vector_engine"; empty for any. */
typedef enum trn_choice { TRN_CHOOSE_ANY, TRN_CHOOSE_VECTOR, TRN_CHOOSE_SCALAR, TRN_CHOOSE_GPSIMD } trn_choice;
/* The verb of a plan's field that is an engine, for TW_VERB's table. GpSimd has no access to PSUM. */
#define TRN_CHOICES "any|vector|scalar|gpsimd"
#define TRN_CHOICES_PSUM "any|vector|scalar"
#define TRN_ENGINE(field, engine, choices, help)                                                                       \
  TW_VERB(#field, #field " " engine, help, 1, TW_CHOICE("", plan, field, TRN_CHOOSE_ANY, choices))
/* How a row comes to all partitions, or a tile is transposed. */
enum { TRN_BY_PRODUCT, TRN_BY_TRANSFER };
const char *trn_engine_argument(trn_choice);
/* Adds the time of instructions on one engine, on Vector for any: n elements of a partition in all. Vector takes `cycles`
 * for each. */
void trn_add(const trn_subject *, trn_work *, trn_choice, double cycles, double n, double calls);
/* Adds the time of copies out of PSUM to their engine: n columns in all. With any, two engines share them and end at
 * once. Returns the nanoseconds on Scalar alone. */
double trn_add_copies(const trn_subject *, trn_work *, trn_choice, double n, double calls);
/* Slots of a copy on an engine: "{{call}}dst=x, {{from}}=y{{engine}})". NeuronCore-v2 has no tensor_copy on Scalar. */
void trn_copy_slots(const trn_subject *, tw_slots *, const char *call, const char *from, const char *engine,
                    trn_choice);
/* Offers "NAME 1", "NAME 2", ... by powers of two up to `most`. */
void trn_offer_powers(tw_menu_builder *, const char *lever, const char *why, const char *format, int least, int most);
/* Offers "VERB ENGINE" for each engine. The language and the plan decide which of them VERB may have. */
void trn_offer_engines(tw_menu_builder *, const char *lever, const char *verb);

enum { TRN_KINDS = 11 };
extern const trn_kind *const trn_kinds[TRN_KINDS];
extern const trn_kind trn_gemm, trn_rows, trn_softmax, trn_cumsum, trn_transpose, trn_pool, trn_depthwise, trn_rotary,
    trn_mamba, trn_attention, trn_conv2d;

#endif
