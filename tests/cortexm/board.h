// A board without an operating system, of which a debugger prints the output.
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_print(const char *text);
void board_exit(int status);

#endif  // BOARD_H
