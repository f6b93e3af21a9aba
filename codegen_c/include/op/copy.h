// op copy: the same bytes.
//
//   inputs   x, BYTES bytes
//   outputs  y, BYTES bytes; may be the memory of x
//   facts    dtype, every attribute below in lower case
#ifndef MEGCC_OP_COPY_H
#define MEGCC_OP_COPY_H
enum {
  COPY_BYTES,  // below 2^31
  COPY_ATTRS
};
#endif  // MEGCC_OP_COPY_H
