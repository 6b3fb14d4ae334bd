/* Where the elements of a step are: in memory, in registers, in shared memory, in a tile. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

bool kn_cuda_is_batched(const kn_cuda_writer *w, int i) { return w->batched && w->batched[i]; }

bool kn_cuda_in_registers(const kn_cuda_writer *w, int i)
{
    kn_keep kept = kn_kept(w->ph, i);
    return kept == KN_KEEP_REGISTERS || (kept == KN_KEEP_RESIDENT && w->ph->how.mixed) ||
           kn_cuda_is_batched(w, i);
}

bool kn_cuda_keeps_now(const kn_cuda_writer *w, int i)
{
    return kn_cuda_in_registers(w, i) && w->need[i] && !w->loaded[i];
}

const char *kn_cuda_address(kn_cuda_writer *w, int i, const char *lane)
{
    const kn_access *acc = w->ph->nest.values.data[i].access;
    return kn_cuda_printed(w, "%s + (%s)", w->k->bufs.data[acc->buf].name,
                           kn_cuda_offset(w, acc, 'v', i, lane));
}

bool kn_cuda_stores_now(const kn_cuda_writer *w, int i)
{
    const kn_store *s = &w->ph->nest.stores.data[i];
    return s->kind == KN_STORE_ELEMENT && s->stage == w->sweep;
}

const char *kn_cuda_guarded_address(kn_cuda_writer *w, int i, const char *offset)
{
    const kn_buf *buf = &w->k->bufs.data[w->ph->nest.stores.data[i].access.buf];
    kn_cuda_line(w, "%s *o%d_to = %s + (%s);", kn_cuda_type(buf->dtype), i, buf->name, offset);
    kn_cuda_line(w, "kn_opaque(o%d_to);", i);
    return kn_cuda_printed(w, "o%d_to", i);
}

const char *kn_cuda_vector_type(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "kn_vec<%s, %d>", kn_cuda_type(w->ph->nest.values.data[i].dtype),
                           w->ph->how.vec);
}

bool kn_cuda_in_shared(const kn_cuda_writer *w, int i)
{
    kn_keep kept = kn_kept(w->ph, i);
    return kept == KN_KEEP_SHARED || (kept == KN_KEEP_RESIDENT && w->resident);
}

int kn_cuda_holder(const kn_cuda_writer *w, int i)
{
    const kn_hold *h = kn_hold_of(w->ph, i);
    return h ? h->room : i;
}

/* COLS: the index of this step's kept vector. */
static const char *kept_of_column(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int side = kn_transpose_side(ph);
    const char *from = ph->how.cluster ? " - begin" : "";
    if (side == 1)
        return kn_cuda_printed(w, "(i%s) * %d + column", from, ph->how.lanes);
    return kn_cuda_printed(w, "r * plane_size + (i0%s) / %d * %d + column", from, side,
                           ph->how.lanes);
}

const char *kn_cuda_shared_vector(kn_cuda_writer *w, int i)
{
    if (w->ph->how.mixed)
        return kn_cuda_printed(w, "%s_resident[slot + step * %s]", kn_cuda_value(w, i),
                               kn_cuda_block_times(w, 1));
    if (w->resident)
        return kn_cuda_printed(w, "%s_resident[slot]", kn_cuda_value(w, i));
    const char *name = kn_cuda_value(w, kn_cuda_holder(w, i)),
               *at = w->ph->how.cluster ? "(i - begin)" : "i";
    return w->ph->how.walk == KN_WALK_COLS
               ? kn_cuda_printed(w, "%s_kept[%s]", name, kept_of_column(w))
           : w->counts_slots ? kn_cuda_printed(w, "%s_kept[slot]", name)
                             : kn_cuda_printed(w, "%s_kept[%s / %d]", name, at, w->ph->how.vec);
}

/* What the addresses of held values begin with. Those that steps under a branch use are in a register. */
static const char *in_register(kn_cuda_writer *w, const char *base)
{
    bool guarded = false;
    for (int i = 0; i < w->ph->how.loops.len; i++) {
        const kn_sweep_loop *l = &w->ph->how.loops.data[i];
        guarded = guarded || (l->batch && l->unguarded < l->unroll);
    }
    return guarded ? kn_cuda_printed(w, "kn_in_register(%s)", base) : base;
}

static void declare_resident(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_hold *h = kn_hold_of(w->ph, i);
        const char *t = kn_cuda_vector_type(w, i), *at = in_register(w, "dynamic");
        if (!h || h->where != KN_KEEP_RESIDENT)
            continue;
        if (kn_kernel_prefetch_bytes(w->k))
            at = kn_cuda_printed(w, "((unsigned char *)%s + %d)", at,
                                 kn_kernel_prefetch_bytes(w->k));
        if (h->offset)
            at = kn_cuda_printed(w, "((unsigned char *)%s + (kn_count)resident_steps * %s)", at,
                                 kn_cuda_block_times(w, h->offset));
        kn_cuda_line(w, "%s *const %s_resident = (%s *)%s;", t, kn_cuda_value(w, i), t, at);
    }
}

static void declare_prefetched(kn_cuda_writer *w)
{
    int at = kn_prefetch_offset(w->k, w->p);
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const char *t = kn_cuda_vector_type(w, i);
        if (!kn_is_prefetched(w->ph, i))
            continue;
        kn_cuda_line(w, "%s *const %s_next = (%s *)((unsigned char *)dynamic + %d);", t,
                     kn_cuda_value(w, i), t, at);
        at += kn_bytes(kn_value_at(w->ph, i)->dtype) * w->ph->how.vec * w->ph->how.steps *
              w->k->threads;
    }
}

const char *kn_cuda_prefetched_vector(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "%s_next[threadIdx.x + step * %s]", kn_cuda_value(w, i),
                           kn_cuda_block_times(w, 1));
}

/* The vectors of one stage of a kept value's shared memory. */
static const char *vectors_kept(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    const char *members = ph->how.cluster ? kn_cuda_held(w) : "members";
    if (ph->how.walk == KN_WALK_COLS)
        return kn_cuda_printed(w, "%s * %d", members, ph->how.lanes);
    return ph->how.cluster ? kn_cuda_printed(w, "%s / %d", members, ph->how.vec)
                           : kn_cuda_printed(w, "(members + %d) / %d",
                                             ph->how.vec - 1 + kn_phase_slack(ph), ph->how.vec);
}

/* Dynamic shared memory behind the exchange buffer. */
static const char *behind_exchange(kn_cuda_writer *w)
{
    return kn_cuda_printed(w, "(unsigned char *)dynamic + 2 * kn_cluster_blocks() * %d",
                           kn_exchange_stride(w->ph));
}

/* Declares the arrays of elements of so many bytes, the first at `at`; returns where the next one begins. */
static const char *declare_shared_of(kn_cuda_writer *w, int bytes, const char *at)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(w->ph, i);
        if (kn_kept(w->ph, i) != KN_KEEP_SHARED || v->kind != KN_V_LOAD ||
            kn_bytes(v->dtype) != bytes)
            continue;
        const char *name = kn_cuda_value(w, i), *t = kn_cuda_vector_type(w, i);
        const int stages = kn_copy_stages(w->ph);
        kn_cuda_line(w, "%s *%s%s_kept = (%s *)(%s);", t, stages > 1 ? "" : "const ", name, t, at);
        const char *each = vectors_kept(w);
        at = kn_cuda_printed(w, "%s_kept + %s", name,
                             stages > 1 ? kn_cuda_printed(w, "%d * (%s)", stages, each) : each);
    }
    return at;
}

/* One array behind the other, the widest elements first, so that all are aligned: each has as many vectors. */
void kn_cuda_declare_shared(kn_cuda_writer *w)
{
    enum { WIDEST = 16 };
    declare_resident(w);
    declare_prefetched(w);
    const char *at = in_register(w, w->ph->how.cluster ? behind_exchange(w) : "dynamic");
    for (int bytes = WIDEST; bytes > 0; bytes /= 2)
        at = declare_shared_of(w, bytes, at);
}

const char *kn_cuda_registers(kn_cuda_writer *w, int i)
{
    const bool from_memory = kn_cuda_is_batched(w, i) && kn_kept(w->ph, i) == KN_KEEP_SHARED;
    return kn_cuda_printed(w, "%s_%s", kn_cuda_value(w, i),
                           w->in_tail    ? "tail"
                           : w->in_rest  ? "rest"
                           : from_memory ? "batch" /* "kept" names its vectors in shared memory */
                                         : "kept");
}

const char *kn_cuda_vector(kn_cuda_writer *w, int i)
{
    return kn_cuda_in_registers(w, i)
               ? kn_cuda_printed(w, "%s[step]", kn_cuda_registers(w, kn_cuda_holder(w, i)))
               : kn_cuda_printed(w, "%s_vec", kn_cuda_value(w, i));
}

const char *kn_cuda_tile(kn_cuda_writer *w, const kn_transpose *t)
{
    return t->store ? kn_cuda_printed(w, "o%d_tile", t->of)
                    : kn_cuda_printed(w, "%s_tile", kn_cuda_value(w, t->of));
}

const kn_transpose *kn_cuda_tile_of(const kn_cuda_writer *w, int i)
{
    return w->tiled || kn_in_tile_of_rows(w->ph, i) ? kn_transpose_of(w->ph, i) : NULL;
}

bool kn_cuda_is_tile_vector(const kn_cuda_writer *w, int i)
{
    return kn_in_tile_of_rows(w->ph, i) && w->ph->how.vec > 1;
}

const char *kn_cuda_in_tile(kn_cuda_writer *w, const kn_transpose *t, const char *lane)
{
    int pitch = kn_tile_pitch(w->ph, kn_bytes(kn_transposed_type(w->ph, t)));
    if (w->ph->how.walk == KN_WALK_ROWS)
        return kn_cuda_printed(w, "%s[row * %d + i%s%s]", kn_cuda_tile(w, t), pitch,
                               lane ? " + " : "", lane ? lane : "");
    if (t->dense)
        return kn_cuda_printed(w, "%s[(column * %d%s%s) * (int)members + (int)i]",
                               kn_cuda_tile(w, t), w->ph->how.vec, lane ? " + " : "",
                               lane ? lane : "");
    return kn_cuda_printed(w, "%s[(i - from) * %d + column * %d%s%s]", kn_cuda_tile(w, t), pitch,
                           w->ph->how.vec, lane ? " + " : "", lane ? lane : "");
}

const char *kn_cuda_held(kn_cuda_writer *w)
{
    return kn_cuda_printed(
        w, w->ph->how.rest_in_registers ? "(kn_count)p%d_in_shared" : "(kn_count)p%d_chunk", w->p);
}

const char *kn_cuda_copied_end(const kn_phase *ph)
{
    return ph->how.unaligned           ? "inner_end"
           : ph->how.rest_in_registers ? "in_shared_end"
                                       : kn_cuda_vectors_end(ph);
}

const char *kn_cuda_vectors_end(const kn_phase *ph)
{
    return ph->how.tail ? "tail" : ph->how.walk == KN_WALK_FLAT ? "members" : "end";
}

/* Does a step of this sweep access memory at the indices along the axes? What is linear goes by the member's. */
static bool step_touches_memory(const kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(w->ph, i);
        const bool found = w->loaded[i] && !(w->around && w->around[i]);
        if (w->need[i] && v->level == KN_ELEMENT && kn_has_access(v) && !found &&
            !kn_transfer_of(w->ph, i)->linear)
            return true;
    }
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (kn_cuda_stores_now(w, i) && !kn_transfer_of_store(w->ph, i)->linear)
            return true;
    return false;
}

void kn_cuda_write_axes_of_lane(kn_cuda_writer *w)
{
    if (!w->ph->how.linear || w->ph->how.vec == 1 || !step_touches_memory(w))
        return;
    kn_cuda_line(w, "const kn_count member = i + l;");
    kn_cuda_decompose(w, 0, w->ph->nest.naxes, "member");
}

void kn_cuda_write_axes(kn_cuda_writer *w)
{
    const bool by_lane = w->ph->how.linear && w->ph->how.vec > 1;
    if (w->ph->how.by_run && step_touches_memory(w))
        kn_cuda_write_axes_of_run(w);
    else if (w->ph->how.planes && step_touches_memory(w))
        kn_cuda_write_axes_of_plane(w);
    else if (!by_lane && step_touches_memory(w))
        kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.ngroup + kn_stepped_axes(w->ph), "i");
}
