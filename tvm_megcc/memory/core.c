// The planner's inner loops, compiled on demand (native.py) and called through ctypes.
//
// firstfit.py and branch.py hold the same algorithms in Python: the same input gives the same
// output and the same count of work. Sources: MiniMalloc (ASPLOS'23) for sections, canonical
// solutions and dominance; the not-first rule and the head bound are those of unary resources in
// job-shop scheduling, for a section is a machine and an address its time.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAR INT64_MAX
#define EXPORT __attribute__((visibility("default")))

static int64_t align_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- placing in a given order -------------------------------------------------------------------

typedef struct {
  int64_t start, end, first, last;
} rect_t;

typedef struct {
  const int64_t *piece0, *t0, *t1, *lo, *hi, *alignment, *fixed;
  rect_t* placed;  // by start address
  int64_t count;
} arena_t;

static int64_t hole(const arena_t* a, int64_t block, int64_t piece, int64_t floor, int best) {
  const int64_t unit = a->alignment[block], lo = a->lo[piece], bytes = a->hi[piece] - lo;
  int64_t reach = floor + lo, offset = align_up(floor, unit);
  int64_t found = -1, tightest = FAR;
  for (int64_t k = 0; k < a->count; ++k) {
    const rect_t* r = &a->placed[k];
    if (r->first >= a->t1[piece] || r->last <= a->t0[piece]) continue;
    const int64_t room = r->start - (offset + lo);
    if (room >= bytes && room < tightest) {
      if (!best) return offset;
      tightest = room;
      found = offset;
    }
    if (r->end > reach) {
      reach = r->end;
      offset = align_up(reach > lo ? reach - lo : 0, unit);
    }
  }
  return found < 0 ? offset : found;
}

static void put(arena_t* a, int64_t block, int64_t offset) {
  for (int64_t p = a->piece0[block]; p < a->piece0[block + 1]; ++p) {
    const rect_t r = {offset + a->lo[p], offset + a->hi[p], a->t0[p], a->t1[p]};
    int64_t low = 0, high = a->count;
    while (low < high) {
      const int64_t mid = (low + high) / 2;
      if (a->placed[mid].start <= r.start) {
        low = mid + 1;
      } else {
        high = mid;
      }
    }
    memmove(&a->placed[low + 1], &a->placed[low], (size_t)(a->count - low) * sizeof(rect_t));
    a->placed[low] = r;
    a->count++;
  }
}

/// Offsets of `n` blocks placed in `order`, fixed ones first. Returns 0, or -1 without memory.
EXPORT int megcc_memory_place(int64_t n, const int64_t* piece0, const int64_t* t0,
                              const int64_t* t1, const int64_t* lo, const int64_t* hi,
                              const int64_t* alignment, const int64_t* fixed, const int64_t* order,
                              int best, int64_t* offsets) {
  arena_t a = {piece0, t0, t1, lo, hi, alignment, fixed, NULL, 0};
  a.placed = malloc((size_t)(piece0[n] + 1) * sizeof(rect_t));
  if (a.placed == NULL) return -1;
  for (int64_t b = 0; b < n; ++b) {
    if (fixed[b] >= 0) put(&a, b, offsets[b] = fixed[b]);
  }
  for (int64_t k = 0; k < n; ++k) {
    const int64_t b = order[k];
    if (fixed[b] >= 0) continue;
    int64_t offset = 0, before = -1;
    if (piece0[b + 1] - piece0[b] == 1) {
      offset = hole(&a, b, piece0[b], 0, best);
    } else {
      while (offset != before) {
        before = offset;
        for (int64_t p = piece0[b]; p < piece0[b + 1]; ++p) offset = hole(&a, b, p, offset, 0);
      }
    }
    put(&a, b, offsets[b] = offset);
  }
  free(a.placed);
  return 0;
}

// ---- branch and bound ---------------------------------------------------------------------------

enum { SOLVED = 1, INFEASIBLE = 0, LIMIT = -1 };

typedef struct {
  int64_t *where, old;
} change_t;

typedef struct {
  // The problem: blocks, sections (moments in time), and who overlaps whom.
  int32_t n, sections;
  const int64_t *size, *whole, *alignment, *fixed;
  const int32_t *sections_of0, *sections_of, *blocks_in0, *blocks_in, *near0, *near_, *twin;
  const int32_t *first, *last, *lifetime, *rank;
  int64_t cap;
  int tightest;  // branch in the tightest section rather than at the lowest address
  // The node: bounds from below, tops of what is placed below, bytes still to place per section.
  int64_t *low, *base, *rest, *placed, *offset;
  // Undo log, and the sections whose bounds have to be looked at again.
  change_t* log;
  size_t log_n, log_size;
  int32_t *queue, head, tail;
  char* queued;
  int64_t *heads, *sums, *reach;  // scratch
  int32_t* hanging;
  int64_t nodes, work, work_limit;
  double deadline;
  int stopped;
} search_t;

static int set(search_t* s, int64_t* where, int64_t value) {
  if (s->log_n == s->log_size) {
    const size_t size = s->log_size ? 2 * s->log_size : 4096;
    change_t* log = realloc(s->log, size * sizeof(change_t));
    if (log == NULL) {
      s->stopped = 1;
      return 0;
    }
    s->log = log;
    s->log_size = size;
  }
  s->log[s->log_n].where = where;
  s->log[s->log_n++].old = *where;
  *where = value;
  return 1;
}

static void undo(search_t* s, size_t mark) {
  while (s->log_n > mark) {
    --s->log_n;
    *s->log[s->log_n].where = s->log[s->log_n].old;
  }
  while (s->head != s->tail) {
    s->queued[s->queue[s->head]] = 0;
    s->head = s->head == s->sections ? 0 : s->head + 1;
  }
}

static void touch(search_t* s, int32_t section) {
  if (s->queued[section]) return;
  s->queued[section] = 1;
  s->queue[s->tail] = section;
  s->tail = s->tail == s->sections ? 0 : s->tail + 1;
}

/// Block `b`, and its twins above it, lie at `value` or higher.
static int raise_low(search_t* s, int32_t b, int64_t value) {
  for (; b >= 0; value = s->low[b] + s->whole[b], b = s->twin[b]) {
    if (s->placed[b]) continue;
    value = align_up(value, s->alignment[b]);
    if (value <= s->low[b]) return 1;
    if (value + s->size[b] > s->cap || (s->fixed[b] >= 0 && value > s->fixed[b])) return 0;
    if (!set(s, &s->low[b], value)) return 0;
    for (int32_t k = s->sections_of0[b]; k < s->sections_of0[b + 1]; ++k) {
      touch(s, s->sections_of[k]);
    }
  }
  return 1;
}

/// Whether any set {blocks with low >= h} overflows the section: the head bound.
static int heads_fit(search_t* s, int32_t section, int64_t slack) {
  int32_t count = 0;
  for (int32_t k = s->blocks_in0[section]; k < s->blocks_in0[section + 1]; ++k) {
    const int32_t b = s->blocks_in[k];
    if (s->placed[b]) continue;
    int32_t at = count++;
    for (; at > 0 && s->heads[at - 1] < s->low[b]; --at) {
      s->heads[at] = s->heads[at - 1];
      s->sums[at] = s->sums[at - 1];
    }
    s->heads[at] = s->low[b];
    s->sums[at] = s->whole[b];
  }
  s->work += 4 * count;
  int64_t sum = -slack;
  for (int32_t k = 0; k < count; ++k) {
    sum += s->sums[k];
    if (s->heads[k] + sum > s->cap) return 0;
  }
  return 1;
}

static int narrow(search_t* s, int32_t section) {
  const int32_t* begin = s->blocks_in + s->blocks_in0[section];
  const int32_t* end = s->blocks_in + s->blocks_in0[section + 1];
  int64_t floor = FAR, highest = 0, slack = 0;
  for (const int32_t* k = begin; k < end; ++k) {
    if (s->placed[*k]) continue;
    const int64_t low = s->low[*k];
    if (low < floor) floor = low;
    if (low > highest) highest = low;
    if (s->whole[*k] - s->size[*k] > slack) slack = s->whole[*k] - s->size[*k];
  }
  s->work += end - begin;
  const int64_t room = s->cap - s->rest[section] + slack;  // the lowest here lies at most here
  if (floor == FAR) return 1;
  if (floor > room) return 0;
  if (highest <= room) return 1;
  int64_t first_end = FAR;
  for (const int32_t* k = begin; k < end; ++k) {
    if (s->placed[*k] || s->low[*k] > room) continue;
    if (s->low[*k] + s->whole[*k] < first_end) first_end = s->low[*k] + s->whole[*k];
  }
  for (const int32_t* k = begin; k < end; ++k) {
    if (s->placed[*k] || s->low[*k] <= room) continue;
    if (!raise_low(s, *k, first_end)) return 0;
  }
  s->work += 2 * (end - begin);
  return heads_fit(s, section, slack);
}

static int propagate(search_t* s) {
  while (s->head != s->tail) {
    const int32_t section = s->queue[s->head];
    s->head = s->head == s->sections ? 0 : s->head + 1;
    s->queued[section] = 0;
    if (!narrow(s, section)) return 0;
  }
  return 1;
}

/// Whether two blocks are live at once (by their sorted lists of neighbours).
static int meets(const search_t* s, int32_t b, int32_t c) {
  int32_t low = s->near0[b], high = s->near0[b + 1];
  while (low < high) {
    const int32_t mid = (low + high) / 2;
    if (s->near_[mid] < c) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low < s->near0[b + 1] && s->near_[low] == c;
}

/// The lowest end and the lowest start of the unplaced blocks that overlap `b` in time.
static void neighbours(search_t* s, int32_t b, int64_t* end, int64_t* start) {
  *end = *start = FAR;
  for (int32_t k = s->near0[b]; k < s->near0[b + 1]; ++k) {
    const int32_t other = s->near_[k];
    if (s->placed[other]) continue;
    if (s->low[other] + s->whole[other] < *end) *end = s->low[other] + s->whole[other];
    if (s->low[other] < *start) *start = s->low[other];
  }
  s->work += s->near0[b + 1] - s->near0[b];
}

/// Blocks that are kept off the top of what is placed below them will stand on an unplaced one, and
/// something will reach into the hole they left, or else they could drop into it. Their lows follow
/// as shortest paths do, from those that stand already. Sets *changed when a low was raised.
static int support(search_t* s, const int32_t* list, int32_t count, int* changed) {
  int32_t waiting = 0, *hanging = s->hanging;
  for (int32_t k = 0; k < count; ++k) {
    const int32_t b = list[k];
    if (s->placed[b] || s->low[b] == s->base[b] || s->fixed[b] >= 0) continue;
    hanging[waiting++] = b;
    s->reach[b] = FAR;
  }
  s->work += count;
  for (int32_t k = 0; k < waiting; ++k) {
    const int32_t b = hanging[k];
    int64_t end = FAR, start = FAR;
    for (int32_t j = s->near0[b]; j < s->near0[b + 1]; ++j) {
      const int32_t c = s->near_[j];
      if (s->placed[c]) continue;
      if (s->low[c] < start) start = s->low[c];
      if (s->low[c] != s->base[c] && s->fixed[c] < 0) continue;
      if (s->low[c] + s->whole[c] < end) end = s->low[c] + s->whole[c];
    }
    s->work += s->near0[b + 1] - s->near0[b];
    if (start >= s->base[b] + s->whole[b]) return 0;
    s->reach[b] = end < s->low[b] ? s->low[b] : end;
  }
  while (waiting > 0) {
    int32_t at = 0;
    for (int32_t k = 1; k < waiting; ++k) {
      const int64_t mine = s->reach[hanging[k]], best = s->reach[hanging[at]];
      if (mine < best || (mine == best && hanging[k] < hanging[at])) at = k;
    }
    s->work += waiting;
    const int32_t b = hanging[at];
    hanging[at] = hanging[--waiting];
    if (s->reach[b] == FAR) return 0;
    if (s->reach[b] > s->low[b]) {
      if (!raise_low(s, b, s->reach[b])) return 0;
      *changed = 1;
    }
    for (int32_t k = 0; k < waiting; ++k) {
      const int32_t c = hanging[k];
      if (s->reach[c] > s->low[b] + s->whole[b] && meets(s, b, c)) {
        s->reach[c] = s->low[b] + s->whole[b] < s->low[c] ? s->low[c] : s->low[b] + s->whole[b];
      }
    }
  }
  return 1;
}

/// All consequences of what was decided.
static int infer(search_t* s, const int32_t* list, int32_t count) {
  for (int changed = 1; changed;) {
    changed = 0;
    if (!propagate(s) || !support(s, list, count, &changed)) return 0;
  }
  return 1;
}

static int put_at_low(search_t* s, int32_t b) {
  const int64_t top = s->low[b] + s->whole[b];
  // Blocks of one lifetime that lie on each other may be swapped: only one order is tried.
  for (int32_t k = s->near0[b]; k < s->near0[b + 1]; ++k) {
    const int32_t c = s->near_[k];
    if (s->placed[c] && s->offset[c] + s->whole[c] == s->low[b] && s->rank[c] > s->rank[b] &&
        s->lifetime[b] >= 0 && s->lifetime[c] == s->lifetime[b]) {
      return 0;
    }
  }
  s->offset[b] = s->low[b];
  if (!set(s, &s->placed[b], 1)) return 0;
  for (int32_t k = s->sections_of0[b]; k < s->sections_of0[b + 1]; ++k) {
    const int32_t section = s->sections_of[k];
    if (!set(s, &s->rest[section], s->rest[section] - s->whole[b])) return 0;
    touch(s, section);
  }
  for (int32_t k = s->near0[b]; k < s->near0[b + 1]; ++k) {
    const int32_t c = s->near_[k];
    if (s->placed[c]) continue;
    const int64_t base = align_up(top, s->alignment[c]);
    if (s->base[c] < base && !set(s, &s->base[c], base)) return 0;
    if (!raise_low(s, c, top)) return 0;
  }
  s->work += 2 * (s->near0[b + 1] - s->near0[b]);
  return 1;
}

/// The block to branch on: it stands on what is placed, and nothing unplaced fits below it.
static int32_t choose(search_t* s, const int32_t* list, int32_t count) {
  int32_t best = -1;
  int64_t best_room = FAR, best_low = FAR;
  for (int32_t k = 0; k < count; ++k) {
    const int32_t b = list[k];
    if (s->low[b] != s->base[b] && s->fixed[b] < 0) continue;
    int64_t room = 0;
    if (s->tightest) {
      room = FAR;
      for (int32_t j = s->sections_of0[b]; j < s->sections_of0[b + 1]; ++j) {
        const int64_t here = s->cap - s->low[b] - s->rest[s->sections_of[j]];
        if (here < room) room = here;
      }
      s->work += s->sections_of0[b + 1] - s->sections_of0[b];
    }
    if (room > best_room) continue;
    if (room == best_room) {
      if (s->low[b] > best_low) continue;
      if (s->low[b] == best_low && best >= 0 && s->rank[b] > s->rank[best]) continue;
    }
    if (s->tightest) {
      int64_t end, start;
      neighbours(s, b, &end, &start);
      if (end <= s->low[b]) continue;
    }
    best = b;
    best_room = room;
    best_low = s->low[b];
  }
  s->work += count;
  return best;
}

static int out_of_time(search_t* s) {
  ++s->nodes;
  if (s->work > s->work_limit || ((s->nodes & 63) == 0 && now() > s->deadline)) s->stopped = 1;
  return s->stopped;
}

static int solve(search_t* s, const int32_t* list, int32_t count);

/// Blocks of the first part of a list, sorted by first section, that shares no section with the
/// rest.
static int32_t first_part(const search_t* s, const int32_t* list, int32_t count) {
  int32_t k = 1, reach = s->last[list[0]];
  for (; k < count && s->first[list[k]] < reach; ++k) {
    if (s->last[list[k]] > reach) reach = s->last[list[k]];
  }
  return k;
}

/// Each part is a problem of its own.
static int solve_parts(search_t* s, const int32_t* list, int32_t count) {
  while (count > 0) {
    const int32_t n = first_part(s, list, count);
    if (!solve(s, list, n)) return 0;
    list += n;
    count -= n;
  }
  return 1;
}

/// Place the chosen block where it is, or find out that it lies higher, until nothing is left.
static int search(search_t* s, int32_t* list, int32_t count) {
  for (;;) {
    int32_t left = 0;
    for (int32_t k = 0; k < count; ++k) {
      if (!s->placed[list[k]]) list[left++] = list[k];
    }
    count = left;
    if (count == 0) return 1;
    if (out_of_time(s)) return 0;
    if (first_part(s, list, count) < count) return solve_parts(s, list, count);
    const int32_t b = choose(s, list, count);
    if (b < 0) return 0;
    const size_t mark = s->log_n;
    if (put_at_low(s, b) && infer(s, list, count) && solve(s, list, count)) return 1;
    undo(s, mark);
    if (s->stopped || s->fixed[b] >= 0) return 0;
    int64_t end, start;
    neighbours(s, b, &end, &start);
    if (start >= s->low[b] + s->whole[b]) return 0;  // nothing could keep it off its place
    if (!raise_low(s, b, end) || !infer(s, list, count)) return 0;
  }
}

static int solve(search_t* s, const int32_t* list, int32_t count) {
  const size_t mark = s->log_n;
  int32_t* mine = malloc((size_t)count * sizeof(int32_t));
  if (mine == NULL) {
    s->stopped = 1;
    return 0;
  }
  memcpy(mine, list, (size_t)count * sizeof(int32_t));
  const int found = search(s, mine, count);
  free(mine);
  if (!found) undo(s, mark);
  return found;
}

/// Search for offsets below `cap`. The arrays are those of branch.py; `counters` receives the nodes
/// and the work. Returns SOLVED, INFEASIBLE (proved), or LIMIT (out of work, time or memory).
EXPORT int megcc_memory_search(int32_t n, int32_t sections, const int64_t* size,
                               const int64_t* whole, const int64_t* alignment, const int64_t* fixed,
                               const int32_t* sections_of0, const int32_t* sections_of,
                               const int32_t* blocks_in0, const int32_t* blocks_in,
                               const int32_t* near0, const int32_t* near_, const int32_t* twin,
                               const int32_t* first, const int32_t* last, const int32_t* lifetime,
                               const int32_t* rank, int64_t cap, int tightest, int64_t work_limit,
                               double seconds, int64_t* offsets, int64_t* counters) {
  search_t s = {0};
  s.n = n, s.sections = sections, s.size = size, s.whole = whole, s.alignment = alignment;
  s.fixed = fixed, s.sections_of0 = sections_of0, s.sections_of = sections_of;
  s.blocks_in0 = blocks_in0, s.blocks_in = blocks_in, s.near0 = near0, s.near_ = near_;
  s.twin = twin, s.first = first, s.last = last, s.lifetime = lifetime, s.rank = rank;
  s.cap = cap, s.tightest = tightest, s.work_limit = work_limit, s.deadline = now() + seconds;
  s.offset = offsets;
  int result = LIMIT;
  const size_t blocks = (size_t)n, moments = (size_t)sections;
  int64_t* numbers = calloc(6 * blocks + moments, sizeof(int64_t));
  int32_t* indices = calloc(2 * blocks + moments + 1, sizeof(int32_t));
  s.queued = calloc(moments + 1, 1);
  if (numbers != NULL && indices != NULL && s.queued != NULL) {
    s.low = numbers, s.base = s.low + n, s.placed = s.base + n;
    s.heads = s.placed + n, s.sums = s.heads + n, s.reach = s.sums + n, s.rest = s.reach + n;
    int32_t* all = indices;
    s.hanging = indices + n;
    s.queue = s.hanging + n;
    int fine = 1;
    for (int32_t k = 0; k < sections; ++k) {
      for (int32_t j = blocks_in0[k]; j < blocks_in0[k + 1]; ++j) s.rest[k] += whole[blocks_in[j]];
      touch(&s, k);
    }
    for (int32_t b = 0; b < n; ++b) {
      all[b] = b;
      if (size[b] > cap || fixed[b] + size[b] > cap) fine = 0;
    }
    for (int32_t b = 0; fine && b < n; ++b) {
      if (fixed[b] > 0) fine = raise_low(&s, b, fixed[b]);
      if (fine && twin[b] >= 0) fine = raise_low(&s, twin[b], s.low[b] + whole[b]);
    }
    const int found = fine && infer(&s, all, n) && (n == 0 || solve(&s, all, n));
    result = found ? SOLVED : s.stopped ? LIMIT : INFEASIBLE;
  }
  counters[0] = s.nodes;
  counters[1] = s.work;
  free(numbers);
  free(indices);
  free(s.queued);
  free(s.log);
  return result;
}
