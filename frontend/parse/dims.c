/* Dimensions: sum := product ('+' product)*; product := atom ('*' atom)*;
 * atom := NAME | INTEGER | '(' sum ')' | 'shard' '(' NAME ')' */
#include <string.h>

#include "frontend/parse/parser.h"

static bool dim_sum(kn_parser *p, kn_dim *out);

/* shard(N): a part of N. */
static bool dim_part(kn_parser *p, kn_dim *out)
{
    kn_tok t = p->tok, name;
    kn_advance(p);
    kn_advance(p);
    name = p->tok;
    if (name.kind != KN_TOK_NAME)
        return kn_pexpected(p, "the name of a size that is divided over ranks");
    kn_advance(p);
    *out = kn_dim_part(p->g->syms, name.pos.at, name.len);
    return (*out || kn_pwrap(p, t.pos)) && kn_expect(p, ')', "')' behind a size that is divided");
}

static bool dim_atom(kn_parser *p, kn_dim *out)
{
    kn_symbols *s = p->g->syms;
    kn_tok t = p->tok;
    if (kn_accept(p, '(')) {
        if (++p->depth > KN_PARSE_MAX_DEPTH)
            return kn_perror(p, t.pos, KN_SYNTAX, "dimensions are nested more than %d deep",
                             KN_PARSE_MAX_DEPTH);
        bool ok = dim_sum(p, out) && kn_expect(p, ')', "')' in a dimension");
        p->depth--;
        return ok;
    }
    if (t.kind == KN_TOK_NAME && t.len == 5 && memcmp(t.pos.at, "shard", 5) == 0 &&
        kn_peek(p).kind == '(')
        return dim_part(p, out);
    if (t.kind == KN_TOK_INT)
        *out = kn_dim_const(s, t.u.i);
    else if (t.kind == KN_TOK_NAME)
        *out = kn_dim_sym(s, t.pos.at, t.len);
    else
        return kn_pexpected(p, "a dimension (a name, an integer, products and sums of them)");
    kn_advance(p);
    return *out || kn_pwrap(p, t.pos);
}

static bool dim_product(kn_parser *p, kn_dim *out)
{
    kn_dim right;
    if (!dim_atom(p, out))
        return false;
    for (kn_pos pos = p->tok.pos; kn_accept(p, '*'); pos = p->tok.pos) {
        if (!dim_atom(p, &right))
            return false;
        *out = kn_dim_mul(p->g->syms, *out, right);
        if (!*out)
            return kn_pwrap(p, pos);
    }
    return true;
}

static bool dim_sum(kn_parser *p, kn_dim *out)
{
    kn_dim right;
    if (!dim_product(p, out))
        return false;
    for (kn_pos pos = p->tok.pos; kn_accept(p, '+'); pos = p->tok.pos) {
        if (!dim_product(p, &right))
            return false;
        *out = kn_dim_add(p->g->syms, *out, right);
        if (!*out)
            return kn_pwrap(p, pos);
    }
    return true;
}

bool kn_dims(kn_parser *p, kn_dim *shape, int *rank)
{
    kn_advance(p);
    *rank = 0;
    if (kn_at(p, ']'))
        return kn_pexpected(p, "dimensions (a 0-d array is f32[()], a 0-d value f32 alone)");
    if (kn_at(p, '(') && kn_peek(p).kind == ')') {
        kn_advance(p);
        kn_advance(p);
    } else {
        while (!kn_at(p, ']')) {
            if (*rank == KN_MAX_RANK)
                return kn_perror(p, p->tok.pos, KN_SHAPE, "an array has %d dimensions at most",
                                 KN_MAX_RANK);
            if (!dim_sum(p, &shape[(*rank)++]))
                return false;
            if (!kn_accept(p, ','))
                break;
        }
    }
    return kn_expect(p, ']', "',' or ']' after a dimension");
}

/* A dimension, or -1 as NULL. */
static bool dim_or_hole(kn_parser *p, bool holes, kn_dim *out)
{
    kn_tok next = kn_peek(p);
    *out = NULL;
    if (holes && kn_at(p, '-') && next.kind == KN_TOK_INT && next.u.i == 1) {
        kn_advance(p);
        kn_advance(p);
        return true;
    }
    return dim_sum(p, out);
}

kn_status kn_parse_dims(kn_graph *g, const char *text, bool holes, kn_dim *shape, int *rank)
{
    kn_parser p;
    kn_parser_init(&p, g, kn_strdup(g->arena, text), "dimensions", true);
    *rank = 0;
    if (kn_at(&p, KN_TOK_END))
        return KN_OK;
    do {
        if (*rank == KN_MAX_RANK) {
            kn_perror(&p, p.tok.pos, KN_SHAPE, "an array has %d dimensions at most", KN_MAX_RANK);
            return p.status;
        }
        if (!dim_or_hole(&p, holes, &shape[(*rank)++]))
            return p.status;
    } while (kn_accept(&p, ','));
    return kn_at(&p, KN_TOK_END) || kn_pexpected(&p, "',' or the end") ? KN_OK : p.status;
}
