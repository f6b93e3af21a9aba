// Loads and stores of megcc_simd_types.h on a big-endian machine: exits with the number of the
// first check that fails. No C library: test_simd.py.
#include "simd/megcc_simd_types.h"

void *memcpy(void *to, const void *from, size_t n);
void *memcpy(void *to, const void *from, size_t n) {
  for (size_t k = 0; k < n; ++k) ((volatile char *)to)[k] = ((const char *)from)[k];
  return to;
}

static int8_t bytes[4] = {-1, 2, -3, 100};
static uint8_t truths[4] = {1, 0, 0, 1};
static uint16_t halves[4] = {0x3c00, 0x4000, 0xc200, 0x0001};  // 1, 2, -3 and a subnormal number

static int first_wrong(void) {
  int32_t words[4];
  int8_t narrow[4];
  uint8_t flags[4];
  uint16_t stored[4];
  float floats[4];
  megcc_vi_store(words, megcc_vu8_load((const uint8_t *)bytes));
  for (int k = 0; k < 4; ++k) {
    if (words[k] != (uint8_t)bytes[k]) return 1;
  }
  megcc_vi_store(words, megcc_vi8_load(bytes));
  for (int k = 0; k < 4; ++k) {
    if (words[k] != bytes[k]) return 2;
  }
  megcc_vi8_store(narrow, megcc_vi_load(words));
  for (int k = 0; k < 4; ++k) {
    if (narrow[k] != bytes[k]) return 3;
  }
  megcc_vm_store(flags, megcc_vm_load(truths));
  for (int k = 0; k < 4; ++k) {
    if (flags[k] != truths[k]) return 4;
  }
  megcc_vf_store(floats, megcc_vh_load(halves));
  if (floats[0] != 1.0f || floats[1] != 2.0f || floats[2] != -3.0f) return 5;
  megcc_vh_store(stored, megcc_vh_load(halves));
  for (int k = 0; k < 4; ++k) {
    if (stored[k] != halves[k]) return 6;
  }
  megcc_vf_store(floats, megcc_vb_load(halves));
  if (floats[0] != 0.0078125f || floats[1] != 2.0f || floats[2] != -32.0f) return 7;
  megcc_vb_store(stored, megcc_vb_load(halves));
  for (int k = 0; k < 4; ++k) {
    if (stored[k] != halves[k]) return 8;
  }
  return 0;
}

void _start(void);
void _start(void) {
  register long code __asm__("x0") = first_wrong();
  register long exit_number __asm__("x8") = 93;
  __asm__ volatile("svc 0" : : "r"(code), "r"(exit_number));
  for (;;) {
  }
}
