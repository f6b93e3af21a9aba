// The model: its kernels for this machine, and its image, linked in or read from a file.
#include "runner.h"

#include "model.h"

#include MODEL_HEADER

#include <string.h>

#if MODEL_HAS_MACHINES
const megcc_kernels_t *kernels_for(const char *wanted, const char **name) {
  const megcc_kernels_t *kernels = &MODEL_KERNELS;
  if (wanted != NULL) check(megcc_machine_kernels(kernels, wanted, &kernels), wanted);
  check(megcc_machine_name(kernels, name), wanted != NULL ? wanted : MODEL_MACHINE);
  return kernels;
}
#else
const megcc_kernels_t *kernels_for(const char *wanted, const char **name) {
  *name = MODEL_MACHINE;
  if (wanted != NULL && strcmp(wanted, *name)) fail("is not what this package is for", wanted);
  return &MODEL_KERNELS;
}
#endif

#ifdef MODEL_FILE
megcc_image_t image_from(const char *path, const char *argv0, const char *machine) {
  static char beside[MAX_PATH];
  megcc_image_t image;
  size_t bytes;
  void *data;
  FILE *f;
  if (path == NULL) {  // the default lies beside the program
    const char *slash = strrchr(argv0, '/');
    const int dir = slash ? (int)(slash - argv0) + 1 : 0;
    if (snprintf(beside, sizeof beside, "%.*s" MODEL_FILE, dir, argv0, machine) >= MAX_PATH) {
      fail("path is too long", argv0);
    }
    path = beside;
  }
  f = open_file(path, &bytes);
  data = allocate(bytes);
  read_exactly(f, data, bytes, path);
  check(megcc_image_from_bytes(data, bytes, &image), path);
  return image;
}
#else
megcc_image_t image_from(const char *path, const char *argv0, const char *machine) {
  (void)argv0, (void)machine;
  if (path != NULL) fail("this package has its model linked in", "--model");
  return MODEL_IMAGE;
}
#endif
