// Marks around every call of a program's kernels, in place of those around the whole run: for the
// main.c of examples/cortexm, with -include. Prints the number of each call that was executed.
#ifndef MEGCC_COUNTER_CALL_MARKS_H
#define MEGCC_COUNTER_CALL_MARKS_H

#define MEGCC_BENCH_BEGIN() (void)megcc_set_profile(context, megcc_count_call, NULL)
#define MEGCC_BENCH_END() (void)megcc_set_profile(context, NULL, NULL)

#include "marks.h"

#include "board.h"
#include "megcc.h"

static inline void megcc_count_call(void *user, megcc_event_t event, uint32_t call,
                                    const char *name, const char *kernel) {
  (void)user, (void)name, (void)kernel;
  if (event == MEGCC_CALL_BEGIN) {
    MEGCC_COUNT_BEGIN();
    return;
  }
  MEGCC_COUNT_END();
  board_print("call: ");
  board_print_number(call);
  board_print("\n");
}

#endif  // MEGCC_COUNTER_CALL_MARKS_H
