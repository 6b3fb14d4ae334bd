/* What emitted programs check their arguments with. Its text is part of kiln_cpu.h: C11 and C++17. */
#ifndef KN_RUNTIME_EMIT_CHECKS_H
#define KN_RUNTIME_EMIT_CHECKS_H

#define KN_OTHER_PLAN -10000 /* of a plan that does not serve these sizes */

static inline int kn_divides(int64_t a, int64_t b) { return b != 0 && a % b == 0; }

/* a / b rounded down; b is not 0. */
static inline int64_t kn_floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* No size is negative, and the number of elements is within bounds. */
static inline int kn_countable(int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int j = 0; j < rank; j++)
        if (shape[j] < 0 || __builtin_mul_overflow(n, shape[j], &n))
            return 0;
    return n <= INT64_MAX / 64;
}

/* Are `n` elements from `start` on, `step` apart, not all among `size`? */
static inline int kn_outside(int64_t start, int64_t n, int64_t step, int64_t size)
{
    const int64_t last = start + (n - 1) * step;
    return start < 0 || start >= size || last < 0 || last >= size;
}

/* Takes so many bytes of memory whose first `*top` are taken: where they are. */
static inline int64_t kn_take(int64_t *top, int64_t bytes)
{
    const int64_t at = *top;
    *top += (bytes + 63) / 64 * 64 + 64; /* none is empty */
    return at;
}

/* An array; of none, memory that may be read in its place, by who does not use what he reads. */
static inline void *kn_some(const void *x, int64_t elements)
{
    static const uint64_t nothing[8] = {0};
    return elements > 0 ? (void *)x : (void *)(nothing + 4);
}

/* Does each of n arrays begin at a multiple of 16 bytes? */
static inline int kn_aligned(void *const *array, int n)
{
    uintptr_t all = 0;
    for (int i = 0; i < n; i++)
        all |= (uintptr_t)array[i];
    return all % 16 == 0;
}

/* Do arrays share memory? */
static inline int kn_share(const void *x, int64_t bytes_x, const void *y, int64_t bytes_y)
{
    const uintptr_t a = (uintptr_t)x, b = (uintptr_t)y;
    return bytes_x > 0 && bytes_y > 0 && a < b + (uintptr_t)bytes_y && b < a + (uintptr_t)bytes_x;
}

#endif
