/* Writes the tables of elementwise operations of docs/language.md, from ops.def and the builder's own types. */
#include <stdio.h>

#include "ir/build.h"

static const kn_loc nowhere;

/* What an operation gives whose operands are all of type t (where's condition is bool); NULL: an error. */
static const char *result_of(kn_graph *g, kn_op op, kn_dtype t)
{
    kn_node *in[KN_MAX_IN];
    for (int k = 0; k < kn_ops[op].arity; k++) {
        kn_text name = kn_text_new(g->arena);
        kn_putf(&name, "%s_%s_%d", kn_ops[op].text, kn_dtypes[t].text, k);
        in[k] = kn_build_input(g, kn_text_str(&name), op == KN_OP_WHERE && k == 0 ? KN_BOOL : t,
                               NULL, 0, nowhere);
    }
    if ((op == KN_OP_LDEXP || op == KN_OP_ROUND) && kn_ops[op].arity > 1)
        in[1] = kn_build_int(g, 1, nowhere);
    kn_node *made = kn_build_elem(g, op, in, kn_ops[op].arity, nowhere);
    return made ? kn_dtypes[made->dtype].text : NULL;
}

static void write_ulp(kn_bound_of unit, double ulp)
{
    static const char *const of[] = {[KN_OF_RESULT] = "",
                                     [KN_OF_OPERANDS] = " of operands",
                                     [KN_OF_ONE] = " of 1",
                                     [KN_OF_EXPONENT] = " by exponent"};
    if (ulp == 0)
        printf(" exact |");
    else if (ulp == 0.5)
        printf(" rounded |");
    else
        printf(" %g%s |", ulp, of[unit]);
}

static void write_table(kn_graph *g)
{
    printf("| of |");
    for (int t = KN_BOOL; t <= KN_C128; t++)
        printf(" %s |", kn_dtypes[t].text);
    printf(" f32 ULP | f64 ULP | complex ULP |\n|---|");
    for (int t = KN_BOOL; t <= KN_C128 + 3; t++)
        printf("---|");
    printf("\n");
    for (int op = 0; op < KN_OP_COUNT; op++) {
        if (!kn_op_elementwise(op) || op == KN_OP_CAST || op == KN_OP_COPY)
            continue;
        printf("| `%s` |", kn_ops[op].text);
        for (int t = KN_BOOL; t <= KN_C128; t++) {
            const char *result = result_of(g, (kn_op)op, (kn_dtype)t);
            printf(" %s |", result ? result : "");
        }
        write_ulp(kn_ops[op].of, kn_ops[op].ulp_f32);
        write_ulp(kn_ops[op].of, kn_ops[op].ulp_f64);
        if (kn_complex_ops[op].exists)
            write_ulp(kn_complex_ops[op].of, kn_complex_ops[op].ulp);
        else
            printf(" |");
        printf("\n");
    }
}

static void write_formulas(void)
{
    printf("\n| formula | is |\n|---|---|\n");
    for (int op = 0; op < KN_OP_COUNT; op++)
        if (kn_ops[op].cls == KN_FORMULA) {
            const char *names[] = {"x", op == KN_OP_ROUND || op == KN_OP_LDEXP ? "n" : "y"};
            if (op == KN_OP_LEAKY_RELU)
                names[1] = "slope";
            printf("| `%s(%s%s%s%s` | `%s` |\n", kn_ops[op].text, names[0],
                   kn_ops[op].arity > 1 ? ", " : "",
                   kn_ops[op].arity > 2   ? "lo, hi"
                   : kn_ops[op].arity > 1 ? names[1]
                                          : "",
                   ")", kn_ops[op].formula);
        }
}

static kn_status write_all(void *a)
{
    kn_graph *g = kn_graph_new(a, "table");
    write_table(g);
    write_formulas();
    return KN_OK;
}

int main(void)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_status status = kn_protect(&a, write_all, &a);
    kn_arena_finish(&a);
    return status != KN_OK;
}
