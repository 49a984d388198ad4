// wrong | wrong result: d[ | mpc_backward horizon=4 states=3 inputs=4 -t gemmini-4x4-fp32
// Multiplies by the transpose of Quu_inv, which is symmetric in TinyMPC and not in the op.
void test(float Bdyn[3][4], float Quu_inv[4][4], float Kinf[4][3], float AmBKt[3][3], float p[4][3][1], float d[4][4][1],
          float r[4][4][1], float q[4][3][1]) {
  for (int t = 2; t >= 0; t--) {
    float g[4];
    for (int i = 0; i < 4; i++) {
      g[i] = r[t][i][0];
      for (int j = 0; j < 3; j++) g[i] += Bdyn[j][i] * p[t + 1][j][0];
    }
    for (int i = 0; i < 4; i++) {
      float sum = 0;
      for (int j = 0; j < 4; j++) sum += Quu_inv[j][i] * g[j];
      d[t][i][0] = sum;
    }
    for (int i = 0; i < 3; i++) {
      float sum = q[t][i][0];
      for (int j = 0; j < 3; j++) sum += AmBKt[i][j] * p[t + 1][j][0];
      for (int j = 0; j < 4; j++) sum -= Kinf[j][i] * r[t][j][0];
      p[t][i][0] = sum;
    }
  }
}
