// MEGCC_INCBIN(name, bytes, file): a constant array of a file's bytes, by the assembler, where the
// compiler hands it text in GNU's syntax. Not defined where it cannot (WebAssembly, whose objects
// have no such sections), or with MEGCC_NO_INCBIN. It is in the section MEGCC_WEIGHTS, if defined.
#ifndef MEGCC_INCBIN_H
#define MEGCC_INCBIN_H

#if !defined(MEGCC_NO_INCBIN) && defined(__GNUC__) && !defined(__TINYC__) && !defined(__wasm__)

#define MEGCC_TEXT_(x) #x
#define MEGCC_TEXT(x) MEGCC_TEXT_(x)
#define MEGCC_ASM_NAME(name) MEGCC_TEXT(__USER_LABEL_PREFIX__) #name

#if defined(MEGCC_WEIGHTS)
#define MEGCC_INCBIN_SECTION(name) MEGCC_WEIGHTS
#elif defined(__ELF__)
#define MEGCC_INCBIN_SECTION(name) ".rodata." #name
#endif

// One library or program has the array for itself. A byte follows it, so that an empty one has an
// address of its own.
#if defined(__ELF__)
#define MEGCC_INCBIN_BEGIN(name, bytes) \
  ".pushsection " MEGCC_INCBIN_SECTION(name) ",\"a\",%progbits\n" \
  ".hidden " MEGCC_ASM_NAME(name) "\n"               \
  ".type " MEGCC_ASM_NAME(name) ", %object\n"        \
  ".size " MEGCC_ASM_NAME(name) ", " MEGCC_TEXT(bytes) "\n"
#define MEGCC_INCBIN_END ".popsection\n"
#elif defined(__APPLE__)
#define MEGCC_INCBIN_BEGIN(name, bytes) \
  ".section __TEXT,__const\n"           \
  ".private_extern " MEGCC_ASM_NAME(name) "\n"
#define MEGCC_INCBIN_END ".text\n"
#else
#define MEGCC_INCBIN_BEGIN(name, bytes) ".section .rdata,\"dr\"\n"
#define MEGCC_INCBIN_END ".text\n"
#endif

#define MEGCC_INCBIN(name, bytes, file) \
  __asm__(MEGCC_INCBIN_BEGIN(name, bytes) ".balign 64\n"              \
          ".globl " MEGCC_ASM_NAME(name) "\n" MEGCC_ASM_NAME(name) ":\n" \
          ".incbin \"" file "\"\n"                                    \
          ".byte 0\n" MEGCC_INCBIN_END);

#endif

#endif  // MEGCC_INCBIN_H
