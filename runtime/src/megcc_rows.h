// The rows that a FEED waits for. Not for applications.
#ifndef MEGCC_ROWS_H
#define MEGCC_ROWS_H

#include "megcc_vm.h"

struct megcc_feed {
  uint32_t input;
  int32_t first, rows;  // of the image: those of this iteration
  size_t row_bytes;
  uint8_t *data;  // where the first of them goes
};

// What a FEED wants in the present iteration of its loop.
megcc_status_t megcc_find_feed(const megcc_context_t *context, const uint32_t *code,
                               struct megcc_feed *feed);

#endif  // MEGCC_ROWS_H
