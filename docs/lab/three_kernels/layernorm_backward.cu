/* Layernorm's backward in one read: dx by rows, dgamma and dbeta by columns.
 *
 *     map       N[loop, grid]  C[unroll VECS, thread, vec 8]
 *     hold      x, dy in registers for a row; gamma, ~dgamma, ~dbeta in registers for a block's stay
 *     transfer  x, dy: AHEAD rows before they are needed, into registers, or by asynchronous or bulk copies
 *     combine   two pairs of sums a row by the block; dgamma, dbeta once, by a second stage behind the grid barrier
 *     transpose none
 *
 * Of x, dy and gamma; mean and variance of a row are found again. */
#include "bench.cuh"
#include "copies.cuh"

namespace cg = cooperative_groups;
using bf16 = __nv_bfloat16;

struct problem {
    const uint4 *x, *dy, *gamma; /* 8 elements each */
    uint4 *dx;
    float *dgamma, *dbeta, *partials; /* partials: [block][dgamma, dbeta][column] */
    int64_t rows;
    int columns;
    float eps;
};

enum transfer { LOAD, ASYNC, BULK };

/* The rows on their way. `take` gives the oldest, `refill` asks for the next once all threads have theirs. */
template <transfer BY, int AHEAD, int VECS> struct rows_ahead;

template <int AHEAD, int VECS> struct rows_ahead<LOAD, AHEAD, VECS> {
    const problem &p;
    int64_t next = blockIdx.x;
    uint4 x[AHEAD + 1][VECS], dy[AHEAD + 1][VECS];

    __device__ void ask(int slot)
    {
        int vectors = p.columns / 8;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int v = threadIdx.x + k * blockDim.x;
            bool there = next < p.rows && v < vectors;
            x[slot][k] = there ? __ldcs(p.x + next * vectors + v) : uint4{};
            dy[slot][k] = there ? __ldcs(p.dy + next * vectors + v) : uint4{};
        }
        next += gridDim.x;
    }
    __device__ rows_ahead(const problem &problem, uint4 *) : p(problem)
    {
#pragma unroll
        for (int slot = 0; slot < AHEAD; slot++)
            ask(slot);
    }
    __device__ void take(uint4 (&row_x)[VECS], uint4 (&row_dy)[VECS])
    {
        ask(AHEAD);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            row_x[k] = x[0][k], row_dy[k] = dy[0][k];
#pragma unroll
            for (int slot = 0; slot < AHEAD; slot++)
                x[slot][k] = x[slot + 1][k], dy[slot][k] = dy[slot + 1][k];
        }
    }
    __device__ void refill() {}
};

template <int AHEAD, int VECS> struct rows_ahead<ASYNC, AHEAD, VECS> {
    const problem &p;
    uint4 *slots;
    int64_t next = blockIdx.x;
    int slot = 0;

    __device__ void ask(int into)
    {
        int vectors = p.columns / 8;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int v = threadIdx.x + k * blockDim.x;
            if (next < p.rows && v < vectors) {
                async_copy(slots + 2 * into * vectors + v, p.x + next * vectors + v);
                async_copy(slots + (2 * into + 1) * vectors + v, p.dy + next * vectors + v);
            }
        }
        async_commit();
        next += gridDim.x;
    }
    __device__ rows_ahead(const problem &problem, uint4 *shared) : p(problem), slots(shared)
    {
        for (int i = 0; i < AHEAD; i++)
            ask(i);
    }
    __device__ void take(uint4 (&x)[VECS], uint4 (&dy)[VECS])
    {
        async_wait<AHEAD - 1>(); /* each thread reads only what it asked for: no barrier */
        int vectors = p.columns / 8;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int v = threadIdx.x + k * blockDim.x;
            bool there = v < vectors;
            x[k] = there ? slots[2 * slot * vectors + v] : uint4{};
            dy[k] = there ? slots[(2 * slot + 1) * vectors + v] : uint4{};
        }
        ask(slot);
        slot = slot + 1 == AHEAD ? 0 : slot + 1;
    }
    __device__ void refill() {}
};

template <int AHEAD, int VECS> struct rows_ahead<BULK, AHEAD, VECS> {
    const problem &p;
    uint4 *slots;
    uint64_t *full;
    int64_t next = blockIdx.x;
    int slot = 0, round = 0;

    __device__ void ask(int into)
    {
        if (threadIdx.x == 0 && next < p.rows) {
            int vectors = p.columns / 8;
            barrier_expect(&full[into], 32 * vectors);
            bulk_copy(slots + 2 * into * vectors, p.x + next * vectors, 16 * vectors, &full[into]);
            bulk_copy(slots + (2 * into + 1) * vectors, p.dy + next * vectors, 16 * vectors,
                      &full[into]);
        }
        next += gridDim.x;
    }
    __device__ rows_ahead(const problem &problem, uint4 *shared) : p(problem), slots(shared)
    {
        __shared__ uint64_t barriers[AHEAD];
        full = barriers;
        if (threadIdx.x == 0) {
            for (int i = 0; i < AHEAD; i++)
                barrier_init(&full[i]);
            barrier_init_fence();
        }
        __syncthreads();
        for (int i = 0; i < AHEAD; i++)
            ask(i);
    }
    __device__ void take(uint4 (&x)[VECS], uint4 (&dy)[VECS])
    {
        barrier_wait(&full[slot], round & 1);
        int vectors = p.columns / 8;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int v = threadIdx.x + k * blockDim.x;
            bool there = v < vectors;
            x[k] = there ? slots[2 * slot * vectors + v] : uint4{};
            dy[k] = there ? slots[(2 * slot + 1) * vectors + v] : uint4{};
        }
    }
    __device__ void refill()
    {
        ask(slot);
        if (++slot == AHEAD)
            slot = 0, round++;
    }
};

/* Sums of two values over a block of up to 16 warps. The lower half of a warp adds the one, the upper half the other. */
__device__ inline float2 block_sums(float a, float b, float (&exchange)[2][16])
{
    int lane = threadIdx.x % 32, upper = lane / 16;
    float sum = (upper ? b : a) + __shfl_xor_sync(~0u, upper ? a : b, 16);
    for (int step = 8; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane % 16 == 0)
        exchange[upper][threadIdx.x / 32] = sum;
    __syncthreads();
    sum = lane % 16 < blockDim.x / 32 ? exchange[upper][lane % 16] : 0;
    for (int step = 8; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return {__shfl_sync(~0u, sum, 0), __shfl_sync(~0u, sum, 16)};
}

template <int VECS>
__device__ inline void store_partials(const problem &p, float8 (&dgamma)[VECS],
                                      float8 (&dbeta)[VECS])
{
    int vectors = p.columns / 8;
    float *mine = p.partials + int64_t(blockIdx.x) * 2 * p.columns;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int v = threadIdx.x + k * blockDim.x;
#pragma unroll
        for (int e = 0; v < vectors && e < 8; e += 4) {
            float *g = dgamma[k].v + e, *b = dbeta[k].v + e;
            *(float4 *)(mine + 8 * v + e) = make_float4(g[0], g[1], g[2], g[3]);
            *(float4 *)(mine + p.columns + 8 * v + e) = make_float4(b[0], b[1], b[2], b[3]);
        }
    }
}

/* 32 columns a block at a time; its warps share the blocks whose partial sums they are. */
__device__ inline void finish_columns(const problem &p)
{
    __shared__ float sums[16][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int total = 2 * p.columns;
    for (int first = blockIdx.x * 32; first < total; first += gridDim.x * 32) {
        int column = first + lane;
        float sum = 0;
#pragma unroll 8
        for (int block = warp; block < gridDim.x; block += warps)
            sum += column < total ? __ldcg(p.partials + int64_t(block) * total + column) : 0;
        sums[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && column < total) {
            for (int w = 1; w < warps; w++)
                sum += sums[w][lane];
            (column < p.columns ? p.dgamma[column] : p.dbeta[column - p.columns]) = sum;
        }
        __syncthreads();
    }
}

template <transfer BY, int AHEAD, int VECS, int THREADS, int PER_SM>
__global__ void __launch_bounds__(THREADS, PER_SM) layernorm_backward(problem p)
{
    extern __shared__ uint4 slots[];
    __shared__ float exchange[2][2][16];
    int vectors = p.columns / 8;
    float scale = 1.0f / p.columns;
    float8 gamma[VECS], dgamma[VECS] = {}, dbeta[VECS] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int v = threadIdx.x + k * blockDim.x;
        gamma[k] = widen(v < vectors ? p.gamma[v] : uint4{});
    }
    rows_ahead<BY, AHEAD, VECS> ahead(p, slots);
    for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
        uint4 packed_x[VECS], packed_dy[VECS];
        ahead.take(packed_x, packed_dy);
        float sum_x = 0, sum_g = 0; /* g = dy gamma */
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            float8 x = widen(packed_x[k]), dy = widen(packed_dy[k]);
#pragma unroll
            for (int e = 0; e < 8; e++) {
                sum_x += x.v[e];
                sum_g += dy.v[e] * gamma[k].v[e];
            }
        }
        float2 sums = block_sums(sum_x, sum_g, exchange[0]);
        ahead.refill();
        float mean = sums.x * scale, mean_g = sums.y * scale, sum_dd = 0, sum_gd = 0;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            float8 x = widen(packed_x[k]), dy = widen(packed_dy[k]);
            float center = threadIdx.x + k * blockDim.x < vectors ? mean : 0;
#pragma unroll
            for (int e = 0; e < 8; e++) {
                float d = x.v[e] - center;
                sum_dd += d * d;
                sum_gd += dy.v[e] * gamma[k].v[e] * d;
            }
        }
        sums = block_sums(sum_dd, sum_gd, exchange[1]);
        float rstd = rsqrtf(sums.x * scale + p.eps), slope = sums.y * scale * rstd;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            float8 x = widen(packed_x[k]), dy = widen(packed_dy[k]), dx;
            int v = threadIdx.x + k * blockDim.x;
#pragma unroll
            for (int e = 0; e < 8; e++) {
                float h = (x.v[e] - mean) * rstd;
                dx.v[e] = rstd * (dy.v[e] * gamma[k].v[e] - mean_g - h * slope);
                dgamma[k].v[e] += dy.v[e] * h;
                dbeta[k].v[e] += dy.v[e];
            }
            if (v < vectors)
                __stcs(p.dx + row * vectors + v, narrow(dx));
        }
    }
    store_partials(p, dgamma, dbeta);
    cg::this_grid().sync();
    finish_columns(p);
}

/* ---- host ---- */

struct reference {
    std::vector<double> dx, dgamma, dbeta;
};

static reference compute(const std::vector<bf16> &x, const std::vector<bf16> &dy,
                         const std::vector<bf16> &gamma, int64_t rows, int columns, double eps)
{
    reference r = {std::vector<double>(rows * columns), std::vector<double>(columns),
                   std::vector<double>(columns)};
    enum { PARTS = 64 };
    std::vector<double> sums(int64_t(PARTS) * 2 * columns);
    parallel(PARTS, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; part++)
            for (int64_t i = rows * part / PARTS; i < rows * (part + 1) / PARTS; i++) {
                const bf16 *xi = &x[i * columns], *di = &dy[i * columns];
                double mean = 0, mean_g = 0, var = 0, slope = 0;
                for (int c = 0; c < columns; c++)
                    mean += double(xi[c]), mean_g += double(di[c]) * double(gamma[c]);
                mean /= columns, mean_g /= columns;
                for (int c = 0; c < columns; c++) {
                    double d = double(xi[c]) - mean;
                    var += d * d, slope += double(di[c]) * double(gamma[c]) * d;
                }
                double rstd = 1 / std::sqrt(var / columns + eps);
                slope *= rstd / columns;
                double *part_sums = &sums[part * 2 * columns];
                for (int c = 0; c < columns; c++) {
                    double h = (double(xi[c]) - mean) * rstd, g = double(di[c]) * double(gamma[c]);
                    r.dx[i * columns + c] = rstd * (g - mean_g - h * slope);
                    part_sums[c] += double(di[c]) * h;
                    part_sums[columns + c] += double(di[c]);
                }
            }
    });
    for (int part = 0; part < PARTS; part++)
        for (int c = 0; c < columns; c++) {
            r.dgamma[c] += sums[(part * 2) * int64_t(columns) + c];
            r.dbeta[c] += sums[(part * 2 + 1) * int64_t(columns) + c];
        }
    return r;
}

template <transfer BY, int AHEAD, int VECS, int THREADS, int PER_SM>
static void add(std::vector<variant> &variants, const problem &p, bool timed)
{
    static const char *const names[] = {"loads", "async copies", "bulk copies"};
    int vectors = p.columns / 8, threads = ((vectors + VECS - 1) / VECS + 31) / 32 * 32;
    if (threads > THREADS || (timed && 2 * threads <= THREADS))
        return;
    size_t shared = BY == LOAD ? 0 : size_t(AHEAD) * 32 * vectors;
    auto kernel = layernorm_backward<BY, AHEAD, VECS, THREADS, PER_SM>;
    allow_shared(kernel);
    int fit;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads, shared));
    if (fit < PER_SM)
        return;
    char name[100];
    snprintf(name, sizeof name, "%s, %d rows ahead, %d threads, %d an SM", names[BY], AHEAD,
             threads, PER_SM);
    variants.push_back({name, [=] { launch(kernel, 132 * PER_SM, threads, shared, 1, true, p); }});
}

static int one(int64_t rows, int columns, bool timed)
{
    int64_t n = rows * columns;
    auto x = random_values<bf16>(n, 1, 0.5f), dy = random_values<bf16>(n, 2, 0.1f),
         gamma = random_values<bf16>(columns, 3, 1);
    reference want = compute(x, dy, gamma, rows, columns, 1e-5);
    device_array<bf16> on_x(x), on_dy(dy), on_gamma(gamma), dx(n);
    device_array<float> dgamma(columns), dbeta(columns), partials(int64_t(132) * 4 * 2 * columns);
    problem p = {(uint4 *)on_x.data,
                 (uint4 *)on_dy.data,
                 (uint4 *)on_gamma.data,
                 (uint4 *)dx.data,
                 dgamma.data,
                 dbeta.data,
                 partials.data,
                 rows,
                 columns,
                 1e-5f};
    std::vector<variant> variants;
    add<LOAD, 0, 1, 512, 2>(variants, p, timed);
    add<LOAD, 1, 1, 512, 2>(variants, p, timed);
    add<LOAD, 1, 2, 256, 2>(variants, p, timed);
    add<LOAD, 1, 2, 512, 1>(variants, p, timed);
    add<ASYNC, 1, 1, 512, 2>(variants, p, timed);
    add<ASYNC, 2, 1, 512, 2>(variants, p, timed);
    add<ASYNC, 3, 1, 512, 2>(variants, p, timed);
    add<ASYNC, 1, 2, 256, 2>(variants, p, timed);
    add<ASYNC, 2, 2, 256, 2>(variants, p, timed);
    add<ASYNC, 3, 2, 256, 2>(variants, p, timed);
    add<ASYNC, 1, 2, 512, 1>(variants, p, timed);
    add<ASYNC, 2, 2, 512, 1>(variants, p, timed);
    add<ASYNC, 3, 2, 512, 1>(variants, p, timed);
    add<BULK, 1, 1, 512, 2>(variants, p, timed);
    add<BULK, 2, 1, 512, 2>(variants, p, timed);
    add<BULK, 3, 1, 512, 2>(variants, p, timed);
    add<BULK, 3, 2, 256, 2>(variants, p, timed);
    add<BULK, 2, 2, 512, 1>(variants, p, timed);
    add<BULK, 3, 2, 512, 1>(variants, p, timed);
    add<BULK, 4, 2, 512, 1>(variants, p, timed);
    char title[100];
    snprintf(title, sizeof title, "layernorm_backward bf16 %lldx%d", (long long)rows, columns);
    return measure(
        title, 3 * 2 * n + 2 * columns + 8 * columns, variants,
        [&] { dx.poison(), dgamma.poison(), dbeta.poison(), partials.poison(); },
        [&] {
            double sum_bound = 1e-6 * rows + 1e-3;
            return std::max({worst(dx, want.dx, 0.004, 1e-5),
                             worst(dgamma, want.dgamma, 1e-5, sum_bound),
                             worst(dbeta, want.dbeta, 1e-5, sum_bound)});
        },
        timed);
}

/* `small`: checks only, for compute-sanitizer; `once`: the first shape, each variant once, for a profiler. */
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "small"))
        return one(300, 1000, false) + one(7, 8, false) + one(700, 4096, false) != 0;
    if (!strcmp(what, "once"))
        return one(16384, 4096, false) != 0;
    return one(16384, 4096, true) + one(22668, 6184, true) != 0;
}
