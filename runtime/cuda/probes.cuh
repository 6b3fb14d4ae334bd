/* Kernels that measure a GPU for the model: codegen/model/probes.h says what, measure.c how. */

/* `rounds` times from one array of n vectors to another, past the first cache. */
extern "C" __global__ void kn_probe_copy(float4 *__restrict__ to, const float4 *__restrict__ from,
                                         unsigned n, int rounds)
{
    const unsigned step = gridDim.x * blockDim.x;
    for (int r = 0; r < rounds; r++)
        for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
            float4 v[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (i + k * step < n)
                    v[k] = __ldcg(from + i + k * step);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (i + k * step < n)
                    __stcg(to + i + k * step, v[k]);
        }
}

/* A block reads n vectors, a multiple of 8 for each thread, which are all zeros. */
extern "C" __global__ void kn_probe_block(float *out, const float4 *from, unsigned n)
{
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += 8 * blockDim.x) {
        float4 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] = __ldcg(from + i + k * blockDim.x);
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    if (sum != 0)
        *out = sum;
}

/* n loads of zeros, each where the last one says, all over an array of mask + 1 numbers. */
extern "C" __global__ void kn_probe_loads(unsigned *out, const unsigned *from, unsigned mask, int n)
{
    unsigned i = 1;
    for (int k = 0; k < n; k++)
        i = i * 1664525u + 1013904223u + __ldcg(from + (i >> 2 & mask));
    *out = i;
}

/* 8 n additions a thread that wait for each other by eighths. */
template <class T> static __device__ void add(T *out, T x, int n)
{
    T sum[8];
    for (int k = 0; k < 8; k++)
        sum[k] = x + threadIdx.x;
#pragma unroll 8
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++)
            sum[k] += x;
    for (int k = 1; k < 8; k++)
        sum[0] += sum[k];
    if (sum[0] == -1)
        *out = sum[0];
}
extern "C" __global__ void kn_probe_adds(float *out, float x, int n) { add(out, x, n); }
extern "C" __global__ void kn_probe_adds_f64(double *out, double x, int n) { add(out, x, n); }

/* n additions of a thread, each of which needs the last one's sum. */
extern "C" __global__ void kn_probe_add(float *out, float x, int n)
{
    float sum = x;
#pragma unroll 32
    for (int i = 0; i < n; i++)
        sum += x;
    *out = sum;
}

extern "C" __global__ void kn_probe_launch() {}

/* n barriers of the grid; *arrived is 0 before. */
extern "C" __global__ void kn_probe_barriers(unsigned *arrived, int n)
{
    for (int k = 1; k <= n; k++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(arrived, 1u);
            while (*(volatile unsigned *)arrived < k * gridDim.x)
                ;
            __threadfence();
        }
        __syncthreads();
    }
}
