/* Small reductions, and numbers that follow from their results, without a barrier.
 *
 * Before: a phase without groups that reads little, and whose results other phases read, each after a grid barrier.
 * After: a local phase in front of the first reader, which every block computes for itself and whose exports all
 * readers see: some kilobytes that every block reads through the cache cost less than a barrier.
 *
 * A phase that stores only results is then dropped, and the first reader that has a group stores those results that
 * are outputs. A phase that also stores elements stays for these, if that saves a barrier; and a phase whose outputs
 * no reader could store, since arrays are empty, stays as it is. */
#include <string.h>

#include "codegen/model/caches.h"
#include "codegen/plan/pass/passes.h"

/* Read by each block: of what it must wait for, or if that saves a barrier; of inputs, if other results need the
 * barrier anyhow (docs/lab/several-arrays.md). */
enum { MOST_BYTES = 64 * 1024, FEW_BYTES = 2 * 1024 };

/* Does an output overwrite it? Then later phases cannot read it again. */
static bool is_overwritten(const kn_planner *p, const kn_buf *b)
{
    return b->kind == KN_BUF_INPUT && p->problem->over && p->problem->over[b->index] >= 0;
}

/* Has it results that do not differ between groups, and are whole? Not what ranks exchange. */
static bool has_results(const kn_planner *p, const kn_phase *ph)
{
    bool stores = false;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        if (kn_is_exchanged(&p->bufs.data[ph->nest.stores.data[i].access.buf]))
            return false;
        stores = stores || ph->nest.stores.data[i].kind == KN_STORE_GROUP;
    }
    return stores && !ph->local && !ph->nest.ngroup && (!ph->how.split || !ph->nest.reds.len);
}

static bool is_cheap(const kn_planner *p, const kn_phase *results, bool saves_barrier)
{
    bool waits = false;
    for (int i = 0; i < results->nest.values.len; i++) {
        const kn_value *v = &results->nest.values.data[i];
        if (kn_is_read(v) && is_overwritten(p, &p->bufs.data[v->access->buf]))
            return false;
        waits = waits || (kn_is_read(v) && p->bufs.data[v->access->buf].kind == KN_BUF_TEMP);
    }
    return kn_phase_bytes_read(p->arena, results, p->bufs.data) <=
           (waits || saves_barrier ? MOST_BYTES : FEW_BYTES);
}

/* The same phase without its element stores, and without what only these need. */
static kn_phase results_of(const kn_planner *p, const kn_phase *ph)
{
    kn_phase results = kn_phase_copy(p->arena, ph);
    results.how.split = results.how.resident = false; /* of the elements */
    results.nest.stores.len = 0;
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind == KN_STORE_GROUP)
            kn_push(p->arena, &results.nest.stores, ph->nest.stores.data[i]);
    kn_drop_dead(p->arena, &results);
    return results;
}

/* The store of `from` that writes what value v of another phase loads; -1: none. */
static int store_behind(const kn_phase *from, const kn_value *v)
{
    for (int i = 0; v->kind == KN_V_LOAD && i < from->nest.stores.len; i++)
        if (from->nest.stores.data[i].access.buf == v->access->buf)
            return i;
    return -1;
}

static bool reads(const kn_phase *reader, const kn_phase *from)
{
    for (int i = 0; i < reader->nest.values.len; i++)
        if (store_behind(from, &reader->nest.values.data[i]) >= 0)
            return true;
    return false;
}

static bool stores_outputs(const kn_planner *p, const kn_phase *from)
{
    for (int i = 0; i < from->nest.stores.len; i++)
        if (p->bufs.data[from->nest.stores.data[i].access.buf].kind == KN_BUF_OUTPUT)
            return true;
    return false;
}

/* Is there a group, whose threads could store something that all groups share? */
static bool has_a_group(const kn_phase *host) { return kn_count_groups(host) > 0; }

static bool reader_has_a_group(const kn_planner *p, int index, const kn_phase *from)
{
    for (int i = index + 1; i < p->phases.len; i++)
        if (reads(&p->phases.data[i], from) && has_a_group(&p->phases.data[i]))
            return true;
    return false;
}

/* The host stores those results that are outputs. */
static void store_outputs(kn_planner *p, kn_phase *host, const kn_phase *from, const int *value)
{
    for (int i = 0; i < from->nest.stores.len; i++) {
        kn_store st = from->nest.stores.data[i];
        if (p->bufs.data[st.access.buf].kind != KN_BUF_OUTPUT)
            continue;
        st.value = value[i];
        st.stage = 0;
        st.once = (1u << host->nest.ngroup) - 1;
        kn_push(p->arena, &host->nest.stores, st);
    }
}

/* Replaces the host's loads of what `from` stores by exports of its local form, from number `first` on. */
static void read_locally(kn_planner *p, kn_phase *host, const kn_phase *from, int first,
                         bool outputs)
{
    int *value = KN_NEW_ARRAY(p->arena, int, from->nest.stores.len + 1);
    int n = from->nest.stores.len, old = host->nest.values.len;
    KN_VEC(kn_value) values = {0};
    for (int i = 0; i < n; i++) {
        const kn_value *v = &from->nest.values.data[from->nest.stores.data[i].value];
        value[i] = i;
        kn_push(p->arena, &values,
                ((kn_value){.kind = KN_V_LOCAL,
                            .dtype = v->dtype,
                            .level = KN_GROUP,
                            .index = first + i,
                            .name = v->name,
                            .loc = v->loc}));
    }
    int *to = KN_NEW_ARRAY(p->arena, int, old + 1); /* locals first: operands come before users */
    for (int i = 0; i < old; i++) {
        kn_value v = host->nest.values.data[i];
        int st = store_behind(from, &v);
        to[i] = st >= 0 ? value[st] : values.len;
        for (int k = 0; k < v.nin; k++)
            v.in[k] = to[v.in[k]];
        if (st < 0)
            kn_push(p->arena, &values, v);
    }
    memcpy(&host->nest.values, &values, sizeof host->nest.values);
    kn_renumber_values(&host->nest, to);
    if (outputs)
        store_outputs(p, host, from, value);
}

/* Inserts the local form of `from` before the host at `at`. */
static void add_local(kn_planner *p, int at, const kn_phase *from)
{
    kn_phase local = kn_phase_copy(p->arena, from);
    local.local = true;
    local.nest.stores.len = 0;
    local.first_export = p->exports;
    for (int i = 0; i < from->nest.stores.len; i++)
        kn_push(p->arena, &local.exports, from->nest.stores.data[i].value);
    p->exports += local.exports.len;
    kn_insert_phase(p, at, local, p->region_of.data[at]);
}

/* Does the reader gather from what `from` stores? Then that must be in memory. */
static bool gathers(const kn_phase *reader, const kn_phase *from)
{
    for (int i = 0; i < reader->nest.values.len; i++) {
        const kn_value *v = kn_value_at(reader, i);
        if (v->kind == KN_V_GATHER && kn_stores_to(from, v->access->buf))
            return true;
    }
    return false;
}

/* The first reader of `from`, a form of phase `index`; 0: there is none, or one needs the results in memory. */
static int first_reader(const kn_planner *p, int index, const kn_phase *from)
{
    int first = 0;
    for (int i = p->phases.len - 1; i > index; i--) {
        const kn_phase *reader = &p->phases.data[i];
        if (gathers(reader, from) || (reads(reader, from) && reader->local))
            return 0;
        first = reads(reader, from) ? i : first;
    }
    return first;
}

/* Barriers if nobody waits for the stores of `from`, a form of phase `index`; NULL: of the phases as they are. */
static int count_barriers(const kn_planner *p, int index, const kn_phase *from)
{
    int barriers = 0;
    kn_written written = kn_nothing_written(p->arena, p->bufs.len);
    for (int i = 0; i < p->phases.len; i++) {
        if (p->phases.data[i].local)
            continue;
        barriers += kn_phase_waits(p->phases.data, i, &written);
        for (int j = 0; from && i == index && j < from->nest.stores.len; j++)
            written.at[from->nest.stores.data[j].access.buf] = 0;
    }
    return barriers;
}

/* Drops the stores of results that nobody reads any more, except outputs. */
static void drop_results(kn_planner *p, kn_phase *ph)
{
    int kept = 0;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        kn_store st = ph->nest.stores.data[i];
        if (st.kind != KN_STORE_GROUP || p->bufs.data[st.access.buf].kind == KN_BUF_OUTPUT)
            ph->nest.stores.data[kept++] = st;
    }
    ph->nest.stores.len = kept;
    kn_drop_dead(p->arena, ph);
}

/* All readers see what a local phase in front of the first of them exports. */
static void make_local(kn_planner *p, int first, const kn_phase *from, bool to_store)
{
    const int exports = p->exports;
    add_local(p, first, from);
    for (int j = first + 1; j < p->phases.len; j++) {
        kn_phase *reader = &p->phases.data[j];
        if (!reads(reader, from))
            continue;
        bool here = to_store && has_a_group(reader);
        read_locally(p, reader, from, exports, here);
        to_store = to_store && !here;
    }
}

void kn_pass_local(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++) {
        if (!has_results(p, &p->phases.data[i]))
            continue;
        bool stays = kn_phase_stores_elements(&p->phases.data[i]);
        kn_phase from = results_of(p, &p->phases.data[i]);
        int first = first_reader(p, i, &from);
        if (!first)
            continue;
        bool saves = count_barriers(p, i, &from) < count_barriers(p, i, NULL);
        if ((stays && !saves) || !is_cheap(p, &from, saves))
            continue;
        bool to_store = !stays && stores_outputs(p, &from);
        if (to_store && !reader_has_a_group(p, i, &from))
            continue;
        make_local(p, first, &from, to_store);
        if (stays)
            drop_results(p, &p->phases.data[i]);
        else
            kn_drop_phase(p, i--);
    }
}
