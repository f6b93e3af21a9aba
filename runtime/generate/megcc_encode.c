// Text to tokens by byte-pair merges, as the package `tokenizers` of Hugging Face does it.
//
//   text -> pieces between added tokens -> normalised -> pieces between added tokens of normalised
//   text -> words by the pattern -> units (bytes or characters) -> merges, the lowest rank first
#include "megcc_tokenizer_image.h"

enum { UNIT_WORDS = 7 };

// A word's units, linked in their order, and a heap of those that merge with the next one.
typedef struct work {
  const megcc_tokenizer_t *t;
  uint32_t flags;
  int32_t *tokens;
  size_t capacity, count;
  uint8_t *text[2];  // normalised text, of `room` bytes each
  size_t room;
  uint32_t *id, *before, *next, *rank, *result, *at, *heap;
  uint32_t units, waiting;  // units of the word; how many of them are in the heap
} work_t;

static void emit(work_t *w, uint32_t id) {
  if (w->count < w->capacity) w->tokens[w->count] = (int32_t)id;
  ++w->count;
}

// ---- merges --------------------------------------------------------------------------------

static int comes_first(const work_t *w, uint32_t a, uint32_t b) {
  return w->rank[a] < w->rank[b] || (w->rank[a] == w->rank[b] && a < b);
}

static void put(work_t *w, uint32_t place, uint32_t unit) {
  w->heap[place] = unit;
  w->at[unit] = place;
}

// Moves the unit at a place of the heap to where its rank belongs.
static void settle(work_t *w, uint32_t place) {
  const uint32_t unit = w->heap[place];
  while (place > 0 && comes_first(w, unit, w->heap[(place - 1) / 2])) {
    put(w, place, w->heap[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (;;) {
    uint32_t child = 2 * place + 1;
    if (child >= w->waiting) break;
    if (child + 1 < w->waiting && comes_first(w, w->heap[child + 1], w->heap[child])) ++child;
    if (!comes_first(w, w->heap[child], unit)) break;
    put(w, place, w->heap[child]);
    place = child;
  }
  put(w, place, unit);
}

static void take_out(work_t *w, uint32_t unit) {
  const uint32_t place = w->at[unit];
  if (place == MEGCC_T_NONE) return;
  w->at[unit] = MEGCC_T_NONE;
  if (place == --w->waiting) return;
  put(w, place, w->heap[w->waiting]);
  settle(w, place);
}

// Finds out whether a unit merges with the next one.
static void pair(work_t *w, uint32_t unit) {
  const uint32_t *const rows = megcc_t_words(w->t, MEGCC_T_MERGES);
  const uint32_t *const left = megcc_t_words(w->t, MEGCC_T_LEFT) + w->id[unit];
  uint32_t low = left[0], high = left[1], right;
  take_out(w, unit);
  if (w->next[unit] == MEGCC_T_NONE) return;
  right = w->id[w->next[unit]];
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t *const row = rows + 3 * middle;
    if (row[0] == right) {
      w->rank[unit] = row[1];
      w->result[unit] = row[2];
      put(w, w->waiting, unit);
      settle(w, w->waiting++);
      return;
    }
    if (row[0] < right) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
}

static void add_unit(work_t *w, uint32_t id) {
  const uint32_t unit = w->units++;
  w->id[unit] = id;
  w->before[unit] = unit == 0 ? MEGCC_T_NONE : unit - 1;
  w->next[unit] = MEGCC_T_NONE;
  w->at[unit] = MEGCC_T_NONE;
  if (unit > 0) w->next[unit - 1] = unit;
}

// The units of a word: bytes, or characters that are tokens, else their bytes, else unknown ones.
static void add_units(work_t *w, const uint8_t *text, size_t bytes) {
  const uint32_t flags = w->t->words[MEGCC_T_FLAGS], unknown = w->t->words[MEGCC_T_UNKNOWN];
  const uint32_t *const of_byte = megcc_t_words(w->t, MEGCC_T_UNITS);
  size_t i, length;
  int open = 0;  // whether an unknown unit waits for more of its kind
  w->units = w->waiting = 0;
  for (i = 0; i < bytes; i += length) {
    uint32_t id, point;
    length = (flags & MEGCC_T_BYTE_LEVEL) ? 1 : megcc_t_point(text + i, bytes - i, &point);
    if (length == 0) length = 1;
    id = (flags & MEGCC_T_BYTE_LEVEL) ? of_byte[text[i]] : megcc_t_find(w->t, text + i, length);
    if (id != MEGCC_T_NONE) {
      open = 0;
      add_unit(w, id);
    } else if (flags & MEGCC_T_BYTE_FALLBACK) {
      size_t k;
      for (k = 0; k < length; ++k) add_unit(w, of_byte[text[i + k]]);
    } else if (unknown != MEGCC_T_NONE) {
      if (!open || !(flags & MEGCC_T_FUSE_UNKNOWN)) add_unit(w, unknown);
      open = 1;
    }
  }
}

static void encode_word(work_t *w, const uint8_t *text, size_t bytes) {
  uint32_t unit;
  if (w->t->words[MEGCC_T_FLAGS] & MEGCC_T_IGNORE_MERGES) {
    const uint32_t id = megcc_t_find(w->t, text, bytes);
    if (id != MEGCC_T_NONE) {
      emit(w, id);
      return;
    }
  }
  add_units(w, text, bytes);
  for (unit = 0; unit < w->units; ++unit) pair(w, unit);
  while (w->waiting > 0) {
    const uint32_t first = w->heap[0], second = w->next[first], third = w->next[second];
    take_out(w, second);
    w->id[first] = w->result[first];
    w->next[first] = third;
    if (third != MEGCC_T_NONE) w->before[third] = first;
    pair(w, first);
    if (w->before[first] != MEGCC_T_NONE) pair(w, w->before[first]);
  }
  for (unit = w->units > 0 ? 0 : MEGCC_T_NONE; unit != MEGCC_T_NONE; unit = w->next[unit]) {
    emit(w, w->id[unit]);
  }
}

// ---- words ---------------------------------------------------------------------------------

static void encode_by_pattern(work_t *w, const uint8_t *text, size_t bytes) {
  while (bytes > 0) {
    const size_t length = megcc_t_piece(w->t, text, bytes);
    encode_word(w, text, length);
    text += length;
    bytes -= length;
  }
}

// Whether a number begins here, and in `length` the bytes of the character.
static int is_number(const work_t *w, const uint8_t *text, size_t bytes, size_t *length) {
  uint32_t point;
  *length = megcc_t_point(text, bytes, &point);
  if (*length == 0) {
    *length = 1;
    return 0;
  }
  return megcc_t_class(w->t, point) == MEGCC_T_NUMBER;
}

static void encode_piece(work_t *w, const uint8_t *text, size_t bytes) {
  const uint32_t flags = w->t->words[MEGCC_T_FLAGS];
  size_t i, length, begin = 0;
  int before = 0;
  if (!(flags & MEGCC_T_DIGITS)) {
    encode_by_pattern(w, text, bytes);
    return;
  }
  for (i = 0; i < bytes; i += length) {
    const int now = is_number(w, text + i, bytes - i, &length);
    if (i > begin && (now != before || (now && (flags & MEGCC_T_SINGLE_DIGITS)))) {
      encode_by_pattern(w, text + begin, i - begin);
      begin = i;
    }
    before = now;
  }
  if (bytes > begin) encode_by_pattern(w, text + begin, bytes - begin);
}

// ---- added tokens --------------------------------------------------------------------------

// Spaces at the beginning of a text, in bytes.
static size_t spaces_at_begin(const work_t *w, const uint8_t *text, size_t bytes) {
  size_t at = 0;
  while (at < bytes) {
    uint32_t point;
    const size_t length = megcc_t_point(text + at, bytes - at, &point);
    if (length == 0 || megcc_t_class(w->t, point) != MEGCC_T_SPACE) break;
    at += length;
  }
  return at;
}

// Where the spaces at the end of a text begin.
static size_t spaces_at_end(const work_t *w, const uint8_t *text, size_t bytes) {
  size_t at = bytes;
  while (at > 0) {
    size_t begin = at - 1;
    uint32_t point;
    while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
    if (megcc_t_point(text + begin, at - begin, &point) != at - begin ||
        megcc_t_class(w->t, point) != MEGCC_T_SPACE) {
      break;
    }
    at = begin;
  }
  return at;
}

// The longest added token that a text begins with, or null.
static const uint32_t *added_at(const work_t *w, uint32_t section, uint32_t first,
                                const uint8_t *text, size_t bytes) {
  const uint32_t *const rows = megcc_t_words(w->t, section);
  const uint32_t *const range = megcc_t_words(w->t, first) + text[0];
  const uint8_t *const data = megcc_t_bytes(w->t, MEGCC_T_DATA);
  const uint32_t *best = NULL;
  uint32_t i;
  for (i = range[0]; i < range[1]; ++i) {
    const uint32_t *const row = rows + 4 * i;
    if ((best == NULL || row[1] > best[1]) && row[1] <= bytes &&
        megcc_t_equal(text, data + row[0], row[1])) {
      best = row;
    }
  }
  return best;
}

typedef megcc_status_t (*gap_fn)(work_t *w, const uint8_t *text, size_t bytes);

// Emits the added tokens of a text, and gives what is between them to `gap`.
static megcc_status_t split(work_t *w, uint32_t section, uint32_t first, const uint8_t *text,
                            size_t bytes, gap_fn gap) {
  megcc_status_t status = MEGCC_OK;
  size_t i = 0, begin = 0;
  while (i < bytes && megcc_t_count(w->t, section) > 0) {
    const uint32_t *const row = added_at(w, section, first, text + i, bytes - i);
    size_t start = i, stop;
    if (row == NULL) {
      ++i;
      continue;
    }
    stop = i = i + row[1];
    if ((w->flags & MEGCC_ENCODE_PLAIN) && (row[3] & MEGCC_T_ADDED_SPECIAL)) continue;
    if (row[3] & MEGCC_T_LSTRIP) {
      start = spaces_at_end(w, text, start);
      if (start < begin) start = begin;
    }
    if (row[3] & MEGCC_T_RSTRIP) stop += spaces_at_begin(w, text + stop, bytes - stop);
    if (begin < start) status = gap(w, text + begin, start - begin);
    if (status != MEGCC_OK) return status;
    emit(w, row[2]);
    begin = stop;
  }
  return begin < bytes ? gap(w, text + begin, bytes - begin) : MEGCC_OK;
}

static megcc_status_t encode_gap(work_t *w, const uint8_t *text, size_t bytes) {
  if ((w->t->words[MEGCC_T_FLAGS] & MEGCC_T_PREFIX_SPACE) && text[0] != ' ') {
    // The text is in one of both buffers, or, where nothing is normalised, the caller's.
    uint8_t *const to = text >= w->text[0] && text < w->text[0] + w->room ? w->text[1] : w->text[0];
    if (bytes + 1 > w->room) return MEGCC_ERR_CORRUPT;
    to[0] = ' ';
    megcc_t_copy(to + 1, text, bytes);
    text = to;
    ++bytes;
  }
  encode_piece(w, text, bytes);
  return MEGCC_OK;
}

// ---- normaliser ----------------------------------------------------------------------------

// Copies a text with every `old` replaced: its bytes, SIZE_MAX where `room` is too small.
static size_t replaced(const uint8_t *text, size_t bytes, const uint8_t *old, size_t n_old,
                       const uint8_t *by, size_t n_by, uint8_t *to, size_t room) {
  size_t i = 0, written = 0;
  while (i < bytes) {
    const int found = n_old <= bytes - i && megcc_t_equal(text + i, old, n_old);
    const size_t length = found ? n_by : 1;
    if (length > room - written) return SIZE_MAX;
    megcc_t_copy(to + written, found ? by : text + i, length);
    written += length;
    i += found ? n_old : 1;
  }
  return written;
}

static megcc_status_t normalise(work_t *w, const uint8_t *text, size_t bytes) {
  const uint32_t *step = megcc_t_words(w->t, MEGCC_T_STEPS);
  const uint8_t *const data = megcc_t_bytes(w->t, MEGCC_T_DATA);
  uint32_t i;
  for (i = 0; i < megcc_t_count(w->t, MEGCC_T_STEPS); ++i, step += 5) {
    uint8_t *const to = w->text[i & 1];
    if (step[0] == MEGCC_T_NFC) {
      bytes = megcc_t_nfc(w->t, text, bytes, to, w->room, w->id, UNIT_WORDS * w->room);
    } else if (step[0] == MEGCC_T_REPLACE) {
      bytes = replaced(text, bytes, data + step[1], step[2], data + step[3], step[4], to, w->room);
    } else if (bytes > 0) {
      if (step[4] > w->room || bytes > w->room - step[4]) return MEGCC_ERR_CORRUPT;
      megcc_t_copy(to, data + step[3], step[4]);
      megcc_t_copy(to + step[4], text, bytes);
      bytes += step[4];
    }
    // The image says how long a normalised text may be: it is not true.
    if (bytes == SIZE_MAX) return MEGCC_ERR_CORRUPT;
    text = to;
  }
  return split(w, MEGCC_T_NORMALISED, MEGCC_T_NORMALISED_FIRST, text, bytes, encode_gap);
}

// ---- the whole -----------------------------------------------------------------------------

// Bytes of a normalised text, with a space in front; 0 where that is too much.
static size_t room_for(const megcc_tokenizer_t *t, size_t bytes) {
  const uint64_t times = t->words[MEGCC_T_TIMES], more = t->words[MEGCC_T_MORE];
  const uint64_t limit = (SIZE_MAX < UINT32_MAX ? SIZE_MAX : UINT32_MAX) / 64;
  if (times > limit || more > limit || bytes > limit) return 0;
  // `times` counts bytes of a text, which is never less than 1.
  return (times > 1 ? times : 1) * bytes + more + 1 > limit
             ? 0
             : (size_t)((times > 1 ? times : 1) * bytes + more + 1 + 3) / 4 * 4;
}

size_t megcc_encode_bytes(const megcc_tokenizer_t *tokenizer, size_t text_bytes) {
  const size_t room = room_for(tokenizer, text_bytes);
  return room == 0 ? SIZE_MAX : room * (2 + UNIT_WORDS * sizeof(uint32_t));
}

megcc_status_t megcc_encode(const megcc_tokenizer_t *t, const char *text, size_t text_bytes,
                            uint32_t flags, void *work, size_t work_bytes, int32_t *tokens,
                            size_t capacity, size_t *count) {
  const uint8_t *const from = (const uint8_t *)text;
  megcc_status_t status;
  size_t i, length;
  uint32_t k, point;
  work_t w;
  if (t == NULL || count == NULL || work == NULL || (text == NULL && text_bytes > 0) ||
      (tokens == NULL && capacity > 0)) {
    return MEGCC_ERR_NULL;
  }
  if (work_bytes < megcc_encode_bytes(t, text_bytes)) return MEGCC_ERR_MEMORY;
  if ((uintptr_t)work % sizeof(uint32_t) != 0) return MEGCC_ERR_ALIGNMENT;
  for (i = 0; i < text_bytes; i += length) {
    length = megcc_t_point(from + i, text_bytes - i, &point);
    if (length == 0) return MEGCC_ERR_DATA;
  }
  w.t = t;
  w.flags = flags;
  w.tokens = tokens;
  w.capacity = capacity;
  w.count = 0;
  w.room = room_for(t, text_bytes);
  w.id = (uint32_t *)work;
  w.before = w.id + w.room;
  w.next = w.before + w.room;
  w.rank = w.next + w.room;
  w.result = w.rank + w.room;
  w.at = w.result + w.room;
  w.heap = w.at + w.room;
  w.text[0] = (uint8_t *)(w.heap + w.room);
  w.text[1] = w.text[0] + w.room;
  if (flags & MEGCC_ENCODE_AROUND) {
    for (k = 0; k < megcc_t_count(t, MEGCC_T_BEFORE); ++k) {
      emit(&w, megcc_t_words(t, MEGCC_T_BEFORE)[k]);
    }
  }
  status = split(&w, MEGCC_T_RAW, MEGCC_T_RAW_FIRST, from, text_bytes, normalise);
  if (status != MEGCC_OK) return status;
  if (flags & MEGCC_ENCODE_AROUND) {
    for (k = 0; k < megcc_t_count(t, MEGCC_T_AFTER); ++k) {
      emit(&w, megcc_t_words(t, MEGCC_T_AFTER)[k]);
    }
  }
  *count = w.count;
  return w.count > capacity ? MEGCC_ERR_SIZE : MEGCC_OK;
}
