#include "base/guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Edits (a character more, less, other, or two swapped) from a to b; `limit` + 1 when it is
 * more. */
static int distance(const char *a, const char *b, int limit)
{
    enum { MAX = 32 };
    int na = (int)strlen(a), nb = (int)strlen(b), row[3][MAX + 1];
    if (na > MAX || nb > MAX || na - nb > limit || nb - na > limit)
        return limit + 1;
    for (int j = 0; j <= nb; j++)
        row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *up = row[(i + 2) % 3], *upup = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                upup[j - 2] + 1 < best)
                best = upup[j - 2] + 1;
            now[j] = best;
        }
    }
    int d = row[na % 3][nb];
    return d > limit ? limit + 1 : d;
}

kn_guess kn_guess_new(const char *wrong)
{
    size_t n = strlen(wrong);
    return (kn_guess){.wrong = wrong, .distance = n < 2 ? 1 : n < 6 ? 2 : 3};
}

void kn_guess_try(kn_guess *s, const char *name)
{
    bool other_case = strcasecmp(s->wrong, name) == 0;
    int d = other_case || s->distance == 0 ? 0 : distance(s->wrong, name, s->distance - 1);
    if (d < s->distance) {
        s->distance = d;
        s->best = name;
    }
}

const char *kn_guess_text(kn_guess *s)
{
    if (s->best)
        snprintf(s->text, sizeof s->text, "; did you mean '%.64s'?", s->best);
    return s->text;
}
