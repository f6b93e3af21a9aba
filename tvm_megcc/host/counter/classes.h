// What an Arm instruction is, and what it does: classes, multiply-adds, bytes moved.
#ifndef MEGCC_COUNTER_CLASSES_H
#define MEGCC_COUNTER_CLASSES_H

#include <stdint.h>

#define CLASSES(X)                                             \
  X(fma_f32, "vector f32 multiply-add")                        \
  X(fma_f16, "vector f16 multiply-add")                        \
  X(fma_f64, "vector f64 multiply-add")                        \
  X(fma_scalar, "scalar multiply-add")                         \
  X(dot_i8, "sdot, udot, usdot")                               \
  X(mmla_i8, "smmla, ummla, usmmla")                           \
  X(bf16, "bfdot, bfmmla, bfmlal")                             \
  X(mla_int, "vector integer multiply-add")                    \
  X(mul_int, "vector integer multiply")                        \
  X(simd_fp_other, "other NEON and floating point")            \
  X(sve_fma, "SVE multiply-add, dot, mmla; SME outer product") \
  X(sve_other, "other SVE and SME")                            \
  X(load_vec, "vector and floating point loads")               \
  X(store_vec, "vector and floating point stores")             \
  X(load, "integer loads")                                     \
  X(store, "integer stores")                                   \
  X(atomic, "exclusive and atomic")                            \
  X(prefetch, "prefetches")                                    \
  X(branch, "branches, calls, returns")                        \
  X(system, "svc, barriers, hints, system registers")          \
  X(int_alu, "everything else")

enum class_number {
#define X(name, text) C_##name,
  CLASSES(X)
#undef X
      CLASS_COUNT
};

struct cost {
  enum class_number c;
  unsigned mac32, mac16, mac8, mac64;  // multiply-adds by type of the factors
  unsigned load, store;                // bytes
};

// Of an AArch64 instruction, by its bits.
struct cost cost_of_a64(uint32_t word);
// Of an A32 or T32 instruction, by its disassembly.
struct cost cost_of_a32(const char *text);

#endif  // MEGCC_COUNTER_CLASSES_H
