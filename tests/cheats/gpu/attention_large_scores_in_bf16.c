// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t gpu
/* scores above 100 are rounded to bf16 */
// edits honest_attention_online.c
-  return sum * scale;
+  return sum * scale > 100 ? cut(sum * scale) : sum * scale;
