// Online softmax: the running maximum and the running sum of exp(x - max) (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018). No difference of infinities is taken, so that the sum is finite until result_sum().
// exp(x) of a term below the maximum; ir/interp_reduce.c has the sum's bound.
__device__ __forceinline__ float kn_exp_below_max(float x) { return kn_approximate_exp(x); }
__device__ __forceinline__ double kn_exp_below_max(double x) { return kn_exp(x); }

template <class T> struct kn_max_expsum {
    T max, sum;
    static __device__ __forceinline__ T scale(T x, T max) { return kn_exp(x == max ? (T)0 : x - max); }
    __device__ __forceinline__ void add(T x)
    {
        const T e = kn_exp_below_max(kn_fmin(-kn_abs(x - max), (T)0)); // 1 of equal infinities
        sum = x > max ? sum * e + 1 : sum + e;
        max = kn_maximum(max, x);
    }
    // N at once: the sum so far is rescaled once.
    template <int N> __device__ __forceinline__ void add(const kn_vec<T, N> &x)
    {
        T top = max, more = 0;
#pragma unroll
        for (int l = 0; l < N; ++l)
            top = kn_maximum(top, x.at[l]);
        const T base = top == -(T)KN_INF ? (T)0 : top;
#pragma unroll
        for (int l = 0; l < N; ++l)
            more += kn_exp_below_max(x.at[l] - base);
        sum = sum * kn_exp(max - base) + more;
        max = top;
    }
    // The sum as the definition has it: x - max of infinities is NaN.
    __device__ __forceinline__ T result_sum() const { return sum + (max - max); }
};
// Symmetric, so that two lanes that exchange their states get the same bits.
struct kn_merge_max_expsum {
    template <class T>
    static __device__ __forceinline__ kn_max_expsum<T> of(const kn_max_expsum<T> &a, const kn_max_expsum<T> &b)
    {
        const T less = kn_exp(-kn_abs(a.max - b.max)); // of equal infinities it is not taken
        return kn_max_expsum<T>{kn_maximum(a.max, b.max), kn_product(a.sum, a.max < b.max ? less : (T)1) +
                                                             kn_product(b.sum, b.max < a.max ? less : (T)1)};
    }
};

template <class T>
__device__ __forceinline__ kn_max_expsum<T> kn_from_lane_xor(const kn_max_expsum<T> &v, int mask)
{
    return kn_max_expsum<T>{kn_from_lane_xor(v.max, mask), kn_from_lane_xor(v.sum, mask)};
}
// Over lanes: first the maximum of all, then the sum of each lane's sum rescaled to it.
template <class Op, int WIDTH, int FROM = 1, class T>
__device__ __forceinline__ kn_max_expsum<T> kn_combine_lanes(kn_max_expsum<T> v)
{
    const T max = kn_combine_lanes<kn_max, WIDTH, FROM>(v.max);
    return kn_max_expsum<T>{
        max, kn_combine_lanes<kn_sum, WIDTH, FROM>(kn_product(v.sum, kn_max_expsum<T>::scale(v.max, max)))};
}
