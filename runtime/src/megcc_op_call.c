// CALL: run a kernel over its work range.
//
//   word 1 kernel, 2 name, 3 work, 4 workspace tensor or NONE, 5 outputs, 6 operands,
//   then the operands (tensors, outputs last), then the attributes (read in place).
#include "megcc_vm.h"

enum { KERNEL = 1, NAME, WORK, WORKSPACE, OUTPUTS, OPERANDS, FIRST };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  uint32_t i;
  if (words < FIRST || code[OPERANDS] > words - FIRST) return MEGCC_ERR_CORRUPT;
  if (code[KERNEL] >= m->kernels->count) return MEGCC_ERR_CORRUPT;
  if (code[NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (code[WORK] > INT32_MAX) return MEGCC_ERR_CORRUPT;
  if (code[OPERANDS] > m->program[MEGCC_H_MAX_OPERANDS]) return MEGCC_ERR_CORRUPT;
  if (code[OUTPUTS] > code[OPERANDS]) return MEGCC_ERR_CORRUPT;
  for (i = 0; i < code[OPERANDS]; ++i) {
    const int writes = i >= code[OPERANDS] - code[OUTPUTS];
    const uint32_t id = code[FIRST + i];
    if (id >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
    if (writes && !megcc_tensor_is_writable(m, id)) return MEGCC_ERR_CORRUPT;
  }
  if (code[WORKSPACE] != MEGCC_NONE) {
    megcc_tensor_t t;
    if (code[WORKSPACE] >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
    t = megcc_tensor_at(m, code[WORKSPACE]);
    if (t.space != MEGCC_ARENA || t.offset % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

struct task {
  megcc_kernel_fn kernel;
  void *const *operand;
  const int32_t *attr;
};

static void run_range(const void *arg, int32_t begin, int32_t end) {
  const struct task *task = (const struct task *)arg;
  task->kernel(task->operand, task->attr, NULL, begin, end);
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  const megcc_model_t *m = context->model;
  const char *name = megcc_string(m, code[NAME]);
  const char *kernel = megcc_string(m, m->section[MEGCC_S_KERNELS][code[KERNEL]]);
  const int32_t work = (int32_t)code[WORK];
  struct task task;
  uint32_t i;
  task.kernel = m->kernels->fn[code[KERNEL]];
  task.operand = context->operand;
  task.attr = (const int32_t *)(code + FIRST + code[OPERANDS]);
  for (i = 0; i < code[OPERANDS]; ++i) {
    context->operand[i] = megcc_tensor_data(context, code[FIRST + i]);
  }
  if (context->profile != NULL) {
    context->profile(context->profile_user, MEGCC_CALL_BEGIN, context->call, name, kernel);
  }
  if (work > 0) {
    if (code[WORKSPACE] != MEGCC_NONE) {
      task.kernel(task.operand, task.attr, megcc_tensor_data(context, code[WORKSPACE]), 0, work);
    } else if (context->parallel != NULL && work > 1) {
      context->parallel(context->parallel_user, run_range, &task, work);
    } else {
      run_range(&task, 0, work);
    }
  }
  if (context->profile != NULL) {
    context->profile(context->profile_user, MEGCC_CALL_END, context->call, name, kernel);
  }
#if defined(MEGCC_DEBUG)
  megcc_poison_dead(context);
#endif
  ++context->call;
  return MEGCC_OK;
}

const megcc_op_t megcc_op_call = {check, run};
