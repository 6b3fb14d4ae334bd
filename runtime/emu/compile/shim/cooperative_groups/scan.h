// Sums, or what else an operation makes, of the lanes up to each one of a tile or any group.
#pragma once
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

template <class G, class T, class F>
__forceinline__ T inclusive_scan(const G &group, T v, F f, KN_EMU_LINE)
{
    for (unsigned step = 1; step < group.size(); step *= 2) {
        const T before = group.shfl_up(v, step, kn_emu_line);
        if (group.thread_rank() >= step)
            v = f(before, v);
    }
    return v;
}
template <class G, class T> __forceinline__ T inclusive_scan(const G &group, T v)
{
    return inclusive_scan(group, v, plus<T>());
}
// The first one's is T().
template <class G, class T, class F>
__forceinline__ T exclusive_scan(const G &group, T v, F f, KN_EMU_LINE)
{
    const T before = group.shfl_up(inclusive_scan(group, v, f, kn_emu_line), 1, kn_emu_line);
    return group.thread_rank() == 0 ? T() : before;
}
template <class G, class T> __forceinline__ T exclusive_scan(const G &group, T v)
{
    return exclusive_scan(group, v, plus<T>());
}

} // namespace cooperative_groups
