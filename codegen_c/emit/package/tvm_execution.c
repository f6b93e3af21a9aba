// An execution: the model, its context and all memory that they need.
#include <stdlib.h>
#include <string.h>

#include "tvm_library.h"

int buffer_grow(buffer_t *buffer, size_t bytes) {
  if (buffer->base != NULL && buffer->bytes >= bytes) return 0;
  free(buffer->base);
  buffer->bytes = 0;
  buffer->base = bytes < SIZE_MAX - MEGCC_ALIGNMENT ? malloc(bytes + MEGCC_ALIGNMENT) : NULL;
  if (buffer->base == NULL) return raise_error("MemoryError", "no memory for the model's tensors");
  const uintptr_t mask = MEGCC_ALIGNMENT - 1;
  buffer->data = (void *)(((uintptr_t)buffer->base + mask) & ~mask);
  buffer->bytes = bytes;
  memset(buffer->data, 0, bytes);
  return 0;
}

void execution_free(void *self) {
  execution_t *e = (execution_t *)self;
#if MEGCC_MODEL_HAS_SHAPES
  if (e->context != NULL) (void)megcc_release(e->context);
#endif
  for (uint32_t i = 0; e->inputs != NULL && i < e->input_count; ++i) free(e->inputs[i].base);
  for (uint32_t i = 0; e->outputs != NULL && i < e->output_count; ++i) free(e->outputs[i].base);
  for (uint32_t i = 0; e->pools != NULL && i < e->pool_count; ++i) free(e->pools[i].base);
  if (e->profile != NULL) (void)TVMFFIObjectDecRef(e->profile);
  free(e->pools);
  free(e->inputs);
  free(e->outputs);
  free(e->context_memory);
  free(e);
}

int execution_provide(execution_t *e) {
  megcc_tensor_info_t info;
  const char *name = NULL;
  size_t bytes = 0;
  megcc_status_t status;
  for (uint32_t i = 0; i < e->pool_count; ++i) {
    status = megcc_pool_info(e->context, i, &name, &bytes);
    if (status != MEGCC_OK) return raise_problem(e->context, status);
    if (buffer_grow(&e->pools[i], bytes) != 0) return -1;
    status = megcc_set_pool(e->context, i, e->pools[i].data, e->pools[i].bytes);
    if (status != MEGCC_OK) return raise_status("the model's memory", status);
  }
  for (uint32_t i = 0; i < e->output_count; ++i) {
    status = megcc_output_info(e->context, i, &info);
    if (status != MEGCC_OK) return raise_status("an output", status);
    if (buffer_grow(&e->outputs[i], info.bytes) != 0) return -1;
    status = megcc_bind_output(e->context, i, e->outputs[i].data, info.bytes);
    // One whose size depends on data is where the model puts it.
    if (status != MEGCC_OK && status != MEGCC_ERR_DATA) return raise_status(info.name, status);
  }
  // Last, so that the output of a state pair is where its input is, which keeps its value.
  for (uint32_t i = 0; i < e->input_count; ++i) {
    status = megcc_input_info(e->context, i, &info);
    if (status != MEGCC_OK) return raise_status("an input", status);
    if (buffer_grow(&e->inputs[i], info.bytes) != 0) return -1;
    status = megcc_bind_input(e->context, i, e->inputs[i].data, info.bytes);
    if (status != MEGCC_OK) return raise_status(info.name, status);
  }
  e->provided = 1;
  return 0;
}

int execution_open(execution_t *e) {
  megcc_status_t status = megcc_model_open(&MEGCC_MODEL_IMAGE, &MEGCC_MODEL_KERNELS,
                                           e->model_memory, sizeof(e->model_memory), &e->model);
  size_t bytes = 0;
  if (status == MEGCC_OK) status = megcc_input_count(e->model, &e->input_count);
  if (status == MEGCC_OK) status = megcc_output_count(e->model, &e->output_count);
  if (status == MEGCC_OK) status = megcc_pool_count(e->model, &e->pool_count);
  if (status == MEGCC_OK) status = megcc_context_bytes(e->model, &bytes);
  if (status != MEGCC_OK) return raise_status("the model cannot be opened", status);
  // One more than needed: calloc(0) may answer with null.
  e->inputs = (buffer_t *)calloc((size_t)e->input_count + 1, sizeof(buffer_t));
  e->outputs = (buffer_t *)calloc((size_t)e->output_count + 1, sizeof(buffer_t));
  e->pools = (buffer_t *)calloc((size_t)e->pool_count + 1, sizeof(buffer_t));
  e->context_memory = malloc(bytes + 1);
  if (e->inputs == NULL || e->outputs == NULL || e->pools == NULL || e->context_memory == NULL) {
    return raise_error("MemoryError", "no memory for the model's context");
  }
  status = megcc_context_create(e->model, e->context_memory, bytes, &e->context);
  if (status != MEGCC_OK) return raise_status("the model cannot be opened", status);
#if MEGCC_MODEL_HAS_SHAPES
  status = megcc_set_allocator(e->context, allocate, release, NULL);
  return status == MEGCC_OK ? 0 : raise_status("the model cannot be opened", status);
#else
  return execution_provide(e);
#endif
}
