// Ranks: the same program runs on several devices, whose launches exchange partial results while they run.
//
// Every rank has a mailbox, which the others write to. A word in it is 32 bits of a value and, as its flag, the number of the
// launch that it belongs to, written and read at once (as in NCCL's LL protocol), so that no fences are needed:
//
//     mailbox    head (8 words: the first is 1 + the rank that timed out) | even launches | odd launches
//     launches   `words` words of rank 0 | of rank 1 | ...
//
// No rank writes what another has still to read: a launch ends when it has received from all others, and they send in one only
// when their last one is over. So no rank is more than one launch ahead, and two buffers in turn are enough.
struct kn_ranks {
    unsigned rank, count;
    unsigned long long words;
    unsigned long long launches;      // that are over, times 2^24: see kn_count_launch()
    unsigned long long timeout;       // in nanoseconds
    unsigned long long *timed_out;    // in the host's memory: the head's first word
    unsigned long long *own;          // this rank's mailbox
    unsigned long long *mailboxes[1]; // all, by rank
};
enum { KN_MAILBOX_HEAD = 8 };

// Of mailboxes and what counts launches: what another device, or a block that is over, may change meanwhile. Value and flag are in
// one word, so no other access is ordered by these, and the compiler may move other loads and stores across.
__device__ __forceinline__ unsigned long long kn_load_relaxed(const unsigned long long *at)
{
    unsigned long long word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(at));
    return word;
}
__device__ __forceinline__ void kn_store_relaxed(unsigned long long *at, unsigned long long word)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(word));
}

// What a thread must know of a launch to send and to receive.
struct kn_exchange {
    kn_ranks *ranks;
    unsigned long long *inbox; // words of rank 0 for this launch
    unsigned long long *const *mailboxes;
    unsigned rank, count, words, launch;
};

static_assert(sizeof(kn_exchange) == 40, "codegen/model/resources.c counts its bytes");

// For each thread that sends or receives; early in the kernel, for it loads, and is not moved to where that is needed.
__device__ __forceinline__ kn_exchange kn_begin_exchange(kn_ranks *ranks)
{
    typedef const unsigned long long word;
    word ids = kn_load_relaxed((word *)&ranks->rank), own = kn_load_relaxed((word *)&ranks->own), words = kn_load_relaxed(&ranks->words);
    const unsigned rank = (unsigned)ids, count = (unsigned)(ids >> 32);
    const unsigned launch = (unsigned)(kn_load_relaxed(&ranks->launches) >> 24) + 1;
    unsigned long long *const inbox = (unsigned long long *)own + KN_MAILBOX_HEAD + (launch & 1) * count * words;
    return kn_exchange{ranks, inbox, ranks->mailboxes, rank, count, (unsigned)words, launch};
}

// By all threads of each block, once, at its end: no thread asks for the launch's number after it. The blocks' contributions
// add up to 2^24, and fewer of them to less: so the number is the same for all blocks, whichever are over.
__device__ __forceinline__ void kn_count_launch(kn_ranks *ranks)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned long long all = 1 << 24;
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(&ranks->launches),
                     "l"(blockIdx.x == 0 ? all - (gridDim.x - 1) : 1ull)
                     : "memory");
    }
}

// `rank` timed out: nobody waits for anybody from now on. The first that finds out reports it to the other ranks, and each to its
// host.
__device__ __forceinline__ void kn_report_timeout(kn_ranks *ranks, unsigned rank)
{
    const unsigned long long before = atomicCAS(ranks->own, 0ull, rank + 1ull);
#pragma unroll 1
    for (unsigned r = 0; before == 0 && r < ranks->count; ++r)
        if (r != ranks->rank)
            kn_store_relaxed(ranks->mailboxes[r], rank + 1ull);
    kn_store_relaxed(ranks->timed_out, before == 0 ? rank + 1ull : before);
}

// After so many tries to receive from `rank`: has it been too long, since `start`, or did another thread or rank time out?
__device__ __forceinline__ bool kn_timed_out(const kn_exchange &m, unsigned rank, unsigned tries, unsigned long long &start)
{
    unsigned long long now;
    if (tries % 64 != 0)
        return false;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (start == 0)
        start = now;
    if (kn_load_relaxed(m.ranks->own) == 0 && now - start < m.ranks->timeout)
        return false;
    kn_report_timeout(m.ranks, rank);
    return true;
}

// A value in whole words.
template <class T> union kn_payload {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    unsigned word[WORDS];
    T value;
};

// To all others, from this thread alone; does not wait. A word is sent once a launch; a value takes kn_payload<T>::WORDS of them.
template <class T> __device__ __forceinline__ void kn_send(const kn_exchange &m, unsigned index, const T &mine)
{
    kn_payload<T> payload = {};
    payload.value = mine;
    const size_t offset = KN_MAILBOX_HEAD + ((size_t)(m.launch & 1) * m.count + m.rank) * m.words + index;
#pragma unroll 1
    for (unsigned r = 0; r < m.count; ++r) {
        if (r == m.rank)
            continue;
        unsigned long long *const to = m.mailboxes[r] + offset;
#pragma unroll
        for (int i = 0; i < kn_payload<T>::WORDS; ++i)
            kn_store_relaxed(to + i, (unsigned long long)m.launch << 32 | payload.word[i]);
    }
}

// The words of a value, as they are in the mailbox: all there, or not yet.
template <class T> struct kn_mail { unsigned long long word[kn_payload<T>::WORDS]; };

// What a rank has sent so far. Those of several values are in flight at once.
template <class T> __device__ __forceinline__ kn_mail<T> kn_look(const kn_exchange &m, unsigned index, unsigned rank)
{
    const unsigned long long *const at = m.inbox + (size_t)rank * m.words + index;
    kn_mail<T> mail;
#pragma unroll
    for (int i = 0; i < kn_payload<T>::WORDS; ++i)
        mail.word[i] = kn_load_relaxed(at + i);
    return mail;
}

// What another rank sends, by this thread alone, which has looked, and waits for it; zeros after a timeout.
template <class T>
__device__ __forceinline__ T kn_receive(const kn_exchange &m, kn_mail<T> mail, unsigned index, unsigned rank)
{
    unsigned long long start = 0;
    for (unsigned tries = 1;; ++tries) {
        kn_payload<T> payload = {};
        unsigned other = 0;
#pragma unroll
        for (int i = 0; i < kn_payload<T>::WORDS; ++i) {
            other |= (unsigned)(mail.word[i] >> 32) ^ m.launch;
            payload.word[i] = (unsigned)mail.word[i];
        }
        if (other == 0)
            return payload.value;
        if (kn_timed_out(m, rank, tries, start))
            return kn_payload<T>{}.value;
        mail = kn_look<T>(m, index, rank);
    }
}
template <class T> __device__ __forceinline__ T kn_receive(const kn_exchange &m, unsigned index, unsigned rank)
{
    return kn_receive<T>(m, kn_look<T>(m, index, rank), index, rank);
}

// The values of all ranks combined in their order, which gives all ranks the same bits; by this thread alone.
template <class Op, class T> __device__ __forceinline__ T kn_all_reduce(const kn_exchange &m, unsigned index, const T &mine)
{
    T all = m.rank == 0 ? mine : kn_receive<T>(m, index, 0);
#pragma unroll 1
    for (unsigned r = 1; r < m.count; ++r)
        all = Op::of(all, r == m.rank ? mine : kn_receive<T>(m, index, r));
    return all;
}
