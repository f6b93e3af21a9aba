// Classifies Arm instructions: AArch64 by opcode bits, A32 and T32 by their disassembly.
#include "classes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// ---- AArch64: by opcode bits
#define B(hi, lo) ((w >> (lo)) & ((1u << ((hi) - (lo) + 1)) - 1))
static struct cost a64_mem(uint32_t w) {
  struct cost k = {C_load, 0, 0, 0, 0, 0, 0};
  unsigned v = B(26, 26), bytes = 0, ld = B(22, 22);
  if (B(31, 31) == 0 && B(29, 25) == 6) {  // ld1..ld4/st1..st4
    unsigned q = B(30, 30) ? 16 : 8, op = B(15, 12);
    if (!B(24, 24))
      bytes = q * (op == 7    ? 1
                   : (op & 2) ? (op == 2   ? 4
                                 : op == 6 ? 3
                                           : 2)
                              : (op == 0   ? 4
                                 : op == 4 ? 3
                                           : 2));
    else {
      unsigned n = 1 + (B(21, 21) | B(13, 13) << 1), s = B(15, 14);
      unsigned sz = s == 3 ? B(11, 10) : s == 2 ? 2 + B(10, 10) : s;
      bytes = n << sz;
    }
    v = 1;
  } else if (B(29, 24) == 8) {  // exclusive, ldar/stlr, cas
    k.c = C_atomic;
    return k;
  } else if (B(29, 27) == 3 && B(25, 24) == 0) {  // ldr literal
    unsigned opc = B(31, 30);
    if (!v && opc == 3) {
      k.c = C_prefetch;
      return k;
    }
    bytes = v ? 4u << opc : opc == 1 ? 8 : 4;
    ld = 1;
  } else if (B(29, 27) == 5) {  // ldp/stp
    bytes = 2 * (v ? 4u << B(31, 30) : B(31, 31) ? 8 : 4);
  } else if (B(29, 27) == 7) {
    unsigned opc = B(23, 22), size = B(31, 30);
    if (!B(24, 24) && B(21, 21) && B(11, 10) == 0 && !v) {
      k.c = C_atomic;
      return k;
    }
    if (!v && size == 3 && opc == 2) {
      k.c = C_prefetch;
      return k;
    }
    ld = v ? opc & 1 : opc != 0;
    bytes = v && (opc & 2) ? 16 : 1u << size;
  } else {  // ldapr, mte, mops, ...
    bytes = 8;
  }
  if (ld)
    k.load = bytes, k.c = v ? C_load_vec : C_load;
  else
    k.store = bytes, k.c = v ? C_store_vec : C_store;
  return k;
}

static struct cost a64_simd(uint32_t w) {
  struct cost k = {C_simd_fp_other, 0, 0, 0, 0, 0, 0};
  unsigned q = B(30, 30), u = B(29, 29), sz = B(23, 22);
  if ((w & 0x5f000000) == 0x1f000000) {  // fmadd & co
    k.c = C_fma_scalar;
    if (sz == 1)
      k.mac64 = 1;
    else if (sz == 3)
      k.mac16 = 1;
    else
      k.mac32 = 1;
    return k;
  }
  if (B(31, 31)) return k;
  bool scalar = B(28, 28) && q;                     // AdvSIMD scalar x indexed
  unsigned fp = 0;                                  // 1 f16, 2 f32, 3 f64
  if (B(28, 24) == 14 && B(21, 21) && B(10, 10)) {  // three same
    unsigned op = B(15, 11);
    if (!u && op == 25)
      fp = 2 + (sz & 1);
    else if (!(sz & 1) && op == (u ? 25 : 29)) {
      k.c = C_fma_f16;
      k.mac16 = q ? 4 : 2;
    }  // fmlal
    else if (op == 18)
      k.c = C_mla_int;
    else if (op == 19 || op == 22)
      k.c = C_mul_int;
  } else if (B(28, 24) == 14 && B(22, 21) == 2 && B(15, 14) == 0 && B(10, 10)) {
    if (!u && B(13, 11) == 1) fp = 1;                                    // three same f16
  } else if (B(28, 24) == 14 && !B(21, 21) && B(15, 15) && B(10, 10)) {  // three same extra
    unsigned op = B(14, 11);
    if (op == 2 || (op == 3 && !u)) {
      k.c = C_dot_i8;
      k.mac8 = q ? 16 : 8;
    } else if (op == 4 || op == 5) {
      k.c = C_mmla_i8;
      k.mac8 = 32;
    } else if (u && op >= 13)
      k.c = C_bf16;
  } else if (B(28, 24) == 14 && B(21, 21) && B(11, 10) == 0) {  // three different
    unsigned op = B(15, 12), lanes = 8 >> sz;
    if (op == 8 || op == 10) {
      k.c = C_mla_int;
      if (!sz) k.mac8 = lanes;
    } else if (op == 12)
      k.c = C_mul_int;
  } else if ((B(28, 24) == 15 || scalar) && B(27, 24) == 15 && !B(10, 10)) {  // by element
    unsigned op = B(15, 12);
    if (!u && (op == 1 || op == 5))
      fp = sz == 0 ? 1 : sz;
    else if (sz == 2 && (u ? op == 8 || op == 12 : op == 0 || op == 4)) {
      k.c = C_fma_f16;
      k.mac16 = q ? 4 : 2;
    } else if (u && (op == 0 || op == 4))
      k.c = C_mla_int;
    else if (op == 2 || op == 6)
      k.c = C_mla_int;
    else if (op == 8 || op == 10 || op == 12 || op == 13)
      k.c = C_mul_int;
    else if (op == 14) {
      k.c = C_dot_i8;
      k.mac8 = q ? 16 : 8;
    } else if (op == 15 && !(sz & 1)) {
      k.c = C_dot_i8;
      k.mac8 = q ? 16 : 8;
    } else if (op == 15)
      k.c = C_bf16;
  }
  if (fp == 1) {
    k.c = C_fma_f16;
    k.mac16 = scalar ? 1 : q ? 8 : 4;
  }
  if (fp == 2) {
    k.c = C_fma_f32;
    k.mac32 = scalar ? 1 : q ? 4 : 2;
  }
  if (fp == 3) {
    k.c = C_fma_f64;
    k.mac64 = scalar ? 1 : 2;
  }
  if (fp && scalar) k.c = C_fma_scalar;
  return k;
}

struct cost cost_of_a64(uint32_t w) {
  struct cost k = {C_int_alu, 0, 0, 0, 0, 0, 0};
  unsigned g = B(28, 25);
  if (g == 2 || g == 0) {                                                  // SVE / SME
    k.c = g == 0 && (B(31, 24) & 0xde) == 0x80 ? C_sve_fma : C_sve_other;  // SME fmopa, smopa
    if (B(31, 29) >= 4 && g == 2) {  // memory or prefetch forms
      if (B(31, 29) == 7)
        k.c = C_store_vec;
      else
        k.c = C_load_vec;
    } else if (B(31, 24) == 0x65 && B(21, 21))  // fmla zzz
      k.c = C_sve_fma;
    else if (B(31, 24) == 0x64 && B(21, 21) &&
             (B(15, 11) == 0 || B(15, 10) == 0x39 || B(15, 10) == 0x20))  // indexed, fmmla, bfdot
      k.c = C_sve_fma;
    else if ((B(31, 24) == 0x44 && (B(15, 11) == 0 || (!B(21, 21) && B(15, 10) == 0x1e))) ||
             (B(31, 24) == 0x45 && !B(21, 21) && B(15, 10) == 0x26))  // dot, mmla
      k.c = C_sve_fma;
    return k;
  }
  if ((g & 5) == 4) return a64_mem(w);
  if ((g & 7) == 7) return a64_simd(w);
  if ((g & 14) == 10) k.c = B(31, 24) == 0xd4 || B(31, 24) == 0xd5 ? C_system : C_branch;
  return k;
}
#undef B

// ---- AArch32 (A32 and T32): by disassembly text
static bool starts(const char *s, const char *p) { return !strncmp(s, p, strlen(p)); }
static unsigned reglist(const char *s)  // number of registers in "{d0, d1, d2}"
{
  unsigned n = 0;
  const char *p = strchr(s, '{');
  for (; p && *p && *p != '}'; p++) n += *p == '{' || *p == ',';
  return n;
}
static unsigned vbytes(const char *s, char reg, const char *dot)  // of vldr, vld1..4, vldm, vpop
{
  const char *l = strchr(s, '{'), *lane = strchr(s, '[');
  if (s[3] == 'r') return reg == 's' ? 4 : 8;  // vldr, vstr
  bool one_lane = l && lane && dot && lane < strchr(s, '}');
  return reglist(s) * (one_lane ? atoi(dot + 1) / 8 : l && l[1] == 's' ? 4 : 8);
}
struct cost cost_of_a32(const char *s) {
  struct cost k = {C_int_alu, 0, 0, 0, 0, 0, 0};
  const char *dot = strchr(s, '.'), *op = strpbrk(s, " \t");
  while (op && (*op == ' ' || *op == '\t')) op++;
  char r = op ? *op : 0;
  bool f32 = dot && starts(dot, ".f32"), f64 = dot && starts(dot, ".f64"),
       f16 = dot && starts(dot, ".f16");
  if (*s == 'v') {
    if (starts(s, "vld") || starts(s, "vpop")) {
      k.c = C_load_vec;
      k.load = vbytes(s, r, dot);
    } else if (starts(s, "vst") || starts(s, "vpush")) {
      k.c = C_store_vec;
      k.store = vbytes(s, r, dot);
    } else if ((starts(s, "vmla") || starts(s, "vmls") || starts(s, "vfma") || starts(s, "vfms") ||
                starts(s, "vfnma") || starts(s, "vfnms") || starts(s, "vnmla") ||
                starts(s, "vnmls")) &&
               (f32 || f64 || f16)) {
      if (r == 's' || f64) {
        k.c = C_fma_scalar;
        if (f64)
          k.mac64 = 1;
        else
          k.mac32 = 1;
      } else if (f16) {
        k.c = C_fma_f16;
        k.mac16 = r == 'q' ? 8 : 4;
      } else {
        k.c = C_fma_f32;
        k.mac32 = r == 'q' ? 4 : 2;
      }
    } else if (starts(s, "vmlal") || starts(s, "vmlsl") || starts(s, "vmla") || starts(s, "vmls")) {
      k.c = C_mla_int;
      if (starts(s, "vmlal.s8") || starts(s, "vmlal.u8")) k.mac8 = 8;
    } else if (starts(s, "vsdot") || starts(s, "vudot")) {
      k.c = C_dot_i8;
      k.mac8 = r == 'q' ? 16 : 8;
    } else if ((starts(s, "vmul") && !f32 && !f64) || starts(s, "vqdmul") || starts(s, "vqrdmul"))
      k.c = C_mul_int;
    else
      k.c = C_simd_fp_other;
  } else if (starts(s, "pld") || starts(s, "pli"))
    k.c = C_prefetch;
  else if (starts(s, "ldrex") || starts(s, "strex") || starts(s, "swp"))
    k.c = C_atomic;
  else if (starts(s, "ldm") || starts(s, "pop")) {
    k.c = C_load;
    k.load = 4 * reglist(s);
  } else if (starts(s, "stm") || starts(s, "push")) {
    k.c = C_store;
    k.store = 4 * reglist(s);
  } else if (starts(s, "ldr")) {
    k.c = C_load;
    k.load = s[3] == 'd'   ? 8
             : s[3] == 'b' ? 1
             : s[3] == 'h' ? 2
             : s[3] == 's' ? (s[4] == 'b' ? 1 : 2)
                           : 4;
  } else if (starts(s, "str")) {
    k.c = C_store;
    k.store = s[3] == 'd' ? 8 : s[3] == 'b' ? 1 : s[3] == 'h' ? 2 : 4;
  } else if (starts(s, "svc") || starts(s, "nop") || starts(s, "dmb") || starts(s, "dsb") ||
             starts(s, "isb") || starts(s, "mrc") || starts(s, "mcr") || starts(s, "hint") ||
             starts(s, "yield"))
    k.c = C_system;
  else if (starts(s, "cb") || starts(s, "tbb") || starts(s, "tbh") ||
           (*s == 'b' && !starts(s, "bic") && !starts(s, "bf") && !starts(s, "bkpt")))
    k.c = C_branch;
  return k;
}
