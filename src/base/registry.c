/* registry.c - see registry.h. */
#include "base/registry.h"

const void *tw_registry_at(tw_registry *r, size_t index) {
  return index < atomic_load_explicit(&r->n, memory_order_acquire) ? r->item[index] : NULL;
}

tw_status tw_registry_add(tw_registry *r, const char *name, const void *item, const void *(*known)(const char *name),
                          const char *what, tw_error *error) {
  tw_status status = TW_OK;
  pthread_mutex_lock(&r->lock);
  const size_t n = atomic_load_explicit(&r->n, memory_order_relaxed);
  if (known(name))
    status = tw_fail(error, TW_USAGE, "the name of the %s '%s' is in use; choose another name", what, name);
  else if (n >= TW_REGISTRY_MAX)
    status = tw_fail(error, TW_USAGE, "no room for the %s '%s': %d can be added", what, name, TW_REGISTRY_MAX);
  else
    r->item[n] = item;
  if (status == TW_OK) atomic_store_explicit(&r->n, n + 1, memory_order_release);
  pthread_mutex_unlock(&r->lock);
  return status;
}
