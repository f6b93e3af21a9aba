// Hooks with which `tvmc run --dump` builds a package's runner, beside megcc_dump.c. No package has
// this file.
#ifndef MEGCC_DUMP_H
#define MEGCC_DUMP_H

struct megcc_context;

// From here on each call's outputs are appended to the file that the environment's MEGCC_DUMP
// names.
void megcc_dump_begin(struct megcc_context *context);
void megcc_dump_end(struct megcc_context *context);

#define MEGCC_BENCH_BEGIN() megcc_dump_begin(context)
#define MEGCC_BENCH_END() megcc_dump_end(context)

#endif  // MEGCC_DUMP_H
