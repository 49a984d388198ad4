/* intern.h - keeps one copy of each text for ever, for names that are read at run time but are used like static
 * text. */
#ifndef TW_BASE_INTERN_H
#define TW_BASE_INTERN_H

enum { TW_INTERNED_MAX = 4096, TW_INTERNED_LENGTH = 512 };

/* The copy; NULL for more than TW_INTERNED_LENGTH characters, beyond TW_INTERNED_MAX texts, or without memory: external
 * texts cannot fill memory with it. Thread-safe. */
const char *tw_intern(const char *text);

#endif
