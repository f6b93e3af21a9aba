// Every byte of the weights is under a checksum, and every byte of the program.
#include "check.h"
#include "corners.h"

#include <string.h>

static void *copy_of(const void *data, size_t bytes) {
  void *memory = test_alloc(bytes);
  memcpy(memory, data, bytes);
  return memory;
}

static void test_weights(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES);
  megcc_image_t image = corners_image;
  const size_t bytes = image.segment[0].bytes, places[] = {0, 1, bytes / 2, bytes - 1};
  unsigned char *data = (unsigned char *)copy_of(image.segment[0].data, bytes);
  megcc_model_t *model = NULL;
  size_t k;
  image.segment[0].data = data;
  CHECK_STATUS(MEGCC_OK,
               megcc_model_open(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_model_verify(model));
  for (k = 0; k < sizeof places / sizeof *places; ++k) {
    data[places[k]] ^= 0x10;
    CHECK_STATUS(MEGCC_ERR_CHECKSUM, megcc_model_verify(model));
    data[places[k]] ^= 0x10;
    CHECK_STATUS(MEGCC_OK, megcc_model_verify(model));
  }
  free(data), free(memory);
}

static void test_program(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES);
  megcc_image_t image = corners_image;
  const size_t bytes = image.program.bytes;
  unsigned char *data = (unsigned char *)copy_of(image.program.data, bytes);
  megcc_model_t *model = NULL;
  size_t k;
  image.program.data = data;
  for (k = 0; k < bytes; ++k) {
    data[k] ^= 0x01;
    CHECK(megcc_model_open(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES, &model) !=
          MEGCC_OK);
    CHECK(model == NULL);
    data[k] ^= 0x01;
  }
  CHECK_STATUS(MEGCC_OK,
               megcc_model_open(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES, &model));
  free(data), free(memory);
}

int main(void) {
  test_weights();
  test_program();
  return 0;
}
