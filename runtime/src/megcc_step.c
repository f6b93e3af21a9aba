// A run in pieces: megcc_run with a count, and a flag that ends it.
#include "megcc_step.h"

#include "megcc_vm.h"

megcc_status_t megcc_stepper_init(megcc_stepper_t *s, megcc_context_t *context) {
  if (s == NULL || context == NULL) return MEGCC_ERR_NULL;
  s->context = context;
  s->next = NULL;
  s->cancelled = 0;
  return MEGCC_OK;
}

void megcc_step_cancel(megcc_stepper_t *s) {
  if (s != NULL) s->cancelled = 1;
}

static int is_call(uint32_t opcode) {
  return opcode == MEGCC_OP_CALL || opcode == MEGCC_OP_CALL_SIZED;
}

// The instructions up to the end, or to the one after the last of so many calls.
static megcc_status_t run_calls(megcc_stepper_t *s, uint32_t calls, megcc_step_state_t *state) {
  megcc_context_t *c = s->context;
  while ((*s->next & 0xFF) != MEGCC_OP_END) {
    const uint32_t *code = s->next;
    const uint32_t opcode = *code & 0xFF;
    megcc_status_t status;
    if (s->cancelled) {
      s->next = NULL;
      *state = MEGCC_STEP_CANCELLED;
      return MEGCC_OK;
    }
    if (is_call(opcode) && calls-- == 0) return MEGCC_OK;
    c->next = code + (*code >> 8);
    status = c->model->kernels->op[opcode]->run(c, code);
    if (status != MEGCC_OK) {
      c->next = code;
      return status;
    }
    s->next = c->next;
  }
  *state = MEGCC_STEP_DONE;
  return megcc_end_run(c);
}

megcc_status_t megcc_step(megcc_stepper_t *s, uint32_t calls, megcc_step_state_t *state) {
  megcc_status_t status;
  if (s == NULL || state == NULL || s->context == NULL) return MEGCC_ERR_NULL;
  *state = MEGCC_STEP_MORE;
  if (s->next == NULL) {
    s->cancelled = 0;
    if ((status = megcc_begin_run(s->context)) != MEGCC_OK) return status;
    s->next = s->context->next;
  } else if (s->context->next != s->next) {
    s->next = NULL;
    return MEGCC_ERR_NOT_RUN;
  }
  status = run_calls(s, calls, state);
  if (status != MEGCC_OK || *state == MEGCC_STEP_DONE) s->next = NULL;
  return status;
}
