/* Kernels as text, for people, and as the key under which compiled kernels are found. */
#include "codegen/kir/kir.h"

static const char stride_letter[] = "01s";

/* Access i, of a value or of a store. */
static void print_access(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_transpose *transpose = kn_transpose_of(ph, i);
    const kn_access *acc =
        i < ph->nest.values.len ? kn_value_at(ph, i)->access : &kn_store_at(ph, i)->access;
    kn_put(t, acc->buf == KN_BUF_COUNT ? "count" : k->bufs.data[acc->buf].name);
    kn_put(t, "[");
    if (numbers && acc->shifted)
        kn_putf(t, "%lld:", (long long)acc->offset);
    else if (acc->shifted)
        kn_put(t, "+");
    for (int a = 0; a < ph->nest.naxes; a++)
        if (numbers) {
            kn_put(t, a ? "," : "");
            kn_puti(t, acc->stride[a]);
        } else {
            kn_putn(t, &stride_letter[acc->kind[a]], 1);
        }
    kn_put(t, acc->vector ? ":v]" : "]");
    if (transpose)
        kn_putf(t, " transposed by %d", transpose->vec);
    kn_put(t, acc->cache == KN_CACHE_POLICY      ? " by policy"
              : acc->cache == KN_CACHE_STREAMING ? " streaming"
                                                 : "");
}

static void put_number(kn_text *t, const char *before, int n)
{
    kn_put(t, before);
    kn_puti(t, n);
}

static void print_value(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_value *v = &ph->nest.values.data[i];
    put_number(t, "    v", i);
    kn_put(t, " = ");
    switch (v->kind) {
    case KN_V_LOAD:
        kn_put(t, "load ");
        print_access(t, k, ph, i, numbers);
        break;
    case KN_V_GATHER:
        kn_put(t, "gather ");
        print_access(t, k, ph, i, numbers);
        for (int j = 0; j < v->nin; j++) {
            kn_putf(t, " + v%d", v->in[j]);
            if (numbers)
                kn_putf(t, " * %lld", (long long)v->access->place[j].stride);
        }
        kn_put(t, v->access->checked ? " checked" : "");
        break;
    case KN_V_INDEX:
        kn_put(t, "index ");
        print_access(t, k, ph, i, numbers);
        break;
    case KN_V_SCALAR: kn_putf(t, "scalar %s", k->scalars.data[v->index].name); break;
    case KN_V_CONST:
        if (kn_is_float(v->dtype))
            kn_putf(t, "const %.17g", v->value.f);
        else if (kn_is_complex(v->dtype))
            kn_putf(t, "const %.17g%+.17gj", v->value.f, v->value.im);
        else if (kn_is_unsigned(v->dtype))
            kn_putf(t, "const %llu", (unsigned long long)v->value.i);
        else
            kn_putf(t, "const %lld", (long long)v->value.i);
        break;
    case KN_V_EXTENT: kn_putf(t, "extent %s", k->extents.data[v->index].name); break;
    case KN_V_RESULT: kn_putf(t, "result r%d", v->index); break;
    case KN_V_LOCAL: kn_putf(t, "local x%d", v->index); break;
    case KN_V_ELEM:
        kn_put(t, kn_ops[v->op].text);
        for (int j = 0; j < v->nin; j++)
            put_number(t, j ? ", v" : " v", v->in[j]);
        break;
    }
    kn_put(t, " : ");
    kn_put(t, kn_dtypes[v->dtype].text);
    put_number(t, v->level == KN_ELEMENT ? " element stage " : " group stage ", v->stage);
    const kn_hold *h = kn_hold_of(ph, i);
    if (h)
        kn_putf(t, " kept in %s", kn_keep_text(h->where));
    if (h && h->where == KN_KEEP_RESIDENT)
        kn_putf(t, " from byte %d on%s", h->offset, h->once ? " once" : "");
    if (h && v->kind == KN_V_ELEM)
        kn_putf(t, " since sweep %d", h->since);
    if (h && h->where != KN_KEEP_FRAME && v->kind == KN_V_ELEM)
        kn_putf(t, " in place of v%d", h->room);
    kn_put(t, v->name ? "  # " : "");
    kn_put(t, v->name ? v->name : "");
    kn_put(t, "\n");
}

static const char *const part_text[] = {[KN_PART_RESULT] = "",
                                        [KN_PART_MEAN] = "'s mean",
                                        [KN_PART_COUNT] = "'s count",
                                        [KN_PART_EXPSUM] = "'s sum of exp"};

/* The schedule, by the names of its fields. */
static void print_heading(kn_text *t, const kn_kernel *k, const kn_phase *ph, bool numbers)
{
    kn_put(t, kn_walk_text(ph->how.walk));
    if (k->bound && (kn_by_block(ph) || ph->how.packed) && !numbers)
        kn_put(t, " by block");
    else
        kn_putf(t, " tpg %d", ph->how.tpg);
    kn_putf(t, " vec %d%s%s steps %d%s", ph->how.vec, ph->how.unaligned ? " unaligned" : "",
            ph->how.tail ? " tail" : "", ph->how.steps, ph->how.full ? " full" : "");
    if (ph->how.packed)
        kn_put(t, " packed");
    if (ph->how.walk == KN_WALK_COLS && (numbers || !ph->how.packed))
        kn_putf(t, " lanes %d", ph->how.lanes);
    if (ph->how.unroll)
        kn_putf(t, " unroll %d", ph->how.unroll);
    if (ph->how.packed && numbers)
        kn_putf(t, " pack %lld", (long long)ph->num.pack);
    if (ph->how.tile)
        kn_putf(t, " tile %d", ph->how.tile);
    kn_put(t, ph->how.split     ? " split"
              : ph->how.mixed   ? " mixed"
              : ph->how.cluster ? " cluster"
                                : "");
    kn_put(t, ph->how.async ? " async" : "");
    kn_put(t, ph->how.by_chunk ? " by chunk" : "");
    kn_put(t, ph->how.persistent ? " persistent" : "");
    if (ph->how.copies)
        kn_putf(t, " copies %d", ph->how.copies);
    kn_put(t, ph->how.prefetch ? " prefetch" : "");
    if (ph->how.deferred)
        kn_putf(t, " deferred %d", ph->how.deferred);
    kn_put(t, ph->how.reciprocals ? " reciprocals" : "");
    kn_put(t, ph->how.inline_quotients ? " inline quotients" : "");
    kn_put(t, ph->how.reversed ? " reversed" : "");
    kn_put(t, ph->how.hoisted ? " hoisted" : "");
    kn_put(t, ph->how.rest_in_registers ? " rest in registers\n" : "\n");
}

static void print_loops(kn_text *t, const kn_phase *ph)
{
    for (int i = 0; i < ph->how.loops.len; i++) {
        if (!kn_loop_says(&ph->how, &ph->how.loops.data[i]))
            continue;
        kn_put(t, "    ");
        kn_loop_put(t, &ph->how, &ph->how.loops.data[i]);
        kn_put(t, "\n");
    }
}

static void print_numbers(kn_text *t, const kn_phase *ph)
{
    if (ph->how.split || ph->how.mixed || ph->how.cluster)
        kn_putf(t, "    %lld %s of %lld %s\n", (long long)ph->num.splits,
                ph->how.mixed ? "parts" : "splits", (long long)ph->num.chunk,
                ph->how.mixed ? "groups" : "members");
    if (ph->how.persistent)
        kn_putf(t, "    skew %lld ns\n", (long long)ph->num.skew);
    if (kn_copies_in_chunks(ph))
        kn_putf(t, "    copy chunks of %lld members\n", (long long)ph->num.copy_chunk);
    if (ph->how.rest_in_registers)
        kn_putf(t, "    %lld members held in shared memory\n", (long long)ph->num.held);
}

static void print_red(kn_text *t, const kn_phase *ph, int r)
{
    const kn_red *red = &ph->nest.reds.data[r];
    kn_putf(t, "    r%d = sweep %d %s%s%s v%d : %s", r, red->stage, kn_ops[red->op].text,
            part_text[red->part], red->across ? " across groups" : "", red->value,
            kn_dtypes[red->dtype].text);
    if (red->by)
        kn_putf(t, " carried %d of {%s}", red->carried, red->by->text);
    kn_put(t, red->atomic ? " atomic\n" : "\n");
}

static void print_store(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_store *s = &ph->nest.stores.data[i];
    static const char *const kind_text[] = {
        [KN_STORE_ELEMENT] = "element", [KN_STORE_GROUP] = "group", [KN_STORE_PARTIAL] = "partial"};
    kn_putf(t, "    store %s ", kind_text[s->kind]);
    print_access(t, k, ph, ph->nest.values.len + i, numbers);
    kn_putf(t, " = %c%d stage %d once %x%s\n", s->kind == KN_STORE_PARTIAL ? 'r' : 'v', s->value,
            s->stage, s->once,
            kn_in_registers(kn_transpose_of_store(ph, i)) ? " in registers" : "");
}

static void print_phase(kn_text *t, const kn_kernel *k, int p, bool numbers)
{
    const kn_phase *ph = &k->phases.data[p];
    kn_putf(t, "  %sphase %d %s%s: ", ph->local ? "local " : "", p, ph->nest.name,
            ph->barrier            ? " after grid barrier"
            : ph->how.beside       ? " side by side with the one before"
            : ph->how.last_of_tile ? " by the last block of each tile"
            : ph->how.last_block   ? " by the last block"
                                   : "");
    print_heading(t, k, ph, numbers);
    for (int a = 0; a < ph->nest.naxes; a++) {
        kn_putf(t, "    %s %s", a < ph->nest.ngroup ? "group" : "member", ph->nest.axes[a].name);
        if (numbers)
            kn_putf(t, " = %lld", (long long)ph->nest.axes[a].extent);
        kn_put(t, "\n");
    }
    if (numbers)
        print_numbers(t, ph);
    print_loops(t, ph);
    for (int i = 0; i < ph->nest.values.len; i++)
        print_value(t, k, ph, i, numbers);
    for (int r = 0; r < ph->nest.reds.len; r++)
        print_red(t, ph, r);
    for (int i = 0; i < ph->exports.len; i++)
        kn_putf(t, "    export v%d\n", ph->exports.data[i]);
    for (int i = 0; i < ph->nest.stores.len; i++)
        print_store(t, k, ph, i, numbers);
}

void kn_kernel_print(kn_text *t, const kn_kernel *k, bool numbers)
{
    kn_putf(t, "kernel %s ", k->name);
    if (numbers || !k->bound)
        kn_putf(t, "threads %d ", k->threads);
    if (k->bound)
        kn_putf(t, "at most %d threads ", k->bound);
    if (k->min_blocks)
        kn_putf(t, "min blocks %d ", k->min_blocks);
    if (numbers && k->resident_steps)
        kn_putf(t, "resident steps %lld ", (long long)k->resident_steps);
    kn_putf(t, "index %d%s%s%s\n", k->wide ? 64 : 32, k->disjoint ? " disjoint" : "",
            !numbers                       ? ""
            : k->policy == KN_POLICY_FIRST ? " evict first"
            : k->policy == KN_POLICY_LAST  ? " evict last"
                                           : "",
            k->fast ? " fast math" : "");
    static const char *const kind_text[] = {"in", "out", "temp"};
    for (int i = 0; i < k->bufs.len; i++) {
        kn_putf(t, "  %s %s: %s", kind_text[k->bufs.data[i].kind], k->bufs.data[i].name,
                kn_dtypes[k->bufs.data[i].dtype].text);
        if (numbers && k->bufs.data[i].kind == KN_BUF_TEMP)
            kn_putf(t, " %lld bytes at %lld", (long long)k->bufs.data[i].bytes,
                    (long long)k->bufs.data[i].offset);
        kn_put(t, "\n");
    }
    for (int i = 0; i < k->scalars.len; i++)
        kn_putf(t, "  scalar %s: %s\n", k->scalars.data[i].name,
                kn_dtypes[k->scalars.data[i].dtype].text);
    for (int i = 0; i < k->phases.len; i++)
        print_phase(t, k, i, numbers);
}
