// Rows of threads.

// How far apart the rows are that all threads read in the end, of `rows` that are combined four by four.
__device__ constexpr int kn_rows_apart(int rows)
{
    const int few = rows > 16 ? 128 / rows : 8;
    int step = 1;
    while (step * few < rows)
        step *= 4;
    return step;
}

// Over the ROWS threads of the block that share threadIdx.x % WIDTH, in order, each of their N values. All of them get the
// results, or, if FIRST, at least those below WIDTH. Rows within a warp are combined by shuffles. Of the rows that remain
// every fourth combines the next three with its own, until they are few enough for all threads to read, which takes shared
// memory as many loads as there are warps times rows (docs/lab/column-sums.md). Values lie in planes of up to 16 bytes a thread.
// `scratch` has room for N values of every other thread and is free again on return.
template <class Op, int ROWS, int WIDTH, int N, bool FIRST = false, class T>
__device__ __forceinline__ void kn_combine_rows(T (&v)[N], void *scratch)
{
    typedef kn_rows<ROWS, WIDTH, N, T> rows;
    enum { LEFT = rows::LEFT, LAST = kn_rows_apart(LEFT), SIDE = rows::SIDE, PITCH = rows::PITCH };
    typedef typename rows::plane plane;
    const int row = rows::own();
    plane *const all = rows::at(scratch, 0), *const own = all + row * WIDTH;
    const bool stores = rows::stores();
    kn_store_row<Op, ROWS, WIDTH>(v, scratch);
    T next[N];
#pragma unroll 1
    for (int step = 1;; step *= 4) {
        __syncthreads();
        if (step == LAST)
            break;
        if ((row & (4 * step - 1)) == 0 && stores) {
#pragma unroll(__is_class(T) || sizeof(T) > 4 ? 1 : 3)
            for (int other = 1; other < 4; ++other) {
                kn_load_planes<PITCH>(next, own + other * step * WIDTH);
                kn_combine_each<Op>(v, next);
            }
            kn_store_planes<PITCH>(own, v);
        }
    }
    if (!FIRST || row == 0) {
        kn_load_planes<PITCH>(v, all);
#pragma unroll(__is_class(T) || sizeof(T) > 4 ? 1 : 8 / SIDE)
        for (int other = LAST; other < LEFT; other += LAST) {
            kn_load_planes<PITCH>(next, all + other * WIDTH);
            kn_combine_each<Op>(v, next);
        }
    }
    __syncthreads();
}
// The same of several, each of which points to N values: together, so that they share the barriers.
template <class Op, int ROWS, int WIDTH, int N, bool FIRST, class T, class... More>
__device__ __forceinline__ void kn_combine_rows_of(void *scratch, T *v, More *...others)
{
    enum { COUNT = 1 + sizeof...(More) };
    T *const each[COUNT] = {v, others...};
    T all[COUNT * N];
#pragma unroll
    for (int i = 0; i < COUNT * N; ++i)
        all[i] = each[i / N][i % N];
    kn_combine_rows<Op, ROWS, WIDTH, COUNT * N, FIRST>(all, scratch);
#pragma unroll
    for (int i = 0; i < COUNT * N; ++i)
        each[i / N][i % N] = all[i];
}
