/* Phases to kernels: barriers, buffers and parameters of each kernel. */
#include <string.h>

#include "codegen/kir/grid.h"
#include "codegen/kir/params.h"
#include "codegen/model/caches.h"
#include "codegen/model/resources.h"
#include "codegen/plan/build.h"
#include "codegen/plan/form/form.h"

/* Numbers of the planner's lists in the kernel's: -1 until used. */
typedef struct remap {
    int *bufs, *scalars, *extents;
} remap;

static int *fresh_map(kn_arena *a, int n)
{
    int *map = KN_NEW_ARRAY(a, int, n + 1);
    memset(map, -1, sizeof *map * (size_t)n);
    return map;
}

static void use_buf(kn_planner *p, kn_kernel *k, remap *m, int *buf)
{
    if (m->bufs[*buf] < 0) {
        m->bufs[*buf] = k->bufs.len;
        kn_push(p->arena, &k->bufs, p->bufs.data[*buf]);
    }
    *buf = m->bufs[*buf];
}

static void use_value(kn_planner *p, kn_kernel *k, remap *m, kn_value *v)
{
    const kn_graph *g = p->problem->graph;
    if (kn_is_read(v) || v->kind == KN_V_RANK) {
        use_buf(p, k, m, &v->access->buf);
    } else if (v->kind == KN_V_SCALAR) {
        const kn_input *in = &g->inputs.data[v->index];
        if (m->scalars[v->index] < 0) {
            m->scalars[v->index] = k->scalars.len;
            kn_push(p->arena, &k->scalars,
                    ((kn_scalar_param){v->index, in->node->dtype,
                                       kn_identifier(p->arena, "arg_", in->name)}));
        }
        v->index = m->scalars[v->index];
    } else if (v->kind == KN_V_EXTENT) {
        if (m->extents[v->index] < 0) {
            m->extents[v->index] = k->extents.len;
            kn_push(p->arena, &k->extents, p->extents.data[v->index]);
        }
        v->index = m->extents[v->index];
    }
}

/* Ranks exchange between two grid barriers, behind which all that was written before can be read. */
static void place_barriers(kn_arena *a, kn_kernel *k)
{
    kn_written written = kn_nothing_written(a, k->bufs.len);
    for (int i = 0, round = k->round; i < k->phases.len; i++) {
        kn_phase *ph = &k->phases.data[i];
        if (ph->local)
            continue;
        written.since += ph->round > round;
        ph->barrier = kn_phase_waits(k->phases.data, i, &written) || ph->round > round;
        k->ranks = k->ranks || ph->round > round || kn_nest_exchanges(&ph->nest);
        round = ph->round;
    }
}

/* Words of mailboxes, by the numbers of exchanges: the same on all ranks. */
static void place_in_mailboxes(kn_kernel *k)
{
    int64_t word = 0;
    for (int last = 0, next = -1; k->ranks; last = k->bufs.data[next].exchange) {
        next = -1;
        for (int i = 0; i < k->bufs.len; i++)
            if (k->bufs.data[i].exchange > last &&
                (next < 0 || k->bufs.data[i].exchange < k->bufs.data[next].exchange))
                next = i;
        if (next < 0) {
            k->ranks = word > 0; /* empty ones need not be */
            return;
        }
        k->bufs.data[next].word = word;
        word += kn_exchange_words(&k->bufs.data[next]);
    }
}

/* What a block reads alone in the time that a barrier takes; how many work items it may have, and how many work items times
 * sweeps if the launch is cooperative anyhow. */
enum { LAST_BLOCK_BYTES = 64 * 1024, LAST_BLOCK_TURNS = 4, SWEEPS_OF_COOPERATIVE = 2 };

/* Is what is loaded for a group stored for that very group? One group may also store it for all, if a single tile has them
 * all. */
static bool same_groups(const kn_phase *ph, const kn_store *st, const kn_access *loaded)
{
    for (int a = 0; a < ph->nest.ngroup; a++)
        if (st->access.stride[a] != loaded->stride[a] && ph->nest.axes[a].extent != 1)
            return false;
    return st->access.offset == loaded->offset &&
           (!st->once || ph->nest.groups <= kn_cols_width(ph));
}

/* Does phase p read what phases before the last `n` store? */
static bool reads_from_before(const kn_kernel *k, int p, int n)
{
    bool reads = false;
    for (int i = 0; i < p - n; i++)
        for (int j = 0; j < k->phases.data[i].nest.stores.len; j++)
            reads = reads || kn_reads_from(&k->phases.data[p],
                                           k->phases.data[i].nest.stores.data[j].access.buf);
    return reads;
}

/* Does phase p combine nothing but what the split phase before it, over the same tiles of columns, has left for each? */
static bool combines_tiles(const kn_kernel *k, int p)
{
    const kn_phase *before = &k->phases.data[p - 1], *ph = &k->phases.data[p];
    if (reads_from_before(k, p, 1) || before->how.walk != KN_WALK_COLS || !before->how.split ||
        before->local || ph->local || ph->how.walk != KN_WALK_COLS || ph->how.split ||
        ph->how.tile || ph->nest.ngroup != before->nest.ngroup ||
        ph->nest.members != before->num.splits || kn_cols_width(ph) != kn_cols_width(before))
        return false;
    for (int a = 0; a < ph->nest.ngroup; a++)
        if (ph->nest.axes[a].extent != before->nest.axes[a].extent)
            return false;
    for (int i = 0; i < before->nest.stores.len; i++)
        for (int j = 0; j < ph->nest.values.len; j++)
            if (kn_is_read(&ph->nest.values.data[j]) &&
                ph->nest.values.data[j].access->buf == before->nest.stores.data[i].access.buf &&
                !same_groups(ph, &before->nest.stores.data[i], ph->nest.values.data[j].access))
                return false;
    return kn_ceil_div(ph->nest.groups, (int64_t)kn_cols_width(ph)) <
           KN_BARRIER_WORDS - KN_FETCH_WORDS;
}

/* May the last block do phase p, which waits at a barrier and stores a result a group? Not if it reads what blocks hold on
 * chip, nor if later phases need its local phases, which every block computes. The other blocks go on to the next grid
 * barrier, or are done; between two barriers one phase at most does so, for all of them count in the same word. */
static bool may_finish(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    const int before = kn_first_local(k, p) - 1;
    return ph->barrier && !ph->how.cluster && !kn_phase_stores_elements(ph) &&
           !kn_phase_resident(ph) && !kn_shares_locals(k, p) && kn_others_wait_behind(k, p) &&
           (before < 0 || !k->phases.data[before].how.last_block);
}

/* Phase p by the last block, alone or for each tile, if it is small enough; else as it was. */
static void finish_phase(kn_kernel *k, int p, bool cooperative)
{
    kn_phase *ph = &k->phases.data[p];
    const int most = cooperative ? SWEEPS_OF_COOPERATIVE : LAST_BLOCK_TURNS,
              sweeps = cooperative && ph->nest.nsweeps > 1 ? ph->nest.nsweeps : 1;
    int64_t bytes = 0;
    for (int i = kn_first_local(k, p); i <= p && bytes <= LAST_BLOCK_BYTES; i++)
        bytes += kn_phase_bytes_read(k->arena, &k->phases.data[i], k->bufs.data);
    const bool small =
        bytes <= LAST_BLOCK_BYTES && kn_grid_phase_blocks(ph, k->threads) * sweeps <= most;
    const bool first = p > 0 && kn_first_local(k, p - 1) == 0;
    ph->how.last_of_tile = p > 0 && (first || !small) && combines_tiles(k, p);
    ph->how.last_block = ph->how.last_of_tile || small;
    ph->barrier = !ph->how.last_block;
}

/* What is small the last block to come there does, instead of all behind a barrier: partial results, mostly, which it
 * combines in the order that they always have. Those of columns the last of each tile's blocks combines, while other
 * tiles are still being read. The others go on to the next barrier, or are done: where a kernel's only barrier is in front of
 * its last phase nobody waits, so that the launch need not be one whose blocks are all there at a time. */
static void finish_by_last_block(kn_kernel *k)
{
    int barriers = 0;
    for (int i = 0; i < k->phases.len; i++)
        barriers += k->phases.data[i].barrier;
    for (int i = 0; i < k->phases.len; i++)
        if (may_finish(k, i))
            finish_phase(k, i, barriers > 1);
    if (barriers == 1 && k->phases.data[k->phases.len - 1].how.last_block)
        kn_sum_by_atomics(k);
}

/* Blocks that stay and take every so-many-th tile are soon apart, so that what neighbouring tiles have of the same lines and pages of
 * memory is moved at different times. If they fetch their tiles, these begin in their order, as blocks do of which each has one
 * (measured: docs/lab/transposed-tiles.md#blocks-that-stay). */
static void fetch_tiles(kn_kernel *k, const kn_target *target)
{
    const bool stay = kn_kernel_cooperative(k);
    const double blocks = (double)kn_blocks_a_unit(k, target) * target->units;
    for (int i = 0; i < k->phases.len && i < KN_FETCH_WORDS; i++) {
        kn_phase *ph = &k->phases.data[i];
        ph->how.fetch = stay && ph->how.walk == KN_WALK_COLS && ph->how.tile && ph->how.split &&
                        ph->num.splits > 1 && ph->nest.reds.len == 0 &&
                        (double)kn_grid_phase_blocks(ph, k->threads) > blocks;
    }
}

/* Could an index, or an element's offset, need more than 31 bits? */
static bool is_wide(const kn_kernel *k)
{
    const int64_t limit = INT32_MAX - (1 << 24); /* room for one step of the whole grid */
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        int64_t total;
        if (__builtin_mul_overflow(ph->nest.groups, ph->nest.members, &total) || total > limit)
            return true;
        for (int j = 0; j < kn_accesses(ph); j++) {
            const kn_value *v = j < ph->nest.values.len ? kn_value_at(ph, j) : NULL;
            const kn_access *acc = kn_any_access(ph, j);
            if (!acc)
                continue;
            int64_t reach = acc->split_stride * kn_parts_left(ph);
            for (int x = 0; v && acc->gathered && x < v->nin; x++) {
                const kn_gathered_axis *axis = &v->access->gathered[x];
                int64_t s = axis->stride < 0 ? -axis->stride : axis->stride;
                reach += s * (axis->extent > 0 ? axis->extent - 1 : 0);
            }
            reach += acc->offset < 0 ? -acc->offset : acc->offset;
            for (int x = 0; x < ph->nest.naxes; x++) {
                int64_t s = acc->stride[x] < 0 ? -acc->stride[x] : acc->stride[x];
                reach += s * (ph->nest.axes[x].extent > 0 ? ph->nest.axes[x].extent - 1 : 0);
            }
            if (reach > limit)
                return true;
        }
    }
    return false;
}

/* Does the kernel have an input and the output that lies on it? */
static bool has_overlap(const kn_planner *p, const kn_kernel *k)
{
    const int *over = p->problem->over;
    bool *has = KN_NEW_ARRAY(p->arena, bool, p->problem->graph->outputs.len + 1), any = false;
    for (int i = 0; i < k->bufs.len; i++)
        if (k->bufs.data[i].kind == KN_BUF_OUTPUT)
            has[k->bufs.data[i].index] = true;
    for (int i = 0; i < k->bufs.len && over; i++) {
        const kn_buf *b = &k->bufs.data[i];
        any = any || (b->kind == KN_BUF_INPUT && over[b->index] >= 0 && has[over[b->index]]);
    }
    return any;
}

/* The text of the schedules that are given; NULL: none. Universal kernels take none. */
static const char *given_text(const kn_planner *p)
{
    return p->problem->universal ? NULL : p->problem->force.text;
}

/* The schedules with '|' between them from the one of kernel `number` on; "": it has none. */
static const char *texts_from(const char *text, int number)
{
    for (; number > 0 && *text; number--) {
        text += strcspn(text, "|");
        text += *text == '|';
    }
    return text;
}

static kn_status bind(kn_planner *p, kn_kernel *k, int number)
{
    const kn_site at = kn_kernel_site(p, k);
    if (given_text(p)) {
        kn_kernel_schedule forced;
        const char *from = texts_from(given_text(p), number);
        const char *text = kn_sprintf(p->arena, "%.*s", (int)strcspn(from, "|"), from);
        if (!text[strspn(text, " ")])
            return kn_fail(KN_ARGUMENT,
                           "kernel %d has no schedule; '|' is between those of several", number);
        KN_TRY(kn_schedule_read(p->arena, text, &forced));
        return kn_bind_as(&at, k, &forced);
    }
    kn_bind_kernel(&at, k);
    return KN_OK;
}

/* Phases that do not wait for each other, side by side. */
static kn_status run_beside(const kn_planner *p, kn_kernel *k)
{
    if (given_text(p))
        return kn_run_beside_as_given(k);
    if (!p->problem->universal)
        kn_run_beside(k);
    return KN_OK;
}

/* Where blocks begin one after the other: as given, or where it helps, which depends on the sizes. */
static void skew(const kn_planner *p, kn_kernel *k)
{
    const kn_problem *pr = p->problem;
    kn_phase *ph = &k->phases.data[0];
    if (pr->universal || pr->formulas)
        return;
    if (!given_text(p))
        kn_skew_blocks(k, pr->target);
    else if (ph->how.skewed && !ph->num.skew)
        ph->num.skew = kn_block_skew(k, pr->target);
}

/* Gives the kernel phases [from, to), shaped. */
static void add_phases(kn_planner *p, kn_kernel *k, int from, int to)
{
    int hosts = 0;
    bool keeps = false;
    for (int i = from; i < to; i++) {
        hosts += !p->phases.data[i].local;
        keeps = keeps || kn_keeps_shared(&p->phases.data[i]);
        if (!p->problem->universal)
            kn_narrow_indices(p, &p->phases.data[i]);
    }
    for (int i = from, first = from; i < to; i++) {
        if (p->phases.data[i].local)
            continue;
        p->phases.data[i].no_cluster =
            (hosts > 1 && keeps) || (!given_text(p) && kn_kernel_in_clusters(k));
        kn_shaped *s = kn_shape(p, &p->phases.data[first], i - first + 1, hosts == 1);
        const kn_phase *phases = kn_shaped_with_other_vectors(p, s);
        for (int j = 0; j < s->n; j++)
            kn_push(p->arena, &k->phases, kn_phase_copy(p->arena, &phases[j]));
        first = i + 1;
    }
}

/* The kernel of phases [from, to), bound. */
static kn_status bind_kernel(kn_planner *p, int number, int from, int to, kn_kernel **made)
{
    const kn_graph *g = p->problem->graph;
    kn_kernel *k = *made = KN_NEW(p->arena, kn_kernel);
    remap m = {fresh_map(p->arena, p->bufs.len), fresh_map(p->arena, g->inputs.len),
               fresh_map(p->arena, p->extents.len)};
    k->arena = p->arena;
    add_phases(p, k, from, to);
    for (int i = 0; i < k->phases.len; i++)
        k->phases.data[i].round = kn_planner_round(p, from + i);
    for (int i = 0; i < k->phases.len; i++) {
        kn_nest *nest = &k->phases.data[i].nest;
        for (int j = 0; j < nest->values.len; j++)
            use_value(p, k, &m, &nest->values.data[j]);
        for (int j = 0; j < nest->stores.len; j++)
            use_buf(p, k, &m, &nest->stores.data[j].access.buf);
    }
    k->round = kn_planner_round(p, from);
    k->fast = p->problem->fast;
    k->disjoint = !p->problem->universal && !has_overlap(p, k);
    place_barriers(p->arena, k);
    KN_TRY(bind(p, k, number));
    place_in_mailboxes(k);
    if (p->problem->target->sm != 0) {
        if (!p->problem->universal && !k->ranks)
            finish_by_last_block(k);
        if (!p->problem->universal)
            fetch_tiles(k, p->problem->target);
        skew(p, k);
        KN_TRY(kn_bind_loops(p->problem->target, k, given_text(p) != NULL));
        KN_TRY(run_beside(p, k));
        kn_bind_caches(k);
    }
    const int64_t shared = k->shared > 0 ? k->shared + kn_kernel_static_bytes(k) : 0;
    if (p->problem->target->sm != 0 && shared > p->problem->target->smem_block)
        return kn_fail(KN_INTERNAL, "a kernel takes %lld bytes of shared memory",
                       (long long)shared);
    k->policy = p->problem->target->sm != 0 ? kn_cache_policy(k, p->problem->target) : 0;
    return KN_OK;
}

/* Can kernels exchange what the plan does while they run? What ranks exchange has the same size on all of them. */
static bool exchanges_inside(const kn_planner *p)
{
    int64_t words = 0;
    for (int i = 0; i < p->bufs.len; i++)
        words += kn_is_exchanged(&p->bufs.data[i]) ? kn_exchange_words(&p->bufs.data[i]) : 0;
    return p->problem->inside && words <= KN_MOST_MAIL;
}

/* The phase behind the last one of the kernel that begins with phase `from`. */
static int end_of_kernel(const kn_planner *p, int from)
{
    const kn_problem *pr = p->problem;
    const bool inside = exchanges_inside(p);
    int to = from + 1;
    while (to < p->phases.len && pr->target->cooperative &&
           (!pr->invariant || p->phases.data[to - 1].local) &&
           (inside || kn_planner_round(p, to) == kn_planner_round(p, from)) &&
           (pr->fusion || p->region_of.data[from] == p->region_of.data[to]))
        to++;
    return to;
}

kn_status kn_bind_phases(kn_planner *p, kn_kernel_list *kernels)
{
    for (int i = 0, j; i < p->phases.len; i = j) {
        kn_kernel *k;
        j = end_of_kernel(p, i);
        KN_TRY(bind_kernel(p, kernels->len, i, j, &k));
        kn_push(p->arena, kernels, k);
    }
    return KN_OK;
}

/* The name of kernel `number`, which begins with phase `first`. */
static const char *name_of(const kn_planner *p, int number, int first, bool only)
{
    const char *base = kn_identifier(p->arena, "kiln_", p->problem->graph->name);
    return only ? base
                : kn_identifier(p->arena, kn_sprintf(p->arena, "%s_%d_", base, number),
                                p->phases.data[first].nest.name);
}

/* What only a kernel that is compiled needs. */
static kn_status complete(kn_planner *p, kn_kernel *k)
{
    k->wide = p->problem->universal || is_wide(k);
    kn_text key = kn_text_new(p->arena);
    kn_putf(&key, "%s sm %d\n", p->problem->target->kind, p->problem->target->sm);
    kn_kernel_print(&key, k, false);
    k->key = kn_text_str(&key);
    return kn_kernel_verify(k);
}

kn_status kn_complete_kernels(kn_planner *p, kn_plan *plan)
{
    for (int i = 0, first = 0; i < plan->kernels.len; i++, first = end_of_kernel(p, first)) {
        kn_kernel *k = plan->kernels.data[i];
        k->name = name_of(p, i, first, plan->kernels.len == 1);
        KN_TRY(complete(p, k));
    }
    const char *text = given_text(p);
    if (text && *texts_from(text, plan->kernels.len))
        return kn_fail(KN_ARGUMENT, "there are more schedules than kernels, which are %d",
                       plan->kernels.len);
    kn_place_temporaries(p, plan);
    return KN_OK;
}
