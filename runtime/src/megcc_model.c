// Opening a model: everything the VM later trusts is checked here, once.
#include "megcc_vm.h"

typedef char megcc_model_fits[sizeof(struct megcc_model) <= MEGCC_MODEL_BYTES ? 1 : -1];

static const uint8_t kSectionBytes[MEGCC_SECTIONS] = {
    1,  // strings
    4 * MEGCC_SEGMENT_WORDS,
    4,  // kernels
    4 * MEGCC_SYMBOL_WORDS,
    4,  // signature
    4 * MEGCC_F_WORDS,
    4,  // dims
    4 * MEGCC_TENSOR_WORDS,
    4 * MEGCC_PORT_WORDS,
    4 * MEGCC_PORT_WORDS,
    4,  // code
    4 * MEGCC_POOL_WORDS,
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

static uint64_t read_u64(const uint32_t *word) { return (uint64_t)word[1] << 32 | word[0]; }

static int is_little_endian(void) {
  const union {
    uint32_t word;
    uint8_t byte[4];
  } probe = {1};
  return probe.byte[0] == 1;
}

// What can be said of a program before its sections are looked at.
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

static megcc_status_t find_sections(megcc_model_t *m, const uint32_t *table, int first, int last) {
  const uint32_t *h = m->program;
  int s;
  for (s = first; s < last; ++s, table += 2) {
    const uint32_t offset = table[0], count = table[1];
    if (offset % 4 != 0 || offset > h[MEGCC_H_BYTES]) return MEGCC_ERR_CORRUPT;
    if (count > (h[MEGCC_H_BYTES] - offset) / kSectionBytes[s]) return MEGCC_ERR_CORRUPT;
    m->section[s] = h + offset / 4;
    m->count[s] = count;
  }
  return MEGCC_OK;
}

static megcc_status_t find_shared(megcc_model_t *m) {
  return find_sections(m, m->program + MEGCC_H_SECTIONS, 0, MEGCC_S_FIRST_OF_FUNCTION);
}

static megcc_status_t find_function(megcc_model_t *m, uint32_t function) {
  const uint32_t *record = m->section[MEGCC_S_FUNCTIONS] + (size_t)function * MEGCC_F_WORDS;
  m->function = function;
  return find_sections(m, record + MEGCC_F_SECTIONS, MEGCC_S_FIRST_OF_FUNCTION, MEGCC_SECTIONS);
}

static int is_string(const megcc_model_t *m, uint32_t ref) {
  return ref < m->count[MEGCC_S_STRINGS];
}

static megcc_status_t check_strings(const megcc_model_t *m) {
  const uint32_t count = m->count[MEGCC_S_STRINGS];
  uint32_t k;
  if (count == 0 || megcc_string(m, 0)[count - 1] != 0) return MEGCC_ERR_CORRUPT;
  if (!is_string(m, m->program[MEGCC_H_ARCH]) || !is_string(m, m->program[MEGCC_H_NAME])) {
    return MEGCC_ERR_CORRUPT;
  }
  for (k = 0; k < m->count[MEGCC_S_KERNELS]; ++k) {
    if (!is_string(m, m->section[MEGCC_S_KERNELS][k])) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static megcc_status_t check_pools(megcc_model_t *m) {
  const uint32_t *pool = m->section[MEGCC_S_POOLS];
  uint32_t i;
  if (m->count[MEGCC_S_POOLS] - 1 >= MEGCC_MAX_POOLS) return MEGCC_ERR_CORRUPT;  // nor none
  for (i = 0; i < m->count[MEGCC_S_POOLS]; ++i, pool += MEGCC_POOL_WORDS) {
    const uint64_t bytes = read_u64(pool + 1);
    if (!is_string(m, pool[0])) return MEGCC_ERR_CORRUPT;
    if (bytes > SIZE_MAX) return MEGCC_ERR_PLATFORM;
    m->pool_bytes[i] = (size_t)bytes;
  }
  return MEGCC_OK;
}

void megcc_select(megcc_model_t *m, uint32_t function) {
  (void)find_function(m, function);
  (void)check_pools(m);  // which writes down their bytes
}

// Locates the weights; their bytes are `megcc_model_verify`'s business.
static megcc_status_t check_segments(megcc_model_t *m, const megcc_image_t *image) {
  uint32_t s;
  if (m->count[MEGCC_S_SEGMENTS] > MEGCC_MAX_SEGMENTS) return MEGCC_ERR_CORRUPT;
  for (s = 0; s < m->count[MEGCC_S_SEGMENTS]; ++s) {
    const uint64_t bytes = read_u64(m->section[MEGCC_S_SEGMENTS] + s * MEGCC_SEGMENT_WORDS);
    if (bytes > SIZE_MAX) return MEGCC_ERR_PLATFORM;
    if (image->segment[s].data == NULL) return MEGCC_ERR_NULL;
    if ((uintptr_t)image->segment[s].data % 8 != 0) return MEGCC_ERR_ALIGNMENT;
    if (image->segment[s].bytes < bytes) return MEGCC_ERR_TRUNCATED;
    m->segment[s].data = image->segment[s].data;
    m->segment[s].bytes = (size_t)bytes;
  }
  return MEGCC_OK;
}

// Bytes of a tensor whose dimensions are known to exist; false when they do not fit in a size_t.
static int tensor_bytes(const megcc_tensor_t *t, size_t *bytes) {
  size_t n = megcc_dtype_bytes((megcc_dtype_t)t->dtype);
  uint32_t d;
  for (d = 0; d < t->rank; ++d) {
    const size_t dim = (size_t)t->dims[d];
    if (dim != 0 && n > SIZE_MAX / dim) return 0;
    n *= dim;
  }
  *bytes = megcc_packed(t->dtype, n);
  return 1;
}

megcc_tensor_t megcc_tensor_at(const megcc_model_t *m, uint32_t id) {
  megcc_tensor_t t = megcc_decode_tensor(m, id);
  (void)tensor_bytes(&t, &t.bytes);
  return t;
}

// Bytes of the memory that holds tensor `t`, or false where there is no such memory.
static int space_bytes(const megcc_model_t *m, const megcc_tensor_t *t, size_t *bytes) {
  const int ports = t->space == MEGCC_INPUT ? MEGCC_S_INPUTS : MEGCC_S_OUTPUTS;
  switch (t->space) {
    case MEGCC_ARENA:
      if (t->index >= m->count[MEGCC_S_POOLS]) return 0;
      *bytes = m->pool_bytes[t->index];
      return 1;
    case MEGCC_WEIGHT:
      if (t->index >= m->count[MEGCC_S_SEGMENTS]) return 0;
      *bytes = m->segment[t->index].bytes;
      return 1;
    case MEGCC_INPUT:
    case MEGCC_OUTPUT: {
      megcc_tensor_t port;
      uint32_t id;
      if (t->index >= m->count[ports]) return 0;
      id = m->section[ports][t->index * MEGCC_PORT_WORDS + 1];
      if (id >= m->count[MEGCC_S_TENSORS]) return 0;
      port = megcc_decode_tensor(m, id);
      // The port's own tensor must be exactly this memory, or there would be none.
      if (port.space != t->space || port.index != t->index || port.offset != 0) return 0;
      return tensor_bytes(&port, bytes);
    }
    default: return 0;
  }
}

// Whether `t` lies within its memory; where shapes can change that may be found out later.
static int lies_within(const megcc_model_t *m, const megcc_tensor_t *t) {
  size_t bytes = 0, space = 0;
  if (m->kernels->shapes != NULL) {
    const int answer = m->kernels->shapes->may_lie(m, t);
    if (answer >= 0) return answer;
  }
  if (!tensor_bytes(t, &bytes) || !space_bytes(m, t, &space)) return 0;
  return t->offset <= space && bytes <= space - t->offset;
}

static megcc_status_t check_tensors(const megcc_model_t *m) {
  const uint32_t dims = m->count[MEGCC_S_DIMS];
  uint32_t id, d;
  // The second loop looks at other tensors' dimensions: these must exist first.
  for (id = 0; id < m->count[MEGCC_S_TENSORS]; ++id) {
    const uint32_t *w = m->section[MEGCC_S_TENSORS] + (size_t)id * MEGCC_TENSOR_WORDS;
    if (w[1] > dims || (w[0] >> 16) > dims - w[1]) return MEGCC_ERR_CORRUPT;
    if (megcc_dtype_bytes((megcc_dtype_t)(w[0] & 0xFF)) == 0) return MEGCC_ERR_CORRUPT;
  }
  for (d = 0; d < dims; ++d) {
    const int32_t dim = (int32_t)m->section[MEGCC_S_DIMS][d];
    // A negative dim is a value, which static models do not have.
    if (dim < 0 && (uint32_t)(-1 - dim) >= m->count[MEGCC_S_VALUES]) return MEGCC_ERR_CORRUPT;
  }
  for (id = 0; id < m->count[MEGCC_S_TENSORS]; ++id) {
    const uint32_t *w = m->section[MEGCC_S_TENSORS] + (size_t)id * MEGCC_TENSOR_WORDS;
    const megcc_tensor_t t = megcc_decode_tensor(m, id);
    if (read_u64(w + 3) > SIZE_MAX || !lies_within(m, &t)) return MEGCC_ERR_CORRUPT;
    if (t.offset % megcc_dtype_bytes((megcc_dtype_t)t.dtype) != 0) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static megcc_status_t check_ports(const megcc_model_t *m, int section, uint32_t space) {
  uint32_t i;
  for (i = 0; i < m->count[section]; ++i) {
    const uint32_t *port = m->section[section] + i * MEGCC_PORT_WORDS;
    megcc_tensor_t t;
    if (!is_string(m, port[0]) || port[1] >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
    t = megcc_decode_tensor(m, port[1]);
    if (t.space != MEGCC_ARENA && (t.space != space || t.index != i || t.offset != 0)) {
      return MEGCC_ERR_CORRUPT;
    }
  }
  return MEGCC_OK;
}

int megcc_tensor_is_writable(const megcc_model_t *m, uint32_t id) {
  uint32_t space;
  if (id >= m->count[MEGCC_S_TENSORS]) return 0;
  space = megcc_decode_tensor(m, id).space;
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
    if (b->offset > m->pool_bytes[b->pool]) return MEGCC_ERR_CORRUPT;
    if (b->bytes > m->pool_bytes[b->pool] - b->offset) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}
#endif

static megcc_status_t check_function(megcc_model_t *m, uint32_t function, const uint32_t *ports) {
  megcc_status_t status;
  if ((status = find_function(m, function)) != MEGCC_OK) return status;
  if (m->count[MEGCC_S_INPUTS] != ports[0] || m->count[MEGCC_S_OUTPUTS] != ports[1]) {
    return MEGCC_ERR_CORRUPT;
  }
  if ((status = check_pools(m)) != MEGCC_OK) return status;
  if ((status = check_tensors(m)) != MEGCC_OK) return status;
  if ((status = check_ports(m, MEGCC_S_INPUTS, MEGCC_INPUT)) != MEGCC_OK) return status;
  if ((status = check_ports(m, MEGCC_S_OUTPUTS, MEGCC_OUTPUT)) != MEGCC_OK) return status;
  if (m->kernels->shapes != NULL) {
    if ((status = m->kernels->shapes->check(m)) != MEGCC_OK) return status;
  } else if (m->count[MEGCC_S_VALUES] + m->count[MEGCC_S_BLOCKS] + m->count[MEGCC_S_GUARDS] > 0) {
    return MEGCC_ERR_OPCODE;
  }
#if defined(MEGCC_DEBUG)
  if ((status = check_plan(m)) != MEGCC_OK) return status;
#endif
  return check_code(m);
}

static megcc_status_t check_model(megcc_model_t *m, const megcc_image_t *image) {
  const uint32_t *h = m->program;
  megcc_status_t status;
  uint32_t f, ports[2];
  int w;
  // Reserved words: whatever a later version says there, this runtime would not do it.
  if (h[MEGCC_H_NAME + 1] != 0 || h[MEGCC_H_NAME + 2] != 0) return MEGCC_ERR_VERSION;
  for (w = MEGCC_H_SECTIONS + 2 * MEGCC_S_FIRST_OF_FUNCTION; w < MEGCC_H_WORDS; ++w) {
    if (h[w] != 0) return MEGCC_ERR_VERSION;
  }
  if (h[MEGCC_H_FINGERPRINT] != m->kernels->fingerprint[0] ||
      h[MEGCC_H_FINGERPRINT + 1] != m->kernels->fingerprint[1]) {
    return MEGCC_ERR_KERNELS;
  }
  if ((status = find_shared(m)) != MEGCC_OK) return status;
  if (m->count[MEGCC_S_KERNELS] != m->kernels->count) return MEGCC_ERR_KERNELS;
  if ((status = check_strings(m)) != MEGCC_OK) return status;
  if ((status = check_segments(m, image)) != MEGCC_OK) return status;
  if (m->count[MEGCC_S_FUNCTIONS] == 0) return MEGCC_ERR_CORRUPT;
  if (m->kernels->shapes == NULL &&
      (m->count[MEGCC_S_FUNCTIONS] > 1 || m->count[MEGCC_S_SYMBOLS] > 0)) {
    return MEGCC_ERR_OPCODE;
  }
  if ((status = find_function(m, 0)) != MEGCC_OK) return status;
  ports[0] = m->count[MEGCC_S_INPUTS];
  ports[1] = m->count[MEGCC_S_OUTPUTS];
  for (f = m->count[MEGCC_S_FUNCTIONS]; f-- > 0;) {  // ends with the first one selected
    if ((status = check_function(m, f, ports)) != MEGCC_OK) return status;
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
  for (s = 0; s < m.count[MEGCC_S_SEGMENTS]; ++s) {
    const uint64_t size = read_u64(m.section[MEGCC_S_SEGMENTS] + s * MEGCC_SEGMENT_WORDS);
    const size_t pad = (MEGCC_ALIGNMENT - at % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT;
    if (pad > bytes - at || size > bytes - at - pad) return MEGCC_ERR_TRUNCATED;
    image->segment[s].data = (const uint8_t *)data + at + pad;
    image->segment[s].bytes = (size_t)size;
    at += pad + (size_t)size;
  }
  for (; s < MEGCC_MAX_SEGMENTS; ++s) {
    image->segment[s].data = NULL;
    image->segment[s].bytes = 0;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_model_verify(const megcc_model_t *m) {
  uint32_t s;
  if (m == NULL) return MEGCC_ERR_NULL;
  for (s = 0; s < m->count[MEGCC_S_SEGMENTS]; ++s) {
    const uint32_t expected = m->section[MEGCC_S_SEGMENTS][s * MEGCC_SEGMENT_WORDS + 2];
    if (megcc_crc32(m->segment[s].data, m->segment[s].bytes) != expected) {
      return MEGCC_ERR_CHECKSUM;
    }
  }
  return MEGCC_OK;
}
