/* One request a builder call. */
#include "frontend/request.h"

#include <string.h>

#include "base/fenv.h"
#include "base/guess.h"
#include "frontend/parse/missing.h"
#include "frontend/parse/parse.h"

const kn_loc kn_nowhere = {0, 0};
const kiln_val kn_poison = {0, 0};

static kn_status build(void *user)
{
    kn_request *r = user;
    KN_TRY(r->make(r->g->core, r));
    if (r->result && r->nin && r->dtype == KN_NO_DTYPE) /* else that is what was asked for */
        kn_note_wider_node(r->g->core, r->in, r->nin, r->result);
    return KN_OK;
}

kn_status kn_request_made(kn_request *r, kn_node *made)
{
    r->result = made;
    if (made)
        return KN_OK;
    /* the last error of kn_fail(), which a NULL node stands for */
    return kn_last_status() != KN_OK ? kn_last_status() : KN_INTERNAL;
}

static kn_status run_request(kn_request *r)
{
    KN_DEFAULT_FENV;
    return kn_protect(&r->g->arena, build, r);
}

kiln_val kn_request_value(const kiln_graph *g, const kn_node *n)
{
    return (kiln_val){g->serial, (uint32_t)n->id + 1};
}

bool kn_request_take(kn_request *r, kiln_val v)
{
    kiln_graph *g = r->g;
    if (v.id == 0) {
        if (g->status == KILN_OK)
            kn_handle_fail(
                g, kn_fail(KN_ARGUMENT,
                           "a poisoned value was used, of a call that failed or another graph"));
        return false;
    }
    if (v.graph != g->serial || v.id > (uint32_t)g->core->nodes.len) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "a value of another graph was used"));
        return false;
    }
    r->in[r->nin++] = g->core->nodes.data[v.id - 1];
    return true;
}

bool kn_request_nodes(kiln_graph *g, const kiln_val *v, int n, kn_node **nodes)
{
    for (int i = 0; i < n; i++) {
        kn_request one = {.g = g};
        if (!kn_request_take(&one, v[i]))
            return false;
        nodes[i] = one.in[0];
    }
    return true;
}

kiln_val kn_request_finish(kn_request *r)
{
    if (!r->g || r->g->status != KILN_OK)
        return kn_poison;
    kn_status status = run_request(r);
    if (status != KN_OK) {
        kn_handle_fail(r->g, status);
        return kn_poison;
    }
    return kn_request_value(r->g, r->result);
}

kiln_val kn_request_unary(kn_request r, kiln_val x)
{
    return r.g && kn_request_take(&r, x) ? kn_request_finish(&r) : kn_poison;
}

bool kn_request_named(kiln_graph *g, const char *name, const char *what)
{
    if (!g)
        return false;
    if (!name)
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s is NULL", what));
    return name != NULL;
}

int kn_request_op(kiln_graph *g, const char *name, bool (*is)(int op), const char *kind)
{
    if (!kn_request_named(g, name, "op"))
        return -1;
    int found = kn_op_find(name, strlen(name));
    if (found >= 0 && is(found))
        return found;
    const char *advice = kn_missing_advice(name);
    if (advice) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "there is no %s '%s': %s", kind, name, advice));
        return -1;
    }
    kn_guess s = kn_guess_new(name);
    for (int op = 0; op < KN_OP_COUNT; op++)
        if (is(op))
            kn_guess_try(&s, kn_ops[op].text);
    kn_handle_fail(g, kn_fail(KN_ARGUMENT, "there is no %s '%s'%s", kind, name, kn_guess_text(&s)));
    return -1;
}

kiln_status kn_request_status(kn_request *r, const char *what)
{
    if (!r->g)
        return (kiln_status)kn_fail(KN_ARGUMENT, "graph is NULL");
    if (kn_request_named(r->g, r->name, what) && r->g->status == KILN_OK) {
        kn_status status = run_request(r);
        if (status != KN_OK)
            kn_handle_fail(r->g, status);
    }
    return kiln_graph_status(r->g);
}
