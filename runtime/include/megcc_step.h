/// megcc_step.h: a run in pieces, for programs that have other things to do meanwhile: run the next
/// calls and return; cancel the rest, also from another thread or an interrupt. In packages made by
/// `tvmc compile --stepping`.
#ifndef MEGCC_STEP_H
#define MEGCC_STEP_H

#include "megcc.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A run in pieces of one context. The members are the library's.
typedef struct megcc_stepper {
  megcc_context_t *context;
  const uint32_t *next;  // the instruction to go on with, null where no run is going on
  volatile uint32_t cancelled;
  const uint32_t *moved;  // the call that reads a copy of its weights, or null
  const void *copy;
} megcc_stepper_t;

typedef enum megcc_step_state {
  MEGCC_STEP_MORE,       // call megcc_step again
  MEGCC_STEP_DONE,       // the outputs are there, as after megcc_run
  MEGCC_STEP_CANCELLED,  // by megcc_step_cancel: there are no outputs
  MEGCC_STEP_ROWS        // call megcc_put_rows, then megcc_step again
} megcc_step_state_t;

/// Prepares a stepper for a context; no run is going on then.
MEGCC_API megcc_status_t megcc_stepper_init(megcc_stepper_t *stepper, megcc_context_t *context);

/// Goes on with the run, or begins one where none is going on: executes at most `calls` kernel
/// calls and says in `state` how things stand. An error ends the run. While a run is going on,
/// inputs, outputs, shapes and memory of the context stay as they are, and it does no other run:
/// after one, MEGCC_ERR_NOT_RUN is the answer, and the run in pieces is over.
MEGCC_API megcc_status_t megcc_step(megcc_stepper_t *stepper, uint32_t calls,
                                    megcc_step_state_t *state);

/// The rows of an input that a run in pieces waits for (MEGCC_STEP_ROWS).
typedef struct megcc_rows {
  uint32_t input;    // number of the input
  uint32_t image;    // number of the image, where the input has several, one after the other
  uint32_t first;    // row of the image, counted from the top
  uint32_t count;    // rows from there on that are still missing: at least 1
  uint32_t height;   // rows of a whole image
  uint32_t planes;   // 1: a row's pixels have all their channels (interleaved); else planar
  size_t row_bytes;  // of one row: all its pixels from left to right, in one of the planes
  void *data;        // where row `first` goes, its planes one after the other, then the next row
} megcc_rows_t;

/// Describes the rows that are still missing. MEGCC_ERR_NOT_RUN: the run does not wait for rows.
///
/// In packages made by `tvmc compile --io stream`. Where the input is not bound, megcc_step stops
/// with MEGCC_STEP_ROWS for each band of its rows. Where it is bound to a whole image, its rows are
/// read from there.
MEGCC_API megcc_status_t megcc_rows_wanted(const megcc_stepper_t *stepper, megcc_rows_t *rows);

/// Gives the run the next `count` rows of an input, in the input's element type. The rows of an
/// interleaved image lie one after the other. Of an image of C planes, `data` is C planes of
/// `count` rows each: `count` rows of the first plane, then as many of the second one, and so on.
/// They are copied, unless `data` is that of megcc_rows_wanted: then they are there. Fewer rows
/// than wanted may be given; megcc_step then stops again. On an error nothing is written.
/// MEGCC_ERR_INDEX: the run waits for rows of another input. MEGCC_ERR_SIZE: there are more rows
/// than wanted. MEGCC_ERR_NOT_RUN: the run does not wait for rows.
MEGCC_API megcc_status_t megcc_put_rows(megcc_stepper_t *stepper, uint32_t input, const void *data,
                                        uint32_t count);

/// Ends the run that is going on before its next call; the thread that runs it is told by
/// megcc_step. Where none is going on, nothing happens. May be called at any time, by anyone.
MEGCC_API void megcc_step_cancel(megcc_stepper_t *stepper);

/// The weights of a call to come, for programs that copy them to faster memory while other calls
/// compute: where the largest constant that it reads lies in the model. `ahead` calls come before
/// it: 0 is the next one. No bytes where the call reads no constant, or where it is not known which
/// call that will be: behind the end of the run, or a branch.
MEGCC_API megcc_status_t megcc_step_weights(const megcc_stepper_t *stepper, uint32_t ahead,
                                            megcc_bytes_t *weights);

/// Lets the next call read these weights from a copy, 8-byte aligned, which is complete when the
/// call begins. MEGCC_ERR_SIZE: the call has weights of another size, or none. Null takes it back.
MEGCC_API megcc_status_t megcc_step_use(megcc_stepper_t *stepper, const void *copy, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_STEP_H
