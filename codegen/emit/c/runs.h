/* Copies between memory, where lanes lie in several runs, and arrays of a block, in which they follow each other (pack.c); as
 * generated text, behind helpers.h. */
#ifndef KN_ADD_RUNS
#define KN_ADD_RUNS

enum {
    KN_PLANE_MOST = 512, /* elements of a plane, whose offsets are on the stack */
    KN_RUNS_AHEAD = 16,  /* how many runs, or planes, ahead is fetched, at most */
    KN_RUN_LINES = 32,   /* lines of a run that are fetched */
    KN_RUN_AXES = 16     /* at most, as KN_MAX_RANK says */
};

#if defined(__clang__)
#define KN_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#else
#define KN_UNROLL_4 _Pragma("GCC unroll 4")
#endif

/* The axes that lanes run along: extents, and elements from one index to the next. */
typedef struct kn_runs {
    int n;
    i64 extent[KN_RUN_AXES], step[KN_RUN_AXES];
} kn_runs;

static inline void kn_add_runs(kn_runs *r, i64 extent, i64 step)
{
    const int last = r->n - 1;
    if (r->n > 0 && extent == 1)
        return;
    if (r->n > 0 && (r->step[last] == extent * step || r->extent[last] == 1)) {
        extent *= r->extent[last]; /* it goes on where that ends: one axis */
        r->n--;
    }
    r->extent[r->n] = extent;
    r->step[r->n++] = step;
}

/* After how many lanes elements are the same again, for they differ along the last axes alone; 0: never. */
static inline i64 kn_period(const kn_runs *r)
{
    i64 period = r->step[0] == 0;
    for (int a = 1; a < r->n; a++)
        period *= r->extent[a];
    return period;
}

/* Do they have what they had so many lanes before? */
static inline truth kn_repeats(const kn_runs *r, i64 apart)
{
    const i64 period = kn_period(r);
    return period > 0 && apart % period == 0;
}

/* How many of n lanes are copied from memory, and the others from these. */
static inline i64 kn_once(const kn_runs *r, i64 n)
{
    const i64 period = kn_period(r);
    return period > 0 ? KN_MIN(n, period) : n;
}

static inline void kn_copy_again(void *dense, i64 done, i64 n)
{
    for (i64 more; done > 0 && done < n; done += more) {
        more = KN_MIN(done, n - done);
        __builtin_memcpy((char *)dense + done, dense, (u64)more);
    }
}

/* The offsets of the elements of a plane, whose axes are the last ones from `first` on. */
static __attribute__((noinline)) void kn_find_offsets(const kn_runs *r, int first, i64 *offset)
{
    i64 m = 1;
    offset[0] = 0;
    for (int a = r->n - 1; a >= first; a--) {
        for (i64 e = 1; e < r->extent[a]; e++)
            KN_LANES
        for (i64 j = 0; j < m; j++)
            offset[e * m + j] = offset[j] + e * r->step[a];
        m *= r->extent[a];
    }
}

typedef u8 __attribute__((may_alias)) kn_word_u8;
typedef u16 __attribute__((may_alias)) kn_word_u16;
typedef u32 __attribute__((may_alias)) kn_word_u32;
typedef u64 __attribute__((may_alias)) kn_word_u64;
typedef struct __attribute__((may_alias)) kn_word_u128 {
    u64 part[2];
} kn_word_u128;

/* The index of the i-th of runs along the first `axes` axes, and where it is; and where the next one is. */
static inline i64 kn_seek_run(const kn_runs *r, int axes, i64 i, i64 *index)
{
    i64 at = 0;
    for (int a = axes - 1; a >= 0; a--) {
        index[a] = i % r->extent[a];
        i /= r->extent[a];
        at += index[a] * r->step[a];
    }
    return at;
}

static inline i64 kn_next_run(const kn_runs *r, int axes, i64 at, i64 *index)
{
    for (int a = axes - 1; a >= 0; a--) {
        at += r->step[a];
        if (++index[a] < r->extent[a])
            break;
        at -= index[a] * r->step[a];
        index[a] = 0;
    }
    return at;
}

/* How many runs ahead is fetched, of runs so long: some KiB at most. */
static inline i64 kn_runs_ahead(i64 last)
{
    const i64 runs = 2048 / (last < 0 ? 1 - last : 1 + last);
    return runs < 1 ? 1 : KN_MIN(runs, (i64)KN_RUNS_AHEAD);
}

/* The lines of a run, from its first to its last element; of one that is longer than KN_RUN_LINES its first ones, and the last. */
#define KN_FETCH_LINES(from, to)                                                                   \
    do {                                                                                           \
        const char *const f = (const char *)(from), *const t = (const char *)(to);                 \
        __builtin_prefetch(f);                                                                     \
        for (i64 k = 64; k < t - f && k < 64 * KN_RUN_LINES; k += 64)                              \
            __builtin_prefetch(f + k);                                                             \
        __builtin_prefetch(t);                                                                     \
    } while (0)
#define KN_FETCH_NONE(from, to) (void)0

/* Lanes [i, i + n) of a block: run by run, if a run has KN_FOLD_LANES elements or is all there is; else one by one, by a table of the
 * offsets within a plane, which is the last axes that have KN_PLANE_MOST elements at most. Runs and planes are fetched ahead,
 * for hardware does not foresee large strides. */
#define KN_EACH_RUN(name, dense_type, memory_type, one, run, fetch)                                \
    static __attribute__((noinline)) void name(const kn_runs *r, dense_type dense,                 \
                                               memory_type memory, i64 i, i64 n)                   \
    {                                                                                              \
        i64 index[KN_RUN_AXES], offset[KN_PLANE_MOST], plane = r->extent[r->n - 1];                \
        const i64 step = r->step[r->n - 1];                                                        \
        int first = r->n - 1;                                                                      \
        const truth by_run = plane >= KN_FOLD_LANES || first == 0;                                 \
        if (!by_run) {                                                                             \
            while (first > 0 && plane * r->extent[first - 1] <= KN_PLANE_MOST)                     \
                plane *= r->extent[--first];                                                       \
            kn_find_offsets(r, first, offset);                                                     \
        }                                                                                          \
        i64 k = i % plane;                                                                         \
        i64 at = kn_seek_run(r, first, i / plane, index);                                          \
        const i64 last = by_run ? (plane - 1) * step : offset[plane - 1];                          \
        const i64 ahead = first > 0 ? kn_runs_ahead(last) * r->step[first - 1] : 0;                \
        (void)ahead; /* not all fetch */                                                           \
        for (i64 done = 0, len; done < n; done += len) {                                           \
            len = KN_MIN(plane - k, n - done);                                                     \
            fetch(memory + at + ahead, memory + at + ahead + last);                                \
            if (by_run)                                                                            \
                run;                                                                               \
            else                                                                                   \
                KN_UNROLL_4                                                                        \
            for (i64 j = 0; j < len; j++) {                                                        \
                KN_SCALAR;                                                                         \
                one;                                                                               \
            }                                                                                      \
            k = 0;                                                                                 \
            at = kn_next_run(r, first, at, index);                                                 \
        }                                                                                          \
    }

/* The same of runs of one element each: by vectors, which end behind a run, where there are as many more lanes: those come next. */
#define KN_SPREAD(U)                                                                               \
    static __attribute__((noinline)) void kn_spread_##U(const kn_runs *r, kn_word_##U *dense,      \
                                                        const kn_word_##U *memory, i64 i, i64 n)   \
    {                                                                                              \
        const int axis = r->n - 2;                                                                 \
        const i64 lanes = r->extent[axis + 1], runs = r->extent[axis], step = r->step[axis];       \
        const i64 written = (lanes + KN_FOLD_LANES - 1) / KN_FOLD_LANES * KN_FOLD_LANES;           \
        i64 index[KN_RUN_AXES], k = i % lanes, run = i / lanes % runs;                             \
        i64 at = kn_seek_run(r, axis, i / lanes / runs, index);                                    \
        while (n > 0) {                                                                            \
            const kn_word_##U *from = memory + at + run * step;                                    \
            i64 whole = k > 0 || n < written ? 0 : (n - written) / lanes + 1;                      \
            whole = KN_MIN(whole, runs - run);                                                     \
            run += whole;                                                                          \
            n -= whole * lanes;                                                                    \
            for (; whole > 0; whole--, from += step, dense += lanes) {                             \
                const kn_word_##U one = *from;                                                     \
                i64 j = 0;                                                                         \
                __builtin_prefetch(from + KN_RUNS_AHEAD * step);                                   \
                do                                                                                 \
                    KN_LANES KN_FEW for (int l = 0; l < KN_FOLD_LANES; l++) dense[j + l] = one;    \
                while ((j += KN_FOLD_LANES) < lanes);                                              \
            }                                                                                      \
            if (run < runs && n > 0) {                                                             \
                const i64 len = KN_MIN(lanes - k, n);                                              \
                for (i64 j = 0; j < len; j++) {                                                    \
                    KN_SCALAR;                                                                     \
                    dense[j] = *from;                                                              \
                }                                                                                  \
                dense += len;                                                                      \
                n -= len;                                                                          \
                k = 0;                                                                             \
                run++;                                                                             \
            }                                                                                      \
            if (run == runs) {                                                                     \
                at = kn_next_run(r, axis, at, index);                                              \
                run = 0;                                                                           \
            }                                                                                      \
        }                                                                                          \
    }

#define KN_PACK(U)                                                                                 \
    static inline void kn_pack_run_##U(kn_word_##U *to, const kn_word_##U *from, i64 step, i64 n)  \
    {                                                                                              \
        const kn_word_##U first = *from;                                                           \
        if (step == 1)                                                                             \
            __builtin_memcpy(to, from, (u64)n * sizeof *to);                                       \
        else if (step == 0)                                                                        \
            for (i64 j = 0; j < n; j++)                                                            \
                to[j] = first;                                                                     \
        else                                                                                       \
            for (i64 j = 0; j < n; j++) {                                                          \
                KN_SCALAR;                                                                         \
                to[j] = from[j * step];                                                            \
            }                                                                                      \
    }                                                                                              \
    KN_EACH_RUN(kn_pack_once_##U, kn_word_##U *, const kn_word_##U *,                              \
                dense[done + j] = memory[at + offset[k + j]],                                      \
                kn_pack_run_##U(dense + done, memory + at + k * step, step, len), KN_FETCH_LINES)  \
    KN_SPREAD(U)                                                                                   \
    static inline void kn_pack_##U(const kn_runs *r, kn_word_##U *dense,                           \
                                   const kn_word_##U *memory, i64 i, i64 n)                        \
    {                                                                                              \
        const i64 once = kn_once(r, n), bytes = (i64)sizeof *dense;                                \
        if (r->n > 1 && r->step[r->n - 1] == 0)                                                    \
            kn_spread_##U(r, dense, memory, i, once);                                              \
        else                                                                                       \
            kn_pack_once_##U(r, dense, memory, i, once);                                           \
        kn_copy_again(dense, once *bytes, n *bytes);                                               \
    }
#define KN_UNPACK(U)                                                                               \
    static inline void kn_unpack_run_##U(kn_word_##U *to, const kn_word_##U *from, i64 step,       \
                                         i64 n)                                                    \
    {                                                                                              \
        if (step == 1)                                                                             \
            __builtin_memcpy(to, from, (u64)n * sizeof *to);                                       \
        else                                                                                       \
            for (i64 j = 0; j < n; j++) {                                                          \
                KN_SCALAR;                                                                         \
                to[j * step] = from[j];                                                            \
            }                                                                                      \
    }                                                                                              \
    KN_EACH_RUN(kn_unpack_##U, const kn_word_##U *, kn_word_##U *,                                 \
                memory[at + offset[k + j]] = dense[done + j],                                      \
                kn_unpack_run_##U(memory + at + k * step, dense + done, step, len), KN_FETCH_NONE)
/* Indices, and not what is there. */
#define KN_PACK_INDEX(T)                                                                           \
    static inline void kn_run_of_##T(T *to, i64 from, i64 step, i64 n)                             \
    {                                                                                              \
        for (i64 j = 0; j < n; j++)                                                                \
            to[j] = (T)(from + j * step);                                                          \
    }                                                                                              \
    KN_EACH_RUN(kn_pack_index_once_##T, T *, i64,                                                  \
                dense[done + j] = (T)(memory + at + offset[k + j]),                                \
                kn_run_of_##T(dense + done, memory + at + k * step, step, len), KN_FETCH_NONE)     \
    static inline void kn_pack_index_##T(const kn_runs *r, T *dense, i64 memory, i64 i, i64 n)     \
    {                                                                                              \
        const i64 once = kn_once(r, n), bytes = (i64)sizeof *dense;                                \
        kn_pack_index_once_##T(r, dense, memory, i, once);                                         \
        kn_copy_again(dense, once *bytes, n *bytes);                                               \
    }

#endif
