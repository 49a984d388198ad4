/* ask.h - many questions to models at once. Each is looked up in the search's memo first, and sent to the model if the
 * memo lacks it and the budget allows. An account keeps the cost and the errors.
 *
 * If a server or command reports no tokens, four characters count as one token. A question is sent if the budget
 * suffices for three parts: the use so far, the reservations of questions in flight, and its own cost. Its own cost is
 * its prompt and an expected reply. The length of the reply is the limit, else the mean so far, else the length of the
 * prompt. A question waits while only reservations exceed the budget. */
#ifndef TW_AGENT_ASK_H
#define TW_AGENT_ASK_H

#include <pthread.h>

#include "agent/agent.h"
#include "chat/chat.h"

typedef struct tw_account {
  pthread_mutex_t lock;
  pthread_cond_t freed; /* a request ended: its reservation is released */
  size_t asked, recalled, answers;
  double tokens_in, tokens_out, money, seconds;
  double tokens_reserved, money_reserved; /* for questions in flight */
  bool estimated;                         /* some counts of tokens are estimates */
  size_t troubles[TW_CHAT_TROUBLES];
  char *trouble[TW_CHAT_TROUBLES]; /* first message of each kind; malloc'ed */
  size_t useless[2];               /* replies without a plan, and without a kernel */
  char *useless_why[2];            /* the fault of the first such reply; malloc'ed */
  size_t useless_in_a_row;
  size_t unanswered_in_a_row; /* questions, by the order in which they ended */
  bool spent;                 /* a budget does not suffice for another question */
  char *spent_why;            /* malloc'ed */
} tw_account;
void tw_account_open(tw_account *);
void tw_account_close(tw_account *);
/* Counts a reply with a kernel, or a reply without a kernel or plan and its fault. */
void tw_account_useful(tw_account *);
void tw_account_useless(tw_account *, bool kernel, const char *why);
/* Lines for the user: the number and cost of requests, then one line for each kind of failure. */
void tw_account_print(tw_account *, const char *agent, tw_text *out);

typedef struct tw_question {
  tw_chat *chat;
  uint64_t place;
  bool kernel;  /* tw_exchange */
  char *prompt; /* owned by the caller */
  const tw_memo *memo;
  const tw_stop *stop;
  char *answer; /* malloc'ed, freed by the caller; NULL: `status` and `error` say why */
  tw_status status;
  tw_chat_trouble trouble;
  tw_error error;
} tw_question;

/* Sends the requests whose status is TW_OK and fills in answer or status. `name` is the agent's, for the memo. After
 * several consecutive requests without an answer, or many answers without a kernel, the remaining requests get
 * TW_MISSING with TW_CHAT_FINE. */
void tw_ask(const tw_model_options *, tw_account *, const char *name, size_t n, tw_question question[]);

#endif
