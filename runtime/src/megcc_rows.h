// The rows that a FEED waits for. Not for applications.
#ifndef MEGCC_ROWS_H
#define MEGCC_ROWS_H

#include "megcc_vm.h"

struct megcc_feed {
  uint32_t input, planes;
  int32_t image;        // its number
  int32_t first, rows;  // of the image: those of this iteration
  int32_t height;       // of the image
  size_t row_bytes;     // in one of the planes
  uint8_t *data;        // where the first of them goes
};

// What a FEED wants in the present iteration of its loop.
megcc_status_t megcc_find_feed(const megcc_context_t *context, const uint32_t *code,
                               struct megcc_feed *feed);

// Copies rows to where the first of them goes, in a line buffer or behind others: there the planes
// of a row are together, here each plane's rows, `plane_bytes` from one plane to the next.
void megcc_copy_rows(const struct megcc_feed *feed, uint8_t *to, const uint8_t *from,
                     size_t plane_bytes, uint32_t rows);

#endif  // MEGCC_ROWS_H
