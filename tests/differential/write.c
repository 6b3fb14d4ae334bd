/* Programs as .kiln files. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/npy.h"
#include "tests/differential/program.h"

/* ---- the text ---- */

static const char *type_text(kn_dtype t) { return kn_dtypes[t].text; }

static void put_float(kn_text *t, double v)
{
    const char *digits = kn_sprintf(t->arena, "%.17g", v);
    if (isnan(v) || isinf(v))
        kn_put(t, isnan(v) ? "nan" : v > 0 ? "inf" : "(-inf)");
    else
        kn_putf(t, signbit(v) ? "(%s%s)" : "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

/* (1.5-2j), or by its parts where one has no digits. */
static void put_complex(kn_text *t, kn_scalar v)
{
    if (isfinite(v.f) && isfinite(v.im)) {
        kn_putf(t, "(%.17g%+.17gj)", v.f, v.im);
        return;
    }
    kn_put(t, "complex_of(");
    put_float(t, v.f);
    kn_put(t, ", ");
    put_float(t, v.im);
    kn_put(t, ")");
}

static void put_number(kn_text *t, kn_scalar v)
{
    if (v.dtype == KN_BOOL)
        kn_put(t, v.i ? "True" : "False");
    else if (kn_is_float(v.dtype))
        put_float(t, v.f);
    else if (kn_is_complex(v.dtype))
        put_complex(t, v);
    else if (v.dtype == KN_U64)
        kn_putf(t, "%llu", (unsigned long long)v.i);
    else
        kn_putf(t, v.i < 0 ? "(%lld)" : "%lld", (long long)v.i);
}

static void put_operand(kn_text *t, const kn_graph *g, const kn_node *n)
{
    switch (n->op) {
    case KN_OP_INPUT:
    case KN_OP_SCALAR: kn_put(t, g->inputs.data[n->u.input].name); return;
    case KN_OP_EXTENT:
        kn_put(t, "(");
        kn_dim_print(t, g->syms, n->u.dim);
        kn_put(t, ")");
        return;
    case KN_OP_CONST:
        if (n->weak || n->dtype == KN_BOOL) {
            put_number(t, n->u.value);
            return;
        }
        kn_put(t, "cast(");
        put_number(t, n->u.value);
        kn_putf(t, ", %s)", type_text(n->dtype));
        return;
    default: kn_putf(t, "n%d", n->id);
    }
}

/* "n24.shape[0]": a size that node n has, by an earlier node that has it. */
static void put_size_of_another(kn_text *t, const kn_graph *g, const kn_node *n, kn_dim size)
{
    for (int i = 0; i < n->id; i++) {
        const kn_node *other = g->nodes.data[i];
        for (int j = 0; j < other->rank; j++)
            if (kn_dim_equal(g->syms, other->shape[j], size)) {
                put_operand(t, g, other);
                kn_putf(t, ".shape[%d]", j);
                return;
            }
    }
    kn_put(t, "-1"); /* which is refused */
}

/* "(N, 2*C, -1, )": a quotient is what is left of a reshape, or another node's. */
static void put_shape(kn_text *t, const kn_graph *g, const kn_node *n)
{
    kn_put(t, "(");
    for (int i = 0; i < n->rank; i++) {
        kn_text one = kn_text_new(t->arena);
        kn_dim_print(&one, g->syms, n->shape[i]);
        if (!strchr(kn_text_str(&one), '/')) {
            kn_put(t, kn_text_str(&one));
        } else if (n->op == KN_OP_RESHAPE) {
            kn_put(t, "-1");
        } else {
            put_size_of_another(t, g, n, n->shape[i]);
        }
        kn_put(t, ", ");
    }
    kn_put(t, ")");
}

static void put_operands(kn_text *t, const kn_graph *g, const kn_node *n)
{
    for (int k = 0; k < n->nin; k++) {
        kn_put(t, k ? ", " : "(");
        put_operand(t, g, n->in[k]);
    }
}

static void put_reduction(kn_text *t, const kn_node *n)
{
    kn_put(t, ", axis=(");
    for (int i = 0; i < n->rank; i++)
        if (n->u.reduce.axes >> i & 1)
            kn_putf(t, "%d, ", i);
    kn_put(t, "), keepdims=True");
    if (n->op == KN_OP_VAR)
        kn_putf(t, ", ddof=%d", n->u.reduce.ddof);
    if (n->op == KN_OP_SUM || n->op == KN_OP_PROD || n->op == KN_OP_MEAN || n->op == KN_OP_VAR)
        kn_putf(t, ", dtype=%s", type_text(n->dtype));
}

static void put_node(kn_text *t, const kn_graph *g, const kn_node *n)
{
    kn_putf(t, "    n%d = %s", n->id, kn_ops[n->op].text);
    put_operands(t, g, n);
    switch (n->op) {
    case KN_OP_CAST: kn_putf(t, ", %s", type_text(n->dtype)); break;
    case KN_OP_RESHAPE:
    case KN_OP_BROADCAST:
        kn_put(t, ", ");
        put_shape(t, g, n);
        break;
    case KN_OP_PERMUTE:
        for (int i = 0; i < n->rank; i++)
            kn_putf(t, "%s%d, ", i ? "" : ", (", n->u.perm[i]);
        kn_put(t, n->rank ? ")" : ", ()");
        break;
    default:
        if (kn_ops[n->op].cls == KN_REDUCE)
            put_reduction(t, n);
    }
    kn_put(t, ")\n");
}

/* Python has defaults only where all later parameters have one too; integers that do not fit an i64 cannot be
 * written. */
static bool shows_default(const kn_graph *g, int i)
{
    while (i < g->inputs.len && g->inputs.data[i].has_default &&
           !(g->inputs.data[i].dflt.dtype == KN_U64 && g->inputs.data[i].dflt.i < 0))
        i++;
    return i == g->inputs.len;
}

const char *program_text(const program *p)
{
    const kn_graph *g = p->graph;
    kn_text t = kn_text_new(p->arena);
    if (g->source)
        return g->source;
    kn_put(&t, "def failing(");
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        kn_putf(&t, "%s%s: %s", i ? ", " : "", in->name, type_text(in->node->dtype));
        if (!in->by_value && in->node->rank == 0)
            kn_put(&t, "[()]");
        else if (!in->by_value)
            kn_shape_print(&t, g->syms, in->node->shape, in->node->rank);
        if (shows_default(g, i)) {
            kn_put(&t, " = ");
            put_number(&t, in->dflt);
        }
    }
    kn_put(&t, "):\n");
    for (int i = 0; i < g->nodes.len; i++)
        if (kn_ops[g->nodes.data[i]->op].cls != KN_LEAF)
            put_node(&t, g, g->nodes.data[i]);
    for (int o = 0; o < g->outputs.len; o++) {
        kn_putf(&t, "    %s = ", g->outputs.data[o].name);
        put_operand(&t, g, g->outputs.data[o].node);
        kn_put(&t, "\n");
    }
    for (int o = 0; o < g->outputs.len; o++)
        kn_putf(&t, "%s%s", o ? ", " : "    return ", g->outputs.data[o].name);
    kn_put(&t, "\n");
    return kn_text_str(&t);
}

/* ---- the command, and its files ---- */

/* By-value arguments stand in the command, arrays in files. */
const char *program_command(const program *p, const char *device, const kn_program_options *o,
                            const char *dir)
{
    kn_text t = kn_text_new(p->arena);
    kn_putf(&t, "kiln run %s/failing.kiln --device %s", dir, device);
    if (!o->fusion)
        kn_put(&t, " --fusion off");
    if (o->schedule)
        kn_putf(&t, " --schedule %s", o->schedule);
    if (o->fast_math)
        kn_put(&t, " --fast-math");
    for (int i = 0; i < p->graph->inputs.len; i++) {
        const kn_input *in = &p->graph->inputs.data[i];
        if (p->omitted[i] && shows_default(p->graph, i))
            continue;
        kn_putf(&t, " '%s=", in->name);
        if (in->by_value) {
            kn_scalar v = kn_scalar_load(in->node->dtype, p->in[i].block);
            if (kn_is_complex(v.dtype))
                kn_putf(&t, "%.17g%+.17gj", v.f, v.im);
            else if (kn_is_float(v.dtype))
                kn_putf(&t, "%.17g", v.f);
            else
                put_number(&t, v);
        } else {
            kn_putf(&t, "%s/%s.npy", dir, in->name);
        }
        kn_put(&t, "'");
    }
    return kn_text_str(&t);
}

static bool write_input(const program *p, int i, const char *path)
{
    const memory *m = &p->in[i];
    kn_cli_array a = {.dtype = (kiln_dtype)m->dtype, .rank = m->layout.rank, .compact = true};
    int64_t size = kn_bytes(m->dtype), index[KN_MAX_RANK] = {0}, at = m->first;
    memcpy(a.shape, m->layout.shape, sizeof *a.shape * (size_t)a.rank);
    kn_compact_strides(a.shape, a.rank, a.strides);
    a.count = kn_count(a.shape, a.rank);
    a.bytes = (size_t)(a.count * size);
    char *data = kn_alloc(p->arena, a.bytes + 1);
    a.data = data;
    for (int64_t k = 0; k < a.count; k++) {
        memcpy(data + k * size, m->block + at * size, (size_t)size);
        for (int j = a.rank - 1; j >= 0; j--) {
            at += m->layout.stride[j];
            if (++index[j] < a.shape[j])
                break;
            at -= m->layout.stride[j] * a.shape[j];
            index[j] = 0;
        }
    }
    FILE *f = fopen(path, "wb");
    if (!f)
        return false;
    bool good = kn_npy_write(f, &a);
    return fclose(f) == 0 && good;
}

static void put_layouts(const program *p, FILE *f)
{
    if (p->compact)
        return;
    fprintf(f, "# It may need these strides, which files do not have:\n");
    for (int i = 0; i < p->graph->inputs.len + p->graph->outputs.len; i++) {
        bool input = i < p->graph->inputs.len;
        const memory *m = input ? &p->in[i] : &p->out[i - p->graph->inputs.len];
        fprintf(f, "#   %s: first %lld, strides",
                input ? p->graph->inputs.data[i].name
                      : p->graph->outputs.data[i - p->graph->inputs.len].name,
                (long long)m->first);
        for (int j = 0; j < m->layout.rank; j++)
            fprintf(f, " %lld", (long long)m->layout.stride[j]);
        fprintf(f, "\n");
    }
}

bool program_write(const program *p, const char *device, const kn_program_options *o,
                   const char *why, const char *dir)
{
    for (int i = 0; i < p->graph->inputs.len; i++)
        if (!p->graph->inputs.data[i].by_value &&
            !write_input(p, i,
                         kn_sprintf(p->arena, "%s/%s.npy", dir, p->graph->inputs.data[i].name)))
            return false;
    FILE *f = fopen(kn_sprintf(p->arena, "%s/failing.kiln", dir), "w");
    if (!f)
        return false;
    fprintf(f, "# KILN_SEED=%llu, minimised: ", (unsigned long long)p->seed);
    for (const char *c = why; *c; c++)
        fputs(*c == '\n' ? "\n# " : (const char[]){*c, '\0'}, f);
    fprintf(f, "\n#   %s\n", program_command(p, device, o, dir));
    fprintf(f, "#   %s\n", program_command(p, "ref", o, dir));
    put_layouts(p, f);
    fprintf(f, "%s", program_text(p));
    return fclose(f) == 0;
}
