// Warp operations, each with what an H200 printed for it: 64 results a step, one warp but where said.
#define F 0xffffffffu

extern "C" __global__ void warp_table(int *o)
{
    const int t = threadIdx.x, v = t + 100;
    int r, step = 0;
#define NOTE(x)                                                                                    \
    r = (int)(x);                                                                                  \
    o[step++ * 32 + t] = r;                                                                        \
    __syncwarp()
    NOTE(__shfl_down_sync(F, v, 1));
    NOTE(__shfl_down_sync(F, v, 32));
    NOTE(__shfl_down_sync(F, v, 33));
    NOTE(__shfl_up_sync(F, v, 1));
    NOTE(__shfl_up_sync(F, v, 33));
    NOTE(__shfl_down_sync(F, v, 1, 8));
    NOTE(__shfl_up_sync(F, v, 3, 8));
    NOTE(__shfl_xor_sync(F, v, 16, 8));
    NOTE(__shfl_xor_sync(F, v, 5, 8));
    NOTE(__shfl_sync(F, v, 13, 8));
    NOTE(__shfl_sync(F, v, -1));
    // from two branches, one after the other
    r = -1;
    if (t < 16)
        r = __shfl_down_sync(F, v, 1);
    if (t >= 16)
        r = __shfl_down_sync(F, v, 2);
    NOTE(r);
    // from both branches
    if (t < 16)
        r = __shfl_xor_sync(F, v, 16);
    else
        r = __shfl_xor_sync(F, v, 16);
    NOTE(r);
    if (t < 16)
        r = __shfl_down_sync(F, v, 1);
    else
        r = __shfl_down_sync(F, v, 1) + 1000;
    NOTE(r);
    NOTE(__ballot_sync(F, t & 1));
    NOTE(__match_any_sync(F, t / 3));
    NOTE(__reduce_add_sync(F, t));
    r = -1;
    if (t & 1)
        r = __activemask();
    NOTE(r);
    // half warps with masks of their own, within their widths
    if (t < 16)
        r = __shfl_down_sync(0xffffu, v, 1, 16);
    else
        r = __shfl_down_sync(0xffff0000u, v, 2, 16);
    NOTE(r);
    NOTE(__shfl_xor_sync(F, (double)v, 1) == (double)((t ^ 1) + 100));
    NOTE(__shfl_down_sync(F, (long long)v << 40, 1) >> 40);
    int all;
    NOTE(__match_all_sync(F, 7, &all));
    NOTE(all);
    NOTE(__any_sync(F, t == 5) * 2 + __all_sync(F, t == 5));
    NOTE(__reduce_max_sync(F, t - 40));
    NOTE(__reduce_min_sync(F, (unsigned)(t - 40)));
    NOTE(__reduce_xor_sync(F, (unsigned)t));
}

// Values that hardware gives for what has no meaning: relaxed mode.
extern "C" __global__ void undefined(int *o)
{
    const int t = threadIdx.x, v = t + 100;
    int r = -1;
    if (t < 16)
        r = __shfl_down_sync(0xffffu, v, 1); // reads lane 16
    if (t >= 16)
        r = __shfl_down_sync(0xffff0000u, v, 2);
    o[t] = r;
    r = -1;
    if (t < 8)
        r = __shfl_down_sync(0xffu, v, 4); // reads lane 8
    o[32 + t] = r;
}

// 40 threads.
extern "C" __global__ void partial(int *o, int shuffles)
{
    const int t = threadIdx.x, v = t + 100;
    if (shuffles)
        o[t] = __shfl_down_sync(F, v, 1); // reads lane 8 of 8
    o[40 + t] = __ballot_sync(F, 1);
    o[80 + t] = o[120 + t] = o[160 + t] = -1;
    if (t >= 35)
        return;
    o[80 + t] = __syncthreads_count(1);
    o[120 + t] = __ballot_sync(F, 1);
    if (shuffles)
        o[160 + t] = __shfl_down_sync(F, v, 1);
}

// Masks that lack callers, which are constants: what an H200 gave. Also a result for each half's ballot.
extern "C" __global__ void outsiders(int *o)
{
    const int t = threadIdx.x, v = t + 100;
    int r = -1;
    o[t] = __shfl_down_sync(0u, v, 1); // mask 0
    o[32 + t] = __shfl_down_sync(0x00ff00ffu, v, 1);
    if (t < 16)
        r = __shfl_down_sync(0u, v, 1);
    else
        r = __shfl_down_sync(0u, v, 2);
    o[64 + t] = r;
    __syncwarp();
    o[96 + t] = __shfl_down_sync(F, v, 1);
}

// Without dimensions from the launch: its own.
extern "C" __global__ void __cluster_dims__(2 * sizeof(short), 1, 1) own_cluster(int *o)
{
    unsigned rank, blocks;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    o[blockIdx.x] = (int)(rank + 10 * blocks);
}
