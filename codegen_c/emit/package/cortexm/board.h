// A board without an operating system, of which a debugger (here qemu) prints the output.
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

void board_print(const char *text);
void board_print_number(size_t number);
void board_exit(int status);

// Bytes of the stack that have been used since the start.
size_t board_stack_bytes(void);

#endif  // BOARD_H
