// wrong | wrong result | mpc_forward horizon=4 states=3 inputs=4 -t gemmini-4x4-fp32
/* d of the first step */
void test(float Adyn[3][3], float Bdyn[3][4], float Kinf[4][3], float x[5][3][1], float d[4][4][1], float u[4][4][1]) {
  for (int t = 0; t < 4; t++) {
    for (int i = 0; i < 4; i++) {
      float sum = -d[0][i][0];
      for (int j = 0; j < 3; j++) sum -= Kinf[i][j] * x[t][j][0];
      u[t][i][0] = sum;
    }
    for (int i = 0; i < 3; i++) {
      float sum = 0;
      for (int j = 0; j < 3; j++) sum += Adyn[i][j] * x[t][j][0];
      for (int j = 0; j < 4; j++) sum += Bdyn[i][j] * u[t][j][0];
      x[t + 1][i][0] = sum;
    }
  }
}
