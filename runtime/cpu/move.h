/* Moves elements of 1, 2, 4, 8 or 16 bytes as integers of that width, whatever their type. Strides and offsets are in
 * bytes. */
#ifndef KN_RUNTIME_CPU_MOVE_H
#define KN_RUNTIME_CPU_MOVE_H

#include <stdint.h>

typedef struct kn_mover {
    /* out[i] = the element at p + i * stride */
    void (*read)(int64_t n, void *out, const char *p, int64_t stride);
    /* the element at p + i * stride = in[i * step] */
    void (*write)(int64_t n, char *p, int64_t stride, const void *in, int64_t step);
    /* out[i] = the element at p + offset[i] */
    void (*pick)(int64_t n, void *out, const char *p, const int64_t *offset);
    /* out[i] = in[0] */
    void (*splat)(int64_t n, void *out, const void *in);
    /* In-memory transposes: a tile, row after row in `out` and `in`, from and to memory that is contiguous down its
     * columns. */
    void (*turn_in)(int64_t rows, int64_t columns, void *out, const char *p, int64_t down,
                    int64_t across);
    void (*turn_out)(int64_t rows, int64_t columns, char *p, int64_t down, int64_t across,
                     const void *in);
} kn_mover;

const kn_mover *kn_mover_of(int bytes);

#endif
