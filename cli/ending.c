#include "cli/ending.h"

#include <signal.h>
#include <stddef.h>

#include "frontend/kiln.h"

static void (*volatile first)(void);

static void end(int number)
{
    if (first)
        first();
    kiln_remove_temporary_files();
    signal(number, SIG_DFL);
    raise(number);
}

void kn_ending_watch(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct sigaction ours = {.sa_handler = end};
    struct sigaction before;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending[i], &ours, NULL);
}

void kn_ending_first(void (*clean)(void)) { first = clean; }
