// A plugin for qemu's user mode: executed Arm instructions, by class and by block.
//
// One counter for each translated block, an inline addition without a call; classes are summed up
// at the end. The inline additions are not atomic: counts are exact for one guest thread.
//
//   qemu-aarch64 -plugin plugin.so,out=FILE[,marked=1] PROGRAM ...
//
// marked=1 counts between the hints of marks.h, each region and all together. Version 1 of the
// plugin interface: qemu 4.2 to 8.1, linked dynamically. Of it, what is used is declared here, as
// no package brings a header.
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"

// ---- qemu's interface ----------------------------------------------------------------------

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct info {  // how qemu_info_t begins
  const char *target_name;
};
typedef void (*data_callback)(unsigned vcpu, void *data);
typedef void (*translated)(plugin_id id, struct qemu_plugin_tb *tb);
typedef void (*ended)(plugin_id id, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated callback);
void qemu_plugin_register_atexit_cb(plugin_id id, ended callback, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, data_callback callback,
                                            int flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *at,
                                              uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *at,
                                                uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const struct info *info, int argc, char **argv);

// ---- blocks --------------------------------------------------------------------------------

struct block {
  uint64_t executed, at_begin, counted;  // so far; when the region began; in regions that ended
  struct block *next;
  uint64_t address;
  struct cost cost;  // the sums; c is not used
  uint32_t length;
  uint16_t classes[CLASS_COUNT];
};

static struct block *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_64_bit, marked, inside;
static uint64_t regions, *region;  // how many have ended; the instructions of each
static char out_path[4096];

static void add_region(uint64_t length) {
  if ((regions & (regions + 1)) == 0) {  // room for 1, 3, 7, 15, ... is used up
    region = (uint64_t *)realloc(region, (size_t)(2 * regions + 1) * sizeof *region);
    if (region == NULL) abort();
  }
  region[regions++] = length;
}

static void enter_or_leave(bool enter) {
  struct block *b;
  uint64_t length = 0;
  pthread_mutex_lock(&lock);
  for (b = blocks; b && enter != inside; b = b->next) {
    if (!enter) b->counted += b->executed - b->at_begin;
    if (!enter) length += (b->executed - b->at_begin) * b->length;
    b->at_begin = b->executed;
  }
  if (inside && !enter) add_region(length);
  inside = enter;
  pthread_mutex_unlock(&lock);
}

static void on_mark(unsigned vcpu, void *data) {
  (void)vcpu;
  enter_or_leave(data != NULL);
}

static struct block *new_block(uint64_t address) {
  struct block *b = (struct block *)calloc(1, sizeof *b);
  if (b == NULL) abort();
  b->address = address;
  pthread_mutex_lock(&lock);
  b->next = blocks;
  blocks = b;
  pthread_mutex_unlock(&lock);
  return b;
}

static uint32_t word_of(const struct qemu_plugin_insn *insn) {
  uint32_t word = 0;
  memcpy(&word, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
  return word;
}

static void add(struct block *b, const struct qemu_plugin_insn *insn, uint32_t word) {
  struct cost k;
  if (is_64_bit) {
    k = cost_of_a64(word);
  } else {
    char *text = qemu_plugin_insn_disas(insn);
    k = cost_of_a32(text ? text : "");
    free(text);
  }
  b->length++;
  b->classes[k.c]++;
  b->cost.mac32 += k.mac32;
  b->cost.mac16 += k.mac16;
  b->cost.mac8 += k.mac8;
  b->cost.mac64 += k.mac64;
  b->cost.load += k.load;
  b->cost.store += k.store;
}

// 1 where a region begins, 2 where it ends, else 0.
static int mark_of(uint32_t word) {
  if (!marked) return 0;
  if (is_64_bit) return word == 0xd5032c9f ? 1 : word == 0xd5032cbf ? 2 : 0;
  if (word == 0xe320f064 || word == 0x8064f3af || word == 0xbf60) return 1;
  return word == 0xe320f065 || word == 0x8065f3af || word == 0xbf70 ? 2 : 0;
}

static void on_translated(plugin_id id, struct qemu_plugin_tb *tb) {
  const size_t n = qemu_plugin_tb_n_insns(tb);
  struct block *b = NULL;
  bool has_mark = false;
  size_t i;
  (void)id;
  for (i = 0; i < n; ++i) has_mark |= mark_of(word_of(qemu_plugin_tb_get_insn(tb, i))) != 0;
  for (i = 0; i < n; ++i) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    const uint32_t word = word_of(insn);
    const int mark = mark_of(word);
    if (mark) {  // not counted itself
      qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, 0, mark == 1 ? &inside : NULL);
      continue;
    }
    if (has_mark) {  // part of the block is inside, part outside: each instruction is its own
      b = new_block(qemu_plugin_insn_vaddr(insn));
      qemu_plugin_register_vcpu_insn_exec_inline(insn, 0, &b->executed, 1);
    } else if (b == NULL) {
      b = new_block(qemu_plugin_insn_vaddr(insn));
      qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &b->executed, 1);
    }
    add(b, insn, word);
  }
}

// ---- report --------------------------------------------------------------------------------

// Lines: "T name value", "C class value text", "B address length executions", "M file map",
// "R instructions" of each region in order.
static void on_end(plugin_id id, void *data) {
  static const char *const names[] = {
#define X(name, text) #name,
      CLASSES(X)
#undef X
  };
  static const char *const texts[] = {
#define X(name, text) text,
      CLASSES(X)
#undef X
  };
  uint64_t classes[CLASS_COUNT] = {0};
  uint64_t at, total = 0, mac32 = 0, mac16 = 0, mac8 = 0, mac64 = 0, load = 0, store = 0;
  char line[4352];
  struct block *b;
  FILE *f, *maps;
  int k;
  (void)id;
  (void)data;
  if (!marked) inside = true;  // from the very beginning
  enter_or_leave(false);
  f = fopen(out_path, "w");
  if (f == NULL) {
    perror(out_path);
    return;
  }
  for (b = blocks; b; b = b->next) {
    const uint64_t n = b->counted;
    if (n == 0) continue;
    total += n * b->length;
    mac32 += n * b->cost.mac32;
    mac16 += n * b->cost.mac16;
    mac8 += n * b->cost.mac8;
    mac64 += n * b->cost.mac64;
    load += n * b->cost.load;
    store += n * b->cost.store;
    for (k = 0; k < CLASS_COUNT; ++k) classes[k] += n * b->classes[k];
    fprintf(f, "B %" PRIx64 " %u %" PRIu64 "\n", b->address, b->length, n);
  }
  fprintf(f, "T regions %" PRIu64 "\nT instructions %" PRIu64 "\n", regions, total);
  fprintf(f, "T mac_f32 %" PRIu64 "\nT mac_f16 %" PRIu64 "\nT mac_f64 %" PRIu64, mac32, mac16,
          mac64);
  fprintf(f, "\nT mac_i8 %" PRIu64 "\nT load_bytes %" PRIu64 "\nT store_bytes %" PRIu64 "\n", mac8,
          load, store);
  for (k = 0; k < CLASS_COUNT; ++k) {
    fprintf(f, "C %s %" PRIu64 " %s\n", names[k], classes[k], texts[k]);
  }
  for (at = 0; at < regions; ++at) fprintf(f, "R %" PRIu64 "\n", region[at]);
  maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strchr(line, '/')) fprintf(f, "M %s", line);
  }
  if (maps) fclose(maps);
  fclose(f);
}

int qemu_plugin_install(plugin_id id, const struct info *info, int argc, char **argv) {
  int i;
  is_64_bit = !strcmp(info->target_name, "aarch64");
  for (i = 0; i < argc; ++i) {
    if (!strncmp(argv[i], "out=", 4)) {
      snprintf(out_path, sizeof out_path, "%s", argv[i] + 4);
    } else if (!strncmp(argv[i], "marked=", 7)) {
      marked = argv[i][7] == '1';
    } else {
      fprintf(stderr, "counter: unknown option %s\n", argv[i]);
      return 1;
    }
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_end, NULL);
  return 0;
}
