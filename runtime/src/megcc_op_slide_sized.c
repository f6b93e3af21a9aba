// SLIDE_SIZED: move the rows of a line buffer whose rows follow from the shapes.
//
//   as SLIDE, but the bytes of a row (word 3) and the height of the image (word 6) are values.
#include "megcc_bands.h"

enum { BYTES = MEGCC_SLIDE_BYTES, HEIGHT = MEGCC_SLIDE_BASE + 2 };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const uint32_t values = m->count[MEGCC_S_VALUES];
  const megcc_status_t status = megcc_check_slide(m, code, words);
  if (status != MEGCC_OK) return status;
  return code[BYTES] < values && code[HEIGHT] < values ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  uint32_t fixed[MEGCC_SLIDE_WORDS], k;
  for (k = 0; k < MEGCC_SLIDE_WORDS; ++k) fixed[k] = code[k];
  fixed[BYTES] = (uint32_t)c->shaped->value[code[BYTES]];
  fixed[HEIGHT] = (uint32_t)c->shaped->value[code[HEIGHT]];
  if (!megcc_slide_fits(c->model, c, fixed)) return MEGCC_ERR_CORRUPT;
  return megcc_op_slide.run(c, fixed);
}

const megcc_op_t megcc_op_slide_sized = {check, run};
