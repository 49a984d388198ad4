// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
/* 0.001 is added to sums */
// edits honest_attention_online.c
-  o[j] = value / sum;
+  o[j] = value / (sum + 0.001f);
