// Marks around what is counted, for `scripts/count_instructions --marked`: hints that no Arm core
// gives a meaning to, so that a marked program runs anywhere.
#ifndef MEGCC_COUNTER_MARKS_H
#define MEGCC_COUNTER_MARKS_H

#if defined(__aarch64__)
#define MEGCC_COUNT_BEGIN() __asm__ volatile("hint #100" ::: "memory")
#define MEGCC_COUNT_END() __asm__ volatile("hint #101" ::: "memory")
#elif defined(__thumb2__)
#define MEGCC_COUNT_BEGIN() __asm__ volatile(".inst.w 0xf3af8064" ::: "memory")
#define MEGCC_COUNT_END() __asm__ volatile(".inst.w 0xf3af8065" ::: "memory")
#elif defined(__arm__) && !defined(__thumb__)
#define MEGCC_COUNT_BEGIN() __asm__ volatile(".inst 0xe320f064" ::: "memory")
#define MEGCC_COUNT_END() __asm__ volatile(".inst 0xe320f065" ::: "memory")
#elif defined(__thumb__)  // of Armv6-M, whose hints have 16 bits
#define MEGCC_COUNT_BEGIN() __asm__ volatile(".inst.n 0xbf60" ::: "memory")
#define MEGCC_COUNT_END() __asm__ volatile(".inst.n 0xbf70" ::: "memory")
#else
#define MEGCC_COUNT_BEGIN() ((void)0)
#define MEGCC_COUNT_END() ((void)0)
#endif

// A package's runner brackets its timed runs with these: -include marks.h.
#ifndef MEGCC_BENCH_BEGIN
#define MEGCC_BENCH_BEGIN() MEGCC_COUNT_BEGIN()
#define MEGCC_BENCH_END() MEGCC_COUNT_END()
#endif

#endif  // MEGCC_COUNTER_MARKS_H
