#include "codegen/emit/cuda/prelude.h"

#include <stdlib.h>
#include <string.h>

typedef struct word {
    const char *at;
    size_t len;
} word;

static int compare(const void *key, const void *row)
{
    const word *w = key;
    const char *name = ((const kn_prelude_name *)row)->name;
    int order = strncmp(w->at, name, w->len);
    return order ? order : -(name[w->len] != '\0');
}

/* The bit of the file that the word belongs to; 0: the prelude has no such name. */
static unsigned part_of(const char *at, size_t len)
{
    const word w = {at, len};
    const kn_prelude_name *found = bsearch(&w, kn_prelude_names, (size_t)kn_prelude_name_count,
                                           sizeof *kn_prelude_names, compare);
    return found ? 1u << found->part : 0;
}

static unsigned parts_of(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    unsigned used = 0;
    for (const char *at = text; *at; at += strcspn(at, letters)) {
        size_t len = strspn(at, letters);
        used |= part_of(at, len);
        at += len;
    }
    return used;
}

void kn_prelude(kn_text *t, const char *kernel, bool fast)
{
    static const char any_fast[] = "kn_fast_divide";
    unsigned used = parts_of(kernel) | (fast ? part_of(any_fast, sizeof any_fast - 1) : 0);
    for (int p = kn_prelude_count - 1; p >= 0; p--)
        if (used >> p & 1)
            used |= kn_prelude_parts[p].needs;
    kn_put(t, "// kiln's device prelude. ir/ops.def says what operations mean.\n\n");
    for (int p = 0; p < kn_prelude_count; p++)
        if (used >> p & 1)
            kn_putf(t, "%s\n", kn_prelude_parts[p].text);
}
