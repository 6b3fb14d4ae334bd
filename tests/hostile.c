/* Preloaded into a test, makes its process one that an application could be: a comma before the decimals, small stacks,
 * and, with KILN_HOSTILE=throughout in the environment, results rounded up and subnormal numbers flushed to zero. */
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/fpmode.h"

enum { STACK = 256 << 10 }; /* of the main thread, and of each that is started without saying */

static void shrink_stacks(void)
{
    struct rlimit limit;
    pthread_attr_t attr;
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
        limit.rlim_cur = STACK;
        setrlimit(RLIMIT_STACK, &limit);
    }
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

__attribute__((constructor)) static void make_hostile(void)
{
    const char *mode = getenv("KILN_HOSTILE");
    if (!mode)
        return;
    shrink_stacks();
    setlocale(LC_ALL, "comma"); /* of tests/comma.locale, where localedef could make it */
    if (strcmp(mode, "throughout") == 0) {
        fesetround(FE_UPWARD);
        flush_to_zero();
    }
}
