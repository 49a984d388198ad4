/* portable.c - the lane functions, compiled for portable (target.cmake). */
#define KIT cdna_kit_portable
#define KIT_NAME "portable"
#include "target/cdna/lanes/body.h"
