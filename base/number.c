#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* written under `once`; 0: as the thread has it */

static void make(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

int kn_format(char *to, size_t size, const char *fmt, va_list ap)
{
    pthread_once(&once, make);
    locale_t before = uselocale(plain); /* the thread's, nobody else's */
    int n = vsnprintf(to, size, fmt, ap);
    uselocale(before);
    return n;
}

double kn_read_float(const char *text)
{
    pthread_once(&once, make);
    return plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
}
