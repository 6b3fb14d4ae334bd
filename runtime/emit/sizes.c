/* Sizes as C. What is free among the symbols of inputs' shapes is a parameter; what is made of others is a variable, which
 * is defined where it is first needed. */
#include <string.h>

#include "ir/interp.h"
#include "runtime/emit/impl.h"

int kn_message(kn_emitter *e, const char *fmt, ...)
{
    kn_text t = kn_text_new(e->a);
    va_list ap;
    va_start(ap, fmt);
    kn_putv(&t, fmt, ap);
    va_end(ap);
    return kn_line(e->a, &e->messages, kn_text_str(&t)) + 1;
}

/* ---- parameters ---- */

/* Symbols of a dimension that nothing gives a value but an argument become parameters. */
static void add_sizes(kn_emitter *e, kn_dim d)
{
    for (int s = -1; (s = kn_dim_symbol_after(d, s)) >= 0;) {
        const kn_symbol_parts parts = kn_symbol_made_of(e->g->syms, s);
        if (parts.op) {
            add_sizes(e, parts.num);
            add_sizes(e, parts.den);
        } else if (!e->size[s]) {
            e->size[s] = kn_identifier(e->a, "", kn_symbol_name(e->g->syms, s));
            kn_push(e->a, &e->sizes, s);
        }
    }
}

kn_status kn_name_sizes(kn_emitter *e)
{
    e->size = KN_NEW_ARRAY(e->a, const char *, kn_symbols_count(e->g->syms) + 1);
    for (int i = 0; i < e->g->inputs.len; i++)
        for (int j = 0; j < e->g->inputs.data[i].node->rank; j++)
            add_sizes(e, e->g->inputs.data[i].node->shape[j]);
    return KN_OK;
}

const char *kn_size_list(kn_emitter *e, bool types)
{
    kn_text t = kn_text_new(e->a);
    for (int i = 0; i < e->sizes.len; i++)
        kn_putf(&t, "%s%s%s", i ? ", " : "", types ? "int64_t " : "", e->size[e->sizes.data[i]]);
    if (!e->sizes.len && types)
        kn_put(&t, "void");
    return kn_text_str(&t);
}

/* ---- expressions ---- */

kn_scope kn_scope_new(kn_emitter *e, kn_text *t, kn_symbols *syms)
{
    const int n = kn_symbols_count(syms);
    return (kn_scope){.e = e, .t = t, .syms = syms, .known = KN_NEW_ARRAY(e->a, bool, n + 1)};
}

static const char *name_of(void *user, int sym)
{
    const kn_scope *s = user;
    const bool named = sym < kn_symbols_count(s->e->g->syms) && s->e->size[sym];
    return named ? s->e->size[sym] : kn_sprintf(s->e->a, "size%d", sym);
}

static const char *text_of(kn_scope *s, kn_dim d)
{
    kn_text t = kn_text_new(s->e->a);
    kn_dim_put_c(&t, d, name_of, s);
    return kn_text_str(&t);
}

static void define_all(kn_scope *s, kn_dim d);

void kn_put_check(kn_scope *s, const char *condition, int code)
{
    const int before = s->checked.len;
    if (kn_line(s->e->a, &s->checked, condition) != before)
        return;
    kn_putf(s->t, "    if (%s)\n        return %d; /* %s */\n", condition, code,
            s->e->messages.data[code - 1]);
}

void kn_put_condition(kn_scope *s, const char *otherwise)
{
    kn_putf(s->t, "    if (%s)\n        return KN_OTHER_PLAN;\n", otherwise);
}

static void define(kn_scope *s, int sym)
{
    const kn_symbol_parts parts = kn_symbol_made_of(s->syms, sym);
    if (!parts.op || s->known[sym])
        return;
    s->known[sym] = true;
    define_all(s, parts.num);
    define_all(s, parts.den);
    const char *num = text_of(s, parts.num), *den = parts.den ? text_of(s, parts.den) : "";
    const char *name = name_of(s, sym);
    kn_text shown = kn_text_new(s->e->a);
    kn_symbol_print(&shown, s->syms, sym);
    const char *remains = kn_sprintf(s->e->a, "!kn_divides(%s, %s)", num, den);
    if (parts.op == '/' && sym >= kn_symbols_count(s->e->g->syms))
        kn_put_condition(s, remains);
    else if (parts.op == '/')
        kn_put_check(s, remains, kn_message(s->e, "%s is not a whole number", kn_text_str(&shown)));
    int64_t number;
    if (parts.op == 'f' && !(kn_dim_is_const(s->syms, parts.den, &number) && number))
        kn_put_check(s, kn_sprintf(s->e->a, "(%s) == 0", den),
                     kn_message(s->e, "%s divides by zero", kn_text_str(&shown)));
    kn_putf(s->t, "    const int64_t %s = ", name);
    switch (parts.op) {
    case '=': kn_putf(s->t, "%s", num); break;
    case '/': kn_putf(s->t, "(%s) / (%s)", num, den); break;
    case 'f': kn_putf(s->t, "kn_floor_quotient(%s, %s)", num, den); break;
    case '<': kn_putf(s->t, "kn_lesser(%s, %s)", num, den); break;
    default: kn_putf(s->t, "kn_greater(%s, %s)", num, den); break;
    }
    kn_putf(s->t, "; /* %s */\n", kn_text_str(&shown));
}

static void define_all(kn_scope *s, kn_dim d)
{
    for (int sym = -1; d && (sym = kn_dim_symbol_after(d, sym)) >= 0;)
        define(s, sym);
}

const char *kn_put_dim(kn_scope *s, kn_dim d)
{
    define_all(s, d);
    return text_of(s, d);
}

/* "4 * N * (M + 1)", from the factor `first` on. */
static const char *product(kn_scope *s, const kn_node *n, int first)
{
    kn_text t = kn_text_new(s->e->a);
    if (first != 1)
        kn_puti(&t, first);
    for (int j = 0; j < n->rank; j++) {
        const char *d = kn_put_dim(s, n->shape[j]);
        if (strcmp(d, "1") == 0)
            continue;
        const bool sum = strpbrk(d, "+- ") != NULL;
        kn_putf(&t, "%s%s%s%s", t.len ? " * " : "", sum ? "(" : "", d, sum ? ")" : "");
    }
    return t.len ? kn_text_str(&t) : "1";
}

const char *kn_put_count(kn_scope *s, const kn_node *n) { return product(s, n, 1); }

const char *kn_put_bytes(kn_scope *s, const kn_node *n)
{
    return product(s, n, kn_bytes(n->dtype));
}

/* ---- checks ---- */

static void put_fact(kn_scope *s, const kn_fact *fact)
{
    kn_emitter *e = s->e;
    const char *a = kn_put_dim(s, fact->a), *b = kn_put_dim(s, fact->b);
    kn_text text = kn_text_new(e->a);
    kn_fact_print(&text, s->syms, fact);
    const int code = fact->said ? kn_message(e, "%s", fact->said)
                                : kn_message(e, "%s needs %s", fact->why, kn_text_str(&text));
    const char *condition = NULL;
    switch (fact->kind) {
    case KN_FACT_EQUAL: condition = kn_sprintf(e->a, "!(%s == %s)", a, b); break;
    case KN_FACT_DIVIDES: condition = kn_sprintf(e->a, "!kn_divides(%s, %s)", a, b); break;
    case KN_FACT_DIFFERS: condition = kn_sprintf(e->a, "!(%s != %s)", a, b); break;
    case KN_FACT_LESS: condition = kn_sprintf(e->a, "!(%s < %s)", a, b); break;
    case KN_FACT_AT_MOST: condition = kn_sprintf(e->a, "!(%s <= %s)", a, b); break;
    }
    if (strcmp(a, b) != 0)
        kn_put_check(s, condition, code);
}

/* "N, C" of a shape; "" of a 0-d one. */
static const char *shape_text(kn_scope *s, const kn_node *n)
{
    kn_text t = kn_text_new(s->e->a);
    for (int j = 0; j < n->rank; j++)
        kn_putf(&t, "%s%s", j ? ", " : "", kn_put_dim(s, n->shape[j]));
    return kn_text_str(&t);
}

/* As what binds a call checks it: everything that an INDEX reads is there. */
static void put_index(kn_scope *s, const kn_node *n)
{
    kn_emitter *e = s->e;
    const char *count = kn_put_count(s, n);
    const int code = kn_message(e, "an index is out of bounds%s", kn_loc_place(n->loc).text);
    for (int j = 0; j < n->in[0]->rank; j++) {
        const int axis = n->u.index->axis[j];
        const char *start = kn_put_dim(s, n->u.index->start[j]);
        const char *size = kn_put_dim(s, n->in[0]->shape[j]);
        const char *extent = axis >= 0 ? kn_put_dim(s, n->shape[axis]) : "1";
        if (strcmp(start, "0") == 0 && strcmp(extent, size) == 0 && n->u.index->step[j] == 1)
            continue;
        kn_put_check(s,
                     kn_sprintf(e->a, "%s%s%skn_outside(%s, %s, %lld, %s)", axis >= 0 ? "(" : "",
                                axis >= 0 ? count : "", axis >= 0 ? ") != 0 && " : "", start,
                                extent, (long long)(axis >= 0 ? n->u.index->step[j] : 0), size),
                     code);
    }
}

static void put_node(kn_scope *s, const kn_node *n, kn_lines *counted)
{
    kn_emitter *e = s->e;
    const char *shape = shape_text(s, n);
    const int before = counted->len;
    if (n->rank && kn_line(e->a, counted, shape) == before) {
        kn_putf(s->t, "    const int64_t shape%d[] = {%s};\n", before, shape);
        kn_put_check(s, kn_sprintf(e->a, "!kn_countable(%d, shape%d)", n->rank, before),
                     kn_message(e, "a size is negative, or the number of elements out of range"));
    }
    if (n->op == KN_OP_INDEX)
        put_index(s, n);
    const bool takes = n->op == KN_OP_TAKE && n->u.gather.checked;
    if (takes || kn_needs_members(n)) {
        const char *made = kn_put_count(s, n), *from = kn_put_count(s, n->in[0]);
        kn_put_check(
            s, kn_sprintf(e->a, "(%s) > 0 && (%s) == 0", made, from),
            takes ? kn_message(e, "nothing can be taken of an axis with size 0")
                  : kn_message(e, "nothing to reduce, and %s has no identity", kn_ops[n->op].text));
    }
}

void kn_put_checks(kn_emitter *e, kn_text *t)
{
    const kn_graph *g = e->g;
    kn_scope s = kn_scope_new(e, t, g->syms);
    kn_lines counted = {0};
    kn_putf(
        t,
        "/* 0 where the program has a meaning for these sizes, else the number of a message. */\n"
        "static int check_sizes(%s)\n{\n",
        kn_size_list(e, true));
    for (int i = 0; i < e->sizes.len; i++)
        kn_put_check(&s, kn_sprintf(e->a, "%s < 0", e->size[e->sizes.data[i]]),
                     kn_message(e, "a size is negative, or the number of elements out of range"));
    for (int i = 0; i < g->inputs.len; i++)
        put_node(&s, g->inputs.data[i].node, &counted);
    for (int i = 0; i < g->facts.list.len; i++)
        put_fact(&s, &g->facts.list.data[i]);
    for (int i = 0; i < g->indices.len; i++)
        put_index(&s, g->indices.data[i]);
    for (int i = 0; i < g->nodes.len; i++)
        put_node(&s, g->nodes.data[i], &counted);
    kn_put(t, "    return 0;\n}\n\n");
}
