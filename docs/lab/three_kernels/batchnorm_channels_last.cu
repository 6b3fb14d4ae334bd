/* Batchnorm of f32 (N, H, W, C): columns of an array that is larger than what the SMs hold.
 *
 *     map       N.H.W[grid, loop, thread]  C[thread, vec 4]
 *     hold      x over the grid barrier: the first IN_REGS steps in registers, then in shared memory, the rest is read
 *               again, backwards, from the L2 cache as far as it has it
 *     transfer  shared memory by bulk copies, all at once, before anything else; the rest by loads, UNROLL at a time
 *     combine   moments by threads (of UNROLL rows, merged by Chan's formula), by the block, and over the grid by a
 *               second stage: a warp a channel
 *     transpose none
 *
 * A block has a range of rows, one stretch of memory; a thread stays with its 4 channels. */
#include "bench.cuh"
#include "copies.cuh"

namespace cg = cooperative_groups;

struct problem {
    const float4 *x;
    float4 *y;
    const float *gamma, *beta;
    float *mean, *var, *partials;  /* partials: [block][mean, squares][channel] */
    int rows, channels, in_shared; /* steps in shared memory at most */
    float eps;
};

__device__ inline float4 operator+(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ inline float4 operator-(float4 a, float4 b)
{
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
__device__ inline float4 operator*(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ inline float4 operator*(float4 a, float b)
{
    return make_float4(a.x * b, a.y * b, a.z * b, a.w * b);
}

/* Of the elements that a thread has seen. */
struct moments {
    float n = 0;
    float4 mean = {}, squares = {};

    /* Merges these: their mean, then their squares about it. */
    template <int K> __device__ void add(const float4 (&x)[K])
    {
        float4 center = {}, about = {};
#pragma unroll
        for (int k = 0; k < K; k++)
            center = center + x[k];
        center = center * (1.0f / K);
#pragma unroll
        for (int k = 0; k < K; k++)
            about = about + (x[k] - center) * (x[k] - center);
        float share = __fdividef(K, n + K);
        float4 apart = center - mean;
        mean = mean + apart * share;
        squares = squares + about + apart * apart * (n * share);
        n += K;
    }
};

/* The first blocks have a row more. */
__device__ inline int rows_of(const problem &p, int block)
{
    return p.rows / gridDim.x + (block < p.rows % gridDim.x);
}
__device__ inline int64_t first_row(const problem &p, int block)
{
    return int64_t(p.rows / gridDim.x) * block + min(block, p.rows % gridDim.x);
}

__device__ inline float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* A block's moments: `exchange` has a mean and squares for each row of threads and channel. */
__device__ inline void combine_block(const problem &p, const moments &m, float *exchange, int rows)
{
    int per_row = p.channels / 4, row = threadIdx.x / per_row, column = threadIdx.x % per_row;
    int lanes = blockDim.x / per_row;
    *(float4 *)(exchange + (2 * row) * p.channels + 4 * column) = m.mean;
    *(float4 *)(exchange + (2 * row + 1) * p.channels + 4 * column) = m.squares;
    __syncthreads();
    for (int c = threadIdx.x; c < p.channels; c += blockDim.x) {
        float mean = 0, squares = 0;
        for (int r = 0; r < lanes; r++)
            mean += exchange[2 * r * p.channels + c] * ((rows - r + lanes - 1) / lanes);
        mean /= rows;
        for (int r = 0; r < lanes; r++) {
            float d = exchange[2 * r * p.channels + c] - mean;
            squares +=
                exchange[(2 * r + 1) * p.channels + c] + d * d * ((rows - r + lanes - 1) / lanes);
        }
        float *mine = p.partials + int64_t(blockIdx.x) * 2 * p.channels + c;
        mine[0] = mean;
        mine[p.channels] = squares;
    }
}

/* The grid's: a warp a channel, up to 160 blocks. */
__device__ inline void combine_grid(const problem &p)
{
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int c = blockIdx.x + gridDim.x * (threadIdx.x / 32); c < p.channels;
         c += gridDim.x * warps) {
        float means[5], sum = 0, squares = 0;
#pragma unroll
        for (int k = 0; k < 5; k++) {
            int b = lane + 32 * k;
            bool there = b < gridDim.x;
            const float *part = p.partials + int64_t(b) * 2 * p.channels + c;
            means[k] = there ? __ldcg(part) : 0;
            squares += there ? __ldcg(part + p.channels) : 0;
            sum += there ? means[k] * rows_of(p, b) : 0;
        }
        float mean = warp_sum(sum) / p.rows;
#pragma unroll
        for (int k = 0; k < 5; k++) {
            int b = lane + 32 * k;
            squares += b < gridDim.x ? (means[k] - mean) * (means[k] - mean) * rows_of(p, b) : 0;
        }
        squares = warp_sum(squares);
        if (lane == 0)
            p.mean[c] = mean, p.var[c] = squares / p.rows;
    }
}

template <int IN_REGS, int UNROLL, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) batchnorm_channels_last(problem p)
{
    extern __shared__ float4 kept[];
    __shared__ uint64_t full;
    cg::grid_group grid = cg::this_grid();
    int per_row = p.channels / 4, stride = blockDim.x; /* a multiple of per_row */
    int64_t begin = first_row(p, blockIdx.x);
    int rows = rows_of(p, blockIdx.x), n = rows * per_row;
    const float4 *x = p.x + begin * per_row;
    float4 *y = p.y + begin * per_row;
    int steps = (n - int(threadIdx.x) + stride - 1) / stride; /* of this thread */
    int in_shared = max(0, min(p.in_shared, n / stride - IN_REGS)), again = IN_REGS + in_shared;
    float *exchange = (float *)(kept + in_shared * stride);
    uint64_t policy = evict_first();

    if (threadIdx.x == 0 && in_shared) {
        barrier_init(&full);
        barrier_init_fence();
        uint32_t bytes = 16 * in_shared * stride;
        barrier_expect(&full, bytes);
        for (uint32_t at = 0; at < bytes; at += 16384)
            bulk_copy((char *)kept + at, (const char *)(x + IN_REGS * stride) + at,
                      min(bytes - at, 16384), &full);
    }
    __syncthreads();
    float4 regs[IN_REGS ? IN_REGS : 1];
#pragma unroll
    for (int k = 0; k < IN_REGS; k++)
        regs[k] = load_first(x + k * stride + threadIdx.x, policy);
    moments m;
    if constexpr (IN_REGS > 0)
        m.add(regs);
    auto add = [&](const float4 *from, int steps) {
        float4 v[UNROLL], one[1];
        int k = 0;
        for (; k + UNROLL <= steps; k += UNROLL) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                v[u] = from[(k + u) * stride + threadIdx.x];
            m.add(v);
        }
        for (; k < steps; k++) {
            one[0] = from[k * stride + threadIdx.x];
            m.add(one);
        }
    };
    add(x + again * stride, steps - again);
    if (in_shared) {
        barrier_wait(&full, 0);
        add(kept, in_shared);
    }
    combine_block(p, m, exchange, rows);
    grid.sync();
    combine_grid(p);
    grid.sync();

    int column = threadIdx.x % per_row;
    float4 mean = __ldcg((const float4 *)p.mean + column);
    float4 var = __ldcg((const float4 *)p.var + column);
    float4 scale = ((const float4 *)p.gamma)[column] *
                   make_float4(rsqrtf(var.x + p.eps), rsqrtf(var.y + p.eps), rsqrtf(var.z + p.eps),
                               rsqrtf(var.w + p.eps));
    float4 beta = ((const float4 *)p.beta)[column];
    int k = steps;
    for (; k - UNROLL >= again; k -= UNROLL) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            v[u] = __ldcs(x + (k - 1 - u) * stride + threadIdx.x);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            __stcs(y + (k - 1 - u) * stride + threadIdx.x, (v[u] - mean) * scale + beta);
    }
    while (--k >= again)
        __stcs(y + k * stride + threadIdx.x,
               (__ldcs(x + k * stride + threadIdx.x) - mean) * scale + beta);
#pragma unroll 4
    for (int k = 0; k < in_shared; k++)
        __stcs(y + (IN_REGS + k) * stride + threadIdx.x,
               (kept[k * stride + threadIdx.x] - mean) * scale + beta);
#pragma unroll
    for (int k = 0; k < IN_REGS; k++)
        __stcs(y + k * stride + threadIdx.x, (regs[k] - mean) * scale + beta);
}

/* ---- host ---- */

struct reference {
    std::vector<double> y, mean, var;
};

static reference compute(const problem &p, const std::vector<float> &x,
                         const std::vector<float> &gamma, const std::vector<float> &beta)
{
    int64_t channels = p.channels;
    reference r = {std::vector<double>(x.size()), std::vector<double>(channels),
                   std::vector<double>(channels)};
    enum { PARTS = 64 };
    auto sums = [&](auto term) {
        std::vector<double> parts(PARTS * channels), out(channels);
        parallel(PARTS, [&](int64_t first, int64_t last) {
            for (int64_t part = first; part < last; part++)
                for (int64_t i = int64_t(p.rows) * part / PARTS;
                     i < int64_t(p.rows) * (part + 1) / PARTS; i++)
                    for (int64_t c = 0; c < channels; c++)
                        parts[part * channels + c] += term(x[i * channels + c], c);
        });
        for (int64_t i = 0; i < PARTS * channels; i++)
            out[i % channels] += parts[i] / p.rows;
        return out;
    };
    r.mean = sums([](double v, int64_t) { return v; });
    r.var = sums([&](double v, int64_t c) { return (v - r.mean[c]) * (v - r.mean[c]); });
    parallel(p.rows, [&](int64_t first, int64_t last) {
        for (int64_t i = first * channels; i < last * channels; i++) {
            int64_t c = i % channels;
            r.y[i] = (x[i] - r.mean[c]) / std::sqrt(r.var[c] + p.eps) * gamma[c] + beta[c];
        }
    });
    return r;
}

template <int IN_REGS, int UNROLL, int THREADS>
static void add(std::vector<variant> &variants, problem p, bool use_shared)
{
    int per_row = p.channels / 4, threads = THREADS / per_row * per_row;
    int lanes = threads / per_row;
    if (p.rows / 132 < IN_REGS * lanes) /* every thread fills its registers */
        return;
    size_t exchange = size_t(2) * lanes * p.channels * 4, limit = (226 << 10) - exchange;
    p.in_shared = use_shared ? int(limit / 16 / threads) : 0;
    size_t shared = size_t(p.in_shared) * threads * 16 + exchange;
    auto kernel = batchnorm_channels_last<IN_REGS, UNROLL, THREADS>;
    allow_shared(kernel);
    char name[100];
    snprintf(name, sizeof name, "%d threads, unroll %d, reg %.1f MB, shared %.1f MB", threads,
             UNROLL, 132e-6 * IN_REGS * 16 * threads, 132e-6 * p.in_shared * 16 * threads);
    variants.push_back({name, [=] { launch(kernel, 132, threads, shared, 1, true, p); }});
}

static int one(int images, int height, int width, int channels, bool timed)
{
    int rows = images * height * width;
    int64_t n = int64_t(rows) * channels;
    auto x = random_values<float>(n, 7, 2);
    auto gamma = random_values<float>(channels, 8, 1), beta = random_values<float>(channels, 9, 0);
    device_array<float> on_x(x), y(n), on_gamma(gamma), on_beta(beta), mean(channels),
        var(channels), partials(132 * 2 * channels);
    problem p = {(float4 *)on_x.data,
                 (float4 *)y.data,
                 on_gamma.data,
                 on_beta.data,
                 mean.data,
                 var.data,
                 partials.data,
                 rows,
                 channels,
                 0,
                 1e-5f};
    reference want = compute(p, x, gamma, beta);
    std::vector<variant> v;
    add<0, 8, 512>(v, p, false);
    add<0, 8, 1024>(v, p, false);
    add<16, 8, 512>(v, p, false);
    add<0, 8, 512>(v, p, true);
    add<0, 4, 1024>(v, p, true);
    add<4, 4, 1024>(v, p, true);
    add<8, 8, 512>(v, p, true);
    add<12, 8, 512>(v, p, true);
    add<16, 4, 512>(v, p, true);
    add<16, 8, 512>(v, p, true);
    add<32, 8, 256>(v, p, true);
    add<32, 16, 256>(v, p, true);
    add<40, 8, 256>(v, p, true);
    add<44, 8, 256>(v, p, true);
    char title[100];
    snprintf(title, sizeof title, "batchnorm f32 channels last %dx%dx%dx%d", images, height, width,
             channels);
    return measure(
        title, 2 * 4 * n + 16 * channels, v,
        [&] { y.poison(), mean.poison(), var.poison(), partials.poison(); },
        [&] {
            return std::max({worst(y, want.y, 1e-5, 1e-5), worst(mean, want.mean, 2e-6, 1e-6),
                             worst(var, want.var, 1e-5, 1e-6)});
        },
        timed);
}

/* `small`: checks only, for compute-sanitizer; `once`: the first shape, each variant once, for a profiler. */
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "small"))
        return one(5, 30, 70, 64, false) + one(2, 23, 11, 204, false) + one(1, 3, 50, 8, false) !=
               0;
    if (!strcmp(what, "once"))
        return one(24, 56, 56, 256, false) != 0;
    return one(24, 56, 56, 256, true) + one(29, 64, 61, 204, true) != 0;
}
