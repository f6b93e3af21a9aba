// Words of BAND, and what it shares with BAND_SIZED; the same of SLIDE. Not for applications.
#ifndef MEGCC_BANDS_H
#define MEGCC_BANDS_H

#include "megcc_vm.h"

enum {
  MEGCC_BAND_COUNTER = MEGCC_C_FIRST,
  MEGCC_BAND_OUTPUT,
  MEGCC_BAND_STRIDE = MEGCC_BAND_OUTPUT + 3,
  MEGCC_BAND_UP,
  MEGCC_BAND_REACH,
  MEGCC_BAND_PAD,
  MEGCC_BAND_ROWS,
  MEGCC_BAND_TILE,
  MEGCC_BAND_BLOCK,
  MEGCC_BAND_COLUMNS,
  MEGCC_BAND_BANDS,
  MEGCC_BAND_PATCHES,
  MEGCC_BAND_OPERANDS
};

enum {  // words of an operand that is a band, and of a patch
  MEGCC_BAND_WORDS = 5,
  MEGCC_PATCH_WORDS = 2
};

enum {
  MEGCC_SLIDE_COUNTER = 1,
  MEGCC_SLIDE_TENSOR,
  MEGCC_SLIDE_BYTES,
  MEGCC_SLIDE_BASE,
  MEGCC_SLIDE_MADE = MEGCC_SLIDE_BASE + 3,
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
