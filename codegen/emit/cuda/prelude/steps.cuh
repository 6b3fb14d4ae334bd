// Loops and indices.

// a / n for a below 2^31, by multiplication: n is given by a multiplier and a shift (codegen/kir/params.c).
__device__ __forceinline__ unsigned kn_quotient(unsigned a, int times, int shift)
{
    return __umulhi(2 * a, (unsigned)times) >> shift;
}

// A compile-time constant, as an argument of a generic lambda.
template <bool B> struct kn_bool {
    __device__ __forceinline__ constexpr operator bool() const { return B; }
};

template <class T> __device__ __forceinline__ T kn_least(T a, T b) { return a < b ? a : b; }

// How many elements from p on are in front of the first that N elements are aligned at.
template <int N, class T> __device__ __forceinline__ unsigned kn_run_head(const T *p)
{
    return (unsigned)(0 - (unsigned)(size_t)p / (unsigned)sizeof(T)) % N;
}

// How many of first, first + step, ... are below `end`; and the first that is not.
template <class T> __device__ __forceinline__ T kn_steps(T first, T end, T step)
{
    return first < end ? (end - first + step - 1) / step : 0;
}
template <class T> __device__ __forceinline__ T kn_walk_end(T first, T end, T step)
{
    return first + kn_steps(first, end, step) * step;
}

// An index from the caller's data: out of bounds it is an error in the emulator, and clamped elsewhere. `live` is false for
// threads without a group.
template <class I> __device__ __forceinline__ I kn_checked_index(long long at, I size, bool live)
{
#ifdef KN_EMU_INLINE
    if (live && (at < 0 || at >= (long long)size))
        kn_emu_trap("an index is out of bounds for its axis", __LINE__);
#endif
    return at < 0 ? 0 : at < (long long)size ? (I)at : size - 1;
}
