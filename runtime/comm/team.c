#include "runtime/comm/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Rounds use two buffers in turn: a buffer is written again when all have come to the round after it, and so have copied. */
struct kn_team {
    int users, count;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t over;  /* a round, or the team */
    unsigned round;
    int arrived;
    bool *joined, *here; /* by rank; here: in this round */
    char *buffer[2];
    size_t capacity[2], bytes;
    kn_status broken;
    char why[160];
};

kn_status kn_team_create(int count, kn_team **out)
{
    kn_team *t = calloc(1, sizeof *t);
    bool *flags = calloc(2 * (size_t)count, sizeof *flags);
    if (!t || !flags) {
        free(flags);
        free(t);
        return kn_fail(KN_MEMORY, "out of memory: a team of %d ranks", count);
    }
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&t->over, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&t->lock, NULL);
    t->users = 1;
    t->count = count;
    t->joined = flags;
    t->here = flags + count;
    *out = t;
    return KN_OK;
}

static void free_team(kn_team *t)
{
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->over);
    free(t->buffer[0]);
    free(t->buffer[1]);
    free(t->joined);
    free(t);
}

void kn_team_drop(kn_team *t)
{
    pthread_mutex_lock(&t->lock);
    bool last = --t->users == 0;
    pthread_mutex_unlock(&t->lock);
    if (last)
        free_team(t);
}

int kn_team_count(const kn_team *t) { return t->count; }

/* ---- with the lock held ---- */

static kn_status broken(const kn_team *t) { return kn_fail(t->broken, "%s", t->why); }

static void break_up(kn_team *t, kn_status status, const char *why)
{
    snprintf(t->why, sizeof t->why, "%s", why);
    t->broken = status;
    pthread_cond_broadcast(&t->over);
}

static kn_status make_room(kn_team *t, size_t bytes)
{
    const int turn = t->round & 1;
    const size_t need = bytes * (size_t)t->count;
    if (need <= t->capacity[turn])
        return KN_OK;
    char *grown = realloc(t->buffer[turn], need);
    if (!grown)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes of each of %d ranks", bytes, t->count);
    t->buffer[turn] = grown;
    t->capacity[turn] = need;
    return KN_OK;
}

static kn_status arrive(kn_team *t, int rank, const void *mine, size_t bytes)
{
    for (int r = 0; r < t->count; r++)
        if (t->joined[r] && t->here[r] && bytes != t->bytes)
            return kn_fail(KN_RUN,
                           "rank %d gives %zu bytes where rank %d gives %zu: they do not make the "
                           "same calls in the same order",
                           rank, bytes, r, t->bytes);
    KN_TRY(make_room(t, bytes));
    t->bytes = bytes;
    if (bytes)
        memcpy(t->buffer[t->round & 1] + (size_t)rank * bytes, mine, bytes);
    t->here[rank] = true;
    if (++t->arrived == t->count) {
        t->arrived = 0;
        memset(t->here, 0, (size_t)t->count * sizeof *t->here);
        t->round++;
        pthread_cond_broadcast(&t->over);
    }
    return KN_OK;
}

static void wait_for_all(kn_team *t, unsigned round, int deadline_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += deadline_ms / 1000;
    until.tv_nsec += deadline_ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (t->round == round && !t->broken)
        if (pthread_cond_timedwait(&t->over, &t->lock, &until) == ETIMEDOUT && t->round == round &&
            !t->broken) {
            int missing = 0;
            while (t->here[missing])
                missing++;
            char why[sizeof t->why];
            snprintf(why, sizeof why, "rank %d of %d did not come within %d ms", missing, t->count,
                     deadline_ms);
            break_up(t, KN_RUN, why);
        }
}

/* ---- ranks ---- */

kn_status kn_team_join(kn_team *t, int rank)
{
    pthread_mutex_lock(&t->lock);
    bool taken = t->joined[rank];
    if (!taken) {
        t->joined[rank] = true;
        t->users++;
    }
    pthread_mutex_unlock(&t->lock);
    return taken ? kn_fail(KN_ARGUMENT,
                           "rank %d of the team has a communicator: each communicator takes a team "
                           "of its own",
                           rank)
                 : KN_OK;
}

void kn_team_leave(kn_team *t, int rank)
{
    pthread_mutex_lock(&t->lock);
    if (!t->broken) {
        char why[sizeof t->why];
        snprintf(why, sizeof why, "rank %d of %d has left the team", rank, t->count);
        break_up(t, KN_RUN, why);
    }
    pthread_mutex_unlock(&t->lock);
    kn_team_drop(t);
}

kn_status kn_team_gather(kn_team *t, int rank, const void *mine, void *all, size_t bytes,
                         int deadline_ms)
{
    pthread_mutex_lock(&t->lock);
    const unsigned round = t->round;
    if (!t->broken) {
        kn_status status = arrive(t, rank, mine, bytes);
        if (status != KN_OK)
            break_up(t, status, kn_last_error());
    }
    wait_for_all(t, round, deadline_ms);
    /* A round that is over counts, even if somebody has left since. */
    kn_status status = t->round == round ? broken(t) : KN_OK;
    if (status == KN_OK && bytes)
        memcpy(all, t->buffer[round & 1], bytes * (size_t)t->count);
    pthread_mutex_unlock(&t->lock);
    return status;
}
