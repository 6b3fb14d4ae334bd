/* Floating-point modes that a caller of the library may be in. */
#ifndef KN_TESTS_FPMODE_H
#define KN_TESTS_FPMODE_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>

/* Subnormal results become zero, and on x86-64 subnormal operands are. False where this machine has no such mode. */
static inline bool flush_to_zero(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
    return true;
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1 << 24));
    return true;
#else
    return false;
#endif
}

/* Everything but the flags, to compare. */
static inline uint64_t fp_mode(void)
{
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (uint64_t)x87 << 32 | (__builtin_ia32_stmxcsr() & ~0x3fu);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#else
    return (uint64_t)fegetround();
#endif
}

#endif
