// A run in pieces: megcc_run with a count, a flag that ends it, and copies of weights.
#include "megcc_step.h"

#include "megcc_vm.h"

megcc_status_t megcc_stepper_init(megcc_stepper_t *s, megcc_context_t *context) {
  if (s == NULL || context == NULL) return MEGCC_ERR_NULL;
  s->context = context;
  s->next = NULL;
  s->cancelled = 0;
  s->moved = NULL;
  return MEGCC_OK;
}

void megcc_step_cancel(megcc_stepper_t *s) {
  if (s != NULL) s->cancelled = 1;
}

static int is_call(uint32_t opcode) {
  return opcode == MEGCC_OP_CALL || opcode == MEGCC_OP_CALL_SIZED;
}

static int is_band(uint32_t opcode) {
  return opcode == MEGCC_OP_BAND || opcode == MEGCC_OP_BAND_SIZED;
}

// Operand number and bytes of the largest constant that a call reads; no bytes where it reads none.
static uint32_t largest_constant(const megcc_context_t *c, const uint32_t *code,
                                 megcc_bytes_t *found) {
  const uint32_t first = (*code & 0xFF) == MEGCC_OP_CALL ? MEGCC_C_FIRST : MEGCC_C_FIRST_OF_SIZED;
  uint32_t i, number = 0;
  for (i = 0; i < code[MEGCC_C_OPERANDS] - code[MEGCC_C_OUTPUTS]; ++i) {
    megcc_tensor_t t;
    megcc_measure_tensor(c, code[first + i], &t);
    if (t.space != MEGCC_WEIGHT || t.bytes <= found->bytes) continue;
    found->data = megcc_tensor_data(c, code[first + i]);
    found->bytes = t.bytes;
    number = i;
  }
  return number;
}

// Gives these flags to each input that a FEED reads and that has no memory.
static void flag_rows(megcc_context_t *c, uint32_t flags) {
  const megcc_model_t *m = c->model;
  const uint32_t *code = m->section[MEGCC_S_CODE];
  for (; (*code & 0xFF) != MEGCC_OP_END; code += *code >> 8) {
    if ((*code & 0xFF) != MEGCC_OP_FEED) continue;
    if (c->port[code[2]].bound == NULL) c->port[code[2]].flags = flags;
  }
}

// The call behind `ahead` others, null where it is not known.
static const uint32_t *call_ahead(const megcc_stepper_t *s, uint32_t ahead) {
  const uint32_t *code = s->next != NULL ? s->next : s->context->model->section[MEGCC_S_CODE];
  for (;; code += *code >> 8) {
    const uint32_t opcode = *code & 0xFF;
    if (is_call(opcode) && ahead-- == 0) return code;
    if (opcode == MEGCC_OP_END || opcode == MEGCC_OP_BRANCH || opcode == MEGCC_OP_JUMP ||
        is_band(opcode))
      return NULL;
  }
}

megcc_status_t megcc_step_weights(const megcc_stepper_t *s, uint32_t ahead,
                                  megcc_bytes_t *weights) {
  const uint32_t *code;
  megcc_status_t status;
  if (s == NULL || weights == NULL || s->context == NULL) return MEGCC_ERR_NULL;
  weights->data = NULL;
  weights->bytes = 0;
  if (s->next == NULL && (status = megcc_ready(s->context)) != MEGCC_OK) return status;
  if ((code = call_ahead(s, ahead)) != NULL) (void)largest_constant(s->context, code, weights);
  return MEGCC_OK;
}

megcc_status_t megcc_step_use(megcc_stepper_t *s, const void *copy, size_t bytes) {
  megcc_bytes_t weights;
  const megcc_status_t status = megcc_step_weights(s, 0, &weights);
  if (status != MEGCC_OK) return status;
  s->moved = NULL;
  if (copy == NULL) return MEGCC_OK;
  if (bytes == 0 || bytes != weights.bytes) return MEGCC_ERR_SIZE;
  if ((uintptr_t)copy % 8 != 0) return MEGCC_ERR_ALIGNMENT;
  s->moved = call_ahead(s, 0);
  s->copy = copy;
  return MEGCC_OK;
}

// In place of the profile hook during one call: hands it on, and changes an operand, which the call
// has found by then, before the kernel begins.
struct changed_operand {
  const megcc_stepper_t *stepper;
  uint32_t operand;
  megcc_profile_fn profile;
  void *profile_user;
};

static void change_operand(void *user, megcc_event_t event, uint32_t call, const char *name,
                           const char *kernel) {
  const struct changed_operand *change = (const struct changed_operand *)user;
  const megcc_stepper_t *s = change->stepper;
  if (event == MEGCC_CALL_BEGIN) s->context->operand[change->operand] = (void *)(uintptr_t)s->copy;
  if (change->profile != NULL) change->profile(change->profile_user, event, call, name, kernel);
}

static megcc_status_t run_one(megcc_stepper_t *s, const uint32_t *code) {
  megcc_context_t *c = s->context;
  const megcc_op_t *op = c->model->kernels->op[*code & 0xFF];
  struct changed_operand change;
  megcc_bytes_t weights = {NULL, 0};
  megcc_status_t status;
  if (s->moved != code) return op->run(c, code);
  change.stepper = s;
  change.operand = largest_constant(c, code, &weights);
  change.profile = c->profile;
  change.profile_user = c->profile_user;
  s->moved = NULL;
  c->profile = change_operand;
  c->profile_user = &change;
  status = op->run(c, code);
  c->profile = change.profile;
  c->profile_user = change.profile_user;
  return status;
}

// The instructions up to the end, or to the one after the last of so many calls.
static megcc_status_t run_calls(megcc_stepper_t *s, uint32_t calls, megcc_step_state_t *state) {
  megcc_context_t *c = s->context;
  while ((*s->next & 0xFF) != MEGCC_OP_END) {
    const uint32_t *code = s->next;
    const uint32_t opcode = *code & 0xFF;
    megcc_status_t status;
    if (s->cancelled) {
      s->next = s->moved = NULL;
      *state = MEGCC_STEP_CANCELLED;
      return MEGCC_OK;
    }
    if ((is_call(opcode) || is_band(opcode)) && calls-- == 0) return MEGCC_OK;
    c->next = code + (*code >> 8);
    status = run_one(s, code);
    if (status != MEGCC_OK) {
      c->next = code;
      if (opcode != MEGCC_OP_FEED || status != MEGCC_ERR_UNBOUND) return status;
      *state = MEGCC_STEP_ROWS;
      return MEGCC_OK;
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
    if ((status = megcc_ready(s->context)) != MEGCC_OK) return status;
    flag_rows(s->context, MEGCC_PORT_ROWS);
    status = megcc_begin_run(s->context);
    flag_rows(s->context, 0);
    if (status != MEGCC_OK) return status;
    s->next = s->context->next;
  } else if (s->context->next != s->next) {
    s->next = s->moved = NULL;
    return MEGCC_ERR_NOT_RUN;
  }
  status = run_calls(s, calls, state);
  if (status != MEGCC_OK || *state == MEGCC_STEP_DONE) s->next = s->moved = NULL;
  return status;
}
