// The sums of a tile of megcc_gemm.h in pieces of at most MEGCC_TILE_PIECE products.
//
// A sum of n products in f16 is off by about the square root of n times 2^-12 of its largest part,
// so it is begun anew for each piece; what the pieces give is added up in memory. Pieces are alike:
// parts of a run where runs are long, else so many runs.
#ifndef MEGCC_GEMM_PIECES_H
#define MEGCC_GEMM_PIECES_H

// How the sums are divided. Up to `panel` the fields have the places of megcc_gemm_t's, and are
// those of the next piece.
typedef struct {
  const void *unused;
  size_t a_stride, a_skip, segments, length, panel;
  size_t runs, most;  // of a piece, and elements of each of them
  uint32_t many;      // whether there is more than one
} megcc_gemm_piece_t;

// Where a piece begins, and its first sums.
typedef struct {
  const megcc_elem_t *const *a;
  const megcc_gemm_panel_t *b;
  const megcc_elem_t *start;
  size_t left, rest;  // runs still to do, and elements left of the first one
  uint32_t how;       // bit 0: not the first piece, bit 1: not the last
} megcc_gemm_begin_t;

MEGCC_INLINE megcc_gemm_piece_t megcc_gemm_pieces(const megcc_gemm_t *g) {
  const size_t size = MEGCC_TILE_PIECE;
  megcc_gemm_piece_t p;
  p.unused = NULL;
  p.a_stride = g->a_stride;
  p.a_skip = g->a_skip;
  p.panel = g->panel;
  p.runs = g->segments;
  p.most = g->length;
  p.many = g->panel > size * NR;
  if (p.most > size) {
    const size_t count = (p.most + size - 1) / size;
    p.runs = 1;
    p.most = ((p.most + count - 1) / count + 7) & ~(size_t)7;
  } else if (p.many) {
    const size_t fit = size / p.most, count = (p.runs + fit - 1) / fit;
    p.runs = (p.runs + count - 1) / count;
  }
  p.segments = p.runs;
  p.length = p.most;
  return p;
}

// The first piece of a tile.
MEGCC_INLINE megcc_gemm_begin_t megcc_gemm_first_piece(megcc_gemm_piece_t *p, const megcc_gemm_t *g,
                                                       const megcc_elem_t *const *a,
                                                       const megcc_gemm_panel_t *b,
                                                       const megcc_elem_t *bias) {
  const megcc_gemm_begin_t at = {a, b, bias, g->segments, g->length, 2 * p->many};
  if (p->many) {
    p->a_skip = g->a_skip;
    p->segments = p->runs;
    p->length = p->most;
  }
  return at;
}

// Goes on to the next one.
MEGCC_INLINE void megcc_gemm_next_piece(megcc_gemm_piece_t *p, const megcc_gemm_t *g,
                                        megcc_gemm_begin_t *at) {
  at->b += p->segments * p->length * NR;
  at->rest -= p->length;
  p->a_skip += p->length;
  if (at->rest == 0) {
    at->left -= p->segments;
    at->a += p->segments * p->a_stride;
    at->rest = g->length;
    p->a_skip = g->a_skip;
  }
  p->segments = at->left < p->runs ? at->left : p->runs;
  p->length = at->rest < p->most ? at->rest : p->most;
  at->start = megcc_gemm_zeros;
  at->how = p->segments < at->left || p->length < at->rest ? 3 : 1;
}

#endif  // MEGCC_GEMM_PIECES_H
