/// A pool of threads for megcc_set_parallel: POSIX threads, in the caller's memory.
///
///     megcc_pool_create     starts the threads
///     megcc_set_parallel    (context, megcc_pool_run, pool) of every context that is to use it
///     megcc_run             as ever, from any thread
///     megcc_pool_destroy    when no run is going on
///
/// One pool serves any number of contexts and models, also at the same time. Results do not depend
/// on the number of threads. A model's calls that need a workspace are split among as many workers
/// as `tvmc compile --threads` was told, at most.
#ifndef MEGCC_POOL_H
#define MEGCC_POOL_H

#include "megcc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct megcc_pool megcc_pool_t;

/// Bytes of the memory that a pool of so many workers needs.
MEGCC_API size_t megcc_pool_bytes(uint32_t workers);

/// Starts a pool in `mem`, aligned for a pointer. A worker is a thread that computes; the one that
/// calls megcc_run is the first of them, so a pool of one starts no thread. Where the system has no
/// more threads, the pool has fewer workers than it was asked for.
MEGCC_API megcc_status_t megcc_pool_create(uint32_t workers, void *mem, size_t bytes,
                                           megcc_pool_t **pool);

/// How many workers the pool has.
MEGCC_API uint32_t megcc_pool_workers(const megcc_pool_t *pool);

/// The hook for megcc_set_parallel, whose `user` is the pool. The range of work is handed out in
/// pieces that become smaller, so that a slow core does not hold up the others.
MEGCC_API void megcc_pool_run(void *pool, megcc_range_fn range, const void *task, int32_t work,
                              int32_t grain, uint32_t workers);

/// Ends the threads; the memory is the caller's again.
MEGCC_API void megcc_pool_destroy(megcc_pool_t *pool);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_POOL_H
