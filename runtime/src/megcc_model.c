// Opening a model: everything the VM later trusts is checked here, once.
#include "megcc_vm.h"

typedef char megcc_model_fits[sizeof(struct megcc_model) <= MEGCC_MODEL_BYTES ? 1 : -1];

// Bytes of a section's entries, and whether their first word is a string.
enum { NAMED = 0x80 };
static const uint8_t kSection[MEGCC_SECTIONS] = {
    1,  // strings
    4 * MEGCC_SEGMENT_WORDS,
    NAMED | 4,  // kernels
    NAMED | 4 * MEGCC_SYMBOL_WORDS,
    4,  // signature
    4 * MEGCC_F_WORDS,
    4,  // dims
    4 * MEGCC_TENSOR_WORDS,
    NAMED | 4 * MEGCC_PORT_WORDS,
    NAMED | 4 * MEGCC_PORT_WORDS,
    4,  // code
    NAMED | 4 * MEGCC_POOL_WORDS,
    4,  // values
    4 * MEGCC_SCALAR_WORDS,
    4 * MEGCC_BLOCK_WORDS,
    4,  // below
    4 * MEGCC_GUARD_WORDS,
};

// CRC-32 (IEEE 802.3, as zlib's) by nibbles: a 64-byte table instead of a 1 KB one.
uint32_t megcc_crc32(const void *data, size_t bytes) {
  static const uint32_t table[16] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC,
                                     0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
                                     0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                     0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
  const uint8_t *p = (const uint8_t *)data;
  uint32_t crc = 0xFFFFFFFFu;
  size_t i;
  for (i = 0; i < bytes; ++i) {
    crc ^= p[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

static int is_little_endian(void) {
  const union {
    uint32_t word;
    uint8_t byte[4];
  } probe = {1};
  return probe.byte[0] == 1;
}

// Checks a program's header, before its sections.
static megcc_status_t check_header(const megcc_bytes_t *program) {
  const uint32_t *h = (const uint32_t *)program->data;
  if (h == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)h % sizeof(uint32_t) != 0) return MEGCC_ERR_ALIGNMENT;
  if (program->bytes < 4 * (MEGCC_H_VERSION + 1)) return MEGCC_ERR_TRUNCATED;
  if (!is_little_endian()) return MEGCC_ERR_PLATFORM;
  if (h[MEGCC_H_MAGIC] != MEGCC_MAGIC) return MEGCC_ERR_MAGIC;
  if (h[MEGCC_H_VERSION] != MEGCC_VERSION) return MEGCC_ERR_VERSION;
  if (program->bytes < 4 * MEGCC_H_WORDS) return MEGCC_ERR_TRUNCATED;
  if (h[MEGCC_H_BYTES] < 4 * MEGCC_H_WORDS) return MEGCC_ERR_CORRUPT;
  if (h[MEGCC_H_BYTES] > program->bytes) return MEGCC_ERR_TRUNCATED;
  // So that no sum of the sizes of what it counts passes a size_t (each takes up to 24 bytes).
  if ((uint64_t)h[MEGCC_H_BYTES] * 64 > SIZE_MAX) return MEGCC_ERR_PLATFORM;
  if (megcc_crc32(h + MEGCC_H_CHECKSUM + 1, h[MEGCC_H_BYTES] - 4 * (MEGCC_H_CHECKSUM + 1)) !=
      h[MEGCC_H_CHECKSUM]) {
    return MEGCC_ERR_CHECKSUM;
  }
  return MEGCC_OK;
}

static int is_string(const megcc_model_t *m, uint32_t ref) {
  return ref < m->count[MEGCC_S_STRINGS];
}

static megcc_status_t find_sections(megcc_model_t *m, const uint32_t *table, uint32_t s,
                                    uint32_t last) {
  const uint32_t *h = m->program;
  for (; s < last; ++s, table += 2) {
    const uint32_t offset = table[0], count = table[1], bytes = kSection[s] & (NAMED - 1);
    const uint32_t *w = h + offset / 4;
    uint32_t k;
    if (offset % 4 != 0 || offset > h[MEGCC_H_BYTES]) return MEGCC_ERR_CORRUPT;
    if (count > (h[MEGCC_H_BYTES] - offset) / bytes) return MEGCC_ERR_CORRUPT;
    m->section[s] = w;
    m->count[s] = count;
    if (!(kSection[s] & NAMED)) continue;
    for (k = 0; k < count; ++k, w += bytes / 4) {
      if (!is_string(m, *w)) return MEGCC_ERR_CORRUPT;
    }
  }
  return MEGCC_OK;
}

static megcc_status_t find_shared(megcc_model_t *m) {
  return find_sections(m, m->program + MEGCC_H_SECTIONS, 0, MEGCC_S_FIRST_OF_FUNCTION);
}

megcc_status_t megcc_select(megcc_model_t *m, uint32_t function) {
  m->function = function;
  m->record = megcc_function_record(m, function);
  return find_sections(m, m->record + MEGCC_F_SECTIONS, MEGCC_S_FIRST_OF_FUNCTION, MEGCC_SECTIONS);
}

static megcc_status_t check_strings(const megcc_model_t *m) {
  const uint32_t count = m->count[MEGCC_S_STRINGS];
  if (count == 0 || megcc_string(m, 0)[count - 1] != 0) return MEGCC_ERR_CORRUPT;
  if (!is_string(m, m->program[MEGCC_H_ARCH]) || !is_string(m, m->program[MEGCC_H_NAME])) {
    return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static megcc_status_t check_pools(const megcc_model_t *m) {
  uint32_t i;
  if (m->count[MEGCC_S_POOLS] - 1 >= MEGCC_MAX_POOLS) return MEGCC_ERR_CORRUPT;  // nor none
  for (i = 0; i < m->count[MEGCC_S_POOLS]; ++i) {
    if (megcc_u64(m->section[MEGCC_S_POOLS] + i * MEGCC_POOL_WORDS + 1) > SIZE_MAX) {
      return MEGCC_ERR_PLATFORM;
    }
  }
  return MEGCC_OK;
}

// Locates the weights; their bytes are `megcc_model_verify`'s business.
static megcc_status_t check_segments(megcc_model_t *m, const megcc_image_t *image) {
  uint32_t s;
  if (m->count[MEGCC_S_SEGMENTS] > MEGCC_MAX_SEGMENTS) return MEGCC_ERR_CORRUPT;
  for (s = 0; s < m->count[MEGCC_S_SEGMENTS]; ++s) {
    const uint64_t bytes = megcc_u64(m->section[MEGCC_S_SEGMENTS] + s * MEGCC_SEGMENT_WORDS);
    if (bytes > SIZE_MAX) return MEGCC_ERR_PLATFORM;
    if (image->segment[s].data == NULL) return MEGCC_ERR_NULL;
    if ((uintptr_t)image->segment[s].data % 8 != 0) return MEGCC_ERR_ALIGNMENT;
    if (image->segment[s].bytes < bytes) return MEGCC_ERR_TRUNCATED;
    m->segment[s] = image->segment[s].data;
  }
  return MEGCC_OK;
}

int megcc_find_tensor(const megcc_model_t *m, uint32_t id, megcc_tensor_t *t) {
  const uint32_t *w = megcc_tensor_words(m, id);
  size_t n;
  uint32_t d;
  if (id >= m->count[MEGCC_S_TENSORS]) return 0;
  megcc_decode_tensor(m, w, t);
  n = t->element;
  if (n == 0 || (uint64_t)w[1] + t->rank > m->count[MEGCC_S_DIMS]) return 0;
  for (d = 0; d < t->rank; ++d) {
    int32_t dim = t->dims[d];
    if (dim < 0) {  // a value, which static models do not have
      if ((uint32_t)(-1 - dim) >= m->count[MEGCC_S_VALUES]) return 0;
      dim = 0;
    }
    if (!megcc_times(&n, (size_t)dim)) return 0;
  }
  t->bytes = megcc_packed(t->dtype, n);
  return 1;
}

const uint32_t *megcc_port_words(const megcc_model_t *m, uint32_t number) {
  const uint32_t *w = m->section[MEGCC_S_INPUTS];
  if (number >= m->count[MEGCC_S_INPUTS]) {
    number -= m->count[MEGCC_S_INPUTS];
    w = m->section[MEGCC_S_OUTPUTS];
  }
  return w + number * MEGCC_PORT_WORDS;
}

// Whether `t` lies within its memory; where shapes can change that may be found out later.
static int lies_within(const megcc_model_t *m, const megcc_tensor_t *t) {
  static const uint8_t memory[MEGCC_SPACES] = {MEGCC_S_POOLS, MEGCC_S_SEGMENTS, MEGCC_S_INPUTS,
                                               MEGCC_S_OUTPUTS};
  size_t bytes;
  if (m->kernels->shapes != NULL) {
    const int answer = m->kernels->shapes->may_lie(m, t);
    if (answer >= 0) return answer;
  }
  if (t->space >= MEGCC_SPACES || t->index >= m->count[memory[t->space]]) return 0;
  if (t->space == MEGCC_ARENA) {
    bytes = megcc_pool_bytes(m, t->index);
  } else if (t->space == MEGCC_WEIGHT) {
    bytes = megcc_segment_bytes(m, t->index);
  } else {
    const uint32_t *port = m->section[memory[t->space]] + t->index * MEGCC_PORT_WORDS;
    megcc_tensor_t whole;
    (void)megcc_find_tensor(m, port[1], &whole);
    if (whole.space != t->space) return 0;  // then the port has no memory of its own
    bytes = whole.bytes;
  }
  return t->offset <= bytes && t->bytes <= bytes - t->offset;
}

static megcc_status_t check_tensors(const megcc_model_t *m) {
  uint32_t id;
  for (id = m->count[MEGCC_S_TENSORS]; id-- > 0;) {
    megcc_tensor_t t;
    if (!megcc_find_tensor(m, id, &t) || !lies_within(m, &t)) return MEGCC_ERR_CORRUPT;
    if (megcc_u64(megcc_tensor_words(m, id) + 3) > SIZE_MAX) return MEGCC_ERR_CORRUPT;
    if ((t.offset & (t.element - 1)) != 0) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

// Whether ports that share memory say so of each other, and are an input in memory of the caller
// and an output of its type and dims. Of two ports the input is looked at last, when both tensors
// are known to be there.
static int agrees(const megcc_model_t *m, uint32_t port) {
  const uint32_t inputs = m->count[MEGCC_S_INPUTS], partner = megcc_partner(m, port);
  const uint32_t *a, *b;
  if (partner == MEGCC_NONE) return 1;
  if (partner >= megcc_port_count(m) || megcc_partner(m, partner) != port) return 0;
  if (partner < port) return 1;
  a = megcc_tensor_words(m, megcc_port_words(m, port)[1]);
  b = megcc_tensor_words(m, megcc_port_words(m, partner)[1]);
  if (port >= inputs || partner < inputs || (a[0] >> 8 & 0xFF) != MEGCC_INPUT) return 0;
  return ((a[0] ^ b[0]) & 0xFFFF00FF) == 0 && a[1] == b[1];
}

// A port lies in the arena, or its tensor is exactly the memory of the port (whose index is checked
// with those of all tensors).
static megcc_status_t check_ports(const megcc_model_t *m) {
  uint32_t k;
  for (k = megcc_port_count(m); k-- > 0;) {
    megcc_tensor_t t;
    if (!megcc_find_tensor(m, megcc_port_words(m, k)[1], &t)) return MEGCC_ERR_CORRUPT;
    if (!agrees(m, k)) return MEGCC_ERR_CORRUPT;
    if (t.space == MEGCC_ARENA) continue;
    if (t.space == MEGCC_OUTPUT) t.index += m->count[MEGCC_S_INPUTS];
    if (t.space < MEGCC_INPUT || t.index != k || t.offset != 0) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

int megcc_tensor_is_writable(const megcc_model_t *m, uint32_t id) {
  uint32_t space;
  if (id >= m->count[MEGCC_S_TENSORS]) return 0;
  space = *megcc_tensor_words(m, id) >> 8 & 0xFF;
  return space == MEGCC_ARENA || space == MEGCC_OUTPUT;
}

static megcc_status_t check_code(const megcc_model_t *m) {
  const uint32_t *code = m->section[MEGCC_S_CODE];
  const uint32_t count = m->count[MEGCC_S_CODE];
  uint32_t pc = 0;
  while (pc < count) {
    const uint32_t opcode = code[pc] & 0xFF, words = code[pc] >> 8;
    megcc_status_t status;
    if (words == 0 || words > count - pc) return MEGCC_ERR_CORRUPT;
    if (opcode == MEGCC_OP_END) return pc + words == count ? MEGCC_OK : MEGCC_ERR_CORRUPT;
    if (opcode >= m->kernels->op_count || m->kernels->op[opcode] == NULL) return MEGCC_ERR_OPCODE;
    status = m->kernels->op[opcode]->check(m, code + pc, words);
    if (status != MEGCC_OK) return status;
    pc += words;
  }
  return MEGCC_ERR_CORRUPT;  // the code does not end
}

#if defined(MEGCC_DEBUG)
static megcc_status_t check_plan(const megcc_model_t *m) {
  const megcc_plan_t *plan = m->kernels->plan + m->function;
  uint32_t i;
  // Another image for the same kernels may have another plan: its deaths are not known here.
  if (plan->checksum != m->program[MEGCC_H_CHECKSUM]) return MEGCC_ERR_KERNELS;
  for (i = 0; i < plan->count; ++i) {
    const megcc_block_t *b = plan->blocks + i;
    if (b->pool >= m->count[MEGCC_S_POOLS]) {
      if (b->pool - m->count[MEGCC_S_POOLS] >= m->count[MEGCC_S_BLOCKS]) return MEGCC_ERR_CORRUPT;
      continue;
    }
    if (b->offset > megcc_pool_bytes(m, b->pool)) return MEGCC_ERR_CORRUPT;
    if (b->bytes > megcc_pool_bytes(m, b->pool) - b->offset) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}
#endif

static megcc_status_t check_function(megcc_model_t *m, uint32_t function) {
  megcc_status_t status;
  if ((status = megcc_select(m, function)) != MEGCC_OK) return status;
  if (m->kernels->shapes == NULL && m->count[MEGCC_S_FUNCTIONS] + m->count[MEGCC_S_SYMBOLS] +
                                            m->count[MEGCC_S_VALUES] + m->count[MEGCC_S_BLOCKS] +
                                            m->count[MEGCC_S_GUARDS] !=
                                        1) {
    return MEGCC_ERR_OPCODE;
  }
  if ((status = check_pools(m)) != MEGCC_OK) return status;
  if ((status = check_ports(m)) != MEGCC_OK) return status;
  if ((status = check_tensors(m)) != MEGCC_OK) return status;
  if (m->kernels->shapes != NULL && (status = m->kernels->shapes->check(m)) != MEGCC_OK) {
    return status;
  }
#if defined(MEGCC_DEBUG)
  if ((status = check_plan(m)) != MEGCC_OK) return status;
#endif
  return check_code(m);
}

static megcc_status_t check_model(megcc_model_t *m, const megcc_image_t *image) {
  const uint32_t *h = m->program;
  megcc_status_t status;
  uint32_t f, reserved = h[MEGCC_H_NAME + 1] | h[MEGCC_H_NAME + 2];
  int w;
  // Reserved words: whatever a later version says there, this runtime would not do it.
  for (w = MEGCC_H_SECTIONS + 2 * MEGCC_S_FIRST_OF_FUNCTION; w < MEGCC_H_WORDS; ++w) {
    reserved |= h[w];
  }
  if (reserved != 0) return MEGCC_ERR_VERSION;
  if (h[MEGCC_H_FINGERPRINT] != m->kernels->fingerprint[0] ||
      h[MEGCC_H_FINGERPRINT + 1] != m->kernels->fingerprint[1]) {
    return MEGCC_ERR_KERNELS;
  }
  if ((status = find_shared(m)) != MEGCC_OK) return status;
  if (m->count[MEGCC_S_KERNELS] != m->kernels->count) return MEGCC_ERR_KERNELS;
  if ((status = check_strings(m)) != MEGCC_OK) return status;
  if ((status = check_segments(m, image)) != MEGCC_OK) return status;
  if (m->count[MEGCC_S_FUNCTIONS] == 0) return MEGCC_ERR_CORRUPT;
  for (f = m->count[MEGCC_S_FUNCTIONS]; f-- > 0;) {  // ends with the first one selected
    if ((status = check_function(m, f)) != MEGCC_OK) return status;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_model_open(const megcc_image_t *image, const megcc_kernels_t *kernels,
                                void *mem, size_t bytes, megcc_model_t **model) {
  megcc_model_t *m = (megcc_model_t *)mem;
  megcc_status_t status;
  if (model == NULL) return MEGCC_ERR_NULL;
  *model = NULL;
  if (image == NULL || kernels == NULL || mem == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)mem % sizeof(void *) != 0) return MEGCC_ERR_ALIGNMENT;
  if (bytes < sizeof *m) return MEGCC_ERR_MEMORY;
  if (kernels->abi != MEGCC_BUILD_ABI) return MEGCC_ERR_VERSION;
  if (kernels->machine != NULL &&
      (status = kernels->machine->choose(&kernels, &image)) != MEGCC_OK) {
    return status;
  }
  if ((status = check_header(&image->program)) != MEGCC_OK) return status;
  m->program = (const uint32_t *)image->program.data;
  m->kernels = kernels;
  if ((status = check_model(m, image)) != MEGCC_OK) return status;
  *model = m;
  return MEGCC_OK;
}

megcc_status_t megcc_image_from_bytes(const void *data, size_t bytes, megcc_image_t *image) {
  megcc_model_t m;
  megcc_bytes_t program;
  megcc_status_t status;
  size_t at;
  uint32_t s;
  if (image == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)data % 8 != 0) return MEGCC_ERR_ALIGNMENT;
  program.data = data;
  program.bytes = bytes;
  if ((status = check_header(&program)) != MEGCC_OK) return status;
  m.program = (const uint32_t *)data;
  if ((status = find_shared(&m)) != MEGCC_OK) return status;
  if (m.count[MEGCC_S_SEGMENTS] > MEGCC_MAX_SEGMENTS) return MEGCC_ERR_CORRUPT;
  at = m.program[MEGCC_H_BYTES];
  image->program.data = data;
  image->program.bytes = at;
  for (s = 0; s < MEGCC_MAX_SEGMENTS; ++s) {
    megcc_bytes_t *segment = &image->segment[s];
    segment->data = NULL;
    segment->bytes = 0;
    if (s < m.count[MEGCC_S_SEGMENTS]) {
      const uint64_t size = megcc_u64(m.section[MEGCC_S_SEGMENTS] + s * MEGCC_SEGMENT_WORDS);
      at += (MEGCC_ALIGNMENT - at % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT;
      if (at > bytes || size > bytes - at) return MEGCC_ERR_TRUNCATED;
      segment->data = (const uint8_t *)data + at;
      segment->bytes = (size_t)size;
      at += (size_t)size;
    }
  }
  return MEGCC_OK;
}

megcc_status_t megcc_model_verify(const megcc_model_t *m) {
  uint32_t s;
  if (m == NULL) return MEGCC_ERR_NULL;
  for (s = 0; s < m->count[MEGCC_S_SEGMENTS]; ++s) {
    const uint32_t *w = m->section[MEGCC_S_SEGMENTS] + s * MEGCC_SEGMENT_WORDS;
    if (megcc_crc32(m->segment[s], (size_t)megcc_u64(w)) != w[2]) return MEGCC_ERR_CHECKSUM;
  }
  return MEGCC_OK;
}
