// Checks of an image whose shapes can change, when its model is opened.
//
// Values below F_DATA are computed from the shapes and stay what they are during a run: no scalar
// of a LOAD or LET sets them. What a caller binds depends on no others.
#include "megcc_vm.h"

int megcc_is_fixed(const megcc_tensor_t *t) {
  uint32_t d;
  for (d = 0; d < t->rank; ++d) {
    if (t->dims[d] < 0) return 0;
  }
  return 1;
}

static megcc_status_t check_scalars(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_SCALARS];
  const uint32_t *record = m->record;
  const uint32_t values = m->count[MEGCC_S_VALUES], symbols = m->count[MEGCC_S_SYMBOLS];
  uint32_t i;
  if (values > 0 && record[MEGCC_F_DATA] < symbols) return MEGCC_ERR_CORRUPT;
  if (record[MEGCC_F_DATA] > values) return MEGCC_ERR_CORRUPT;
  if (record[MEGCC_F_SCALARS] > m->count[MEGCC_S_SCALARS]) return MEGCC_ERR_CORRUPT;
  for (i = 0; i < m->count[MEGCC_S_SCALARS]; ++i, w += MEGCC_SCALAR_WORDS) {
    const uint32_t operation = w[0] & 0xFF, to = w[0] >> 8;
    if (operation >= MEGCC_V_OPERATIONS) return MEGCC_ERR_CORRUPT;
    if (w[1] >= values || w[2] >= values) return MEGCC_ERR_CORRUPT;
    if (operation == MEGCC_V_REQUIRE) {
      if (to >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
      continue;
    }
    if (to < symbols || to >= values) return MEGCC_ERR_CORRUPT;
    if (i >= record[MEGCC_F_SCALARS] && to < record[MEGCC_F_DATA]) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static uint32_t kind_of(const megcc_model_t *m, uint32_t block) {
  return m->section[MEGCC_S_BLOCKS][(size_t)block * MEGCC_BLOCK_WORDS] & 0xFF;
}

static megcc_status_t check_blocks(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_BLOCKS];
  const uint32_t *below = m->section[MEGCC_S_BELOW];
  uint32_t i, k;
  for (i = 0; i < m->count[MEGCC_S_BLOCKS]; ++i, w += MEGCC_BLOCK_WORDS) {
    const uint32_t shift = w[0] >> 8;
    switch (w[0] & 0xFF) {
      case MEGCC_B_PLACED:
        if (shift > 6 || w[1] > m->count[MEGCC_S_BELOW]) return MEGCC_ERR_CORRUPT;
        if (w[2] > m->count[MEGCC_S_BELOW] - w[1]) return MEGCC_ERR_CORRUPT;
        for (k = 0; k < w[2]; ++k) {
          if (below[w[1] + k] >= i || kind_of(m, below[w[1] + k]) != MEGCC_B_PLACED) {
            return MEGCC_ERR_CORRUPT;
          }
        }
        break;
      case MEGCC_B_ALIAS:
        if (w[1] >= i || w[2] >= m->count[MEGCC_S_VALUES]) return MEGCC_ERR_CORRUPT;
        break;
      case MEGCC_B_DYNAMIC: break;
      default: return MEGCC_ERR_CORRUPT;
    }
  }
  return MEGCC_OK;
}

// The signature says what every function's inputs look like.
static megcc_status_t check_signature(const megcc_model_t *m) {
  const uint32_t *symbol = m->section[MEGCC_S_SYMBOLS];
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  uint32_t left = m->count[MEGCC_S_SIGNATURE], k;
  for (k = 0; k < m->count[MEGCC_S_SYMBOLS]; ++k, symbol += MEGCC_SYMBOL_WORDS) {
    if (symbol[1] > INT32_MAX || symbol[2] > INT32_MAX) return MEGCC_ERR_CORRUPT;
  }
  while (left > 0) {
    const uint32_t rank = *w;
    if (rank > left - 1) return MEGCC_ERR_CORRUPT;
    for (k = 1; k <= rank; ++k) {
      const int32_t dim = (int32_t)w[k];
      // Of INT32_MIN the factor would not fit.
      if (dim == INT32_MIN || (dim < 0 && m->count[MEGCC_S_SYMBOLS] == 0)) return MEGCC_ERR_CORRUPT;
    }
    w += 1 + rank;
    left -= 1 + rank;
  }
  return MEGCC_OK;
}

// Each input of the function has the rank that the signature says, and no more inputs are there.
static megcc_status_t check_ranks(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  uint32_t left = m->count[MEGCC_S_SIGNATURE], i;
  for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i) {
    const uint32_t id = m->section[MEGCC_S_INPUTS][i * MEGCC_PORT_WORDS + 1];
    if (left == 0 || *w != megcc_tensor_at(m, id).rank) return MEGCC_ERR_CORRUPT;
    left -= 1 + *w;
    w += 1 + *w;
  }
  return left == 0 ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

int megcc_may_lie(const megcc_model_t *m, const megcc_tensor_t *t) {
  const int section = t->space == MEGCC_INPUT ? MEGCC_S_INPUTS : MEGCC_S_OUTPUTS;
  megcc_tensor_t port;
  if (t->space == MEGCC_ARENA && t->index >= m->count[MEGCC_S_POOLS]) {
    return t->index - m->count[MEGCC_S_POOLS] < m->count[MEGCC_S_BLOCKS];
  }
  if (t->space != MEGCC_INPUT && t->space != MEGCC_OUTPUT) return megcc_is_fixed(t) ? -1 : 0;
  if (t->index >= m->count[section]) return 0;
  port = megcc_tensor_at(m, m->section[section][t->index * MEGCC_PORT_WORDS + 1]);
  if (megcc_is_fixed(t) && megcc_is_fixed(&port)) return -1;
  return port.space == t->space;  // else the port has no memory of its own
}

// Whether a block's address or size is decided during a run.
static int block_waits(const megcc_model_t *m, uint32_t block) {
  const uint32_t data = m->record[MEGCC_F_DATA];
  const uint32_t *w = m->section[MEGCC_S_BLOCKS] + (size_t)block * MEGCC_BLOCK_WORDS;
  while ((w[0] & 0xFF) == MEGCC_B_ALIAS) {
    if (w[2] >= data) return 1;
    w = m->section[MEGCC_S_BLOCKS] + (size_t)w[1] * MEGCC_BLOCK_WORDS;
  }
  return (w[0] & 0xFF) == MEGCC_B_DYNAMIC;
}

int megcc_waits_for_data(const megcc_model_t *m, const megcc_tensor_t *t) {
  const uint32_t data = m->record[MEGCC_F_DATA];
  const uint32_t pools = m->count[MEGCC_S_POOLS];
  uint32_t d;
  for (d = 0; d < t->rank; ++d) {
    if (t->dims[d] < 0 && (uint32_t)(-1 - t->dims[d]) >= data) return 1;
  }
  return t->space == MEGCC_ARENA && t->index >= pools && block_waits(m, t->index - pools);
}

// An input does not wait for data, and an output that does lies in memory of the model: what a
// caller gives has its size before a run. Every output has dims of its own.
static megcc_status_t check_ports(const megcc_model_t *m) {
  uint32_t left = m->count[MEGCC_S_DIMS], i;
  for (i = 0; i < megcc_port_count(m); ++i) {
    const int is_output = i >= m->count[MEGCC_S_INPUTS];
    const megcc_tensor_t t = megcc_tensor_at(m, megcc_port_words(m, i)[1]);
    const int is_bound = !is_output || t.space != MEGCC_ARENA;
    if (is_bound && megcc_waits_for_data(m, &t)) return MEGCC_ERR_CORRUPT;
    if (!is_output) continue;
    if (t.rank > left) return MEGCC_ERR_CORRUPT;
    left -= t.rank;
  }
  return MEGCC_OK;
}

// Dims are numbers or values, also those of no tensor; every function has as many outputs.
static megcc_status_t check_dims(const megcc_model_t *m) {
  const uint32_t *table = megcc_function_record(m, 0) + MEGCC_F_SECTIONS;
  uint32_t d;
  if (table[2 * (MEGCC_S_OUTPUTS - MEGCC_S_FIRST_OF_FUNCTION) + 1] != m->count[MEGCC_S_OUTPUTS]) {
    return MEGCC_ERR_CORRUPT;
  }
  for (d = 0; d < m->count[MEGCC_S_DIMS]; ++d) {
    const int32_t dim = (int32_t)m->section[MEGCC_S_DIMS][d];
    if (dim < 0 && (uint32_t)(-1 - dim) >= m->count[MEGCC_S_VALUES]) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_check_shapes(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_GUARDS];
  megcc_status_t status;
  uint32_t i;
  if (m->count[MEGCC_S_POOLS] != 1) return MEGCC_ERR_CORRUPT;
  if ((status = check_dims(m)) != MEGCC_OK) return status;
  if ((status = check_signature(m)) != MEGCC_OK) return status;
  if ((status = check_ranks(m)) != MEGCC_OK) return status;
  for (i = 0; i < m->count[MEGCC_S_GUARDS]; ++i, w += MEGCC_GUARD_WORDS) {
    if (w[0] >= m->count[MEGCC_S_SYMBOLS]) return MEGCC_ERR_CORRUPT;
  }
  if ((status = check_scalars(m)) != MEGCC_OK) return status;
  if ((status = check_blocks(m)) != MEGCC_OK) return status;
  return check_ports(m);
}
