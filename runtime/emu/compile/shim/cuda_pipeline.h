// Asynchronous copies of single threads, in groups.
#pragma once

KN_EMU_INLINE void __pipeline_memcpy_async(void *to, const void *from, size_t bytes,
                                           size_t zeros = 0, KN_EMU_LINE)
{
    if (bytes != 4 && bytes != 8 && bytes != 16)
        kn_emu_trap("__pipeline_memcpy_async copies 4, 8 or 16 bytes", kn_emu_line);
    kn_emu_copy_async(to, from, (unsigned)bytes, (unsigned)zeros, (unsigned)bytes, kn_emu_line);
}
KN_EMU_INLINE void __pipeline_commit() { kn_emu_copy_commit(KN_EMU_COPY_THREAD); }
KN_EMU_INLINE void __pipeline_wait_prior(unsigned newest, KN_EMU_LINE)
{
    kn_emu_copy_wait(KN_EMU_COPY_THREAD, newest, kn_emu_line);
}
