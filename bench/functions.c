/* Functions of floats on the CPU: nanoseconds an element, in one thread and in cache, by the plain loops (the C library
 * one at a time, and for some in f32 a series of kiln's own) and by the vector library, where there is one.
 *
 * The time is the thread's own, the least of many, so that a busy machine does not matter much. */
#include <stdio.h>
#include <time.h>

#include "runtime/cpu/loops.h"

enum { N = 4096, TIMES = 60 };

static _Alignas(64) char operand[2][N * 8], result[N * 8];

static double least_ns(kn_loop loop, const void *const *in)
{
    double least = 1e30;
    for (int k = 0; k < TIMES; k++) {
        struct timespec a, b;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        loop(N, result, in, 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
        least = ns < least ? ns : least;
    }
    return least / N;
}

/* Ordinary operands: 0.01 to 0.99, for arccosh 1 more. */
static void fill(kn_op op, kn_dtype t)
{
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++) {
            double x = 0.01 + 0.98 * (((unsigned)i * 2654435761u + (unsigned)k * 97) % N) / N;
            kn_scalar v = {.dtype = t, .f = op == KN_OP_ARCCOSH ? x + 1 : x};
            kn_scalar_store(v, operand[k] + i * kn_bytes(t));
        }
}

int main(void)
{
    static const kn_dtype types[] = {KN_F32, KN_F64};
    const kn_loops *loops = kn_loops_choose();
    const void *in[] = {operand[0], operand[1], NULL};
    printf("%s loops; vector library: %s\n", loops->isa,
           loops->maths ? loops->maths->name : "none");
    printf("%-10s %-5s %9s %9s\n", "", "", "plain ns", "vector ns");
    for (int op = 0; op < KN_OP_COUNT; op++)
        for (int k = 0; k < 2; k++) {
            kn_loop vector = loops->maths ? loops->maths->elem[op][types[k]] : NULL;
            if (kn_ops[op].cls != KN_ELEM || kn_ops[op].rule != KN_RULE_FLOAT)
                if (!vector)
                    continue;
            fill((kn_op)op, types[k]);
            double plain = least_ns(loops->elem[op][types[k]], in);
            printf("%-10s %-5s %9.2f", kn_ops[op].text, kn_dtypes[types[k]].text, plain);
            if (vector) {
                double fast = least_ns(vector, in);
                printf(" %9.2f  %5.1f times as fast", fast, plain / fast);
            }
            printf("\n");
        }
    return 0;
}
