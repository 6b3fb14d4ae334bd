#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { MESSAGE_SIZE = 2048 };
static _Thread_local char message[MESSAGE_SIZE];
static _Thread_local kn_status last;

kn_status kn_fail(kn_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    kn_format(message, sizeof message, fmt, ap);
    va_end(ap);
    last = status;
    return status;
}

kn_status kn_fail_prefix(kn_status status, const char *fmt, ...)
{
    char inner[MESSAGE_SIZE];
    memcpy(inner, message, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    int n = kn_format(message, sizeof message, fmt, ap);
    va_end(ap);
    if (n >= 0 && n < MESSAGE_SIZE)
        snprintf(message + n, sizeof message - (size_t)n, "%s", inner);
    last = status;
    return status;
}

const char *kn_last_error(void) { return message; }

kn_status kn_last_status(void) { return last; }

void kn_clear_error(void)
{
    message[0] = '\0';
    last = KN_OK;
}

const char *kn_status_text(kn_status status)
{
    static const char *const text[] = {
#define X(name, text) [KN_##name] = text,
        KN_STATUS_TABLE(X)
#undef X
    };
    return (unsigned)status < KN_STATUS_COUNT ? text[status] : "unknown status";
}
