// Declarations that the files about ports share.
#ifndef MEGCC_PORT_H
#define MEGCC_PORT_H

#include "megcc_vm.h"

// A port, whose number counts inputs, then outputs: its tensor, where its value lies, and its two
// places in the context.
struct port {
  megcc_tensor_t tensor;
  const char *name;
  void *data;
  struct megcc_port *state;
  uint8_t **place;
};

void megcc_find_port(const megcc_context_t *c, uint32_t number, struct port *port);

#endif  // MEGCC_PORT_H
