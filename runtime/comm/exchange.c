/* What ranks exchange of their devices' memory: where they reach each other by a kernel of its own, which is in order with
 * what is on the stream and can be captured; else by NCCL or the host. */
#include "codegen/emit/cuda/prelude.h"
#include "runtime/comm/impl.h"
#include "runtime/cuda/nccl.h"

/* Up to as many words as a mailbox has are sent at once; the last may have less than 4 bytes, at any address. */
static const char text[] =
    "__device__ __forceinline__ unsigned kn_pack(const unsigned char *at, unsigned bytes)\n"
    "{\n"
    "    unsigned word = 0;\n"
    "    for (unsigned i = 0; i < 4 && i < bytes; ++i)\n"
    "        word |= (unsigned)at[i] << 8 * i;\n"
    "    return word;\n"
    "}\n"
    "__device__ __forceinline__ void kn_unpack(unsigned char *at, unsigned bytes, unsigned word)\n"
    "{\n"
    "    for (unsigned i = 0; i < 4 && i < bytes; ++i)\n"
    "        at[i] = (unsigned char)(word >> 8 * i);\n"
    "}\n"
    "extern \"C\" __global__ void kiln_gather(kn_ranks *ranks, const unsigned char *mine, unsigned char *all,\n"
    "                                       unsigned bytes, unsigned long long stride)\n"
    "{\n"
    "    const kn_exchange m = kn_begin_exchange(ranks);\n"
    "    const unsigned first = 4 * (blockIdx.x * blockDim.x + threadIdx.x), step = 4 * gridDim.x * blockDim.x;\n"
    "    const bool whole = ((unsigned long long)mine | (unsigned long long)all | stride | bytes) % 4 == 0;\n"
    "    for (unsigned i = first; i < bytes; i += step)\n"
    "        kn_send(m, i / 4, whole ? *(const unsigned *)(mine + i) : kn_pack(mine + i, bytes - i));\n"
    "    for (unsigned i = first; i < bytes; i += step)\n"
    "        for (unsigned r = 0; r < m.count; ++r) {\n"
    "            unsigned char *const to = all + r * stride + i;\n"
    "            const unsigned word = r != m.rank ? kn_receive<unsigned>(m, i / 4, r)\n"
    "                                  : whole ? *(const unsigned *)(mine + i) : kn_pack(mine + i, bytes - i);\n"
    "            if (to == mine + i)\n"
    "                continue;\n"
    "            if (whole)\n"
    "                *(unsigned *)to = word;\n"
    "            else\n"
    "                kn_unpack(to, bytes - i, word);\n"
    "        }\n"
    "    kn_count_launch(ranks);\n"
    "}\n";

typedef struct loading {
    kn_comm *comm;
    kn_arena *arena;
    kn_code **code;
} loading;

static kn_status load(void *user)
{
    const loading *l = user;
    kn_device *dev = l->comm->config.dev;
    kn_text t = kn_text_new(l->arena);
    kn_prelude(&t, text, false);
    kn_put(&t, text);
    return dev->ops->load(dev, "kiln_gather", kn_text_str(&t), l->code);
}

kn_status kn_comm_load(kn_comm *c)
{
    kn_status status = KN_OK;
    kn_arena a;
    if (c->path != KN_PATH_KERNEL)
        return KN_OK;
    kn_arena_init(&a, c->config.from);
    pthread_mutex_lock(&c->loading);
    if (!c->gather) {
        loading l = {c, &a, &c->gather};
        status = kn_protect(&a, load, &l);
    }
    pthread_mutex_unlock(&c->loading);
    kn_arena_finish(&a);
    return status;
}

/* A launch exchanges as much as fits into a mailbox. */
static kn_status exchange_by_kernel(kn_comm *c, const void *mine, void *all, size_t bytes,
                                    void *stream)
{
    enum { THREADS = 256 };
    kn_device *dev = c->config.dev;
    const kn_mailbox *m = kn_newest_mailbox(c);
    uint64_t stride = bytes;
    /* the kernel counts bytes in 32 bits */
    const size_t most_bytes = 4 * (m->words < 1u << 28 ? m->words : 1u << 28);
    KN_TRY(kn_comm_load(c));
    for (size_t at = 0; at < bytes; at += most_bytes) {
        const char *from = (const char *)mine + at;
        char *to = (char *)all + at;
        const size_t left = bytes - at;
        unsigned n = (unsigned)(left < most_bytes ? left : most_bytes);
        const unsigned wanted = (n / 4 + THREADS) / THREADS,
                       most = (unsigned)dev->ops->target(dev)->units;
        const kn_grid grid = {.grid = {wanted < most ? wanted : most, 1, 1},
                              .block = {THREADS, 1, 1},
                              .cooperative = true};
        KN_TRY(dev->ops->start(dev, c->gather, &grid,
                               (void *[]){(void *)&m->ranks, &from, &to, &n, &stride}, 5, stream));
    }
    return KN_OK;
}

/* ---- any way ---- */

static kn_status exchange_by_host(kn_comm *c, const void *mine, void *all, size_t bytes,
                                  void *stream)
{
    const kn_comm_config *g = &c->config;
    const kn_device_ops *ops = g->dev->ops;
    const size_t n = (size_t)g->count;
    if (ops->captures && ops->captures(g->dev, stream))
        return kn_fail(KN_RUN, "what ranks exchange through the host cannot be captured");
    char *host = g->from->alloc(g->from->user, (n + 1) * bytes);
    kn_status status = host ? ops->sync(g->dev, stream) : kn_fail(KN_MEMORY, "out of memory");
    if (status == KN_OK)
        status = ops->download(g->dev, host, mine, bytes);
    status = kn_comm_all_well(c, status);
    if (status == KN_OK)
        status = kn_comm_gather(c, host, host + bytes, bytes);
    if (status == KN_OK)
        status = ops->upload(g->dev, all, host + bytes, n * bytes);
    if (host)
        g->from->release(g->from->user, host);
    return status;
}

kn_status kn_comm_exchange(kn_comm *c, const void *mine, void *all, size_t bytes, void *stream)
{
    KN_TRY(kn_comm_check(c));
    if (!bytes)
        return KN_OK;
    switch (c->path) {
    case KN_PATH_KERNEL: return exchange_by_kernel(c, mine, all, bytes, stream);
    case KN_PATH_NCCL:
        return kn_nccl_gather(c->config.dev, c->config.nccl, mine, all, bytes, stream);
    default: return exchange_by_host(c, mine, all, bytes, stream);
    }
}

kn_status kn_comm_barrier(kn_comm *c, void *stream)
{
    KN_TRY(kn_comm_check(c));
    if (c->path != KN_PATH_KERNEL)
        return kn_comm_all_well(c, c->config.dev->ops->sync(c->config.dev, stream));
    const kn_mailbox *m = kn_newest_mailbox(c);
    char *bytes = (char *)m->ranks + m->ranks_bytes;
    return exchange_by_kernel(c, bytes + c->config.rank, bytes, 1, stream);
}
