/* talk.h - a process that receives trials and writes outcomes, one line of JSON each (text.h). It runs on this
 * computer or, by a user's command (ssh, srun, a container), on another. */
#ifndef TW_EVALUATE_TALK_H
#define TW_EVALUATE_TALK_H

#include <sys/types.h>

#include "base/strings.h"
#include "evaluate/trial.h"

enum { TW_ANSWER_MAX = 1 << 20 };

/* Start with TW_TALK_NONE. */
typedef struct tw_talk {
  pid_t pid;    /* 0: not running */
  int in, out;  /* our ends: a socket, so that a command that does not read cannot send us SIGPIPE; a pipe */
  tw_text rest; /* bytes that were read after the last answer */
} tw_talk;
#define TW_TALK_NONE ((tw_talk){.in = -1, .out = -1})

typedef enum tw_reply {
  TW_REPLY_ANSWERED,
  TW_REPLY_ENDED,
  TW_REPLY_TOO_LONG,
  TW_REPLY_OUT_OF_TIME,
  TW_REPLY_INTERRUPTED,
  TW_REPLY_NOT_STARTED,
  TW_REPLY_BAD, /* no outcome, or an implausible one */
  TW_REPLY_NO_MEMORY,
} tw_reply;

/* Starts `command` by the shell if it does not run, sends the trial, reads its outcome; starts the command again, up
 * to `tries` times, if it ends without an answer. An implausible answer is rejected (plausible.h). Any failure
 * becomes the outcome's verdict, which then says nothing about the kernel. */
tw_reply tw_talk_evaluate(tw_talk *, const char *command, const tw_trial *, const tw_bound *, const tw_stop *until,
                          int tries, tw_outcome *);
/* Closes its input, so that the process ends, and kills it if it does not. */
void tw_talk_stop(tw_talk *, bool at_once);

#endif
