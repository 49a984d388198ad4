/* cores.c - see cores.h. Control groups: version 2 as Linux's Documentation/admin-guide/cgroup-v2.rst has it (cpu.max),
 * version 1 as Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us, cpu.cfs_period_us). A group's limit holds for
 * groups below it, too. */
#define _GNU_SOURCE
#include "base/cores.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096 };

/* ---- files ---- */

static bool read_line(const char *path, char *line, size_t size) {
  FILE *f = fopen(path, "r");
  const bool found = f && fgets(line, (int)size, f);
  if (f) fclose(f);
  return found;
}

static bool number_in(const char *folder, const char *name, double *out) {
  char path[2 * PATH], line[64], *end;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!read_line(path, line, sizeof line)) return false;
  *out = strtod(line, &end);
  return end != line;
}

/* ---- quota ---- */

static void lower_quota(double *quota, double cores) {
  if (cores > 0 && (*quota == 0 || cores < *quota)) *quota = cores;
}

/* Version 2: "max 100000" or "150000 100000", microseconds of each period. */
static void read_max(const char *folder, double *quota) {
  char path[2 * PATH], line[64];
  double most, period;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (read_line(path, line, sizeof line) && sscanf(line, "%lf %lf", &most, &period) == 2 && period > 0)
    lower_quota(quota, most / period);
}

/* Version 1: a quota of -1 means no limit. */
static void read_cfs(const char *folder, double *quota) {
  double most, period;
  if (number_in(folder, "cpu.cfs_quota_us", &most) && most > 0 && number_in(folder, "cpu.cfs_period_us", &period) &&
      period > 0)
    lower_quota(quota, most / period);
}

/* Reads the limits of a group and of all groups above it. In a container the group's path may be the host's: then
 * only the last folders of this loop exist. */
static void read_groups(const char *root, const char *mount, const char *group, double *quota) {
  char folder[PATH];
  const size_t top = (size_t)snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, mount);
  if (top >= sizeof folder || strlen(group) >= sizeof folder - top) return;
  strcpy(folder + top, group);
  for (;;) {
    read_max(folder, quota);
    read_cfs(folder, quota);
    char *slash = strrchr(folder + top, '/');
    if (!slash) return;
    *slash = '\0';
  }
}

static bool names_cpu(const char *controllers) {
  char copy[256], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", controllers);
  for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest))
    if (strcmp(w, "cpu") == 0) return true;
  return false;
}

/* Lines "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1. */
static double quota_under(const char *root) {
  char path[PATH], line[PATH], mount[PATH];
  double quota = 0;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    controllers++;
    if (!*controllers) read_groups(root, "", group, &quota);
    if (!names_cpu(controllers)) continue;
    snprintf(mount, sizeof mount, "/%s", controllers);
    read_groups(root, mount, group, &quota);
    read_groups(root, "/cpu", group, &quota);
  }
  if (f) fclose(f);
  return quota;
}

/* ---- cores ---- */

static bool ask_allowed(cpu_set_t *set) { return sched_getaffinity(0, sizeof *set, set) == 0 && CPU_COUNT(set) > 0; }

/* How many of a list such as "0-3,8" are in `set`. */
static int listed_cores(const char *list, const cpu_set_t *set) {
  int n = 0;
  while (*list) {
    char *end;
    const long first = strtol(list, &end, 10);
    if (end == list) break;
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    for (long i = first; i >= 0 && i <= last && i < CPU_SETSIZE; i++) n += CPU_ISSET((size_t)i, set) != 0;
    list = *end == ',' ? end + 1 : "";
  }
  return n;
}

static int cores_of_kind(const char *root, const char *kind, const cpu_set_t *set) {
  char path[PATH], line[PATH];
  snprintf(path, sizeof path, "%s/sys/devices/%s/cpus", root, kind);
  return read_line(path, line, sizeof line) ? listed_cores(line, set) : 0;
}

static int online(void) {
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

tw_core_limits tw_core_limits_under(const char *root) {
  tw_core_limits l = {.online = online(), .quota = quota_under(root)};
  cpu_set_t set;
  l.allowed = l.online; /* more cores than fit into a cpu_set_t */
  if (!ask_allowed(&set)) return l;
  l.allowed = CPU_COUNT(&set);
  l.performance = cores_of_kind(root, "cpu_core", &set); /* hybrid processors of Intel */
  l.efficient = cores_of_kind(root, "cpu_atom", &set);
  if (!l.performance || !l.efficient) l.performance = l.efficient = 0;
  return l;
}

int tw_cores_within(const tw_core_limits *l) {
  if (l->quota <= 0 || l->quota >= l->allowed) return l->allowed;
  return l->quota < 2 ? 1 : (int)floor(l->quota);
}

static double quota_here;
static void ask_quota(void) { quota_here = quota_under(""); }

int tw_cores(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  cpu_set_t set;
  pthread_once(&once, ask_quota);
  const tw_core_limits l = {.allowed = ask_allowed(&set) ? CPU_COUNT(&set) : online(), .quota = quota_here};
  return tw_cores_within(&l);
}
