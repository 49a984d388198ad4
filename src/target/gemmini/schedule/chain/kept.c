/* kept.c - programs whose vectors are columns that stay in the scratchpad. A sum over blocks is carried from product to
 * product by D, because the array can write to the scratchpad but only the accumulator can add; or (os) it stays in the
 * array. */
#include "target/gemmini/schedule/chain/column.h"

/* `steps` vectors from `from` on, each as a column in separate rows, from row `at` on. */
static void load_columns(gm_builder *b, int array, int from, int steps, int length, double scale, int at) {
  if (length % b->p.dim == 0) { /* all vectors together are one column */
    gm_load_window(b, array, gm_at(from), scale, gm_at(at), steps * length);
    return;
  }
  gm_block t = gm_begin_steps(b, "t", steps, 0, 1);
  gm_load_column(b, array, gm_plus(gm_at(from), t, length), scale, gm_plus(gm_at(at), t, gm_rounded(b, length)),
                 length);
  gm_end_steps(b, t);
}

/* M = Adyn - Bdyn Kinf; K holds -Kinf. */
static void close_loop(gm_builder *b, gm_matrix A, gm_matrix B, gm_matrix K, gm_matrix M) {
  for (gm_each l = gm_each_block(b, "l", K.rows, GM_PEEL_FIRST); gm_next(&l);)
    for (gm_each k = gm_each_block(b, "k", A.cols, 0); gm_next(&k);)
      for (gm_each j = gm_each_block(b, "j", A.rows, GM_INNER | GM_PEEL_FIRST); gm_next(&j);) {
        gm_before(b, j.first ? gm_matrix_block(b, K, l.block, k.block) : gm_nowhere(),
                  gm_matrix_block(b, M, j.block, k.block));
        gm_multiply(b, !j.first, gm_matrix_block(b, B, j.block, l.block),
                    gm_matrix_block(b, l.first ? A : M, j.block, k.block));
      }
}

/* As above, output-stationary. */
static void close_in_sums(gm_builder *b, gm_matrix A, gm_matrix B, gm_matrix K, gm_matrix M) {
  for (gm_each i = gm_each_block(b, "i", A.rows, 0); gm_next(&i);)
    for (gm_each j = gm_each_block(b, "j", A.cols, 0); gm_next(&j);)
      for (gm_each l = gm_each_block(b, "l", K.rows, GM_INNER | GM_PEEL_FIRST | GM_PEEL_LAST); gm_next(&l);) {
        gm_before(b, l.first ? gm_matrix_block(b, A, i.block, j.block) : gm_nowhere(),
                  l.last ? gm_matrix_block(b, M, i.block, j.block) : gm_nowhere());
        gm_multiply(b, !l.first, gm_matrix_block(b, B, i.block, l.block), gm_matrix_block(b, K, l.block, j.block));
      }
}

/* With sums in the array, the rows of a vector are written block by block while the previous vector is still read.
 * So every step has separate rows. Moves *x to its place and returns the next free place. */
static gm_affine step_of(const gm_builder *b, gm_affine *x, gm_block t, int pitch) {
  if (!b->plan.os) return *x;
  *x = gm_plus(*x, t, pitch);
  gm_affine next = *x;
  if (b->p.mpc.forward)
    next.base += pitch;
  else
    x->base += pitch;
  return next;
}

/* Two products of the same vector; the second gives the next vector. With sums in the array the second comes first,
 * and the other one pushes its last block out of the array. */
static void both_columns(gm_builder *b, const gm_product product[2]) {
  if (!b->plan.os) {
    gm_multiply_columns(b, product, 2);
    return;
  }
  gm_sum_columns(b, &product[1], 1);
  gm_sum_columns(b, &product[0], 1);
}

static void one_column(gm_builder *b, const gm_product *product) {
  (b->plan.os ? gm_sum_columns : gm_multiply_columns)(b, product, 1);
}

/* u = -Kinf x - d is a column in the scratchpad, where x = Adyn x + Bdyn u finds it. */
static void kept_forward(gm_builder *b) {
  int n = b->p.n, m = b->p.m, N = b->p.horizon, nr = gm_rounded(b, n), mr = gm_rounded(b, m);
  gm_matrix K = gm_take_matrix(b, A_BANK, m, n), B = gm_take_matrix(b, A_BANK, n, m),
            A = gm_take_matrix(b, A_BANK, n, n);
  bool os = b->plan.os;
  gm_affine x = gm_at(gm_take_rows(b, WEIGHTS_BANK, os ? (N + 1) * nr : nr));
  const gm_affine sums = gm_at(gm_take_rows(b, C_BANK, nr)), u_sums = gm_at(gm_take_rows(b, C_BANK, mr)),
                  done = gm_at(gm_take_rows(b, D_BANK, nr));
  int d = gm_take_rows(b, D_BANK, N * mr), us = gm_take_rows(b, WEIGHTS_BANK, N * mr);
  gm_operator(b, "what every step needs");
  gm_load_matrix(b, K, TW_MPC_KINF, -1);
  load_columns(b, TW_MPC_X, 0, 1, n, 1, x.base);
  load_columns(b, TW_MPC_D, 0, N, m, -1, d);
  gm_load_matrix(b, A, TW_MPC_ADYN, 1);
  gm_load_matrix(b, B, TW_MPC_BDYN, 1);
  b->output_stationary = os;
  gm_operator(b, "steps");
  gm_block t = gm_begin_steps(b, "t", N, 0, 1);
  gm_affine u = gm_plus(gm_at(us), t, mr), next = step_of(b, &x, t, nr);
  const gm_product by_x[2] = {{.matrix = K,
                               .x = x,
                               .space = GM_SPAD,
                               .out = u,
                               .has_start = true,
                               .start = gm_plus(gm_at(d), t, mr),
                               .sums = u_sums},
                              {.matrix = A, .x = x, .space = GM_SPAD, .out = done, .sums = sums}},
                   by_u = {
                       .matrix = B, .x = u, .space = GM_SPAD, .out = x, .has_start = true, .start = done, .sums = sums};
  if (os) {
    gm_product sum[2] = {by_x[1], by_u};
    sum[0].out = next;
    gm_sum_columns(b, by_x, 1);
    gm_sum_columns(b, sum, 2);
  } else {
    gm_multiply_columns(b, by_x, 2);
    gm_multiply_columns(b, &by_u, 1);
  }
  gm_store_column(b, GM_SPAD, u, m, TW_MPC_U, element(t, m));
  gm_fence(b);
  gm_end_steps(b, t);
}

/* x = (Adyn - Bdyn Kinf) x - Bdyn d does not wait for u = -Kinf x - d, which is summed in the accumulator and
 * stored. */
static void closed_forward(gm_builder *b) {
  int n = b->p.n, m = b->p.m, N = b->p.horizon, nr = gm_rounded(b, n), mr = gm_rounded(b, m);
  gm_matrix K = gm_take_matrix(b, A_BANK, m, n), M = gm_take_matrix(b, A_BANK, n, n),
            B = gm_take_matrix(b, C_BANK, n, m), A = gm_take_matrix(b, D_BANK, n, n);
  bool os = b->plan.os;
  gm_affine x = gm_at(gm_take_rows(b, WEIGHTS_BANK, os ? (N + 1) * nr : nr));
  const gm_affine sums = gm_at(gm_take_rows(b, C_BANK, nr));
  int d = gm_take_rows(b, WEIGHTS_BANK, N * mr), known = gm_take_rows(b, D_BANK, N * nr), us = gm_take_acc(b, N * mr);
  gm_operator(b, "Adyn - Bdyn Kinf");
  gm_load_matrix(b, K, TW_MPC_KINF, -1);
  gm_load_matrix(b, B, TW_MPC_BDYN, 1);
  gm_load_matrix(b, A, TW_MPC_ADYN, 1);
  close_loop(b, A, B, K, M);
  load_columns(b, TW_MPC_X, 0, 1, n, 1, x.base);
  load_columns(b, TW_MPC_D, 0, N, m, -1, d);
  b->output_stationary = os;
  gm_operator(b, "-Bdyn d");
  gm_block s = gm_begin_steps(b, "t", N, 0, 1);
  const gm_product by_d = {
      .matrix = B, .x = gm_plus(gm_at(d), s, mr), .space = GM_SPAD, .out = gm_plus(gm_at(known), s, nr), .sums = sums};
  one_column(b, &by_d);
  gm_end_steps(b, s);
  gm_fence(b);
  gm_operator(b, "steps");
  gm_block t = gm_begin_steps(b, "t", N, 0, 1);
  gm_affine u = gm_plus(gm_at(us), t, mr), next = step_of(b, &x, t, nr);
  const gm_product by_x[2] = {
      {.matrix = K, .x = x, .space = GM_ACC, .out = u, .has_start = true, .start = gm_plus(gm_at(d), t, mr)},
      {.matrix = M,
       .x = x,
       .space = GM_SPAD,
       .out = next,
       .has_start = true,
       .start = gm_plus(gm_at(known), t, nr),
       .sums = sums}};
  both_columns(b, by_x);
  gm_store_column(b, GM_ACC, u, m, TW_MPC_U, element(t, m));
  gm_fence(b);
  gm_end_steps(b, t);
}

/* The same with sums in the array, in one dataflow: no config_ex empties the array in between. -Bdyn d is the first
 * term of a sum. It does not wait for x, and enters while the array still holds the end of x. */
static void closed_sums_forward(gm_builder *b) {
  enum { A_AND_D_BANK = 0, X_BANK = 1, B_BANK = 2, K_AND_M_BANK = 3 };
  int n = b->p.n, m = b->p.m, N = b->p.horizon, nr = gm_rounded(b, n), mr = gm_rounded(b, m);
  gm_matrix K = gm_take_matrix(b, K_AND_M_BANK, m, n), B = gm_take_matrix(b, B_BANK, n, m),
            A = gm_take_matrix(b, A_AND_D_BANK, n, n), M = gm_take_matrix(b, K_AND_M_BANK, n, n);
  gm_affine x = gm_at(gm_take_rows(b, X_BANK, (N + 1) * nr));
  int ds = gm_take_rows(b, A_AND_D_BANK, N * mr), us = gm_take_acc(b, N * mr);
  b->output_stationary = true;
  gm_operator(b, "Adyn - Bdyn Kinf");
  gm_load_matrix(b, K, TW_MPC_KINF, -1);
  gm_load_matrix(b, B, TW_MPC_BDYN, 1);
  gm_load_matrix(b, A, TW_MPC_ADYN, 1);
  close_in_sums(b, A, B, K, M);
  load_columns(b, TW_MPC_X, 0, 1, n, 1, x.base);
  load_columns(b, TW_MPC_D, 0, N, m, -1, ds);
  gm_operator(b, "steps");
  gm_block t = gm_begin_steps(b, "t", N, 0, 1);
  gm_affine u = gm_plus(gm_at(us), t, mr), d = gm_plus(gm_at(ds), t, mr), next = step_of(b, &x, t, nr);
  const gm_product next_x[2] = {{.matrix = B, .x = d, .space = GM_SPAD, .out = next}, {.matrix = M, .x = x}},
                   by_x = {.matrix = K, .x = x, .space = GM_ACC, .out = u, .has_start = true, .start = d};
  gm_sum_columns(b, next_x, 2);
  gm_sum_columns(b, &by_x, 1); /* pushes the last block of x out of the array */
  gm_store_column(b, GM_ACC, u, m, TW_MPC_U, element(t, m));
  gm_fence(b);
  gm_end_steps(b, t);
}

static void kept_backward(gm_builder *b) {
  int n = b->p.n, m = b->p.m, steps = b->p.horizon - 1, nr = gm_rounded(b, n), mr = gm_rounded(b, m), dim = b->p.dim;
  gm_matrix B = gm_take_matrix(b, C_BANK, n, m), K = gm_take_matrix(b, C_BANK, m, n),
            Bt = gm_take_matrix(b, A_BANK, m, n), Kt = gm_take_matrix(b, A_BANK, n, m),
            Q = gm_take_matrix(b, A_BANK, m, m), M = gm_take_matrix(b, A_BANK, n, n);
  int identity = gm_take_rows(b, D_BANK, dim);
  bool os = b->plan.os;
  gm_affine p = gm_at(gm_take_rows(b, WEIGHTS_BANK, os ? (steps + 1) * nr : nr));
  const gm_affine sums = gm_at(gm_take_rows(b, D_BANK, nr)), g_sums = gm_at(gm_take_rows(b, D_BANK, mr));
  int r = gm_take_rows(b, WEIGHTS_BANK, steps * mr), q = gm_take_rows(b, D_BANK, steps * nr),
      known = gm_take_rows(b, C_BANK, steps * nr), g = gm_take_rows(b, WEIGHTS_BANK, steps * mr),
      ds = gm_take_acc(b, steps * mr);
  gm_operator(b, "-Kinf', Bdyn'");
  gm_load(b, gm_chain_identity(b), gm_at(0), dim, 1, gm_at(identity), dim, dim, dim);
  gm_load_matrix(b, K, TW_MPC_BACK_KINF, -1);
  gm_load_matrix(b, B, TW_MPC_BACK_BDYN, 1);
  b->a_transposed = true;
  gm_transpose(b, K, Kt, identity);
  gm_transpose(b, B, Bt, identity);
  b->a_transposed = false;
  load_columns(b, TW_MPC_BACK_R, 0, steps, m, 1, r);
  load_columns(b, TW_MPC_BACK_Q, 0, steps, n, 1, q);
  gm_load_matrix(b, M, TW_MPC_BACK_AMBKT, 1);
  gm_load_matrix(b, Q, TW_MPC_BACK_QUU, 1);
  load_columns(b, TW_MPC_BACK_P, steps * n, 1, n, 1, p.base + (os ? steps * nr : 0));
  b->output_stationary = os;
  gm_operator(b, "q - Kinf' r");
  gm_block s = gm_begin_steps(b, "t", steps, steps - 1, -1);
  const gm_product by_r = {.matrix = Kt,
                           .x = gm_plus(gm_at(r), s, mr),
                           .space = GM_SPAD,
                           .out = gm_plus(gm_at(known), s, nr),
                           .has_start = true,
                           .start = gm_plus(gm_at(q), s, nr),
                           .sums = sums};
  one_column(b, &by_r);
  gm_end_steps(b, s);
  gm_fence(b);
  gm_operator(b, "steps");
  gm_block t = gm_begin_steps(b, "t", steps, steps - 1, -1);
  gm_affine next = step_of(b, &p, t, nr);
  const gm_product by_p[2] = {{.matrix = Bt,
                               .x = p,
                               .space = GM_SPAD,
                               .out = gm_plus(gm_at(g), t, mr),
                               .has_start = true,
                               .start = gm_plus(gm_at(r), t, mr),
                               .sums = g_sums},
                              {.matrix = M,
                               .x = p,
                               .space = GM_SPAD,
                               .out = next,
                               .has_start = true,
                               .start = gm_plus(gm_at(known), t, nr),
                               .sums = sums}};
  both_columns(b, by_p);
  gm_fence(b);
  gm_end_steps(b, t);
  gm_operator(b, "d");
  gm_block e = gm_begin_steps(b, "t", steps, steps - 1, -1);
  gm_affine d = gm_plus(gm_at(ds), e, mr);
  const gm_product by_g = {.matrix = Q, .x = gm_plus(gm_at(g), e, mr), .space = GM_ACC, .out = d};
  one_column(b, &by_g);
  gm_store_column(b, GM_ACC, d, m, TW_MPC_BACK_D, element(e, m));
  gm_end_steps(b, e);
}

void gm_chain_kept(gm_builder *b) {
  if (!b->p.mpc.forward)
    kept_backward(b);
  else if (b->plan.close && b->plan.os)
    closed_sums_forward(b);
  else if (b->plan.close)
    closed_forward(b);
  else
    kept_forward(b);
}
