// An allocator for megcc_set_allocator that counts, and fails when the test wants it to.
#ifndef MEGCC_TEST_ALLOCATOR_H
#define MEGCC_TEST_ALLOCATOR_H

#include "check.h"

// How many were asked for, which of them fails (0: none), how many are not given back.
static int allocations, fail_at, outstanding;

static void *allocate(void *user, size_t bytes) {
  void *data = NULL;
  CHECK(user == &allocations && bytes > 0);
  if (++allocations == fail_at) return NULL;
  CHECK(posix_memalign(&data, MEGCC_ALIGNMENT, bytes) == 0);
  ++outstanding;
  return data;
}

static void give_back(void *user, void *data, size_t bytes) {
  CHECK(user == &allocations && data != NULL && bytes > 0);
  --outstanding;
  free(data);
}

#endif  // MEGCC_TEST_ALLOCATOR_H
