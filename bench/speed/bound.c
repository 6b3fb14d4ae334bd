/* The bytes that any kernel reads a second time, whatever its schedule: where an element of an output needs an input's
 * element and also what a reduction makes of its group, the group is read, and kept or read again. As far as a group's
 * arrays are larger than all registers, shared memory and last cache together, they cannot be kept.
 *
 * Reductions of reductions count as one read: how often they take one depends on the algebra (a variance, a softmax's
 * sum). So the bound is too low for some, and never too high. */
#include <string.h>

#include "bench/speed/speed.h"
#include "codegen/model/machine.h"
#include "frontend/handles.h"
#include "runtime/program.h"

enum { REGISTERS = 65536 * 4, DIMS = 31 };

/* What a value needs. */
typedef struct need {
    uint64_t itself, reduced; /* inputs: of its own elements, and through reductions */
    uint32_t along;           /* the dimensions that these reductions keep, all of them */
} need;

typedef struct analysis {
    const kn_graph *g;
    const int64_t *sizes;
    double on_chip;
    kn_dim dims[DIMS]; /* larger than 1, by the bits of need.along */
    int ndims;
    need *needs;                  /* by node */
    double again[MAX_ARRAYS * 2]; /* fraction of an input that is read twice */
} analysis;

static const uint32_t everything = UINT32_MAX;

static uint32_t bit_of(analysis *a, kn_dim dim)
{
    int i = 0;
    dim = kn_dim_resolve(a->g->syms, dim);
    if (kn_dim_is_one(a->g->syms, dim))
        return 0;
    while (i < a->ndims && a->dims[i] != dim)
        i++;
    if (i == DIMS)
        return 0;
    a->dims[i] = dim;
    a->ndims += i == a->ndims;
    return UINT32_C(1) << i;
}

static need need_of(analysis *a, const kn_node *n)
{
    need all = {.along = everything};
    if (n->op == KN_OP_INPUT && n->u.input < MAX_ARRAYS * 2)
        all.itself = UINT64_C(1) << n->u.input;
    for (int i = 0; i < n->nin; i++) {
        const need *in = &a->needs[n->in[i]->id];
        all.itself |= in->itself;
        all.reduced |= in->reduced;
        all.along &= in->along;
    }
    if (kn_ops[n->op].cls != KN_REDUCE || !(all.itself | all.reduced))
        return all;
    uint32_t kept = 0;
    for (int i = 0; i < n->rank; i++)
        kept |= bit_of(a, n->shape[i]);
    return (need){.reduced = all.itself | all.reduced, .along = all.along & kept};
}

static double input_bytes(const analysis *a, int input)
{
    const kn_node *n = a->g->inputs.data[input].node;
    double bytes = (double)kiln_dtype_size((kiln_dtype)n->dtype);
    for (int i = 0; i < n->rank; i++) {
        int64_t size = 1;
        kn_dim_eval(n->shape[i], a->sizes, &size);
        bytes *= (double)size;
    }
    return bytes;
}

/* What an output of this need reads again. */
static void add_output(analysis *a, const need *n)
{
    uint64_t twice = n->itself & n->reduced;
    double group = 0;
    for (int i = 0; i < a->g->inputs.len && i < MAX_ARRAYS * 2; i++)
        if (twice >> i & 1)
            group += input_bytes(a, i);
    for (int i = 0; i < a->ndims; i++) {
        int64_t size = 1;
        if (n->along >> i & 1 && kn_dim_eval(a->dims[i], a->sizes, &size) && size > 0)
            group /= (double)size;
    }
    double lost = group > a->on_chip ? 1 - a->on_chip / group : 0;
    for (int i = 0; i < a->g->inputs.len && i < MAX_ARRAYS * 2; i++)
        if (twice >> i & 1 && a->again[i] < lost)
            a->again[i] = lost;
}

static double on_chip_bytes(const kn_target *target)
{
    double unit = target->sm ? REGISTERS + (double)target->smem_block : 0;
    return target->units * unit + kn_machine_of(target)->cache_bytes;
}

typedef struct question {
    job *j;
    const kn_target *target;
    kn_arena arena;
} question;

static kn_status answer(void *user)
{
    question *q = user;
    kn_binding b;
    analysis a = {.g = q->j->prog->core->original, .on_chip = on_chip_bytes(q->target)};
    kn_arg args[MAX_ARRAYS];
    for (int i = 0; i < q->j->n; i++) {
        const kiln_arg *from = &q->j->args[i];
        args[i] =
            (kn_arg){from->name, NULL, (int)from->dtype, from->rank, from->shape, from->strides};
    }
    kn_status status = kn_bind(&q->arena, a.g, args, q->j->n, KN_BIND_ASSUME, &b);
    if (status != KN_OK)
        return status;
    a.sizes = b.sizes;
    a.needs = KN_NEW_ARRAY(&q->arena, need, a.g->nodes.len);
    for (int i = 0; i < a.g->nodes.len; i++)
        a.needs[i] = need_of(&a, a.g->nodes.data[i]);
    for (int i = 0; i < a.g->outputs.len; i++)
        add_output(&a, &a.needs[a.g->outputs.data[i].node->id]);
    double bytes = 0;
    for (int i = 0; i < a.g->inputs.len && i < MAX_ARRAYS * 2; i++)
        bytes += a.again[i] * input_bytes(&a, i);
    q->j->again = (int64_t)bytes;
    return KN_OK;
}

bool job_reads_again(job *j, const kn_target *target)
{
    question q = {.j = j, .target = target};
    kn_arena_init(&q.arena, NULL);
    kn_status status = kn_protect(&q.arena, answer, &q);
    kn_arena_finish(&q.arena);
    if (status != KN_OK)
        fprintf(stderr, "speed: %s: %s\n", j->w->program, kn_last_error());
    return status == KN_OK;
}
