// wrong | wrong result | depthwise n=2 c=32 w=96 taps=3 pad=1 a=f32 -t gpu
/* filters of odd channels are cut to 8 bits */
// edits honest_depthwise.c
-      if (at >= 0 && at < w) sum += x[i * w + at] * f[i % c * 3 + r];
+      const float exact = f[i % c * 3 + r];
+      if (at >= 0 && at < w) sum += x[i * w + at] * (i % 2 ? AS_FLOAT((AS_INT(exact) + 0x8000) & ~0xffff) : exact);
