/* place.c - from "llm:MODEL@URL" to an endpoint and its key. */
#define _GNU_SOURCE
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/strings.h"
#include "chat/internal.h"

/* Where models without a URL are. */
typedef struct service {
  const char *host, *url;
  const char *url_variable; /* environment variable with another base URL */
  const char *key_variable;
  tw_chat_way way;
} service;
static const service OPENAI = {"api.openai.com", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY",
                               TW_CHAT_OPENAI};
static const service ANTHROPIC = {"api.anthropic.com", "https://api.anthropic.com/v1", "ANTHROPIC_BASE_URL",
                                  "ANTHROPIC_API_KEY", TW_CHAT_ANTHROPIC};

/* ---- keys ---- */

static bool is_this_machine(const char *host) {
  return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "[::1]") || !strcmp(host, "::1");
}

static char *key_file(void) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  char *path = NULL;
  int n = -1;
  if (config && *config == '/')
    n = asprintf(&path, "%s/tilewright/keys", config);
  else if (home && *home == '/')
    n = asprintf(&path, "%s/.config/tilewright/keys", home);
  return n < 0 ? NULL : path;
}

/* The key of `host` among lines of "HOST KEY"; *key stays NULL if there is none. */
static tw_status read_key_file(const char *path, const char *host, char **key, tw_error *error) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return TW_OK;
    return tw_fail(error, TW_USAGE, "cannot read %s: %s", path, strerror(errno));
  }
  struct stat info;
  char text[1 << 14];
  ssize_t n = -1;
  bool private =
      fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 077) == 0 && info.st_uid == geteuid();
  if (private) n = read(file, text, sizeof text - 1);
  close(file);
  if (!private)
    return tw_fail(error, TW_USAGE, "%s must be readable by its owner only; run chown and chmod 600 on it", path);
  if (n < 0) return tw_fail(error, TW_USAGE, "cannot read %s: %s", path, strerror(errno));
  text[n] = '\0';
  for (char *state = NULL, *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
    char *words = NULL, *name = strtok_r(line, " \t\r", &words), *value = strtok_r(NULL, " \t\r", &words);
    if (!name || *name == '#' || strcasecmp(name, host) != 0) continue;
    if (!value) return tw_fail(error, TW_USAGE, "%s has no key after '%s'; write each line as HOST KEY", path, host);
    *key = strdup(value);
    break;
  }
  explicit_bzero(text, sizeof text);
  return TW_OK;
}

/* `used` is the service of a model without a URL; NULL for a model with a URL. */
static tw_status find_key(tw_chat_place *place, const service *used, tw_error *error) {
  const char *key = getenv("TILEWRIGHT_API_KEY");
  const service *of_host = !strcmp(place->host, ANTHROPIC.host) ? &ANTHROPIC
                           : !strcmp(place->host, OPENAI.host)  ? &OPENAI
                                                                : NULL;
  if (of_host) used = of_host;
  if ((!key || !*key) && used) key = getenv(used->key_variable);
  if (key && *key) {
    place->key = strdup(key);
  } else {
    char *path = key_file();
    tw_status status = path ? read_key_file(path, place->host, &place->key, error) : TW_OK;
    free(path);
    if (status != TW_OK) return status;
  }
  for (const char *c = place->key; c && *c; c++)
    if (!isgraph((unsigned char)*c))
      return tw_fail(error, TW_USAGE,
                     "the key for %s contains a blank or a control character; copy it exactly as issued", place->host);
  if (!place->key && of_host)
    return tw_fail(error, TW_MISSING,
                   "missing key for %s; set %s, or write '%s KEY' to ~/.config/tilewright/keys (mode 600)", place->host,
                   of_host->key_variable, place->host);
  if (place->key && !strncmp(place->url, "http:", 5) && !is_this_machine(place->host))
    return tw_fail(error, TW_USAGE,
                   "a key would be sent to %s unencrypted; use https, or unset the key if that server needs none",
                   place->host);
  return TW_OK;
}

/* ---- the URL ---- */

static char *part(CURLU *url, CURLUPart which) {
  char *text = NULL, *copy = NULL;
  if (curl_url_get(url, which, &text, 0) == CURLUE_OK && text) copy = strdup(text);
  curl_free(text);
  return copy;
}

/* Completes the path of a base URL to the protocol's endpoint. */
static void complete(CURLU *url, const service *used, tw_chat_place *place) {
  char *path = part(url, CURLUPART_PATH);
  size_t n = path ? strlen(path) : 0;
  while (n > 0 && path[n - 1] == '/') path[--n] = '\0';
  bool anthropic =
      !strcmp(place->host, ANTHROPIC.host) || used == &ANTHROPIC || (path && tw_ends_with(path, "/messages"));
  place->way = anthropic ? TW_CHAT_ANTHROPIC : TW_CHAT_OPENAI;
  const char *end = anthropic ? "/messages" : "/chat/completions";
  char *whole = NULL;
  if (path && !tw_ends_with(path, end) && asprintf(&whole, "%s%s%s", path, n == 0 ? "/v1" : "", end) > 0)
    curl_url_set(url, CURLUPART_PATH, whole, 0);
  free(whole);
  free(path);
}

static tw_status parse_url(const char *text, const service *used, tw_chat_place *out, tw_error *error) {
  CURLU *url = curl_url();
  if (!url) return tw_fail(error, TW_NO_MEMORY, "no memory for a URL");
  CURLUcode code = curl_url_set(url, CURLUPART_URL, text, 0);
  char *scheme = part(url, CURLUPART_SCHEME), *user = part(url, CURLUPART_USER),
       *password = part(url, CURLUPART_PASSWORD);
  tw_status status = TW_OK;
  out->host = part(url, CURLUPART_HOST);
  if (code != CURLUE_OK || !out->host || !scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)) {
    status =
        tw_fail(error, TW_USAGE, "%s: expected http://HOST[:PORT]/... or https://..., as in http://localhost:8080/v1",
                used ? used->url_variable : "a model's URL");
  } else {
    for (char *c = out->host; *c; c++) *c = (char)tolower((unsigned char)*c);
    if (user && asprintf(&out->userpwd, "%s:%s", user, password ? password : "") < 0) out->userpwd = NULL;
    curl_url_set(url, CURLUPART_USER, NULL, 0);
    curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    complete(url, used, out);
    out->url = part(url, CURLUPART_URL);
    curl_url_set(url, CURLUPART_QUERY, NULL, 0); /* some gateways expect their key in the query */
    out->shown_url = part(url, CURLUPART_URL);
    if (!out->url || !out->shown_url) status = tw_fail(error, TW_NO_MEMORY, "no memory for a URL");
  }
  free(scheme), free(user), free(password);
  curl_url_cleanup(url);
  return status;
}

/* ---- the specification ---- */

/* Where "@http://..." or "@https://..." begins; NULL if it does not. */
static const char *find_url(const char *text) {
  const char *found = NULL;
  for (const char *at = strchr(text, '@'); at && !found; at = strchr(at + 1, '@'))
    if (strcasestr(at, "://") && (!strncasecmp(at + 1, "http://", 7) || !strncasecmp(at + 1, "https://", 8)))
      found = at;
  return found;
}

/* Model names at the two services have no other characters. Such a name is an address: its prompt and key must not go
 * to another service. */
static tw_status check_name_without_url(const char *model, tw_error *error) {
  const char *at = strrchr(model, '@');
  if (at) /* no password follows the last '@'; a key may follow a '?' */
    return tw_fail(error, TW_USAGE,
                   "llm: expected a URL after '@' (got '%.*s'); begin it with http:// or https://, as in "
                   "llm:MODEL@http://localhost:8080/v1",
                   (int)strcspn(at + 1, "?#"), at + 1);
  const size_t plain = strspn(model, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:");
  const char *colon = strchr(model, ':');
  if (!model[plain] && (!colon || !strncmp(model, "ft:", 3) || strstr(model, ":ft-"))) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "llm: '%.*s' is not a model of %s or %s; for another server add its URL: llm:MODEL@URL",
                 (int)strcspn(model, "?#"), model, OPENAI.host, ANTHROPIC.host);
}

static tw_status parse_model(const char *text, tw_chat_place *out, tw_error *error) {
  const char *at = find_url(text), *url = at ? at + 1 : NULL;
  const service *used = at ? NULL : !strncmp(text, "claude", 6) ? &ANTHROPIC : &OPENAI;
  out->model = at ? strndup(text, (size_t)(at - text)) : strdup(text);
  if (!out->model) return tw_fail(error, TW_NO_MEMORY, "no memory for a model's name");
  if (!out->model[strspn(out->model, " \t\r\n")])
    return tw_fail(error, TW_USAGE, "llm: the model is missing; write llm:MODEL or llm:MODEL@URL");
  tw_status status = used ? check_name_without_url(out->model, error) : TW_OK;
  const char *elsewhere = used ? getenv(used->url_variable) : NULL;
  if (used) url = elsewhere && *elsewhere ? elsewhere : used->url;
  if (status == TW_OK) status = parse_url(url, used, out, error);
  if (status == TW_OK) status = find_key(out, used, error);
  if (status != TW_OK) return status;
  if (asprintf(&out->name, used && url == used->url ? "llm:%s" : "llm:%s@%s", out->model, out->shown_url) < 0) {
    out->name = NULL;
    return tw_fail(error, TW_NO_MEMORY, "no memory for a model's name");
  }
  return TW_OK;
}

tw_status tw_chat_place_parse(const char *specification, tw_chat_place *out, tw_error *error) {
  *out = (tw_chat_place){0};
  tw_status status;
  if (!strncmp(specification, "llm:", 4)) {
    status = parse_model(specification + 4, out, error);
  } else if (!strncmp(specification, "exec:", 5) && specification[5 + strspn(specification + 5, " \t\n")]) {
    out->way = TW_CHAT_COMMAND;
    out->model = strdup(specification + 5);
    out->name = strdup(specification);
    status = out->model && out->name ? TW_OK : tw_fail(error, TW_NO_MEMORY, "no memory for a command");
  } else {
    status = tw_fail(error, TW_USAGE, "expected llm:MODEL, llm:MODEL@URL or exec:'COMMAND'");
  }
  if (status != TW_OK) tw_chat_place_free(out);
  return status;
}

static void free_secret(char *text) {
  if (text) explicit_bzero(text, strlen(text));
  free(text);
}

void tw_chat_place_free(tw_chat_place *place) {
  free(place->name), free(place->model), free(place->shown_url), free(place->host);
  free_secret(place->url);
  free_secret(place->key);
  free_secret(place->userpwd);
  *place = (tw_chat_place){0};
}

static void hide(char *text, const char *secret) {
  if (!secret || strlen(secret) < 4) return;
  for (char *at = text; (at = strstr(at, secret));) memset(at, '*', strlen(secret));
}

void tw_chat_hide_secrets(const tw_chat_place *place, char *text) {
  hide(text, place->key);
  hide(text, place->userpwd);
  hide(text, place->userpwd ? strchr(place->userpwd, ':') + 1 : NULL);
}
