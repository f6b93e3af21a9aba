// Runs the model from the command line: inputs from raw files or random, outputs to raw files,
// times, a profile. See `run --help`. The steps are functions of the files in runner/.
#include "runner/features.h"
#include "runner/runner.h"

#include <string.h>

// Define these on the compiler's command line (-include hooks.h) to measure the timed runs, or to
// look at them: `context` is the megcc_context_t that runs.
#ifndef MEGCC_BENCH_BEGIN
#define MEGCC_BENCH_BEGIN() ((void)0)
#endif
#ifndef MEGCC_BENCH_END
#define MEGCC_BENCH_END() ((void)0)
#endif

static int run_model(int argc, char **argv) {
  const struct options o = parse(argc, argv);
  const megcc_kernels_t *kernels;
  const char *machine;
  megcc_image_t image;
  megcc_model_t *model;
  megcc_context_t *context;
  double *times, *begins;
  uint32_t i, count;
  long r;

  times = (double *)allocate((size_t)o.repeat * sizeof *times);
  begins = (double *)allocate((size_t)o.repeat * sizeof *begins);
  kernels = kernels_for(o.machine, &machine);
  image = image_from(o.model, argv[0], machine);
  check(megcc_model_open(&image, kernels, allocate(MEGCC_MODEL_BYTES), MEGCC_MODEL_BYTES, &model),
        "model");
  check(megcc_model_verify(model), "weights");
  context = make_context(&o, model);
  bind_inputs(&o, model, context);
  if (o.check_shapes) return 0;
  prepare_profile(&o);
  use_threads(&o, context);

  keep_states(model, context);
  for (r = 0; r < o.warmup; ++r) check_run(megcc_run(context), context);
  if (o.warmup > 0) restore_states();
  begin_profile(&o, context);
  MEGCC_BENCH_BEGIN();
  for (r = 0; r < o.repeat; ++r) {
    if (r > 0) restore_states();
    begin_run(r);
    begins[r] = now_ms();
    check_run(megcc_run(context), context);
    times[r] = now_ms() - begins[r];
  }
  MEGCC_BENCH_END();

  check(megcc_output_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    megcc_tensor_info_t t;
    const void *data;
    check(megcc_output_info(context, i, &t), NULL);
    check(megcc_output_data(context, i, &data), t.name);
    summarise(i, &t, data);
  }
  print_times(times, o.repeat);
  if (o.profile) print_profile(o.repeat);
  if (o.trace != NULL) write_trace(&o, machine, model, context, begins, times);
  if (o.output_dir != NULL) write_outputs(o.output_dir, model, context, times, o.repeat);
  return 0;
}

int main(int argc, char **argv) {
#if MODEL_GENERATES
  if (argc > 1 && !strcmp(argv[1], "generate")) return generate(argc - 1, argv + 1, argv[0]);
#endif
  return run_model(argc, argv);
}
