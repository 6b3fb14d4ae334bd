#include "cli/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2 }; /* seconds */

static struct {
    pthread_mutex_t lock;
    bool started, shown;
    const char *what;
    struct timespec since;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - now.since.tv_sec) + (double)(t.tv_nsec - now.since.tv_nsec) * 1e-9;
}

static void erase(void)
{
    if (now.shown)
        fputs("\r\033[K", stderr);
    now.shown = false;
}

static void *watch(void *nothing)
{
    const struct timespec nap = {.tv_nsec = 200000000};
    for (;;) {
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&now.lock);
        int elapsed = now.what ? (int)seconds() : 0;
        if (elapsed >= PATIENCE) {
            erase();
            fprintf(stderr, "kiln: %s, %d s", now.what, elapsed);
            fflush(stderr);
            now.shown = true;
        }
        pthread_mutex_unlock(&now.lock);
    }
    return nothing;
}

/* Signals are for the main thread. */
static void start(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    now.started = true;
}

void kn_progress(const char *what)
{
    if (!isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&now.lock);
    erase();
    now.what = what;
    clock_gettime(CLOCK_MONOTONIC, &now.since);
    if (!now.started)
        start();
    pthread_mutex_unlock(&now.lock);
}
