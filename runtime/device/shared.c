#include "runtime/device/shared.h"

#include <pthread.h>
#include <stddef.h>

/* Of the process: devices of several contexts find each other's memory here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kn_shared *all;
static uint64_t numbers;

void kn_shared_begin(kn_shared *s)
{
    pthread_mutex_lock(&lock);
    *s = (kn_shared){.next = all, .number = ++numbers, .users = 1};
    all = s;
    pthread_mutex_unlock(&lock);
}

kn_shared *kn_shared_find(uint64_t number)
{
    pthread_mutex_lock(&lock);
    kn_shared *s = all;
    while (s && s->number != number)
        s = s->next;
    if (s)
        s->users++;
    pthread_mutex_unlock(&lock);
    return s;
}

bool kn_shared_leave(kn_shared *s)
{
    pthread_mutex_lock(&lock);
    const bool last = --s->users == 0;
    kn_shared **at = &all;
    while (last && *at != s)
        at = &(*at)->next;
    if (last)
        *at = s->next;
    pthread_mutex_unlock(&lock);
    return last;
}
