// op: conv2d_computed
// isa: simd
// when: ic > 0
// params: ACT=act RESIDUAL=residual
// inplace: residual
// let pixels = n * oh * ow
// let block = min(MEGCC_GEMM_BLOCK, pixels)
// let depth = kh * kw * (ic // g)
// let few = g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
// let border = ((MEGCC_GEMM_BLOCK - 2) // max(1, ow) + 2) * (ceil(pl, sw) + ceil(pr, sw))
// workspace: sizeof(W) * g * up(oc // g, NR) * depth
//   + (MEGCC_GEMM_ENTRY * kh * block + sizeof(X) * kw * ic * (1 + kh * min(block, border)) if few
//   else MEGCC_GEMM_ENTRY * kh * kw * block + sizeof(X) * ic)
// work: ceil(pixels, MEGCC_GEMM_BLOCK) * g * ceil(oc // g, MEGCC_GEMM_UNIT)
// cost: (block + 8) * min(MEGCC_GEMM_UNIT, oc // g) * depth
// kernel: conv2d_computed_f32 arch=portable dtype=f32 rank=10 tolerance=2e-6 NR=8
// kernel: conv2d_computed_f32_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-6 NR=16
// kernel: conv2d_computed_f16 arch=portable dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//
// conv2d_gemm.c with the weights in panels that are made in the workspace first.
#include "gemm/megcc_conv2d_gemm.h"
#include "gemm/megcc_gemm_pack.h"
#include "op/conv2d_computed.h"

typedef char megcc_conv2d_attrs_t[(int)CONV2D_COMPUTED_ATTRS == (int)CONV2D_ATTRS ? 1 : -1];

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t groups = attr[CONV2D_G], ocg = attr[CONV2D_OC] / groups;
  const int32_t depth = attr[CONV2D_KH] * attr[CONV2D_KW] * (attr[CONV2D_IC] / groups);
  const size_t group_w = (size_t)ocg * (size_t)depth;
  const size_t group_b = (size_t)((ocg + NR - 1) / NR) * NR * (size_t)depth;
  const megcc_elem_t *w = ptr[1];
  megcc_elem_t *panels = workspace;
  void *args[5];
  if (begin >= end) return;
  for (int32_t g = 0; g < groups; ++g, w += group_w, panels += group_b)
    megcc_gemm_pack_transposed(w, (size_t)depth, depth, ocg, panels);
  for (int32_t i = 0; i < 4 + (RESIDUAL != 0); ++i) args[i] = ptr[i];
  args[1] = workspace;
  megcc_conv2d_gemm(args, attr, panels, begin, end);
}
