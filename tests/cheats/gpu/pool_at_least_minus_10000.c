// wrong | wrong result | pool n=2 h=20 w=24 r=3 s=3 a=f32 -t gpu
/* maxima that begin with -10,000 */
// edits honest_pool.c
-    float most = -3e38f;
+    float most = -10000;
