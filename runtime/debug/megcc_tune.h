// Hooks with which `tvmc tune` builds a package's runner, beside megcc_tune.c. No package has this
// file.
#ifndef MEGCC_TUNE_H
#define MEGCC_TUNE_H

struct megcc_context;

// Runs the model once as it is, then lets each call of the runs to come be measured by itself. The
// file that the environment's MEGCC_TUNE names gets a line "call nanoseconds" for each; where the
// program runs under the counter's plugin, the first region is the whole run, then one is each
// call.
void megcc_tune_begin(struct megcc_context *context);
void megcc_tune_end(struct megcc_context *context);

#define MEGCC_BENCH_BEGIN() megcc_tune_begin(context)
#define MEGCC_BENCH_END() megcc_tune_end(context)

#endif  // MEGCC_TUNE_H
