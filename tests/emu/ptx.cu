// Inline PTX that does not copy: one result a step of 64 threads.
extern "C" __global__ void numbers(unsigned *o, const float4 *in, float *out)
{
    __shared__ unsigned words[64];
    const unsigned t = threadIdx.x;
    unsigned r, step = 0;
    unsigned long long l, policy;
    float x, y, z, w;
#define NOTE(x) o[step++ * 64 + t] = (unsigned)(x)
    asm("mov.u32 %0, %%laneid;" : "=r"(r));
    NOTE(r); // 0
    asm("mov.u32 %0, %%tid.x;" : "=r"(r));
    NOTE(r); // 1
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
                 : "l"(in + t));
    NOTE(x + 10 * y + 100 * z + 1000 * w); // 2
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1 + 4], %2;"
                 : "=f"(x)
                 : "l"(in + t), "l"(policy));
    NOTE(x); // 3
    asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(out + 2 * t), "f"(x), "f"(w)
                 : "memory");
    asm volatile("st.shared.u32 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(words + t)),
                 "r"(t * 3)
                 : "memory");
    __syncthreads();
    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(r)
                 : "r"((unsigned)__cvta_generic_to_shared(words + 63 - t))
                 : "memory");
    NOTE(r); // 4
    asm volatile("{\n\t"
                 ".reg .pred p, %%q;\n\t"
                 ".reg .b32 a<2>; // two of them\n\t"
                 "setp.lt.u32 p, %1, 10;\n\t"
                 "setp.ge.s32 %%q, %1, 5;\n\t"
                 "mov.u32 a0, 7; mov.u32 a1, 9;\n\t"
                 "@p add.u32 a0, a0, %1;\n\t"
                 "@!p bra SKIP_%=;\n\t"
                 "@%%q mul.lo.u32 a1, a1, %2;\n\t"
                 "SKIP_%=:\n\t"
                 "mad.lo.u32 %0, a1, 1000, a0;\n\t"
                 "}"
                 : "=r"(r)
                 : "r"(t), "n"(sizeof(int)));
    NOTE(r); // 5
    asm("mov.b64 %0, {%1, %2};" : "=l"(l) : "r"(t), "r"(t + 1));
    asm("mov.b64 {%0, _}, %1;" : "=r"(r) : "l"(l >> 32));
    NOTE(r); // 6
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(r) : "r"(t));
    NOTE(r); // 7
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 3; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(r)
                 : "r"(t % 32));
    NOTE(r); // 8
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(r));
    NOTE(r); // 9
    r = 0x40000000u;
    asm("fma.rn.f32 %0, %1, 0f40000000, %2;" : "=f"(x) : "f"(1.5f), "f"((float)t));
    NOTE(x); // 10
    r = t;
    asm("add.u32 %0, %0, 1;" : "+r"(r));
    NOTE(r); // 11
    asm volatile("atom.shared.add.u32 %0, [%1], 5;"
                 : "=r"(r)
                 : "r"((unsigned)__cvta_generic_to_shared(words + (63 - t)))
                 : "memory");
    NOTE(r); // 12
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(out + 128), "f"(1.0f) : "memory");
#if 0
    asm volatile("tcgen05.never.here;");
#endif
    if (t > 100)
        asm volatile("trap;");
}
