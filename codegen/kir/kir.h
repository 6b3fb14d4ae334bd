/* The kernel IR: loop nests bound by schedules, phase by phase. The optimiser, the model, `explain`, the CUDA emitter
 * and the CPU device share it.
 *
 *   kernel   phases in order. In front of a phase that reads what an earlier one wrote there is a grid barrier, or the last
 *            block to arrive works on that phase alone, and the others end
 *   phase    a nest (codegen/kir/nest.h), its schedule (codegen/kir/schedule.h), and one call's numbers
 *
 * A split phase divides the members of each group into `splits` parts, which different blocks work on: contiguous
 * ranges of `chunk` members, or, on GPUs where the order does not matter, a cyclic partition: every `splits`-th step
 * of a block. It has one sweep. Its reductions are stored as partial results (KN_STORE_PARTIAL, with the part as an
 * additional leading index), which a later phase combines.
 *
 * A phase of clusters divides the members likewise over the blocks of a thread-block cluster, which combine their
 * results through each other's shared memory. So it may have any number of sweeps.
 *
 * A mixed phase divides its groups instead, into `parts` of at most `rounds` groups; a block, or a cluster, walks one,
 * cyclically. Its reductions `across` accumulate over the groups of a part, separately for each member, and are
 * stored as partial results over the members. So one sweep over a matrix sums its rows and its columns. Each thread
 * has all that it loads of a group in registers; what is the same for all groups it loads once a part. A later phase
 * may walk the same parts.
 *
 * A local phase is computed by the threads of its host, the next phase that is not local: by those of each group
 * before the group's first sweep, or, if it has no groups, by every block once before its first group. The host sees
 * the results as values on chip. So partial results need no phase, and no barrier, of their own to be combined.
 *
 * Structure and numbers: fields marked (n), and kn_numbers, are the numbers of one call. Everything else is the
 * kernel's structure, which is what compiled code depends on: calls whose structure prints the same (kn_kernel_print
 * with numbers false) share it. */
#ifndef KN_CODEGEN_KIR_H
#define KN_CODEGEN_KIR_H

#include "codegen/kir/phase.h"

typedef struct kn_scalar_param {
    int input; /* graph input */
    kn_dtype dtype;
    const char *name;
} kn_scalar_param;

typedef struct kn_extent_param {
    kn_dim dim;
    const char *name;
    int64_t value; /* (n) */
} kn_extent_param;

/* Eviction policies of the L2 cache for what a kernel reads, as createpolicy encodes them: normal, evict first, evict
 * last. */
#define KN_POLICY_NONE INT64_C(0x10f0000000000000)
#define KN_POLICY_FIRST INT64_C(0x12f0000000000000)
#define KN_POLICY_LAST INT64_C(0x14f0000000000000)

typedef struct kn_kernel {
    kn_arena *arena;
    const char *name; /* a C identifier, unique within the program */
    int threads;      /* CUDA: block size; (n) where bound is not 0 */
    /* CUDA: if not 0, the code serves blocks of every power of two of threads from 64 up to this; if 0, of `threads`
     * only */
    int bound;
    int min_blocks; /* CUDA: the minimum of blocks a multiprocessor (launch bounds); 0: none */
    int64_t shared; /* (n) CUDA: bytes of dynamic shared memory a block */
    /* (n) CUDA: steps of a thread whose resident values have room in shared memory */
    int64_t resident_steps;
    bool ranks;    /* CUDA: what its phases exchange with other ranks is exchanged in between */
    int round;     /* (n) exchanges between ranks, one behind the other, that come before it */
    bool wide;     /* indices need 64 bits */
    bool disjoint; /* no output overlaps an input */
    bool fast;     /* fast_math: functions may be the hardware's approximations */
    /* (n) CUDA: the eviction policy of loads; 0: they have none. codegen/model/caches.c */
    int64_t policy;
    KN_VEC(kn_buf) bufs;
    KN_VEC(kn_scalar_param) scalars;
    KN_VEC(kn_extent_param) extents;
    KN_VEC(kn_phase) phases;
    const char *source; /* CUDA: generated text, set when the device wants it */
    const char *key;    /* the canonical text of structure, target and options */
} kn_kernel;

/* The first of the local phases whose host is phase p; p if there are none. */
int kn_first_local(const kn_kernel *k, int p);
/* Is phase p the last one, or does the next one begin with a grid barrier? */
bool kn_others_wait_behind(const kn_kernel *k, int p);
/* What a KN_V_LOCAL value of phase p stands for: the value, and the local phase that computes it. NULL: there is none
 * before p. */
const kn_value *kn_local_export(const kn_kernel *k, int p, int index, int *phase);
/* Do phases after the host of local phase p see its exports? Each block then computes it before the host begins. */
bool kn_is_shared_local(const kn_kernel *k, int p);
/* Has phase p a local phase that is shared? */
bool kn_shares_locals(const kn_kernel *k, int p);

/* Does phase p run side by side with another? Else it has the grid to itself. */
bool kn_runs_beside(const kn_kernel *k, int p);

/* The work items of phases side by side are assigned to the blocks round-robin. Each phase starts at the block after the
 * last one of the phase before it; the first starts where the phases end that have the whole grid between the same
 * barriers. `first`: the items before a phase's own; `blocks`: how many blocks get an item of it, if the grid has as many;
 * `next`: the items before those of the next phase. */
typedef struct kn_assignment {
    const kn_kernel *k;
    int64_t (*items)(const kn_phase *, int);
    int64_t first, blocks, next;
} kn_assignment;
kn_assignment kn_assign_work(const kn_kernel *k);
/* Phase p's, which is not local; phases come in order. */
void kn_assign_phase(kn_assignment *d, int p);

/* The fraction of a value that phase p finds on chip, where an earlier phase left it. */
double kn_part_on_chip(const kn_kernel *k, const kn_phase *p, int value);

/* Do several groups of rows share a block? In mixed phases also groups with more than a warp each. */
static inline bool kn_shares_block(const kn_kernel *k, const kn_phase *p)
{
    return p->how.walk == KN_WALK_ROWS && (k->bound ? !kn_by_block(p) : k->threads > p->how.tpg);
}

/* Blocks of a cluster; 1: launched without clusters. */
int kn_kernel_cluster(const kn_kernel *k);
/* Is it launched as clusters, be it of one block? */
bool kn_kernel_in_clusters(const kn_kernel *k);
/* Is there a grid barrier, so that the launch must be cooperative? */
bool kn_kernel_cooperative(const kn_kernel *k);
/* Are values persistent across a grid barrier? */
bool kn_kernel_resident(const kn_kernel *k);
/* Do blocks synchronise, or find out which is the last? Then the kernel has a barrier parameter. */
bool kn_kernel_meets(const kn_kernel *k);
/* The bytes of each rank's part, in words of 32 bits: a value in whole words. */
int64_t kn_exchange_words(const kn_buf *b);
int64_t kn_words_of(kn_dtype t, int64_t elements);
/* The most words that a rank has for another while a kernel runs. Where ranks exchange more, kernels are cut, and it goes in
 * pieces of this size. */
enum { KN_MOST_MAIL = 1 << 20 };
/* Does phase p begin a round, so that ranks exchange before it? Do they exchange that buffer then? */
bool kn_begins_round(const kn_kernel *k, int p);
bool kn_is_exchanged_before(const kn_kernel *k, int p, int buf);
/* Does one of its phases store to a buffer? */
bool kn_kernel_stores_to(const kn_kernel *k, int buf);
/* Prints the IR. Without numbers it is the canonical text of the structure, by which compiled code is found. */
void kn_kernel_print(kn_text *t, const kn_kernel *k, bool numbers);
kn_status kn_kernel_verify(const kn_kernel *k);

#endif
