// CALL: run a kernel over its work range.
//
//   word 1 kernel, 2 name, 3 work, 4 how it may be split, 5 workspace tensor or NONE, 6 outputs,
//   7 operands, then the operands (tensors, outputs last), then the attributes (read in place).
//
// Ranges of the work may be done in any order, at the same time, by as many workers as word 4 says
// in its low 8 bits; each has an equal part of the workspace. A call for one worker is whole: its
// output lies over rows of the input that have been read, or its workspace is for one.
#include "megcc_vm.h"

megcc_status_t megcc_check_call(const megcc_model_t *m, const uint32_t *code, uint32_t words,
                                uint32_t first) {
  uint32_t i;
  if (words < first || code[MEGCC_C_OPERANDS] > words - first) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_KERNEL] >= m->count[MEGCC_S_KERNELS]) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_OPERANDS] > m->record[MEGCC_F_MAX_OPERANDS]) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_OUTPUTS] > code[MEGCC_C_OPERANDS]) return MEGCC_ERR_CORRUPT;
  for (i = code[MEGCC_C_OPERANDS]; i-- > 0;) {
    const uint32_t id = code[first + i];
    if (id >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
    if (i < code[MEGCC_C_OPERANDS] - code[MEGCC_C_OUTPUTS]) continue;
    if (!megcc_tensor_is_writable(m, id)) return MEGCC_ERR_CORRUPT;
  }
  // The work, or the value that says it: neither is as large.
  if (code[MEGCC_C_WORK] > INT32_MAX) return MEGCC_ERR_CORRUPT;
  if ((code[MEGCC_C_SPLIT] & 0xFF) == 0) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_WORKSPACE] != MEGCC_NONE) {
    megcc_tensor_t t;
    if (!megcc_find_tensor(m, code[MEGCC_C_WORKSPACE], &t)) return MEGCC_ERR_CORRUPT;
    if (t.space != MEGCC_ARENA || t.offset % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

struct task {
  megcc_kernel_fn kernel;
  void *const *operand;
  const int32_t *attr;
  uint8_t *workspace;
  size_t stride;  // bytes of each worker's part of the workspace
  int32_t first;  // of the work
};

static void run_range(const void *arg, uint32_t worker, int32_t begin, int32_t end) {
  const struct task *task = (const struct task *)arg;
  uint8_t *workspace = task->workspace;
  if (workspace != NULL) workspace += worker * task->stride;
  task->kernel(task->operand, task->attr, workspace, task->first + begin, task->first + end);
}

static void tell(const megcc_context_t *c, megcc_event_t event, const uint32_t *code) {
  const megcc_model_t *m = c->model;
  if (c->profile == NULL) return;
  c->profile(c->profile_user, event, c->call, megcc_string(m, code[MEGCC_C_NAME]),
             megcc_string(m, m->section[MEGCC_S_KERNELS][code[MEGCC_C_KERNEL]]));
}

// Hands the work to the workers of the context, where both are for several.
static int split(const megcc_context_t *c, const uint32_t *code, struct task *task, int32_t work) {
  const uint32_t workers = code[MEGCC_C_SPLIT] & 0xFF;
  const int32_t grain = (int32_t)(code[MEGCC_C_SPLIT] >> 8);
  if (c->parallel == NULL || workers <= 1 || work <= 1 || work >> 1 < grain) return 0;
  if (task->workspace != NULL) {
    megcc_tensor_t t;
    megcc_measure_tensor(c, code[MEGCC_C_WORKSPACE], &t);
    task->stride = t.bytes / workers;
  }
  c->parallel(c->parallel_user, run_range, task, work, grain, workers);
  return 1;
}

megcc_status_t megcc_call(megcc_context_t *context, const uint32_t *code, int32_t begin,
                          int32_t work, const int32_t *attr, const uint32_t *operands) {
  struct task task;
  uint32_t i;
  task.kernel = context->model->kernels->fn[code[MEGCC_C_KERNEL]];
  task.operand = context->operand;
  task.attr = attr;
  task.workspace = NULL;
  task.stride = 0;
  task.first = begin;
  for (i = operands == NULL ? 0 : code[MEGCC_C_OPERANDS]; i-- > 0;) {
    context->operand[i] = megcc_tensor_data(context, operands[i]);
  }
  if (code[MEGCC_C_WORKSPACE] != MEGCC_NONE) {
    task.workspace = megcc_tensor_data(context, code[MEGCC_C_WORKSPACE]);
  }
  tell(context, MEGCC_CALL_BEGIN, code);
  if (work > 0 && !split(context, code, &task, work)) run_range(&task, 0, 0, work);
  tell(context, MEGCC_CALL_END, code);
#if defined(MEGCC_DEBUG)
  megcc_poison_dead(context);
#endif
  ++context->call;
  return MEGCC_OK;
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  return megcc_check_call(m, code, words, MEGCC_C_FIRST);
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  const uint32_t *operands = code + MEGCC_C_FIRST;
  return megcc_call(context, code, 0, (int32_t)code[MEGCC_C_WORK],
                    (const int32_t *)(operands + code[MEGCC_C_OPERANDS]), operands);
}

const megcc_op_t megcc_op_call = {check, run};
