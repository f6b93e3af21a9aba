// Opens images with changed words, and uses those that open: sanitizers see the rest.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "megcc_tokenizer.h"

static uint32_t state = 1;

static uint32_t draw(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static void use(const megcc_tokenizer_t *t, const char *text) {
  const size_t bytes = strlen(text), need = megcc_encode_bytes(t, bytes);
  int32_t tokens[40];
  size_t count = 0, i, written;
  char *piece;
  void *work;
  megcc_decoder_t decoder;
  if (need > 1 << 24) return;  // an image may ask for any memory
  work = malloc(need);
  (void)megcc_encode(t, text, bytes, draw() & 3, work, need, tokens, 40, &count);
  free(work);
  if (megcc_decode_bytes(t) > 1 << 24) return;
  piece = malloc(megcc_decode_bytes(t));
  memset(&decoder, 0, sizeof decoder);
  for (i = 0; i < 40 && i < megcc_tokenizer_count(t); ++i) {
    (void)megcc_decode_token(t, &decoder, (int32_t)i, 1, piece, megcc_decode_bytes(t), &written);
  }
  free(piece);
  (void)megcc_token_named(t, "ab", tokens);
}

int main(int argc, char **argv) {
  static uint32_t original[1 << 20];
  FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
  size_t bytes, words, round, k, opened = 0, refused = 0;
  if (f == NULL) return 2;
  bytes = fread(original, 1, sizeof original, f);
  fclose(f);
  words = bytes / 4;
  for (round = 0; round < 6000; ++round) {
    // Memory of its own, of exactly this size.
    size_t size = bytes, changes = 1 + draw() % 3;
    uint32_t *image;
    megcc_tokenizer_t t;
    if (draw() % 8 == 0) size = draw() % bytes;
    image = malloc(size ? size : 1);
    memcpy(image, original, size);
    for (k = 0; k < changes; ++k) {
      // Half of the changes are in the header and the sections behind it.
      const size_t at = (draw() & 1 ? draw() % 50 : draw() % words);
      const uint32_t value = draw() & 1 ? draw() % 300 : draw();
      if (4 * at + 4 <= size) image[at] = draw() & 1 ? value : image[at] ^ 1u << (draw() & 31);
    }
    if (megcc_tokenizer_open(image, size, &t) == MEGCC_OK) {
      ++opened;
      use(&t, "a ab\xCC\x81\xCC\xA3 12 <x> b's \xEA\xB0\x80\xE1\x86\xA8");
      use(&t, "<x>");
    } else {
      ++refused;
    }
    free(image);
  }
  printf("%lu %lu\n", (unsigned long)opened, (unsigned long)refused);
  return 0;
}
