/* internal.h - the parts of a chat: the place of a model (place.c), the transport of a request (http.c, command.c),
 * and the text of the two protocols (protocol.c). */
#ifndef TW_CHAT_INTERNAL_H
#define TW_CHAT_INTERNAL_H

#include <jansson.h>
#include <pthread.h>

#include "chat/chat.h"

typedef enum tw_chat_way { TW_CHAT_OPENAI, TW_CHAT_ANTHROPIC, TW_CHAT_COMMAND } tw_chat_way;

/* Where a model is. */
typedef struct tw_chat_place {
  tw_chat_way way;
  char *name;      /* the specification without secrets */
  char *model;     /* or the command */
  char *url;       /* the endpoint, without user and password; NULL for a command */
  char *shown_url; /* without its query, too */
  char *host;      /* host name of the URL, in lower case */
  char *userpwd;   /* "user:password" of the URL; NULL if it has none */
  char *key;       /* NULL if there is none */
} tw_chat_place;
tw_status tw_chat_place_parse(const char *specification, tw_chat_place *out, tw_error *);
void tw_chat_place_free(tw_chat_place *);
/* Removes the key and the password from `text`, in place. */
void tw_chat_hide_secrets(const tw_chat_place *, char *text);

struct tw_chat {
  tw_chat_place place;
  tw_chat_options options;
  pthread_mutex_t lock; /* guards the members below */
  pthread_cond_t turn;
  int running;
  /* Parameters that the server has rejected; they are not sent again. */
  bool no_temperature, no_max_tokens, no_effort;
};

/* One exchange. */
typedef struct tw_chat_exchange {
  char *body; /* malloc'ed, with '\0' after its end */
  size_t length;
  long http_status;   /* 0 for a command */
  double retry_after; /* seconds that the server requests; < 0: none */
  tw_chat_trouble trouble;
  bool may_pass;                                       /* temporary trouble: another attempt makes sense */
  bool sent_temperature, sent_max_tokens, sent_effort; /* the request had parameters that a server may not know */
  char text[400];                                      /* the failure, in a line without secrets */
} tw_chat_exchange;

/* Both fill out->trouble, and out->body if an answer has come. */
void tw_chat_post(const tw_chat *, const char *body, const volatile int *interrupt, tw_chat_exchange *out);
/* TW_USAGE if the command begins with the name of a program that does not exist. Commands of other forms pass. */
tw_status tw_chat_command_check(const char *command, tw_error *);
void tw_chat_command(const tw_chat *, const tw_chat_request *, tw_chat_exchange *out);

/* The request as JSON; malloc'ed, NULL without memory. */
char *tw_chat_write(const tw_chat *, const tw_chat_request *);
/* Reads the server's answer: fills in reply->text and token counts, or reply->trouble with a line in `what`. */
void tw_chat_read(tw_chat_way, const char *body, size_t length, tw_chat_reply *, char *what, size_t size);
/* The message of an error body, in one line; "" if there is none to find. */
void tw_chat_read_error(const char *body, size_t length, char *out, size_t size);

/* A malloc'ed copy in which every byte that is no part of valid UTF-8, and every NUL, became U+FFFD. NULL without
 * memory. */
char *tw_utf8_clean(const char *text, size_t length);

#endif
