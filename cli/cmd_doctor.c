/* kiln doctor: what this machine has. */
#include <stdio.h>

#include "cli/commands.h"

int kn_cmd_doctor(const kn_args *args, kn_err *e)
{
    (void)args;
    char *text = NULL;
    int status = kn_lib_error(e, kiln_doctor(&text));
    if (status)
        return status;
    fputs(text, stdout);
    kiln_text_free(NULL, text);
    return KN_EXIT_OK;
}
