// Characters: UTF-8, their classes, how patterns split a text, and NFC.
#include "megcc_tokenizer_image.h"

int megcc_t_character(const uint8_t *s, size_t bytes) {
  const uint8_t a = s[0];
  const uint8_t least = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : 0x80;
  const uint8_t most = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : 0xBF;
  size_t i, length;
  if (a < 0x80) return 1;
  if (a < 0xC2 || a > 0xF4) return -1;
  length = a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
  for (i = 1; i < bytes && i < length; ++i) {
    if (s[i] < (i == 1 ? least : 0x80) || s[i] > (i == 1 ? most : 0xBF)) return -1;
  }
  return bytes < length ? 0 : (int)length;
}

size_t megcc_t_point(const uint8_t *s, size_t left, uint32_t *point) {
  const int length = left == 0 ? 0 : megcc_t_character(s, left);
  int i;
  if (length <= 0) return 0;
  *point = length == 1 ? s[0] : s[0] & (0xFFu >> (length + 1));
  for (i = 1; i < length; ++i) *point = *point << 6 | (s[i] & 0x3Fu);
  return (size_t)length;
}

// The last row of at most `point` in rows of `size` words sorted by their first, or null. The upper
// byte of a first word is not part of it.
static const uint32_t *row_of(const uint32_t *rows, uint32_t count, uint32_t size, uint32_t point) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if ((rows[middle * size] & 0xFFFFFF) <= point) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? NULL : rows + (low - 1) * size;
}

uint32_t megcc_t_class(const megcc_tokenizer_t *t, uint32_t point) {
  const uint32_t *row;
  if (point < 0x80) {
    const uint32_t lower = point | 0x20;
    if (lower >= 'a' && lower <= 'z') return MEGCC_T_LETTER;
    if (point >= '0' && point <= '9') return MEGCC_T_NUMBER;
    return point == ' ' || (point >= 9 && point <= 13) ? MEGCC_T_SPACE : MEGCC_T_OTHER;
  }
  row = row_of(megcc_t_words(t, MEGCC_T_CLASSES), megcc_t_count(t, MEGCC_T_CLASSES), 1, point);
  return row == NULL ? MEGCC_T_OTHER : *row >> 24;
}

// ---- patterns ------------------------------------------------------------------------------

// A place in a text, with the character there.
typedef struct place {
  const megcc_tokenizer_t *t;
  const uint8_t *text;
  size_t bytes, at, length;  // length: of the character, 0 at the end
  uint32_t point, kind;
} place_t;

enum { THE_END = 4 };  // a class beside those of characters

static void look(place_t *p) {
  if (p->at >= p->bytes) {
    p->length = 0;
    p->point = 0;
    p->kind = THE_END;
    return;
  }
  p->length = megcc_t_point(p->text + p->at, p->bytes - p->at, &p->point);
  if (p->length == 0) {
    p->length = 1;
    p->point = 0xFFFD;
  }
  p->kind = megcc_t_class(p->t, p->point);
}

static void next(place_t *p) {
  p->at += p->length;
  look(p);
}

// Goes on over characters of a class, at most `most` of them.
static void skip(place_t *p, uint32_t kind, uint32_t most) {
  for (; p->kind == kind && most > 0; --most) next(p);
}

static int is_line_end(const place_t *p) { return p->point == '\r' || p->point == '\n'; }

// Bytes of 's, 't, 're, 've, 'm, 'll or 'd here, else 0. Upper case counts where `any_case`; the
// long s (U+017F) is then an s, as Unicode folds it to one.
static size_t contraction(place_t p, int any_case) {
  static const char kEnds[] = "s\0t\0re\0ve\0m\0ll\0d\0";
  const char *end;
  if (p.point != '\'') return 0;
  next(&p);
  for (end = kEnds; *end != 0; ++end) {
    place_t q = p;
    for (; *end != 0 && q.length > 0; ++end) {
      uint32_t c = q.point;
      if (any_case && c >= 'A' && c <= 'Z') c += 'a' - 'A';
      if (any_case && c == 0x17F) c = 's';
      if (c != (uint32_t)*end) break;
      next(&q);
    }
    if (*end == 0) return q.at;
    while (*end != 0) ++end;
  }
  return 0;
}

// A run of spaces, without the last one where something else follows: \s+(?!\S)|\s+.
static size_t spaces(place_t p) {
  const size_t begin = p.at;
  size_t last = p.at;
  while (p.kind == MEGCC_T_SPACE) {
    last = p.at;
    next(&p);
  }
  return p.length == 0 || last == begin ? p.at : last;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
static size_t gpt2(place_t p) {
  const size_t end = contraction(p, 0);
  place_t q = p;
  if (end > 0) return end;
  if (q.point == ' ') next(&q);
  if (q.kind == MEGCC_T_SPACE || q.kind == THE_END) return spaces(p);
  skip(&q, q.kind, UINT32_MAX);
  return q.at;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,most}| ?[^\s\p{L}\p{N}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
static size_t llama3(place_t p, uint32_t most) {
  const size_t end = contraction(p, 1);
  size_t lines = 0;
  place_t q = p;
  if (end > 0) return end;
  if (q.kind == MEGCC_T_OTHER || (q.kind == MEGCC_T_SPACE && !is_line_end(&q))) next(&q);
  if (q.kind == MEGCC_T_LETTER) {
    skip(&q, MEGCC_T_LETTER, UINT32_MAX);
    return q.at;
  }
  q = p;
  if (q.kind == MEGCC_T_NUMBER) {
    skip(&q, MEGCC_T_NUMBER, most);
    return q.at;
  }
  if (q.point == ' ') next(&q);
  if (q.kind == MEGCC_T_OTHER) {
    skip(&q, MEGCC_T_OTHER, UINT32_MAX);
    while (q.length > 0 && is_line_end(&q)) next(&q);
    return q.at;
  }
  for (q = p; q.kind == MEGCC_T_SPACE;) {
    const int ends = is_line_end(&q);
    next(&q);
    if (ends) lines = q.at;
  }
  return lines > 0 ? lines : spaces(p);
}

size_t megcc_t_piece(const megcc_tokenizer_t *t, const uint8_t *text, size_t bytes) {
  place_t p;
  p.t = t;
  p.text = text;
  p.bytes = bytes;
  p.at = 0;
  look(&p);
  switch (t->words[MEGCC_T_PATTERN]) {
    case MEGCC_T_GPT2: return gpt2(p);
    case MEGCC_T_LLAMA3: return llama3(p, 3);
    case MEGCC_T_QWEN: return llama3(p, 1);
    default: return bytes;
  }
}

// ---- NFC (Unicode Standard Annex 15) --------------------------------------------------------

enum {
  S_BASE = 0xAC00,
  L_BASE = 0x1100,
  V_BASE = 0x1161,
  T_BASE = 0x11A7,
  L_COUNT = 19,
  V_COUNT = 21,
  T_COUNT = 28,
  S_COUNT = L_COUNT * V_COUNT * T_COUNT
};

// Points in the list have their combining class in the upper byte.
typedef struct list {
  uint32_t *point;
  size_t count, room;
} list_t;

static int add(const megcc_tokenizer_t *t, list_t *list, uint32_t point) {
  const uint32_t *const row =
      row_of(megcc_t_words(t, MEGCC_T_ORDERS), megcc_t_count(t, MEGCC_T_ORDERS), 1, point);
  const uint32_t order = row != NULL && (*row & 0xFFFFFF) == point ? *row >> 24 : 0;
  size_t at = list->count;
  if (at == list->room) return 0;
  for (; order > 0 && at > 0 && list->point[at - 1] >> 24 > order; --at) {
    list->point[at] = list->point[at - 1];
  }
  list->point[at] = point | order << 24;
  ++list->count;
  return 1;
}

static int decompose(const megcc_tokenizer_t *t, list_t *list, uint32_t point) {
  const uint32_t *row;
  uint32_t i;
  if (point >= S_BASE && point < S_BASE + S_COUNT) {
    const uint32_t s = point - S_BASE, last = s % T_COUNT;
    return add(t, list, L_BASE + s / (V_COUNT * T_COUNT)) &&
           add(t, list, V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT) &&
           (last == 0 || add(t, list, T_BASE + last));
  }
  row =
      row_of(megcc_t_words(t, MEGCC_T_DECOMPOSED), megcc_t_count(t, MEGCC_T_DECOMPOSED), 2, point);
  if (row == NULL || row[0] != point) return add(t, list, point);
  for (i = 0; i < row[1] >> 24; ++i) {
    if (!add(t, list, megcc_t_words(t, MEGCC_T_POINTS)[(row[1] & 0xFFFFFF) + i])) return 0;
  }
  return 1;
}

// The character that two compose to, or 0.
static uint32_t composed(const megcc_tokenizer_t *t, uint32_t a, uint32_t b) {
  const uint32_t *const rows = megcc_t_words(t, MEGCC_T_PAIRS);
  uint32_t low = 0, high = megcc_t_count(t, MEGCC_T_PAIRS);
  if (a >= L_BASE && a < L_BASE + L_COUNT && b >= V_BASE && b < V_BASE + V_COUNT) {
    return S_BASE + ((a - L_BASE) * V_COUNT + (b - V_BASE)) * T_COUNT;
  }
  if (a >= S_BASE && a < S_BASE + S_COUNT && (a - S_BASE) % T_COUNT == 0 && b > T_BASE &&
      b < T_BASE + T_COUNT) {
    return a + (b - T_BASE);
  }
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t *const row = rows + 3 * middle;
    if (row[0] == a && row[1] == b) return row[2];
    if (row[0] < a || (row[0] == a && row[1] < b)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 0;
}

static void compose(const megcc_tokenizer_t *t, list_t *list) {
  size_t i, kept = 0, starter = SIZE_MAX;
  uint32_t last = 0;  // class of the latest character behind the starter; 0 where there is none
  for (i = 0; i < list->count; ++i) {
    const uint32_t point = list->point[i] & 0xFFFFFF, order = list->point[i] >> 24;
    if (starter != SIZE_MAX && (kept == starter + 1 || last < order)) {
      const uint32_t one = composed(t, list->point[starter] & 0xFFFFFF, point);
      if (one != 0) {
        list->point[starter] = one;
        continue;
      }
    }
    if (order == 0) starter = kept;
    last = order;
    list->point[kept++] = list->point[i];
  }
  list->count = kept;
}

static size_t put_point(uint8_t *to, size_t room, uint32_t point) {
  const size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  size_t i;
  if (length > room) return 0;
  for (i = length; i-- > 1; point >>= 6) to[i] = (uint8_t)(0x80 | (point & 0x3F));
  to[0] = (uint8_t)(length == 1 ? point : (0xF00u >> length & 0xF0) | point);
  return length;
}

size_t megcc_t_nfc(const megcc_tokenizer_t *t, const uint8_t *text, size_t bytes, uint8_t *to,
                   size_t room, uint32_t *points, size_t n_points) {
  list_t list;
  size_t i, written = 0;
  for (i = 0; i < bytes && text[i] < 0xCC; ++i) {
  }
  if (i == bytes) {  // nothing from U+0300 on: that is NFC
    if (bytes > room) return SIZE_MAX;
    megcc_t_copy(to, text, bytes);
    return bytes;
  }
  list.point = points;
  list.room = n_points;
  list.count = 0;
  for (i = 0; i < bytes;) {
    uint32_t point = 0xFFFD;
    const size_t length = megcc_t_point(text + i, bytes - i, &point);
    if (!decompose(t, &list, point)) return SIZE_MAX;
    i += length > 0 ? length : 1;
  }
  compose(t, &list);
  for (i = 0; i < list.count; ++i) {
    const size_t length = put_point(to + written, room - written, list.point[i] & 0xFFFFFF);
    if (length == 0) return SIZE_MAX;
    written += length;
  }
  return written;
}
