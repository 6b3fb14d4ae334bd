/* What the three programs share: a run behind flushed caches, a copy of the same bytes, random inputs, and a comparison
 * with what the host computed in double precision. */
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define CHECK(call) check((call), #call, __LINE__)

inline void check(cudaError_t error, const char *call, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    exit(1);
}

/* ---- host ---- */

template <class F> void parallel(int64_t n, F part)
{
    int64_t workers = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (int64_t w = 0; w < workers; w++)
        threads.emplace_back([=] { part(n * w / workers, n * (w + 1) / workers); });
    for (auto &thread : threads)
        thread.join();
}

/* Nearly normal, with this mean and a standard deviation of 1: four uniform numbers of 16 bits. */
inline float random_at(uint64_t seed, uint64_t i, float mean)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    float sum = (z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48);
    return mean + (sum - 131070) * 2.6429e-5f;
}

template <class T> T rounded(float x) { return T(x); }
template <> inline __nv_bfloat16 rounded(float x) { return __float2bfloat16_rn(x); }

template <class T> std::vector<T> random_values(int64_t n, uint64_t seed, float mean)
{
    std::vector<T> out(n);
    parallel(n, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++)
            out[i] = rounded<T>(random_at(seed, i, mean));
    });
    return out;
}

template <class T> struct device_array {
    T *data;
    size_t n;
    explicit device_array(size_t count) : n(count) { CHECK(cudaMalloc(&data, n * sizeof(T))); }
    explicit device_array(const std::vector<T> &from) : device_array(from.size())
    {
        CHECK(cudaMemcpy(data, from.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    device_array(const device_array &) = delete;
    ~device_array() { cudaFree(data); }
    void poison() { CHECK(cudaMemset(data, 0xff, n * sizeof(T))); }
    std::vector<T> back() const
    {
        std::vector<T> out(n);
        CHECK(cudaMemcpy(out.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
};

/* The largest error over its bound: `relative` of the value and `absolute`. NaN, which is the poison, gives infinity. */
template <class T>
double worst(const device_array<T> &array, const std::vector<double> &want, double relative,
             double absolute)
{
    std::vector<T> got = array.back();
    std::vector<double> parts(std::max(1u, std::thread::hardware_concurrency()) + 1);
    int64_t n = want.size(), nparts = parts.size();
    parallel(nparts, [&](int64_t first, int64_t last) {
        for (int64_t p = first; p < last; p++)
            for (int64_t i = n * p / nparts; i < n * (p + 1) / nparts; i++) {
                double error = std::abs(double(float(got[i])) - want[i]) /
                               (relative * std::abs(want[i]) + absolute);
                parts[p] = std::max(parts[p], error == error ? error : INFINITY);
            }
    });
    return *std::max_element(parts.begin(), parts.end());
}

/* ---- time ---- */

template <class... P, class... A>
void launch(void (*kernel)(P...), int grid, int threads, size_t shared, int cluster,
            bool cooperative, A... args)
{
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {unsigned(cluster), 1, 1};
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.attrs = cluster > 1 ? attributes : attributes + 1;
    config.numAttrs = (cluster > 1) + cooperative;
    CHECK(cudaLaunchKernelEx(&config, kernel, args...));
}

/* All that a block can have: variants of one kernel need more or less. */
template <class... P> void allow_shared(void (*kernel)(P...))
{
    cudaFuncAttributes had;
    CHECK(cudaFuncGetAttributes(&had, kernel));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               int((227 << 10) - had.sharedSizeBytes)));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

template <class... P>
int clusters_at_once(void (*kernel)(P...), int threads, size_t shared, int cluster)
{
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {unsigned(cluster), 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(cluster);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int n = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&n, kernel, &config));
    return n;
}

__global__ void __launch_bounds__(512) fill(uint4 *y, int64_t n)
{
    int64_t i = int64_t(blockIdx.x) * 512 + threadIdx.x;
    if (i < n)
        y[i] = make_uint4(1, 2, 3, unsigned(i * 2654435761u));
}

__global__ void __launch_bounds__(512) copy_once(const uint4 *x, uint4 *y, int64_t n)
{
    int64_t i = int64_t(blockIdx.x) * 2048 + threadIdx.x;
    uint4 v[4];
    for (int k = 0; k < 4; k++)
        if (i + k * 512 < n)
            v[k] = x[i + k * 512];
    for (int k = 0; k < 4; k++)
        if (i + k * 512 < n)
            y[i + k * 512] = v[k];
}

__global__ void __launch_bounds__(512) copy_loop(const uint4 *x, uint4 *y, int64_t n)
{
    int64_t step = int64_t(gridDim.x) * 512;
    for (int64_t i = int64_t(blockIdx.x) * 512 + threadIdx.x; i < n; i += 2 * step) {
        bool two = i + step < n;
        uint4 a = x[i], b = two ? x[i + step] : a;
        y[i] = a;
        if (two)
            y[i + step] = b;
    }
}

enum { RUNS = 31, FLUSHES = 8, FLUSH_BYTES = 256 << 20 };

/* The median, by device events, of runs behind eight flushes each. */
template <class F> double median_us(F run, int runs = RUNS)
{
    static device_array<uint4> flush(FLUSH_BYTES / sizeof(uint4));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = -2; i < runs; i++) {
        for (int k = 0; k < FLUSHES; k++)
            fill<<<flush.n / 512, 512>>>(flush.data, flush.n);
        CHECK(cudaEventRecord(begin));
        run();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaGetLastError());
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 0)
            times.push_back(ms * 1000);
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    return times[runs / 2];
}

/* The faster of two kernels that read half of these bytes and write the other half. */
inline double copy_us(int64_t bytes)
{
    int64_t n = (bytes / 2 + 15) / 16;
    device_array<uint4> x(n), y(n);
    fill<<<(n + 511) / 512, 512>>>(x.data, n);
    double once = median_us([&] { copy_once<<<(n + 2047) / 2048, 512>>>(x.data, y.data, n); });
    double loop = median_us([&] { copy_loop<<<132 * 8, 512>>>(x.data, y.data, n); });
    return std::min(once, loop);
}

/* ---- the table ---- */

struct variant {
    std::string name;
    std::function<void()> run;
    double error = 0, us[2] = {};
};

/* `poison` before and `errors` behind each variant's first run; then two rounds of times, so that their spread is seen. */
inline int measure(const char *title, int64_t bytes, std::vector<variant> &variants,
                   const std::function<void()> &poison, const std::function<double()> &error,
                   bool timed)
{
    int failed = 0;
    for (auto &v : variants) {
        poison();
        v.run();
        CHECK(cudaDeviceSynchronize());
        v.error = error();
        failed += !(v.error <= 1);
    }
    double copies[2] = {};
    for (int round = 0; timed && round < 2; round++) {
        copies[round] = copy_us(bytes);
        for (auto &v : variants)
            v.us[round] = median_us(v.run);
    }
    double copy = std::min(copies[0], copies[1]);
    printf("\n%s: %.1f MB, copy %.1f and %.1f us (%.2f TB/s)\n", title, bytes / 1e6, copies[0],
           copies[1], bytes / copy / 1e6);
    printf("%-52s %8s %8s %8s  %s\n", "variant", "us", "again", "of copy", "error/bound");
    for (auto &v : variants)
        printf("%-52s %8.1f %8.1f %8.2f  %.2g%s\n", v.name.c_str(), v.us[0], v.us[1],
               copy / std::min(v.us[0], v.us[1]), v.error, v.error <= 1 ? "" : " WRONG");
    fflush(stdout);
    return failed;
}
