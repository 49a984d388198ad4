// wrong | wrong result | depthwise n=2 c=32 w=96 taps=3 pad=1 a=f32 -t gpu
/* one product has the wrong tap */
// edits honest_depthwise.c
-      if (at >= 0 && at < w) sum += x[i * w + at] * f[i % c * 3 + r];
+      if (at >= 0 && at < w) sum += x[i * w + at] * f[i % c * 3 + (i % c == 31 && at == 0 ? 1 : r)];
