// Fills dead memory with NaN in a debug build.
#include "megcc_port.h"

#if defined(MEGCC_DEBUG)
static void poison(uint8_t *data, size_t bytes) {
  while (bytes-- > 0) *data++ = 0xFF;
}

void megcc_poison_arena(megcc_context_t *c) {
  const megcc_model_t *m = c->model;
  uint32_t pool, i;
  for (pool = 0; pool < m->count[MEGCC_S_POOLS]; ++pool) {
    const size_t bytes = c->shaped != NULL ? c->shaped->arena_bytes : megcc_pool_bytes(m, pool);
    size_t at = 0;
    while (at < bytes) {
      // Up to the next waiting input, then past it; inputs may lie in any order.
      size_t end = bytes, next = bytes;
      for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i) {
        struct port p;
        size_t start, stop;
        megcc_find_port(c, i, &p);
        start = p.tensor.offset;
        if (!(p.state->flags & MEGCC_PORT_FILLED)) continue;
        if (p.tensor.index >= m->count[MEGCC_S_POOLS]) {  // in a block of the only pool
          start += (size_t)(*megcc_pool(c, p.tensor.index) - *megcc_pool(c, 0));
        } else if (p.tensor.index != pool) {
          continue;
        }
        stop = start + p.tensor.bytes;
        if (stop <= at || start >= end) continue;
        end = start < at ? at : start;
        next = stop;
      }
      poison(*megcc_pool(c, pool) + at, end - at);
      at = next;
    }
  }
}

void megcc_poison_dead(megcc_context_t *c) {
  const megcc_model_t *m = c->model;
  const megcc_plan_t *plan = m->kernels->plan + m->function;
  uint32_t i;
  for (i = 0; i < plan->count; ++i) {
    const megcc_block_t *b = plan->blocks + i;
    if (b->last != c->call + 1) continue;
    if (b->pool < m->count[MEGCC_S_POOLS]) {
      poison(*megcc_pool(c, b->pool) + (size_t)b->offset, (size_t)b->bytes);
    } else {
      const uint32_t block = b->pool - m->count[MEGCC_S_POOLS];
      const size_t size = c->shaped->size[block], room = c->shaped->room[block];
      poison(*megcc_pool(c, b->pool), size < room ? size : room);
    }
  }
}
#endif
