// op attention: y = softmax(SCALE * q x k + mask) x v, for each head of each batch.
//
//   in    q: T [b, h, m, d]
//   in    k: T [b if k_b else 1, h if k_h else 1, n, d]
//   in    v: T [b if v_b else 1, h if v_h else 1, n, e]
//   in    mask: T [b if mask_b else 1, h if mask_h else 1, m if mask_m else 1, n] if mask
//   out   y: T [b, h, m, e]
//   fact  mask: 0 1
//   fact  trans_k: 0 1
//
// A tensor may have its dims in any order, but for the last one of q, v, mask and y, which is the
// last: attributes give the elements from one batch, head and row to the next, 0 to broadcast.
// `trans_k`: the last dim of k is d, and its rows are those of n; else it is n, and its rows are
// those of d. The softmax is along n.
#ifndef MEGCC_OP_ATTENTION_H
#define MEGCC_OP_ATTENTION_H
enum {
  ATTENTION_B,
  ATTENTION_H,
  ATTENTION_M,
  ATTENTION_N,
  ATTENTION_D,
  ATTENTION_E,
  ATTENTION_SCALE,  // float bits
  ATTENTION_Q_B,
  ATTENTION_Q_H,
  ATTENTION_Q_ROW,
  ATTENTION_K_B,
  ATTENTION_K_H,
  ATTENTION_K_ROW,
  ATTENTION_V_B,
  ATTENTION_V_H,
  ATTENTION_V_ROW,
  ATTENTION_MASK_B,
  ATTENTION_MASK_H,
  ATTENTION_MASK_M,
  ATTENTION_Y_B,
  ATTENTION_Y_H,
  ATTENTION_Y_ROW,
  ATTENTION_ATTRS
};
#endif  // MEGCC_OP_ATTENTION_H
