#include "cli/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* written under `once`; 0: as the thread has it */

static void make(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t enter(void)
{
    pthread_once(&once, make);
    return uselocale(plain);
}

int kn_cli_format(char *to, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    locale_t before = enter();
    int n = vsnprintf(to, size, fmt, ap);
    uselocale(before);
    va_end(ap);
    return n;
}

void kn_cli_print(FILE *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    locale_t before = enter();
    vfprintf(f, fmt, ap);
    uselocale(before);
    va_end(ap);
}

double kn_cli_read(const char *text)
{
    locale_t before = enter();
    double v = strtod(text, NULL);
    uselocale(before);
    return v;
}

float kn_cli_read_f32(const char *text)
{
    locale_t before = enter();
    float v = strtof(text, NULL);
    uselocale(before);
    return v;
}
