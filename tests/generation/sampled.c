// Tokens drawn from the logits of standard input: two counts, floats, tokens that were.
#include <stdio.h>
#include <stdlib.h>

#include "megcc_sampler.h"

static megcc_sampler_t sampler(char **argv) {
  megcc_sampler_t s;
  s.temperature = strtof(argv[0], NULL);
  s.top_k = atoi(argv[1]);
  s.top_p = strtof(argv[2], NULL);
  s.min_p = strtof(argv[3], NULL);
  s.repetition_penalty = strtof(argv[4], NULL);
  s.seed = strtoull(argv[5], NULL, 10);
  s.draws = 0;
  return s;
}

int main(int argc, char **argv) {
  uint32_t sizes[2];
  float *logits;
  int32_t *history, token;
  megcc_sampler_t s;
  void *work;
  int n;
  if (argc != 8 || fread(sizes, 4, 2, stdin) != 2) return 2;
  logits = malloc(4 * sizes[0] + 4);
  history = malloc(4 * sizes[1] + 4);
  work = malloc(megcc_sample_bytes(sizes[0]) + 4);
  if (fread(logits, 4, sizes[0], stdin) != sizes[0]) return 2;
  if (fread(history, 4, sizes[1], stdin) != sizes[1]) return 2;
  s = sampler(argv + 1);
  for (n = atoi(argv[7]); n > 0; --n) {
    const megcc_status_t status = megcc_sample(&s, logits, sizes[0], history, sizes[1], work,
                                               megcc_sample_bytes(sizes[0]), &token);
    printf("%ld\n", status == MEGCC_OK ? (long)token : -(long)status);
  }
  free(logits);
  free(history);
  free(work);
  return 0;
}
