/* A block adds twice as many floats as it has threads. Nothing in it knows where it runs. */

/* in[0] + ... + in[2 * blockDim.x - 1]; `part` has a float a thread. Every thread of the block calls. */
static __device__ float block_sum(float *part, const float *in)
{
    unsigned t = threadIdx.x;
    part[t] = in[t] + in[t + blockDim.x];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void sum(const float *in, float *out)
{
    extern __shared__ float part[];
    float all = block_sum(part, in);
    if (threadIdx.x == 0)
        *out = all;
}
