// wrong | wrong result | pool n=2 h=20 w=24 r=3 s=3 a=f32 -t gpu
/* the last column sees two of three columns */
// edits honest_pool.c
-        const float v = x[(i * h + top + r) * w + left + s];
+        const float v = x[(i * h + top + r) * w + left + (left == wide - 1 && s == 2 ? 1 : s)];
