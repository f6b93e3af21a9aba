// BAND_SIZED: run a kernel over a band of an image whose rows follow from the shapes.
//
//   as BAND, but these words are values: the work of a row (3), the height of the output (11), the
//   rows of the input (16), the columns (19), of each operand that is a band the bytes of a row and
//   the height, of each patch its factor, and all attributes.
#include "megcc_bands.h"

enum { MOST_WORDS = 256 };

// Puts a value in the place of the word that says it, if there is one; without a context it only
// looks.
static int set(const megcc_model_t *m, const megcc_context_t *c, uint32_t *word) {
  if (*word >= m->count[MEGCC_S_VALUES]) return 0;
  if (c != NULL) *word = (uint32_t)c->shaped->value[*word];
  return 1;
}

// The same for all words that are sizes.
static int set_sizes(const megcc_model_t *m, const megcc_context_t *c, uint32_t *code,
                     uint32_t words) {
  uint32_t *at = code + MEGCC_BAND_OPERANDS + code[MEGCC_C_OPERANDS], *end = code + words;
  uint32_t k, known = 1;
  known &= (uint32_t)set(m, c, code + MEGCC_C_WORK);
  known &= (uint32_t)set(m, c, code + MEGCC_BAND_OUTPUT + 2);
  known &= (uint32_t)set(m, c, code + MEGCC_BAND_ROWS);
  known &= (uint32_t)set(m, c, code + MEGCC_BAND_COLUMNS);
  for (k = code[MEGCC_BAND_BANDS]; k-- > 0; at += MEGCC_BAND_WORDS) {
    known &= (uint32_t)set(m, c, at + 1);
    known &= (uint32_t)set(m, c, at + MEGCC_BAND_WORDS - 1);
  }
  for (k = code[MEGCC_BAND_PATCHES]; k-- > 0; at += MEGCC_PATCH_WORDS) {
    known &= (uint32_t)set(m, c, at + 1);
  }
  for (; at < end; ++at) known &= (uint32_t)set(m, c, at);
  return known != 0;
}

static megcc_status_t copy_of(const uint32_t *code, uint32_t *fixed) {
  uint32_t k;
  if (*code >> 8 > MOST_WORDS) return MEGCC_ERR_CORRUPT;
  for (k = 0; k < *code >> 8; ++k) fixed[k] = code[k];
  return MEGCC_OK;
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  uint32_t fixed[MOST_WORDS];
  const megcc_status_t status = megcc_check_band(m, code, words);
  if (status != MEGCC_OK) return status;
  if (copy_of(code, fixed) != MEGCC_OK) return MEGCC_ERR_CORRUPT;
  return set_sizes(m, NULL, fixed, words) ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  uint32_t fixed[MOST_WORDS];
  (void)copy_of(code, fixed);
  (void)set_sizes(c->model, c, fixed, *code >> 8);
  if (!megcc_band_fits(c->model, c, fixed)) return MEGCC_ERR_CORRUPT;
  return megcc_op_band.run(c, fixed);
}

const megcc_op_t megcc_op_band_sized = {check, run};
