/* stddef.h - for candidate programs; types are the compiler's own. */
#ifndef _STDDEF_H
#define _STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __WCHAR_TYPE__ wchar_t;
typedef struct {
  long long integer __attribute__((aligned(__alignof__(long long))));
  long double real __attribute__((aligned(__alignof__(long double))));
} max_align_t;

#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)

#endif
