/* cores.h - how many cores the process may use, and what limits them. */
#ifndef TW_BASE_CORES_H
#define TW_BASE_CORES_H

typedef struct tw_core_limits {
  int online;                 /* cores of the machine */
  int allowed;                /* of them, the calling thread may run on (taskset, Slurm, Docker's --cpuset-cpus) */
  double quota;               /* cores' worth of time that control groups grant (Docker's --cpus); 0: no limit */
  int performance, efficient; /* of the allowed cores, where the machine has both kinds; otherwise 0 */
} tw_core_limits;

/* `root`: "", or a folder that holds proc/ and sys/ of another system, for tests. */
tw_core_limits tw_core_limits_under(const char *root);

/* Threads that do not wait for each other's cores: allowed cores, but no more than whole cores of the quota. At least
 * 1. */
int tw_cores_within(const tw_core_limits *);

/* The same for this process: control groups are read once, and the calling thread's allowed cores each time. */
int tw_cores(void);

#endif
