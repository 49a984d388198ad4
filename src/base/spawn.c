/* spawn.c - see spawn.h. The child of vfork borrows the parent's memory, and its thread waits: so until the exec
 * nothing may be allocated, locked or left changed, and all signals are blocked. */
#define _GNU_SOURCE
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { STACK_BYTES = 64 << 10 };

/* ThreadSanitizer's own clone mistakes a child that shares the memory for an unknown thread. With it the child gets
 * a copy of the memory, which only costs time. */
#if defined __SANITIZE_THREAD__
#define SHARED_MEMORY 0
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define SHARED_MEMORY 0
#endif
#endif
#ifndef SHARED_MEMORY
#define SHARED_MEMORY CLONE_VM
#endif

typedef struct start {
  const tw_spawn *spawn;
  pid_t parent;
  sigset_t mask; /* signal mask at the start of the child */
  int number;    /* errno of the step that failed in the child */
} start;

/* Sources are first moved above all targets, so that no copy overwrites a source that is still to be copied. */
TW_UNINSTRUMENTED static bool place_files(const tw_spawn *s) {
  int from[TW_SPAWN_FILES];
  for (int i = 0; i < s->n_files; i++)
    if ((from[i] = fcntl(s->file[i], F_DUPFD_CLOEXEC, s->n_files)) < 0) return false;
  for (int i = 0; i < s->n_files; i++)
    if (dup2(from[i], i) < 0) return false;
  return true;
}

TW_UNINSTRUMENTED static bool set_limits(const tw_spawn *s) {
  for (int i = 0; i < s->n_limits; i++) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)s->limit[i].resource, &now) < 0) return false;
    rlim_t most = s->limit[i].most < now.rlim_max ? s->limit[i].most : now.rlim_max;
    now.rlim_cur = now.rlim_max = most;
    if (setrlimit((__rlimit_resource_t)s->limit[i].resource, &now) < 0) return false;
  }
  return true;
}

/* A handler of the parent must not run on its memory; a signal that the parent ignores should have its default in a
 * program. */
TW_UNINSTRUMENTED static void default_signals(void) {
  for (int i = 1; i < NSIG; i++) {
    struct sigaction a;
    if (sigaction(i, NULL, &a) < 0 || a.sa_handler == SIG_DFL) continue;
    a.sa_handler = SIG_DFL;
    a.sa_flags = 0;
    sigaction(i, &a, NULL);
  }
}

TW_UNINSTRUMENTED static void close_others(int first, int kept) {
#if defined SYS_close_range
  if (kept < first) {
    syscall(SYS_close_range, first, ~0u, 0);
    return;
  }
  if (kept > first) syscall(SYS_close_range, first, kept - 1, 0);
  syscall(SYS_close_range, kept + 1, ~0u, 0);
#else
  (void)first, (void)kept; /* all descriptors of this library are closed on exec */
#endif
}

TW_UNINSTRUMENTED static int child(void *context) {
  start *s = context;
  const tw_spawn *o = s->spawn;
  default_signals();
  setsid();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) goto failed;
  if (getppid() != s->parent) _exit(127);
  if (!place_files(o) || !set_limits(o)) goto failed;
  if (o->directory && chdir(o->directory) < 0) goto failed;
  close_others(o->n_files, o->confinement ? tw_confinement_file(o->confinement) : -1);
  sigprocmask(SIG_SETMASK, &s->mask, NULL);
  if (o->confinement && !tw_confine(o->confinement)) goto failed;
  execve(o->path, (char *const *)(uintptr_t)o->argv,
         o->environment ? (char *const *)(uintptr_t)o->environment : environ);
failed:
  s->number = errno ? errno : EPERM;
  _exit(127);
}

int tw_spawn_program(const tw_spawn *o, pid_t *pid) {
  sigset_t all, before;
  void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return ENOMEM;
  /* at the far end of the stack; parent and child share it even if the child has a copy of other memory */
  start *s = stack;
  *s = (start){.spawn = o, .parent = getpid()};
  sigfillset(&all);
  sigemptyset(&s->mask);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  *pid = clone(child, (char *)stack + STACK_BYTES, SHARED_MEMORY | CLONE_VFORK | SIGCHLD, s);
  const int number = *pid < 0 ? errno : s->number;
  if (*pid > 0 && number)
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) continue;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  munmap(stack, STACK_BYTES);
  return number;
}
