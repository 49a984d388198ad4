/* ops.c - the list of ops. A new op is a file here and a line below. */
#include "op/ops.h"

#include <string.h>

#include "base/registry.h"
#include "base/sized.h"

static const tw_op *const ops[] = {
    &tw_op_gemm,      &tw_op_conv2d, &tw_op_conv3d,      &tw_op_mpc_forward, &tw_op_mpc_backward, &tw_op_attention,
    &tw_op_layernorm, &tw_op_rotary, &tw_op_softmax,     &tw_op_cumsum,      &tw_op_transpose,    &tw_op_depthwise,
    &tw_op_mamba,     &tw_op_gate,   &tw_op_elementwise, &tw_op_reduce,      &tw_op_pool,
};

/* Names of earlier versions, which problems may have. */
static const struct { const char *old, *now; } old_names[] = {{"maxpool", "pool"}};

static tw_registry added = {.lock = PTHREAD_MUTEX_INITIALIZER};

const tw_op *tw_op_at(size_t index) {
  const size_t n = sizeof ops / sizeof *ops;
  return index < n ? ops[index] : tw_registry_at(&added, index - n);
}

const tw_op *tw_op_find(const char *name) {
  const tw_op *op;
  for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++)
    if (strcmp(old_names[i].old, name) == 0) name = old_names[i].now;
  for (size_t i = 0; (op = tw_op_at(i)); i++) {
    if (strcmp(op->name, name) == 0) return op;
  }
  return NULL;
}

static const void *find(const char *name) { return tw_op_find(name); }

tw_status tw_op_register(const tw_op *given, tw_error *error) {
  tw_op full;
  const tw_op *op = &full;
  const tw_status status = tw_sized_take("tw_op", given, &full, sizeof full, error);
  if (status != TW_OK) return status;
  const struct {
    const char *name;
    bool is_there;
  } needed[] = {{"name", op->name && *op->name},      {"summary", op->summary},
                {"keys", op->keys && op->n_keys > 0}, {"validate", op->validate},
                {"operands", op->operands},           {"inputs", op->inputs},
                {"reference", op->reference},         {"compare", op->compare},
                {"operations", op->operations},       {"bytes", op->bytes}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].is_there)
      return tw_fail(error, TW_USAGE, "the op %s lacks %s", op->name ? op->name : "without a name", needed[i].name);
  if (op->n_keys > TW_KEYS_MAX)
    return tw_fail(error, TW_USAGE, "the op %s has %zu keys; at most %d are supported", op->name, op->n_keys,
                   TW_KEYS_MAX);
  op = tw_sized_keep(given, &full, sizeof full);
  return op ? tw_registry_add(&added, full.name, op, find, "op", error)
            : tw_fail(error, TW_NO_MEMORY, "no memory for the op %s", full.name);
}

const char *tw_op_name(const tw_op *op) { return op->name; }
const char *tw_op_summary(const tw_op *op) { return op->summary; }
