/* Copies between memory and a tile of rows (tiled.c), as generated text, behind helpers.h. */

enum { KN_PLANE_SIDE = 64 }; /* of the tiles of a plane; longer where the other side is shorter */

static inline i64 kn_plane_side(i64 other)
{
    return KN_PLANE_SIDE * KN_PLANE_SIDE / (other < 1 ? 1 : KN_MIN(other, KN_PLANE_SIDE));
}

/* Do rows so far apart need to be fetched? What follows closely, processors see coming. */
static inline int kn_is_far(i64 step, i64 n) { return step > 2 * n; }

/* The axes that a copy walks: extents, and elements from one index to the next on either side. */
typedef struct kn_box {
    int n;
    i64 extent[16], to[16], from[16];
} kn_box;

static inline void kn_add_axis(kn_box *x, i64 extent, i64 to, i64 from)
{
    const int last = x->n - 1;
    if (x->n > 0 && x->to[last] == extent * to && x->from[last] == extent * from) {
        extent *= x->extent[last]; /* it goes on where that ends: one axis */
        x->n--;
    }
    x->extent[x->n] = extent;
    x->to[x->n] = to;
    x->from[x->n++] = from;
}

/* The last axis along which elements are neighbours, or the last one. */
static inline int kn_near_axis(int n, const i64 *step)
{
    for (int a = n - 1; a >= 0; a--)
        if (step[a] == 1)
            return a;
    return n - 1;
}

/* kn_plane: rows of columns. By tiles, of which the next one's lines are fetched, to be read or, `store`, written. kn_copy: all
 * axes, plane by plane: its columns are neighbours in `to`, its rows in `from`, if any are. */
#define KN_COPY_BOX(U)                                                                             \
    static void kn_plane_##U(U *to, i64 to_row, i64 to_column, const U *from, i64 from_row,        \
                             i64 from_column, i64 rows, i64 columns, int store)                    \
    {                                                                                              \
        const i64 most = kn_plane_side(rows), side = kn_plane_side(columns);                       \
        for (i64 r = 0, m; r < rows; r += m) {                                                     \
            m = KN_MIN(side, rows - r);                                                            \
            for (i64 l = 0, n; l < columns; l += n) {                                              \
                n = KN_MIN(most, columns - l);                                                     \
                U *const t = to + r * to_row + l * to_column;                                      \
                const U *const f = from + r * from_row + l * from_column;                          \
                if (to_column != 1 || from_row != 1) {                                             \
                    for (i64 i = 0; i < m; i++)                                                    \
                        for (i64 j = 0; j < n; j++)                                                \
                            t[i * to_row + j * to_column] = f[i * from_row + j * from_column];     \
                    continue;                                                                      \
                }                                                                                  \
                kn_turn_##U(t, to_row, f, from_column, m, n);                                      \
                if (!kn_is_far(store ? to_row : from_column, store ? columns : rows))              \
                    continue;                                                                      \
                if (store)                                                                         \
                    KN_FETCH_ROWS(t + m * to_row, to_row, KN_MIN(m, rows - r - m), n, 1);          \
                else                                                                               \
                    KN_FETCH_ROWS(f + n * from_column, from_column, KN_MIN(n, columns - l - n), m, \
                                  0);                                                              \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void kn_copy_##U(kn_box *x, U *to, const U *from, int store)                            \
    {                                                                                              \
        i64 index[16] = {0};                                                                       \
        if (x->n == 1)                                                                             \
            kn_add_axis(x, 1, 0, 0);                                                               \
        const int column = kn_near_axis(x->n, x->to), near = kn_near_axis(x->n, x->from);          \
        const int row = near != column ? near : column > 0 ? column - 1 : 1;                       \
        for (int a = 0; a >= 0;) {                                                                 \
            U *t = to;                                                                             \
            const U *f = from;                                                                     \
            for (a = 0; a < x->n; a++) {                                                           \
                t += index[a] * x->to[a];                                                          \
                f += index[a] * x->from[a];                                                        \
            }                                                                                      \
            if (x->to[column] == 1 && x->from[column] == 1)                                        \
                for (i64 r = 0; r < x->extent[row]; r++)                                           \
                    __builtin_memcpy(t + r * x->to[row], f + r * x->from[row],                     \
                                     (u64)x->extent[column] * sizeof(U));                          \
            else                                                                                   \
                kn_plane_##U(t, x->to[row], x->to[column], f, x->from[row], x->from[column],       \
                             x->extent[row], x->extent[column], store);                            \
            for (a = x->n - 1; a >= 0; a--) {                                                      \
                if (a == column || a == row)                                                       \
                    continue;                                                                      \
                if (++index[a] < x->extent[a])                                                     \
                    break;                                                                         \
                index[a] = 0;                                                                      \
            }                                                                                      \
        }                                                                                          \
    }
