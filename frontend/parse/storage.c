/* Which names show the same memory.
 *
 * NumPy writes into memory, which every name of it shows. Here an array never changes: what is assigned makes a new
 * one, of which all names that show the old one show the same part. Names of one array share a storage; each is a chain
 * of views of the storage's base. */
#include "frontend/parse/parser.h"
#include "ir/view.h"

/* Does the chain of views from `from` to `node` regroup elements? NumPy copies then, unless strides allow a view. */
static bool regroups(const kn_parser *p, const kn_node *node, const kn_node *from)
{
    for (; node != from && kn_ops[node->op].cls == KN_VIEW; node = node->in[0])
        if (kn_regroups(p->g, node))
            return true;
    return false;
}

void kn_own_storage(kn_parser *p, kn_object *v, const char *param, const kn_object *was)
{
    if (v->kind == KN_OBJECT_TUPLE) {
        kn_object *items = KN_NEW_ARRAY(p->arena, kn_object, v->nitems + 1);
        for (int i = 0; i < v->nitems; i++) {
            items[i] = v->items[i];
            kn_own_storage(p, &items[i], NULL, NULL);
        }
        v->items = items;
    }
    if (v->kind != KN_OBJECT_NODE)
        return;
    kn_storage *shared = v->storage > 0 ? &p->storages.data[v->storage - 1] : NULL;
    bool again = was && was->kind == KN_OBJECT_NODE && was->storage == v->storage;
    bool alone = shared && !shared->param && shared->names <= again;
    bool copied = alone && (v->uncertain || regroups(p, v->node, shared->base));
    if (shared && !v->scalar && !copied)
        return;
    bool array = v->node->op == KN_OP_INPUT;
    kn_push(p->arena, &p->storages,
            ((kn_storage){.param = array ? param : NULL,
                          .base = v->node,
                          .readonly = v->readonly && !(copied && v->uncertain)}));
    v->storage = p->storages.len;
    v->readonly = p->storages.data[v->storage - 1].readonly;
    v->scalar = v->uncertain = false;
}

/* v, after the base of its storage has changed. */
static void refresh(kn_parser *p, kn_object *v, int storage, const kn_node *old)
{
    if (v->kind == KN_OBJECT_TUPLE) {
        kn_object *items = KN_NEW_ARRAY(p->arena, kn_object, v->nitems + 1);
        for (int i = 0; i < v->nitems; i++) {
            items[i] = v->items[i];
            refresh(p, &items[i], storage, old);
        }
        v->items = items;
    }
    if (!v->node || v->storage != storage)
        return;
    if (v->uncertain || regroups(p, v->node, old)) {
        v->stale = true;
        return;
    }
    kn_node *now = kn_build_same_view(p->g, v->node, old, p->storages.data[storage - 1].base);
    v->node = now ? now : v->node;
}

void kn_storage_set(kn_parser *p, int storage, kn_node *base)
{
    const kn_node *old = p->storages.data[storage - 1].base;
    p->storages.data[storage - 1].base = base;
    for (int i = 0; i < p->vars.len && base != old; i++)
        refresh(p, &p->vars.data[i].value, storage, old);
}

static bool is_updated(const kn_parser *p, const kn_storage *s)
{
    int input = s->param ? kn_graph_find_input(p->g, s->param) : -1;
    return input >= 0 && s->base != p->g->inputs.data[input].node;
}

bool kn_updates(kn_parser *p, bool *any)
{
    *any = false;
    for (int i = 0; i < p->storages.len; i++) {
        const kn_storage *s = &p->storages.data[i];
        if (!is_updated(p, s))
            continue;
        *any = true;
        kn_build_name(p->g, s->base, s->param);
        if (kn_build_update(p->g, s->param, s->base, s->base->loc) != KN_OK)
            return kn_pwrap(p, p->tok.pos);
    }
    return true;
}

const char *kn_updated_param(const kn_parser *p, const kn_object *v)
{
    const kn_storage *s =
        v->kind == KN_OBJECT_NODE && v->storage > 0 ? &p->storages.data[v->storage - 1] : NULL;
    return s && v->node == s->base && is_updated(p, s) ? s->param : NULL;
}

int kn_view_storage(const kn_parser *p, int storage)
{
    const kn_storage *s = storage > 0 ? &p->storages.data[storage - 1] : NULL;
    return s && s->base->rank == 0 && !s->param ? KN_STORAGE_NEW : storage;
}
