// Shapes that change: their allocator, and errors about them.
#include <stdio.h>
#include <stdlib.h>

#include "tvm_library.h"

#if MEGCC_MODEL_HAS_SHAPES
void *allocate(void *user, size_t bytes) {
  void *base = bytes < SIZE_MAX - 2 * MEGCC_ALIGNMENT ? malloc(bytes + 2 * MEGCC_ALIGNMENT) : NULL;
  (void)user;
  if (base == NULL) return NULL;
  // malloc's pointer stands right before the memory.
  const uintptr_t mask = MEGCC_ALIGNMENT - 1;
  void *data = (void *)(((uintptr_t)base + sizeof(void *) + mask) & ~mask);
  ((void **)data)[-1] = base;
  return data;
}

void release(void *user, void *data, size_t bytes) {
  (void)user;
  (void)bytes;
  free(((void **)data)[-1]);
}

int is_about_a_size(const megcc_context_t *context) {
  megcc_shape_problem_t p;
  return megcc_shape_problem(context, &p) == MEGCC_OK &&
         (p.reason == MEGCC_SHAPE_BOUNDS || p.reason == MEGCC_SHAPE_MULTIPLE);
}

int raise_problem(const megcc_context_t *context, megcc_status_t status) {
  char message[kMessageBytes], numbers[96];
  megcc_shape_problem_t p;
  if ((status != MEGCC_ERR_SHAPE && status != MEGCC_ERR_NO_SHAPE) ||
      megcc_shape_problem(context, &p) != MEGCC_OK) {
    return raise_status("the model's shapes", status);
  }
  if (p.reason == MEGCC_SHAPE_BOUNDS) {
    snprintf(numbers, sizeof(numbers), " (%d; it takes %d to %d)", p.value, p.low, p.high);
  } else if (p.reason == MEGCC_SHAPE_MULTIPLE) {
    snprintf(numbers, sizeof(numbers), " (%d; it takes multiples of %d)", p.value, p.low);
  } else if (p.reason == MEGCC_SHAPE_NEGATIVE) {
    snprintf(numbers, sizeof(numbers), " (%d)", p.value);
  } else if (p.reason == MEGCC_SHAPE_TOO_LARGE) {
    numbers[0] = 0;
  } else {
    snprintf(numbers, sizeof(numbers), " (%d and %d)%s", p.value, p.low,
             p.reason == MEGCC_SHAPE_DIFFERENT ? "; distinct_dims makes them two dims" : "");
  }
  if (p.reason == MEGCC_SHAPE_REQUIRED || p.reason == MEGCC_SHAPE_NEGATIVE ||
      p.reason == MEGCC_SHAPE_TOO_LARGE) {
    megcc_tensor_info_t from;
    char origin[200] = "";
    if (megcc_input_info(context, p.input, &from) == MEGCC_OK && p.axis < from.rank) {
      snprintf(origin, sizeof(origin), "; from '%.100s', dim %d = %d", from.name, (int)p.axis,
               (int)from.dims[p.axis]);
    }
    snprintf(message, sizeof(message), "'%.200s': %s%s%s", p.name != NULL ? p.name : "the model",
             megcc_shape_reason_string(p.reason), numbers, origin);
    return raise_error("ValueError", message);
  }
  snprintf(message, sizeof(message), "'%.200s', dim %d%s%.100s: %s%s",
           p.name != NULL ? p.name : "the inputs together", (int)p.axis,
           p.symbol != NULL ? ", " : "", p.symbol != NULL ? p.symbol : "",
           megcc_shape_reason_string(p.reason), p.reason == MEGCC_SHAPE_FINE ? "" : numbers);
  return raise_error("ValueError", message);
}
#else
int is_about_a_size(const megcc_context_t *context) {
  (void)context;
  return 0;
}

int raise_problem(const megcc_context_t *context, megcc_status_t status) {
  (void)context;
  return raise_status("the model's shapes", status);
}
#endif
