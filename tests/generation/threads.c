// Two sequences of one model in two threads, their calls split in a pool that both use.
#include <pthread.h>

#include "expecting.h"
#include "megcc_pool.h"

enum { CAPACITY = 64, CHUNK = 16, MADE = 40 };

typedef struct job {
  const megcc_model_t *model;
  megcc_pool_t *pool;  // null: none
  int32_t first;
  int32_t tokens[CAPACITY];
} job_t;

static void *speak(void *arg) {
  job_t *const job = (job_t *)arg;
  megcc_context_t *const context = new_context(job->model);
  int32_t prompt[20];
  megcc_sampler_t sampler = {0};
  megcc_generation_t what;
  megcc_generator_t *g;
  size_t bytes;
  int i;
  for (i = 0; i < 20; ++i) prompt[i] = (job->first + 37 * i) % LOGITS;
  if (job->pool != NULL) {
    EXPECT(megcc_set_parallel(context, megcc_pool_run, job->pool) == MEGCC_OK);
  }
  EXPECT(megcc_generator_bytes(job->model, context, NULL, CAPACITY, CHUNK, &bytes) == MEGCC_OK);
  EXPECT(megcc_generator_create(job->model, context, NULL, CAPACITY, CHUNK, aligned(bytes), bytes,
                                &g) == MEGCC_OK);
  memset(&what, 0, sizeof what);
  what.prompt = prompt;
  what.prompt_count = 20;
  what.most = MADE;
  sampler.temperature = 1;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_OK);
  memcpy(job->tokens, megcc_cache_tokens(megcc_generator_cache(g)), sizeof job->tokens);
  return NULL;
}

int main(void) {
  const megcc_model_t *const model = open_decoder();
  static job_t together[2], alone[2];
  pthread_t thread[2];
  megcc_pool_t *pool;
  int k;
  EXPECT(megcc_pool_create(2, aligned(megcc_pool_bytes(2)), megcc_pool_bytes(2), &pool) ==
         MEGCC_OK);
  for (k = 0; k < 2; ++k) {
    together[k].model = alone[k].model = model;
    together[k].first = alone[k].first = 3 + 100 * k;
    together[k].pool = pool;
    EXPECT(pthread_create(&thread[k], NULL, speak, &together[k]) == 0);
  }
  for (k = 0; k < 2; ++k) EXPECT(pthread_join(thread[k], NULL) == 0);
  megcc_pool_destroy(pool);
  for (k = 0; k < 2; ++k) {
    (void)speak(&alone[k]);
    EXPECT(!memcmp(alone[k].tokens, together[k].tokens, sizeof alone[k].tokens));
  }
  puts("fine");
  return 0;
}
