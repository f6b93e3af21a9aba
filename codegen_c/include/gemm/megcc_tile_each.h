// Macros for the parts of a tile: M(r) for each row, M(r, j) for each vector j of a row. Loops
// would keep the vectors in memory.
#ifndef MEGCC_TILE_EACH_H
#define MEGCC_TILE_EACH_H

#define MEGCC_ROWS_1(M) M(0)
#define MEGCC_ROWS_2(M) M(0) M(1)
#define MEGCC_ROWS_3(M) MEGCC_ROWS_2(M) M(2)
#define MEGCC_ROWS_4(M) M(0) M(1) M(2) M(3)
#define MEGCC_ROWS_6(M) MEGCC_ROWS_4(M) M(4) M(5)
#define MEGCC_ROWS_8(M) MEGCC_ROWS_6(M) M(6) M(7)
#define MEGCC_ROWS_12(M) MEGCC_ROWS_8(M) M(8) M(9) M(10) M(11)
#define MEGCC_COLS_1(M, r) M(r, 0)
#define MEGCC_COLS_2(M, r) M(r, 0) M(r, 1)
#define MEGCC_COLS_4(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#define MEGCC_COLS_6(M, r) MEGCC_COLS_4(M, r) M(r, 4) M(r, 5)
#define MEGCC_COLS_8(M, r) MEGCC_COLS_6(M, r) M(r, 6) M(r, 7)
#define MEGCC_FOR_COLS_(n) MEGCC_COLS_##n
#define MEGCC_FOR_COLS(n) MEGCC_FOR_COLS_(n)
#define MEGCC_FOR_ROWS_(n) MEGCC_ROWS_##n
#define MEGCC_FOR_ROWS(n) MEGCC_FOR_ROWS_(n)
#define MEGCC_EACH_ROW MEGCC_FOR_ROWS(MEGCC_TILE_ROWS)
#define MEGCC_EACH_COL MEGCC_FOR_COLS(MEGCC_TILE_VECTORS)

#define MEGCC_CAT4_(a, b, c, d) a##b##c##d
#define MEGCC_CAT4(a, b, c, d) MEGCC_CAT4_(a, b, c, d)

#endif  // MEGCC_TILE_EACH_H
