/* page_files.h - the files of the page, with the libraries from Debian: made at build time (cmake/report.cmake), and
 * part of the command, not of the library. */
#ifndef TW_REPORT_PAGE_FILES_H
#define TW_REPORT_PAGE_FILES_H

#include "base/embedded.h"

extern const tw_embedded report_page_files[];
extern const size_t report_page_count;

#endif
