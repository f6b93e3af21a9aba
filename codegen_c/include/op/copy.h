// op copy: the same bytes.
//
//   in    x: T [bytes // sizeof(T)]
//   out   y: T [bytes // sizeof(T)]
//
// y may be the memory of x.
#ifndef MEGCC_OP_COPY_H
#define MEGCC_OP_COPY_H
enum {
  COPY_BYTES,  // below 2^31
  COPY_ATTRS
};
#endif  // MEGCC_OP_COPY_H
