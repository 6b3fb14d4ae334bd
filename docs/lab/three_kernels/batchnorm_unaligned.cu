/* Batchnorm of bf16 (N, C, H, W) whose runs of H*W elements begin anywhere: 2-byte alignment only.
 *
 *     map       C[grid]  N[cluster, warp, loop]  HW[loop, lane, vec 8 peel]
 *     hold      x: of each warp's runs the first IN_REGS in registers, the others in shared memory
 *     transfer  into shared memory by bulk copies, all at once, waited for run by run; into registers by loads
 *     combine   moments by lanes, run by run; merged once over the cluster
 *     transpose none
 *
 * Peeled: the elements before the first and behind the last whole vector of 16 bytes, 14 at most. A lane has one. */
#include "bench.cuh"
#include "copies.cuh"

namespace cg = cooperative_groups;
using bf16 = __nv_bfloat16;

struct problem {
    const bf16 *x;
    const float *gamma, *beta;
    bf16 *y;
    float *mean, *var;
    int images, channels, size; /* size: elements of a run */
    float eps;
};

enum { MAX_SLOTS = 8 }; /* runs of a warp in shared memory */

/* One run: `head` peeled elements, whole vectors, and the others peeled. */
struct run {
    int64_t begin;
    int head, vectors, peeled;

    __device__ run(const problem &p, int image, int channel)
    {
        begin = (int64_t(image) * p.channels + channel) * p.size;
        head = min(int(-begin & 7), p.size);
        vectors = (p.size - head) / 8;
        peeled = p.size - 8 * vectors;
    }
    __device__ int64_t whole() const { return begin + head; }
    __device__ int64_t edge(int lane) const
    {
        return begin + (lane < head ? lane : lane + 8 * vectors);
    }
};

__device__ inline float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* Whether a lane has its vector k. Only the last can be missing. */
template <int VPL> __device__ inline bool has(const run &r, int k)
{
    return k + 1 < VPL || threadIdx.x % 32 + 32 * k < r.vectors;
}

__device__ inline float total(const float8 &x)
{
    return ((x.v[0] + x.v[1]) + (x.v[2] + x.v[3])) + ((x.v[4] + x.v[5]) + (x.v[6] + x.v[7]));
}

/* Of a lane's elements, about a pivot that is the mean of 8 of them: since these are among the squares, what is lost by
 * subtracting `sum * sum / n` is n / 8 roundings at most. */
struct moments {
    float n = 0, pivot = 0, sum = 0, squares = 0;

    __device__ void add(float x)
    {
        float d = x - pivot;
        n += 1, sum += d, squares += d * d;
    }
    __device__ void add(const float8 &x)
    {
        float8 d;
#pragma unroll
        for (int e = 0; e < 8; e++) {
            d.v[e] = x.v[e] - pivot;
            squares += d.v[e] * d.v[e];
        }
        n += 8, sum += total(d);
    }
};

/* A lane's part of a run: `at` gives a vector; `edge` is what is peeled. */
template <int VPL, class F> __device__ inline void add(moments &m, const run &r, F at, float edge)
{
    if (m.n == 0)
        m.pivot = has<VPL>(r, 0) ? total(widen(at(0))) / 8 : edge;
#pragma unroll
    for (int k = 0; k < VPL; k++)
        if (has<VPL>(r, k))
            m.add(widen(at(k)));
    if (threadIdx.x % 32 < r.peeled)
        m.add(edge);
}

template <int VPL, class F>
__device__ inline void store(const problem &p, const run &r, F at, float edge, float scale,
                             float shift)
{
    int lane = threadIdx.x % 32;
    uint4 *y = (uint4 *)(p.y + r.whole());
#pragma unroll
    for (int k = 0; k < VPL; k++) {
        float8 x = widen(at(k));
#pragma unroll
        for (int e = 0; e < 8; e++)
            x.v[e] = x.v[e] * scale + shift;
        if (has<VPL>(r, k))
            __stcs(y + lane + 32 * k, narrow(x));
    }
    if (lane < r.peeled)
        p.y[r.edge(lane)] = __float2bfloat16_rn(edge * scale + shift);
}

/* Of a warp's elements: `squares` about their mean. */
struct part {
    float n, mean, squares;
};

/* Those of up to 64 warps of a cluster. */
template <int WARPS> __device__ inline part merged(cg::cluster_group &cluster, part (&parts)[WARPS])
{
    part some[2] = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int w = threadIdx.x % 32 + 32 * i;
        if (w < cluster.num_blocks() * WARPS)
            some[i] = *cluster.map_shared_rank(&parts[w % WARPS], w / WARPS);
    }
    part all = {warp_sum(some[0].n + some[1].n), 0, 0};
    all.mean = warp_sum(some[0].n * some[0].mean + some[1].n * some[1].mean) / all.n;
    float d0 = some[0].mean - all.mean, d1 = some[1].mean - all.mean;
    all.squares =
        warp_sum(some[0].squares + some[0].n * d0 * d0 + some[1].squares + some[1].n * d1 * d1);
    return all;
}

/* Asks for the whole vectors of a warp's runs; for one lane. */
template <class AT, class SLOT>
__device__ inline void ask(const problem &p, int first, int runs, AT at, SLOT slot, uint64_t *full)
{
#pragma unroll 1
    for (int i = first; i < runs; i++)
        barrier_init(&full[i - first]);
    barrier_init_fence();
#pragma unroll 1
    for (int i = first; i < runs; i++) {
        run r = at(i);
        barrier_expect(&full[i - first], 16 * r.vectors);
        if (r.vectors)
            bulk_copy(slot(i), p.x + r.whole(), 16 * r.vectors, &full[i - first]);
    }
}

/* VPL: vectors of a run that a lane has at most. */
template <int VPL, int IN_REGS, int THREADS, int PER_SM>
__global__ void __launch_bounds__(THREADS, PER_SM) batchnorm_unaligned(problem p, int slots)
{
    constexpr int WARPS = THREADS / 32;
    extern __shared__ uint4 kept[];
    __shared__ uint64_t full[WARPS][MAX_SLOTS];
    __shared__ part parts[WARPS];
    cg::cluster_group cluster = cg::this_cluster();
    int ranks = cluster.num_blocks(), rank = cluster.block_rank();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, channel = blockIdx.x / ranks;
    int first = rank + warp * ranks, step = ranks * WARPS; /* this warp's images */
    int runs = first < p.images ? (p.images - first + step - 1) / step : 0;
    int pitch = p.size / 8 + 2; /* whole vectors, then what is peeled */
    auto at = [&](int i) { return run(p, first + i * step, channel); };
    auto slot = [&](int i) { return kept + (warp * slots + i - IN_REGS) * pitch; };
    auto peeled = [&](int i) { return (bf16 *)(slot(i) + pitch - 2); };

    if (lane == 0 && runs > IN_REGS)
        ask(p, IN_REGS, runs, at, slot, full[warp]);
    __syncwarp();
    uint4 regs[IN_REGS ? IN_REGS : 1][VPL];
    float edges[IN_REGS ? IN_REGS : 1];
#pragma unroll
    for (int i = 0; i < IN_REGS; i++) {
        run r = at(i);
#pragma unroll
        for (int k = 0; k < VPL; k++)
            regs[i][k] = i < runs && has<VPL>(r, k)
                             ? __ldcs((const uint4 *)(p.x + r.whole()) + lane + 32 * k)
                             : uint4{};
        edges[i] = i < runs && lane < r.peeled ? __bfloat162float(p.x[r.edge(lane)]) : 0;
    }
#pragma unroll 4
    for (int i = IN_REGS; i < runs; i++)
        if (lane < at(i).peeled)
            peeled(i)[lane] = p.x[at(i).edge(lane)];
    auto in_slot = [&](int i, const run &r, int k) {
        return has<VPL>(r, k) ? slot(i)[lane + 32 * k] : uint4{};
    };
    auto edge_in_slot = [&](int i, const run &r) {
        return lane < r.peeled ? __bfloat162float(peeled(i)[lane]) : 0;
    };

    moments m = {};
#pragma unroll
    for (int i = 0; i < IN_REGS; i++)
        if (i < runs)
            add<VPL>(
                m, at(i), [&](int k) { return regs[i][k]; }, edges[i]);
#pragma unroll 1
    for (int i = IN_REGS; i < runs; i++) {
        run r = at(i);
        barrier_wait(&full[warp][i - IN_REGS], 0);
        add<VPL>(
            m, r, [&](int k) { return in_slot(i, r, k); }, edge_in_slot(i, r));
    }
    float n = float(runs) * p.size, lane_mean = m.pivot + m.sum / fmaxf(m.n, 1);
    float mean = warp_sum(m.n * lane_mean) / fmaxf(n, 1);
    float squares = warp_sum(m.squares - m.sum * m.sum / fmaxf(m.n, 1) +
                             m.n * (lane_mean - mean) * (lane_mean - mean));
    if (lane == 0)
        parts[warp] = {n, mean, squares};
    cluster.sync();
    part all = merged(cluster, parts);
    auto arrived = cluster.barrier_arrive(); /* nobody leaves while its parts are read */
    mean = all.mean;
    float var = all.squares / all.n;
    float scale = rsqrtf(var + p.eps) * p.gamma[channel], shift = p.beta[channel] - mean * scale;
    if (rank == 0 && threadIdx.x == 0)
        p.mean[channel] = mean, p.var[channel] = var;
#pragma unroll
    for (int i = 0; i < IN_REGS; i++)
        if (i < runs)
            store<VPL>(
                p, at(i), [&](int k) { return regs[i][k]; }, edges[i], scale, shift);
#pragma unroll 1
    for (int i = IN_REGS; i < runs; i++) {
        run r = at(i);
        store<VPL>(
            p, r, [&](int k) { return in_slot(i, r, k); }, edge_in_slot(i, r), scale, shift);
    }
    cluster.barrier_wait(std::move(arrived));
}

/* ---- host ---- */

struct reference {
    std::vector<double> y, mean, var;
};

static reference compute(const problem &p, const std::vector<bf16> &x,
                         const std::vector<float> &gamma, const std::vector<float> &beta)
{
    reference r = {std::vector<double>(x.size()), std::vector<double>(p.channels),
                   std::vector<double>(p.channels)};
    parallel(p.channels, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c++) {
            double mean = 0, var = 0, count = double(p.images) * p.size;
            auto each = [&](auto f) {
                for (int64_t i = 0; i < p.images; i++)
                    for (int64_t k = 0; k < p.size; k++)
                        f((i * p.channels + c) * p.size + k);
            };
            each([&](int64_t i) { mean += double(x[i]); });
            mean /= count;
            each([&](int64_t i) { var += (double(x[i]) - mean) * (double(x[i]) - mean); });
            var /= count;
            each([&](int64_t i) {
                r.y[i] = (double(x[i]) - mean) / std::sqrt(var + p.eps) * gamma[c] + beta[c];
            });
            r.mean[c] = mean, r.var[c] = var;
        }
    });
    return r;
}

template <int VPL, int IN_REGS, int THREADS, int PER_SM>
static void add(std::vector<variant> &variants, const problem &p, int cluster)
{
    constexpr int WARPS = THREADS / 32;
    if ((p.size / 8 + 31) / 32 != VPL || (p.size - 14) / 8 < 32 * (VPL - 1) || cluster * WARPS > 64)
        return;
    int slots = (p.images + cluster * WARPS - 1) / (cluster * WARPS) - IN_REGS;
    size_t shared = size_t(std::max(slots, 0)) * WARPS * (p.size / 8 + 2) * 16;
    if (shared > 225 << 10 || slots < 0 || slots > MAX_SLOTS)
        return;
    auto kernel = batchnorm_unaligned<VPL, IN_REGS, THREADS, PER_SM>;
    allow_shared(kernel);
    int fit = clusters_at_once(kernel, THREADS, shared, cluster);
    if (fit == 0)
        return;
    char name[100];
    snprintf(name, sizeof name, "cluster %d, %d threads, runs %d reg + %d shared, %d fit", cluster,
             THREADS, IN_REGS, slots, fit);
    variants.push_back(
        {name,
         [=] { launch(kernel, p.channels * cluster, THREADS, shared, cluster, false, p, slots); }});
}

template <int VPL> static std::vector<variant> variants_of(const problem &p)
{
    std::vector<variant> v;
    for (int cluster : {2, 4, 8}) {
        add<VPL, 0, 128, 8>(v, p, cluster);
        add<VPL, 0, 256, 5>(v, p, cluster);
        add<VPL, 0, 512, 2>(v, p, cluster);
        add<VPL, 1, 128, 6>(v, p, cluster);
        add<VPL, 1, 256, 3>(v, p, cluster);
        add<VPL, 1, 256, 4>(v, p, cluster);
        add<VPL, 2, 256, 2>(v, p, cluster);
        add<VPL, 2, 256, 3>(v, p, cluster);
    }
    return v;
}

static int one(int images, int channels, int height, int width, bool timed)
{
    int size = height * width;
    int64_t n = int64_t(images) * channels * size;
    auto x = random_values<bf16>(n, 4, 2);
    auto gamma = random_values<float>(channels, 5, 1), beta = random_values<float>(channels, 6, 0);
    device_array<bf16> on_x(x), y(n);
    device_array<float> on_gamma(gamma), on_beta(beta), mean(channels), var(channels);
    problem p = {on_x.data, on_gamma.data, on_beta.data, y.data, mean.data,
                 var.data,  images,        channels,     size,   1e-5f};
    reference want = compute(p, x, gamma, beta);
    int vpl = (size / 8 + 31) / 32;
    auto variants = vpl == 1 ? variants_of<1>(p) : vpl == 5 ? variants_of<5>(p) : variants_of<8>(p);
    char title[100];
    snprintf(title, sizeof title, "batchnorm bf16 %dx%dx%dx%d", images, channels, height, width);
    return measure(
        title, 2 * 2 * n + 16 * channels, variants,
        [&] { y.poison(), mean.poison(), var.poison(); },
        [&] {
            return std::max({worst(y, want.y, 0.004, 1e-5), worst(mean, want.mean, 2e-6, 1e-6),
                             worst(var, want.var, 1e-5, 1e-6)});
        },
        timed);
}

/* `small`: checks only, for compute-sanitizer; `once`: the first shape, each variant once, for a profiler. */
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "small"))
        return one(64, 3, 35, 35, false) + one(37, 5, 41, 49, false) + one(33, 7, 3, 5, false) != 0;
    if (!strcmp(what, "once"))
        return one(64, 192, 35, 35, false) != 0;
    return one(64, 192, 35, 35, true) + one(62, 217, 41, 49, true) != 0;
}
