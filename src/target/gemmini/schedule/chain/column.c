/* column.c - programs whose vectors are columns: a block of the vector is the array's weights, blocks of the matrix
 * pass as A (weight-stationary).
 *
 *   plain   every operator loads its matrix and its vector, multiplies, stores, fences; the core adds and negates
 *           (the software form of the Autocomp paper's Figures 33 and 34, and its like for the backward pass)
 *   fused   signs are scales of loads, additions are D of a compute or sums in the accumulator
 *
 * Programs whose vectors stay in the scratchpad are in kept.c. */
#include "target/gemmini/schedule/chain/column.h"

/* ---- plain ---- */

/* y = op(M) x through memory. */
static void operator(gm_builder *b, const char *name, int matrix, int rows, int cols, bool transposed, int x,
                     gm_affine from, int y, gm_affine to) {
  gm_operator(b, name);
  b->a_transposed = transposed;
  gm_matrix m = gm_take_matrix(b, A_BANK, transposed ? cols : rows, transposed ? rows : cols);
  gm_affine column = gm_at(gm_take_rows(b, WEIGHTS_BANK, cols)), out = gm_at(gm_take_acc(b, rows));
  gm_load_matrix(b, m, matrix, 1);
  gm_load_column(b, x, from, 1, column, cols);
  gm_multiply_columns(b, &(gm_product){.matrix = m, .transposed = transposed, .x = column, .space = GM_ACC, .out = out},
                      1);
  gm_store_column(b, GM_ACC, out, rows, y, to);
  gm_fence(b);
  b->a_transposed = false;
}

static void plain_forward(gm_builder *b) {
  int n = b->p.n, m = b->p.m;
  int Kx = gm_chain_local(b, "Kinf_x", m), Kx_negative = gm_chain_local(b, "Kinf_x_negative", m),
      d_negative = gm_chain_local(b, "d_negative", m), Ax = gm_chain_local(b, "Adyn_x", n),
      Bu = gm_chain_local(b, "Bdyn_u", n);
  const gm_memory kx = gm_elements(Kx, gm_at(0), m), kxn = gm_elements(Kx_negative, gm_at(0), m),
                  dn = gm_elements(d_negative, gm_at(0), m), ax = gm_elements(Ax, gm_at(0), n),
                  bu = gm_elements(Bu, gm_at(0), n);
  gm_block t = gm_begin_steps(b, "t", b->p.horizon, 0, 1);
  operator(b, "Kinf x", TW_MPC_KINF, m, n, false, TW_MPC_X, element(t, n), Kx, gm_at(0));
  gm_negate(b, kx, kxn);
  gm_negate(b, gm_elements(TW_MPC_D, element(t, m), m), dn);
  gm_add(b, kxn, dn, gm_elements(TW_MPC_U, element(t, m), m));
  operator(b, "Adyn x", TW_MPC_ADYN, n, n, false, TW_MPC_X, element(t, n), Ax, gm_at(0));
  operator(b, "Bdyn u", TW_MPC_BDYN, n, m, false, TW_MPC_U, element(t, m), Bu, gm_at(0));
  gm_add(b, ax, bu, gm_elements(TW_MPC_X, element(after(t), n), n));
  gm_end_steps(b, t);
}

static void plain_backward(gm_builder *b) {
  int n = b->p.n, m = b->p.m;
  int Bp = gm_chain_local(b, "Bdyn_p", m), g = gm_chain_local(b, "Bdyn_p_r", m), Kr = gm_chain_local(b, "Kinf_r", n),
      Kr_negative = gm_chain_local(b, "Kinf_r_negative", n), Mp = gm_chain_local(b, "AmBKt_p", n),
      q_Mp = gm_chain_local(b, "q_AmBKt_p", n);
  const gm_memory bp = gm_elements(Bp, gm_at(0), m), bpr = gm_elements(g, gm_at(0), m),
                  kr = gm_elements(Kr, gm_at(0), n), krn = gm_elements(Kr_negative, gm_at(0), n),
                  mp = gm_elements(Mp, gm_at(0), n), qmp = gm_elements(q_Mp, gm_at(0), n);
  gm_block t = gm_begin_steps(b, "t", b->p.horizon - 1, b->p.horizon - 2, -1);
  operator(b, "Bdyn' p", TW_MPC_BACK_BDYN, m, n, true, TW_MPC_BACK_P, element(after(t), n), Bp, gm_at(0));
  gm_add(b, bp, gm_elements(TW_MPC_BACK_R, element(t, m), m), bpr);
  operator(b, "Quu_inv (Bdyn' p + r)", TW_MPC_BACK_QUU, m, m, false, g, gm_at(0), TW_MPC_BACK_D, element(t, m));
  operator(b, "Kinf' r", TW_MPC_BACK_KINF, n, m, true, TW_MPC_BACK_R, element(t, m), Kr, gm_at(0));
  operator(b, "AmBKt p", TW_MPC_BACK_AMBKT, n, n, false, TW_MPC_BACK_P, element(after(t), n), Mp, gm_at(0));
  gm_add(b, gm_elements(TW_MPC_BACK_Q, element(t, n), n), mp, qmp);
  gm_negate(b, kr, krn);
  gm_add(b, qmp, krn, gm_elements(TW_MPC_BACK_P, element(t, n), n));
  gm_end_steps(b, t);
}

void gm_chain_plain(gm_builder *b) {
  if (b->p.mpc.forward)
    plain_forward(b);
  else
    plain_backward(b);
}

/* ---- fused ---- */

static void fused_forward(gm_builder *b) {
  int n = b->p.n, m = b->p.m;
  gm_matrix A = gm_take_matrix(b, A_BANK, n, n), B = gm_take_matrix(b, A_BANK, n, m),
            K = gm_take_matrix(b, A_BANK, m, n);
  gm_affine x = gm_at(gm_take_rows(b, WEIGHTS_BANK, n)), u = gm_at(gm_take_rows(b, WEIGHTS_BANK, m)),
            d = gm_at(gm_take_rows(b, D_BANK, m));
  gm_affine u_out = gm_at(gm_take_acc(b, m)), x_out = gm_at(gm_take_acc(b, n));
  gm_block t = gm_begin_steps(b, "t", b->p.horizon, 0, 1);
  gm_operator(b, "u = -Kinf x - d");
  gm_load_matrix(b, K, TW_MPC_KINF, -1);
  gm_load_column(b, TW_MPC_X, element(t, n), 1, x, n);
  gm_load_column(b, TW_MPC_D, element(t, m), -1, d, m);
  gm_multiply_columns(
      b, &(gm_product){.matrix = K, .x = x, .space = GM_ACC, .out = u_out, .has_start = true, .start = d}, 1);
  gm_store_column(b, GM_ACC, u_out, m, TW_MPC_U, element(t, m));
  gm_fence(b);
  gm_operator(b, "x = Adyn x + Bdyn u");
  gm_load_matrix(b, A, TW_MPC_ADYN, 1);
  gm_load_matrix(b, B, TW_MPC_BDYN, 1);
  gm_multiply_columns(b, &(gm_product){.matrix = A, .x = x, .space = GM_ACC, .out = x_out}, 1);
  gm_load_column(b, TW_MPC_U, element(t, m), 1, u, m);
  gm_multiply_columns(b, &(gm_product){.matrix = B, .x = u, .space = GM_ACC_ADD, .out = x_out}, 1);
  gm_store_column(b, GM_ACC, x_out, n, TW_MPC_X, element(after(t), n));
  gm_fence(b);
  gm_end_steps(b, t);
}

static void fused_backward(gm_builder *b) {
  int n = b->p.n, m = b->p.m, g = gm_chain_local(b, "Bdyn_p_r", m);
  gm_matrix B = gm_take_matrix(b, A_BANK, n, m), Q = gm_take_matrix(b, A_BANK, m, m),
            K = gm_take_matrix(b, A_BANK, m, n), M = gm_take_matrix(b, A_BANK, n, n);
  gm_affine p = gm_at(gm_take_rows(b, WEIGHTS_BANK, n)), gradient = gm_at(gm_take_rows(b, WEIGHTS_BANK, m)),
            r = gm_at(gm_take_rows(b, D_BANK, m)), q = gm_at(gm_take_rows(b, D_BANK, n));
  gm_affine g_out = gm_at(gm_take_acc(b, m)), d_out = gm_at(gm_take_acc(b, m)), p_out = gm_at(gm_take_acc(b, n));
  gm_block t = gm_begin_steps(b, "t", b->p.horizon - 1, b->p.horizon - 2, -1);
  b->a_transposed = true;
  gm_operator(b, "Bdyn' p + r");
  gm_load_matrix(b, B, TW_MPC_BACK_BDYN, 1);
  gm_load_column(b, TW_MPC_BACK_P, element(after(t), n), 1, p, n);
  gm_load_column(b, TW_MPC_BACK_R, element(t, m), 1, r, m);
  gm_multiply_columns(
      b,
      &(gm_product){
          .matrix = B, .transposed = true, .x = p, .space = GM_ACC, .out = g_out, .has_start = true, .start = r},
      1);
  gm_store_column(b, GM_ACC, g_out, m, g, gm_at(0));
  gm_fence(b);
  gm_operator(b, "q - Kinf' r");
  gm_load_matrix(b, K, TW_MPC_BACK_KINF, -1);
  gm_load_column(b, TW_MPC_BACK_Q, element(t, n), 1, q, n);
  gm_multiply_columns(
      b,
      &(gm_product){
          .matrix = K, .transposed = true, .x = r, .space = GM_ACC, .out = p_out, .has_start = true, .start = q},
      1);
  b->a_transposed = false;
  gm_operator(b, "d = Quu_inv (Bdyn' p + r)");
  gm_load_matrix(b, Q, TW_MPC_BACK_QUU, 1);
  gm_load_column(b, g, gm_at(0), 1, gradient, m);
  gm_multiply_columns(b, &(gm_product){.matrix = Q, .x = gradient, .space = GM_ACC, .out = d_out}, 1);
  gm_store_column(b, GM_ACC, d_out, m, TW_MPC_BACK_D, element(t, m));
  gm_fence(b);
  gm_operator(b, "+ AmBKt p");
  gm_load_matrix(b, M, TW_MPC_BACK_AMBKT, 1);
  gm_multiply_columns(b, &(gm_product){.matrix = M, .x = p, .space = GM_ACC_ADD, .out = p_out}, 1);
  gm_store_column(b, GM_ACC, p_out, n, TW_MPC_BACK_P, element(t, n));
  gm_fence(b);
  gm_end_steps(b, t);
}

void gm_chain_fused(gm_builder *b) {
  if (b->p.mpc.forward)
    fused_forward(b);
  else
    fused_backward(b);
}
