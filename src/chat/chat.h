/* chat.h - asks a language model: a prompt goes out, a text comes back.
 *
 * A model is named by
 *   llm:MODEL            at OpenAI, or at Anthropic if the name begins with "claude"; OPENAI_BASE_URL or
 *                        ANTHROPIC_BASE_URL, if set, is the base in its place. An address is rejected as a name,
 *                        because prompt and key would go to the wrong server
 *   llm:MODEL@URL        any server that speaks OpenAI's chat completions (vLLM, llama.cpp, Ollama, gateways); URL is
 *                        the base ("http://localhost:8080/v1") or the whole endpoint; URLs that end in /messages, or whose
 *                        host is api.anthropic.com, use Anthropic's messages API
 *   exec:COMMAND         a shell command: the prompt on its standard input, the reply on its standard output
 *
 * Keys come from TILEWRIGHT_API_KEY, else from ANTHROPIC_API_KEY or OPENAI_API_KEY for their own hosts and base URLs,
 * else from the file ~/.config/tilewright/keys (or $XDG_CONFIG_HOME). The file has lines of "HOST KEY" and must be
 * readable by its owner alone. A key is sent only to its host, over plain http only to this machine, and never through
 * a redirect. No error contains it: a server's text is printed without it. Proxies and certificate authorities come
 * from the usual environment variables (https_proxy, no_proxy, SSL_CERT_FILE, SSL_CERT_DIR, CURL_CA_BUNDLE).
 *
 * Answers are untrusted: they are limited in size and time, need not be UTF-8, JSON or an answer, and become a reply or
 * an error of one line. Thread-safe: any number of threads may ask; `at_once` requests are served at a time. */
#ifndef TW_CHAT_H
#define TW_CHAT_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/status.h"

typedef struct tw_chat tw_chat;

typedef struct tw_chat_options {
  double seconds; /* time limit of one attempt; 0 = 600 */
  /* retries after temporary failures: no connection, 408, 429, 5xx; 0 = 6. A command that fails is retried once at
   * most */
  int attempts;
  /* seconds before the second attempt, doubled for each further one; 0 = 1. A server's Retry-After has priority. */
  double pause_first;
  double pause_most;  /* longest pause; a server that requests a longer one is not asked again; 0 = 120 */
  int at_once;        /* concurrent requests; 0 = 4 */
  size_t reply_limit; /* limit of an answer in bytes; 0 = 8 MiB */
} tw_chat_options;

typedef struct tw_chat_request {
  const char *system, *prompt; /* UTF-8; system may be NULL */
  double temperature;          /* < 0: the server's default */
  const char *effort;          /* effort of reasoning: "low", "medium", "high"; NULL: the server's default */
  long tokens_most; /* limit of tokens in the reply; 0: the server's default (Anthropic requires a limit: 16,384) */
  const volatile int *interrupt; /* a non-zero value ends the request with TW_INTERRUPTED; NULL = never */
} tw_chat_request;

/* The kind of failure. */
typedef enum tw_chat_trouble {
  TW_CHAT_FINE,
  TW_CHAT_UNREACHABLE, /* no connection, or a broken one */
  TW_CHAT_REFUSED,     /* 4xx: wrong key, model or quota */
  TW_CHAT_OVERLOADED,  /* 408, 429, 5xx in all attempts */
  TW_CHAT_LATE,        /* not complete in time */
  TW_CHAT_TOO_LONG,    /* over reply_limit */
  TW_CHAT_MALFORMED,   /* the answer does not have the protocol's form */
  TW_CHAT_EMPTY,       /* an answer without a text */
  TW_CHAT_DECLINED,    /* the model declined, or requested tools instead */
  TW_CHAT_BROKEN,      /* the command failed */
  TW_CHAT_STOPPED,     /* interrupted */
  TW_CHAT_TROUBLES
} tw_chat_trouble;
const char *tw_chat_trouble_name(tw_chat_trouble); /* "unreachable", ... */

typedef struct tw_chat_reply {
  char *text; /* malloc'ed, valid UTF-8 without NUL; NULL if there is none */
  bool cut;   /* it ended at a limit on tokens */
  tw_chat_trouble trouble;
  long tokens_in, tokens_out; /* tokens as reported by the server; 0: not reported */
  double seconds;             /* seconds of all attempts, including pauses */
  int attempts;
} tw_chat_reply;

/* Parses the specification; TW_USAGE with the error. It reads keys, looks up the program of a command, and connects to
 * nothing. */
tw_status tw_chat_open(const char *specification, const tw_chat_options *, tw_chat **out, tw_error *);
void tw_chat_close(tw_chat *);
/* The specification without secrets of its URL, for journals and messages. */
const char *tw_chat_name(const tw_chat *);

/* A requested parameter that the server rejected and that is no longer sent. NULL: none. */
const char *tw_chat_dropped(tw_chat *);

/* TW_OK with a text. Otherwise reply->trouble is the kind of failure and the error describes it: TW_INTERRUPTED,
 * TW_MISSING (no server, key or program), else TW_FAILED. */
tw_status tw_chat_ask(tw_chat *, const tw_chat_request *, tw_chat_reply *out, tw_error *);

#endif
