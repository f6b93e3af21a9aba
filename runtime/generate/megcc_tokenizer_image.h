// The image of a tokenizer, which tvm_megcc/tokenizer/tokenizer_image.py writes: 32-bit
// little-endian words. Not for applications.
#ifndef MEGCC_TOKENIZER_IMAGE_H
#define MEGCC_TOKENIZER_IMAGE_H

#include "megcc_tokenizer.h"

#define MEGCC_T_MAGIC_WORD 0x5447454Du  // "MEGT"
#define MEGCC_T_VERSION_WORD 1u
#define MEGCC_T_NONE 0xFFFFFFFFu

enum {  // words of the header
  MEGCC_T_MAGIC,
  MEGCC_T_VERSION,
  MEGCC_T_BYTES,  // of the image
  MEGCC_T_FLAGS,
  MEGCC_T_PATTERN,
  MEGCC_T_COUNT,       // ids
  MEGCC_T_UNKNOWN,     // id, or NONE
  MEGCC_T_VOCABULARY,  // logits of the model, or 0
  MEGCC_T_TIMES,       // a normalised text has at most so many bytes for each of the text's,
  MEGCC_T_MORE,        // and so many more
  MEGCC_T_SECTIONS     // (offset in bytes, entries) of each
};

enum {
  MEGCC_T_TEXT,              // where each id's bytes begin in the next section, and their end
  MEGCC_T_DATA,              // bytes of tokens, and of the texts that the sections below name
  MEGCC_T_KINDS,             // a byte for each id
  MEGCC_T_SORTED,            // ids that words may be, by their bytes
  MEGCC_T_UNITS,             // for each byte the id of the token that stands for it, or NONE
  MEGCC_T_LEFT,              // where each left id's merges begin, and their end
  MEGCC_T_MERGES,            // right id, rank, result
  MEGCC_T_RAW,               // added tokens of the text: offset, bytes, id, bits; by their text
  MEGCC_T_NORMALISED,        // those of the normalised text
  MEGCC_T_RAW_FIRST,         // where those with each first byte begin, and their end
  MEGCC_T_NORMALISED_FIRST,  // the same
  MEGCC_T_STEPS,             // of the normaliser: kind, text and its replacement (offset, bytes)
  MEGCC_T_REPLACED,          // in decoded tokens, in the same form
  MEGCC_T_BEFORE,            // ids around a text
  MEGCC_T_AFTER,
  MEGCC_T_CLASSES,     // first code point | class << 24, of each run
  MEGCC_T_DECOMPOSED,  // code point, index in the next section | count << 24
  MEGCC_T_POINTS,
  MEGCC_T_ORDERS,  // code point | its combining class << 24
  MEGCC_T_PAIRS,   // two code points, and what they are composed to
  MEGCC_T_STOPS,   // ids that end what the model says
  MEGCC_T_ROLES,   // texts around messages (offset, bytes), in the order of megcc_role_text_t
  MEGCC_T_SECTION_COUNT
};

enum {  // flags
  MEGCC_T_BYTE_LEVEL = 1,
  MEGCC_T_IGNORE_MERGES = 2,
  MEGCC_T_FUSE_UNKNOWN = 4,
  MEGCC_T_BYTE_FALLBACK = 8,
  MEGCC_T_PREFIX_SPACE = 16,
  MEGCC_T_STRIPS_SPACE = 32,
  MEGCC_T_DIGITS = 64,
  MEGCC_T_SINGLE_DIGITS = 128,
  MEGCC_T_TRIMS = 256,  // messages lose the spaces around them
  MEGCC_T_SYSTEM = 512  // a conversation may begin with a system's message
};

enum { MEGCC_T_KNOWN = 1, MEGCC_T_SPECIAL = 2, MEGCC_T_IS_BYTE = 4 };        // of an id
enum { MEGCC_T_LSTRIP = 1, MEGCC_T_RSTRIP = 2, MEGCC_T_ADDED_SPECIAL = 4 };  // of an added token
enum { MEGCC_T_NO_PATTERN, MEGCC_T_GPT2, MEGCC_T_LLAMA3, MEGCC_T_QWEN };     // of splitting
enum { MEGCC_T_PREPEND, MEGCC_T_REPLACE, MEGCC_T_NFC };                      // of steps
enum { MEGCC_T_OTHER, MEGCC_T_LETTER, MEGCC_T_NUMBER, MEGCC_T_SPACE };       // of code points

// A section's words (bytes for DATA and KINDS), and its number of entries.
const uint32_t *megcc_t_words(const megcc_tokenizer_t *t, uint32_t section);
const uint8_t *megcc_t_bytes(const megcc_tokenizer_t *t, uint32_t section);
uint32_t megcc_t_count(const megcc_tokenizer_t *t, uint32_t section);

// Copies, as the library is without libc.
void megcc_t_copy(void *to, const void *from, size_t bytes);
int megcc_t_equal(const void *a, const void *b, size_t bytes);

// The character that `left` bytes begin with, and its bytes: 0 where that is no UTF-8.
size_t megcc_t_point(const uint8_t *text, size_t left, uint32_t *point);

// Bytes of a whole character, 0 for the beginning of one, -1 for neither; of 1 to 4 bytes.
int megcc_t_character(const uint8_t *text, size_t bytes);

// The class of a character.
uint32_t megcc_t_class(const megcc_tokenizer_t *t, uint32_t point);

// Bytes of the first piece of a text (at least 1, of at least 1) by the image's pattern.
size_t megcc_t_piece(const megcc_tokenizer_t *t, const uint8_t *text, size_t bytes);

// A text in NFC: its bytes; SIZE_MAX where `room` bytes or `n_points` points are too few.
size_t megcc_t_nfc(const megcc_tokenizer_t *t, const uint8_t *text, size_t bytes, uint8_t *to,
                   size_t room, uint32_t *points, size_t n_points);

// The id of a token that a word may be, or NONE.
uint32_t megcc_t_find(const megcc_tokenizer_t *t, const uint8_t *text, size_t bytes);

#endif  // MEGCC_TOKENIZER_IMAGE_H
