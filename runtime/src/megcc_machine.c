// The choice of the build that this CPU can run. Only packages for machines with features have this
// file, and it asks the operating system or the CPU: a freestanding build takes nothing from it.
#include "megcc_vm.h"

#if __STDC_HOSTED__

// Two words of what the CPU can do, false where there is no way to know.
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

#include <cpuid.h>

// CPUID 1:ECX and 7:EBX without what the operating system does not keep the registers for. The
// lowest two bits of the second word are AVX512_VNNI (7:ECX) and AVX-VNNI (7.1:EAX).
static int read_cpu(uint32_t word[2]) {
  const uint32_t fma_avx_f16c = 1u << 12 | 1u << 28 | 1u << 29, avx2 = 1u << 5;
  const uint32_t avx_vnni = 1u << 1, avx512 = 1u << 0 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  unsigned a, b, c, d, kept = 0;
  word[0] = word[1] = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
  word[0] = c;
  if (c & 1u << 27) __asm__ volatile("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    word[1] = (b & ~3u) | (c >> 11 & 1u);
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) word[1] |= (a >> 4 & 1u) << 1;
  }
  if ((kept & 0x06) != 0x06) {
    word[0] &= ~fma_avx_f16c;
    word[1] &= ~(avx2 | avx_vnni);
  }
  if ((kept & 0xe6) != 0xe6) word[1] &= ~avx512;
  return 1;
}

#elif defined(__linux__)

#include <sys/auxv.h>

static int read_cpu(uint32_t word[2]) {
  word[0] = (uint32_t)getauxval(AT_HWCAP);
  word[1] = (uint32_t)getauxval(AT_HWCAP2);
  return 1;
}

#else

static int read_cpu(uint32_t word[2]) {
  word[0] = word[1] = 0;
  return 0;
}

#endif

static int is_one_of(const megcc_build_t *build, const megcc_kernels_t *kernels) {
  return kernels == kernels->machine->kernels || kernels == build->kernels;
}

// Whether an image, of which nothing is known yet, says that it was compiled for these kernels.
static int is_for(const megcc_image_t *image, const megcc_kernels_t *kernels) {
  const uint32_t *h = (const uint32_t *)image->program.data;
  return h != NULL && (uintptr_t)h % sizeof *h == 0 &&
         image->program.bytes >= sizeof *h * (MEGCC_H_FINGERPRINT + 2) &&
         h[MEGCC_H_FINGERPRINT] == kernels->fingerprint[0] &&
         h[MEGCC_H_FINGERPRINT + 1] == kernels->fingerprint[1];
}

// The first build for this CPU among those of `kernels`, and of `image` unless that is null: then
// MEGCC_OK without a build means that there is none. Where nothing is known of the CPU it is the
// last, which needs the fewest features.
static megcc_status_t find(const megcc_kernels_t *kernels, const megcc_image_t *image,
                           const megcc_build_t **found) {
  const megcc_machine_t *m = kernels->machine;
  uint32_t word[2], k;
  const int known = read_cpu(word);
  megcc_status_t status = MEGCC_OK;
  *found = NULL;
  for (k = 0; k < m->count; ++k) {
    const megcc_build_t *b = &m->build[k];
    if (!is_one_of(b, kernels) || (image != NULL && !is_for(image, b->kernels))) continue;
    status = MEGCC_ERR_MACHINE;
    if (known && ((b->needs[0] & ~word[0]) != 0 || (b->needs[1] & ~word[1]) != 0)) continue;
    *found = b;
    if (known) break;
  }
  return *found != NULL ? MEGCC_OK : status;
}

megcc_status_t megcc_machine_choose(const megcc_kernels_t **kernels, const megcc_image_t **image) {
  const megcc_image_t *own = (*kernels)->machine->image;
  const int is_own = own != NULL && (*image)->program.data == own->program.data &&
                     (*image)->program.bytes == own->program.bytes;
  const megcc_build_t *found;
  const megcc_status_t status = find(*kernels, is_own ? NULL : *image, &found);
  if (found != NULL) {  // else an image for other kernels, as megcc_model_open will say
    *kernels = found->kernels;
    if (is_own && found->image != own) *image = found->image;
  }
  return status;
}

megcc_status_t megcc_machine_name(const megcc_kernels_t *kernels, const char **name) {
  const megcc_build_t *found;
  megcc_status_t status;
  if (kernels == NULL || name == NULL) return MEGCC_ERR_NULL;
  if (kernels->abi != MEGCC_BUILD_ABI) return MEGCC_ERR_VERSION;
  if (kernels->machine == NULL) return MEGCC_ERR_NAME;
  status = find(kernels, NULL, &found);
  if (found != NULL) *name = found->name;
  return status;
}

megcc_status_t megcc_machine_kernels(const megcc_kernels_t *kernels, const char *name,
                                     const megcc_kernels_t **one) {
  uint32_t k;
  if (kernels == NULL || name == NULL || one == NULL) return MEGCC_ERR_NULL;
  if (kernels->abi != MEGCC_BUILD_ABI) return MEGCC_ERR_VERSION;
  for (k = 0; kernels->machine != NULL && k < kernels->machine->count; ++k) {
    const megcc_build_t *b = &kernels->machine->build[k];
    const char *x = b->name, *y = name;
    while (*x != 0 && *x == *y) ++x, ++y;
    if (*x == *y && is_one_of(b, kernels)) {
      *one = b->kernels;
      return MEGCC_OK;
    }
  }
  return MEGCC_ERR_NAME;
}

#endif
