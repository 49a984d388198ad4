/* interrupt.c - Ctrl-C: the first one asks for an end, the second one is one. The loss of the terminal asks, too. */
#define _GNU_SOURCE
#include "cli/cli.h"

static volatile int interrupted; /* a signal handler can reach nothing else */

static void note(int number) {
  (void)number;
  __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
}

const volatile int *cli_catch_interrupt(void) {
  struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
  sigaction(SIGTERM, &action, NULL);
  /* A shell forwards it, so that it arrives twice. The reader of the output may be gone: files are written anyway. A
   * program started to ignore it (nohup) still ignores it. */
  struct sigaction before;
  action.sa_flags = SA_RESTART;
  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
  }
  return &interrupted;
}
