// An image by rows: what a run in pieces waits for, and the copy into the line buffer.
#include "megcc_rows.h"

#include "megcc_step.h"

static megcc_status_t find_wanted(const megcc_stepper_t *s, megcc_rows_t *rows,
                                  struct megcc_feed *feed) {
  const megcc_context_t *c;
  megcc_status_t status;
  uint32_t given;
  if (s == NULL || rows == NULL || s->context == NULL) return MEGCC_ERR_NULL;
  c = s->context;
  if (s->next == NULL || c->next != s->next || (*s->next & 0xFF) != MEGCC_OP_FEED)
    return MEGCC_ERR_NOT_RUN;
  if ((status = megcc_find_feed(c, s->next, feed)) != MEGCC_OK) return status;
  given = c->port[feed->input].flags >> MEGCC_PORT_ROWS_GIVEN;
  rows->input = feed->input;
  rows->image = (uint32_t)feed->image;
  rows->first = (uint32_t)feed->first + given;
  rows->count = (uint32_t)feed->rows - given;
  rows->height = (uint32_t)feed->height;
  rows->planes = feed->planes;
  rows->row_bytes = feed->row_bytes;
  rows->data = feed->data + (size_t)given * feed->planes * feed->row_bytes;
  return MEGCC_OK;
}

megcc_status_t megcc_rows_wanted(const megcc_stepper_t *s, megcc_rows_t *rows) {
  struct megcc_feed feed;
  return find_wanted(s, rows, &feed);
}

megcc_status_t megcc_put_rows(megcc_stepper_t *s, uint32_t input, const void *data,
                              uint32_t count) {
  megcc_rows_t rows;
  struct megcc_feed feed;
  const megcc_status_t status = find_wanted(s, &rows, &feed);
  if (status != MEGCC_OK) return status;
  if (input != rows.input) return MEGCC_ERR_INDEX;
  if (count > rows.count) return MEGCC_ERR_SIZE;
  if (count == 0) return MEGCC_OK;
  if (data == NULL) return MEGCC_ERR_NULL;
  if (data != rows.data) {
    const size_t plane = count * rows.row_bytes;
    megcc_copy_rows(&feed, (uint8_t *)rows.data, (const uint8_t *)data, plane, count);
  }
  s->context->port[input].flags += count << MEGCC_PORT_ROWS_GIVEN;
  return MEGCC_OK;
}
