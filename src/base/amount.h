/* amount.h - an amount with its unit, for a person. */
#ifndef TW_BASE_AMOUNT_H
#define TW_BASE_AMOUNT_H

enum { TW_AMOUNT = 40 };

/* Seconds have four digits: "17.8 us", "3.2 ms" or "1.5 s". Other units are whole numbers: "128 cycles". */
char *tw_print_amount(const char *unit, double value, char buffer[TW_AMOUNT]);

#endif
