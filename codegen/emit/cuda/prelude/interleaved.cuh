// Combines of interleaved columns (codegen/sched/interleaved.c).

// Over `interleaved` neighbours in each of `width` columns, of which the threads of a block have N each, numbered through all
// of them; columns[l] is the column of number l of a thread. Several, each of which points to N values, share the barriers.
// The values of a column are combined by a few neighbouring lanes. All threads get the results, or, if FIRST, those whose first
// number is below `width`. `scratch` has room for all values and is free again on return.
template <class Op, int N, bool FIRST, class C, class I, class T, class... More>
__device__ __forceinline__ void kn_combine_interleaved(void *scratch, C width, C interleaved, const I (&columns)[N], T *v,
                                                   More *...others)
{
    enum { COUNT = 1 + sizeof...(More) };
    T *const each[COUNT] = {v, others...}, *const all = (T *)scratch;
    const C size = width * interleaved, across = threadIdx.x * N;
    if (across < size) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int l = 0; l < N; ++l)
                all[i * size + across + l] = each[i][l];
    }
    __syncthreads();
    C lanes = 1; // of a column
    while (lanes < 32 && 2 * lanes <= interleaved && 2 * lanes * width <= blockDim.x)
        lanes *= 2;
    const C own = threadIdx.x / lanes, lane = threadIdx.x % lanes;
#pragma unroll 1
    for (C first = 0; first < width; first += blockDim.x / lanes) {
        const C column = first + own;
        for (int i = 0; i < COUNT; ++i) {
            T *const at = all + i * size + column;
            T one = each[i][0];
            if (column < width) {
                one = at[lane * width];
#pragma unroll 4
                for (C row = lane + lanes; row < interleaved; row += lanes)
                    one = Op::of(one, at[row * width]);
            }
            one = kn_combine_few_lanes<Op>(one, (int)lanes);
            if (lane == 0 && column < width)
                *at = one;
        }
    }
    __syncthreads();
    if (!FIRST || across < width) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int l = 0; l < N; ++l)
                each[i][l] = all[i * size + columns[l]];
    }
    __syncthreads();
}
