// BAND: run a kernel over a band of an image's rows; a loop runs it band by band.
//
//   words 1 ... 7 as CALL, but 3 is the work of a row; 8 counter (a tensor, i64), 9 ... 11 the
//   band's first row in the output (step, row in iteration 0, height): its end is the next
//   iteration's. 12 ... 16 the window of a row: its first input row is row * stride / up - pad, and
//   it has so many rows (stride, up, reach, pad, rows of the input). 17 tile, 18 block, 19 columns,
//   20 operands that are bands, 21 patches, 22 iterations of an image, where there are several, or
//   0, 23 images; then the operands, five words for each that is a band (position | 1 << 16 where
//   its rows are those of the windows | 1 << 17 where it has all images, bytes of a row, and the
//   row at its first byte as words 9 ... 11), two for each patch (attribute | kind << 16, factor),
//   attributes.
//
// With block 0 the kernel does the part of its work that is the band's, and has pointers to where
// row 0 would be. Else it sees the band as an image: its work is rows / tile * work / block, each
// rounded up, times columns, and the patches replace attributes in a copy.
#include "megcc_bands.h"

enum { MOST_ATTRIBUTES = 40, MOST_STRIDE = 1 << 10 };
enum { OUT, IN, ABOVE, BELOW, FIRST, KINDS };
enum { OF_WINDOW = 1 << 16, OF_ALL_IMAGES = 1 << 17, FLAGS = OF_WINDOW | OF_ALL_IMAGES };

// Rows of an image of an operand.
static int32_t height_of(const uint32_t *code, const uint32_t *band) {
  return (int32_t)code[band[0] & OF_WINDOW ? MEGCC_BAND_ROWS : MEGCC_BAND_OUTPUT + 2];
}

// Rows of the windows of output rows [lo, hi), padding included.
static int32_t first_row(const uint32_t *code, int32_t row) {
  const int32_t up = (int32_t)code[MEGCC_BAND_UP], at = row * (int32_t)code[MEGCC_BAND_STRIDE];
  return (at < 0 ? -((up - 1 - at) / up) : at / up) - (int32_t)code[MEGCC_BAND_PAD];
}

// The words of the bands, and those of the attributes.
static const uint32_t *bands_of(const uint32_t *code) {
  return code + MEGCC_BAND_OPERANDS + code[MEGCC_C_OPERANDS];
}

static const uint32_t *attributes_of(const uint32_t *code) {
  return bands_of(code) + code[MEGCC_BAND_BANDS] * MEGCC_BAND_WORDS +
         code[MEGCC_BAND_PATCHES] * MEGCC_PATCH_WORDS;
}

// Whether the rows that a call touches in any iteration are in the operand's tensor.
static int has_rows(const megcc_model_t *m, const megcc_context_t *c, const uint32_t *code,
                    const uint32_t *band) {
  const uint32_t number = band[0] & 0xFFFF;
  const megcc_path_t out = megcc_path_of(code + MEGCC_BAND_OUTPUT), base = megcc_path_of(band + 2);
  megcc_tensor_t t;
  int32_t last, rows;
  if (number >= code[MEGCC_C_OPERANDS] || (band[0] & ~(uint32_t)FLAGS) >> 16 != 0) return 0;
  if (!megcc_find_tensor(m, code[MEGCC_BAND_OPERANDS + number], &t) || !megcc_is_path(&base))
    return 0;
  if (c != NULL) megcc_measure_tensor(c, code[MEGCC_BAND_OPERANDS + number], &t);
  if (band[1] == 0) return c != NULL;  // an image without columns, for these shapes
  if (band[0] & OF_ALL_IMAGES)
    return (uint64_t)code[MEGCC_BAND_IMAGES] * (uint32_t)height_of(code, band) <= t.bytes / band[1];
  rows = base.height;
  if (base.step != 0 || base.first > 0) {
    // Both move on alike; being cut to the image brings them no further apart.
    const int32_t step = out.step * (int32_t)code[MEGCC_BAND_STRIDE];
    int32_t first = out.first, moves = out.step;
    last = first + out.step;
    if (band[0] & OF_WINDOW) {
      if (step % (int32_t)code[MEGCC_BAND_UP] != 0) return 0;
      moves = step / (int32_t)code[MEGCC_BAND_UP];
      first = first_row(code, first);
      last = first_row(code, last - 1) + (int32_t)code[MEGCC_BAND_REACH];
    }
    if (base.step != moves || base.first > first) return 0;
    if (last - base.first < rows) rows = last - base.first;
  }
  return rows <= 0 || (uint64_t)rows <= t.bytes / band[1];
}

// Whether the work of all rows is a number that a kernel counts to.
static int is_countable(const uint32_t *code, int32_t height) {
  uint64_t work = (uint64_t)height * code[MEGCC_BAND_IMAGES] * code[MEGCC_C_WORK];
  if (code[MEGCC_BAND_BLOCK] != 0) {
    const uint64_t tiles = ((uint64_t)height + code[MEGCC_BAND_TILE] - 1) / code[MEGCC_BAND_TILE];
    work = tiles * code[MEGCC_C_WORK] + code[MEGCC_BAND_BLOCK] - 1;
    if (work <= UINT32_MAX) work = work / code[MEGCC_BAND_BLOCK] * code[MEGCC_BAND_COLUMNS];
  }
  return work <= INT32_MAX;
}

megcc_status_t megcc_check_band(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const megcc_status_t status = megcc_check_call(m, code, words, MEGCC_BAND_OPERANDS);
  const uint32_t *patch;
  uint32_t left, attributes, k;
  if (status != MEGCC_OK) return status;
  if (!megcc_is_counter(m, code[MEGCC_BAND_COUNTER])) return MEGCC_ERR_CORRUPT;
  for (k = MEGCC_BAND_STRIDE; k <= MEGCC_BAND_REACH; ++k) {
    if (code[k] == 0 || code[k] > MOST_STRIDE) return MEGCC_ERR_CORRUPT;
  }
  if (code[MEGCC_BAND_TILE] == 0 || code[MEGCC_BAND_TILE] > MOST_STRIDE) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_BAND_PAD] > MOST_STRIDE) return MEGCC_ERR_CORRUPT;
  left = words - MEGCC_BAND_OPERANDS - code[MEGCC_C_OPERANDS];
  if (code[MEGCC_BAND_BANDS] > left / MEGCC_BAND_WORDS) return MEGCC_ERR_CORRUPT;
  left -= code[MEGCC_BAND_BANDS] * MEGCC_BAND_WORDS;
  if (code[MEGCC_BAND_PATCHES] > left / MEGCC_PATCH_WORDS) return MEGCC_ERR_CORRUPT;
  attributes = left - code[MEGCC_BAND_PATCHES] * MEGCC_PATCH_WORDS;
  if (code[MEGCC_BAND_BLOCK] == 0 ? code[MEGCC_BAND_PATCHES] != 0 : attributes > MOST_ATTRIBUTES)
    return MEGCC_ERR_CORRUPT;
  patch = bands_of(code) + code[MEGCC_BAND_BANDS] * MEGCC_BAND_WORDS;
  for (k = code[MEGCC_BAND_PATCHES]; k-- > 0; patch += MEGCC_PATCH_WORDS) {
    if ((patch[0] & 0xFFFF) >= attributes || patch[0] >> 16 >= KINDS) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

int megcc_band_fits(const megcc_model_t *m, const megcc_context_t *c, const uint32_t *code) {
  const megcc_path_t out = megcc_path_of(code + MEGCC_BAND_OUTPUT);
  const uint32_t period = code[MEGCC_BAND_PERIOD], images = code[MEGCC_BAND_IMAGES];
  const uint32_t *band = bands_of(code);
  uint32_t k;
  if (!megcc_is_path(&out) || code[MEGCC_BAND_ROWS] > 1 << 20) return 0;
  if (!megcc_is_batch(period, images, out.height)) return 0;
  if (!megcc_is_batch(period, images, (int32_t)code[MEGCC_BAND_ROWS])) return 0;
  if (!is_countable(code, out.height)) return 0;
  for (k = code[MEGCC_BAND_BANDS]; k-- > 0; band += MEGCC_BAND_WORDS) {
    if (!has_rows(m, c, code, band)) return 0;
  }
  return 1;
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const megcc_status_t status = megcc_check_band(m, code, words);
  if (status != MEGCC_OK) return status;
  return megcc_band_fits(m, NULL, code) ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

// Whether operands, workspace and counter have memory.
static int has_memory(const megcc_context_t *c, const uint32_t *code) {
  return megcc_has_memory(c, code + MEGCC_BAND_OPERANDS, code[MEGCC_C_OPERANDS]) &&
         megcc_has_memory(c, code + MEGCC_C_WORKSPACE, 1) &&
         megcc_has_memory(c, code + MEGCC_BAND_COUNTER, 1);
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  const megcc_path_t out = megcc_path_of(code + MEGCC_BAND_OUTPUT);
  const int32_t is_whole = code[MEGCC_BAND_BLOCK] == 0;
  const int32_t *attr = (const int32_t *)attributes_of(code);
  const uint32_t *band = bands_of(code);
  int32_t copy[MOST_ATTRIBUTES], lo, hi, rows[KINDS];
  int32_t from, to, image = 0, t = -1;
  uint32_t k;
  if (has_memory(c, code))
    t = megcc_iteration(c, code[MEGCC_BAND_COUNTER], code[MEGCC_BAND_PERIOD], &image);
  if (t < 0 || (uint32_t)image >= code[MEGCC_BAND_IMAGES]) return MEGCC_ERR_DATA;
  lo = megcc_path_at(&out, t);
  hi = megcc_path_at(&out, t + 1);
  if (lo == hi) {
    ++c->call;
    return MEGCC_OK;
  }
  from = first_row(code, lo);
  to = first_row(code, hi - 1) + (int32_t)code[MEGCC_BAND_REACH];
  rows[OUT] = hi - lo;
  rows[FIRST] = lo;
  rows[ABOVE] = from < 0 ? -from : 0;
  rows[BELOW] = to > (int32_t)code[MEGCC_BAND_ROWS] ? to - (int32_t)code[MEGCC_BAND_ROWS] : 0;
  rows[IN] = to - from - rows[ABOVE] - rows[BELOW];
  for (k = code[MEGCC_C_OPERANDS]; k-- > 0;)
    c->operand[k] = megcc_tensor_data(c, code[MEGCC_BAND_OPERANDS + k]);
  for (k = code[MEGCC_BAND_BANDS]; k-- > 0; band += MEGCC_BAND_WORDS) {
    const megcc_path_t base = megcc_path_of(band + 2);
    const int32_t above = image * height_of(code, band);  // rows of the images before this one
    const int32_t at = band[0] & OF_ALL_IMAGES ? 0 : above + megcc_path_at(&base, t);
    const int32_t row = is_whole ? 0 : above + (band[0] & OF_WINDOW ? from + rows[ABOVE] : lo);
    void **operand = c->operand + (band[0] & 0xFFFF);
    // As a number: where row 0 would be there may be no object.
    *operand = (void *)((uintptr_t)*operand + (uintptr_t)(row - at) * band[1]);
  }
  if (is_whole) {
    const int32_t work = (int32_t)code[MEGCC_C_WORK];
    return megcc_call(c, code, (image * out.height + lo) * work, rows[OUT] * work, attr, NULL);
  }
  for (k = (uint32_t)((code + (code[0] >> 8)) - (const uint32_t *)attr); k-- > 0;)
    copy[k] = attr[k];
  for (k = code[MEGCC_BAND_PATCHES]; k-- > 0; band += MEGCC_PATCH_WORDS) {
    copy[band[0] & 0xFFFF] = (int32_t)((uint32_t)rows[band[0] >> 16] * band[1]);
  }
  {
    const uint32_t tiles =
        ((uint32_t)rows[OUT] + code[MEGCC_BAND_TILE] - 1) / code[MEGCC_BAND_TILE];
    const uint32_t blocks =
        (tiles * code[MEGCC_C_WORK] + code[MEGCC_BAND_BLOCK] - 1) / code[MEGCC_BAND_BLOCK];
    return megcc_call(c, code, 0, (int32_t)(blocks * code[MEGCC_BAND_COLUMNS]), copy, NULL);
  }
}

const megcc_op_t megcc_op_band = {check, run};
