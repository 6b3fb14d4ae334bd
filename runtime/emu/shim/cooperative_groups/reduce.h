// Reductions over the threads of a tile.
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

} // namespace cooperative_groups
