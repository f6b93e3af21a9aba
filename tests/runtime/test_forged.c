// Forged images of a package; called with the path of its model_<arch>.bin and, for a table of
// them, that of a file with a line for each: pairs of a word's number and its value. Prints a
// status for each line; without the file, how many images open that differ from the model's in one
// byte.
#include "forge.h"

int main(int argc, char **argv) {
  const megcc_kernels_t *kernels = idle_kernels();
  megcc_image_t image;
  size_t bytes = 0, program_bytes, i, opened = 0;
  char *whole, line[512];
  uint32_t *word, *own;
  FILE *table;
  CHECK(argc == 2 || argc == 3);
  whole = test_read_file(argv[1], &bytes);
  word = (uint32_t *)(void *)whole;
  program_bytes = word[MEGCC_H_BYTES];
  CHECK_STATUS(MEGCC_OK, megcc_image_from_bytes(whole, bytes, &image));
  // The program in memory of its own: a step beyond it is seen, too.
  word = (uint32_t *)test_alloc(program_bytes);
  memcpy(word, whole, program_bytes);
  image.program.data = word;
  CHECK_STATUS(MEGCC_OK, try_image(&image, kernels));
  own = (uint32_t *)(void *)whole;
  if (argc == 3) {
    CHECK((table = fopen(argv[2], "r")) != NULL);
    while (fgets(line, sizeof line, table) != NULL) {
      char *at = line, *end;
      megcc_status_t status;
      memcpy(word, own, program_bytes);
      for (;; at = end) {
        const unsigned long number = strtoul(at, &end, 10);
        if (end == at) break;
        CHECK(number < program_bytes / 4);
        word[number] = (uint32_t)strtoul(end, &end, 10);
      }
      if (word[MEGCC_H_BYTES] == program_bytes) fix_checksum(word);
      status = try_image(&image, kernels);
      free_blocks();
      printf("%d\n", (int)status);
    }
    fclose(table);
  } else {
    for (i = 16; i < program_bytes; ++i) {
      static const unsigned char flips[] = {1, 2, 3, 4, 8, 16, 64, 128, 255};
      size_t f;
      for (f = 0; f < sizeof flips; ++f) {
        ((unsigned char *)word)[i] ^= flips[f];
        fix_checksum(word);
        opened += try_image(&image, kernels) == MEGCC_OK;
        free_blocks();
        ((unsigned char *)word)[i] ^= flips[f];
      }
    }
    printf("%lu of the forged images ran\n", (unsigned long)opened);
  }
  free(word);
  free(whole);
  return 0;
}
