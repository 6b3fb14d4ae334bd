// What the headers of asynchronous copies and barriers share.
#pragma once
#include <cooperative_groups.h>

namespace kn_emu_async {
template <class T> struct is_void {
    static constexpr bool value = false;
};
template <> struct is_void<void> {
    static constexpr bool value = true;
};

// Thread `rank` of `size` takes every size-th piece of 16 bytes.
KN_EMU_INLINE void copy(void *to, const void *from, size_t bytes, unsigned rank, unsigned size,
                        int line)
{
    for (size_t at = (size_t)rank * 16; at < bytes; at += (size_t)size * 16)
        kn_emu_copy_async((char *)to + at, (const char *)from + at,
                          (unsigned)(bytes - at < 16 ? bytes - at : 16), 0, 1, line);
}
KN_EMU_INLINE void wait(int op, const unsigned long long *word, kn_emu_word phase, int line)
{
    while (!kn_emu_mbarrier_call(op, (void *)word, phase, 0, line)) {
    }
}
} // namespace kn_emu_async

namespace cuda {
enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread
};
template <size_t N> struct aligned_size_t {
    size_t value;
    constexpr explicit aligned_size_t(size_t n) : value(n) {}
    constexpr operator size_t() const { return value; }
};
namespace std {
template <class T> KN_EMU_INLINE T &&move(T &v) { return (T &&) v; }
} // namespace std
} // namespace cuda
