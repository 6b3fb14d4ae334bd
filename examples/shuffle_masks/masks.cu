/* What the mask of a shuffle means. One warp; lane t has the value 100 + t, shuffles, and writes what
 * it got. */

#ifdef MASKS_LEGACY
/* As it was written before there were masks. */
__global__ void without_mask(int *out)
{
    int t = threadIdx.x, v = 100 + t;
    out[t] = __shfl_down(v, 1);
}
#endif

/* All lanes at once. */
template <unsigned kMask> __global__ void whole(int *out)
{
    int t = threadIdx.x, v = 100 + t;
    out[t] = __shfl_down_sync(kMask, v, 1);
}

/* Each half of the warp in a branch of its own, by 1 in lanes 0-15 and by 2 in lanes 16-31. */
enum { DOWN, UP };
template <unsigned kLow, unsigned kHigh, int kWay, bool kLowFirst, int kWidth>
__global__ void halves(int *out)
{
    int t = threadIdx.x, v = 100 + t;
    if (kLowFirst && t < 16)
        v = kWay == UP ? __shfl_up_sync(kLow, v, 1, kWidth) : __shfl_down_sync(kLow, v, 1, kWidth);
    if (t >= 16)
        v = kWay == UP ? __shfl_up_sync(kHigh, v, 2, kWidth) : __shfl_down_sync(kHigh, v, 2, kWidth);
    if (!kLowFirst && t < 16)
        v = kWay == UP ? __shfl_up_sync(kLow, v, 1, kWidth) : __shfl_down_sync(kLow, v, 1, kWidth);
    out[t] = v;
}
