/* cores.h - how many cores the process may use, and what limits them. */
#ifndef TW_BASE_CORES_H
#define TW_BASE_CORES_H

typedef struct tw_core_limits {
  int online;   /* cores of the machine */
  int allowed;  /* cores of the machine on which the calling thread may run (taskset, Slurm, Docker's --cpuset-cpus) */
  double quota; /* cores' worth of time that control groups grant (Docker's --cpus); 0: no limit */
  int performance, efficient; /* allowed cores of each kind, if the machine has both kinds; otherwise 0 */
} tw_core_limits;

/* `root`: "", or a folder that holds proc/ and sys/ of another system, for tests. */
tw_core_limits tw_core_limits_under(const char *root);

/* The number of threads that do not compete for cores: the allowed cores, but no more than the whole cores of the
 * quota. At least 1. */
int tw_cores_within(const tw_core_limits *);

/* The same for this process. Control groups are read once; the calling thread's allowed cores are read at each call. */
int tw_cores(void);

#endif
