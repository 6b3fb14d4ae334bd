#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

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

int kn_cores(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int found = 0;
    for (size_t cpus = CPU_SETSIZE; !found && cpus <= 1 << 16;
         cpus *= 2) { /* the kernel may have more */
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set && sched_getaffinity(0, bytes, set) == 0)
            found = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
    }
    return found > 0 ? found : online > 0 ? (int)online : 1;
}
