/* ops.h - the ops of this build, one per file of this folder. */
#ifndef TW_OP_OPS_H
#define TW_OP_OPS_H

#include "tilewright/extend/op.h"

/* A function that parses the words of a problem. */
typedef tw_status tw_problem_reader(const void *context, const char *op, size_t n_words, const char *const words[],
                                    tw_problem *out, tw_error *);
/* Parses words where a target has `n` options. target/parse.h has the form that knows targets. */
tw_status tw_problem_read_words(const tw_key *options, size_t n, const char *op, size_t n_words,
                                const char *const words[], tw_problem *out, tw_error *);
/* Splits one line into words and calls `read` with them. */
tw_status tw_problem_split(const char *text, tw_problem_reader *read, const void *context, tw_problem *out, tw_error *);

/* Rows of a table of keys. A size is required and at least 1; a flag is 0 without a value. */
#define TW_SIZE_KEY(name_, max_, example_, help_)                                                                      \
  { .name = (name_), .kind = TW_KEY_INT, .min = 1, .max = (max_), .example = (example_), .help = (help_) }
#define TW_INT_KEY(name_, fallback_, min_, max_, help_)                                                                \
  { .name = (name_), .kind = TW_KEY_INT, .fallback = (fallback_), .min = (min_), .max = (max_), .help = (help_) }
#define TW_CHOICE_KEY(name_, fallback_, choices_, help_)                                                               \
  { .name = (name_), .kind = TW_KEY_CHOICE, .fallback = (fallback_), .choices = (choices_), .help = (help_) }
#define TW_TYPE_KEY(name_, fallback_, help_)                                                                           \
  { .name = (name_), .kind = TW_KEY_TYPE, .fallback = (fallback_), .help = (help_) }
#define TW_FLAG_KEY(name_, help_)                                                                                      \
  { .name = (name_), .kind = TW_KEY_BOOL, .fallback = "0", .help = (help_) }
#define TW_REAL_KEY(name_, fallback_, help_)                                                                           \
  { .name = (name_), .kind = TW_KEY_REAL, .fallback = (fallback_), .help = (help_) }

/* A case with its own copy of all operands; `problem` is an equal problem that lives as long as the copy. */
tw_status tw_case_copy(const tw_case *from, const tw_problem *problem, tw_case *out, tw_error *);

/* "OP KEY=VALUE ... on TARGET": what a kernel's first comment states. Malloc'ed; NULL: out of memory. */
char *tw_problem_stated(const tw_problem *, const char *target);

/* TW_UNSUPPORTED unless key `a` is f32, f16 or bf16. */
tw_status tw_expect_real(const tw_problem *, tw_error *);

extern const tw_op tw_op_gemm;
extern const tw_op tw_op_conv2d;
extern const tw_op tw_op_mpc_forward;
extern const tw_op tw_op_mpc_backward;
extern const tw_op tw_op_conv3d;
extern const tw_op tw_op_attention;
extern const tw_op tw_op_softmax;
extern const tw_op tw_op_layernorm;
extern const tw_op tw_op_rotary;
extern const tw_op tw_op_cumsum;
extern const tw_op tw_op_transpose;
extern const tw_op tw_op_depthwise;
extern const tw_op tw_op_mamba;
extern const tw_op tw_op_gate;
extern const tw_op tw_op_elementwise;
extern const tw_op tw_op_reduce;
extern const tw_op tw_op_pool;

#endif
