// The macros for one step of megcc_dw_rows.h, by kernel size and stride.
#ifndef MEGCC_DW_STEPS_H
#define MEGCC_DW_STEPS_H

// A loop would keep the arrays in memory.
#define MEGCC_DW_FIVE(M, n) M((n)) M((n) + 1) M((n) + 2) M((n) + 3) M((n) + 4)
#if DW_K == 3
#define MEGCC_DW_EACH_TAP(M) MEGCC_DW_FIVE(M, 0) M(5) M(6) M(7) M(8)
#else
#define MEGCC_DW_EACH_TAP(M) \
  MEGCC_DW_FIVE(M, 0)        \
  MEGCC_DW_FIVE(M, 5) MEGCC_DW_FIVE(M, 10) MEGCC_DW_FIVE(M, 15) MEGCC_DW_FIVE(M, 20)
#endif
#define MEGCC_DW_EACH_IN(M) MEGCC_DW_FIVE(M, 0) MEGCC_DW_FIVE(M, 5) M(10)
#ifdef MEGCC_SIMD_MVE_H
// Eight registers hold sums, an input and a tap: each use of a tap loads it from the stack, by
// name, as compilers would spill sums instead.
#define MEGCC_DW_TAPS float taps[DW_K * DW_K * MEGCC_VL];
#define MEGCC_DW_LOAD_TAP(t) \
  megcc_vf_lanes(taps + (t)*MEGCC_VL, megcc_vf_load_move(&tap, d->tap_step));
#define MEGCC_DW_NOW(i, j)                  \
  megcc_vf now;                             \
  __asm__ volatile("vldrw.32 %q0, [%1, %2]" \
                   : "=w"(now)              \
                   : "r"(taps), "i"(16 * ((i)*DW_K + (j))), "m"(taps));
#else
#define MEGCC_DW_TAPS megcc_vf taps[DW_K * DW_K];
#define MEGCC_DW_LOAD_TAP(t) taps[t] = megcc_vf_load_move(&tap, d->tap_step);
#define MEGCC_DW_NOW(i, j) const megcc_vf now = taps[(i)*DW_K + (j)];
#endif
#define MEGCC_DW_FMA(r, i, set, _) \
  sums[set][r] = megcc_vf_fma(sums[set][r], x[(r)*STRIDE + (i)], now);
#define MEGCC_DW_OPEN_IN(i)                            \
  if ((i) < MEGCC_DW_IN_ROWS) {                        \
    p[MEGCC_DW_I(i)] = d->rows[MEGCC_DW_I(i)].at;      \
    step[MEGCC_DW_I(i)] = d->rows[MEGCC_DW_I(i)].step; \
  }
#define MEGCC_DW_OPEN_OUT(r, _, __, ___) \
  out[r] = d->dst + (r)*d->out_row;      \
  res[r] = RESIDUAL ? d->residual + (r)*d->out_row : NULL;
// From the end of a row back to its begin, and on to the next channels; zeros stay where they are.
#define MEGCC_DW_NEXT_IN(i)                                         \
  if ((i) < MEGCC_DW_IN_ROWS) {                                     \
    p[MEGCC_DW_I(i)] += step[MEGCC_DW_I(i)] ? more - d->in_run : 0; \
  }
#define MEGCC_DW_NEXT_OUT(r, _, __, ___) \
  out[r] += more - d->out_run;           \
  if (RESIDUAL) res[r] += more - d->out_run;

#define MEGCC_DW_TAKE(r, i, _, __) \
  x[(r)*STRIDE + (i)] = megcc_vf_load_move(&p[(r)*STRIDE + (i)], step[(r)*STRIDE + (i)]);
// Bias and limits of the activation are read at each use where the taps leave no register for them.
#if defined(MEGCC_SIMD_LOAD_HERE) && !defined(MEGCC_F16) && DW_K == 3
#define MEGCC_DW_BIAS megcc_vf_load_here(b)
#define MEGCC_DW_LIMIT(act) \
  (ACT == MEGCC_ACT_CLIP ? megcc_vf_load_here((const float *)&d->act) : (act))
#else
#define MEGCC_DW_BIAS bias
#define MEGCC_DW_LIMIT(act) (act)
#endif
#define MEGCC_DW_BEGIN_ROW(r, set, _, __) sums[set][r] = MEGCC_DW_BIAS;
#define MEGCC_DW_MOVE_ROW(r, to, from, _) sums[to][r] = sums[from][r];
#define MEGCC_DW_STORE_ROW(r, set, _, __)                                   \
  {                                                                         \
    megcc_vf y = sums[set][r];                                              \
    MEGCC_EPILOGUE_VF(y, megcc_vf_load_move(&res[r], out_step), low, high); \
    megcc_vf_store_move(&out[r], y, out_step);                              \
  }
#define MEGCC_DW_BEGIN(set) MEGCC_DW_EACH_ROW(MEGCC_DW_BEGIN_ROW, set, 0, 0)
#define MEGCC_DW_MOVE(to, from) MEGCC_DW_EACH_ROW(MEGCC_DW_MOVE_ROW, to, from, 0)
#define MEGCC_DW_STORE(set)                                                   \
  {                                                                           \
    const megcc_vf low = MEGCC_DW_LIMIT(act_a), high = MEGCC_DW_LIMIT(act_b); \
    (void)low, (void)high;                                                    \
    MEGCC_DW_EACH_ROW(MEGCC_DW_STORE_ROW, set, 0, 0)                          \
  }

// One input column: tap j of the kernel's row i goes to set tj, if there is one (NO: none).
#define MEGCC_DW_NO 8
#define MEGCC_DW_TAP(i, j, set)                                \
  if ((set) != MEGCC_DW_NO) {                                  \
    MEGCC_DW_NOW(i, j)                                         \
    MEGCC_DW_EACH_ROW(MEGCC_DW_FMA, i, (set) % MEGCC_DW_NO, 0) \
  }
// Kernel rows below the stride need an input row for every output row, the others one more.
#define MEGCC_DW_TAKES(i)                                \
  if ((i) < STRIDE) {                                    \
    MEGCC_DW_EACH_ROW(MEGCC_DW_TAKE, (i) % STRIDE, 0, 0) \
  } else {                                               \
    MEGCC_DW_TAKE(MEGCC_DW_TALL - 1, i, 0, 0)            \
  }

#if DW_K == 3
#define MEGCC_DW_KERNEL_ROW(i, t0, t1, t2) \
  MEGCC_DW_TAKES(i) MEGCC_DW_TAP(i, 0, t0) MEGCC_DW_TAP(i, 1, t1) MEGCC_DW_TAP(i, 2, t2)
#define MEGCC_DW_COLUMN(t0, t1, t2)  \
  MEGCC_DW_KERNEL_ROW(0, t0, t1, t2) \
  MEGCC_DW_KERNEL_ROW(1, t0, t1, t2) \
  MEGCC_DW_KERNEL_ROW(2, t0, t1, t2)
#else
#define MEGCC_DW_KERNEL_ROW(i, t0, t1, t2, t3, t4) \
  MEGCC_DW_TAKES(i)                                \
  MEGCC_DW_TAP(i, 0, t0)                           \
  MEGCC_DW_TAP(i, 1, t1)                           \
  MEGCC_DW_TAP(i, 2, t2)                           \
  MEGCC_DW_TAP(i, 3, t3)                           \
  MEGCC_DW_TAP(i, 4, t4)
#define MEGCC_DW_COLUMN(t0, t1, t2, t3, t4)  \
  MEGCC_DW_KERNEL_ROW(0, t0, t1, t2, t3, t4) \
  MEGCC_DW_KERNEL_ROW(1, t0, t1, t2, t3, t4) \
  MEGCC_DW_KERNEL_ROW(2, t0, t1, t2, t3, t4) \
  MEGCC_DW_KERNEL_ROW(3, t0, t1, t2, t3, t4) \
  MEGCC_DW_KERNEL_ROW(4, t0, t1, t2, t3, t4)
#endif

// Column n of those before the first step, where it lies in the image.
#define MEGCC_DW_LEAD(n, ...)                      \
  if ((n) >= d->pads && (n) < d->pads + d->cols) { \
    MEGCC_DW_COLUMN(__VA_ARGS__)                   \
  }
#define MEGCC_DW_END(n) \
  if (d->rest > (n)) {  \
    MEGCC_DW_STORE(n)   \
  }

#if DW_K == 3 && STRIDE == 1
#define MEGCC_DW_SETS 3
#define MEGCC_DW_LEAD_COLS 2
#define MEGCC_DW_BEGIN_ALL MEGCC_DW_BEGIN(0) MEGCC_DW_BEGIN(1)
#define MEGCC_DW_LEADS \
  MEGCC_DW_LEAD(0, 0, MEGCC_DW_NO, MEGCC_DW_NO) MEGCC_DW_LEAD(1, 1, 0, MEGCC_DW_NO)
#define MEGCC_DW_ONE(a, b, c) MEGCC_DW_BEGIN(c) MEGCC_DW_COLUMN(c, b, a) MEGCC_DW_STORE(a)
#define MEGCC_DW_STEP MEGCC_DW_ONE(0, 1, 2)
#define MEGCC_DW_STEPS MEGCC_DW_ONE(0, 1, 2) MEGCC_DW_ONE(1, 2, 0) MEGCC_DW_ONE(2, 0, 1)
#define MEGCC_DW_ROTATE MEGCC_DW_MOVE(0, 1) MEGCC_DW_MOVE(1, 2)
#define MEGCC_DW_ENDS MEGCC_DW_END(0) MEGCC_DW_END(1)
#elif DW_K == 3
#define MEGCC_DW_SETS 2
#define MEGCC_DW_LEAD_COLS 1
#define MEGCC_DW_BEGIN_ALL MEGCC_DW_BEGIN(0)
#define MEGCC_DW_LEADS MEGCC_DW_LEAD(0, 0, MEGCC_DW_NO, MEGCC_DW_NO)
#define MEGCC_DW_ONE(a, b)                     \
  MEGCC_DW_COLUMN(MEGCC_DW_NO, a, MEGCC_DW_NO) \
  MEGCC_DW_BEGIN(b)                            \
  MEGCC_DW_COLUMN(b, MEGCC_DW_NO, a)           \
  MEGCC_DW_STORE(a)
#define MEGCC_DW_STEP MEGCC_DW_ONE(0, 1)
#define MEGCC_DW_STEPS MEGCC_DW_ONE(0, 1) MEGCC_DW_ONE(1, 0)
#define MEGCC_DW_ROTATE MEGCC_DW_MOVE(0, 1)
#define MEGCC_DW_ENDS                            \
  if (d->odd) {                                  \
    MEGCC_DW_COLUMN(MEGCC_DW_NO, 0, MEGCC_DW_NO) \
  }                                              \
  MEGCC_DW_END(0)
#elif STRIDE == 1
#define MEGCC_DW_SETS 5
#define MEGCC_DW_LEAD_COLS 4
#define MEGCC_DW_BEGIN_ALL MEGCC_DW_BEGIN(0) MEGCC_DW_BEGIN(1) MEGCC_DW_BEGIN(2) MEGCC_DW_BEGIN(3)
#define MEGCC_DW_LEADS                                                    \
  MEGCC_DW_LEAD(0, 0, MEGCC_DW_NO, MEGCC_DW_NO, MEGCC_DW_NO, MEGCC_DW_NO) \
  MEGCC_DW_LEAD(1, 1, 0, MEGCC_DW_NO, MEGCC_DW_NO, MEGCC_DW_NO)           \
  MEGCC_DW_LEAD(2, 2, 1, 0, MEGCC_DW_NO, MEGCC_DW_NO)                     \
  MEGCC_DW_LEAD(3, 3, 2, 1, 0, MEGCC_DW_NO)
#define MEGCC_DW_ONE(a, b, c, e, f) \
  MEGCC_DW_BEGIN(f) MEGCC_DW_COLUMN(f, e, c, b, a) MEGCC_DW_STORE(a)
#define MEGCC_DW_STEP MEGCC_DW_ONE(0, 1, 2, 3, 4)
#define MEGCC_DW_STEPS        \
  MEGCC_DW_ONE(0, 1, 2, 3, 4) \
  MEGCC_DW_ONE(1, 2, 3, 4, 0) \
  MEGCC_DW_ONE(2, 3, 4, 0, 1) MEGCC_DW_ONE(3, 4, 0, 1, 2) MEGCC_DW_ONE(4, 0, 1, 2, 3)
#define MEGCC_DW_ROTATE \
  MEGCC_DW_MOVE(0, 1) MEGCC_DW_MOVE(1, 2) MEGCC_DW_MOVE(2, 3) MEGCC_DW_MOVE(3, 4)
#define MEGCC_DW_ENDS MEGCC_DW_END(0) MEGCC_DW_END(1) MEGCC_DW_END(2) MEGCC_DW_END(3)
#else
#define MEGCC_DW_SETS 3
#define MEGCC_DW_LEAD_COLS 3
#define MEGCC_DW_BEGIN_ALL MEGCC_DW_BEGIN(0) MEGCC_DW_BEGIN(1)
#define MEGCC_DW_LEADS                                                    \
  MEGCC_DW_LEAD(0, 0, MEGCC_DW_NO, MEGCC_DW_NO, MEGCC_DW_NO, MEGCC_DW_NO) \
  MEGCC_DW_LEAD(1, MEGCC_DW_NO, 0, MEGCC_DW_NO, MEGCC_DW_NO, MEGCC_DW_NO) \
  MEGCC_DW_LEAD(2, 1, MEGCC_DW_NO, 0, MEGCC_DW_NO, MEGCC_DW_NO)
#define MEGCC_DW_ODD(a, b) MEGCC_DW_COLUMN(MEGCC_DW_NO, b, MEGCC_DW_NO, a, MEGCC_DW_NO)
#define MEGCC_DW_ONE(a, b, c)                        \
  MEGCC_DW_ODD(a, b)                                 \
  MEGCC_DW_BEGIN(c)                                  \
  MEGCC_DW_COLUMN(c, MEGCC_DW_NO, b, MEGCC_DW_NO, a) \
  MEGCC_DW_STORE(a)
#define MEGCC_DW_STEP MEGCC_DW_ONE(0, 1, 2)
#define MEGCC_DW_STEPS MEGCC_DW_ONE(0, 1, 2) MEGCC_DW_ONE(1, 2, 0) MEGCC_DW_ONE(2, 0, 1)
#define MEGCC_DW_ROTATE MEGCC_DW_MOVE(0, 1) MEGCC_DW_MOVE(1, 2)
#define MEGCC_DW_ENDS  \
  if (d->odd) {        \
    MEGCC_DW_ODD(0, 1) \
  }                    \
  MEGCC_DW_END(0) MEGCC_DW_END(1)
#endif

#endif  // MEGCC_DW_STEPS_H
