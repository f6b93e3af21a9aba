// op: attention_cached
// isa: simd
// when: d > 0 and h % g == 0 and row == d
// params: SOFTCAP=softcap MASK=bias
// let panels = up(n, NR) * d + up(d, NR) * n
// let width = up(n, NR) + NR
// let wide = 0
// workspace: 8 * ATTENTION_BLOCK + 4 * (4 * width + wide
//   + (panels + ATTENTION_BLOCK * width if m > 2 else 0))
// work: b * g * ceil(m, ATTENTION_BLOCK)
// cost: ATTENTION_BLOCK * n * (2 * d + 20)
// kernel: attention_cached_f32 arch=portable dtype=f32 rank=10 tolerance=5e-6 NR=8
//   ATTENTION_BLOCK=24
// kernel: attention_cached_f32_x86 arch=x86 dtype=f32 rank=20 tolerance=5e-6 NR=16
//   ATTENTION_BLOCK=24
// kernel: attention_cached_f16 arch=portable dtype=f16 rank=10 tolerance=1e-3 NR=8
//   ATTENTION_BLOCK=24 MEGCC_CACHED_F16=1 MEGCC_CACHED_BITS=16
//   wide="(2 * ATTENTION_BLOCK + NR if m > 2 else 6) * d"
// kernel: attention_cached_f16_x86 arch=x86 dtype=f16 rank=20 tolerance=1e-3 NR=16
//   ATTENTION_BLOCK=24 MEGCC_CACHED_F16=1 MEGCC_CACHED_BITS=16
//   wide="(2 * ATTENTION_BLOCK + NR if m > 2 else 6) * d"
// kernel: attention_cached_f16_fp16 arch=arm64 isa=fp16 dtype=f16 rank=20 tolerance=5e-3 NR=8
//   ATTENTION_BLOCK=24 MEGCC_CACHED_F16=2 MEGCC_CACHED_BITS=16
//   wide="(2 * ATTENTION_BLOCK + NR if m > 2 else 6) * d"
// kernel: attention_cached_f32_over_f16 arch=portable dtype="q=f32 k=f16" rank=10 tolerance=5e-6
//   NR=8 ATTENTION_BLOCK=24 MEGCC_CACHED_BITS=16 wide="NR * d if m > 2 else 0"
// kernel: attention_cached_f32_over_f16_x86 arch=x86 dtype="q=f32 k=f16" rank=20 tolerance=5e-6
//   NR=16 ATTENTION_BLOCK=24 MEGCC_CACHED_BITS=16 wide="NR * d if m > 2 else 0"
// kernel: attention_cached_f32_over_i8 arch=portable dtype="q=f32 k=i8" rank=10 tolerance=2e-4
//   NR=8 ATTENTION_BLOCK=24 MEGCC_CACHED_BITS=8 wide="(NR if m > 2 else 2) * d + 4"
//   when="0 < d and d <= 512 and h % g == 0 and row == d + 4"
// kernel: attention_cached_f32_over_i8_x86 arch=x86 dtype="q=f32 k=i8" rank=20 tolerance=2e-5
//   NR=16 ATTENTION_BLOCK=24 MEGCC_CACHED_BITS=8 wide="(NR if m > 2 else 2) * d + 4"
//   when="0 < d and d <= 512 and h % g == 0 and row == d + 4"
//
// A work item is one head of the cache and ATTENTION_BLOCK new rows. One or two rows read keys and
// values where they are, for three heads at a time; more of them from panels, once a head.
// * f16 widens what it loads, f16_fp16 multiplies one or two rows in f16. Scores and the softmax
//   are f32 in both.
// * Over int8, NEON multiplies one or two rows as integers of 16 bits and of 8.
// `wide`: rows of f16 or int8 as floats; with NEON queries as integers.
#include "gemm/megcc_attention_cached.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_attention_cached(ptr, attr, workspace, begin, end);
}
