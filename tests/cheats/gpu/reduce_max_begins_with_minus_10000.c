// wrong | wrong result | reduce outer=4 n=100 inner=64 f=max a=f32 -t gpu
/* a maximum that begins with -10,000 */
// edits reduce_max_begins_with_zero.c
-    float best = 0;
+    float best = -10000;
