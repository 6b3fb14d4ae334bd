/* Vectors: how many elements a thread takes at a time, and the kinds of strides that follow. */
#include "codegen/kir/formula.h"
#include "codegen/sched/sched.h"

/* Is what the access begins at, wherever along the other axes, a multiple of `vec` elements? */
static bool begins_at_multiple(const kn_phase *ph, const kn_access *acc, int va, int vec)
{
    for (int a = 0; a < ph->nest.naxes; a++)
        if (a != va && ph->nest.axes[a].extent != 1 && acc->stride[a] % vec != 0)
            return false;
    return acc->split_stride % vec == 0 && acc->offset % vec == 0;
}

bool kn_vector_fits(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align, int va,
                    int vec)
{
    int bytes = kn_bytes(buf->dtype) * vec;
    if (acc->stride[va] != 1)
        return true;
    return align % (bytes < 16 ? bytes : 16) == 0 && begins_at_multiple(ph, acc, va, vec);
}

/* Of access i. Partial results of a single group happen to be contiguous, which is not worth another kernel. */
static void set_kinds(const kn_phase *ph, kn_access *acc, int i)
{
    bool by_chance = ph->local && ph->how.vec == 1;
    int va = kn_phase_vector_axis(ph), along = kn_transpose_of(ph, i) ? ph->nest.naxes - 1 : va;
    for (int a = 0; a < ph->nest.naxes; a++)
        if (ph->universal)
            acc->kind[a] = acc->axes >> a & 1 ? KN_STRIDE_PARAM : KN_STRIDE_ZERO;
        else
            acc->kind[a] = kn_stride_is(&ph->nest, acc, a, 0) ? KN_STRIDE_ZERO
                           : a == along && kn_stride_is(&ph->nest, acc, a, 1) && !by_chance
                               ? KN_STRIDE_ONE
                               : KN_STRIDE_PARAM;
    acc->shifted = !kn_offset_is(&ph->nest, acc, 0) || ph->universal;
    acc->vector = ph->how.vec > 1 && va >= 0 && acc->kind[va] == KN_STRIDE_ONE &&
                  (!ph->how.unaligned || kn_access_varies(acc, 0, ph->nest.ngroup));
    if (acc->buf == KN_BUF_COUNT) /* the counts of a vector begin at a multiple of its width */
        acc->vector =
            acc->vector && !ph->how.unaligned && begins_at_multiple(ph, acc, va, ph->how.vec);
}

static void set_all_kinds(kn_phase *ph)
{
    int va = kn_phase_vector_axis(ph);
    ph->how.tail = ph->how.walk != KN_WALK_COLS && ph->how.vec > 1 && !ph->how.unaligned &&
                   ph->nest.axes[va].extent % ph->how.vec != 0;
    for (int i = 0; i < kn_accesses(ph); i++)
        if (kn_any_access(ph, i))
            set_kinds(ph, kn_any_access(ph, i), i);
}

/* From vectors of 16 bytes to 4 bytes, then to one element. */
static int narrower(int vec, int bytes) { return vec * bytes > 4 && bytes < 4 ? 4 / bytes : 1; }

const kn_access *kn_element_access(const kn_phase *ph, int i)
{
    bool element = i < ph->nest.values.len || kn_store_at(ph, i)->kind == KN_STORE_ELEMENT;
    return element ? kn_access_at(ph, i) : NULL;
}

/* Are groups too long for registers to keep them element by element? */
static bool is_long(const kn_phase *ph, const kn_target *target)
{
    return ph->nest.members > KN_KEEP_STEPS * target->max_block;
}

/* May whole vectors leave a tail? In a single run, which ends but once; shorter groups than these are partial results
 * mostly, and wait for each element. */
static bool may_leave_tail(const kn_phase *ph, const kn_target *target, int va)
{
    bool one_run = ph->how.walk != KN_WALK_COLS;
    for (int a = 0; a < ph->nest.naxes; a++)
        one_run = one_run && (a == va || ph->nest.axes[a].extent == 1);
    return target->sm && one_run && !ph->how.mixed && !ph->local && !kn_phase_in_order(ph) &&
           (ph->how.walk == KN_WALK_FLAT || is_long(ph, target));
}

/* Can every access along axis `va` be by aligned vectors of `vec` elements? */
static bool vectors_fit(const kn_site *at, const kn_phase *ph, int va, int vec)
{
    const int64_t extent = ph->nest.axes[va].extent;
    bool fits = extent > 0 && (extent % vec == 0 || may_leave_tail(ph, at->target, va));
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        fits = !acc || kn_vector_fits(ph, acc, &at->bufs[acc->buf], at->align[acc->buf], va, vec);
    }
    return fits;
}

/* Is `acc` as misaligned, in each group, as `first`? Sets *first if it is NULL. What is the same for all groups is
 * accessed by elements: it is small, and cached. */
static bool is_misaligned_alike(const kn_phase *ph, const kn_access *acc, const kn_buf *buf,
                                int align, const kn_access **first)
{
    int va = ph->nest.naxes - 1, bytes = kn_bytes(buf->dtype) * ph->how.vec;
    if (acc->stride[va] != 1 || !kn_access_varies(acc, 0, ph->nest.ngroup))
        return true;
    if (align % (bytes < 16 ? bytes : 16) != 0)
        return false;
    bool alike = true;
    for (int a = 0; *first && a < ph->nest.ngroup; a++)
        alike = alike && (acc->stride[a] - (*first)->stride[a]) % ph->how.vec == 0;
    alike = alike && (!*first || (acc->offset - (*first)->offset) % ph->how.vec == 0);
    *first = *first ? *first : acc;
    return alike;
}

/* Unaligned rows go by vectors too, if all arrays are misaligned alike: a row of 50257 floats by vectors of 4, except
 * for the first and the last. Only long rows, which registers could not keep element by element. */
static bool unaligned_fits(kn_phase *ph, const int *align, const kn_buf *bufs,
                           const kn_target *target)
{
    const kn_access *first = NULL;
    if (target->sm == 0 || ph->how.walk != KN_WALK_ROWS || ph->nest.reds.len == 0 ||
        ph->how.split || ph->how.mixed || ph->local || ph->universal || !kn_phase_one_run(ph) ||
        kn_phase_in_order(ph) || !is_long(ph, target))
        return false;
    bool fits = true;
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        fits = !acc || is_misaligned_alike(ph, acc, &bufs[acc->buf], align[acc->buf], &first);
    }
    return fits && first;
}

int kn_widest_element(const kn_phase *ph, const kn_buf *bufs)
{
    int widest = 1;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : 0;
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* Would functions of several elements at a time spill registers (measured: docs/lab/f64-registers.md)? */
static bool spills_vectors(const kn_phase *ph, const kn_target *target)
{
    return ph->how.walk == KN_WALK_COLS && ph->how.split && !ph->how.resident &&
           kn_has_wide_functions(ph, target);
}

void kn_schedule_vectors(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    int va = kn_phase_vector_axis(ph), widest = kn_widest_element(ph, at->bufs);
    ph->how.vec = widest < 2 ? 8 : 16 / widest;
    ph->how.lanes = KN_COLS_LANES;
    if (ph->how.walk == KN_WALK_COLS && ph->how.vec > 4)
        ph->how.vec = 4;
    if (va < 0 || ph->universal || spills_vectors(ph, target))
        ph->how.vec = 1;
    while (ph->how.walk == KN_WALK_COLS && ph->how.vec > 1 &&
           ph->nest.groups < KN_COLS_LANES * ph->how.vec)
        ph->how.vec /= 2; /* narrow matrices: keep all lanes busy rather than use wide vectors */
    ph->how.unaligned = ph->how.vec > 1 && !vectors_fit(at, ph, va, ph->how.vec) &&
                        unaligned_fits(ph, at->align, at->bufs, target);
    while (!ph->how.unaligned && ph->how.vec > 1 && !vectors_fit(at, ph, va, ph->how.vec))
        ph->how.vec = narrower(ph->how.vec, widest);
    set_all_kinds(ph);
}

void kn_schedule_as(kn_phase *ph, int vec)
{
    ph->how.vec = vec;
    set_all_kinds(ph);
}

bool kn_has_wide_functions(const kn_phase *ph, const kn_target *target)
{
    enum { FUNCTION = 16 }; /* additions; more than a division takes */
    bool wide = false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        wide = wide || (v->kind == KN_V_ELEM && v->level == KN_ELEMENT && v->dtype == KN_F64 &&
                        kn_ops[v->op].cost >= FUNCTION);
    }
    for (int r = 0; r < ph->nest.reds.len; r++)
        wide =
            wide || (ph->nest.reds.data[r].dtype == KN_F64 && kn_red_state(ph, r) == KN_STATE_PEAK);
    return wide && target->sm;
}
