#include "codegen/kir.h"

#include <stdlib.h>
#include <string.h>

#include "base/integer.h"

int kn_phase_vector_axis(const kn_phase *p)
{
    if (p->walk == KN_WALK_COLS && !p->abreast)
        return p->ngroup - 1;
    return p->naxes > p->ngroup ? p->naxes - 1 : -1;
}

bool kn_kernel_cooperative(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].barrier)
            return true;
    return false;
}

bool kn_kernel_resident(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (kn_phase_resident(&k->phases.data[i]))
            return true;
    return false;
}

bool kn_kernel_meets(const kn_kernel *k)
{
    return kn_kernel_cooperative(k) ||
           (k->phases.len > 0 && k->phases.data[k->phases.len - 1].last_block);
}

bool kn_kernel_in_clusters(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].cluster)
            return true;
    return false;
}

int kn_kernel_cluster(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].cluster)
            return (int)k->phases.data[i].splits;
    return 1;
}

int kn_first_local(const kn_kernel *k, int p)
{
    while (p > 0 && k->phases.data[p - 1].local)
        p--;
    return p;
}

const kn_value *kn_local_export(const kn_kernel *k, int p, int index, int *phase)
{
    for (int i = kn_first_local(k, p); i < p; i++) {
        const kn_phase *local = &k->phases.data[i];
        if (index < local->exports.len) {
            *phase = i;
            return &local->values.data[local->exports.data[index]];
        }
        index -= local->exports.len;
    }
    return NULL;
}

bool kn_access_same(const kn_access *a, const kn_access *b)
{
    return a->buf == b->buf && a->axes == b->axes && a->offset == b->offset &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

bool kn_value_same(const kn_value *x, const kn_value *y)
{
    if (x->kind != y->kind || x->dtype != y->dtype || x->nin != y->nin)
        return false;
    switch (x->kind) {
    case KN_V_LOAD:
    case KN_V_INDEX: return kn_access_same(&x->access, &y->access);
    case KN_V_GATHER:
        return kn_access_same(&x->access, &y->access) && x->checked == y->checked &&
               memcmp(x->in, y->in, sizeof x->in) == 0 &&
               memcmp(x->place, y->place, sizeof x->place) == 0;
    case KN_V_CONST:
        return x->value.i == y->value.i &&
               memcmp(&x->value.im, &y->value.im, sizeof x->value.im) == 0;
    case KN_V_ELEM: return x->op == y->op && memcmp(x->in, y->in, sizeof x->in) == 0;
    default: return x->index == y->index;
    }
}

#define COPY_VEC(a, to, from)                                                                      \
    do {                                                                                           \
        (to)->len = (to)->cap = (from)->len;                                                       \
        (to)->data = (from)->len ? kn_alloc(a, sizeof *(from)->data * (size_t)(from)->len) : NULL; \
        if ((from)->len)                                                                           \
            memcpy((to)->data, (from)->data, sizeof *(from)->data *(size_t)(from)->len);           \
    } while (0)

kn_phase kn_phase_copy(kn_arena *a, const kn_phase *p)
{
    kn_phase copy = *p;
    COPY_VEC(a, &copy.values, &p->values);
    COPY_VEC(a, &copy.reds, &p->reds);
    COPY_VEC(a, &copy.stores, &p->stores);
    COPY_VEC(a, &copy.exports, &p->exports);
    return copy;
}

bool kn_access_turned(const kn_access *acc, int across, int down, int bytes)
{
    enum { LINE = 64 };
    return llabs(acc->stride[down]) == 1 && llabs(acc->stride[across]) * bytes >= LINE;
}

int kn_tile_pitch(const kn_phase *p, int bytes)
{
    return kn_cols_width(p) + (bytes < 4 ? 4 / bytes : 1);
}

int kn_tile_bytes_of(const kn_phase *p, int bytes)
{
    return (p->tile * kn_tile_pitch(p, bytes) * bytes + 15) / 16 * 16;
}

int kn_tile_bytes(const kn_phase *p)
{
    int total = 0;
    for (int i = 0; i < p->values.len; i++)
        if (p->values.data[i].access.turned)
            total += kn_tile_bytes_of(p, kn_bytes(p->values.data[i].dtype));
    for (int i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].access.turned && !p->stores.data[i].squared)
            total += kn_tile_bytes_of(p, kn_bytes(p->values.data[p->stores.data[i].value].dtype));
    return total;
}

int kn_cols_square(const kn_phase *p)
{
    int side = 1;
    for (int i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].squared && p->stores.data[i].access.turned > side)
            side = p->stores.data[i].access.turned;
    return side;
}

bool kn_fetches_ahead(const kn_phase *p)
{
    enum { LARGEST_SQUARE = 4 };
    int side = kn_cols_square(p);
    return p->walk == KN_WALK_COLS && p->cluster && p->fetched && side > 1 &&
           side <= LARGEST_SQUARE;
}

bool kn_begins_apart(const kn_phase *p)
{
    bool rows = p->walk == KN_WALK_ROWS && (p->fetched || p->steps > 0);
    bool columns = p->walk == KN_WALK_COLS && p->fetched && !p->tile;
    return kn_fetches_ahead(p) || (p->cluster && (rows || columns));
}

int kn_steps_for(int bytes, int wanted)
{
    int steps = 1;
    while (steps < 8 && steps * 2 * bytes <= wanted)
        steps *= 2;
    return steps;
}

int kn_steps_at_once(int bytes) { return kn_steps_for(bytes, 64); }

int kn_kept_words(const kn_phase *p, int value)
{
    return (p->vec * kn_bytes(p->values.data[value].dtype) + 3) / 4 * p->steps;
}

int64_t kn_phase_kept_bytes(const kn_phase *p)
{
    int64_t members = p->cluster ? kn_phase_held(p) : p->members + kn_phase_slack(p);
    bool cols = p->walk == KN_WALK_COLS;
    int64_t n = cols ? members * kn_cols_width(p) : (members + p->vec - 1) / p->vec * p->vec;
    int64_t bytes = 0;
    for (int i = 0; i < p->values.len; i++)
        if (p->values.data[i].kept == KN_KEEP_SHARED && p->values.data[i].kind == KN_V_LOAD)
            bytes += n * kn_bytes(p->values.data[i].dtype);
    return bytes * kn_phase_places(p);
}

bool kn_sum_by_words(const kn_phase *p) { return p->reds.len == 1 && p->reds.data[0].by_words; }

bool kn_begins_after_all(const kn_phase *p)
{
    return p->barrier || (p->last_block && !p->by_tile && !kn_sum_by_words(p));
}

bool kn_phase_resident(const kn_phase *p)
{
    for (int i = 0; i < p->values.len; i++)
        if (p->values.data[i].kept == KN_KEEP_RESIDENT)
            return true;
    return false;
}

double kn_part_on_chip(const kn_kernel *k, const kn_phase *p, const kn_value *v)
{
    for (const kn_phase *q = k->phases.data; v->kept == KN_KEEP_RESIDENT && q < p; q++)
        for (int i = 0; i < q->values.len; i++) {
            const kn_value *x = &q->values.data[i];
            double steps = p->banded ? (double)kn_steps_of_part(p, k->threads)
                                     : (double)p->chunk / kn_phase_step(p);
            if (x->kept == KN_KEEP_RESIDENT && x->index == v->index)
                return (double)k->held < steps ? (double)k->held / steps : 1;
        }
    return 0;
}

/* What is kept since an earlier sweep needs no operands; sweep -1: nothing is kept yet. */
static void need_value(const kn_phase *p, int i, int sweep, bool *need)
{
    const kn_value *v = &p->values.data[i];
    if (need[i])
        return;
    need[i] = true;
    for (int k = 0; k < v->nin && !(v->kept && sweep > v->since); k++)
        need_value(p, v->in[k], sweep, need);
}

bool kn_phase_stores_elements(const kn_phase *p)
{
    for (int i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].kind == KN_STORE_ELEMENT)
            return true;
    return false;
}

/* since: what earlier sweeps than that one have kept is there. */
static void sweep_needs(const kn_phase *p, int sweep, int since, bool *need)
{
    for (int i = 0; i < p->values.len; i++)
        need[i] = false;
    for (int i = 0; i < p->reds.len; i++)
        if (p->reds.data[i].stage == sweep)
            need_value(p, p->reds.data[i].value, since, need);
    for (int i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].kind == KN_STORE_ELEMENT && p->stores.data[i].stage == sweep)
            need_value(p, p->stores.data[i].value, since, need);
}

void kn_phase_needs(const kn_phase *p, int sweep, bool *need)
{
    sweep_needs(p, sweep, sweep, need);
}

void kn_phase_rest_needs(const kn_phase *p, int sweep, bool *need)
{
    sweep_needs(p, sweep, p->partly ? -1 : sweep, need);
}

void kn_value_needs(const kn_phase *p, int value, bool *need)
{
    for (int i = 0; i < p->values.len; i++)
        need[i] = false;
    need_value(p, value, -1, need);
}

int kn_red_owner(const kn_phase *p, int red)
{
    const kn_red *of = &p->reds.data[red];
    if (of->by)
        return red - of->carried;
    for (int r = 0; of->part != KN_PART_RESULT && r < p->reds.len; r++) {
        const kn_red *own = &p->reds.data[r];
        if (own->op == of->op && own->value == of->value && own->part == KN_PART_RESULT)
            return r;
    }
    return red;
}

int kn_red_stage(const kn_phase *p, int red)
{
    const kn_red *first = &p->reds.data[kn_red_owner(p, red)];
    int stage = p->values.data[p->reds.data[red].value].stage;
    for (int c = 0; first->by && c < first->by->count; c++)
        if (p->values.data[first[c].value].stage > stage)
            stage = p->values.data[first[c].value].stage;
    return stage;
}

bool kn_phase_in_order(const kn_phase *p)
{
    for (int r = 0; r < p->reds.len; r++)
        if (p->reds.data[r].by && !p->reds.data[r].by->commutes)
            return true;
    return false;
}

int64_t kn_steps_of_part(const kn_phase *p, int threads)
{
    int64_t rounds = kn_ceil_div(p->chunk, threads / p->tpg);
    return p->banded ? rounds * p->steps : kn_ceil_div(p->members, p->splits * kn_phase_step(p));
}

bool kn_same_for_groups(const kn_phase *p, const kn_value *v)
{
    bool same = v->kind == KN_V_LOAD && v->level == KN_ELEMENT;
    for (int a = 0; a < p->ngroup; a++)
        same = same && v->access.kind[a] == KN_STRIDE_ZERO;
    return same;
}

bool kn_lasts(const kn_phase *p, const kn_value *v)
{
    return (p->banded || p->lasting) && v->kept == KN_KEEP_REGISTERS && kn_same_for_groups(p, v);
}

bool kn_takes_turns(const kn_phase *p) { return p->split && !p->tile && !kn_phase_in_order(p); }

void kn_restage(kn_phase *ph)
{
    for (int i = 0; i < ph->values.len; i++) {
        kn_value *v = &ph->values.data[i];
        v->stage = v->kind == KN_V_RESULT ? kn_red_stage(ph, v->index) + 1 : 0;
        for (int k = 0; k < v->nin; k++)
            if (ph->values.data[v->in[k]].stage > v->stage)
                v->stage = ph->values.data[v->in[k]].stage;
    }
    for (int r = 0; r < ph->reds.len; r++)
        ph->reds.data[r].stage = kn_red_stage(ph, r);
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind != KN_STORE_PARTIAL)
            ph->stores.data[i].stage = ph->values.data[ph->stores.data[i].value].stage;
}

kn_state kn_red_state(const kn_phase *p, int red)
{
    if (p->reds.data[red].op == KN_OP_VAR)
        return KN_STATE_MOMENTS;
    if (p->reds.data[red].by)
        return KN_STATE_OWN;
    for (int r = 0; r < p->reds.len; r++)
        if (p->reds.data[r].part == KN_PART_EXPSUM && kn_red_owner(p, r) == red)
            return KN_STATE_PEAK;
    return KN_STATE_PLAIN;
}

bool kn_sweep_reduces(const kn_phase *p, int sweep)
{
    for (int i = 0; i < p->reds.len; i++)
        if (p->reds.data[i].stage == sweep && !p->reds.data[i].across)
            return true;
    return false;
}

bool kn_stores_across(const kn_phase *p, const kn_store *s)
{
    return s->kind == KN_STORE_PARTIAL && p->reds.data[s->value].across;
}

const char *kn_identifier(kn_arena *a, const char *prefix, const char *name)
{
    char *id = kn_sprintf(a, "%s%s", prefix, name);
    for (char *c = id; *c; c++)
        if (!(*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
              (*c >= 'A' && *c <= 'Z')))
            *c = '_';
    return id;
}

/* ---- text ---- */

const char *kn_walk_text(kn_walk walk)
{
    static const char *const text[] = {
        [KN_WALK_FLAT] = "flat", [KN_WALK_ROWS] = "rows", [KN_WALK_COLS] = "cols"};
    return text[walk];
}

const char *kn_keep_text(kn_keep keep)
{
    static const char *const text[] = {[KN_KEEP_NONE] = "nothing",
                                       [KN_KEEP_REGISTERS] = "registers",
                                       [KN_KEEP_SHARED] = "shared memory",
                                       [KN_KEEP_RESIDENT] = "shared memory",
                                       [KN_KEEP_FRAME] = "the cache"};
    return text[keep];
}

static const char stride_letter[] = "01s";

static void print_access(kn_text *t, const kn_kernel *k, const kn_phase *ph, const kn_access *acc,
                         bool numbers)
{
    kn_putf(t, "%s[", acc->buf == KN_BUF_COUNT ? "count" : k->bufs.data[acc->buf].name);
    if (numbers && acc->shifted)
        kn_putf(t, "%lld:", (long long)acc->offset);
    else if (acc->shifted)
        kn_put(t, "+");
    for (int a = 0; a < ph->naxes; a++)
        if (numbers)
            kn_putf(t, "%s%lld", a ? "," : "", (long long)acc->stride[a]);
        else
            kn_putf(t, "%c", stride_letter[acc->kind[a]]);
    kn_putf(t, "%s]", acc->vector ? ":v" : "");
    if (acc->turned)
        kn_putf(t, " turned by %d", acc->turned);
}

static void print_value(kn_text *t, const kn_kernel *k, const kn_phase *ph, int i, bool numbers)
{
    const kn_value *v = &ph->values.data[i];
    kn_putf(t, "    v%d = ", i);
    switch (v->kind) {
    case KN_V_LOAD:
        kn_put(t, "load ");
        print_access(t, k, ph, &v->access, numbers);
        break;
    case KN_V_GATHER:
        kn_put(t, "gather ");
        print_access(t, k, ph, &v->access, numbers);
        for (int j = 0; j < v->nin; j++) {
            kn_putf(t, " + v%d", v->in[j]);
            if (numbers)
                kn_putf(t, " * %lld", (long long)v->place[j].stride);
        }
        kn_put(t, v->checked ? " checked" : "");
        break;
    case KN_V_INDEX:
        kn_put(t, "index ");
        print_access(t, k, ph, &v->access, numbers);
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
            kn_putf(t, "%s v%d", j ? "," : "", v->in[j]);
        break;
    }
    kn_putf(t, " : %s %s stage %d", kn_dtypes[v->dtype].text,
            v->level == KN_ELEMENT ? "element" : "group", v->stage);
    if (v->kept)
        kn_putf(t, " kept in %s", kn_keep_text(v->kept));
    if (v->kept == KN_KEEP_RESIDENT)
        kn_putf(t, " from byte %d on", v->index);
    if (v->kept && v->kind == KN_V_ELEM)
        kn_putf(t, " since sweep %d", v->since);
    if (v->kept && v->kept != KN_KEEP_FRAME && v->kind == KN_V_ELEM)
        kn_putf(t, " for v%d", v->room);
    kn_putf(t, v->name ? "  # %s\n" : "\n", v->name);
}

static const char *const part_text[] = {[KN_PART_RESULT] = "",
                                        [KN_PART_MEAN] = "'s mean",
                                        [KN_PART_COUNT] = "'s count",
                                        [KN_PART_EXPSUM] = "'s sum of exp"};

static void print_phase(kn_text *t, const kn_kernel *k, int p, bool numbers)
{
    const kn_phase *ph = &k->phases.data[p];
    kn_putf(t, "  %sphase %d %s%s: %s ", ph->local ? "local " : "", p, ph->name,
            ph->barrier      ? " after grid barrier"
            : ph->by_tile    ? " by the last block of each tile"
            : ph->last_block ? " by the last block"
                             : "",
            kn_walk_text(ph->walk));
    if (k->bound && (kn_by_block(ph) || ph->abreast) && !numbers)
        kn_put(t, "by block");
    else
        kn_putf(t, "tpg %d", ph->tpg);
    kn_putf(t, " vec %d%s steps %d%s", ph->vec, ph->ragged ? " ragged" : "", ph->steps,
            ph->full ? " full" : "");
    if (ph->abreast)
        kn_put(t, " abreast");
    if (ph->walk == KN_WALK_COLS && (numbers || !ph->abreast))
        kn_putf(t, " lanes %d", ph->lanes);
    if (ph->at_once)
        kn_putf(t, " at once %d", ph->at_once);
    if (ph->abreast && numbers)
        kn_putf(t, " beside %lld", (long long)ph->beside);
    if (ph->tile)
        kn_putf(t, " tile %d", ph->tile);
    kn_putf(t, "%s%s\n",
            ph->split     ? " split"
            : ph->banded  ? " banded"
            : ph->cluster ? " cluster"
                          : "",
            ph->partly    ? " partly fetched"
            : ph->lasting ? " fetched ahead, lasting"
            : ph->fetched ? " fetched"
                          : "");
    for (int a = 0; a < ph->naxes; a++) {
        kn_putf(t, "    %s %s", a < ph->ngroup ? "group" : "member", ph->axes[a].name);
        if (numbers)
            kn_putf(t, " = %lld", (long long)ph->axes[a].extent);
        kn_put(t, "\n");
    }
    if (numbers && (ph->split || ph->banded || ph->cluster))
        kn_putf(t, "    %lld %s of %lld %s\n", (long long)ph->splits,
                ph->banded ? "bands" : "splits", (long long)ph->chunk,
                ph->banded ? "groups" : "members");
    if (numbers && kn_begins_apart(ph))
        kn_putf(t, "    %lld ns apart\n", (long long)ph->apart);
    if (numbers && kn_fetches_pieces(ph))
        kn_putf(t, "    in pieces of %lld\n", (long long)ph->piece);
    if (numbers && ph->partly)
        kn_putf(t, "    %lld held\n", (long long)ph->held);
    for (int i = 0; i < ph->values.len; i++)
        print_value(t, k, ph, i, numbers);
    for (int i = 0; i < ph->reds.len; i++) {
        const kn_red *red = &ph->reds.data[i];
        kn_putf(t, "    r%d = sweep %d %s%s%s v%d : %s", i, red->stage, kn_ops[red->op].text,
                part_text[red->part], red->across ? " across groups" : "", red->value,
                kn_dtypes[red->dtype].text);
        if (red->by)
            kn_putf(t, " carried %d of {%s}", red->carried, red->by->text);
        kn_put(t, red->by_words ? " by words\n" : "\n");
    }
    for (int i = 0; i < ph->exports.len; i++)
        kn_putf(t, "    export v%d\n", ph->exports.data[i]);
    for (int i = 0; i < ph->stores.len; i++) {
        const kn_store *s = &ph->stores.data[i];
        kn_putf(t, "    store %s ",
                s->kind == KN_STORE_ELEMENT ? "element"
                : s->kind == KN_STORE_GROUP ? "group"
                                            : "partial");
        print_access(t, k, ph, &s->access, numbers);
        kn_putf(t, " = %c%d stage %d once %x", s->kind == KN_STORE_PARTIAL ? 'r' : 'v', s->value,
                s->stage, s->once);
        if (s->squared)
            kn_put(t, " in squares");
        kn_put(t, "\n");
    }
}

void kn_kernel_print(kn_text *t, const kn_kernel *k, bool numbers)
{
    kn_putf(t, "kernel %s ", k->name);
    if (numbers || !k->bound)
        kn_putf(t, "threads %d ", k->threads);
    if (k->bound)
        kn_putf(t, "at most %d threads ", k->bound);
    if (k->together)
        kn_putf(t, "%d together ", k->together);
    if (numbers && k->held)
        kn_putf(t, "%lld steps resident ", (long long)k->held);
    kn_putf(t, "index %d%s%s%s\n", k->wide ? 64 : 32, k->disjoint ? " disjoint" : "",
            !numbers                       ? ""
            : k->policy == KN_POLICY_FIRST ? " lets go"
            : k->policy == KN_POLICY_LAST  ? " holds"
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
