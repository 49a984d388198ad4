// wrong | wrong result | conv2d n=2 h=8 w=8 c=8 k=8 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 -t gpu
/* of one row of one image, one tap is left out */
// edits honest_conv.c
-      if (!(iy >= 0 && iy < 8 && ix >= 0 && ix < 8)) continue;
+      if (!(iy >= 0 && iy < 8 && ix >= 0 && ix < 8) || (g == 11 && r == 2 && s == 0)) continue;
