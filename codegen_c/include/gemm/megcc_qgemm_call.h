// The call of a product of 8-bit integers, for megcc_qconv2d_gemm.h and megcc_qmatmul_gemm.h: by
// vectors of columns where the kernel includes megcc_qgemm_c.h, megcc_qgemm_x86.h,
// megcc_qgemm_vnni.h or megcc_qgemm_armv7.h before, else by the tiles of Arm64.
#ifndef MEGCC_QGEMM_CALL_H
#define MEGCC_QGEMM_CALL_H

// 1 where a term is added to all sums of a row.
#ifndef TERMS
#define TERMS 0
#endif

// MEGCC_QGEMM_FLIP: 1 where unsigned bytes are made signed, by subtracting 128, before they are
// multiplied, 2 where signed ones are made unsigned.

#define MEGCC_QGEMM_UNIT 16  // columns of a unit of work
#ifndef MEGCC_QGEMM_BLOCK
#define MEGCC_QGEMM_BLOCK 96  // rows of a block, at most
#endif
#define MEGCC_QGEMM_ENTRY 8  // bytes of a row's address in a workspace, whatever the machine

#ifdef MEGCC_QGEMM_FEW
#include "gemm/megcc_qgemm_few.h"
#elif defined(MEGCC_QGEMM_LANES)
#include "gemm/megcc_qgemm_panels.h"
#else
#include "gemm/megcc_qgemm.h"
#endif

// The bias for a zero point that is known now (its byte): a packed one is followed by the weights'
// sums (packing.py, qgemm_bias).
MEGCC_INLINE const int32_t *megcc_qgemm_bias(const int32_t *bias, int32_t n, uint8_t zero,
                                             int32_t *to) {
  const int32_t flipped = MEGCC_QGEMM_FLIP == (MEGCC_IS_UNSIGNED(X) ? 1 : 2) ? 128 : 0;
  const int32_t point = MEGCC_IS_UNSIGNED(X) ? zero - flipped : (int8_t)zero + flipped;
  for (int32_t c = 0; c < n; ++c) {
    to[c] = (int32_t)((uint32_t)bias[c] - (uint32_t)point * (uint32_t)bias[n + c]);
  }
  return to;
}

// Rows of a block: at most MEGCC_QGEMM_BLOCK, whole tiles, all blocks equal, so that no short last
// block reads all of b again. There are as many as ceil(rows / MEGCC_QGEMM_BLOCK).
MEGCC_INLINE int32_t megcc_qgemm_block_rows(int32_t rows) {
  if (rows == 0) return MEGCC_QGEMM_BLOCK;
  const int32_t blocks = (rows + MEGCC_QGEMM_BLOCK - 1) / MEGCC_QGEMM_BLOCK;
  int32_t block = (rows + blocks - 1) / blocks;
  block = (block + MEGCC_QGEMM_ROWS - 1) / MEGCC_QGEMM_ROWS * MEGCC_QGEMM_ROWS;
  return block < MEGCC_QGEMM_BLOCK ? block : MEGCC_QGEMM_BLOCK;
}

#endif  // MEGCC_QGEMM_CALL_H
