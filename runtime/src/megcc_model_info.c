// Questions about an open model: the numbers of its ports and pools, and a port's index by name.
#include "megcc_vm.h"

static MEGCC_NOINLINE megcc_status_t section_count(const megcc_model_t *m, uint32_t *count,
                                                   uint32_t section) {
  if (m == NULL || count == NULL) return MEGCC_ERR_NULL;
  *count = m->count[section];
  return MEGCC_OK;
}

megcc_status_t megcc_input_count(const megcc_model_t *m, uint32_t *count) {
  return section_count(m, count, MEGCC_S_INPUTS);
}

megcc_status_t megcc_output_count(const megcc_model_t *m, uint32_t *count) {
  return section_count(m, count, MEGCC_S_OUTPUTS);
}

megcc_status_t megcc_pool_count(const megcc_model_t *m, uint32_t *count) {
  return section_count(m, count, MEGCC_S_POOLS);
}

megcc_status_t megcc_state_output(const megcc_model_t *m, uint32_t input, uint32_t *output) {
  uint32_t partner;
  if (m == NULL || output == NULL) return MEGCC_ERR_NULL;
  if (input >= m->count[MEGCC_S_INPUTS]) return MEGCC_ERR_INDEX;
  partner = megcc_partner(m, input);
  if (partner == MEGCC_NONE) return MEGCC_ERR_NAME;
  *output = partner - m->count[MEGCC_S_INPUTS];
  return MEGCC_OK;
}

static megcc_status_t port_index(const megcc_model_t *m, uint32_t section, const char *name,
                                 uint32_t *index) {
  uint32_t i;
  if (m == NULL || name == NULL || index == NULL) return MEGCC_ERR_NULL;
  for (i = 0; i < m->count[section]; ++i) {
    const char *a = megcc_string(m, m->section[section][i * MEGCC_PORT_WORDS]), *b = name;
    while (*a != 0 && *a == *b) ++a, ++b;
    if (*a == *b) {
      *index = i;
      return MEGCC_OK;
    }
  }
  return MEGCC_ERR_NAME;
}

megcc_status_t megcc_input_index(const megcc_model_t *m, const char *name, uint32_t *index) {
  return port_index(m, MEGCC_S_INPUTS, name, index);
}

megcc_status_t megcc_output_index(const megcc_model_t *m, const char *name, uint32_t *index) {
  return port_index(m, MEGCC_S_OUTPUTS, name, index);
}
