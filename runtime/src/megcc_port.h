// What the files about ports share.
#ifndef MEGCC_PORT_H
#define MEGCC_PORT_H

#include "megcc_vm.h"

// A port: its tensor and its two places in the context.
struct port {
  megcc_tensor_t tensor;
  const char *name;
  struct megcc_port *state;
  uint8_t **base;
};

struct port megcc_port_at(const megcc_context_t *c, int section, uint32_t index);

#endif  // MEGCC_PORT_H
