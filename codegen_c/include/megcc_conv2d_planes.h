// A convolution whose input is held as planes, one for each channel, or as lines, those of all
// channels for each row: the pixels of a row are vectors, and nothing is transposed.
//
// A tile is PIXELS outputs of a row by NR channels; its sums stay in registers. For each plane and
// row of the kernel, what the tile's windows cover (SPAN pixels) is read once; tap j of output p is
// pixel p * SW + j of it. NEON multiplies by a lane of these vectors, Helium by a core register;
// other machines broadcast a pixel. Where the windows reach over a border, they are read from a
// patch: a copy of what they cover, with the value of `pad` where there is no image.
//
// Workspace: the offsets of a tile's rows in the image and in a patch (8 bytes each, whatever the
// machine), and a patch.
//
// The including kernel defines NR, KW, SW and ACT.
#ifndef MEGCC_CONV2D_PLANES_H
#define MEGCC_CONV2D_PLANES_H

#define MEGCC_SIMD_MAX NR
#include "megcc_epilogue.h"
#include "op/conv2d_planes.h"

#ifndef KW
#define KW 3
#endif
#ifndef SW
#define SW 2
#endif

#if defined(__aarch64__) && MEGCC_VL == 4
#define MEGCC_PLANES_PIXELS 8
#elif MEGCC_VL == 16
#define MEGCC_PLANES_PIXELS 8
#elif MEGCC_VL == 8
#define MEGCC_PLANES_PIXELS 6
#elif defined(MEGCC_SIMD_MVE_H)
#define MEGCC_PLANES_PIXELS 3
#else
#define MEGCC_PLANES_PIXELS 4
#endif
#define MEGCC_PLANES_MOST 8    // pixels of a tile at most, on any machine
#define MEGCC_PLANES_WIDEST 7  // the widest kernel
#define MEGCC_PLANES_OFFSET 8  // bytes of an offset in a workspace
#define MEGCC_PLANES_SPAN ((MEGCC_PLANES_PIXELS - 1) * SW + KW)
#define MEGCC_PLANES_VECTORS (NR / MEGCC_VL)

// For every pixel of a tile, and for every vector of its channels. Sums are named by constants:
// a loop would keep them in memory.
#define MEGCC_PLANES_FOUR(M, p, j) M(p, j) M((p) + 1, j) M((p) + 2, j) M((p) + 3, j)
#if MEGCC_PLANES_PIXELS == 8
#define MEGCC_PLANES_EACH_PIXEL(M, j) MEGCC_PLANES_FOUR(M, 0, j) MEGCC_PLANES_FOUR(M, 4, j)
#elif MEGCC_PLANES_PIXELS == 6
#define MEGCC_PLANES_EACH_PIXEL(M, j) MEGCC_PLANES_FOUR(M, 0, j) M(4, j) M(5, j)
#elif MEGCC_PLANES_PIXELS == 3
#define MEGCC_PLANES_EACH_PIXEL(M, j) M(0, j) M(1, j) M(2, j)
#else
#define MEGCC_PLANES_EACH_PIXEL(M, j) MEGCC_PLANES_FOUR(M, 0, j)
#endif
#if MEGCC_PLANES_VECTORS == 1
#define MEGCC_PLANES_EACH_VECTOR(M, p, j) M(p, j, 0)
#elif MEGCC_PLANES_VECTORS == 2
#define MEGCC_PLANES_EACH_VECTOR(M, p, j) M(p, j, 0) M(p, j, 1)
#else
#define MEGCC_PLANES_EACH_VECTOR(M, p, j) \
  for (int v = 0; v < MEGCC_PLANES_VECTORS; ++v) M(p, j, v)
#endif

#if defined(__ARM_NEON) && MEGCC_VL == 4 && !defined(MEGCC_SIMD_PORTABLE)
// Pixel e of the span is a lane of the e / 4th vector; the last vector ends with the span, so that
// nothing past it is read.
#define MEGCC_PLANES_LOADS ((MEGCC_PLANES_SPAN + 3) / 4)
#define MEGCC_PLANES_WHOLE (MEGCC_PLANES_SPAN / 4)
#define MEGCC_PLANES_LOAD(v)                                                               \
  if ((v) < MEGCC_PLANES_LOADS) {                                                          \
    x[(v) % MEGCC_PLANES_LOADS] =                                                          \
        megcc_vf_load(src + ((v) < MEGCC_PLANES_WHOLE ? 4 * (v) : MEGCC_PLANES_SPAN - 4)); \
  }
#define MEGCC_PLANES_READ         \
  megcc_vf x[MEGCC_PLANES_LOADS]; \
  MEGCC_PLANES_LOAD(0)            \
  MEGCC_PLANES_LOAD(1)            \
  MEGCC_PLANES_LOAD(2)            \
  MEGCC_PLANES_LOAD(3)            \
  MEGCC_PLANES_LOAD(4)            \
  MEGCC_PLANES_LOAD(5)            \
  MEGCC_PLANES_LOAD(6) MEGCC_PLANES_LOAD(7) MEGCC_PLANES_LOAD(8)
#define MEGCC_PLANES_X(e) x[(e) / 4 < MEGCC_PLANES_WHOLE ? (e) / 4 : MEGCC_PLANES_LOADS - 1]
#define MEGCC_PLANES_LANE(e) (((e) / 4 < MEGCC_PLANES_WHOLE ? (e) : (e)-MEGCC_PLANES_SPAN + 4) & 3)
#if defined(__aarch64__)
#define MEGCC_PLANES_SUM(sum, e, w) vfmaq_laneq_f32(sum, w, MEGCC_PLANES_X(e), MEGCC_PLANES_LANE(e))
#else
#define MEGCC_PLANES_SUM(sum, e, w)                                           \
  vmlaq_lane_f32(sum, w,                                                      \
                 MEGCC_PLANES_LANE(e) < 2 ? vget_low_f32(MEGCC_PLANES_X(e))   \
                                          : vget_high_f32(MEGCC_PLANES_X(e)), \
                 MEGCC_PLANES_LANE(e) & 1)
#endif
#define MEGCC_PLANES_PIXEL(p, j)
#elif defined(MEGCC_SIMD_MVE_H)
#define MEGCC_PLANES_READ
#define MEGCC_PLANES_PIXEL(p, j) const float x = src[(p)*SW + (j)];
#define MEGCC_PLANES_SUM(sum, e, w) vfmaq_n_f32(sum, w, x)
#else
#define MEGCC_PLANES_READ
#define MEGCC_PLANES_PIXEL(p, j) const megcc_vf x = megcc_vf_dup(megcc_elem_f32(src[(p)*SW + (j)]));
#define MEGCC_PLANES_SUM(sum, e, w) megcc_vf_fma(sum, x, w)
#endif

#define MEGCC_PLANES_BIAS(p, j, v) sum[p][v] = start[v];
#define MEGCC_PLANES_BEGIN(p, j) MEGCC_PLANES_EACH_VECTOR(MEGCC_PLANES_BIAS, p, j)
#define MEGCC_PLANES_FMA(p, j, v) sum[p][v] = MEGCC_PLANES_SUM(sum[p][v], (p)*SW + (j), tap[v]);
#define MEGCC_PLANES_STEP(p, j)                      \
  {                                                  \
    MEGCC_PLANES_PIXEL(p, j)                         \
    MEGCC_PLANES_EACH_VECTOR(MEGCC_PLANES_FMA, p, j) \
  }
#define MEGCC_PLANES_WEIGHT(p, j, v) tap[v] = megcc_vf_load(w + (j)*NR + (v)*MEGCC_VL);
#define MEGCC_PLANES_TAP(j)                             \
  if ((j) < KW) {                                       \
    megcc_vf tap[MEGCC_PLANES_VECTORS];                 \
    MEGCC_PLANES_EACH_VECTOR(MEGCC_PLANES_WEIGHT, 0, j) \
    MEGCC_PLANES_EACH_PIXEL(MEGCC_PLANES_STEP, j)       \
  }
#define MEGCC_PLANES_FINISH(p, j, v)           \
  {                                            \
    megcc_vf out = sum[p][v];                  \
    MEGCC_EPILOGUE_VF(out, out, act_a, act_b); \
    megcc_vf_store(y + (v)*MEGCC_VL, out);     \
  }
#define MEGCC_PLANES_STORE(p, j)                      \
  MEGCC_PLANES_EACH_VECTOR(MEGCC_PLANES_FINISH, p, j) \
  y += pixel;

typedef struct {
  const ptrdiff_t *rows;  // for each plane and row of the kernel: bytes from a window's begin
  int32_t count;
  float act_a, act_b;
} megcc_planes_t;

// Tiles side by side, whose windows begin at `from`; their pixels are `pixel` elements apart.
MEGCC_HOT static void megcc_planes_tiles(const megcc_planes_t *t, const megcc_elem_t *from,
                                         const megcc_elem_t *weights, const megcc_elem_t *bias,
                                         megcc_elem_t *y, ptrdiff_t pixel, int32_t tiles) {
  const megcc_vf act_a = megcc_vf_dup(t->act_a), act_b = megcc_vf_dup(t->act_b);
  const ptrdiff_t *const end = t->rows + t->count;
  (void)act_a, (void)act_b;
  MEGCC_ROLLED
  for (; tiles > 0; --tiles, from += MEGCC_PLANES_PIXELS * SW) {
    const megcc_elem_t *w = weights;
    const ptrdiff_t *row = t->rows;
    megcc_vf sum[MEGCC_PLANES_PIXELS][MEGCC_PLANES_VECTORS], start[MEGCC_PLANES_VECTORS];
    for (int v = 0; v < MEGCC_PLANES_VECTORS; ++v) start[v] = megcc_vf_load(bias + v * MEGCC_VL);
    MEGCC_PLANES_EACH_PIXEL(MEGCC_PLANES_BEGIN, 0)
    do {  // there is one
      const megcc_elem_t *src = (const megcc_elem_t *)(const void *)((const char *)from + *row++);
      MEGCC_PLANES_READ
      MEGCC_PLANES_TAP(0)
      MEGCC_PLANES_TAP(1)
      MEGCC_PLANES_TAP(2)
      MEGCC_PLANES_TAP(3)
      MEGCC_PLANES_TAP(4)
      MEGCC_PLANES_TAP(5)
      MEGCC_PLANES_TAP(6)
      w += KW * NR;
    } while (row != end);
    MEGCC_PLANES_EACH_PIXEL(MEGCC_PLANES_STORE, 0)
  }
}

// Elements from one plane to the next, and from one row to the next.
static ptrdiff_t megcc_planes_plane(const int32_t *attr) {
  return attr[CONV2D_PLANES_W] * (attr[CONV2D_PLANES_LINES] ? 1 : (ptrdiff_t)attr[CONV2D_PLANES_H]);
}

static ptrdiff_t megcc_planes_line(const int32_t *attr) {
  return attr[CONV2D_PLANES_W] *
         (attr[CONV2D_PLANES_LINES] ? (ptrdiff_t)attr[CONV2D_PLANES_IC] : 1);
}

MEGCC_HOT static void megcc_planes_copy(const megcc_elem_t *src, megcc_elem_t *dst, int32_t n) {
  int32_t i = 0;
  for (; n - i >= MEGCC_VL; i += MEGCC_VL) megcc_vf_store(dst + i, megcc_vf_load(src + i));
  for (; i < n; ++i) dst[i] = src[i];
}

// Copies the pixels that windows cover from row `top` and column `left` of an image on.
static void megcc_planes_patch(const int32_t *attr, const megcc_elem_t *x, const megcc_elem_t *pad,
                               int32_t top, int32_t left, megcc_elem_t *patch) {
  const int32_t h = attr[CONV2D_PLANES_H], width = attr[CONV2D_PLANES_W];
  const int32_t room = width - left < MEGCC_PLANES_SPAN ? width - left : MEGCC_PLANES_SPAN;
  const ptrdiff_t plane = megcc_planes_plane(attr), line = megcc_planes_line(attr);
  for (int32_t c = 0; c < attr[CONV2D_PLANES_IC]; ++c, x += plane) {
    for (int32_t i = 0, y = top; i < attr[CONV2D_PLANES_KH]; ++i, y += attr[CONV2D_PLANES_DH]) {
      const int inside = y >= 0 && y < h;
      int32_t k = 0;
      for (; k < MEGCC_PLANES_SPAN && (!inside || k < -left); ++k) patch[k] = pad[c];
      if (k < room) {
        megcc_planes_copy(x + y * line + left + k, patch + k, room - k);
        k = room;
      }
      for (; k < MEGCC_PLANES_SPAN; ++k) patch[k] = pad[c];
      patch += MEGCC_PLANES_SPAN;
    }
  }
}

// The channels after the last whole panel, or fewer pixels than a tile has.
MEGCC_COLD static void megcc_planes_edge(const megcc_planes_t *t, const megcc_elem_t *from,
                                         const megcc_elem_t *w, const megcc_elem_t *bias,
                                         megcc_elem_t *y, ptrdiff_t pixel, int32_t pixels,
                                         int32_t cols) {
  megcc_elem_t start[NR] = {0}, tile[MEGCC_PLANES_PIXELS * NR];
  megcc_planes_copy(bias, start, cols);
  for (; pixels > 0; pixels -= MEGCC_PLANES_PIXELS, from += MEGCC_PLANES_PIXELS * SW) {
    megcc_planes_tiles(t, from, w, start, tile, NR, 1);
    for (int32_t p = 0; p < MEGCC_PLANES_PIXELS && p < pixels; ++p, y += pixel) {
      megcc_planes_copy(tile + p * NR, y, cols);
    }
  }
}

// All channels of `pixels` pixels: whole tiles, or part of one.
MEGCC_COLD static void megcc_planes_panels(const megcc_planes_t *t, const int32_t *attr,
                                           const megcc_elem_t *from, const megcc_elem_t *w,
                                           const megcc_elem_t *bias, megcc_elem_t *y,
                                           int32_t pixels) {
  const int32_t oc = attr[CONV2D_PLANES_OC], tiles = pixels / MEGCC_PLANES_PIXELS;
  for (int32_t c = 0; c < oc; c += NR, w += (size_t)t->count * KW * NR) {
    const int32_t cols = oc - c < NR ? oc - c : NR;
    if (tiles > 0 && cols == NR) {
      megcc_planes_tiles(t, from, w, bias + c, y + c, oc, tiles);
    } else {
      megcc_planes_edge(t, from, w, bias + c, y + c, oc, pixels, cols);
    }
  }
}

// Rows [begin, end) of all images.
MEGCC_COLD static void megcc_conv2d_planes(void *const *ptr, const int32_t *attr, void *workspace,
                                           int32_t begin, int32_t end) {
  const int32_t h = attr[CONV2D_PLANES_H], width = attr[CONV2D_PLANES_W];
  const int32_t ic = attr[CONV2D_PLANES_IC], kh = attr[CONV2D_PLANES_KH];
  const int32_t oh = attr[CONV2D_PLANES_OH], ow = attr[CONV2D_PLANES_OW];
  const int32_t oc = attr[CONV2D_PLANES_OC], dh = attr[CONV2D_PLANES_DH];
  const int32_t count = ic * kh, tiles = ow / MEGCC_PLANES_PIXELS;
  const ptrdiff_t plane = megcc_planes_plane(attr), line = megcc_planes_line(attr);
  const megcc_elem_t *x = ptr[0], *w = ptr[1], *bias = ptr[2], *pad = ptr[3];
  ptrdiff_t *in_image = workspace, *in_patch;
  megcc_elem_t *y = ptr[4], *patch;
  megcc_planes_t t;
  in_patch = (ptrdiff_t *)(void *)((char *)workspace + (size_t)count * MEGCC_PLANES_OFFSET);
  patch = (megcc_elem_t *)(void *)((char *)in_patch + (size_t)count * MEGCC_PLANES_OFFSET);
  for (int32_t k = 0; k < count; ++k) {
    const ptrdiff_t size = sizeof(megcc_elem_t);
    in_image[k] = (k / kh * plane + k % kh * dh * line) * size;
    in_patch[k] = k * MEGCC_PLANES_SPAN * size;
  }
  t.count = count;
  t.act_a = megcc_attr_f32(attr[CONV2D_PLANES_ACT_A]);
  t.act_b = megcc_attr_f32(attr[CONV2D_PLANES_ACT_B]);
  for (; begin < end; ++begin) {
    const megcc_elem_t *image = x + begin / oh * ic * ((ptrdiff_t)h * width);
    const int32_t top = begin % oh * attr[CONV2D_PLANES_SH] - attr[CONV2D_PLANES_PT];
    const int inside = top >= 0 && top + (kh - 1) * dh < h;
    megcc_elem_t *dst = y + (size_t)begin * (size_t)ow * (size_t)oc;
    for (int32_t p = 0; p < ow;) {
      const int32_t left = p * SW - attr[CONV2D_PLANES_PL], room = width - MEGCC_PLANES_SPAN - left;
      int32_t pixels = ow - p < MEGCC_PLANES_PIXELS ? ow - p : MEGCC_PLANES_PIXELS;
      if (inside && left >= 0 && room >= 0 && pixels == MEGCC_PLANES_PIXELS) {
        const int32_t more = room / (MEGCC_PLANES_PIXELS * SW), most = tiles - 1 - p / pixels;
        pixels *= 1 + (more < most ? more : most);
        t.rows = in_image;
        megcc_planes_panels(&t, attr, image + top * line + left, w, bias, dst, pixels);
      } else {
        t.rows = in_patch;
        megcc_planes_patch(attr, image, pad, top, left, patch);
        megcc_planes_panels(&t, attr, patch, w, bias, dst, pixels);
      }
      p += pixels;
      dst += (ptrdiff_t)pixels * oc;
    }
  }
}

#endif  // MEGCC_CONV2D_PLANES_H
