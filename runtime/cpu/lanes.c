#include "runtime/cpu/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/move.h"

static int64_t stride_of(const kn_access *a, int axis)
{
    return a->kind[axis] == KN_STRIDE_ZERO  ? 0
           : a->kind[axis] == KN_STRIDE_ONE ? 1
                                            : a->stride[axis];
}

void kn_lanes_bind(kn_lane_access *l, const kn_phase *phase, const kn_access *access, uint32_t once,
                   const kn_lane_axes *axes)
{
    const kn_axes lane = axes->lane, outer = axes->outer;
    const int bytes = l->bytes;
    *l = (kn_lane_access){.base = l->base, .bytes = bytes, .split = access->split_stride * bytes};
    l->start = access->offset * bytes;
    if (phase->nest.naxes >= 2) {
        l->down = stride_of(access, phase->nest.naxes - 2) * bytes;
        l->across = stride_of(access, phase->nest.naxes - 1) * bytes;
    }
    for (int k = lane.first; k < lane.first + lane.count; k++) {
        int64_t extent = phase->nest.axes[k].extent, stride = stride_of(access, k) * bytes;
        bool first_only = once >> k & 1;
        if (extent == 1)
            continue;
        int last = l->rank - 1;
        if (last >= 0 && l->stride[last] == stride * extent && l->once[last] == first_only) {
            l->extent[last] *= extent;
            l->stride[last] = stride;
            continue;
        }
        l->extent[l->rank] = extent;
        l->stride[l->rank] = stride;
        l->once[l->rank++] = first_only;
        l->any_once |= first_only;
    }
    int64_t back = 0; /* what the axes after k move back when they return to index 0 */
    for (int k = outer.count - 1; k >= 0; k--) {
        l->outer[k] = stride_of(access, outer.first + k) * bytes;
        l->carry[k] = l->outer[k] - back;
        back += l->outer[k] * (phase->nest.axes[outer.first + k].extent - 1);
    }
    l->outer_once = once >> outer.first & ((1u << outer.count) - 1);
}

static int64_t divide(int64_t a, int64_t b, int64_t *rest)
{
    if (((uint64_t)a | (uint64_t)b) >> 32 == 0) { /* 32-bit division is much faster */
        *rest = (uint32_t)a % (uint32_t)b;
        return (uint32_t)a / (uint32_t)b;
    }
    *rest = a % b;
    return a / b;
}

void kn_lanes_seek(const kn_lane_access *l, kn_cursor *c, int64_t start, int64_t n)
{
    if (l->rank == 0) {
        c->lane = 0;
        c->kind = KN_LANE_UNIT; /* there is a single lane */
        return;
    }
    int last = l->rank - 1;
    int64_t left = start, offset = 0;
    for (int k = last; k > 0; k--) {
        left = divide(left, l->extent[k], &c->index[k]);
        offset += c->index[k] * l->stride[k];
    }
    c->index[0] = left;
    c->lane = offset + left * l->stride[0];
    if (l->any_once || c->index[last] + n > l->extent[last])
        c->kind = KN_LANE_RUNS;
    else if (l->stride[last] == l->bytes || n == 1)
        c->kind = KN_LANE_UNIT;
    else
        c->kind = l->stride[last] == 0 ? KN_LANE_SAME : KN_LANE_STEP;
}

void kn_lanes_seek_tile(const kn_lane_access *l, kn_cursor *c, int64_t row, int64_t rows,
                        int64_t column, int64_t columns)
{
    c->lane = row * l->down + column * l->across;
    c->columns = columns;
    if (l->down == 0 && l->across == 0)
        c->kind = KN_LANE_SAME;
    else if (l->across == l->bytes && (rows == 1 || l->down == columns * l->bytes))
        c->kind = KN_LANE_UNIT;
    else if (columns == 1 && l->down == l->bytes)
        c->kind = KN_LANE_UNIT;
    else
        c->kind = KN_LANE_TILE;
}

/* Moves `index` to the first lane of the next run, where index[last] is 0; returns the bytes to it. */
static int64_t next_run(const kn_lane_access *l, int64_t *index)
{
    int k = l->rank - 1;
    int64_t by = -index[k] * l->stride[k];
    index[k] = 0;
    while (--k >= 0) {
        if (++index[k] < l->extent[k])
            return by + l->stride[k];
        by -= (l->extent[k] - 1) * l->stride[k];
        index[k] = 0;
    }
    return by;
}

static void read_run(int bytes, int64_t n, void *out, const char *p, int64_t stride)
{
    if (stride == bytes && n >= 16)
        memcpy(out, p, (size_t)(n * bytes));
    else
        kn_mover_of(bytes)->read(n, out, p, stride);
}

static void write_run(int bytes, int64_t n, char *p, int64_t stride, const void *in, int64_t step)
{
    if (stride == bytes && n >= 16 && step)
        memcpy(p, in, (size_t)(n * bytes));
    else
        kn_mover_of(bytes)->write(n, p, stride, in, step);
}

static bool runs_down(const kn_lane_access *l) { return llabs(l->down) < llabs(l->across); }

static void gather_tile(const kn_lane_access *l, const kn_cursor *c, int64_t n, void *out)
{
    const char *p = kn_lanes_at(l, c);
    int64_t rows = n / c->columns;
    if (c->columns == 1)
        read_run(l->bytes, n, out, p, l->down);
    else if (runs_down(l))
        kn_mover_of(l->bytes)->turn_in(rows, c->columns, out, p, l->down, l->across);
    else
        for (int64_t i = 0; i < rows; i++)
            read_run(l->bytes, c->columns, (char *)out + i * c->columns * l->bytes, p + i * l->down,
                     l->across);
}

static void scatter_tile(const kn_lane_access *l, const kn_cursor *c, int64_t n, const char *in,
                         bool same)
{
    char *p = kn_lanes_at(l, c);
    int64_t rows = n / c->columns;
    if (runs_down(l) && !same)
        kn_mover_of(l->bytes)->turn_out(rows, c->columns, p, l->down, l->across, in);
    else
        for (int64_t i = 0; i < rows; i++)
            write_run(l->bytes, c->columns, p + i * l->down, l->across,
                      same ? in : in + i * c->columns * l->bytes, same ? 0 : 1);
}

void kn_lanes_gather(const kn_lane_access *l, const kn_cursor *c, int64_t n, void *out)
{
    char *p = kn_lanes_at(l, c), *to = out;
    if (c->kind == KN_LANE_TILE) {
        gather_tile(l, c, n, out);
        return;
    }
    if (l->rank == 0) {
        read_run(l->bytes, 1, out, p, l->bytes);
        return;
    }
    int last = l->rank - 1;
    int64_t stride = c->kind == KN_LANE_UNIT ? l->bytes : l->stride[last];
    if (c->kind != KN_LANE_RUNS) {
        read_run(l->bytes, n, out, p, stride);
        return;
    }
    int64_t index[KN_MAX_RANK];
    memcpy(index, c->index, sizeof *index * (size_t)l->rank);
    for (;;) {
        int64_t len = l->extent[last] - index[last];
        if (len > n)
            len = n;
        read_run(l->bytes, len, to, p, stride);
        n -= len;
        if (n == 0)
            return;
        to += len * l->bytes;
        p += next_run(l, index);
    }
}

/* Unsigned, because the step past the last offset may overflow. */
static void count_32(int64_t n, uint32_t at, uint32_t stride, uint32_t *out)
{
    for (int64_t i = 0; i < n; i++, at += stride)
        out[i] = at;
}

static void count_64(int64_t n, uint64_t at, uint64_t stride, uint64_t *out)
{
    for (int64_t i = 0; i < n; i++, at += stride)
        out[i] = at;
}

void kn_lanes_count(const kn_lane_access *l, const kn_cursor *c, int64_t n, kn_dtype dtype,
                    void *out)
{
    int64_t at = l->start + c->outer + c->lane, index[KN_MAX_RANK];
    int last = l->rank - 1;
    if (last >= 0)
        memcpy(index, c->index, sizeof *index * (size_t)l->rank);
    for (int64_t done = 0;;) {
        int64_t len = last >= 0 && c->kind == KN_LANE_RUNS ? l->extent[last] - index[last] : n;
        int64_t stride = last >= 0 ? l->stride[last] : 0;
        if (len > n - done)
            len = n - done;
        if (dtype == KN_I32)
            count_32(len, (uint32_t)at, (uint32_t)stride, (uint32_t *)out + done);
        else
            count_64(len, (uint64_t)at, (uint64_t)stride, (uint64_t *)out + done);
        done += len;
        if (done == n)
            return;
        at += next_run(l, index);
    }
}

/* Do the lanes of the run at `index` store? Index 0 along every `once` axis but the last. */
static bool stores_here(const kn_lane_access *l, const int64_t *index)
{
    for (int k = 0; k < l->rank - 1; k++)
        if (l->once[k] && index[k] != 0)
            return false;
    return true;
}

void kn_lanes_scatter(const kn_lane_access *l, const kn_cursor *c, int64_t n, const void *in,
                      bool same)
{
    char *p = kn_lanes_at(l, c);
    const char *from = in;
    const int64_t step = same ? 0 : 1;
    if (c->kind == KN_LANE_TILE) {
        scatter_tile(l, c, n, in, same);
        return;
    }
    if (l->rank == 0 || c->kind == KN_LANE_SAME) {
        memcpy(p, in, (size_t)l->bytes);
        return;
    }
    int last = l->rank - 1;
    int64_t stride = c->kind == KN_LANE_UNIT ? l->bytes : l->stride[last];
    if (c->kind != KN_LANE_RUNS) {
        write_run(l->bytes, n, p, stride, in, step);
        return;
    }
    int64_t index[KN_MAX_RANK];
    memcpy(index, c->index, sizeof *index * (size_t)l->rank);
    for (;;) {
        int64_t len = l->extent[last] - index[last];
        if (len > n)
            len = n;
        bool first = index[last] == 0;
        if ((!l->once[last] || first) && stores_here(l, index))
            write_run(l->bytes, l->once[last] ? 1 : len, p, stride, from, step);
        n -= len;
        if (n == 0)
            return;
        from += len * l->bytes * step;
        p += next_run(l, index);
    }
}
