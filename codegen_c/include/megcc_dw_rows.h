// Depthwise convolution of MEGCC_DW_TALL output rows by one vector of channels, for megcc_dwconv.h.
// Included once per height (no include guard).
//
// The sums of an output column are a set, numbered by when it will be complete: set 0 is next. A
// step takes the STRIDE input columns that complete it, gives the other sets their taps and begins
// a new one, so that an input is loaded once for all that it touches. The loop has the step once
// for every rotation of the sets, and no sum moves. All indices are constants, all arrays
// registers.

#define MEGCC_DW_IN_ROWS ((MEGCC_DW_TALL - 1) * STRIDE + DW_K)
#define MEGCC_DW_I(i) ((i) < MEGCC_DW_IN_ROWS ? (i) : 0)
#define MEGCC_DW_R(r) ((r) < MEGCC_DW_TALL ? (r) : 0)
#define MEGCC_DW_EACH_ROW(M, a, b, c) \
  M(0, a, b, c)                       \
  if (MEGCC_DW_TALL > 1) {            \
    M(MEGCC_DW_R(1), a, b, c)         \
  }                                   \
  if (MEGCC_DW_TALL > 2) {            \
    M(MEGCC_DW_R(2), a, b, c)         \
  }                                   \
  if (MEGCC_DW_TALL > 3) {            \
    M(MEGCC_DW_R(3), a, b, c)         \
  }

MEGCC_HOT static void MEGCC_DW_NAME(MEGCC_DW_TALL)(const megcc_dw_t *d) {
  const ptrdiff_t out_step = d->step;
  const megcc_vf act_a = d->act_a, act_b = d->act_b;
  megcc_vf sums[MEGCC_DW_SETS][MEGCC_DW_TALL], x[MEGCC_DW_IN_ROWS];
  MEGCC_DW_TAPS
  const megcc_elem_t *p[MEGCC_DW_IN_ROWS], *res[MEGCC_DW_TALL], *w = d->w, *b = d->bias;
  ptrdiff_t step[MEGCC_DW_IN_ROWS], channels = d->channels;
  megcc_elem_t *out[MEGCC_DW_TALL];
  MEGCC_DW_EACH_IN(MEGCC_DW_OPEN_IN)
  MEGCC_DW_EACH_ROW(MEGCC_DW_OPEN_OUT, 0, 0, 0)
  (void)act_a, (void)act_b, (void)res;
  for (;;) {
    const megcc_vf bias = megcc_vf_load(b);
    (void)bias;
    const megcc_elem_t *tap = w;
    ptrdiff_t steps = d->steps, more;
    MEGCC_DW_EACH_TAP(MEGCC_DW_LOAD_TAP)
    MEGCC_DW_BEGIN_ALL
    MEGCC_DW_LEADS
    for (more = steps % MEGCC_DW_SETS, steps /= MEGCC_DW_SETS; steps > 0; --steps) {
      MEGCC_DW_STEPS
    }
    for (; more > 0; --more) {
      MEGCC_DW_STEP
      MEGCC_DW_ROTATE
    }
    MEGCC_DW_ENDS
    channels -= MEGCC_VL;
    if (channels <= 0) return;
    more = channels < MEGCC_VL ? channels : MEGCC_VL;
    w += more;
    b += more;
    MEGCC_DW_EACH_IN(MEGCC_DW_NEXT_IN)
    MEGCC_DW_EACH_ROW(MEGCC_DW_NEXT_OUT, 0, 0, 0)
  }
}

#undef MEGCC_DW_TALL
