// Files of raw data, and their names.
#include "runner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int exists(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

FILE *open_file(const char *path, size_t *bytes) {
  struct stat s;
  FILE *f = fopen(path, "rb");
  if (f == NULL || fstat(fileno(f), &s) != 0) fail(strerror(errno), path);
  if (!S_ISREG(s.st_mode)) fail("not a regular file", path);
  if ((uintmax_t)s.st_size > (size_t)-1) fail("too large for this machine", path);
  *bytes = (size_t)s.st_size;
  return f;
}

void read_exactly(FILE *f, void *data, size_t bytes, const char *path) {
  if (bytes > 0 && fread(data, 1, bytes, f) != bytes) fail("cannot be read to its end", path);
  fclose(f);
}

void write_file(const char *path, const void *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  if (f == NULL) fail(strerror(errno), path);
  if (bytes > 0 && fwrite(data, 1, bytes, f) != bytes) fail("cannot be written", path);
  if (fclose(f) != 0) fail(strerror(errno), path);
}

// Whether something is there that no file may take the place of: a device, a pipe.
static int is_special(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

static void part_of(char *part, const char *path) {
  const char *end = is_special(path) ? "" : ".part";
  if (snprintf(part, MAX_PATH, "%s%s", path, end) >= MAX_PATH) fail("path is too long", path);
}

FILE *create_file(const char *path) {
  char part[MAX_PATH];
  FILE *f;
  part_of(part, path);
  f = fopen(part, "wb");
  if (f == NULL) fail(strerror(errno), path);
  return f;
}

void finish_file(FILE *f, const char *path) {
  char part[MAX_PATH];
  const int failed = ferror(f);
  part_of(part, path);
  if (fclose(f) != 0 || failed) {
    if (!is_special(path)) remove(part);
    fail("cannot be written; make room", path);
  }
  if (!is_special(path) && rename(part, path) != 0) {
    const char *why = strerror(errno);
    remove(part);
    fail(why, path);
  }
}

void join(char *path, const char *dir, const char *name) {
  if (snprintf(path, MAX_PATH, "%s/%s", dir, name) >= MAX_PATH) fail("path is too long", dir);
}

void numbered(char *path, const char *dir, uint32_t number) {
  char name[32];
  snprintf(name, sizeof name, "%lu.bin", (unsigned long)number);
  join(path, dir, name);
}
