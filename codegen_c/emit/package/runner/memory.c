// The program's memory: lives until its end.
#include "runner.h"

#include <stdlib.h>

// Every block starts with a pointer to the one before it, so that all can be freed at the end.
static void *last_block;

static void free_blocks(void) {
  while (last_block != NULL) {
    void *before = *(void **)last_block;
    free(last_block);
    last_block = before;
  }
}

void *allocate(size_t bytes) {
  char *raw;
  if (bytes > (size_t)-1 - 2 * MEGCC_ALIGNMENT) fail("out of memory", NULL);
  raw = (char *)calloc(1, bytes + 2 * MEGCC_ALIGNMENT);
  if (raw == NULL) {
    fprintf(stderr, "run: error: no memory for %lu bytes; give smaller sizes\n",
            (unsigned long)bytes);
    exit(1);
  }
  *(void **)(void *)raw = last_block;
  if (last_block == NULL) atexit(free_blocks);
  last_block = raw;
  raw += sizeof(void *);
  return raw + (MEGCC_ALIGNMENT - (uintptr_t)raw % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT;
}
