#include "runtime/cpu/move.h"

typedef uint8_t __attribute__((may_alias)) word8;
typedef uint16_t __attribute__((may_alias)) word16;
typedef uint32_t __attribute__((may_alias)) word32;
typedef uint64_t __attribute__((may_alias)) word64;
typedef struct {
    uint64_t half[2];
} __attribute__((may_alias)) word128;

#define MOVE(W)                                                                                    \
    static void read_##W(int64_t n, void *out, const char *p, int64_t stride)                      \
    {                                                                                              \
        W *z = out;                                                                                \
        for (int64_t i = 0; i < n; i++)                                                            \
            z[i] = *(const W *)(p + i * stride);                                                   \
    }                                                                                              \
    static void write_##W(int64_t n, char *p, int64_t stride, const void *in, int64_t step)        \
    {                                                                                              \
        const W *a = in;                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            *(W *)(p + i * stride) = a[i * step];                                                  \
    }                                                                                              \
    static void pick_##W(int64_t n, void *out, const char *p, const int64_t *offset)               \
    {                                                                                              \
        W *z = out;                                                                                \
        for (int64_t i = 0; i < n; i++)                                                            \
            z[i] = *(const W *)(p + offset[i]);                                                    \
    }                                                                                              \
    static void splat_##W(int64_t n, void *out, const void *in)                                    \
    {                                                                                              \
        W *z = out, s = *(const W *)in;                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            z[i] = s;                                                                              \
    }                                                                                              \
    static void turn_in_##W(int64_t rows, int64_t columns, void *out, const char *p, int64_t down, \
                            int64_t across)                                                        \
    {                                                                                              \
        W *z = out;                                                                                \
        for (int64_t j = 0; j < columns; j++)                                                      \
            for (int64_t i = 0; i < rows; i++)                                                     \
                z[i * columns + j] = *(const W *)(p + i * down + j * across);                      \
    }                                                                                              \
    static void turn_out_##W(int64_t rows, int64_t columns, char *p, int64_t down, int64_t across, \
                             const void *in)                                                       \
    {                                                                                              \
        const W *a = in;                                                                           \
        for (int64_t j = 0; j < columns; j++)                                                      \
            for (int64_t i = 0; i < rows; i++)                                                     \
                *(W *)(p + i * down + j * across) = a[i * columns + j];                            \
    }                                                                                              \
    static const kn_mover mover_##W = {read_##W,  write_##W,   pick_##W,                           \
                                       splat_##W, turn_in_##W, turn_out_##W};
MOVE(word8)
MOVE(word16)
MOVE(word32)
MOVE(word64)
MOVE(word128)

const kn_mover *kn_mover_of(int bytes)
{
    static const kn_mover *const movers[] = {&mover_word8, &mover_word16, &mover_word32,
                                             &mover_word64, &mover_word128};
    return movers[__builtin_ctz((unsigned)bytes)];
}
