// Loops and indices.

// a / n for a below 2^31, by two numbers that stand for n.
__device__ __forceinline__ unsigned kn_quotient(unsigned a, int times, int shift)
{
    return __umulhi(2 * a, (unsigned)times) >> shift;
}

// A bool that is known when the code is compiled.
template <bool B> struct kn_bool {
    __device__ __forceinline__ constexpr operator bool() const { return B; }
};

template <class T> __device__ __forceinline__ T kn_least(T a, T b) { return a < b ? a : b; }

// How many of first, first + step, ... are below `end`; and the first that is not.
template <class T> __device__ __forceinline__ T kn_steps(T first, T end, T step)
{
    return first < end ? (end - first + step - 1) / step : 0;
}
template <class T> __device__ __forceinline__ T kn_walk_end(T first, T end, T step)
{
    return first + kn_steps(first, end, step) * step;
}

// A place that the caller's data gives: out of bounds it is an error where that can be told, else the nearest. Threads
// without a group have no data.
template <class I> __device__ __forceinline__ I kn_checked_index(long long at, I size, bool live)
{
#ifdef KN_EMU_INLINE
    if (live && (at < 0 || at >= (long long)size))
        kn_emu_trap("an index is out of bounds for its axis", __LINE__);
#endif
    return at < 0 ? 0 : at < (long long)size ? (I)at : size - 1;
}
