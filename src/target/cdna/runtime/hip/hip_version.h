/* hip_version.h - which HIP the headers here follow. Clang's wrapper asks before anything else: it is not told, since the
 * malloc() that it would offer then needs a heap that no launch here has. */
#ifdef __CLANG_HIP_RUNTIME_WRAPPER_INCLUDED__
#include "hip_words.h"
#endif
