// Ranks: the same program runs on several devices, whose launches tell each other partial results while they run.
//
// Every rank has a mailbox, which the others write to. A word in it is 32 bits of a value and the number of the launch that it
// belongs to, written and read at once, so that neither fences nor flags are needed:
//
//     mailbox    head (8 words: the first says which rank was missed, plus 1) | even launches | odd launches
//     launches   `words` words of rank 0 | of rank 1 | ...
//
// No rank writes what another has still to read: a launch ends when it has heard all others, and they speak in one only when
// their last one is over. So nobody is more than one launch ahead, and two places in turn are enough.
struct kn_ranks {
    unsigned rank, count;
    unsigned long long words;
    unsigned long long launches; // that are over, times 2^24: see kn_leave()
    unsigned long long patience; // in nanoseconds
    unsigned long long *missed;  // in the host's memory: the head's first word
    unsigned long long *own;     // this rank's mailbox
    unsigned long long *mail[1]; // all, by rank
};
enum { KN_MAIL_HEAD = 8 };

// Of mail and what counts launches: what another device, or a block that is over, may change meanwhile.
__device__ __forceinline__ unsigned long long kn_mail(const unsigned long long *at)
{
    unsigned long long word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}
__device__ __forceinline__ void kn_post(unsigned long long *at, unsigned long long word)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

// What a thread must know of a launch to tell and to hear.
struct kn_meeting {
    kn_ranks *ranks;
    unsigned long long *inbox; // words of rank 0 for this launch
    unsigned rank, count, words, launch;
};

// For each thread that tells or hears; early in the kernel, for it loads, and is not moved to where that is needed.
__device__ __forceinline__ kn_meeting kn_meet(kn_ranks *ranks)
{
    typedef const unsigned long long word;
    word place = kn_mail((word *)&ranks->rank), own = kn_mail((word *)&ranks->own), words = kn_mail(&ranks->words);
    const unsigned rank = (unsigned)place, count = (unsigned)(place >> 32);
    const unsigned launch = (unsigned)(kn_mail(&ranks->launches) >> 24) + 1;
    unsigned long long *const inbox = (unsigned long long *)own + KN_MAIL_HEAD + (launch & 1) * count * words;
    return kn_meeting{ranks, inbox, rank, count, (unsigned)words, launch};
}

// By all threads of each block, once, at its end: no thread asks for the launch's number after it. The blocks' contributions
// add up to 2^24, and fewer of them to less: so the number is the same for all blocks, whichever are over.
__device__ __forceinline__ void kn_leave(kn_ranks *ranks)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned long long all = 1 << 24;
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(&ranks->launches),
                     "l"(blockIdx.x == 0 ? all - (gridDim.x - 1) : 1ull)
                     : "memory");
    }
}

// `rank` did not come: nobody waits for anybody from now on. The first to say so tells the other ranks, and each tells its host.
__device__ __forceinline__ void kn_give_up(kn_ranks *ranks, unsigned rank)
{
    const unsigned long long before = atomicCAS(ranks->own, 0ull, rank + 1ull);
#pragma unroll 1
    for (unsigned r = 0; before == 0 && r < ranks->count; ++r)
        if (r != ranks->rank)
            kn_post(ranks->mail[r], rank + 1ull);
    kn_post(ranks->missed, before == 0 ? rank + 1ull : before);
}

// After so many tries to hear `rank`: has it been too long, since `start`, or did somebody else give up?
__device__ __forceinline__ bool kn_is_missed(const kn_meeting &m, unsigned rank, unsigned tries, unsigned long long &start)
{
    unsigned long long now;
    if (tries % 64 != 0)
        return false;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (start == 0)
        start = now;
    if (kn_mail(m.ranks->own) == 0 && now - start < m.ranks->patience)
        return false;
    kn_give_up(m.ranks, rank);
    return true;
}

// A value in whole words.
template <class T> union kn_letter {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    unsigned word[WORDS];
    T value;
};

// To all others, from this thread alone; does not wait. A place is told once a launch; a value takes kn_letter<T>::WORDS of them.
template <class T> __device__ __forceinline__ void kn_tell(const kn_meeting &m, unsigned place, const T &mine)
{
    kn_letter<T> letter = {};
    letter.value = mine;
    const size_t offset = KN_MAIL_HEAD + ((size_t)(m.launch & 1) * m.count + m.rank) * m.words + place;
#pragma unroll 1
    for (unsigned r = 0; r < m.count; ++r) {
        if (r == m.rank)
            continue;
        unsigned long long *const to = m.ranks->mail[r] + offset;
#pragma unroll
        for (int i = 0; i < kn_letter<T>::WORDS; ++i)
            kn_post(to + i, (unsigned long long)m.launch << 32 | letter.word[i]);
    }
}

// What another rank tells, by this thread alone, which waits for it; zeros when that is too long.
template <class T> __device__ __forceinline__ T kn_hear(const kn_meeting &m, unsigned place, unsigned rank)
{
    const unsigned long long *const at = m.inbox + (size_t)rank * m.words + place;
    unsigned long long start = 0;
    for (unsigned tries = 1;; ++tries) {
        unsigned long long word[kn_letter<T>::WORDS];
        kn_letter<T> letter = {};
        unsigned other = 0;
#pragma unroll
        for (int i = 0; i < kn_letter<T>::WORDS; ++i)
            word[i] = kn_mail(at + i);
#pragma unroll
        for (int i = 0; i < kn_letter<T>::WORDS; ++i) {
            other |= (unsigned)(word[i] >> 32) ^ m.launch;
            letter.word[i] = (unsigned)word[i];
        }
        if (other == 0)
            return letter.value;
        if (kn_is_missed(m, rank, tries, start))
            return kn_letter<T>{}.value;
    }
}

// The values of all ranks combined in their order, which gives all ranks the same bits; by this thread alone.
template <class Op, class T> __device__ __forceinline__ T kn_hear_all(const kn_meeting &m, unsigned place, const T &mine)
{
    T all = m.rank == 0 ? mine : kn_hear<T>(m, place, 0);
#pragma unroll 1
    for (unsigned r = 1; r < m.count; ++r)
        all = Op::of(all, r == m.rank ? mine : kn_hear<T>(m, place, r));
    return all;
}
