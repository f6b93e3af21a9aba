// CHECK and some memory for the C tests of the runtime.
#ifndef MEGCC_TEST_CHECK_H
#define MEGCC_TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "megcc.h"

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

#define CHECK_STATUS(expected, call)                                                  \
  do {                                                                                \
    const megcc_status_t status_ = (call);                                            \
    if (status_ != (expected)) {                                                      \
      fprintf(stderr, "%s:%d: %s gives %d (%s), not %s\n", __FILE__, __LINE__, #call, \
              (int)status_, megcc_status_string(status_), #expected);                 \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

// Exactly `bytes` bytes, so that the sanitizer sees any step beyond them. Free with free().
static inline void *test_alloc(size_t bytes) {
  const size_t padded = (bytes + MEGCC_ALIGNMENT - 1) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT;
  void *p = NULL;
  if (padded == bytes && bytes > 0) {
    p = aligned_alloc(MEGCC_ALIGNMENT, bytes);
  } else {
    // malloc does not promise 64 bytes of alignment; callers who need it ask for whole blocks.
    p = malloc(bytes > 0 ? bytes : 1);
  }
  CHECK(p != NULL);
  memset(p, 0xA5, bytes > 0 ? bytes : 1);
  return p;
}

static inline char *test_read_file(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  char *data;
  long size;
  CHECK(f != NULL && fseek(f, 0, SEEK_END) == 0);
  size = ftell(f);
  CHECK(size > 0 && fseek(f, 0, SEEK_SET) == 0);
  data = (char *)aligned_alloc(
      MEGCC_ALIGNMENT, ((size_t)size + MEGCC_ALIGNMENT) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT);
  CHECK(data != NULL && fread(data, 1, (size_t)size, f) == (size_t)size);
  fclose(f);
  *bytes = (size_t)size;
  return data;
}

#endif  // MEGCC_TEST_CHECK_H
