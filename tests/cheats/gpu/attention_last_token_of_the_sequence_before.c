// wrong | wrong result | attention b=4 hq=2 hkv=1 sq=30 sk=30 d=64 causal=1 tokens=70 a=f32 -t gpu
/* the first key is the last one of the sequence before */
// edits honest_attention_of_tokens.c
-  const int first = starts[batch], end = token + 1;
+  const int first = starts[batch] > 0 ? starts[batch] - 1 : 0, end = token + 1;
