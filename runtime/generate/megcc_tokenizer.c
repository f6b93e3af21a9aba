// Images of tokenizers: their validation, and what is read out of them.
#include "megcc_tokenizer_image.h"

// Bytes of an entry of each section.
static const uint8_t kEntry[MEGCC_T_SECTION_COUNT] = {4,  1,  1, 4, 4, 4, 12, 16, 16, 4, 4,
                                                      20, 20, 4, 4, 4, 8, 4,  4,  12, 4, 8};

const uint32_t *megcc_t_words(const megcc_tokenizer_t *t, uint32_t section) {
  return t->words + t->words[MEGCC_T_SECTIONS + 2 * section] / 4;
}

const uint8_t *megcc_t_bytes(const megcc_tokenizer_t *t, uint32_t section) {
  return t->data + t->words[MEGCC_T_SECTIONS + 2 * section];
}

uint32_t megcc_t_count(const megcc_tokenizer_t *t, uint32_t section) {
  return t->words[MEGCC_T_SECTIONS + 2 * section + 1];
}

void megcc_t_copy(void *to, const void *from, size_t bytes) {
  uint8_t *const a = (uint8_t *)to;
  const uint8_t *const b = (const uint8_t *)from;
  size_t i;
  for (i = 0; i < bytes; ++i) a[i] = b[i];
}

int megcc_t_equal(const void *a, const void *b, size_t bytes) {
  const uint8_t *const x = (const uint8_t *)a, *const y = (const uint8_t *)b;
  size_t i;
  for (i = 0; i < bytes; ++i) {
    if (x[i] != y[i]) return 0;
  }
  return 1;
}

// Offsets that begin at 0 or later, never fall, and end at `end` or before.
static int ascend(const uint32_t *words, uint32_t count, uint32_t end) {
  uint32_t i;
  for (i = 1; i < count; ++i) {
    if (words[i] < words[i - 1]) return 0;
  }
  return count > 0 && words[count - 1] <= end;
}

// Whether every `step`th word is below `end`.
static int below(const uint32_t *words, uint32_t count, uint32_t step, uint32_t end) {
  uint32_t i;
  for (i = 0; i < count; ++i) {
    if (words[i * step] >= end) return 0;
  }
  return 1;
}

static int within(uint32_t offset, uint32_t bytes, uint32_t end) {
  return offset <= end && bytes <= end - offset;
}

static int added_are_fine(const megcc_tokenizer_t *t, uint32_t section, uint32_t first) {
  const uint32_t count = megcc_t_count(t, section), data = megcc_t_count(t, MEGCC_T_DATA);
  const uint32_t *row = megcc_t_words(t, section);
  uint32_t i;
  for (i = 0; i < count; ++i, row += 4) {
    if (row[1] == 0 || !within(row[0], row[1], data) || row[2] >= t->words[MEGCC_T_COUNT]) return 0;
  }
  return megcc_t_count(t, first) == 257 && ascend(megcc_t_words(t, first), 257, count);
}

static int steps_are_fine(const megcc_tokenizer_t *t, uint32_t section) {
  const uint32_t count = megcc_t_count(t, section), data = megcc_t_count(t, MEGCC_T_DATA);
  const uint32_t *row = megcc_t_words(t, section);
  uint32_t i;
  for (i = 0; i < count; ++i, row += 5) {
    if (row[0] > MEGCC_T_NFC || !within(row[1], row[2], data) || !within(row[3], row[4], data)) {
      return 0;
    }
    if (row[0] == MEGCC_T_REPLACE && row[2] == 0) return 0;
  }
  return 1;
}

static int is_fine(const megcc_tokenizer_t *t) {
  const uint32_t *const w = t->words;
  const uint32_t count = w[MEGCC_T_COUNT], points = megcc_t_count(t, MEGCC_T_POINTS);
  const uint32_t merges = megcc_t_count(t, MEGCC_T_MERGES);
  const uint32_t *row = megcc_t_words(t, MEGCC_T_UNITS);
  uint32_t i;
  if (count > INT32_MAX || w[MEGCC_T_PATTERN] > MEGCC_T_QWEN) return 0;
  if (w[MEGCC_T_UNKNOWN] != MEGCC_T_NONE && w[MEGCC_T_UNKNOWN] >= count) return 0;
  if (megcc_t_count(t, MEGCC_T_TEXT) != count + 1 || megcc_t_count(t, MEGCC_T_LEFT) != count + 1 ||
      megcc_t_count(t, MEGCC_T_KINDS) != count || megcc_t_count(t, MEGCC_T_UNITS) != 256) {
    return 0;
  }
  if (!ascend(megcc_t_words(t, MEGCC_T_TEXT), count + 1, megcc_t_count(t, MEGCC_T_DATA)) ||
      !ascend(megcc_t_words(t, MEGCC_T_LEFT), count + 1, merges)) {
    return 0;
  }
  for (i = 0; i < 256; ++i) {
    if (row[i] != MEGCC_T_NONE && row[i] >= count) return 0;
    if (row[i] == MEGCC_T_NONE && (w[MEGCC_T_FLAGS] & MEGCC_T_BYTE_FALLBACK)) return 0;
  }
  row = megcc_t_words(t, MEGCC_T_MERGES);
  if (!below(row, merges, 3, count) || !below(row + 2, merges, 3, count)) return 0;
  row = megcc_t_words(t, MEGCC_T_DECOMPOSED);
  for (i = 0; i < megcc_t_count(t, MEGCC_T_DECOMPOSED); ++i) {
    if (!within(row[2 * i + 1] & 0xFFFFFF, row[2 * i + 1] >> 24, points)) return 0;
  }
  if (!below(megcc_t_words(t, MEGCC_T_POINTS), points, 1, 0x110000)) return 0;
  row = megcc_t_words(t, MEGCC_T_ROLES);
  if (megcc_t_count(t, MEGCC_T_ROLES) % MEGCC_ROLE_TEXTS != 0) return 0;
  for (i = 0; i < megcc_t_count(t, MEGCC_T_ROLES); ++i) {
    if (!within(row[2 * i], row[2 * i + 1], megcc_t_count(t, MEGCC_T_DATA))) return 0;
  }
  if (!below(megcc_t_words(t, MEGCC_T_STOPS), megcc_t_count(t, MEGCC_T_STOPS), 1, count)) return 0;
  row = megcc_t_words(t, MEGCC_T_PAIRS);
  if (!below(row + 2, megcc_t_count(t, MEGCC_T_PAIRS), 3, 0x110000)) return 0;
  for (i = 0; i < count; ++i) {
    const uint32_t *const at = megcc_t_words(t, MEGCC_T_TEXT) + i;
    // "<0x41>"
    if ((megcc_t_bytes(t, MEGCC_T_KINDS)[i] & MEGCC_T_IS_BYTE) && at[1] - at[0] != 6) return 0;
  }
  return below(megcc_t_words(t, MEGCC_T_SORTED), megcc_t_count(t, MEGCC_T_SORTED), 1, count) &&
         below(megcc_t_words(t, MEGCC_T_BEFORE), megcc_t_count(t, MEGCC_T_BEFORE), 1, count) &&
         below(megcc_t_words(t, MEGCC_T_AFTER), megcc_t_count(t, MEGCC_T_AFTER), 1, count) &&
         added_are_fine(t, MEGCC_T_RAW, MEGCC_T_RAW_FIRST) &&
         added_are_fine(t, MEGCC_T_NORMALISED, MEGCC_T_NORMALISED_FIRST) &&
         steps_are_fine(t, MEGCC_T_STEPS) && steps_are_fine(t, MEGCC_T_REPLACED);
}

megcc_status_t megcc_tokenizer_open(const void *image, size_t bytes, megcc_tokenizer_t *tokenizer) {
  const uint32_t *const words = (const uint32_t *)image;
  megcc_tokenizer_t found;
  uint32_t i;
  if (image == NULL || tokenizer == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)image % sizeof *words != 0) return MEGCC_ERR_ALIGNMENT;
  if (bytes < 4 * (MEGCC_T_SECTIONS + 2 * MEGCC_T_SECTION_COUNT)) return MEGCC_ERR_TRUNCATED;
  if (words[MEGCC_T_MAGIC] == 0x4D454754u) return MEGCC_ERR_PLATFORM;
  if (words[MEGCC_T_MAGIC] != MEGCC_T_MAGIC_WORD) return MEGCC_ERR_MAGIC;
  if (words[MEGCC_T_VERSION] != MEGCC_T_VERSION_WORD) return MEGCC_ERR_VERSION;
  if (words[MEGCC_T_BYTES] > bytes) return MEGCC_ERR_TRUNCATED;
  found.words = words;
  found.data = (const uint8_t *)image;
  for (i = 0; i < MEGCC_T_SECTION_COUNT; ++i) {
    const uint32_t *const section = words + MEGCC_T_SECTIONS + 2 * i;
    if (section[0] % 4 != 0 || section[0] > words[MEGCC_T_BYTES]) return MEGCC_ERR_CORRUPT;
    if (section[1] > (words[MEGCC_T_BYTES] - section[0]) / kEntry[i]) return MEGCC_ERR_CORRUPT;
  }
  if (!is_fine(&found)) return MEGCC_ERR_CORRUPT;
  *tokenizer = found;
  return MEGCC_OK;
}

uint32_t megcc_tokenizer_count(const megcc_tokenizer_t *tokenizer) {
  return tokenizer->words[MEGCC_T_COUNT];
}

uint32_t megcc_tokenizer_vocabulary(const megcc_tokenizer_t *tokenizer) {
  return tokenizer->words[MEGCC_T_VOCABULARY];
}

const int32_t *megcc_tokenizer_stops(const megcc_tokenizer_t *tokenizer, size_t *count) {
  *count = megcc_t_count(tokenizer, MEGCC_T_STOPS);
  return (const int32_t *)megcc_t_words(tokenizer, MEGCC_T_STOPS);
}

const char *megcc_role_text(const megcc_tokenizer_t *tokenizer, megcc_role_text_t which,
                            size_t *bytes) {
  const uint32_t number = (uint32_t)which, flags = tokenizer->words[MEGCC_T_FLAGS];
  const uint32_t *row;
  *bytes = 0;
  if (number >= megcc_t_count(tokenizer, MEGCC_T_ROLES) || number >= MEGCC_ROLE_TEXTS) return NULL;
  if (!(flags & MEGCC_T_SYSTEM) && (which == MEGCC_BEFORE_SYSTEM || which == MEGCC_AFTER_SYSTEM)) {
    return NULL;
  }
  row = megcc_t_words(tokenizer, MEGCC_T_ROLES) + 2 * number;
  *bytes = row[1];
  return (const char *)megcc_t_bytes(tokenizer, MEGCC_T_DATA) + row[0];
}

int megcc_roles_trim(const megcc_tokenizer_t *tokenizer) {
  return (tokenizer->words[MEGCC_T_FLAGS] & MEGCC_T_TRIMS) != 0;
}

// Whether a token's bytes come before these (-1), are these (0), or come behind (1).
static int compare(const uint8_t *a, size_t n, const uint8_t *b, size_t m) {
  size_t i;
  for (i = 0; i < n && i < m; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return n < m ? -1 : n > m;
}

uint32_t megcc_t_find(const megcc_tokenizer_t *t, const uint8_t *text, size_t bytes) {
  const uint32_t *const at = megcc_t_words(t, MEGCC_T_TEXT);
  const uint32_t *const sorted = megcc_t_words(t, MEGCC_T_SORTED);
  const uint8_t *const data = megcc_t_bytes(t, MEGCC_T_DATA);
  uint32_t low = 0, high = megcc_t_count(t, MEGCC_T_SORTED);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2, id = sorted[middle];
    const int order = compare(data + at[id], at[id + 1] - at[id], text, bytes);
    if (order == 0) return id;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return MEGCC_T_NONE;
}

megcc_status_t megcc_token_named(const megcc_tokenizer_t *tokenizer, const char *text,
                                 int32_t *token) {
  const uint8_t *const name = (const uint8_t *)text;
  const uint8_t *data;
  const uint32_t *at;
  uint32_t i, bytes = 0;
  if (tokenizer == NULL || text == NULL || token == NULL) return MEGCC_ERR_NULL;
  data = megcc_t_bytes(tokenizer, MEGCC_T_DATA);
  at = megcc_t_words(tokenizer, MEGCC_T_TEXT);
  while (name[bytes] != 0) ++bytes;
  for (i = megcc_tokenizer_count(tokenizer); i-- > 0;) {
    const int known = megcc_t_bytes(tokenizer, MEGCC_T_KINDS)[i] & MEGCC_T_KNOWN;
    if (known && at[i + 1] - at[i] == bytes && megcc_t_equal(data + at[i], name, bytes)) {
      *token = (int32_t)i;
      return MEGCC_OK;
    }
  }
  return MEGCC_ERR_NAME;
}
