// Executed instructions, where the operating system lets a program count its own: Linux.
#define _DEFAULT_SOURCE  // syscall
#include "runner.h"

#include <errno.h>
#include <string.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#define HAS_COUNTERS 1
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

#ifdef HAS_COUNTERS
static int counter = -1;

const char *open_counter(void) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.type = PERF_TYPE_HARDWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_HW_INSTRUCTIONS;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.inherit = 1;  // the threads that this one starts from here on are counted, too
  counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  if (counter >= 0) return NULL;
  switch (errno) {
    case EACCES:
    case EPERM:
      return "the system does not permit it (a number above 2 in"
             " /proc/sys/kernel/perf_event_paranoid, or a container's rules)";
    case ENOSYS: return "this kernel, or qemu, has no perf_event_open";
    default: return "this machine has no such counter (a virtual one often has none)";
  }
}

uint64_t instructions_now(void) {
  uint64_t count;
  return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : 0;
}
#else
const char *open_counter(void) {
  return "this program was built for a system without perf_event_open";
}

uint64_t instructions_now(void) { return 0; }
#endif
