#include "cli/error.h"

#include <stdarg.h>
#include <stdio.h>

int kn_usage_error(kn_err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return KN_EXIT_USAGE;
}

int kn_run_error(kn_err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return KN_EXIT_RUN;
}

int kn_lib_error(kn_err *e, kiln_status status)
{
    if (status == KILN_OK)
        return KN_EXIT_OK;
    const char *message = kiln_last_error();
    snprintf(e->text, sizeof e->text, "%s", *message ? message : kiln_status_text(status));
    switch (status) {
    case KILN_OK:
    case KILN_ERR_ARGUMENT:
    case KILN_ERR_SYNTAX:
    case KILN_ERR_TYPE:
    case KILN_ERR_SHAPE: return KN_EXIT_USAGE;
    case KILN_ERR_MEMORY:
    case KILN_ERR_IO:
    case KILN_ERR_DEVICE:
    case KILN_ERR_COMPILE:
    case KILN_ERR_RUN:
    case KILN_ERR_INTERNAL: break;
    }
    return KN_EXIT_RUN;
}
