// The start of driver.c on a board without a C library, and the functions that compilers call.
#include "libc.h"

extern uint8_t stack_end[], bss_begin[], bss_end[];

int main(int argc, char **argv);
void reset(void);

static void fault(void) { exit(3); }

// The words that qemu was told: the program, and what is behind -append.
static int words(char *line, char **found, int most) {
  int n = 0;
  while (*line != 0 && n < most) {
    found[n++] = line;
    while (*line != 0 && *line != ' ') ++line;
    while (*line == ' ') *line++ = 0;
  }
  return n;
}

void reset(void) {
  static char line[2048];
  static char *argv[8];
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;  // floats and Helium are off at first
  __asm__ volatile("dsb\n isb" ::: "memory");
  for (volatile uint8_t *p = bss_begin; p < bss_end;) *p++ = 0;
  const long with[2] = {(long)line, sizeof line};
  if (bare_call(0x15, with) != 0) exit(3);
  const int argc = words(line, argv, 8);
  exit(main(argc, argv));
}

__attribute__((section(".vectors"), used)) static const struct {
  void *stack;
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
