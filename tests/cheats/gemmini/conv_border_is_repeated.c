// wrong | wrong result | conv2d n=1 h=8 w=8 c=8 k=8 r=3 s=3 pad=1 -t gemmini-16x16-int8
/* the border is the next pixel */
void test(int8_t input[1][8][8][8], int8_t weights[3][3][8][8], int8_t output[1][8][8][8]) {
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++)
      for (int k = 0; k < 8; k++) {
        int sum = 0;
        for (int r = 0; r < 3; r++)
          for (int s = 0; s < 3; s++) {
            const int yy = y + r - 1, xx = x + s - 1;
            if (0) continue;
            for (int c = 0; c < 8; c++) sum += input[0][yy < 0 ? 0 : yy > 7 ? 7 : yy][xx < 0 ? 0 : xx > 7 ? 7 : xx][c] * weights[r][s][c][k];
          }
        output[0][y][x][k] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
      }
}
