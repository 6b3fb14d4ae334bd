// Welford's running mean and sum of squared deviations. The reciprocal need not be exact: later deviations correct the mean's
// error. Accumulators of equally many members share it.
__device__ __forceinline__ float kn_reciprocal(float n) { return kn_rough_reciprocal(n); }
__device__ __forceinline__ double kn_reciprocal(double n) // within 2^-52
{
    double r = kn_rough_reciprocal(n);
    r = __fma_rn(r, __fma_rn(-n, r, 1), r);
    return __fma_rn(r, __fma_rn(-n, r, 1), r);
}
template <class T> struct kn_moments {
    T n, mean, m2;
    __device__ __forceinline__ void add(T x, T count, T reciprocal)
    {
        const T d = x - mean;
        n = count;
        mean += d * reciprocal;
        m2 += d * (x - mean);
    }
    __device__ __forceinline__ void add(T x) { add(x, n + 1, kn_reciprocal(n + 1)); }
    // N at once: their mean and squared deviations, merged by Chan's formula.
    template <int N> __device__ __forceinline__ void add(const kn_vec<T, N> &x)
    {
        T sum = x.at[0], squares = 0;
#pragma unroll
        for (int l = 1; l < N; ++l)
            sum += x.at[l];
        const T center = sum / N;
#pragma unroll
        for (int l = 0; l < N; ++l)
            squares += (x.at[l] - center) * (x.at[l] - center);
        const T d = center - mean, share = N * kn_reciprocal(n + N);
        m2 += squares + d * d * (n * share);
        mean += d * share;
        n += N;
    }
};
// Chan's merge; symmetric, so that two lanes that exchange their moments get the same bits.
struct kn_merge_moments {
    template <class T>
    static __device__ __forceinline__ kn_moments<T> of(const kn_moments<T> &a, const kn_moments<T> &b)
    {
        const T n = a.n + b.n, d = a.mean - b.mean, each = n == 0 ? 0 : kn_reciprocal(n);
        return kn_moments<T>{n, (kn_product(a.n, a.mean) + kn_product(b.n, b.mean)) * each,
                             a.m2 + b.m2 + d * (a.n * b.n * each) * d};
    }
};
// The same of N neighbouring columns, which have equally many members.
template <class Op, int N, class T>
__device__ __forceinline__ void kn_combine_each(kn_moments<T> (&v)[N], const kn_moments<T> (&others)[N])
{
    const T n = v[0].n + others[0].n, share = n == 0 ? 0 : others[0].n * kn_reciprocal(n), both = v[0].n * share;
#pragma unroll
    for (int l = 0; l < N; ++l) {
        const T d = others[l].mean - v[l].mean;
        v[l] = kn_moments<T>{n, v[l].mean + d * share, v[l].m2 + others[l].m2 + d * both * d};
    }
}

template <class T>
__device__ __forceinline__ kn_moments<T> kn_from_lane_xor(const kn_moments<T> &v, int mask)
{
    return kn_moments<T>{kn_from_lane_xor(v.n, mask), kn_from_lane_xor(v.mean, mask),
                         kn_from_lane_xor(v.m2, mask)};
}
// Over lanes: first the mean of all, then each lane's squared deviations from it. Merging two by two would take a reciprocal in
// every step.
template <class Op, int WIDTH, int FROM = 1, class T>
__device__ __forceinline__ kn_moments<T> kn_combine_lanes(kn_moments<T> v)
{
    const T n = kn_combine_lanes<kn_sum, WIDTH, FROM>(v.n);
    const T sum = kn_combine_lanes<kn_sum, WIDTH, FROM>(kn_product(v.n, v.mean)); // by all lanes, also without members
    const T mean = n == 0 ? 0 : sum * kn_reciprocal(n);
    const T d = v.mean - mean;
    return kn_moments<T>{n, mean, kn_combine_lanes<kn_sum, WIDTH, FROM>(v.m2 + v.n * d * d)};
}
template <class Op, class T> __device__ __forceinline__ kn_moments<T> kn_combine_few_lanes(kn_moments<T> v, int width)
{
    T n = v.n, sum = kn_product(v.n, v.mean);
#pragma unroll 1
    for (int step = width / 2; step > 0; step /= 2) {
        n += kn_from_lane_xor(n, step);
        sum += kn_from_lane_xor(sum, step);
    }
    const T mean = n == 0 ? 0 : sum * kn_reciprocal(n), d = v.mean - mean;
    return kn_moments<T>{n, mean, kn_combine_few_lanes<kn_sum>(v.m2 + v.n * d * d, width)};
}
