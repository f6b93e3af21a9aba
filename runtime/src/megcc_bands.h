// What BAND and SLIDE share with BAND_SIZED and SLIDE_SIZED. Not for applications.
#ifndef MEGCC_BANDS_H
#define MEGCC_BANDS_H

#include "megcc_vm.h"

enum { MEGCC_PATCH_WORDS = 2 };  // of a patch of BAND

enum {
  MEGCC_SLIDE_COUNTER = 1,
  MEGCC_SLIDE_TENSOR,
  MEGCC_SLIDE_BYTES,
  MEGCC_SLIDE_BASE,
  MEGCC_SLIDE_MADE = MEGCC_SLIDE_BASE + 3,
  MEGCC_SLIDE_PERIOD,
  MEGCC_SLIDE_WORDS
};

// Checks the words that are no sizes.
megcc_status_t megcc_check_band(const megcc_model_t *model, const uint32_t *code, uint32_t words);
megcc_status_t megcc_check_slide(const megcc_model_t *model, const uint32_t *code, uint32_t words);

// Whether the rows that an instruction touches in any iteration are in its tensors, which are those
// of a context, or without one of the model.
int megcc_band_fits(const megcc_model_t *model, const megcc_context_t *context,
                    const uint32_t *code);
int megcc_slide_fits(const megcc_model_t *model, const megcc_context_t *context,
                     const uint32_t *code);

#endif  // MEGCC_BANDS_H
