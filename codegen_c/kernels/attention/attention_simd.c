// op: attention
// isa: simd
// when: d > 0
// params: MASK=mask TRANS_K=trans_k
// let rows = min(ATTENTION_BLOCK, m)
// workspace: 8 * ATTENTION_BLOCK
//   + sizeof(T) * (up(n, NR) * (d + rows) + up(e, NR) * n)
// work: b * h * ceil(m, ATTENTION_BLOCK)
// cost: ATTENTION_BLOCK * n * (d + e + 20)
// kernel: attention_f32 arch=portable dtype=f32 rank=10 tolerance=5e-6 NR=8 ATTENTION_BLOCK=24
// kernel: attention_f32_x86 arch=x86 dtype=f32 rank=20 tolerance=5e-6 NR=16 ATTENTION_BLOCK=24
//
// The scores of ATTENTION_BLOCK rows at a time are in the workspace, and never as a whole tensor; k
// and v of a head are there in panels. Few rows read both where they are: megcc_attention.h.
#include "gemm/megcc_attention.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_attention(ptr, attr, workspace, begin, end);
}
