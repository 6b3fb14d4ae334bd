/* What a kernel compiled for the emulator and the emulator itself share: read by both, as C and as C++.
 *
 * A module (one compiled source text) holds the kernel, an entry that unpacks parameters, and the functions
 * declared below as kn_emu_*: each jumps through kn_emu_calls, which the loader fills in. A module so needs
 * no symbol of the program that it is loaded into. */
#ifndef KN_RUNTIME_EMU_COMPILE_SHIM_KN_EMU_ABI_H
#define KN_RUNTIME_EMU_COMPILE_SHIM_KN_EMU_ABI_H

typedef unsigned long long kn_emu_word;

typedef struct kn_emu_dim {
    unsigned x, y, z;
} kn_emu_dim;

/* Operations of a warp: name in messages. */
#define KN_EMU_WARP_OPS(X)                                                                         \
    X(SHFL, "__shfl_sync")                                                                         \
    X(SHFL_UP, "__shfl_up_sync")                                                                   \
    X(SHFL_DOWN, "__shfl_down_sync")                                                               \
    X(SHFL_XOR, "__shfl_xor_sync")                                                                 \
    X(BALLOT, "__ballot_sync")                                                                     \
    X(ANY, "__any_sync")                                                                           \
    X(ALL, "__all_sync")                                                                           \
    X(SYNCWARP, "__syncwarp")                                                                      \
    X(MATCH_ANY, "__match_any_sync")                                                               \
    X(MATCH_ALL, "__match_all_sync")                                                               \
    X(REDUCE_ADD, "__reduce_add_sync")                                                             \
    X(REDUCE_MIN, "__reduce_min_sync")                                                             \
    X(REDUCE_MAX, "__reduce_max_sync")                                                             \
    X(REDUCE_UMIN, "__reduce_min_sync")                                                            \
    X(REDUCE_UMAX, "__reduce_max_sync")                                                            \
    X(REDUCE_AND, "__reduce_and_sync")                                                             \
    X(REDUCE_OR, "__reduce_or_sync")                                                               \
    X(REDUCE_XOR, "__reduce_xor_sync")                                                             \
    X(ACTIVEMASK, "__activemask")

/* Barriers: what the threads wait at, in messages. */
#define KN_EMU_BARRIERS(X)                                                                         \
    X(SYNC, "__syncthreads")                                                                       \
    X(COUNT, "__syncthreads_count")                                                                \
    X(AND, "__syncthreads_and")                                                                    \
    X(OR, "__syncthreads_or")                                                                      \
    X(GRID, "the grid barrier")                                                                    \
    X(CLUSTER, "the cluster barrier")

#define KN_EMU_ATOMICS(X)                                                                          \
    X(ADD, "atomicAdd")                                                                            \
    X(SUB, "atomicSub")                                                                            \
    X(MIN, "atomicMin")                                                                            \
    X(MAX, "atomicMax")                                                                            \
    X(EXCH, "atomicExch")                                                                          \
    X(CAS, "atomicCAS")                                                                            \
    X(AND, "atomicAnd")                                                                            \
    X(OR, "atomicOr")                                                                              \
    X(XOR, "atomicXor")                                                                            \
    X(INC, "atomicInc")                                                                            \
    X(DEC, "atomicDec")

/* What is done to an mbarrier: name in messages. TEST and TRY are about the phase of a state that an arrival
 * gave, the others about the phase with this parity. */
#define KN_EMU_MBARRIERS(X)                                                                        \
    X(INIT, "mbarrier.init")                                                                       \
    X(INVAL, "mbarrier.inval")                                                                     \
    X(ARRIVE, "mbarrier.arrive")                                                                   \
    X(DROP, "mbarrier.arrive_drop")                                                                \
    X(EXPECT, "mbarrier.expect_tx")                                                                \
    X(COPIES, "cp.async.mbarrier.arrive")                                                          \
    X(STORE, "st.async")                                                                           \
    X(LOAD, "cp.async.bulk")                                                                       \
    X(TEST, "mbarrier.test_wait")                                                                  \
    X(TRY, "mbarrier.try_wait")                                                                    \
    X(TEST_PARITY, "mbarrier.test_wait.parity")                                                    \
    X(TRY_PARITY, "mbarrier.try_wait.parity")

#define KN_EMU_ENUM(name, text) KN_EMU_##name,
typedef enum kn_emu_warp_op { KN_EMU_WARP_OPS(KN_EMU_ENUM) KN_EMU_WARP_OP_COUNT } kn_emu_warp_op;
#undef KN_EMU_ENUM
#define KN_EMU_ENUM(name, text) KN_EMU_BARRIER_##name,
typedef enum kn_emu_barrier { KN_EMU_BARRIERS(KN_EMU_ENUM) KN_EMU_BARRIER_KINDS } kn_emu_barrier;
#undef KN_EMU_ENUM
#define KN_EMU_ENUM(name, text) KN_EMU_ATOMIC_##name,
typedef enum kn_emu_atomic_op { KN_EMU_ATOMICS(KN_EMU_ENUM) KN_EMU_ATOMIC_COUNT } kn_emu_atomic_op;
#undef KN_EMU_ENUM
#define KN_EMU_ENUM(name, text) KN_EMU_MBARRIER_##name,
typedef enum kn_emu_mbarrier_op {
    KN_EMU_MBARRIERS(KN_EMU_ENUM) KN_EMU_MBARRIER_COUNT
} kn_emu_mbarrier_op;
#undef KN_EMU_ENUM

/* Asynchronous copies that a thread waits for: its own, and those of the bulk engine. */
typedef enum kn_emu_copy_kind {
    KN_EMU_COPY_THREAD,
    KN_EMU_COPY_BULK,
    KN_EMU_COPY_KINDS
} kn_emu_copy_kind;
/* Bulk copies: counted by an mbarrier, by one in each of several blocks, or waited for in groups; and st.async, which
 * brings a value instead, counted by an mbarrier too. */
typedef enum kn_emu_bulk {
    KN_EMU_BULK_LOAD,
    KN_EMU_BULK_MULTICAST,
    KN_EMU_BULK_STORE,
    KN_EMU_BULK_VALUE
} kn_emu_bulk;

/* The type an atomic operation works on. */
typedef enum kn_emu_type {
    KN_EMU_I32,
    KN_EMU_U32,
    KN_EMU_I64,
    KN_EMU_U64,
    KN_EMU_F32,
    KN_EMU_F64
} kn_emu_type;

/* A parameter of a kernel. */
typedef struct kn_emu_param {
    /* What is reached through it: 'p' memory that is written, 'c' memory that is only read, '.' none, '?' who
     * knows. */
    char reach;
    /* The number of its dtype, or of that of what it points to: see ir/dtype.def. 0: another type. */
    unsigned char dtype;
    /* Sizes of it and of what it points to; 0: it is no pointer, or one to void. */
    unsigned short bytes, element;
} kn_emu_param;

/* A memory access; flags. Modules make no atomic ones: they call `atomic`. */
enum { KN_EMU_READ = 0, KN_EMU_WRITE = 1, KN_EMU_VOLATILE = 2, KN_EMU_ATOMIC = 4 };

/* Where in the kernel a call is: the line of its text, 0 where only the address is known. */
typedef struct kn_emu_site {
    int line;
    void *pc;
} kn_emu_site;

/* Whose values a shuffle reads: PTX's operands b, a lane or how far away it is, and c, clamp and segments. */
typedef struct kn_emu_shuffle {
    unsigned b, c;
} kn_emu_shuffle;

/* What a copy is to move: `bytes` to `to`, the last `zeros` of which become 0 instead of being read. */
typedef struct kn_emu_transfer {
    void *to;
    const void *from;
    unsigned bytes, zeros;
} kn_emu_transfer;

typedef struct kn_emu_calls_table {
    void (*access)(const void *p, unsigned long bytes, int how, void *pc);
    void (*misaligned)(const void *p, unsigned long alignment, void *pc);
    void (*bad_index)(const void *array, long long index, void *pc);
    /* The place of the calling thread: one number of it, axis 0 for x to 2 for z. */
    unsigned (*thread_idx)(int axis);
    unsigned (*block_idx)(int axis);
    unsigned (*block_dim)(int axis);
    unsigned (*grid_dim)(int axis);
    unsigned (*cluster_idx)(int axis); /* of the block, within its cluster */
    unsigned (*cluster_dim)(int axis);
    unsigned (*lane)(
        int axis); /* x: lane; y: thread number in the block; z: threads of the block */
    kn_emu_word (*warp)(int op, unsigned mask, kn_emu_word value, kn_emu_shuffle lanes,
                        kn_emu_site site);
    int (*barrier)(int kind, int predicate, kn_emu_site site);
    void (*cluster_arrive)(int relaxed, kn_emu_site site);
    kn_emu_word (*atomic)(int op, int type, void *p, kn_emu_word value, kn_emu_word compare,
                          kn_emu_site site);
    void (*fence)(int scope, void *pc); /* 0 block, 1 device or wider */
    void (*relax)(kn_emu_site site);    /* lets the others run */
    void *(*peer)(const void *shared, unsigned rank, kn_emu_site site);
    /* Shared addresses as the numbers that PTX has; `cluster`: they may be another block's. */
    unsigned (*to_shared)(const void *p, kn_emu_site site);
    void *(*from_shared)(unsigned address, int cluster, kn_emu_site site);
    unsigned (*map_rank)(unsigned address, unsigned rank, kn_emu_site site);
    void (*copy_async)(kn_emu_transfer what, unsigned alignment, kn_emu_site site);
    void (*copy_commit)(int kind);
    void (*copy_wait)(int kind, unsigned newest, kn_emu_site site); /* all but the newest groups */
    void (*bulk)(int kind, kn_emu_transfer what, void *barrier, unsigned mask, kn_emu_site site);
    /* a: the count of arrivals, or the phase; bytes: announced. Gives the phase, or whether it ended. */
    kn_emu_word (*mbarrier)(int op, void *p, kn_emu_word a, unsigned bytes, kn_emu_site site);
    void (*proxy_fence)(void);
    void (*trap)(const char *message, kn_emu_site site);
} kn_emu_calls_table;

#endif
