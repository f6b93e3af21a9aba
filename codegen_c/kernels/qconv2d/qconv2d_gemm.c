// op: qconv2d
// dtype: x=i8,u8 w=i8 bias=i32 scale=f32 zero=i8,u8 y=i8,u8,i32,f32
// when: (g == 1 or oc // g >= 4) and ic > 0 and kh * kw > 0
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(w_zero != 0) NARROW=narrow
// tune: MEGCC_QGEMM_BLOCK=24,48,192
// pack: w=qgemm_panels(nr=MEGCC_QGEMM_PANEL, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK,
//   few=MEGCC_CONV_FEW) bias=qgemm_bias(flip=MEGCC_QGEMM_FLIP)
// let pixels = n * oh * ow
// let block = min(MEGCC_QGEMM_BLOCK, pixels)
// let few = g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
// let border = ((MEGCC_QGEMM_BLOCK - 2) // max(1, ow) + 2) * (ceil(pl, sw) + ceil(pr, sw))
// workspace: MEGCC_QGEMM_ENTRY * kh * block * (1 if few else kw)
//   + (sizeof(B) * oc if zero_operand else 0) + (sizeof(B) * block if w_zero != 0 else 0)
//   + ((kw * ic + MEGCC_RUN_PIECE) * (3 + kh * min(block, border)) if few
//   else 3 * (ic + MEGCC_RUN_PIECE))
// overlap: sizeof(Y) * oc * min(pixels, MEGCC_QGEMM_BLOCK - 1
//   + (ow * (pt // sh + 1) if kh * kw * sh * sw > 1 else 1))
//   if sizeof(X) == sizeof(Y) and oc <= ic and pl + pr <= dw * (kw - 1)
//   and pt + pb <= dh * (kh - 1) else -1
// work: ceil(pixels, MEGCC_QGEMM_BLOCK) * g * ceil(oc // g, MEGCC_QGEMM_UNIT)
// cost: (block + 8) * min(MEGCC_QGEMM_UNIT, oc // g) * kh * kw * (ic // g) // 4
// kernel: qconv2d_dot arch=arm64 isa=dotprod rank=20 without=NARROW include=gemm/megcc_qgemm_dot.h
// kernel: qconv2d_i8mm arch=arm64 isa=i8mm rank=30 without=NARROW include=gemm/megcc_qgemm_mm.h
// kernel: qconv2d_neon arch=arm64 isa=none rank=16 include=gemm/megcc_qgemm_neon.h
// kernel: qconv2d_armv7 arch=armv7 isa=none rank=20 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_armv7.h
// kernel: qconv2d_x86 arch=x86 isa=avx2 rank=20 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_x86.h
// kernel: qconv2d_avxvnni arch=x86 isa=avxvnni rank=30 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_vnni.h
// kernel: qconv2d_vnni arch=x86 isa=avx512vnni rank=40 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_vnni.h
// kernel: qconv2d_panels arch=portable isa=none rank=5 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_c.h
//
// Implicit matrix product over output pixels: megcc_qconv2d_gemm.h. Any size, stride, dilation,
// padding and grouping. By sdot, smmla, or smull and smlal, which every Arm64 has, and vmlal,
// pmaddwd (AVX2 or wider), vpdpbusd of AVX-VNNI and AVX512-VNNI, or in vectors of columns that
// compilers make of plain C.
#include "gemm/megcc_qconv2d_gemm.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qconv2d_gemm(ptr, attr, workspace, begin, end);
}
