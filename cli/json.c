#include "cli/json.h"

#include <math.h>
#include <stdlib.h>

#include "cli/number.h"

void kn_json_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", f);
        else if (c < 0x20 || c == 0x7f)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

void kn_json_number(FILE *f, double v)
{
    char text[64];
    if (!isfinite(v)) {
        fputs("null", f);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        kn_cli_format(text, sizeof text, "%.*g", digits, v);
        if (kn_cli_read(text) == v)
            break;
    }
    fputs(text, f);
}
