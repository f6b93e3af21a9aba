// A pool of POSIX threads. Not part of a package's library unless it is asked for.
//
// A call to be split is a job on its caller's stack, in a list that the pool's lock guards. A
// thread that finds a job joins it under the next number of a worker, takes pieces until none is
// left, and leaves. The caller works as number 0, takes the job off the list and waits for those
// who joined.
//
// A thread that waits polls before it sleeps: the next call of a model comes within microseconds,
// and waking a thread takes tens of them.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L  // clock_gettime
#endif
#include "megcc_pool.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

// Nanoseconds for which a waiting thread keeps its core, offers it to others, then sleeps.
enum { KEEP = 20000, OFFER = 200000 };

// Units of work that are few, whatever a unit is.
enum { FEW = 32 };

struct job {
  megcc_range_fn range;
  const void *task;
  int32_t work, grain;
  int32_t least;    // of a piece
  int32_t next;     // first piece that nobody has taken
  uint32_t limit;   // most workers
  uint32_t joined;  // workers so far
  uint32_t active;  // threads of the pool that are at it
  struct job *following;
};

struct megcc_pool {
  pthread_mutex_t lock;
  pthread_cond_t posted;    // a job, or the end
  pthread_cond_t finished;  // the last thread has left a job
  struct job *jobs;
  uint32_t posts;     // changes with every job that comes
  uint32_t sleeping;  // threads that wait for `posted`
  uint32_t stop;
  uint32_t threads;
  pthread_t thread[1];  // so many
};

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_a_moment(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

// Waits until `*value` is no longer `old`: 1, or 0 after a while. The clock is read seldom: a pause
// takes 5 to 50 nanoseconds, and each counts for the call that waits to be split.
static int changes(const uint32_t *value, uint32_t old) {
  const int64_t start = now();
  for (;;) {
    int64_t passed;
    int i;
    for (i = 0; i < 16; ++i) {
      if (__atomic_load_n(value, __ATOMIC_ACQUIRE) != old) return 1;
      pause_a_moment();
    }
    passed = now() - start;
    if (passed > OFFER) return 0;
    if (passed > KEEP) sched_yield();
  }
}

// ---- pieces --------------------------------------------------------------------------------

// Takes the next piece of a job: half of an equal share of what is left, so that the last pieces
// are small, but no less than `least`, as a kernel prepares its rows again for each piece.
static int take(struct job *job, int32_t *begin, int32_t *end) {
  int32_t at = __atomic_load_n(&job->next, __ATOMIC_RELAXED);
  for (;;) {
    const int32_t left = job->work - at;
    int32_t n = left / (int32_t)(2 * job->limit);
    if (left <= 0) return 0;
    if (n < job->least) n = job->least;
    if (left - n < job->grain) n = left;
    if (__atomic_compare_exchange_n(&job->next, &at, at + n, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      *begin = at;
      *end = at + n;
      return 1;
    }
  }
}

// Units of work of the smallest piece: a job of few units has two pieces for each worker.
static int32_t least_of(const struct job *job) {
  const int32_t half = job->work / (int32_t)(2 * job->limit);
  const int32_t least = half < FEW ? half : FEW;
  return least < job->grain ? job->grain : least;
}

static void work_on(struct job *job, uint32_t worker) {
  int32_t begin, end;
  while (take(job, &begin, &end)) job->range(job->task, worker, begin, end);
}

// ---- threads -------------------------------------------------------------------------------

// Joins the job that has the fewest workers of those that want more; null when none does. The lock
// is held.
static struct job *join(megcc_pool_t *pool, uint32_t *worker) {
  struct job *job, *found = NULL;
  for (job = pool->jobs; job != NULL; job = job->following) {
    if (job->joined == job->limit) continue;
    if (__atomic_load_n(&job->next, __ATOMIC_RELAXED) >= job->work) continue;
    if (found == NULL || job->joined < found->joined) found = job;
  }
  if (found != NULL) {
    *worker = found->joined++;
    __atomic_store_n(&found->active, found->active + 1, __ATOMIC_RELAXED);
  }
  return found;
}

// The job is its caller's as soon as nobody is active. The lock is held.
static void leave(megcc_pool_t *pool, struct job *job) {
  const uint32_t active = job->active - 1;
  __atomic_store_n(&job->active, active, __ATOMIC_RELEASE);
  if (active == 0) pthread_cond_broadcast(&pool->finished);
}

static void *serve(void *arg) {
  megcc_pool_t *pool = (megcc_pool_t *)arg;
  pthread_mutex_lock(&pool->lock);
  while (!pool->stop) {
    const uint32_t posts = pool->posts;
    uint32_t worker;
    struct job *job = join(pool, &worker);
    pthread_mutex_unlock(&pool->lock);
    if (job != NULL) {
      work_on(job, worker);
      pthread_mutex_lock(&pool->lock);
      leave(pool, job);
      continue;
    }
    if (changes(&pool->posts, posts)) {
      pthread_mutex_lock(&pool->lock);
      continue;
    }
    pthread_mutex_lock(&pool->lock);
    ++pool->sleeping;
    while (pool->posts == posts) pthread_cond_wait(&pool->posted, &pool->lock);
    --pool->sleeping;
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

// ---- the caller's side ---------------------------------------------------------------------

void megcc_pool_run(void *user, megcc_range_fn range, const void *task, int32_t work, int32_t grain,
                    uint32_t workers) {
  megcc_pool_t *pool = (megcc_pool_t *)user;
  struct job job, **at;
  uint32_t wake, active;
  job.range = range;
  job.task = task;
  job.work = work;
  job.grain = grain < 1 ? 1 : grain;
  job.next = 0;
  job.limit = workers < pool->threads + 1 ? workers : pool->threads + 1;
  if (work / job.grain < (int32_t)job.limit) job.limit = (uint32_t)(work / job.grain);
  job.joined = 1;
  job.active = 0;
  if (job.limit <= 1) {
    range(task, 0, 0, work);
    return;
  }
  job.least = least_of(&job);

  pthread_mutex_lock(&pool->lock);
  job.following = pool->jobs;
  pool->jobs = &job;
  __atomic_store_n(&pool->posts, pool->posts + 1, __ATOMIC_RELEASE);
  wake = pool->sleeping;
  pthread_mutex_unlock(&pool->lock);
  if (wake >= job.limit) wake = job.limit - 1;
  while (wake-- > 0) pthread_cond_signal(&pool->posted);

  work_on(&job, 0);

  pthread_mutex_lock(&pool->lock);
  for (at = &pool->jobs; *at != &job; at = &(*at)->following) {
  }
  *at = job.following;
  active = job.active;
  pthread_mutex_unlock(&pool->lock);
  while (active != 0 && changes(&job.active, active)) {
    active = __atomic_load_n(&job.active, __ATOMIC_ACQUIRE);
  }
  if (active != 0) {
    pthread_mutex_lock(&pool->lock);
    while (job.active != 0) pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
  }
}

// ---- life ----------------------------------------------------------------------------------

size_t megcc_pool_bytes(uint32_t workers) {
  return sizeof(megcc_pool_t) + (size_t)workers * sizeof(pthread_t);
}

uint32_t megcc_pool_workers(const megcc_pool_t *pool) { return pool->threads + 1; }

megcc_status_t megcc_pool_create(uint32_t workers, void *mem, size_t bytes, megcc_pool_t **pool) {
  megcc_pool_t *p = (megcc_pool_t *)mem;
  if (pool == NULL) return MEGCC_ERR_NULL;
  *pool = NULL;
  if (mem == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)mem % sizeof(void *) != 0) return MEGCC_ERR_ALIGNMENT;
  if (bytes < megcc_pool_bytes(workers)) return MEGCC_ERR_MEMORY;
  p->jobs = NULL;
  p->posts = p->sleeping = p->stop = p->threads = 0;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->posted, NULL);
  pthread_cond_init(&p->finished, NULL);
  while (p->threads + 1 < workers && pthread_create(&p->thread[p->threads], NULL, serve, p) == 0) {
    ++p->threads;
  }
  *pool = p;
  return MEGCC_OK;
}

void megcc_pool_destroy(megcc_pool_t *pool) {
  uint32_t i;
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->lock);
  pool->stop = 1;
  __atomic_store_n(&pool->posts, pool->posts + 1, __ATOMIC_RELEASE);
  pthread_cond_broadcast(&pool->posted);
  pthread_mutex_unlock(&pool->lock);
  for (i = 0; i < pool->threads; ++i) pthread_join(pool->thread[i], NULL);
  pthread_cond_destroy(&pool->finished);
  pthread_cond_destroy(&pool->posted);
  pthread_mutex_destroy(&pool->lock);
}
