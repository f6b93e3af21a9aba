// Outputs: a line about each, and raw files.
#include "runner.h"

#include <errno.h>
#include <string.h>

#if defined(_WIN32)
#include <direct.h>
#define make_directory(path) _mkdir(path)
#else
#include <sys/stat.h>
#define make_directory(path) mkdir(path, 0777)
#endif

static double value_at(const void *data, megcc_dtype_t dtype, size_t i) {
  const char *p = (const char *)data + i * megcc_dtype_bytes(dtype);
  switch ((int)dtype) {  // the others are not printed
#define VALUE(code, type)    \
  case code: {               \
    type v;                  \
    memcpy(&v, p, sizeof v); \
    return (double)v;        \
  }
    VALUE(MEGCC_F32, float)
    VALUE(MEGCC_F64, double)
    VALUE(MEGCC_BOOL, uint8_t)
    VALUE(MEGCC_I8, int8_t)
    VALUE(MEGCC_U8, uint8_t)
    VALUE(MEGCC_I16, int16_t)
    VALUE(MEGCC_U16, uint16_t)
    VALUE(MEGCC_I32, int32_t)
    VALUE(MEGCC_U32, uint32_t)
    VALUE(MEGCC_I64, int64_t)
    VALUE(MEGCC_U64, uint64_t)
#undef VALUE
    case MEGCC_BF16:
    case MEGCC_F16: {
      uint16_t half;
      uint32_t bits;
      float f;
      memcpy(&half, p, 2);
      bits = (uint32_t)half << 16;
      if (dtype == MEGCC_F16) {
        const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
        const double sign = half & 0x8000 ? -1.0 : 1.0;
        if (exponent == 0) return sign * (double)fraction / 16777216.0;
        bits = (uint32_t)(half & 0x8000) << 16 | fraction << 13 |
               (exponent == 31 ? 255u : exponent + 112) << 23;
      }
      memcpy(&f, &bits, 4);
      return (double)f;
    }
  }
  return 0;
}

void summarise(uint32_t number, const megcc_tensor_info_t *t, const void *data) {
  const size_t n = t->bytes / megcc_dtype_bytes(t->dtype);
  double least = 0, most = 0, sum = 0;
  size_t i, where = 0;
  int32_t d;
  printf("output %lu '%s' %s [", (unsigned long)number, t->name, megcc_dtype_name(t->dtype));
  for (d = 0; d < t->rank; ++d) printf("%s%ld", d ? ", " : "", (long)t->dims[d]);
  printf("]");
  for (i = 0; i < n && t->dtype < MEGCC_F8E4M3FN; ++i) {
    const double v = value_at(data, t->dtype, i);
    if (i == 0 || v < least) least = v;
    if (i == 0 || v > most) most = v, where = i;
    sum += v;
  }
  if (i > 0) {
    printf(" min %g max %g (at %lu) mean %g", least, most, (unsigned long)where, sum / (double)n);
  }
  printf("\n");
}

void write_outputs(const char *dir, const megcc_model_t *model, const megcc_context_t *context,
                   const double *times, long repeat) {
  char path[MAX_PATH];
  uint32_t i, count;
  long r;
  FILE *f;
  if (make_directory(dir) != 0 && errno != EEXIST) fail(strerror(errno), dir);
  join(path, dir, "index.txt");
  f = fopen(path, "wb");
  if (f == NULL) fail(strerror(errno), path);
  check(megcc_output_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    char file[MAX_PATH];
    megcc_tensor_info_t t;
    const void *data;
    int32_t d;
    check(megcc_output_info(context, i, &t), NULL);
    check(megcc_output_data(context, i, &data), t.name);
    fprintf(f, "%lu %s %ld", (unsigned long)i, megcc_dtype_name(t.dtype), (long)t.rank);
    for (d = 0; d < t.rank; ++d) fprintf(f, " %ld", (long)t.dims[d]);
    fprintf(f, " %s\n", t.name);
    numbered(file, dir, i);
    write_file(file, data, t.bytes);
  }
  if (fclose(f) != 0) fail(strerror(errno), path);
  join(path, dir, "times.txt");
  f = fopen(path, "wb");
  if (f == NULL) fail(strerror(errno), path);
  for (r = 0; r < repeat; ++r) fprintf(f, "%.6f\n", times[r]);
  if (fclose(f) != 0) fail(strerror(errno), path);
}
