// Blocks of megcc_qgemm_lanes.h on machines with few registers and no vectors: four columns of a
// panel down the block's rows, two rows at a time, then one. The columns' scales are prepared once.
#ifndef MEGCC_QGEMM_FEW_H
#define MEGCC_QGEMM_FEW_H

#include "gemm/megcc_qgemm_terms.h"
#include "megcc_requant_channel.h"
#include "megcc_thumb2.h"
#include "megcc_unroll.h"

#define MEGCC_QGEMM_COLUMNS MEGCC_QGEMM_PANEL
#define MEGCC_QGEMM_FOUR 4  // columns at a time

// A tile as the functions of its sums read it; the assembly knows the places of the fields.
typedef struct {
  const uint8_t *const *at;  // addresses of the rows, side by side
  size_t stride;             // bytes to those of the next run
  size_t skip, groups, segments;
  const int8_t *w;
  const int32_t *bias;
  uint32_t sums[8];  // the result, row by row
} megcc_qgemm_tile_t;

#if MEGCC_THUMB2

#define MEGCC_QGEMM_W(step) "ldrsb lr, [r2], #" step "\n\t"
#define MEGCC_QGEMM_MLA(sum, x) "mla " sum ", " x ", lr, " sum "\n\t"

// A loop of `step` for a tile of eight sums, which compilers would keep in memory. `bias` loads the
// sums, `rows` the rows' addresses, and `skip` is added to these.
//
//   r0 r1      data of the rows            r3 r12   a number of each
//   r2         weights                     lr       one of a column; ends of loops
//   r4 to r11  sums
//   sp         + 0: where r0 ends for steps of four, + 4: where it ends, + 8: the argument,
//              + 12: runs to go, + 16: addresses of the rows
#define MEGCC_QGEMM_LOOP(bias, rows, skip, step) \
  __asm__(                                       \
      "push {r4-r11, lr}\n\t"                    \
      "sub sp, #20\n\t"                          \
      "str r0, [sp, #8]\n\t"                     \
      "ldr r1, [r0]\n\t"                         \
      "ldr r2, [r0, #16]\n\t"                    \
      "strd r2, r1, [sp, #12]\n\t"               \
      "ldrd r2, r3, [r0, #20]\n\t" bias          \
      "1:\n\t"                                   \
      "ldr r12, [sp, #8]\n\t"                    \
      "ldr lr, [sp, #16]\n\t" rows               \
      "ldr r3, [r12, #4]\n\t"                    \
      "add lr, r3\n\t"                           \
      "str lr, [sp, #16]\n\t"                    \
      "ldrd r3, r12, [r12, #8]\n\t" skip         \
      "add lr, r0, r12\n\t"                      \
      "str lr, [sp, #4]\n\t"                     \
      "bic r12, #3\n\t"                          \
      "add lr, r0, r12\n\t"                      \
      "str lr, [sp]\n\t"                         \
      "cmp r0, lr\n\t"                           \
      "beq 3f\n\t"                               \
      "2:\n\t"                                   \
      ".rept 4\n\t" step                         \
      ".endr\n\t"                                \
      "ldr lr, [sp]\n\t"                         \
      "cmp r0, lr\n\t"                           \
      "bne 2b\n\t"                               \
      "3:\n\t"                                   \
      "ldr lr, [sp, #4]\n\t"                     \
      "cmp r0, lr\n\t"                           \
      "beq 5f\n\t"                               \
      "4:\n\t" step                              \
      "ldr lr, [sp, #4]\n\t"                     \
      "cmp r0, lr\n\t"                           \
      "bne 4b\n\t"                               \
      "5:\n\t"                                   \
      "ldr r3, [sp, #12]\n\t"                    \
      "subs r3, #1\n\t"                          \
      "str r3, [sp, #12]\n\t"                    \
      "bne 1b\n\t"                               \
      "ldr r0, [sp, #8]\n\t"                     \
      "adds r0, #28\n\t"                         \
      "stm r0, {r4-r11}\n\t"                     \
      "add sp, #20\n\t"                          \
      "pop {r4-r11, pc}\n\t")

#define MEGCC_QGEMM_X0 MEGCC_THUMB2_LOAD(X) " r3, [r0], #1\n\t"
#define MEGCC_QGEMM_X1 MEGCC_THUMB2_LOAD(X) " r12, [r1], #1\n\t"
#define MEGCC_QGEMM_BOTH(step, first, second) \
  MEGCC_QGEMM_W(step) MEGCC_QGEMM_MLA(first, "r3") MEGCC_QGEMM_MLA(second, "r12")
#define MEGCC_QGEMM_NEXT(sum) MEGCC_QGEMM_W("1") MEGCC_QGEMM_MLA(sum, "r3")

// Two rows by four columns: 14 instructions for eight products.
MEGCC_NAKED static void megcc_qgemm_two(megcc_qgemm_tile_t *v MEGCC_UNUSED) {
  MEGCC_QGEMM_LOOP("ldm r3, {r4-r7}\n\tmov r8, r4\n\tmov r9, r5\n\tmov r10, r6\n\tmov r11, r7\n\t",
                   "ldrd r0, r1, [lr]\n\t", "add r0, r3\n\tadd r1, r3\n\t",
                   MEGCC_QGEMM_X0 MEGCC_QGEMM_X1 MEGCC_QGEMM_BOTH("1", "r4", "r8")
                       MEGCC_QGEMM_BOTH("1", "r5", "r9") MEGCC_QGEMM_BOTH("1", "r6", "r10")
                           MEGCC_QGEMM_BOTH("5", "r7", "r11"));
}

// One row by the eight columns of a panel: 17 instructions for eight products.
MEGCC_NAKED static void megcc_qgemm_one(megcc_qgemm_tile_t *v MEGCC_UNUSED) {
  MEGCC_QGEMM_LOOP("ldm r3, {r4-r11}\n\t", "ldr r0, [lr]\n\t", "add r0, r3\n\t",
                   MEGCC_QGEMM_X0 MEGCC_QGEMM_NEXT("r4") MEGCC_QGEMM_NEXT("r5")
                       MEGCC_QGEMM_NEXT("r6") MEGCC_QGEMM_NEXT("r7") MEGCC_QGEMM_NEXT("r8")
                           MEGCC_QGEMM_NEXT("r9") MEGCC_QGEMM_NEXT("r10") MEGCC_QGEMM_NEXT("r11"));
}

#else

// Two rows by four columns, two at a time: as many sums as eight registers have room for.
MEGCC_HOT static void megcc_qgemm_two(megcc_qgemm_tile_t *v) {
  for (int32_t l = 0; l < MEGCC_QGEMM_FOUR; l += 2) {
    uint32_t s00 = (uint32_t)v->bias[l], s01 = (uint32_t)v->bias[l + 1], s10 = s00, s11 = s01;
    const int8_t *w = v->w + l;
    const uint8_t *const *at = v->at;
    for (size_t s = 0; s < v->segments; ++s, at += v->stride / sizeof *at) {
      const MEGCC_CTYPE(X) *x0 = (const MEGCC_CTYPE(X) *)(at[0] + v->skip);
      const MEGCC_CTYPE(X) *x1 = (const MEGCC_CTYPE(X) *)(at[1] + v->skip);
      MEGCC_UNROLL(4)
      for (const MEGCC_CTYPE(X) *end = x0 + v->groups; x0 < end; w += MEGCC_QGEMM_PANEL) {
        const int32_t v0 = *x0++, v1 = *x1++, w0 = w[0], w1 = w[1];
        s00 += (uint32_t)(v0 * w0);
        s01 += (uint32_t)(v0 * w1);
        s10 += (uint32_t)(v1 * w0);
        s11 += (uint32_t)(v1 * w1);
      }
    }
    v->sums[l] = s00, v->sums[l + 1] = s01;
    v->sums[MEGCC_QGEMM_FOUR + l] = s10, v->sums[MEGCC_QGEMM_FOUR + l + 1] = s11;
  }
}

// One row by the eight columns of a panel, four at a time.
MEGCC_HOT static void megcc_qgemm_one(megcc_qgemm_tile_t *v) {
  for (int32_t l = 0; l < MEGCC_QGEMM_PANEL; l += 4) {
    uint32_t s0 = (uint32_t)v->bias[l], s1 = (uint32_t)v->bias[l + 1];
    uint32_t s2 = (uint32_t)v->bias[l + 2], s3 = (uint32_t)v->bias[l + 3];
    const int8_t *w = v->w + l;
    const uint8_t *const *at = v->at;
    for (size_t s = 0; s < v->segments; ++s, at += v->stride / sizeof *at) {
      const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)(at[0] + v->skip);
      MEGCC_UNROLL(4)
      for (const MEGCC_CTYPE(X) *end = x + v->groups; x < end; w += MEGCC_QGEMM_PANEL) {
        const int32_t n = *x++;
        s0 += (uint32_t)(n * w[0]);
        s1 += (uint32_t)(n * w[1]);
        s2 += (uint32_t)(n * w[2]);
        s3 += (uint32_t)(n * w[3]);
      }
    }
    v->sums[l] = s0, v->sums[l + 1] = s1, v->sums[l + 2] = s2, v->sums[l + 3] = s3;
  }
}

#endif

// The tile of the rows from `row` on and the weights `w`.
MEGCC_INLINE megcc_qgemm_tile_t megcc_qgemm_tile(const megcc_qgemm_t *g, int32_t row,
                                                 const int8_t *w, const int32_t *bias) {
  megcc_qgemm_tile_t v;
  v.at = g->a + row;
  v.stride = g->a_stride * sizeof *v.at;
  v.skip = g->a_skip, v.groups = g->groups, v.segments = g->segments;
  v.w = w;
  v.bias = bias;
  return v;
}

#if TERMS
#define MEGCC_QGEMM_SUM(g, v, at, row) (int32_t)((v).sums[at] + (uint32_t)(g)->terms[row])
#else
#define MEGCC_QGEMM_SUM(g, v, at, row) (int32_t)(v).sums[at]
#endif

// Pairs of the rows, and at most four columns from c on, whose weights begin at `w`.
MEGCC_HOT static void megcc_qgemm_pairs(const megcc_qgemm_t *g, const int8_t *w, int32_t c,
                                        int32_t cols, int32_t rows) {
  const megcc_rescale rescale = g->rescale;
  const size_t ld = g->ld, products = TERMS ? SIZE_MAX : g->segments * g->groups;
  const int32_t start = megcc_channel_start(&rescale);
  MEGCC_CTYPE(Y) *dst = g->dst + c;
  megcc_channel_t how[MEGCC_QGEMM_FOUR];
  int32_t bias[MEGCC_QGEMM_FOUR];
  MEGCC_UNROLL(1)
  for (int32_t l = 0; l < MEGCC_QGEMM_FOUR; ++l) {
    bias[l] = l < cols ? g->bias[c + l] : 0;
    if (l < cols) how[l] = megcc_channel(&rescale, c + l, bias[l], products);
  }
  megcc_qgemm_tile_t v = megcc_qgemm_tile(g, 0, w, bias);
  for (int32_t r = 0; r + 2 <= rows; r += 2, v.at += 2, dst += 2 * ld) {
    megcc_qgemm_two(&v);
    for (int32_t l = 0; l < cols; ++l) {
      const int32_t s0 = MEGCC_QGEMM_SUM(g, v, l, r);
      const int32_t s1 = MEGCC_QGEMM_SUM(g, v, MEGCC_QGEMM_FOUR + l, r + 1);
      dst[l] = megcc_channel_rescaled(&how[l], &rescale, start, s0, c + l);
      dst[ld + (size_t)l] = megcc_channel_rescaled(&how[l], &rescale, start, s1, c + l);
    }
  }
}

// One row, and at most eight columns from c on, the panel at `w`.
MEGCC_HOT static void megcc_qgemm_single(const megcc_qgemm_t *g, const int8_t *w, int32_t c,
                                         int32_t cols, int32_t row) {
  MEGCC_CTYPE(Y) *dst = g->dst + (size_t)row * g->ld + c;
  int32_t bias[MEGCC_QGEMM_PANEL];
  for (int32_t l = 0; l < MEGCC_QGEMM_PANEL; ++l) bias[l] = l < cols ? g->bias[c + l] : 0;
  megcc_qgemm_tile_t v = megcc_qgemm_tile(g, row, w, bias);
  megcc_qgemm_one(&v);
  for (int32_t l = 0; l < cols; ++l) {
    dst[l] = (MEGCC_CTYPE(Y))megcc_channel_exact(&g->rescale, MEGCC_QGEMM_SUM(g, v, l, row), c + l);
  }
}

// The block of `rows` rows and columns [c0, c1); c0 is a multiple of MEGCC_QGEMM_UNIT.
MEGCC_INLINE void megcc_qgemm_block(const megcc_qgemm_t *g, int32_t rows, int32_t c0, int32_t c1) {
  for (int32_t c = c0; c < c1; c += MEGCC_QGEMM_PANEL) {
    const int8_t *w = g->b + (size_t)(c / MEGCC_QGEMM_PANEL) * g->panel;
    const int32_t cols = c1 - c < MEGCC_QGEMM_PANEL ? c1 - c : MEGCC_QGEMM_PANEL;
    for (int32_t l = 0; rows > 1 && l < cols; l += MEGCC_QGEMM_FOUR) {
      megcc_qgemm_pairs(g, w + l, c + l, cols - l < MEGCC_QGEMM_FOUR ? cols - l : MEGCC_QGEMM_FOUR,
                        rows);
    }
    if (rows % 2 != 0) megcc_qgemm_single(g, w, c, cols, rows - 1);
  }
}

MEGCC_INLINE void megcc_qgemm_prepare(const megcc_qgemm_t *g) { (void)g; }

#endif  // MEGCC_QGEMM_FEW_H
