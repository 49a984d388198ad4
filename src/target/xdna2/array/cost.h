/* cost.h - cycles of kernel calls by the analytic model (src/model): until a scheduler of the core says better.
 *
 * A matmul takes its VMACs over the micro-kernel's efficiency (equation 13, or 5 to 10), and delta; `step` takes the
 * cost of a step of K. What writes takes a store of store_bytes a cycle. docs/xdna2-model.md has the constants and
 * their errors. */
#ifndef TW_XDNA2_ARRAY_COST_H
#define TW_XDNA2_ARRAY_COST_H

#include "target/xdna2/array/run.h"

/* `context` of the result is the configuration. */
xd_cost xd_analytic_cost(const xd_config *);

#endif
