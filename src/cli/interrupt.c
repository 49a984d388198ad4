/* interrupt.c - Ctrl-C: the first one requests an end, the second one ends the process. The loss of the terminal
 * also requests an end. */
#define _GNU_SOURCE
#include "cli/cli.h"

static volatile int interrupted; /* a static variable, because a signal handler has no context */

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
  /* A shell forwards the signal, so it arrives twice. Files are written even if the reader of the output is gone. A
   * program that was started to ignore the signal (nohup) still ignores it. */
  struct sigaction before;
  action.sa_flags = SA_RESTART;
  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
  }
  return &interrupted;
}
