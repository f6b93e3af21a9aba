// A package for two machines of this architecture: the first argument is the better one's name, the
// second the other's; this CPU is both.
#include "adder.h"
#include "check.h"

static float run(const megcc_kernels_t *kernels) {
  static uint64_t memory[MEGCC_MODEL_BYTES / 8], context_memory[64];
  const float x[6] = {0};
  float y[6];
  megcc_model_t *model;
  megcc_context_t *context;
  CHECK(sizeof context_memory >= ADDER_CONTEXT_BYTES);
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&adder_image, kernels, memory, sizeof memory, &model));
  CHECK_STATUS(MEGCC_OK, megcc_model_verify(model));
  CHECK_STATUS(MEGCC_OK,
               megcc_context_create(model, context_memory, sizeof context_memory, &context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, 0, x, sizeof x));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, 0, y, sizeof y));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  return y[0];
}

int main(int argc, char **argv) {
  const megcc_kernels_t *one = NULL, *other = NULL;
  const char *name = NULL;
  CHECK(argc == 3);
  CHECK_STATUS(MEGCC_OK, megcc_machine_name(&adder_kernels, &name));
  CHECK(!strcmp(name, argv[1]));
  CHECK(run(&adder_kernels) == 2);

  CHECK_STATUS(MEGCC_OK, megcc_machine_kernels(&adder_kernels, argv[1], &one));
  CHECK(run(one) == 2);
  CHECK_STATUS(MEGCC_OK, megcc_machine_kernels(&adder_kernels, argv[2], &other));
  CHECK(one != other && run(other) == 10);
  CHECK_STATUS(MEGCC_OK, megcc_machine_name(other, &name));
  CHECK(!strcmp(name, argv[2]));
  CHECK_STATUS(MEGCC_ERR_NAME, megcc_machine_kernels(other, argv[1], &one));

  CHECK_STATUS(MEGCC_ERR_NAME, megcc_machine_kernels(&adder_kernels, "x86+", &one));
  CHECK_STATUS(MEGCC_ERR_NAME, megcc_machine_kernels(&adder_kernels, "", &one));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_machine_kernels(NULL, argv[1], &one));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_machine_kernels(&adder_kernels, NULL, &one));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_machine_kernels(&adder_kernels, argv[1], NULL));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_machine_name(NULL, &name));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_machine_name(&adder_kernels, NULL));
  return 0;
}
