/* chat_server.h - a server on this machine that plays scenes: what it answers, and how it misbehaves.
 *
 * Each connection gets the next scene, the last one for ever. Requests are kept, head and body, for the test to look
 * at. */
#ifndef TW_CHAT_SERVER_H
#define TW_CHAT_SERVER_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct scene {
  int status;          /* 0: `body` is all that is sent, as it is */
  const char *headers; /* further ones, each ended by \r\n; NULL = none */
  const char *body;
  size_t times;   /* the body is sent so many times; 0 = 1 */
  bool break_off; /* announces more than it sends */
  int delay_ms;   /* before each byte of the body */
  bool hold;      /* reads the request and says nothing, until the client goes */
} scene;

enum { CHAT_REQUESTS_MAX = 64 };
typedef struct chat_server {
  int listener, port;
  pthread_t thread;
  const scene *scenes;
  size_t n_scenes;
  atomic_bool stop;
  atomic_size_t n;
  char *request[CHAT_REQUESTS_MAX];
  struct timespec at[CHAT_REQUESTS_MAX];
} chat_server;

static inline bool chat_send(int fd, const char *data, size_t n) {
  while (n > 0) {
    ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent, n -= (size_t)sent;
  }
  return true;
}

/* Head and body, malloc'ed. */
static inline char *chat_receive(int fd) {
  size_t size = 1 << 22, n = 0;
  char *text = calloc(1, size);
  for (ssize_t got; n + 1 < size && (got = recv(fd, text + n, size - 1 - n, 0)) > 0;) {
    n += (size_t)got;
    const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
    if (end && length && n >= (size_t)(end + 4 - text) + strtoul(length + 15, NULL, 10)) break;
  }
  return text;
}

static inline void chat_play(const scene *s, int fd, const atomic_bool *stop) {
  char head[1024], byte;
  size_t length = strlen(s->body ? s->body : ""), times = s->times ? s->times : 1;
  if (s->hold) {
    while (!*stop && recv(fd, &byte, 1, MSG_DONTWAIT) != 0) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return;
  }
  int n = snprintf(head, sizeof head, "HTTP/1.1 %d Scene\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
                   s->status, length * times + (s->break_off ? 10 : 0), s->headers ? s->headers : "");
  if (s->status && !chat_send(fd, head, (size_t)n)) return;
  for (size_t t = 0; t < times && !*stop; t++)
    for (size_t i = 0; i < length; i += s->delay_ms ? 1 : length) {
      if (s->delay_ms) nanosleep(&(struct timespec){.tv_nsec = 1000000 * s->delay_ms}, NULL);
      if (*stop || !chat_send(fd, s->body + i, s->delay_ms ? 1 : length)) return;
    }
}

/* One connection at a time would make a test of concurrency hang: each has a thread. */
typedef struct chat_connection {
  chat_server *server;
  const scene *scene;
  size_t number;
  int fd;
} chat_connection;

static inline void *chat_serve_one(void *context) {
  chat_connection c = *(chat_connection *)context;
  free(context);
  char *request = chat_receive(c.fd);
  if (c.number < CHAT_REQUESTS_MAX)
    c.server->request[c.number] = request;
  else
    free(request);
  chat_play(c.scene, c.fd, &c.server->stop);
  shutdown(c.fd, SHUT_RDWR);
  close(c.fd);
  return NULL;
}

static inline void *chat_serve(void *context) {
  chat_server *server = context;
  pthread_t thread[CHAT_REQUESTS_MAX];
  size_t n = 0;
  for (int fd; n < CHAT_REQUESTS_MAX && (fd = accept(server->listener, NULL, NULL)) >= 0;) {
    if (server->stop) {
      close(fd);
      break;
    }
    chat_connection *c = malloc(sizeof *c);
    *c = (chat_connection){server, &server->scenes[n < server->n_scenes ? n : server->n_scenes - 1], n, fd};
    clock_gettime(CLOCK_MONOTONIC, &server->at[n]);
    server->n = n + 1;
    pthread_create(&thread[n++], NULL, chat_serve_one, c);
  }
  for (size_t i = 0; i < n; i++) pthread_join(thread[i], NULL);
  return NULL;
}

static inline chat_server *chat_server_start(const scene *scenes, size_t n) {
  chat_server *server = calloc(1, sizeof *server);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  server->scenes = scenes, server->n_scenes = n;
  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(server->listener, 64) != 0 ||
      getsockname(server->listener, (struct sockaddr *)&address, &length) != 0)
    abort();
  server->port = ntohs(address.sin_port);
  pthread_create(&server->thread, NULL, chat_serve, server);
  return server;
}

static inline void chat_server_stop(chat_server *server) {
  server->stop = true;
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)server->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* wakes accept() */
  connect(fd, (struct sockaddr *)&address, sizeof address);
  close(fd);
  pthread_join(server->thread, NULL);
  close(server->listener);
  for (size_t i = 0; i < CHAT_REQUESTS_MAX; i++) free(server->request[i]);
  free(server);
}

#endif
