// FEED: the next rows of an image that comes in by rows, into its line buffer.
//
//   word 1 counter (a tensor, i64), 2 number of the input, 3 line buffer (a tensor), 4 bytes of a
//   row, 5 ... 7 the row that lies at its first byte (step, row in iteration 0, height of the
//   image), 8 ... 10 the first row that is not there yet: the band ends where the next one begins.
//
// Where the caller has bound the whole image, the rows are copied from there. Else a run in pieces
// comes back to the instruction until megcc_put_rows has been given all of them.
#include "megcc_rows.h"

enum { COUNTER = 1, INPUT, TENSOR, BYTES, BASE, MADE = BASE + 3, WORDS = MADE + 3 };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_path_t base, made;
  megcc_tensor_t t, image;
  int32_t rows;
  if (words != WORDS || !megcc_is_counter(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
  if (code[INPUT] >= m->count[MEGCC_S_INPUTS] || code[BYTES] == 0) return MEGCC_ERR_CORRUPT;
  if (!megcc_tensor_is_writable(m, code[TENSOR])) return MEGCC_ERR_CORRUPT;
  t = megcc_tensor_at(m, code[TENSOR]);
  if (!megcc_find_tensor(m, megcc_port_words(m, code[INPUT])[1], &image)) return MEGCC_ERR_CORRUPT;
  if (image.space != MEGCC_INPUT || image.index != code[INPUT] || image.offset != 0)
    return MEGCC_ERR_CORRUPT;
  base = megcc_path_of(code + BASE);
  made = megcc_path_of(code + MADE);
  if (!megcc_is_path(&base) || !megcc_is_path(&made)) return MEGCC_ERR_CORRUPT;
  if (base.height != made.height) return MEGCC_ERR_CORRUPT;
  if ((uint32_t)made.height > image.bytes / code[BYTES]) return MEGCC_ERR_CORRUPT;
  rows = made.height;
  if (base.step != 0 || base.first > 0) {
    // Both move on alike; being cut to the image brings them no further apart.
    if (base.step != made.step || base.first > made.first) return MEGCC_ERR_CORRUPT;
    if (made.first - base.first + made.step < rows) rows = made.first - base.first + made.step;
  }
  return (uint32_t)rows > t.bytes / code[BYTES] ? MEGCC_ERR_CORRUPT : MEGCC_OK;
}

megcc_status_t megcc_find_feed(const megcc_context_t *c, const uint32_t *code,
                               struct megcc_feed *feed) {
  const megcc_path_t base = megcc_path_of(code + BASE), made = megcc_path_of(code + MADE);
  const int32_t t = megcc_iteration(c, code[COUNTER]);
  if (t < 0 || !megcc_has_memory(c, code + TENSOR, 1)) return MEGCC_ERR_DATA;
  feed->input = code[INPUT];
  feed->row_bytes = code[BYTES];
  feed->first = megcc_path_at(&made, t);
  feed->rows = megcc_path_at(&made, t + 1) - feed->first;
  feed->data = megcc_tensor_data(c, code[TENSOR]) +
               (size_t)(feed->first - megcc_path_at(&base, t)) * feed->row_bytes;
  return MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  struct megcc_port *port = c->port + code[INPUT];
  struct megcc_feed feed;
  const megcc_status_t status = megcc_find_feed(c, code, &feed);
  if (status != MEGCC_OK || feed.rows == 0) return status;
  if (port->bound != NULL) {
    megcc_copy(feed.data, (uint8_t *)port->bound + (size_t)feed.first * feed.row_bytes,
               (size_t)feed.rows * feed.row_bytes);
    return MEGCC_OK;
  }
  if (port->flags >> MEGCC_PORT_ROWS_GIVEN != (uint32_t)feed.rows) return MEGCC_ERR_UNBOUND;
  port->flags = MEGCC_PORT_ROWS;
  return MEGCC_OK;
}

const megcc_op_t megcc_op_feed = {check, run};
