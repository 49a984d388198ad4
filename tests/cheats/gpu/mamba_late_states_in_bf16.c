// wrong | wrong result | mamba b=2 c=16 s=64 n=8 a=f32 -t gpu
/* states are rounded from position 57 on */
// edits honest_mamba.c
-    }
+    }
+    if (t > 56) for (int q = 0; q < 8; q++) h[q] = AS_FLOAT(AS_INT(h[q]) + 0x8000 & ~0xffff);
