#include "ir/grouped.h"
#include "ir/pass/pass.h"
#include "ir/pieces.h"

const kn_pass kn_graph_passes[] = {
    {"ranks", "reductions of what is divided over ranks: of each part, then over the ranks",
     kn_pass_ranks, false},
    {"decompose", "powers, variances and reductions in the form that later passes know",
     kn_pass_decompose, false},
    {"relax", "what fast_math allows: fewer divisions and functions an element", kn_pass_relax,
     true},
    {"fold", "constants", kn_pass_fold, false},
    {"algebra", "what is the same for all numbers, NaN, infinities and -0 too", kn_pass_algebra,
     false},
    {"sink", "slices and gathers below cheap operations", kn_pass_sink, false},
    {"views", "canonical views, outputs materialised", kn_pass_views, false},
    {"nest", "reductions of reductions", kn_pass_nest, false},
    {"share", "common subexpressions, dead code", kn_pass_share, false},
};
const int kn_graph_pass_count = sizeof kn_graph_passes / sizeof *kn_graph_passes;

/* Does an INDEX read one place along an axis, and sizes decide whether it is there? Slices keep within bounds. */
static bool depends_on_sizes(const kn_graph *g, const kn_node *n)
{
    int64_t size, start;
    for (int j = 0; n->op == KN_OP_INDEX && j < n->in[0]->rank; j++)
        if (n->u.index->axis[j] < 0 && !(kn_dim_is_const(g->syms, n->in[0]->shape[j], &size) &&
                                         kn_dim_is_const(g->syms, n->u.index->start[j], &start)))
            return true;
    return false;
}

/* Passes make reads at other places of them, which nobody checks. */
static void keep_indices(kn_arena *a, const kn_graph *from, kn_graph *to)
{
    const bool *needed = kn_needed_nodes(from, a);
    for (int i = 0; i < from->nodes.len; i++)
        if (needed[i] && depends_on_sizes(from, from->nodes.data[i]))
            kn_push(a, &to->indices, from->nodes.data[i]);
}

static kn_graph *run_passes(kn_arena *a, kn_graph *g, bool fast, kn_pass_record *records)
{
    for (int i = 0; i < kn_graph_pass_count; i++) {
        int before = g->nodes.len;
        if (kn_graph_passes[i].fast && !fast)
            continue;
        g = kn_graph_passes[i].run(a, g);
        if (!g)
            return NULL;
        if (kn_graph_verify(g) != KN_OK) {
            kn_fail_prefix(KN_INTERNAL, "after pass %s: ", kn_graph_passes[i].name);
            return NULL;
        }
        if (records)
            *records++ = (kn_pass_record){&kn_graph_passes[i], before, g->nodes.len, g};
    }
    if (records)
        *records = (kn_pass_record){0};
    return g;
}

/* Another form of the same program; NULL: there is none. */
typedef struct form_job {
    kn_arena *a;
    const kn_graph *g;
    bool fast;
    kn_graph *made;
} form_job;

/* Its outputs in pieces. */
static kn_status cut_outputs(void *ctx)
{
    form_job *j = ctx;
    kn_graph *cut = kn_graph_in_pieces(j->a, j->g);
    j->made = cut ? run_passes(j->a, cut, j->fast, NULL) : NULL;
    return cut && !j->made ? kn_last_status() : KN_OK;
}

/* Its reductions by the groups of others. */
static kn_status group_reductions(void *ctx)
{
    form_job *j = ctx;
    kn_graph *grouped = kn_graph_grouped(j->a, j->g);
    KN_TRY(grouped ? kn_graph_verify(grouped) : KN_OK);
    j->made = grouped;
    return KN_OK;
}

/* Sets *form; NULL where it has more operations than its budget: then the program is as it is written. */
static kn_status make_form(kn_status (*make)(void *), form_job job, kn_graph **form)
{
    const kn_status status = kn_protect(job.a, make, &job);
    *form = status ? NULL : job.made;
    if (status == KN_ARGUMENT)
        kn_clear_error();
    return status == KN_ARGUMENT ? KN_OK : status;
}

kn_graph *kn_graph_optimise(kn_arena *a, kn_graph *g, bool fast, kn_pass_record *records)
{
    if (kn_graph_verify(g) != KN_OK)
        return NULL;
    kn_graph *made = run_passes(a, g, fast, records);
    if (!made || made == g)
        return made;
    keep_indices(a, g, made);
    if (make_form(cut_outputs, (form_job){a, g, fast, NULL}, &made->in_pieces) ||
        make_form(group_reductions, (form_job){a, made, fast, NULL}, &made->grouped))
        return NULL;
    kn_graph *cut = made->in_pieces;
    if (cut && make_form(group_reductions, (form_job){a, cut, fast, NULL}, &cut->grouped))
        return NULL;
    return made;
}
