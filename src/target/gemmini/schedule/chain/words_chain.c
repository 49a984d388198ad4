/* words_chain.c - mpc_forward and mpc_backward for an agent that writes source. */
#include "target/gemmini/schedule/family.h"

const gm_family_words gm_chain_words = {
    .kernel = "mpc_forward: `void test(Adyn[n][n], Bdyn[n][m], Kinf[m][n], x[N+1][n][1], d[N][m][1], u[N][m][1])`, "
              "u[i] = -Kinf x[i] - d[i], x[i+1] = Adyn x[i] + Bdyn u[i] for i = 0 .. N-1. mpc_backward: `void "
              "test(Bdyn[n][m], Quu_inv[m][m], Kinf[m][n], AmBKt[n][n], p[N][n][1], d[N][m][1], r[N][m][1], "
              "q[N][n][1])`, d[i] = Quu_inv (Bdyn' p[i+1] + r[i]), p[i] = q[i] + AmBKt p[i+1] - Kinf' r[i] for i = N-2 "
              ".. 0.\n",
    .menu = "element-wise work on loads, computes and the accumulator; loads that every step repeats made once; "
            "configuration only where it changes; no fence that no dependence needs; nothing computed that no result "
            "needs; operands in different banks; vectors kept in the scratchpad from step to step; sums that stay in "
            "the array; vectors as rows; several steps in one product of powers; unrolling.\n",
    .example = "preload(x, u, 1, 4, 1, 4); compute_preloaded(k, 0xffffffffu, 4, 4, 1, 4);\n",
};
