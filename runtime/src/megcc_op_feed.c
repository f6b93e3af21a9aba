// FEED: the next rows of an image that comes in by rows, into its line buffer.
//
//   word 1 counter (a tensor, i64), 2 number of the input, 3 line buffer (a tensor), 4 bytes of a
//   row of a plane, 5 ... 7 the row that lies at its first byte (step, row in iteration 0, height
//   of the image), 8 ... 10 the first row that is not there yet: the band ends where the next one
//   begins. 11 planes: those of a row are together in the line buffer, the image has one plane
//   after the other. 12 iterations of an image, where there are several, or 0; 13 images.
//
// Where the caller has bound the whole image, the rows are copied from there. Else a run in pieces
// comes back to the instruction until megcc_put_rows has been given all of them.
#include "megcc_rows.h"

enum {
  COUNTER = 1,
  INPUT,
  TENSOR,
  BYTES,
  BASE,
  MADE = BASE + 3,
  PLANES = MADE + 3,
  PERIOD,
  IMAGES,
  WORDS
};

// Whether another instruction, or a second tensor, has the image, which perhaps has no memory.
static int is_read(const megcc_model_t *m, uint32_t id) {
  // First and last word that is a tensor, by opcode; of calls the last one follows from the words.
  static const uint8_t tensors[][2] = {
      {1, 0},                       // END
      {MEGCC_C_FIRST, 0},           // CALL
      {1, 2},                       // COPY
      {MEGCC_C_FIRST_OF_SIZED, 0},  // CALL_SIZED
      {2, 2},                       // LOAD
      {1, 0},                       // LET
      {2, 4},                       // ROW
      {1, 3},                       // BRANCH
      {1, 1},                       // JUMP
      {2, 2},                       // CHECK
      {1, 1},                       // DRAW
      {24, 0},                      // BAND
      {1, 2},                       // SLIDE
      {3, 3},                       // FEED
  };
  const uint32_t *code = m->section[MEGCC_S_CODE], *end = code + m->count[MEGCC_S_CODE];
  const uint32_t input = megcc_tensor_words(m, id)[2];
  uint32_t k;
  for (k = 0; k < m->count[MEGCC_S_TENSORS]; ++k) {
    const uint32_t *words = megcc_tensor_words(m, k);
    if (k != id && (words[0] >> 8 & 0xFF) == MEGCC_INPUT && words[2] == input) return 1;
  }
  for (; code < end; code += *code >> 8) {
    const uint32_t opcode = *code & 0xFF, words = *code >> 8;
    uint32_t last;
    if (words == 0 || words > (uint32_t)(end - code)) return 1;
    if (opcode >= sizeof tensors / sizeof *tensors) return 1;
    last = tensors[opcode][1];
    if (tensors[opcode][0] >= MEGCC_C_FIRST) {
      if (words <= MEGCC_C_FIRST || code[MEGCC_C_OPERANDS] > words) return 1;
      last = tensors[opcode][0] + code[MEGCC_C_OPERANDS] - 1;
      if (opcode == MEGCC_OP_BAND && code[MEGCC_C_FIRST] == id) return 1;
    }
    for (k = tensors[opcode][0]; k <= last && k < words; ++k) {
      if (code[k] == id) return 1;
    }
  }
  return 0;
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_path_t base, made;
  megcc_tensor_t t, image;
  size_t most;
  int32_t rows;
  if (words != WORDS || !megcc_is_counter(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
  if (code[INPUT] >= m->count[MEGCC_S_INPUTS] || code[BYTES] == 0) return MEGCC_ERR_CORRUPT;
  if (code[PLANES] == 0) return MEGCC_ERR_CORRUPT;
  if (!megcc_tensor_is_writable(m, code[TENSOR])) return MEGCC_ERR_CORRUPT;
  t = megcc_tensor_at(m, code[TENSOR]);
  if (!megcc_find_tensor(m, megcc_port_words(m, code[INPUT])[1], &image)) return MEGCC_ERR_CORRUPT;
  if (image.space != MEGCC_INPUT || image.index != code[INPUT] || image.offset != 0)
    return MEGCC_ERR_CORRUPT;
  if (is_read(m, megcc_port_words(m, code[INPUT])[1])) return MEGCC_ERR_CORRUPT;
  base = megcc_path_of(code + BASE);
  made = megcc_path_of(code + MADE);
  if (!megcc_is_path(&base) || !megcc_is_path(&made)) return MEGCC_ERR_CORRUPT;
  if (base.height != made.height) return MEGCC_ERR_CORRUPT;
  if (!megcc_is_batch(code[PERIOD], code[IMAGES], made.height)) return MEGCC_ERR_CORRUPT;
  most = image.bytes / code[BYTES] / code[PLANES] / code[IMAGES];
  if ((uint32_t)made.height > most) return MEGCC_ERR_CORRUPT;
  rows = made.height;
  if (base.step != 0 || base.first > 0) {
    // Both move on alike; being cut to the image brings them no further apart.
    if (base.step != made.step || base.first > made.first) return MEGCC_ERR_CORRUPT;
    if (made.first - base.first + made.step < rows) rows = made.first - base.first + made.step;
  }
  most = t.bytes / code[BYTES] / code[PLANES];
  return (uint32_t)rows > most ? MEGCC_ERR_CORRUPT : MEGCC_OK;
}

megcc_status_t megcc_find_feed(const megcc_context_t *c, const uint32_t *code,
                               struct megcc_feed *feed) {
  const megcc_path_t base = megcc_path_of(code + BASE), made = megcc_path_of(code + MADE);
  const int32_t t = megcc_iteration(c, code[COUNTER], code[PERIOD], &feed->image);
  if (t < 0 || !megcc_has_memory(c, code + TENSOR, 1)) return MEGCC_ERR_DATA;
  if ((uint32_t)feed->image >= code[IMAGES]) return MEGCC_ERR_DATA;
  feed->input = code[INPUT];
  feed->planes = code[PLANES];
  feed->height = made.height;
  feed->row_bytes = code[BYTES];
  feed->first = megcc_path_at(&made, t);
  feed->rows = megcc_path_at(&made, t + 1) - feed->first;
  feed->data = megcc_tensor_data(c, code[TENSOR]) +
               (size_t)(feed->first - megcc_path_at(&base, t)) * feed->planes * feed->row_bytes;
  return MEGCC_OK;
}

void megcc_copy_rows(const struct megcc_feed *feed, uint8_t *to, const uint8_t *from,
                     size_t plane_bytes, uint32_t rows) {
  const size_t bytes = feed->row_bytes;
  uint32_t plane, row;
  if (feed->planes == 1) {
    megcc_copy(to, from, rows * bytes);
    return;
  }
  for (row = 0; row < rows; ++row) {
    for (plane = 0; plane < feed->planes; ++plane, to += bytes)
      megcc_copy(to, from + plane * plane_bytes + row * bytes, bytes);
  }
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  struct megcc_port *port = c->port + code[INPUT];
  struct megcc_feed feed;
  const megcc_status_t status = megcc_find_feed(c, code, &feed);
  if (status != MEGCC_OK || feed.rows == 0) return status;
  if (port->bound != NULL) {
    const size_t plane = (size_t)feed.height * feed.row_bytes;
    const uint8_t *image = (const uint8_t *)port->bound + (size_t)feed.image * feed.planes * plane;
    megcc_copy_rows(&feed, feed.data, image + (size_t)feed.first * feed.row_bytes, plane,
                    (uint32_t)feed.rows);
    return MEGCC_OK;
  }
  if (port->flags >> MEGCC_PORT_ROWS_GIVEN != (uint32_t)feed.rows) return MEGCC_ERR_UNBOUND;
  port->flags = 0;
  return MEGCC_OK;
}

const megcc_op_t megcc_op_feed = {check, run};
