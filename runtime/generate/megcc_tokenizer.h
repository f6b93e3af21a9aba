/// megcc_tokenizer.h: text to the token ids of a language model, and back. In packages made by
/// `tvmc compile --generate`.
///
/// A tokenizer is an image that `tvm_megcc.tokenizer` compiled from a `tokenizer.json`; it stays
/// where it is. Memory is the caller's, and nothing is kept between two calls.
#ifndef MEGCC_TOKENIZER_H
#define MEGCC_TOKENIZER_H

#include "megcc.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A validated image. The members are the library's.
typedef struct megcc_tokenizer {
  const uint32_t *words;  // of the image
  const uint8_t *data;    // the same memory
} megcc_tokenizer_t;

/// Bits of `flags` of megcc_encode.
typedef enum megcc_encode_flags {
  MEGCC_ENCODE_AROUND = 1,  ///< with the special tokens that the model has around a text
  MEGCC_ENCODE_PLAIN = 2    ///< the names of special tokens are text: for what a user typed
} megcc_encode_flags_t;

/// Validates an image (4-byte aligned) completely: MEGCC_ERR_TRUNCATED, MEGCC_ERR_MAGIC,
/// MEGCC_ERR_VERSION, MEGCC_ERR_PLATFORM (byte order) or MEGCC_ERR_CORRUPT.
MEGCC_API megcc_status_t megcc_tokenizer_open(const void *image, size_t bytes,
                                              megcc_tokenizer_t *tokenizer);

/// Number of ids; each is below it.
MEGCC_API uint32_t megcc_tokenizer_count(const megcc_tokenizer_t *tokenizer);

/// Number of logits of the model that the image was compiled for; 0 where it was for none.
MEGCC_API uint32_t megcc_tokenizer_vocabulary(const megcc_tokenizer_t *tokenizer);

/// Bytes of the memory that `megcc_encode` needs for a text of so many bytes; SIZE_MAX for a text
/// that is too long.
MEGCC_API size_t megcc_encode_bytes(const megcc_tokenizer_t *tokenizer, size_t text_bytes);

/// Writes the ids of a text in UTF-8 to `tokens`, and their number to `count`.
///
/// MEGCC_ERR_DATA: the text is not UTF-8. MEGCC_ERR_SIZE: there are more than `capacity` ids;
/// `count` says how many, and the first of them are written. MEGCC_ERR_MEMORY: `work`, aligned for
/// uint32_t, is too small.
MEGCC_API megcc_status_t megcc_encode(const megcc_tokenizer_t *tokenizer, const char *text,
                                      size_t text_bytes, uint32_t flags, void *work,
                                      size_t work_bytes, int32_t *tokens, size_t capacity,
                                      size_t *count);

/// Finds the token with exactly this text, added and special ones included. MEGCC_ERR_NAME: there
/// is none.
MEGCC_API megcc_status_t megcc_token_named(const megcc_tokenizer_t *tokenizer, const char *text,
                                           int32_t *token);

/// Tokens that end what the model says, and their number.
MEGCC_API const int32_t *megcc_tokenizer_stops(const megcc_tokenizer_t *tokenizer, size_t *count);

/// Texts around the messages of a conversation, in front of which stands MEGCC_BEGIN, or, where it
/// begins with a system's message, MEGCC_BEFORE_SYSTEM, that message and MEGCC_AFTER_SYSTEM.
typedef enum megcc_role_text {
  MEGCC_BEGIN,
  MEGCC_BEFORE_SYSTEM,
  MEGCC_AFTER_SYSTEM,
  MEGCC_BEFORE_USER,
  MEGCC_AFTER_USER,
  MEGCC_BEFORE_ASSISTANT,
  MEGCC_AFTER_ASSISTANT,
  MEGCC_ROLE_TEXTS  ///< how many there are
} megcc_role_text_t;

/// One of these texts and its bytes; null where the model has no conversations, or takes no
/// system's message.
MEGCC_API const char *megcc_role_text(const megcc_tokenizer_t *tokenizer, megcc_role_text_t which,
                                      size_t *bytes);

/// Whether messages lose the white space around them.
MEGCC_API int megcc_roles_trim(const megcc_tokenizer_t *tokenizer);

/// Decoding of ids that come one by one. The members are the library's; zeros are a new one.
typedef struct megcc_decoder {
  uint8_t pending[4];  // the beginning of a character whose end is missing
  uint32_t count;
  uint32_t begun;
} megcc_decoder_t;

/// Most bytes that `megcc_decode_token` and `megcc_decode_end` write for one token.
MEGCC_API size_t megcc_decode_bytes(const megcc_tokenizer_t *tokenizer);

/// Writes the characters that this token completes; bytes that are no UTF-8 become U+FFFD. Special
/// tokens have no text unless `special` is set. MEGCC_ERR_INDEX: no token has this id.
/// MEGCC_ERR_MEMORY: `capacity` is too small; the decoder is as before.
MEGCC_API megcc_status_t megcc_decode_token(const megcc_tokenizer_t *tokenizer,
                                            megcc_decoder_t *decoder, int32_t token, int special,
                                            char *text, size_t capacity, size_t *bytes);

/// Writes U+FFFD in place of a character that has begun and does not end, at most 3 bytes.
MEGCC_API megcc_status_t megcc_decode_end(megcc_decoder_t *decoder, char *text, size_t capacity,
                                          size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_TOKENIZER_H
