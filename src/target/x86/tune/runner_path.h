/* runner_path.h - where tilewright-x86-runner is. */
#ifndef TW_X86_RUNNER_PATH_H
#define TW_X86_RUNNER_PATH_H

/* $TILEWRIGHT_X86_RUNNER; else beside the program or its folder (as built), or in libexec/tilewright beside the folder
 * of the program or of this library (as installed). malloc'ed; NULL if it is nowhere. */
char *x86_runner_path(void);

#endif
