#include "base/process.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool counting; /* written under `once` */
static unsigned forks;

/* Runs in the child, which has one thread. */
static void count(void) { forks++; }

static void watch(void) { counting = pthread_atfork(NULL, NULL, count) == 0; }

unsigned kn_process(void)
{
    pthread_once(&once, watch);
    return counting ? forks
                    : (unsigned)getpid(); /* no memory for the handler: a system call then */
}
