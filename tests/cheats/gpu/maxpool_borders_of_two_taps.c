// wrong | wrong result | maxpool n=2 h=20 w=24 pool=3 a=f32 -t gpu
/* the last column sees two of three columns */
// edits honest_maxpool.c
-        const float v = x[(i * h + top + r) * w + left + s];
+        const float v = x[(i * h + top + r) * w + left + (left == wide - 1 && s == 2 ? 1 : s)];
