/* mcp.h - the parts of `tilewright mcp`: the server (mcp.c), its tools, prompts and resources (mcp_tools.c,
 * mcp_prompts.c, mcp_resources.c). */
#ifndef TW_CLI_MCP_H
#define TW_CLI_MCP_H

#include <jansson.h>
#include <stdbool.h>

#include "tilewright/status.h"

/* A client that waits for a call. */
typedef struct mcp_listener {
  const volatile int *interrupt; /* the call is cancelled when it becomes non-zero */
  /* Reports progress, its total (0: unknown) and a line. NULL: not requested. Any thread may call it. */
  void (*progress)(void *context, double done, double total, const char *line);
  void *context;
} mcp_listener;

/* The list for tools/list. */
json_t *mcp_tools_list(void);
/* Is there a tool of this name? */
bool mcp_tool_exists(const char *name);
/* TW_USAGE with the argument that does not match the tool's schema. */
tw_status mcp_tool_check(const char *name, const json_t *arguments, tw_error *);
/* The answer of the tool: the result of tools/call. NULL if it was cancelled. */
json_t *mcp_tool_call(const char *name, const json_t *arguments, const mcp_listener *);

json_t *mcp_prompts_list(void);
/* The result of prompts/get; NULL with the reason on failure. */
json_t *mcp_prompt_get(const char *name, const json_t *arguments, tw_error *);

json_t *mcp_resources_list(void);
/* The result of resources/read; NULL if the resource does not exist. */
json_t *mcp_resource_read(const char *uri);

#endif
