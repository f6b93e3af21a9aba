// Calls generated kernels, which `kernels` lists in order: test_vectors.py.
//
// In: per call, int32 words: number of the kernel, of its tensors, of its dims, bytes of its
// workspace, begin, end; the dims; the bytes of each tensor, and of which earlier tensor it takes
// the memory, or -1; then the tensors. Out: the last tensor of each call. Each call is made twice:
// with tensors that end at an unreadable page, and with tensors that start behind one. Both must
// agree.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void kernel(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                    int32_t end);
extern kernel *const kernels[];

enum { PAGE = 65536, MOST = 16 };

typedef struct {
  char *whole, *data;
  size_t all;
} memory;

static memory take(size_t bytes, int at_end) {
  memory m;
  const size_t inside = (bytes + PAGE) / PAGE * PAGE;
  m.all = inside + 2 * PAGE;
  m.whole = mmap(NULL, m.all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m.whole == MAP_FAILED || mprotect(m.whole + PAGE, inside, PROT_READ | PROT_WRITE)) exit(3);
  m.data = m.whole + PAGE + (at_end ? inside - bytes : 0);
  return m;
}

static void get(void *to, size_t bytes) {
  if (bytes && fread(to, 1, bytes, stdin) != bytes) exit(4);
}

int main(void) {
  int32_t head[6];
  while (fread(head, 4, 6, stdin) == 6) {
    const int32_t tensors = head[1], dims = head[2];
    int32_t attr[MOST], sizes[MOST][2];
    char *given[MOST], *first = NULL;
    get(attr, 4 * (size_t)dims);
    get(sizes, 8 * (size_t)tensors);
    for (int k = 0; k < tensors; ++k) {
      given[k] = malloc((size_t)sizes[k][0] + 1);
      get(given[k], (size_t)sizes[k][0]);
    }
    const size_t bytes = (size_t)sizes[tensors - 1][0];
    for (int at_end = 0; at_end < 2; ++at_end) {
      memory taken[MOST + 1];
      void *ptr[MOST];
      taken[MOST] = take((size_t)head[3], at_end);
      for (int k = 0; k < tensors; ++k) {
        taken[k] = take((size_t)sizes[k][0], at_end);
        ptr[k] = sizes[k][1] < 0 ? taken[k].data : ptr[sizes[k][1]];
        if (sizes[k][1] < 0) memcpy(ptr[k], given[k], (size_t)sizes[k][0]);
      }
      kernels[head[0]](ptr, attr, taken[MOST].data, head[4], head[5]);
      if (!first) {
        first = malloc(bytes + 1);
        memcpy(first, ptr[tensors - 1], bytes);
      } else if (memcmp(first, ptr[tensors - 1], bytes)) {
        return 5;
      }
      for (int k = 0; k < tensors; ++k) munmap(taken[k].whole, taken[k].all);
      munmap(taken[MOST].whole, taken[MOST].all);
    }
    fwrite(first, 1, bytes, stdout);
    for (int k = 0; k < tensors; ++k) free(given[k]);
    free(first);
  }
  return 0;
}
