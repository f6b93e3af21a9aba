// Runs kernel cases from a file: the same program natively, under sanitizers and under qemu-user.
//
//   driver CASES RESULTS FIRST      cases FIRST, FIRST + 1, ... ; results are appended one by one
//
// CASES (written by harness.py, host byte order, every part padded to 8 bytes):
//   u32 magic, u32 number of cases, then per case
//   u32 kernel, n_ptr, n_out, n_attr, i32 work, u32 workspace, u32 inplace (bit i: the first
//   output may take input i's memory), u32 overlap (0: none; else the output may begin overlap - 1
//   bytes before the first input)
//   i32 attr[n_attr]; per operand u64 nbytes, u64 element size, and for inputs the data
// RESULTS: per case i32 status, variant, operand, 0, then the outputs.
//
// Every case runs several times (see `run_variant`); operands lie in regions between two pages that
// cannot be touched, so reads before or after a tensor are seen as well as writes.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // MAP_ANONYMOUS
#endif
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "megcc_kernel.h"

extern const megcc_kernel_fn kernel_table[];

enum { OK, CRASHED, GUARD, DIFFERS, INPUT_WRITTEN };
enum { MAX_PTR = 32, GUARD_BYTES = 256, ALIGN = 64, WORKERS = 3 };
// INPLACE + i: in that of input i; INPLACE_SPLIT + i: the same, split
enum { WHOLE, AT_END, SPLIT, REVERSED, OVERLAP, OVERLAP_SPLIT, INPLACE };
enum { INPLACE_SPLIT = INPLACE + MAX_PTR, VARIANTS = INPLACE_SPLIT + MAX_PTR };

typedef struct {
  uint8_t *begin;
  uint8_t *end;
} region_t;

typedef struct {
  uint32_t kernel, n_ptr, n_out, n_attr;
  int32_t work;
  uint32_t workspace;
  uint32_t inplace;
  uint32_t overlap;
  uint32_t number;
  const int32_t *attr;
  size_t nbytes[MAX_PTR];
  size_t esize[MAX_PTR];
  const uint8_t *data[MAX_PTR];  // NULL for outputs
} case_t;

static region_t regions[MAX_PTR + 1];  // the last one is the workspace
static sigjmp_buf on_signal;
static int workspace_left;  // a range wrote outside of its worker's workspace

static void handler(int sig) { siglongjmp(on_signal, sig); }

static void die(const char *what) {
  fprintf(stderr, "driver: %s\n", what);
  exit(2);
}

static const uint8_t *parse_case(const uint8_t *at, case_t *c) {
  uint32_t head[8];
  memcpy(head, at, sizeof head);
  at += sizeof head;
  c->kernel = head[0], c->n_ptr = head[1], c->n_out = head[2], c->n_attr = head[3];
  c->work = (int32_t)head[4], c->workspace = head[5], c->inplace = head[6], c->overlap = head[7];
  if (c->n_ptr > MAX_PTR) die("too many operands");
  c->attr = (const int32_t *)(const void *)at;
  at += (c->n_attr * 4 + 7) / 8 * 8;
  for (uint32_t i = 0; i < c->n_ptr; ++i) {
    uint64_t size[2];
    memcpy(size, at, sizeof size);
    at += sizeof size;
    c->nbytes[i] = (size_t)size[0], c->esize[i] = (size_t)size[1];
    c->data[i] = NULL;
    if (i < c->n_ptr - c->n_out) {
      c->data[i] = at;
      at += (c->nbytes[i] + 7) / 8 * 8;
    }
  }
  return at;
}

static region_t new_region(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t size = (bytes + 2 * GUARD_BYTES + page - 1) / page * page;
  uint8_t *p = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + page, size, PROT_READ | PROT_WRITE)) die("out of memory");
  return (region_t){p + page, p + page + size};
}

static uint8_t *place(region_t r, size_t nbytes, size_t esize, int variant) {
  if (variant == AT_END) return r.end - nbytes;
  if (variant == SPLIT || variant == REVERSED) return r.begin + ALIGN + esize;
  return r.begin;
}

// Fills `nbytes` at `p` and the guard bytes around them.
static void poison(region_t r, uint8_t *p, size_t nbytes, int value) {
  uint8_t *lo = (size_t)(p - r.begin) > GUARD_BYTES ? p - GUARD_BYTES : r.begin;
  uint8_t *hi = (size_t)(r.end - p) - nbytes > GUARD_BYTES ? p + nbytes + GUARD_BYTES : r.end;
  memset(lo, value, (size_t)(hi - lo));
}

static int guards_intact(region_t r, const uint8_t *p, size_t nbytes, int value) {
  const uint8_t *lo = (size_t)(p - r.begin) > GUARD_BYTES ? p - GUARD_BYTES : r.begin;
  const uint8_t *hi = (size_t)(r.end - p) - nbytes > GUARD_BYTES ? p + nbytes + GUARD_BYTES : r.end;
  for (const uint8_t *q = lo; q < p; ++q)
    if (*q != value) return 0;
  for (const uint8_t *q = p + nbytes; q < hi; ++q)
    if (*q != value) return 0;
  return 1;
}

// Bytes from one worker's workspace to the next one's.
static size_t workspace_stride(const case_t *c) {
  return ((size_t)c->workspace + ALIGN - 1) / ALIGN * ALIGN;
}

// A range as worker `worker` does it: in a workspace of its own that holds anything.
static void call(const case_t *c, void *const *ptr, uint8_t *workspace, int value, uint32_t worker,
                 int32_t begin, int32_t end) {
  workspace += worker * workspace_stride(c);
  poison(regions[MAX_PTR], workspace, c->workspace, value);
  kernel_table[c->kernel](ptr, c->attr, workspace, begin, end);
  if (!guards_intact(regions[MAX_PTR], workspace, c->workspace, value)) workspace_left = 1;
}

static uint32_t random_below(uint32_t *state, uint32_t limit) {
  *state = *state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(*state >> 8) * limit >> 24);
}

// Up to seven ranges, some perhaps empty, by several workers, in any order or from the last to the
// first: other ones for every case.
static void run_random(const case_t *c, int reversed, void *const *ptr, uint8_t *ws, int value) {
  enum { MOST = 7 };
  uint32_t state = c->number * 2654435761u + (uint32_t)c->work + (uint32_t)reversed;
  const uint32_t n = 2 + random_below(&state, MOST - 1);
  int32_t cut[MOST + 1], order[MOST];
  cut[0] = 0, cut[n] = c->work;
  for (uint32_t i = 1; i < n; ++i) {  // sorted as they come
    uint32_t at = i;
    const int32_t x = (int32_t)random_below(&state, (uint32_t)(c->work > 0 ? c->work : 0) + 1);
    for (; at > 1 && cut[at - 1] > x; --at) cut[at] = cut[at - 1];
    cut[at] = x;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t other = random_below(&state, i + 1);
    order[i] = order[other], order[other] = (int32_t)i;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t k = reversed ? (int32_t)(n - 1 - i) : order[i];
    call(c, ptr, ws, value, random_below(&state, WORKERS), cut[k], cut[k + 1]);
  }
}

static void run_ranges(const case_t *c, int variant, void *const *ptr, uint8_t *ws, int value) {
  if (variant == WHOLE || variant == AT_END || variant == OVERLAP ||
      (variant >= INPLACE && variant < INPLACE_SPLIT)) {
    call(c, ptr, ws, value, 0, 0, c->work);
    return;
  }
  if (variant != OVERLAP_SPLIT) {
    run_random(c, variant == REVERSED, ptr, ws, value);
    return;
  }
  const int32_t one = c->work < 1 ? c->work : 1;
  const int32_t third = c->work / 3 < one ? one : c->work / 3;
  const int32_t most = c->work * 5LL / 7 < third ? third : (int32_t)(c->work * 5LL / 7);
  // In order: rows are overwritten that nobody reads any more.
  const int32_t cuts[] = {0, one, third, most, c->work};
  for (int i = 0; i < 4; ++i) call(c, ptr, ws, value, 0, cuts[i], cuts[i + 1]);
}

// 0, or the signal that ended the kernel. A function of its own: nothing in it changes after
// sigsetjmp, so nothing can be lost.
__attribute__((noinline)) static int run_caught(const case_t *c, int variant, void *const *ptr,
                                                uint8_t *ws, int value) {
  const int sig = sigsetjmp(on_signal, 1);
  if (!sig) run_ranges(c, variant, ptr, ws, value);
  return sig;
}

// Bytes of the output and the first input where they overlap.
static size_t shared_bytes(const case_t *c) {
  const size_t out = c->nbytes[c->n_ptr - c->n_out];
  const size_t in = c->overlap ? c->overlap - 1 + c->nbytes[0] : 0;
  return in > out ? in : out;
}

// WHOLE    64-byte aligned operands at the start of their regions, one call
// AT_END   operands end where their region ends, one call
// SPLIT    operands aligned to one element only, up to seven calls in any order
// REVERSED the same, from the last range to the first; each range of both in the workspace of one
//          of three workers
// OVERLAP  as AT_END, the output as far before the first input as it must be; OVERLAP_SPLIT calls
//          four times, in order
// INPLACE  as WHOLE, with the first output in the memory of one input; its number is added;
//          INPLACE_SPLIT calls as SPLIT does
// Returns a status; `*operand` says which operand it is about.
static int run_variant(const case_t *c, int variant, void **ptr, int *operand) {
  const int value = variant == AT_END ? 0xFF : (0xA5 + variant * 0x1D) & 0xFF;  // once a NaN
  const uint32_t n_in = c->n_ptr - c->n_out;
  region_t ws_region = regions[MAX_PTR];
  const size_t ws_bytes = (WORKERS - 1) * workspace_stride(c) + c->workspace;
  uint8_t *ws =
      variant == AT_END
          ? ws_region.begin + ((size_t)(ws_region.end - ws_region.begin) - ws_bytes) / ALIGN * ALIGN
          : ws_region.begin;
  for (uint32_t i = 0; i < c->n_ptr; ++i) {
    ptr[i] = place(regions[i], c->nbytes[i], c->esize[i], variant);
    poison(regions[i], ptr[i], c->nbytes[i], value);
    if (i < n_in) memcpy(ptr[i], c->data[i], c->nbytes[i]);
  }
  const int overlaps = variant == OVERLAP || variant == OVERLAP_SPLIT;
  const size_t both = shared_bytes(c);
  if (overlaps) {
    ptr[n_in] = regions[0].end - both;
    ptr[0] = (uint8_t *)ptr[n_in] + (c->overlap - 1);
    poison(regions[0], ptr[n_in], both, value);
    memcpy(ptr[0], c->data[0], c->nbytes[0]);
  }
  const int inplace = variant < INPLACE ? -1 : (variant - INPLACE) % MAX_PTR;
  if (inplace >= 0) ptr[n_in] = ptr[inplace];
  workspace_left = 0;
  void *given = ptr;
  *operand = run_caught(c, variant, (void *const *)given, ws, value);
  if (*operand) return CRASHED;
  *operand = MAX_PTR;
  if (workspace_left) return GUARD;
  for (uint32_t i = 0; i < c->n_ptr; ++i) {
    *operand = (int)i;
    if (inplace >= 0 && (i == n_in || (int)i == inplace)) continue;
    if (overlaps && i == 0 && !guards_intact(regions[0], ptr[n_in], both, value)) return GUARD;
    if (overlaps && (i == 0 || i == n_in)) continue;
    if (!guards_intact(regions[i], ptr[i], c->nbytes[i], value)) return GUARD;
    if (i < n_in && memcmp(ptr[i], c->data[i], c->nbytes[i])) return INPUT_WRITTEN;
  }
  return OK;
}

static void run_case(const case_t *c, FILE *out) {
  const uint32_t n_in = c->n_ptr - c->n_out;
  static const uint8_t zeros[8];
  uint8_t *first[MAX_PTR] = {0};  // what WHOLE wrote
  int32_t head[4] = {OK, 0, 0, 0};
  for (int variant = 0; variant < VARIANTS && head[0] == OK; ++variant) {
    const uint32_t input = variant < INPLACE ? 0 : (uint32_t)(variant - INPLACE) % MAX_PTR;
    if (variant >= INPLACE && (input >= n_in || !(c->inplace >> input & 1))) continue;
    if ((variant == OVERLAP || variant == OVERLAP_SPLIT) && !c->overlap) continue;
    void *ptr[MAX_PTR];
    int operand = 0;
    head[0] = run_variant(c, variant, ptr, &operand);
    head[1] = variant, head[2] = operand;
    for (uint32_t i = n_in; i < c->n_ptr && head[0] != CRASHED; ++i) {
      if (variant == WHOLE) {
        first[i] = malloc(c->nbytes[i] + 1);
        if (!first[i]) die("out of memory");
        memcpy(first[i], ptr[i], c->nbytes[i]);
      } else if (head[0] == OK && memcmp(first[i], ptr[i], c->nbytes[i])) {
        head[0] = DIFFERS, head[2] = (int32_t)i;
      }
    }
  }
  fwrite(head, sizeof head, 1, out);
  for (uint32_t i = n_in; i < c->n_ptr; ++i) {
    const size_t pad = (8 - c->nbytes[i] % 8) % 8;
    if (first[i]) fwrite(first[i], 1, c->nbytes[i], out);
    for (size_t k = 0; !first[i] && k < c->nbytes[i]; ++k) fputc(0, out);
    fwrite(zeros, 1, pad, out);
    free(first[i]);
  }
  fflush(out);
}

static uint8_t *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) die("cannot open the cases");
  const long size = ftell(f);
  rewind(f);
  uint8_t *data = malloc((size_t)size + 8);
  if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) die("cannot read the cases");
  fclose(f);
  return data;
}

int main(int argc, char **argv) {
  if (argc != 4) die("usage: driver CASES RESULTS FIRST");
  uint8_t *file = read_file(argv[1]);
  FILE *out = fopen(argv[2], "ab");
  if (!out) die("cannot write the results");
  uint32_t head[2];
  memcpy(head, file, sizeof head);
  if (head[0] != 0x4b43474d) die("not a case file");

  size_t most[MAX_PTR + 1] = {0};
  const uint8_t *at = file + 8;
  case_t c;
  for (uint32_t n = 0; n < head[1]; ++n) {
    at = parse_case(at, &c);
    for (uint32_t i = 0; i < c.n_ptr; ++i)
      if (c.nbytes[i] > most[i]) most[i] = c.nbytes[i];
    const size_t scratch = WORKERS * workspace_stride(&c);
    if (scratch > most[MAX_PTR]) most[MAX_PTR] = scratch;
    if (c.overlap && shared_bytes(&c) > most[0]) most[0] = shared_bytes(&c);
  }
  for (int i = 0; i <= MAX_PTR; ++i) regions[i] = new_region(most[i]);
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  for (int i = 0; i < 4; ++i) signal(signals[i], handler);

  at = file + 8;
  for (uint32_t n = 0; n < head[1]; ++n) {
    at = parse_case(at, &c);
    c.number = n;
    if (n >= (uint32_t)atoi(argv[3])) run_case(&c, out);
  }
  fclose(out);
  free(file);
  return 0;
}
