/* distill.h - texts of prompts from a machine's documentation, written by a language model and reviewed by the user.
 *
 * A model gets one part of a document at a time, with the built-in text of a topic, and answers what the text lacks. */
#ifndef TW_AGENT_DISTILL_H
#define TW_AGENT_DISTILL_H

#include "base/strings.h"
#include "tilewright/extend/target.h"
#include "tilewright/search.h"

typedef struct tw_distillation {
  size_t files;    /* texts in the folder */
  size_t added;    /* texts to which something was added */
  size_t requests; /* to the model */
  tw_text notes;   /* lines for the user on cost and failures; freed by the caller */
} tw_distillation;

/* Writes the built-in texts into `folder` (tw_prompt_texts_write), with additions from the documents. `agent`: one
 * language model. Fails without an addition if a request gets no answer: an incomplete text could pass for a complete
 * one. */
tw_status tw_distill(const tw_target *, const char *agent, const tw_model_options *, size_t n,
                     const char *const document[], const char *folder, const tw_stop *, tw_distillation *out,
                     tw_error *);

#endif
