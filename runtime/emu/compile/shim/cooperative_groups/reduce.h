// Reductions over the lanes of a tile, or of any group.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

#define KN_EMU_OPERATION(name, expression)                                                         \
    template <class T = void> struct name {                                                        \
        T operator()(T a, T b) const { return expression; }                                        \
    };
KN_EMU_OPERATION(plus, a + b)
KN_EMU_OPERATION(less, b < a ? b : a)
KN_EMU_OPERATION(greater, a < b ? b : a)
KN_EMU_OPERATION(bit_and, a &b)
KN_EMU_OPERATION(bit_or, a | b)
KN_EMU_OPERATION(bit_xor, a ^ b)
#undef KN_EMU_OPERATION

template <unsigned N, class G, class T, class F>
__forceinline__ T reduce(const thread_block_tile<N, G> &tile, T v, F f, KN_EMU_LINE)
{
    for (unsigned step = N / 2; step; step /= 2)
        v = f(v, tile.shfl_xor(v, step, kn_emu_line));
    return v;
}
template <class T, class F>
__forceinline__ T reduce(const coalesced_group &group, T v, F f, KN_EMU_LINE)
{
    T all = group.shfl(v, 0, kn_emu_line);
    for (unsigned rank = 1; rank < group.size(); ++rank)
        all = f(all, group.shfl(v, rank, kn_emu_line));
    return all;
}

} // namespace cooperative_groups
