// Tokens to text, one by one: a character may begin in one token and end in another.
#include "megcc_tokenizer_image.h"

// Most bytes that a token's bytes become: as U+FFFD, or by replacing.
static size_t most_of(const megcc_tokenizer_t *t, size_t bytes) {
  const uint32_t *const row = megcc_t_words(t, MEGCC_T_REPLACED);
  const size_t by = megcc_t_count(t, MEGCC_T_REPLACED) > 0 ? row[4] : 0;
  return bytes * (by > 3 ? by : 3) + 4;
}

size_t megcc_decode_bytes(const megcc_tokenizer_t *tokenizer) {
  const uint32_t *const at = megcc_t_words(tokenizer, MEGCC_T_TEXT);
  uint32_t i, most = 0;
  for (i = 0; i < megcc_tokenizer_count(tokenizer); ++i) {
    if (at[i + 1] - at[i] > most) most = at[i + 1] - at[i];
  }
  return most_of(tokenizer, most);
}

typedef struct writer {
  megcc_decoder_t *decoder;
  char *to;
  size_t written;
  int strips;  // whether a space is left out in front of everything
} writer_t;

static void write(writer_t *w, const uint8_t *bytes, size_t count) {
  if (w->strips && !w->decoder->begun && bytes[0] == ' ') {
    ++bytes;
    --count;
  }
  w->decoder->begun = 1;
  megcc_t_copy(w->to + w->written, bytes, count);
  w->written += count;
}

static void write_byte(writer_t *w, uint8_t byte) {
  static const uint8_t kReplacement[3] = {0xEF, 0xBF, 0xBD};
  megcc_decoder_t *const d = w->decoder;
  int length;
  d->pending[d->count++] = byte;
  length = megcc_t_character(d->pending, d->count);
  if (length < 0 && d->count > 1) {  // what was there did not end, and this begins anew
    write(w, kReplacement, sizeof kReplacement);
    d->pending[0] = byte;
    d->count = 1;
    length = megcc_t_character(d->pending, 1);
  }
  if (length < 0) {
    write(w, kReplacement, sizeof kReplacement);
  } else if (length > 0) {
    write(w, d->pending, d->count);
  }
  if (length != 0) d->count = 0;
}

static uint32_t digit(uint8_t c) { return c <= '9' ? c - (uint32_t)'0' : c - (uint32_t)'A' + 10; }

megcc_status_t megcc_decode_token(const megcc_tokenizer_t *t, megcc_decoder_t *decoder,
                                  int32_t token, int special, char *text, size_t capacity,
                                  size_t *bytes) {
  const uint8_t *data, *old = NULL, *by = NULL;
  size_t i, k, count, n_old = 0, n_by = 0;
  writer_t w;
  uint8_t kind;
  if (t == NULL || decoder == NULL || bytes == NULL || text == NULL) return MEGCC_ERR_NULL;
  if (token < 0 || (uint32_t)token >= megcc_tokenizer_count(t)) return MEGCC_ERR_INDEX;
  kind = megcc_t_bytes(t, MEGCC_T_KINDS)[token];
  if (!(kind & MEGCC_T_KNOWN)) return MEGCC_ERR_INDEX;
  *bytes = 0;
  if ((kind & MEGCC_T_SPECIAL) && !special) return MEGCC_OK;
  data = megcc_t_bytes(t, MEGCC_T_DATA) + megcc_t_words(t, MEGCC_T_TEXT)[token];
  count = megcc_t_words(t, MEGCC_T_TEXT)[token + 1] - megcc_t_words(t, MEGCC_T_TEXT)[token];
  if (capacity < most_of(t, count)) return MEGCC_ERR_MEMORY;
  w.decoder = decoder;
  w.to = text;
  w.written = 0;
  w.strips = (t->words[MEGCC_T_FLAGS] & MEGCC_T_STRIPS_SPACE) != 0;
  if (kind & MEGCC_T_IS_BYTE) {  // <0x41>
    write_byte(&w, (uint8_t)(digit(data[3]) << 4 | digit(data[4])));
    count = 0;
  } else if (megcc_t_count(t, MEGCC_T_REPLACED) > 0) {
    const uint32_t *const row = megcc_t_words(t, MEGCC_T_REPLACED);
    old = megcc_t_bytes(t, MEGCC_T_DATA) + row[1];
    n_old = row[2];
    by = megcc_t_bytes(t, MEGCC_T_DATA) + row[3];
    n_by = row[4];
  }
  for (i = 0; i < count;) {
    if (n_old > 0 && n_old <= count - i && megcc_t_equal(data + i, old, n_old)) {
      for (k = 0; k < n_by; ++k) write_byte(&w, by[k]);
      i += n_old;
    } else {
      write_byte(&w, data[i++]);
    }
  }
  *bytes = w.written;
  return MEGCC_OK;
}

megcc_status_t megcc_decode_end(megcc_decoder_t *decoder, char *text, size_t capacity,
                                size_t *bytes) {
  if (decoder == NULL || bytes == NULL || text == NULL) return MEGCC_ERR_NULL;
  if (capacity < 3) return MEGCC_ERR_MEMORY;
  *bytes = decoder->count > 0 ? 3 : 0;
  if (decoder->count > 0) megcc_t_copy(text, "\xEF\xBF\xBD", 3);
  decoder->count = 0;
  return MEGCC_OK;
}
