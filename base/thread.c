#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

bool kn_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(thread, NULL, fn, arg) == 0; /* which inherits the mask */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
