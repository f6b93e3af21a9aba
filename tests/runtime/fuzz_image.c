// libFuzzer over the program of a package (scripts/fuzz --image): an input is a program, whose
// magic, version, fingerprint, size and checksum are put right. The model's weights come from the
// file that the environment's FUZZ_IMAGE names.
#include "forge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

// An image consists of words: every other mutation is of one, to a number that could stand there.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  static const uint32_t special[] = {0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0x200, 64};
  const uint32_t random = seed * 2654435761u;
  uint32_t word, other;
  size_t at, from;
  if (size < 8 || seed % 2) return LLVMFuzzerMutate(data, size, most);
  at = random / 8 % (size / 4) * 4;
  from = random / 64 % (size / 4) * 4;
  memcpy(&word, data + at, 4);
  memcpy(&other, data + from, 4);
  switch (random % 7) {
    case 0: word += 1; break;
    case 1: word -= 1; break;
    case 2: word = random >> 8 & 31; break;
    case 3: word = 0u - (random >> 8 & 31); break;
    case 4: word = other; break;
    case 5: word ^= 1u << (random >> 8 & 31); break;
    default: word = special[(random >> 8) % (sizeof special / sizeof *special)];
  }
  memcpy(data + at, &word, 4);
  return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static megcc_image_t image;
  static const megcc_kernels_t *kernels;
  static char *whole;
  uint32_t *word;
  if (whole == NULL) {
    size_t bytes = 0;
    CHECK(getenv("FUZZ_IMAGE") != NULL);
    whole = test_read_file(getenv("FUZZ_IMAGE"), &bytes);
    CHECK_STATUS(MEGCC_OK, megcc_image_from_bytes(whole, bytes, &image));
    kernels = idle_kernels();
  }
  if (size < 4 * MEGCC_H_WORDS || size > LIMIT) return 0;
  word = (uint32_t *)test_alloc(size);
  memcpy(word, data, size);
  memcpy(word, whole, 4 * MEGCC_H_ARCH);
  word[MEGCC_H_BYTES] = (uint32_t)size;
  fix_checksum(word);
  image.program.data = word;
  image.program.bytes = size;
  (void)try_image(&image, kernels);
  free_blocks();
  free(word);
  return 0;
}
