// Support for a program on a bare Cortex-M, in place of a C library: a vector table, the start, the
// four functions that compilers call by themselves, and output by semihosting.
#include "board.h"

extern uint32_t data_begin[], data_end[], data_stored[], bss_begin[], bss_end[];
extern uint32_t fast_code_begin[], fast_code_end[], fast_code_stored[];
extern uint32_t stack_begin[], stack_end[];

#define PAINT 0xa5c3e187u  // what the stack holds where it has not been used

int main(void);
void reset(void);  // where the processor begins, by its vector table
void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);

// A call of the debugger, here qemu: its number and what it takes.
static uint32_t debugger(uint32_t number, const void *argument) {
  register uint32_t r0 __asm__("r0") = number;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_print(const char *text) { debugger(4, text); }

void board_print_number(size_t number) {
  char text[12];
  char *p = text + sizeof text;
  *--p = 0;
  do {
    *--p = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  board_print(p);
}

size_t board_stack_bytes(void) {
  const volatile uint32_t *p = stack_begin;
  while (*p == PAINT) ++p;
  return (size_t)((const char *)stack_end - (const char *)p);
}

void board_exit(int status) {
  const uint32_t reason[2] = {0x20026, (uint32_t)status};
  for (;;) debugger(0x20, reason);
}

static void fault(void) {
  board_print("fault\n");
  board_exit(3);
}

static void load(uint32_t *begin, const uint32_t *end, const uint32_t *from) {
  for (volatile uint32_t *p = begin; p < end;) *p++ = *from++;
}

void reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;  // units for floats and vectors are off at first
  __asm__ volatile("dsb\n isb" ::: "memory");
#endif
  // Of the stack, too, what is below this function's own part.
  for (volatile uint32_t *p = stack_begin; (char *)p < (char *)__builtin_frame_address(0) - 64;) {
    *p++ = PAINT;
  }
  load(data_begin, data_end, data_stored);
  load(fast_code_begin, fast_code_end, fast_code_stored);
  for (volatile uint32_t *p = bss_begin; p < bss_end;) *p++ = 0;
  board_exit(main());
}

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  void (*handler[15])(void);
} vectors = {stack_end, {reset, fault, fault, fault, fault, fault}};

void *memcpy(void *to, const void *from, size_t count) {
  for (size_t k = 0; k < count; ++k) ((volatile char *)to)[k] = ((const char *)from)[k];
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, count);
  while (count-- > 0) ((volatile char *)to)[count] = ((const char *)from)[count];
  return to;
}

void *memset(void *to, int value, size_t count) {
  for (size_t k = 0; k < count; ++k) ((volatile char *)to)[k] = (char)value;
  return to;
}

int memcmp(const void *a, const void *b, size_t count) {
  const unsigned char *x = a, *y = b;
  for (; count > 0; --count, ++x, ++y) {
    if (*x != *y) return *x < *y ? -1 : 1;
  }
  return 0;
}
