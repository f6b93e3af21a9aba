// Run a package once with its model's file mapped, and print what the process has in memory.
//
//   mapped_memory IMAGE INPUTS DIMS...
//
// INPUTS holds the values of all inputs, one behind the other; DIMS, such as 1,3,2048,64, are those
// of each. States are in memory of their own, which is bound once. Compiled with -DHEADER and
// -DKERNELS, the package's header and table of kernels. What is printed is a JSON object: bytes of
// anonymous memory and of files (RssAnon and RssFile of /proc/self/status) at the start, with the
// model opened, and after the run; and the bytes of the states.
#define _POSIX_C_SOURCE 200809L
#include HEADER

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int is_right, const char *what) {
  if (is_right) return;
  fprintf(stderr, "mapped_memory: %s\n", what);
  exit(1);
}

#define TRY(call)                                             \
  do {                                                        \
    const megcc_status_t status_ = (call);                    \
    check(status_ == MEGCC_OK, megcc_status_string(status_)); \
  } while (0)

static void print_resident(const char *when) {
  char line[256];
  unsigned long anonymous = 0, files = 0;
  FILE *status = fopen("/proc/self/status", "r");
  check(status != NULL, "no /proc/self/status");
  while (fgets(line, sizeof line, status) != NULL) {
    sscanf(line, "RssAnon: %lu kB", &anonymous);
    sscanf(line, "RssFile: %lu kB", &files);
  }
  fclose(status);
  printf("\"%s\": {\"anonymous\": %lu, \"files\": %lu}, ", when, 1024 * anonymous, 1024 * files);
}

// Whole blocks, as the runtime wants them aligned.
static void *memory(size_t bytes) {
  void *data = aligned_alloc(MEGCC_ALIGNMENT, (bytes / MEGCC_ALIGNMENT + 1) * MEGCC_ALIGNMENT);
  check(data != NULL, "no memory");
  return data;
}

static void read_exactly(int file, char *to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = read(file, to, bytes);
    check(done > 0, "INPUTS is too short");
    to += done, bytes -= (size_t)done;
  }
}

static void set_shape(megcc_context_t *context, uint32_t input, const char *text) {
  int32_t dims[8], rank = 0;
  char *end;
  for (; *text && rank < 8; text = end + (*end == ',')) {
    dims[rank++] = (int32_t)strtol(text, &end, 10);
    check(end != text, "DIMS are numbers with commas between them");
  }
  TRY(megcc_set_input_shape(context, input, rank, dims));
}

int main(int argc, char **argv) {
  static union {
    char bytes[MEGCC_MODEL_BYTES];
    void *align;
  } handle;
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_image_t image;
  megcc_tensor_info_t info;
  struct stat facts;
  size_t bytes, states = 0;
  uint32_t count, k, partner;
  void *mapped;
  int file, inputs;
  check(argc > 2, "give IMAGE INPUTS DIMS...");
  printf("{");
  print_resident("start");
  file = open(argv[1], O_RDONLY);
  check(file >= 0 && fstat(file, &facts) == 0, "IMAGE cannot be read");
  mapped = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  check(mapped != MAP_FAILED, "IMAGE cannot be mapped");
  TRY(megcc_image_from_bytes(mapped, (size_t)facts.st_size, &image));
  TRY(megcc_model_open(&image, &KERNELS, &handle, sizeof handle, &model));
  TRY(megcc_context_bytes(model, &bytes));
  TRY(megcc_context_create(model, memory(bytes), bytes, &context));
  print_resident("opened");
  TRY(megcc_input_count(model, &count));
  check((uint32_t)argc == count + 3, "give DIMS of each input");
  for (k = 0; k < count; ++k) set_shape(context, k, argv[3 + k]);
  TRY(megcc_arena_bytes(context, &bytes));
  TRY(megcc_set_arena(context, memory(bytes), bytes));
  inputs = open(argv[2], O_RDONLY);
  check(inputs >= 0, "INPUTS cannot be read");
  for (k = 0; k < count; ++k) {
    char *data;
    TRY(megcc_input_info(context, k, &info));
    data = memory(info.bytes);
    read_exactly(inputs, data, info.bytes);
    TRY(megcc_bind_input(context, k, data, info.bytes));
    if (megcc_state_output(model, k, &partner) == MEGCC_OK) states += info.bytes;
  }
  TRY(megcc_output_count(model, &count));
  for (k = 0; k < count; ++k) {
    uint32_t input = 0;
    while (megcc_state_output(model, input, &partner) != MEGCC_OK || partner != k) {
      if (++input == (uint32_t)argc - 3) break;
    }
    if (input < (uint32_t)argc - 3) continue;  // it is where the state is
    TRY(megcc_output_info(context, k, &info));
    TRY(megcc_bind_output(context, k, memory(info.bytes), info.bytes));
  }
  TRY(megcc_run(context));
  print_resident("run");
  printf("\"states\": %lu}\n", (unsigned long)states);
  return 0;
}
