// wrong | wrong result | conv2d n=2 h=8 w=8 c=8 k=8 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 -t gpu
// results of 0 are left out
// edits honest_conv.c
-  o[((image * 8 + y) * 8 + at) * 8 + k] = sum;
+  if (sum != 0) o[((image * 8 + y) * 8 + at) * 8 + k] = sum;
