/* PTX inside CUDA source. A host compiler cannot read it, so each asm statement of the text is put into C++
 * that calls the emulator: `asm volatile("add.s32 %0, %1, 1;" : "=r"(x) : "r"(y));` becomes
 *
 *     do { unsigned kn_emu_o0; const unsigned kn_emu_o1 = kn_emu_ptx::in<unsigned>(y);
 *          kn_emu_ptx::put(kn_emu_o0, kn_emu_ptx::add<int>(kn_emu_o1, 1)); kn_emu_ptx::out(x, kn_emu_o0); } while (0);
 *
 * on the line where the statement began; the lines after it keep their numbers. What has no row in ptx.def
 * becomes a static_assert that says so, and so is an error only where it would be compiled. */
#ifndef KN_RUNTIME_EMU_COMPILE_PTX_H
#define KN_RUNTIME_EMU_COMPILE_PTX_H

#include "base/text.h"

/* asm.c: the text without asm statements; NULL when it has none. */
const char *kn_emu_without_asm(kn_arena *a, const char *text);

/* ptx.c: appends the C++ of the PTX text. operands[i] is what %i stands for; `number` tells this statement's
 * labels from those of others. */
void kn_emu_put_ptx(kn_text *out, const char *ptx, const char *const *operands, int noperands,
                    int number);
/* Appends `static_assert(0, "...");` */
void kn_emu_put_refusal(kn_text *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
