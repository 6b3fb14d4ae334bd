/* Vectors: how many elements a thread takes at a time, and the kinds of strides that follow. */
#include <stdlib.h>

#include "base/work.h"
#include "codegen/kir/formula.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Is what the access begins at, wherever along the other axes, a multiple of `vec` elements? Members that are interleaved are whole
 * vectors. */
static bool begins_at_multiple(const kn_phase *ph, const kn_access *acc, int va, int vec)
{
    const int others = ph->how.interleaved ? ph->nest.ngroup : ph->nest.naxes;
    for (int a = 0; a < others; a++)
        if (a != va && (ph->nest.axes[a].extent != 1 || kn_is_invariant(ph)) &&
            acc->stride[a] % vec != 0)
            return false;
    return acc->split_stride % vec == 0 && acc->offset % vec == 0;
}

/* Are all its vectors equally far from aligned ones, wherever along the other axes? */
static bool is_shifted_alike(const kn_phase *ph, const kn_access *acc, int va, int vec)
{
    kn_access from_first = *acc;
    from_first.offset = 0;
    return begins_at_multiple(ph, &from_first, va, vec);
}

/* Does an array whose first element has this alignment begin at a vector of `vec` elements? */
static bool is_aligned(const kn_buf *buf, int align, int vec)
{
    const int bytes = kn_bytes(buf->dtype) * vec;
    return align % (bytes < 16 ? bytes : 16) == 0;
}

bool kn_vector_fits(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align, int va,
                    int vec)
{
    if (acc->stride[va] != 1)
        return true;
    return is_aligned(buf, align, vec) && begins_at_multiple(ph, acc, va, vec);
}

/* Of access i. Partial results of a single group happen to be contiguous, which is not worth another kernel. */
static void set_kinds(kn_phase *ph, kn_access *acc, int i)
{
    kn_transfer *by = &ph->how.transfers.data[i];
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
    by->linear = ph->how.linear && kn_walks_all_as_one(&ph->nest, acc);
    for (int a = 0; a < va && by->linear; a++)
        acc->kind[a] = KN_STRIDE_ZERO;
    by->vector = ph->how.vec > 1 && va >= 0 && acc->kind[va] == KN_STRIDE_ONE &&
                 by->linear == ph->how.linear && by->form != KN_BY_ELEMENTS &&
                 (!ph->how.unaligned || kn_access_varies(acc, 0, ph->nest.ngroup));
    const kn_store *st = i < ph->nest.values.len ? NULL : kn_store_at(ph, i);
    if (ph->how.interleaved && st && st->kind != KN_STORE_ELEMENT)
        by->vector = by->vector && ph->nest.axes[va].extent % ph->how.vec == 0;
    if (acc->buf == KN_BUF_COUNT) /* the counts of a vector begin at a multiple of its width */
        by->vector = by->vector && !ph->how.unaligned && !ph->how.linear && !ph->how.by_run &&
                     begins_at_multiple(ph, acc, va, ph->how.vec);
}

/* Do whole vectors leave a tail? Linear ones are ready for one in any case, so that one kernel serves all lengths. */
static bool leaves_tail(const kn_phase *ph, int va)
{
    return ph->how.walk != KN_WALK_COLS && ph->how.vec > 1 && !ph->how.unaligned &&
           !ph->how.by_run && (ph->how.linear || ph->nest.axes[va].extent % ph->how.vec != 0);
}

/* An entry for each access. */
static void begin_transfers(kn_arena *a, kn_phase *ph)
{
    if (ph->how.transfers.len == kn_accesses(ph))
        return;
    ph->how.transfers.data = KN_NEW_ARRAY(a, kn_transfer, kn_accesses(ph));
    ph->how.transfers.len = ph->how.transfers.cap = kn_accesses(ph);
}

static void set_all_kinds(kn_phase *ph)
{
    int va = kn_phase_vector_axis(ph);
    ph->how.tail = leaves_tail(ph, va);
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
    return target->sm && one_run && !kn_is_invariant(ph) && !ph->how.mixed && !ph->local &&
           !kn_phase_in_order(ph) && (ph->how.walk == KN_WALK_FLAT || is_long(ph, target));
}

static void forget_forms(kn_phase *ph)
{
    ph->how.linear = false;
    for (int i = 0; i < kn_accesses(ph); i++)
        ph->how.transfers.data[i].form = KN_BY_WORD;
}

/* May a vector of load i be assembled of aligned words? Of 16 bytes at most, in an array that has room for several. */
static bool may_be_shifted(const kn_phase *ph, int i, int vec)
{
    enum { VECTORS = 4, WIDEST = 16 };
    const kn_access_ends reach = kn_access_reach(&ph->nest, kn_element_access(ph, i), 0);
    return reach.high - reach.low >= VECTORS * vec - 1 &&
           kn_bytes(kn_value_at(ph, i)->dtype) * vec <= WIDEST;
}

/* How a load whose vectors are not aligned in memory is accessed by an assembled phase; KN_BY_WORD: it cannot be. */
static kn_vector_form unaligned_form(const kn_phase *ph, int i, int va, int vec)
{
    if (i >= ph->nest.values.len || kn_value_at(ph, i)->kind != KN_V_LOAD)
        return KN_BY_WORD;
    if (!may_be_shifted(ph, i, vec))
        return KN_BY_ELEMENTS;
    return is_shifted_alike(ph, kn_element_access(ph, i), va, vec) ? KN_BY_SHIFT : KN_BY_SHIFTS;
}

/* Can every access along axis `va` be by vectors of `vec` elements, aligned or assembled? Says how each is. */
static bool vectors_fit(const kn_site *at, kn_phase *ph, int va, int vec)
{
    const int64_t extent = ph->nest.axes[va].extent;
    bool fits = extent > 0 &&
                (extent % vec == 0 || ph->how.interleaved || may_leave_tail(ph, at->target, va));
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        const bool aligned =
            !acc || kn_vector_fits(ph, acc, &at->bufs[acc->buf], at->align[acc->buf], va, vec);
        const kn_vector_form form =
            aligned || !ph->how.assembled ? KN_BY_WORD : unaligned_form(ph, i, va, vec);
        ph->how.transfers.data[i].form = form;
        fits = aligned || form != KN_BY_WORD;
    }
    if (!fits)
        forget_forms(ph);
    return fits;
}

/* Bytes that a multiprocessor's cache gives while memory gives one, about (measured: docs/lab/near-arrays.md). */
enum { NEAR_RATE = 8 };

/* Does a multiprocessor's cache keep up with what it reads `near` bytes an element for, while `moved` bytes come from memory?
 * The last sweep of a row mostly reads all of the former, and the first all of the latter. */
static bool near_keeps_up_with_rows(int near, int moved)
{
    return 4 * near <= 3 * NEAR_RATE * moved;
}

/* Is `acc` as misaligned, in each group, as `first`? Sets *first if it is NULL. What is the same for all groups is
 * accessed by elements: it is small, and cached. */
static bool is_misaligned_alike(const kn_phase *ph, const kn_access *acc, const kn_buf *buf,
                                int align, const kn_access **first)
{
    if (acc->stride[ph->nest.naxes - 1] != 1 || !kn_access_varies(acc, 0, ph->nest.ngroup))
        return true;
    if (!is_aligned(buf, align, ph->how.vec))
        return false;
    bool alike = true;
    for (int a = 0; *first && a < ph->nest.ngroup; a++)
        alike = alike && (acc->stride[a] - (*first)->stride[a]) % ph->how.vec == 0;
    alike = alike && (!*first || (acc->offset - (*first)->offset) % ph->how.vec == 0);
    *first = *first ? *first : acc;
    return alike;
}

/* Unaligned rows go by vectors too, if all arrays are misaligned alike: a row of 50257 floats by vectors of 4, except
 * for the first and the last. Only long rows, which registers could not keep element by element, and whose vectors are no wider
 * than what is read beside them by elements can follow. */
static bool unaligned_fits(kn_phase *ph, const int *align, const kn_buf *bufs,
                           const kn_target *target)
{
    const kn_access *first = NULL;
    if (target->sm == 0 || ph->how.walk != KN_WALK_ROWS || ph->nest.reds.len == 0 ||
        ph->how.split || ph->how.mixed || ph->local || ph->universal || kn_is_invariant(ph) ||
        !kn_phase_one_run(ph) || kn_phase_in_order(ph) || !is_long(ph, target))
        return false;
    bool fits = true;
    int near = 0, moved = 0; /* an element, in bytes */
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        if (!acc || acc->stride[ph->nest.naxes - 1] == 0)
            continue;
        const int bytes = kn_bytes(bufs[acc->buf].dtype);
        if (kn_access_varies(acc, 0, ph->nest.ngroup))
            moved += bytes;
        else
            near += bytes;
        fits = is_misaligned_alike(ph, acc, &bufs[acc->buf], align[acc->buf], &first);
    }
    return fits && first && near_keeps_up_with_rows(near * ph->how.vec, moved);
}

/* Is it the same for all indices of some axis that has several? */
static bool is_broadcast(const kn_phase *ph, const kn_access *acc)
{
    bool same = false;
    for (int a = 0; a < ph->nest.naxes; a++)
        same = same || (ph->nest.axes[a].extent > 1 && acc->stride[a] == 0);
    return same;
}

int kn_widest_element(const kn_phase *ph, const kn_buf *bufs)
{
    const int va = kn_phase_vector_axis(ph);
    int widest = 1;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        if (!acc || (va >= 0 && acc->stride[va] == 0))
            continue;
        int bytes = kn_bytes(bufs[acc->buf].dtype);
        if (i < ph->nest.values.len && is_broadcast(ph, acc))
            bytes = (bytes + 1) / 2; /* by two accesses */
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* Bytes of the widest elements that each group of a mixed phase has. What is the same for all groups is loaded once a part,
 * by several accesses if need be; vectors are narrower where registers do not hold so much. */
static int widest_of_mixed(kn_phase *ph, const kn_buf *bufs, int va)
{
    enum { VECTOR_BYTES = 16 };
    int widest = 1;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        const int bytes = acc && acc->stride[va] && kn_access_varies(acc, 0, ph->nest.ngroup)
                              ? kn_bytes(bufs[acc->buf].dtype)
                              : 0;
        widest = bytes > widest ? bytes : widest;
    }
    for (; widest < VECTOR_BYTES; widest *= 2) {
        ph->how.vec = widest < 2 ? 8 : VECTOR_BYTES / widest;
        set_all_kinds(ph);
        if (kn_step_words(ph, 0) <= KN_MIXED_WORDS)
            break;
    }
    return widest;
}

/* Would functions of several elements at a time spill registers (measured: docs/lab/f64-registers.md)? */
static bool spills_vectors(const kn_phase *ph, const kn_target *target)
{
    return ph->how.walk == KN_WALK_COLS && ph->how.split && !ph->how.resident &&
           kn_has_wide_functions(ph, target);
}

/* Registers of a lane of columns for what its sweep accumulates, of the sweep that has most. */
static int accumulator_words(const kn_phase *ph)
{
    int most = 0;
    for (int t = 0; t < ph->nest.nsweeps; t++) {
        int words = 0;
        for (int r = 0; r < ph->nest.reds.len; r++)
            words += ph->nest.reds.data[r].stage == t
                         ? kn_words(1, kn_bytes(ph->nest.reds.data[r].dtype))
                         : 0;
        most = words > most ? words : most;
    }
    return most;
}

/* Do they take half of the 64 registers that a thread has where two blocks of 512 share a multiprocessor? Loads and conversions
 * take the other half. */
static bool accumulates_much(const kn_phase *ph, const kn_target *target)
{
    enum { REGISTERS = 64 };
    return ph->how.walk == KN_WALK_COLS && target->sm &&
           2 * accumulator_words(ph) * ph->how.vec >= REGISTERS;
}

/* ---- accesses by elements ---- */

/* Arrays up to this are in the caches of a multiprocessor; the most bytes of a vector that is read by elements: those of
 * neighbouring lanes are neighbours then, so that few lines are read again for each element. */
enum { NEAR_BYTES = 64 * 1024, SCALARISED_BYTES = 8 };

/* Bytes of all that a value can read. */
static double bytes_of_all(const kn_site *at, const kn_phase *ph, int value)
{
    const kn_touched touched = kn_read_touches(at->arena, ph, value);
    return (double)kn_bytes(kn_value_at(ph, value)->dtype) * (double)touched.most;
}

/* How many bytes an element has in what is accessed by vectors, element by element along them, and otherwise. Small arrays count
 * nothing, and what is read again at other offsets, as by a stencil, counts once: it is in the cache of a multiprocessor. */
typedef struct shares {
    int vectors, scalarised, others;
    bool loads; /* along the vectors */
    /* loads that count, in as many lists as there are values, of buffers whose numbers have the same remainder. Numbers
     * of values from 1 on; 0: none */
    int *latest;   /* per list */
    int *previous; /* per value: the one before it in its list */
} shares;

static shares begin_shares(const kn_site *at, const kn_phase *ph)
{
    return (shares){.latest = KN_NEW_ARRAY(at->arena, int, ph->nest.values.len + 1),
                    .previous = KN_NEW_ARRAY(at->arena, int, ph->nest.values.len + 1)};
}

/* Is load i the first that reads its array by these strides, and as it does, by vectors or not? Then it counts. */
static bool is_read_first(const kn_phase *ph, int i, shares *s)
{
    const kn_access *acc = kn_access_at(ph, i);
    int *latest = &s->latest[acc->buf % ph->nest.values.len];
    for (int j = *latest - 1; j >= 0; j = s->previous[j] - 1) {
        const kn_access *b = kn_access_at(ph, j);
        bool same =
            b->buf == acc->buf && kn_transfer_of(ph, j)->form == kn_transfer_of(ph, i)->form;
        for (int a = 0; same && a < ph->nest.naxes; a++)
            same = b->stride[a] == acc->stride[a];
        kn_work(1);
        if (same)
            return false;
    }
    s->previous[i] = *latest;
    *latest = i + 1;
    return true;
}

static void count_share(const kn_site *at, const kn_phase *ph, int i, bool along, shares *s)
{
    const kn_access *acc = kn_access_at(ph, i);
    const bool load = i < ph->nest.values.len;
    const int bytes = kn_bytes(at->bufs[acc->buf].dtype);
    s->loads = s->loads || (load && along);
    if (load && !is_read_first(ph, i, s))
        return;
    if (along && kn_transfer_of(ph, i)->form != KN_BY_ELEMENTS)
        s->vectors += bytes;
    else if (!load || bytes_of_all(at, ph, i) > NEAR_BYTES)
        *(along ? &s->scalarised : &s->others) += bytes;
}

/* Counts access i, which is by vectors of `vec` elements if it `fits`, or by elements. False: it can be neither. */
static bool take_access(const kn_site *at, kn_phase *ph, int i, bool along, bool fits, int vec,
                        shares *s)
{
    const int bytes = kn_bytes(at->bufs[kn_element_access(ph, i)->buf].dtype);
    ph->how.transfers.data[i].form = fits ? KN_BY_WORD : KN_BY_ELEMENTS;
    count_share(at, ph, i, along, s);
    return fits || (i < ph->nest.values.len && vec * bytes <= SCALARISED_BYTES);
}

/* Vectors along rows where some loads are not aligned for them, as of arrays that begin elsewhere: these are read by
 * elements, the others and all stores by vectors of as many. False if that is not most of the bytes, which depends on
 * how many groups there are. */
static bool scalarise_some(const kn_site *at, kn_phase *ph, int va, int vec)
{
    const int64_t extent = ph->nest.axes[va].extent;
    const kn_arena_mark here = kn_arena_here(at->arena);
    shares s = begin_shares(at, ph);
    bool fits = at->target->sm && !ph->nest.extents && !ph->local && !ph->how.mixed &&
                !ph->how.resident && !kn_is_invariant(ph) && extent > 0 &&
                (extent % vec == 0 || may_leave_tail(ph, at->target, va));
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        if (!acc)
            continue;
        const bool aligned =
            kn_vector_fits(ph, acc, &at->bufs[acc->buf], at->align[acc->buf], va, vec);
        fits = take_access(at, ph, i, acc->stride[va] == 1, aligned, vec, &s);
    }
    kn_arena_back(at->arena, here);
    fits = fits && s.scalarised > 0 && s.vectors >= s.scalarised;
    if (!fits)
        forget_forms(ph);
    return fits;
}

/* ---- vectors by run ---- */

/* Does it begin each run as many elements before a multiple of `vec` as `leader` does? Where that array's base is not
 * aligned, nothing is known of others. */
static bool begins_alike(const kn_site *at, const kn_phase *ph, const kn_access *acc,
                         const kn_access *leader, int vec)
{
    const bool aligned = is_aligned(&at->bufs[acc->buf], at->align[acc->buf], vec) &&
                         is_aligned(&at->bufs[leader->buf], at->align[leader->buf], vec);
    bool alike = aligned || acc->buf == leader->buf;
    for (int a = 0; a < ph->nest.naxes - 1 && alike; a++)
        alike = (acc->stride[a] - leader->stride[a]) % vec == 0;
    return alike && (acc->split_stride - leader->split_stride) % vec == 0 &&
           (acc->offset - leader->offset) % vec == 0;
}

/* What mixed rows have once a part: what all groups have in common, and partial results across them. Threads access it by
 * elements, from the first of their vectors on. */
static bool is_of_part(const kn_phase *ph, int i)
{
    const kn_access *acc = kn_element_access(ph, i);
    return ph->how.mixed && (!acc || !kn_access_varies(acc, 0, ph->nest.ngroup));
}

/* The first access along runs of the narrowest elements, of an array whose base is aligned if there is one. */
static const kn_access *leader_of(const kn_site *at, const kn_phase *ph, int vec)
{
    const kn_access *leader = NULL;
    int least = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        if (!acc || acc->stride[ph->nest.naxes - 1] != 1 || is_of_part(ph, i))
            continue;
        const kn_buf *buf = &at->bufs[acc->buf];
        const int order =
            kn_bytes(buf->dtype) + (is_aligned(buf, at->align[acc->buf], vec) ? 0 : 16);
        if (!leader || order < least) {
            leader = acc;
            least = order;
        }
    }
    return leader;
}

/* Does it read a small array along runs, of which a cache of a multiprocessor has all? */
static bool is_near(const kn_site *at, const kn_phase *ph, int i)
{
    return i < ph->nest.values.len && bytes_of_all(at, ph, i) <= NEAR_BYTES;
}

bool kn_schedule_by_run(const kn_site *at, kn_phase *ph, int vec, int aligned)
{
    const kn_access *leader = leader_of(at, ph, vec);
    const kn_arena_mark here = kn_arena_here(at->arena);
    shares s = begin_shares(at, ph);
    bool fits = leader;
    int near = 0; /* bytes that the cache reads for an element */
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        ph->how.transfers.data[i].form = is_of_part(ph, i) ? KN_BY_ELEMENTS : KN_BY_WORD;
        if (!acc || is_of_part(ph, i))
            continue;
        const int64_t stride = acc->stride[ph->nest.naxes - 1];
        const bool along = stride != 0,
                   alike = !along || (stride == 1 && begins_alike(at, ph, acc, leader, vec));
        fits = take_access(at, ph, i, along, alike, vec, &s);
        if (!fits && stride == 1 && is_near(at, ph, i)) {
            near += kn_bytes(at->bufs[acc->buf].dtype) * vec;
            fits = true;
        }
    }
    kn_arena_back(at->arena, here);
    fits = fits && s.vectors > 0 && s.vectors >= s.scalarised &&
           near_keeps_up_with_rows(near, s.vectors);
    ph->how.by_run = fits ? aligned : 0;
    if (ph->how.by_run)
        kn_schedule_as(at->arena, ph, vec);
    else
        forget_forms(ph);
    return fits;
}

/* ---- linear walks ---- */

static bool may_be_linear(const kn_phase *ph, const kn_target *target)
{
    bool once = false;
    for (int i = 0; i < ph->nest.stores.len; i++)
        once = once ||
               (ph->nest.stores.data[i].kind == KN_STORE_ELEMENT && ph->nest.stores.data[i].once);
    return target->sm && !once && ph->nest.ngroup == 0 && ph->nest.naxes > 0 &&
           ph->nest.members > 0 && !ph->nest.extents && !ph->universal && !ph->local &&
           !ph->how.mixed && !ph->how.resident && ph->nest.nsweeps == 1 &&
           ph->how.walk != KN_WALK_COLS && !kn_phase_in_order(ph) &&
           (ph->how.walk == KN_WALK_FLAT || is_long(ph, target));
}

/* Is it aligned for vectors over all members? */
static bool linear_fits(const kn_site *at, const kn_access *acc, int vec)
{
    return acc->offset % vec == 0 && is_aligned(&at->bufs[acc->buf], at->align[acc->buf], vec);
}

/* Is it read by vectors of so many elements? */
static bool is_read_linearly(const kn_site *at, const kn_phase *ph, const kn_value *v, int vec)
{
    return v->kind == KN_V_LOAD && kn_walks_all_as_one(&ph->nest, v->access) &&
           linear_fits(at, v->access, vec);
}

/* Of a linear walk: do small arrays that are read by elements keep up with what moves by vectors? Neighbouring lanes are `vec` elements apart
 * there, and the cache reads what lies between them for each element. */
static bool near_keeps_up(const kn_site *at, const kn_phase *ph, int vec)
{
    const int last = ph->nest.naxes - 1;
    int64_t near = 0, moved = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        const int bytes = acc ? kn_bytes(at->bufs[acc->buf].dtype) : 0;
        if (acc && kn_walks_all_as_one(&ph->nest, acc))
            moved += bytes;
        else if (acc && llabs(acc->stride[last]) == 1 && i < ph->nest.values.len)
            near += (int64_t)bytes * vec;
    }
    return near <= NEAR_RATE * moved;
}

/* The widest vectors, up to `vec`, that all stores allow, and arrays that are read by elements. */
static int linear_vector(const kn_site *at, const kn_phase *ph, int vec)
{
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        while (kn_is_read(v) && v->level == KN_ELEMENT && vec > 1 &&
               vec * kn_bytes(v->dtype) > SCALARISED_BYTES && !is_read_linearly(at, ph, v, vec) &&
               bytes_of_all(at, ph, i) > NEAR_BYTES)
            vec /= 2;
    }
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_access *acc = kn_element_access(ph, ph->nest.values.len + i);
        while (acc && vec > 1 &&
               (!kn_walks_all_as_one(&ph->nest, acc) || !linear_fits(at, acc, vec)))
            vec /= 2;
    }
    while (vec > 1 && !near_keeps_up(at, ph, vec))
        vec /= 2;
    return vec;
}

/* Vectors over all members as one, where rows allow none. Something is loaded along them, and most bytes are. */
static void walk_linearly(const kn_site *at, kn_phase *ph, int widest)
{
    int vec =
        may_be_linear(ph, at->target) ? linear_vector(at, ph, widest < 2 ? 8 : 16 / widest) : 1;
    const kn_arena_mark here = kn_arena_here(at->arena);
    shares s = begin_shares(at, ph);
    for (int i = 0; vec > 1 && i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        if (!acc)
            continue;
        const bool along = kn_walks_all_as_one(&ph->nest, acc);
        ph->how.transfers.data[i].form =
            along && !linear_fits(at, acc, vec) ? KN_BY_ELEMENTS : KN_BY_WORD;
        count_share(at, ph, i, along, &s);
    }
    kn_arena_back(at->arena, here);
    ph->how.linear = s.loads && s.vectors > 0 && s.vectors + s.scalarised >= s.others;
    if (ph->how.linear)
        ph->how.vec = vec;
    else
        forget_forms(ph);
}

/* Narrower vectors, or those that not all accesses allow. */
static void fit_vectors(const kn_site *at, kn_phase *ph, int va, int widest)
{
    const int wide = ph->how.vec;
    while (ph->how.vec > 1 && !vectors_fit(at, ph, va, ph->how.vec))
        ph->how.vec = narrower(ph->how.vec, widest);
    for (int vec = wide; vec > 1 && ph->how.vec == 1 && !ph->universal && !ph->how.interleaved;
         vec /= 2)
        if (scalarise_some(at, ph, va, vec))
            ph->how.vec = vec;
    if (ph->how.vec == 1)
        walk_linearly(at, ph, widest);
}

void kn_schedule_vectors(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    int va = kn_phase_vector_axis(ph), widest = kn_widest_element(ph, at->bufs);
    begin_transfers(at->arena, ph);
    if (ph->how.mixed && va >= 0 && !ph->universal)
        widest = widest_of_mixed(ph, at->bufs, va);
    forget_forms(ph);
    ph->how.vec = widest < 2 ? 8 : 16 / widest;
    ph->how.lanes = ph->how.mixed ? 0 : KN_COLS_LANES;
    if (ph->how.walk == KN_WALK_COLS && !ph->how.interleaved && ph->how.vec > 4)
        ph->how.vec = 4;
    if (va < 0 || ph->universal || spills_vectors(ph, target))
        ph->how.vec = 1;
    while (ph->how.walk == KN_WALK_COLS && ph->how.vec > 1 && !ph->how.interleaved &&
           kn_scheduled_groups(ph) < KN_COLS_LANES * ph->how.vec)
        ph->how.vec /= 2; /* narrow matrices: keep all lanes busy rather than use wide vectors */
    while (ph->how.vec > 1 && accumulates_much(ph, target))
        ph->how.vec /= 2;
    ph->how.unaligned = ph->how.vec > 1 && !vectors_fit(at, ph, va, ph->how.vec) &&
                        unaligned_fits(ph, at->align, at->bufs, target);
    if (!ph->how.unaligned)
        fit_vectors(at, ph, va, widest);
    set_all_kinds(ph);
}

bool kn_may_assemble(const kn_site *at, const kn_phase *ph)
{
    const int va = kn_phase_vector_axis(ph), wider = 2 * ph->how.vec;
    bool any = false;
    if (!at->target->sm || ph->how.walk != KN_WALK_COLS || ph->how.packed || ph->how.tile ||
        ph->how.scatter_sum || ph->universal || ph->nest.extents || ph->local || va < 0)
        return false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_access *acc = kn_element_access(ph, i);
        any =
            any || (acc && kn_value_at(ph, i)->kind == KN_V_LOAD && acc->stride[va] == 1 &&
                    !kn_vector_fits(ph, acc, &at->bufs[acc->buf], at->align[acc->buf], va, wider));
    }
    return any;
}

void kn_schedule_as(kn_arena *a, kn_phase *ph, int vec)
{
    begin_transfers(a, ph);
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
