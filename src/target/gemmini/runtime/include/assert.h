/* assert.h - for candidate programs: a failed assertion prints itself and ends the run. */
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
void assert_failed(const char *condition, const char *file, int line) __attribute__((noreturn));
#define assert(condition) ((condition) ? (void)0 : assert_failed(#condition, __FILE__, __LINE__))
#endif
#ifndef static_assert
#define static_assert _Static_assert
#endif
