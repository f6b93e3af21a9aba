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
  const uint32_t *record = m->section[MEGCC_S_FUNCTIONS] + (size_t)m->function * MEGCC_F_WORDS;
  uint32_t i;
  if (words < first || code[MEGCC_C_OPERANDS] > words - first) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_KERNEL] >= m->kernels->count) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_OPERANDS] > record[MEGCC_F_MAX_OPERANDS]) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_OUTPUTS] > code[MEGCC_C_OPERANDS]) return MEGCC_ERR_CORRUPT;
  for (i = 0; i < code[MEGCC_C_OPERANDS]; ++i) {
    const int writes = i >= code[MEGCC_C_OPERANDS] - code[MEGCC_C_OUTPUTS];
    const uint32_t id = code[first + i];
    if (id >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
    if (writes && !megcc_tensor_is_writable(m, id)) return MEGCC_ERR_CORRUPT;
  }
  if ((code[MEGCC_C_SPLIT] & 0xFF) == 0) return MEGCC_ERR_CORRUPT;
  if (code[MEGCC_C_WORKSPACE] != MEGCC_NONE) {
    megcc_tensor_t t;
    if (code[MEGCC_C_WORKSPACE] >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
    t = megcc_tensor_at(m, code[MEGCC_C_WORKSPACE]);
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
};

static void run_range(const void *arg, uint32_t worker, int32_t begin, int32_t end) {
  const struct task *task = (const struct task *)arg;
  uint8_t *workspace = task->workspace;
  if (workspace != NULL) workspace += worker * task->stride;
  task->kernel(task->operand, task->attr, workspace, begin, end);
}

megcc_status_t megcc_call(megcc_context_t *context, const uint32_t *code, int32_t work,
                          const int32_t *attr, const uint32_t *operands) {
  const megcc_model_t *m = context->model;
  const char *name = megcc_string(m, code[MEGCC_C_NAME]);
  const char *kernel = megcc_string(m, m->section[MEGCC_S_KERNELS][code[MEGCC_C_KERNEL]]);
  struct task task;
  uint32_t i;
  task.kernel = m->kernels->fn[code[MEGCC_C_KERNEL]];
  task.operand = context->operand;
  task.attr = attr;
  for (i = 0; i < code[MEGCC_C_OPERANDS]; ++i) {
    context->operand[i] = megcc_tensor_data(context, operands[i]);
  }
  if (context->profile != NULL) {
    context->profile(context->profile_user, MEGCC_CALL_BEGIN, context->call, name, kernel);
  }
  if (work > 0) {
    const uint32_t workspace = code[MEGCC_C_WORKSPACE];
    const uint32_t workers = code[MEGCC_C_SPLIT] & 0xFF;
    const int32_t grain = (int32_t)(code[MEGCC_C_SPLIT] >> 8);
    task.workspace = NULL;
    if (workspace != MEGCC_NONE) {
      task.workspace = megcc_tensor_data(context, workspace);
      task.stride = megcc_tensor_in(context, workspace).bytes / workers;
    }
    if (context->parallel != NULL && workers > 1 && work / 2 >= grain && work > 1) {
      context->parallel(context->parallel_user, run_range, &task, work, grain, workers);
    } else {
      run_range(&task, 0, 0, work);
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

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const megcc_status_t status = megcc_check_call(m, code, words, MEGCC_C_FIRST);
  if (status != MEGCC_OK) return status;
  return code[MEGCC_C_WORK] > INT32_MAX ? MEGCC_ERR_CORRUPT : MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  const uint32_t *operands = code + MEGCC_C_FIRST;
  return megcc_call(context, code, (int32_t)code[MEGCC_C_WORK],
                    (const int32_t *)(operands + code[MEGCC_C_OPERANDS]), operands);
}

const megcc_op_t megcc_op_call = {check, run};
