// wrong | read a clock | gemm m=61 n=67 k=71 threads=1 -t x86
/* No system call and no rdtsc: the C library reads this time from a page that the system shares. */
// edits asks_for_the_time.c
-  clock_gettime(CLOCK_MONOTONIC, &now), calls = (int)now.tv_nsec;
+  clock_gettime(CLOCK_MONOTONIC_COARSE, &now), calls = (int)now.tv_nsec;
