// One pool of threads for two contexts that run at the same time: the values are those of a run
// without a pool, whatever the number of workers.
#include <pthread.h>

#include "megcc_pool.h"
#include "threaded.h"

enum { RUNS = 2 };

struct caller {
  struct net net;
  const struct net *expected;
};

static void *work(void *arg) {
  struct caller *caller = (struct caller *)arg;
  int run;
  for (run = 0; run < RUNS; ++run) {
    memset(caller->net.outputs, 0, caller->net.bytes);
    run_net(&caller->net);
    CHECK(memcmp(caller->net.outputs, caller->expected->outputs, caller->net.bytes) == 0);
  }
  return NULL;
}

// Many small jobs: each number is met once.
static void count(const void *task, uint32_t worker, int32_t begin, int32_t end) {
  int32_t *met = *(int32_t *const *)task;
  (void)worker;
  for (; begin < end; ++begin) ++met[begin];
}

static void check_ranges(megcc_pool_t *pool) {
  int32_t met[1000], *task = met, work, grain, i;
  for (work = 2; work <= 1000; work += 1 + work / 7) {
    for (grain = 0; grain <= work; grain = 2 * grain + 1) {
      memset(met, 0, sizeof met);
      megcc_pool_run(pool, count, &task, work, grain, 1 + (uint32_t)(work + grain) % 5);
      for (i = 0; i < 1000; ++i) CHECK(met[i] == (i < work));
    }
  }
}

int main(int argc, char **argv) {
  megcc_model_t *model = open_model();
  struct net serial = make_net(model);
  struct caller callers[2] = {{make_net(model), &serial}, {make_net(model), &serial}};
  pthread_t thread[2];
  int a, i;
  run_net(&serial);
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_create(2, NULL, 0, NULL));
  for (a = 1; a < argc; ++a) {
    const uint32_t workers = (uint32_t)atoi(argv[a]);
    const size_t bytes = megcc_pool_bytes(workers);
    char *mem = (char *)aligned_memory(bytes + 1);
    megcc_pool_t *pool;
    CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_create(workers, NULL, bytes, &pool));
    CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_pool_create(workers, mem, bytes - 1, &pool));
    CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_pool_create(workers, mem + 1, bytes, &pool));
    CHECK(pool == NULL);
    CHECK_STATUS(MEGCC_OK, megcc_pool_create(workers, mem, bytes, &pool));
    CHECK(megcc_pool_workers(pool) == workers);
    check_ranges(pool);
    for (i = 0; i < 2; ++i) {
      CHECK_STATUS(MEGCC_OK, megcc_set_parallel(callers[i].net.context, megcc_pool_run, pool));
      CHECK(pthread_create(&thread[i], NULL, work, &callers[i]) == 0);
    }
    for (i = 0; i < 2; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    megcc_pool_destroy(pool);
  }
  free_memory();
  return 0;
}
